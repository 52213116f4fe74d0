//! The opening of an engine: the check of the store's format version, the recovery of work that an
//! earlier process left, the start of the background threads; and its close.

use super::{
    background, idempotency, jobs, purge,
    runtime::{
        Background, EngineOptions,
        batch::{FORMAT_VERSION, format_version},
        prelude::*,
    },
};
use crate::store::{LeaseHolder, Store};

impl Engine {
    /// Opens the engine on a new or existing store, and continues the work left by an earlier
    /// process, unless [`EngineOptions::passive`].
    ///
    /// # Errors
    /// Fails with `Format` if a newer version wrote the store; also errors of the store.
    pub fn open(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self, Error> {
        let mut engine = Self {
            background: None,
            shared: Arc::new(EngineShared::new(store, options)),
        };
        // First: a store of a newer version must not be touched.
        engine.check_format()?;
        if engine.shared.options.passive {
            return Ok(engine);
        }
        purge::resume(&engine.shared)?;
        if let Some(period) = engine.shared.options.background_period {
            engine.background = Some(Background::start(
                &engine.shared,
                period,
                &background::ROUNDS,
            )?);
        }
        // Tokens, jobs and removals continue on the writer thread; the rest is left to the rounds
        // of the threads.
        idempotency::resume(&engine.shared)?;
        jobs::resume(&engine.shared)?;
        Ok(engine)
    }

    /// Refuses a store of a newer version. A store of an earlier version stays unchanged until the
    /// first write.
    fn check_format(&self) -> Result<(), Error> {
        let stored = format_version(&*self.shared.store.snapshot()?)?;
        if stored == Some(FORMAT_VERSION) {
            return Ok(());
        }
        // A store that has lost its version must not be taken for a new one.
        if stored.is_none() && walks::has_any(&*self.shared.store.snapshot()?, &KeyRange::ALL)? {
            return Err(StoreError::Corrupt("a store without the version of its format").into());
        }
        self.shared.batch.write_format();
        // A new store gets this version at once, so that the next process finds it.
        let is_new = stored.is_none() && !self.shared.options.passive;
        if is_new {
            self.shared.submit_and_wait(|_| Ok(()))
        } else {
            Ok(())
        }
    }

    /// Takes the exclusive lease as [`Store::hold_lease`] does, if the store is of this version:
    /// programs of an earlier version would not ask for the lease. A store that becomes of this
    /// version takes part from the next open on.
    pub fn take_lease(&self, holder: Arc<dyn LeaseHolder>) -> Result<(), Error> {
        if format_version(&*self.shared.store.snapshot()?)? == Some(FORMAT_VERSION) {
            self.shared.store.hold_lease(holder);
        }
        Ok(())
    }

    /// Completes the queued jobs; the engine takes no writes after it.
    pub fn close(&self) {
        // The threads first: a round in progress would have its writes refused.
        if let Some(background) = &self.background {
            background.end();
        }
        if !self.shared.options.passive
            && let Err(error) = background::meter_flush::flush(&self.shared, true)
        {
            log::debug!("what was counted last is not stored: {error}");
        }
        self.shared.store.close();
    }

    /// Runs the work of the background threads now and to the end: expired items, old stream
    /// records, indexes that are being made or removed. Only tests do that: they turn the clock
    /// and cannot wait for a period of it.
    pub fn run_background_work(&self) -> Result<(), Error> {
        background::round(&self.shared)
    }
}
