//! UpdateTable: all changes of a request are checked together and applied in one transaction, or
//! none is (docs/dynamodb.md 11.3).
//!
//! The answer shows the old throughput with status UPDATING, as DynamoDB's does; the change is in
//! effect at once.

use std::collections::BTreeSet;

use super::{
    tables::description,
    update_indexes,
    update_throughput::{self, ThroughputChange},
};
use crate::engine::{
    base::table_definition::build_new_schema, index_life, runtime::prelude::*, streams,
};
use crate::model::{
    api::{
        CreateTableRequest, UpdateTableRequest, UpdateTableResponse,
        tables::{IndexUpdate, StreamSpecification},
    },
    error::{InUseError, LimitError, SchemaError, UpdateTableError},
    schema::BillingMode,
};

impl Engine {
    /// Changes a table's settings, all of them or none.
    ///
    /// # Errors
    /// Fails with `UpdateTable`, `Schema`, `Limit`, `TableNotFound`, `NotFound`, `InUse` or
    /// `NotSupported`, or with an error of the store.
    pub fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        check_request(&request)?;
        let with_indexes = request.all_index_updates().any(is_online);
        let response = self
            .shared
            .submit_and_wait(move |transaction| update(transaction, &request))?;
        if with_indexes {
            self.shared.signal.wake();
        }
        Ok(response)
    }
}

/// Runs the checks that need no table.
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
    if let Some(updates) = &request.vector_index_updates {
        if updates.is_empty() {
            return Err(UpdateTableError::NoVectorIndexUpdates.into());
        }
        check_index_updates(request)?;
    }
    match &request.index_updates {
        None if request.vector_index_updates.is_some() => {}
        None if !has_others => return Err(UpdateTableError::Nothing.into()),
        Some(updates) if updates.is_empty() && !has_others => {
            return Err(UpdateTableError::Nothing.into());
        }
        Some(updates) if updates.is_empty() => return Err(UpdateTableError::NoIndexUpdates.into()),
        Some(_) => check_index_updates(request)?,
        None => {}
    }
    update_throughput::check_request(request)?;
    check_combination(request)?;
    request
        .index_creations()
        .try_for_each(|creation| update_indexes::check_creation(creation, request))
}

fn check_index_updates(request: &UpdateTableRequest) -> Result<(), Error> {
    let mut seen: BTreeSet<&IndexName> = BTreeSet::new();
    for (update, kind) in update_indexes::updates_with_kinds(request) {
        let create = update.create.as_ref().map(|creation| &creation.name);
        let actions = [
            update.update.as_ref().map(|change| &change.name),
            create,
            update.delete.as_ref(),
        ];
        let mut actions = actions.into_iter().flatten();
        let name = actions.next().ok_or(if kind == IndexKind::Vector {
            UpdateTableError::NoVectorAction
        } else {
            UpdateTableError::NoIndexAction
        })?;
        if actions.next().is_some() {
            return Err(match kind {
                IndexKind::Vector => UpdateTableError::SeveralVectorActions,
                IndexKind::Global | IndexKind::Local => UpdateTableError::SeveralIndexActions,
            }
            .into());
        }
        if !seen.insert(name) {
            return Err(UpdateTableError::SameIndexTwice(name.to_string()).into());
        }
    }
    let updates = request.all_index_updates();
    if updates.filter(|update| is_online(update)).count() > 1 {
        return Err(LimitError::OnlineIndexes.into());
    }
    Ok(())
}

/// True if the update creates or deletes an index.
fn is_online(update: &IndexUpdate) -> bool {
    update.create.is_some() || update.delete.is_some()
}

