//! The local engine as a `Database` and `Browse`.

mod browse;
mod layout;
mod operations;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, EngineOptions};
use crate::model::Error;
use crate::store::Store;

/// The embedded engine behind the traits.
#[derive(Debug, Clone)]
pub struct LocalDatabase {
    engine: Arc<Engine>,
    /// Where it is noted which tables are being copied.
    data: Option<PathBuf>,
}

impl LocalDatabase {
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, data: None }
    }

    /// With the data directory, which says which tables are not whole.
    #[must_use]
    pub fn of_directory(self, data: &Path) -> Self {
        Self { data: Some(data.to_owned()), ..self }
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
