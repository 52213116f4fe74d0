//! UpdateTable (SEMANTICS 11.3), without the creation and deletion of indexes.
//!
//! The answer shows the old throughput with status UPDATING, as DynamoDB's does; the change is in effect at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::describe_table::description;
use super::update_throughput::{self, Throughputs};
use crate::codec::wire::kept_options;
use crate::engine::catalog::{self, TableEntry};
use crate::engine::transaction::Transaction;
use crate::engine::{Engine, streams};
use crate::model::Error;
use crate::model::api::update_table::{IndexUpdate, StreamChange};
use crate::model::api::{TableStatus, UpdateTableRequest, UpdateTableResponse};
use crate::model::error::{InUseError, LimitError, NotFoundError, UpdateTableError};
use crate::model::schema::BillingMode;
use crate::model::{IndexKind, IndexName};

impl Engine {
    /// Changes a table's settings, all of them or none.
    ///
    /// # Errors
    /// `UpdateTable`, `Schema`, `Limit`, `TableNotFound`, `NotFound`, `InUse`, `NotSupported`; those of the store.
    pub fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        check_request(&request)?;
        self.shared.submit_and_wait(move |transaction| update(transaction, &request))
    }
}

/// The checks that need no table.
fn check_request(request: &UpdateTableRequest) -> Result<(), Error> {
    let has_others = request.throughput.is_some()
        || request.billing_mode.is_some()
        || request.stream.is_some()
        || request.encryption.is_some()
        || request.table_class.is_some()
        || request.deletion_protection.is_some()
        || request.on_demand.is_some()
        || request.warm.is_some()
        || request.has_replicas;
    match &request.index_updates {
        None if !has_others => return Err(UpdateTableError::Nothing.into()),
        Some(updates) if updates.is_empty() && !has_others => return Err(UpdateTableError::Nothing.into()),
        Some(updates) if updates.is_empty() => return Err(UpdateTableError::NoIndexUpdates.into()),
        Some(updates) => check_index_updates(updates)?,
        None => {}
    }
    update_throughput::check_request(request)?;
    check_combination(request)
}

fn check_index_updates(updates: &[IndexUpdate]) -> Result<(), Error> {
    let mut seen: BTreeSet<&IndexName> = BTreeSet::new();
    for update in updates {
        let actions = [update.update.as_ref().map(|change| &change.name), update.create.as_ref(), update.delete.as_ref()];
        let mut actions = actions.into_iter().flatten();
        let name = actions.next().ok_or(UpdateTableError::NoIndexAction)?;
        if actions.next().is_some() {
            return Err(UpdateTableError::SeveralIndexActions.into());
        }
        if !seen.insert(name) {
            return Err(UpdateTableError::SameIndexTwice(name.as_str().to_owned()).into());
        }
    }
    if updates.iter().filter(|update| is_online(update)).count() > 1 {
        return Err(LimitError::OnlineIndexes.into());
    }
    Ok(())
}

/// Does it create or delete an index?
fn is_online(update: &IndexUpdate) -> bool {
    update.create.is_some() || update.delete.is_some()
}

/// Which members may stand together.
fn check_combination(request: &UpdateTableRequest) -> Result<(), Error> {
    let updates = request.index_updates.as_deref().unwrap_or_default();
    let alone = [
        ("Server-Side Encryption modification", request.encryption.is_some()),
        ("TableClass modification", request.table_class.is_some()),
        ("DeletionProtection modification", request.deletion_protection.is_some()),
        ("WarmThroughput", request.warm.is_some()),
        ("Replica modification", request.has_replicas),
    ];
    let throughput = request.throughput.is_some() || request.billing_mode.is_some();
    let shared = usize::from(throughput)
        + usize::from(!updates.is_empty())
        + usize::from(request.stream.is_some())
        + usize::from(request.on_demand.is_some());
    let members = shared + alone.iter().filter(|(_, is_there)| *is_there).count();
    if let Some((name, _)) = alone.iter().find(|(_, is_there)| *is_there && members > 1) {
        return Err(UpdateTableError::NotAlone(name).into());
    }
    if request.has_replicas {
        return Err(Error::NotSupported("ReplicaUpdates"));
    }
    if updates.iter().any(is_online) {
        if request.throughput.is_some() {
            return Err(UpdateTableError::IndexAndThroughput.into());
        }
        if request.stream.is_some() {
            return Err(UpdateTableError::IndexAndStream.into());
        }
    }
    if request.stream.is_some() && request.throughput.is_some() {
        return Err(UpdateTableError::StreamAndThroughput.into());
    }
    let others = !updates.is_empty() || request.stream.is_some() || request.throughput.is_some();
    if request.on_demand.is_some() && others {
        return Err(UpdateTableError::OnDemandNotAlone.into());
    }
    Ok(())
}

