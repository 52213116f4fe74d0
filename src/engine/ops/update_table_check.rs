//! Would changes of a table succeed? For a front end that shows before it does.

use std::sync::Arc;

use super::{update_indexes, update_table, update_throughput};
use crate::engine::base::table_definition::build_new_schema;
use crate::engine::catalog::{self, TableEntry};
use crate::engine::index_life;
use crate::engine::runtime::Engine;
use crate::model::Error;
use crate::model::api::{CreateTableRequest, UpdateTableRequest};
use crate::model::error::UpdateTableError;

impl Engine {
    /// Checks UpdateTable requests of one table, each as after those before it, and changes nothing.
    ///
    /// # Errors
    /// The place of the first that would fail now, and why.
    pub fn check_update_table(&self, requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        let Some(first) = requests.first() else { return Ok(()) };
        let entry = self.table(&first.table_name).map_err(|error| (0, error))?;
        let mut entry = TableEntry::clone(&*catalog::known(entry, &first.table_name).map_err(|error| (0, error))?);
        let mut has_stream = entry.enabled_stream().is_some();
        let now_ms = self.shared.options.clock.now_ms();
        for (place, request) in requests.iter().enumerate() {
            entry = check(&entry, request, now_ms, &mut has_stream).map_err(|error| (place, error))?;
        }
        Ok(())
    }

    /// Checks a CreateTable request, and creates nothing.
    ///
    /// # Errors
    /// `Schema`, `TableAlreadyExists`; those of the store.
    pub fn check_create_table(&self, request: CreateTableRequest) -> Result<(), Error> {
        let schema = build_new_schema(request)?;
        match self.table(&schema.name)? {
            Some(_) => Err(Error::TableAlreadyExists(schema.name.as_str().to_owned())),
            None => Ok(()),
        }
    }
}

/// The entry after the request, as far as later requests look at it.
fn check(old: &TableEntry, request: &UpdateTableRequest, now_ms: u64, has_stream: &mut bool) -> Result<TableEntry, Error> {
    update_table::check_request(request)?;
    update_table::check_state(old)?;
    update_indexes::check_names(old, request)?;
    update_throughput::check_account(request)?;
    index_life::admission::check(old, request)?;
    let mut new = update_table::changed(old, request, now_ms)?;
    let name = || old.schema.name.as_str().to_owned();
    if let Some(change) = &request.stream {
        match (*has_stream, change.enabled) {
            (true, true) => return Err(UpdateTableError::StreamEnabled(name()).into()),
            (false, false) => return Err(UpdateTableError::StreamDisabled(name()).into()),
            (_, enabled) => *has_stream = enabled,
        }
    }
    for creation in request.index_updates.iter().flatten().filter_map(|update| update.create.as_deref()) {
        update_indexes::define(Arc::make_mut(&mut new.schema), creation, request)?;
    }
    Ok(new)
}
