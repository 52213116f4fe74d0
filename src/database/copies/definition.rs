//! A table's definition, read from one service and created in another.
//!
//! Settings that belong to the place and not to the table are not copied: deletion protection, warm
//! throughput (which costs), a resource policy, tags. In a pull to a local database, global indexes
//! and the stream are created after the items: an index that is created late leaves out items with
//! an invalid key, as it did in the source, and neither then costs the copy anything.

use std::time::Duration;

use super::{CopyError, CopySide};
use crate::codec::json::document::Document;
use crate::codec::wire::{self, tables};
use crate::database::cancel::Backoff;
use crate::model::api::tables::{IndexUpdate, StreamSpecification};
use crate::model::api::{
    CreateTableRequest, DescribeTimeToLiveRequest, IndexDescription, TableDescription, TableStatus,
    TimeToLiveSpecification, TimeToLiveStatus, UpdateTableRequest, UpdateTimeToLiveRequest,
};
use crate::model::error::StoreError;
use crate::model::schema::WarmThroughput;
use crate::model::{Error, IndexKind, IndexName, IndexSchema, TableSchema};

/// The backoff of polls for a table or index that is not ready.
const POLL_MIN: Duration = Duration::from_millis(20);
const POLL_MAX: Duration = Duration::from_secs(2);

/// A callback with the index under construction.
pub type OnIndexProgress<'a> = dyn FnMut(&IndexName, &IndexDescription) + 'a;

/// Returns the description of the table; `None` if there is no such table.
///
/// # Errors
/// An error of the service, with the side.
pub fn describe(side: &CopySide) -> Result<Option<TableDescription>, CopyError> {
    side.check(side.database.find_table(&side.table))
}

/// Returns the description of a table that exists.
///
/// # Errors
/// `Refused` if there is no such table; an error of the service.
pub fn existing(side: &CopySide) -> Result<TableDescription, CopyError> {
    let refused = || CopyError::Refused(format!("{}: there is no such table", side.name));
    describe(side)?.ok_or_else(refused)
}

/// Returns the TTL attribute of the table, if TTL is enabled.
///
/// # Errors
/// The service refuses the request or does not answer.
pub fn ttl_attribute(side: &CopySide) -> Result<Option<String>, Error> {
    let described = side
        .database
        .describe_time_to_live(DescribeTimeToLiveRequest {
            table_name: side.table.clone(),
        })?;
    let is_on = matches!(
        described.status,
        TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling
    );
    Ok(described.attribute_name.filter(|_| is_on))
}

/// Returns the definition as it is created in `target`, without settings of the place.
fn portable_schema(schema: &TableSchema, target: &CopySide) -> TableSchema {
    let mut schema = TableSchema {
        name: target.table.clone(),
        deletion_protection: false,
        ..schema.clone()
    };
    schema.settings.resource_policy = None;
    schema.settings.tags.clear();
    schema.settings.throughput.warm = WarmThroughput::default();
    schema
        .indexes
        .iter_mut()
        .for_each(|index| index.settings.warm = WarmThroughput::default());
    schema
}

/// Returns the CreateTable request of a definition.
fn create_request(schema: &TableSchema) -> Result<CreateTableRequest, Error> {
    let json = Document::from_value(&tables::definition_to_json(schema));
    wire::request(json.root()).map_err(|_| StoreError::Corrupt("a table's definition").into())
}

/// Creates the table, and waits until it is active; `is_late` leaves out global indexes and stream.
///
/// # Errors
/// An error of the service, with the side.
pub fn create(
    target: &CopySide,
    schema: &TableSchema,
    is_late: bool,
) -> Result<TableDescription, CopyError> {
    let mut schema = portable_schema(schema, target);
    if is_late {
        schema
            .indexes
            .retain(|index| index.kind != IndexKind::Global);
        schema.settings.stream = None;
    }
    let request = target.check(create_request(&schema))?;
    target.check(target.database.create_table(request))?;
    wait_active(target, &mut |_, _| ())
}

/// Waits until the table and its indexes are active.
fn wait_active(
    target: &CopySide,
    watch: &mut OnIndexProgress<'_>,
) -> Result<TableDescription, CopyError> {
    let mut pauses = Backoff::new(POLL_MIN, POLL_MAX);
    loop {
        let table = describe(target)?;
        let table = table.ok_or_else(|| {
            CopyError::Refused(format!("{}: the table was deleted meanwhile", target.name))
        })?;
        let waited_for = table
            .schema
            .indexes
            .iter()
            .zip(&table.indexes)
            .find(|(_, state)| state.status != TableStatus::Active);
        match waited_for {
            Some((index, state)) => watch(&index.name, state),
            None if table.status == TableStatus::Active => return Ok(table),
            None => {}
        }
        target.check(pauses.wait(&target.caller))?;
    }
}

/// Creates the global indexes and the stream that the table does not have yet.
///
/// # Errors
/// An error of the service, with the side.
pub fn create_late_parts(
    target: &CopySide,
    schema: &TableSchema,
    watch: &mut OnIndexProgress<'_>,
) -> Result<(), CopyError> {
    let schema = portable_schema(schema, target);
    let mut description = wait_active(target, watch)?;
    for index in schema.indexes_of(IndexKind::Global) {
        if description.schema.index(index.name.as_str()).is_none() {
            let request = target.check(index_request(&schema, index))?;
            target.check(target.database.update_table(request))?;
            description = wait_active(target, watch)?;
        }
    }
    if let (Some(view_type), None) = (schema.settings.stream, description.schema.settings.stream) {
        let mut request = UpdateTableRequest::new(target.table.clone());
        request.stream = Some(StreamSpecification {
            enabled: true,
            view_type: Some(view_type),
        });
        target.check(target.database.update_table(request))?;
        wait_active(target, watch)?;
    }
    Ok(())
}

fn index_request(schema: &TableSchema, index: &IndexSchema) -> Result<UpdateTableRequest, Error> {
    let definitions = create_request(schema)?.global_indexes.unwrap_or_default();
    // Without the definition, the request would create nothing, and succeed.
    let create = definitions
        .into_iter()
        .find(|definition| definition.name == index.name)
        .ok_or(StoreError::Corrupt("a table's definition"))?;
    let mut request = UpdateTableRequest::new(schema.name.clone());
    let key = schema.key.attributes().chain(index.attributes());
    let mut attributes: Vec<_> = key.cloned().collect();
    attributes.sort_by(|one, two| one.name.cmp(&two.name));
    attributes.dedup();
    request.attribute_definitions = Some(attributes);
    request.index_updates = Some(vec![IndexUpdate {
        create: Some(Box::new(create)),
        ..IndexUpdate::default()
    }]);
    Ok(request)
}

/// Enables TTL by that attribute, unless it is enabled already.
///
/// # Errors
/// An error of the service, with the side.
pub fn enable_ttl(target: &CopySide, attribute_name: &str) -> Result<(), CopyError> {
    if target.check(ttl_attribute(target))?.as_deref() == Some(attribute_name) {
        return Ok(());
    }
    let specification = TimeToLiveSpecification {
        enabled: true,
        attribute_name: attribute_name.to_owned(),
    };
    let request = UpdateTimeToLiveRequest {
        table_name: target.table.clone(),
        specification,
    };
    let updated = target.database.update_time_to_live(request);
    target.check(updated.map(drop))
}
