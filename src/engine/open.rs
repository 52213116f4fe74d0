//! The beginning of an engine: the store's format, what an earlier process left undone, the threads; and its end.

use super::{
    background, jobs, purge,
    runtime::{
        Background, EngineOptions,
        batch::{FORMAT_VERSION, format_version},
        prelude::*,
    },
    tokens,
};
use crate::store::{Keeper, Store};

impl Engine {
    /// Opens the engine on a store, a new one or one it wrote before, and goes on with what an earlier process left undone, unless
    /// [`EngineOptions::looks_only`].
    ///
    /// # Errors
    /// `Format` when a newer version wrote the store; those of the store.
    pub fn open(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self, Error> {
        let mut engine = Self {
            background: None,
            shared: Arc::new(Shared::new(store, options)),
        };
        // First: what a newer version wrote is not to be touched.
        engine.check_format()?;
        if engine.shared.options.looks_only {
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
        // Tokens, jobs and removals go on by themselves on the writer thread; the rest is for the rounds of the threads.
        tokens::resume(&engine.shared)?;
        jobs::resume(&engine.shared)?;
        Ok(engine)
    }

    /// Refuses what a newer version wrote. What an earlier one wrote stays as it is until something is written.
    fn check_format(&self) -> Result<(), Error> {
        let stored = format_version(&*self.shared.store.snapshot()?)?;
        if stored == Some(FORMAT_VERSION) {
            return Ok(());
        }
        self.shared.batch.write_format();
        // A new store is of this version at once, also for who opens it next.
        let is_new = stored.is_none() && !self.shared.options.looks_only;
        if is_new {
            self.shared.submit_and_wait(|_| Ok(()))
        } else {
            Ok(())
        }
    }

    /// As [`Store::keep_alone`], if the store is of this version: programs of an earlier one would not ask to be let in. One that becomes so is
    /// kept from the next opening on.
    ///
    /// # Errors
    /// Those of the store.
    pub fn keep_alone(&self, keeper: Arc<dyn Keeper>) -> Result<(), Error> {
        if format_version(&*self.shared.store.snapshot()?)? == Some(FORMAT_VERSION) {
            self.shared.store.keep_alone(keeper);
        }
        Ok(())
    }

    /// Ends that, before what it tells can no longer be told.
    pub fn stop_keeping(&self) {
        self.shared.store.stop_keeping();
    }

    /// Runs what is queued to its end; the engine takes no writes after it.
    pub fn close(&self) {
        // The threads first: a round in the middle would have its writes refused.
        if let Some(background) = &self.background {
            background.end();
        }
        if !self.shared.options.looks_only
            && let Err(error) = background::counting::keep(&self.shared, true)
        {
            log::debug!("what was counted last is not stored: {error}");
        }
        self.shared.store.close();
    }

    /// Does what the background threads do, now and to the end: items whose time is over, stream records that are too old, indexes
    /// that are being made or removed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn run_background_work(&self) -> Result<(), Error> {
        background::round(&self.shared)
    }
}
