//! The names of the tables that something is true of, remembered until the catalog changes.

use std::ops::ControlFlow;

use parking_lot::Mutex;

use super::catalog::{self, TableEntry};
use super::view::View;
use crate::model::{Error, TableName};

/// Tables for which `wanted` holds, of one generation of the catalog.
#[derive(Debug)]
pub struct Watched {
    wanted: fn(&TableEntry) -> bool,
    known: Mutex<Option<(u64, Vec<TableName>)>>,
}

impl Watched {
    #[must_use]
    pub fn new(wanted: fn(&TableEntry) -> bool) -> Self {
        Self { wanted, known: Mutex::default() }
    }

    /// Their names in a view.
    ///
    /// # Errors
    /// Those of the store.
    pub fn names(&self, view: &View<'_>) -> Result<Vec<TableName>, Error> {
        let generation = catalog::generation(view.read())?;
        if let Some((known, names)) = &*self.known.lock()
            && *known == generation
        {
            return Ok(names.clone());
        }
        let mut all = Vec::new();
        view.table_names(None, &mut |name| {
            all.extend(TableName::new(name));
            ControlFlow::Continue(())
        })?;
        // A damaged entry is for `check` to tell.
        all.retain(|name| view.table(name).ok().flatten().is_some_and(|entry| (self.wanted)(&entry)));
        *self.known.lock() = Some((generation, all.clone()));
        Ok(all)
    }
}
