//! The beginning of an engine: the store's format, what an earlier process left undone, the threads; and its end.

use std::sync::Arc;

use super::background;
use super::base::keys::{Meta, StoreKey};
use super::runtime::{Background, Engine, EngineOptions, Shared};
use super::{jobs, purge, tokens};
use crate::model::Error;
use crate::model::error::StoreError;
use crate::store::Store;

/// Version of all stored formats together.
pub const FORMAT_VERSION: u8 = 1;

impl Engine {
    /// Opens the engine on a store, a new one or one it wrote before, and goes on with what an earlier process left undone.
    ///
    /// # Errors
    /// `Format` when a newer version wrote the store; those of the store.
    pub fn open(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self, Error> {
        let mut engine = Self { background: None, shared: Arc::new(Shared::new(store, options)) };
        // First: what a newer version wrote is not to be touched.
        engine.check_format()?;
        purge::resume(&engine.shared)?;
        if let Some(period) = engine.shared.options.background_period {
            engine.background = Some(Background::start(&engine.shared, period, &background::ROUNDS)?);
        }
        // Tokens, jobs and removals go on by themselves on the writer thread; the rest is for the rounds of the threads.
        tokens::resume(&engine.shared)?;
        jobs::resume(&engine.shared)?;
        Ok(engine)
    }

    fn check_format(&self) -> Result<(), Error> {
        let key = StoreKey::Meta(Meta::Format).encode();
        if let Some(bytes) = self.shared.store.snapshot()?.get(&key)? {
            return Ok(known_format(bytes)?);
        }
        self.shared.submit_and_wait(|transaction| {
            let key = StoreKey::Meta(Meta::Format).encode();
            match transaction.batch.get(&key)? {
                Some(bytes) => Ok(known_format(bytes)?),
                None => Ok(transaction.batch.put(&key, &[FORMAT_VERSION])?),
            }
        })
    }

    /// Runs what is queued to its end; the engine takes no writes after it.
    pub fn close(&self) {
        // The threads first: a round in the middle would have its writes refused.
        if let Some(background) = &self.background {
            background.end();
        }
        if let Err(error) = background::counting::keep(&self.shared, true) {
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

fn known_format(bytes: &[u8]) -> Result<(), StoreError> {
    match bytes {
        [FORMAT_VERSION] => Ok(()),
        [other] => Err(StoreError::Format(*other)),
        _ => Err(StoreError::Corrupt("format version")),
    }
}