fn update(transaction: &mut Transaction<'_>, request: &UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
    let name = request.table_name.as_str();
    let Some(old) = transaction.table(&request.table_name)? else {
        return Err(Error::TableNotFound(name.to_owned()));
    };
    check_state(&old)?;
    check_indexes(&old, request)?;
    let now_ms = transaction.now_ms();
    let mut new = changed(&old, request, now_ms)?;
    if let Some(change) = &request.stream {
        change_stream(transaction, &mut new, change)?;
    }
    catalog::replace_table(transaction, &new)?;

    let mut table_description = description(transaction.batch.as_read(), &new, now_ms)?;
    table_description.schema.throughput = old.schema.throughput;
    if request.deletion_protection.is_none() && !only_indexes(request) {
        table_description.status = TableStatus::Updating;
    }
    for (position, (index, _)) in old.indexes().enumerate() {
        let updates = request.index_updates.iter().flatten();
        let is_updated = updates.filter_map(|update| update.update.as_ref()).any(|change| change.name == index.name);
        let schemas = table_description.schema.indexes.get_mut(position);
        if let (true, Some(schema), Some(state)) = (is_updated, schemas, table_description.indexes.get_mut(position)) {
            schema.throughput = index.throughput;
            state.status = TableStatus::Updating;
        }
    }
    Ok(UpdateTableResponse { table_description })
}

fn only_indexes(request: &UpdateTableRequest) -> bool {
    let rest = UpdateTableRequest { index_updates: None, ..request.clone() };
    rest == UpdateTableRequest::new(request.table_name.clone())
}

/// Only an active table is changed.
pub(super) fn check_state(table: &TableEntry) -> Result<(), InUseError> {
    let name = table.schema.name.as_str().to_owned();
    match table.status {
        TableStatus::Active => Ok(()),
        TableStatus::Creating => Err(InUseError::Creating(name)),
        TableStatus::Updating => Err(InUseError::Updating(name)),
        TableStatus::Deleting => Err(InUseError::Deleting(name)),
    }
}

/// Every index named is a global index of the table, or is to be created.
fn check_indexes(table: &TableEntry, request: &UpdateTableRequest) -> Result<(), Error> {
    for update in request.index_updates.iter().flatten() {
        let of_update = update.update.as_ref().map(|change| (&change.name, "update"));
        let named = of_update.or_else(|| update.delete.as_ref().map(|name| (name, "delete")));
        let Some((name, action)) = named else { continue };
        let index = name.as_str().to_owned();
        match table.index(name).map(|(index, _)| index.kind) {
            Some(IndexKind::Global) => {}
            Some(IndexKind::Local) => return Err(UpdateTableError::LocalIndex { action, index }.into()),
            None => return Err(NotFoundError::Index { index, table: table.schema.name.as_str().to_owned() }.into()),
        }
    }
    match request.index_updates.iter().flatten().find(|update| is_online(update)) {
        Some(update) if update.create.is_some() => Err(Error::NotSupported("GlobalSecondaryIndexUpdates with Create")),
        Some(_) => Err(Error::NotSupported("GlobalSecondaryIndexUpdates with Delete")),
        None => Ok(()),
    }
}

/// The table's entry after the change.
fn changed(old: &TableEntry, request: &UpdateTableRequest, now_ms: u64) -> Result<TableEntry, Error> {
    let mut new = old.clone();
    Throughputs { old, request, now_ms }.apply(&mut new)?;
    let schema = Arc::make_mut(&mut new.schema);
    if let Some(protected) = request.deletion_protection {
        schema.deletion_protection = protected;
    }
    if let Some(encryption) = &request.encryption {
        kept_options::set_encryption(&mut schema.opaque, encryption);
    }
    if let Some(class) = request.table_class {
        kept_options::set_table_class(&mut schema.opaque, class);
        new.control.class_changed_ms = Some(now_ms);
    }
    if schema.billing_mode == BillingMode::PayPerRequest && request.billing_mode.is_some() {
        new.control.on_demand_since_ms = Some(now_ms);
    } else if old.schema.billing_mode == BillingMode::PayPerRequest && schema.billing_mode == BillingMode::Provisioned {
        new.control.on_demand_since_ms = Some(old.control.on_demand_since_ms.unwrap_or(old.created_ms));
    }
    Ok(new)
}

fn change_stream(transaction: &mut Transaction<'_>, table: &mut TableEntry, change: &StreamChange) -> Result<(), Error> {
    let name = table.schema.name.as_str().to_owned();
    match (table.enabled_stream().is_some(), change.view_type) {
        (true, Some(_)) => Err(UpdateTableError::StreamEnabled(name).into()),
        (false, None) => Err(UpdateTableError::StreamDisabled(name).into()),
        (false, Some(view_type)) => Ok(streams::enable(transaction, table, view_type)?),
        (true, None) => Ok(streams::disable(transaction, table)?),
    }
}