/// Checks which members may be given together.
fn check_combination(request: &UpdateTableRequest) -> Result<(), Error> {
    let has_updates = request.all_index_updates().next().is_some();
    let alone = [
        (
            "Server-Side Encryption modification",
            request.encryption.is_some(),
        ),
        ("TableClass modification", request.table_class.is_some()),
        (
            "DeletionProtection modification",
            request.deletion_protection.is_some(),
        ),
        ("WarmThroughput", request.warm.is_some()),
        ("Replica modification", request.has_replicas),
    ];
    let throughput = request.throughput.is_some() || request.billing_mode.is_some();
    let shared = usize::from(throughput)
        + usize::from(has_updates)
        + usize::from(request.stream.is_some())
        + usize::from(request.on_demand.is_some());
    let members = shared + alone.iter().filter(|(_, is_there)| *is_there).count();
    if let Some((name, _)) = alone.iter().find(|(_, is_there)| *is_there && members > 1) {
        return Err(UpdateTableError::NotAlone(name).into());
    }
    if request.has_replicas {
        return Err(Error::NotSupported("ReplicaUpdates"));
    }
    if request.all_index_updates().any(is_online) {
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
    let others = has_updates || request.stream.is_some() || request.throughput.is_some();
    if request.on_demand.is_some() && others {
        return Err(UpdateTableError::OnDemandNotAlone.into());
    }
    Ok(())
}

fn update(
    transaction: &mut Transaction<'_>,
    request: &UpdateTableRequest,
) -> Result<UpdateTableResponse, Error> {
    let old = transaction.require_table(&request.table_name)?;
    check_against(&old, request)?;
    // A change that only removes, or lifts the deletion protection, is a way to free space on a
    // full disk.
    if request.index_creations().next().is_none() {
        transaction.mark_removal();
    }
    let now_ms = transaction.now_ms();
    let mut new = updated_entry(&old, request, now_ms)?;
    if let Some(change) = &request.stream {
        change_stream(transaction, &mut new, change)?;
    }
    change_indexes(transaction, &mut new, request)?;
    transaction.replace_table(&new)?;

    let mut table_description = description(transaction.read(), &new, now_ms)?;
    // The answer shows the values in force while the table is UPDATING, as the service's does.
    table_description.schema.throughput = old.schema.throughput;
    if request.deletion_protection.is_none() && !changes_only_indexes(request) {
        table_description.status = TableStatus::Updating;
    }
    let schemas = table_description.schema.indexes.iter_mut();
    for (schema, state) in schemas.zip(&mut table_description.indexes) {
        if let (true, Some((index, _))) = (
            request
                .index_changes()
                .any(|change| change.name == schema.name),
            old.index(&schema.name),
        ) {
            schema.throughput = index.throughput;
            state.status = TableStatus::Updating;
        }
    }
    Ok(UpdateTableResponse { table_description })
}

/// Creates and deletes indexes, and marks an index that is updated while it is made.
fn change_indexes(
    transaction: &mut Transaction<'_>,
    new: &mut TableEntry,
    request: &UpdateTableRequest,
) -> Result<(), Error> {
    for update in request.all_index_updates() {
        if let Some(creation) = &update.create {
            update_indexes::create(transaction, new, creation, request)?;
        }
        if let Some(name) = &update.delete {
            index_life::begin_removal(transaction, new, name)?;
        }
        if let (Some(change), Some(building)) = (&update.update, &mut new.index_life.building) {
            building.is_updated |= building.index == change.name;
        }
    }
    Ok(())
}

fn changes_only_indexes(request: &UpdateTableRequest) -> bool {
    let rest = UpdateTableRequest {
        index_updates: None,
        vector_index_updates: None,
        attribute_definitions: None,
        ..request.clone()
    };
    rest == UpdateTableRequest::new(request.table_name.clone())
}

/// Checks a request against the table.
fn check_against(table: &TableEntry, request: &UpdateTableRequest) -> Result<(), Error> {
    check_state(table)?;
    update_indexes::check_names(table, request)?;
    if request.billing_mode == Some(BillingMode::Provisioned)
        && table.schema.indexes_of(IndexKind::Vector).next().is_some()
    {
        return Err(match request.vector_index_updates {
            Some(_) => UpdateTableError::VectorsNeedOnDemand.into(),
            None => SchemaError::VectorOnProvisioned.into(),
        });
    }
    update_throughput::check_account(request)?;
    index_life::check_update(table, request)
}

fn check_state(table: &TableEntry) -> Result<(), InUseError> {
    let name = table.schema.name.to_string();
    match table.status {
        TableStatus::Active => Ok(()),
        TableStatus::Creating => Err(InUseError::Creating(name)),
        TableStatus::Updating => Err(InUseError::Updating(name)),
        TableStatus::Deleting => Err(InUseError::Deleting(name)),
    }
}

/// Returns the table's entry after the change.
fn updated_entry(
    old: &TableEntry,
    request: &UpdateTableRequest,
    now_ms: u64,
) -> Result<TableEntry, Error> {
    let mut new = old.clone();
    new.control.changed_ms = Some(now_ms);
    ThroughputChange {
        old,
        request,
        now_ms,
    }
    .apply(&mut new)?;
    let schema = Arc::make_mut(&mut new.schema);
    if let Some(protected) = request.deletion_protection {
        schema.deletion_protection = protected;
    }
    if let Some(encryption) = &request.encryption {
        schema.settings.encryption = encryption.enabled.then(|| encryption.clone());
    }
    if let Some(class) = request.table_class {
        schema.settings.table_class = Some(class);
        new.control.class_changed_ms = Some(now_ms);
    }
    if schema.billing_mode == BillingMode::PayPerRequest && request.billing_mode.is_some() {
        new.control.on_demand_since_ms = Some(now_ms);
    } else if old.schema.billing_mode == BillingMode::PayPerRequest
        && schema.billing_mode == BillingMode::Provisioned
    {
        new.control.on_demand_since_ms =
            Some(old.control.on_demand_since_ms.unwrap_or(old.created_ms));
    }
    Ok(new)
}

fn change_stream(
    transaction: &mut Transaction<'_>,
    table: &mut TableEntry,
    change: &StreamSpecification,
) -> Result<(), Error> {
    let name = table.schema.name.to_string();
    match (table.enabled_stream().is_some(), change.view_type) {
        (true, Some(_)) => Err(UpdateTableError::StreamEnabled(name).into()),
        (false, None) => Err(UpdateTableError::StreamDisabled(name).into()),
        (false, Some(view_type)) => Ok(streams::enable(transaction, table, view_type)?),
        (true, None) => Ok(streams::disable(transaction, table)?),
    }
}

impl Engine {
    /// Checks UpdateTable requests of one table, each as after those before it, and changes
    /// nothing.
    ///
    /// # Errors
    /// Fails with the position of the first request that would fail now, and its error.
    pub fn check_update_table(
        &self,
        requests: &[UpdateTableRequest],
    ) -> Result<(), (usize, Error)> {
        let Some(first) = requests.first() else {
            return Ok(());
        };
        let entry = self.table(&first.table_name).map_err(|error| (0, error))?;
        let mut entry = TableEntry::clone(
            &*catalog::require_table(entry, &first.table_name).map_err(|error| (0, error))?,
        );
        let mut has_stream = entry.enabled_stream().is_some();
        let now_ms = self.shared.now_ms();
        for (place, request) in requests.iter().enumerate() {
            entry = check_one(&entry, request, now_ms, &mut has_stream)
                .map_err(|error| (place, error))?;
        }
        Ok(())
    }

    /// Checks a CreateTable request, and creates nothing.
    ///
    /// # Errors
    /// Fails with `Schema` or `TableAlreadyExists`, or with an error of the store.
    pub fn check_create_table(&self, request: CreateTableRequest) -> Result<(), Error> {
        let schema = build_new_schema(request)?;
        match self.table(&schema.name)? {
            Some(_) => Err(Error::TableAlreadyExists(schema.name.to_string())),
            None => Ok(()),
        }
    }
}

/// Checks one request; returns the table's entry as the request changes it, in the members that the
/// checks of the next requests read.
fn check_one(
    old: &TableEntry,
    request: &UpdateTableRequest,
    now_ms: u64,
    has_stream: &mut bool,
) -> Result<TableEntry, Error> {
    check_request(request)?;
    check_against(old, request)?;
    let mut new = updated_entry(old, request, now_ms)?;
    let name = || old.schema.name.to_string();
    if let Some(change) = &request.stream {
        match (*has_stream, change.enabled) {
            (true, true) => return Err(UpdateTableError::StreamEnabled(name()).into()),
            (false, false) => return Err(UpdateTableError::StreamDisabled(name()).into()),
            (_, enabled) => *has_stream = enabled,
        }
    }
    for creation in request.index_creations() {
        update_indexes::define(Arc::make_mut(&mut new.schema), creation, request)?;
    }
    Ok(new)
}
