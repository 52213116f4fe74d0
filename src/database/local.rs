//! The local engine as a `Database` and `Browse`.

mod admin;
mod browse;
mod layout;
mod operations;
mod statements;
mod streams;

use std::sync::Arc;

use crate::engine::{Engine, EngineOptions};
use crate::model::Error;
use crate::store::Store;

/// The embedded engine behind the traits.
#[derive(Debug, Clone)]
pub struct LocalDatabase {
    engine: Arc<Engine>,
}

impl LocalDatabase {
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Opens the engine on a store.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self, Error> {
        Ok(Self::new(Arc::new(Engine::open(store, options)?)))
    }

    /// The engine itself, for what the traits do not have: check, close.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}
