//! GetItem, PutItem, UpdateItem and DeleteItem (docs/dynamodb.md 12): each reads one record of one
//! view, or makes one change in one transaction.
//!
//! Checks that need no table come first; a write then finds its item, evaluates its condition on
//! it, and only then changes it.

use crate::engine::{
    base::{item_key, read_units},
    read::select::{self, RequestedProjection},
    runtime::{Completion, prelude::*},
    trash,
    write::{
        self, AppliedWrite,
        action::{WriteAction, WritePlan},
        condition::{StoredItem, WriteCondition},
        update::UpdatePlan,
    },
};
use crate::expr::{PlaceholderScope, ProjectionPaths};
use crate::model::{
    api::{
        DeleteItemRequest, DeleteItemResponse, GetItemRequest, GetItemResponse, Placeholders,
        PutItemRequest, PutItemResponse, ReturnValues, UpdateItemRequest, UpdateItemResponse,
        table_control::{TrashChange, TrashRequest},
    },
    error::expression::ExpressionParameter,
};

impl Engine {
    /// Runs GetItem (docs/dynamodb.md 12.1): reads one record of one view, projected.
    ///
    /// # Errors
    /// Fails with `Expression`, `ResourceNotFound`, `Key`, or with `Query` for a path into a key;
    /// also errors of the store.
    pub fn get_item(&self, request: &GetItemRequest) -> Result<GetItemResponse, Error> {
        request.key.check_nesting()?;
        let projection = {
            let requested = RequestedProjection::new(
                request.projection_expression.as_ref(),
                request.attributes_to_get.as_ref(),
            )?;
            parse_projection(requested, &request.placeholders)?
        };
        let view = self.view()?;
        let table = view.active_table(&request.table_name)?;
        let key = item_key::key_of_parameter(&table.schema.key, &request.key)?;
        select::check_no_path_into_keys(projection.as_ref(), &table.schema)?;
        let address = EntryAddress::of_item(table.source, &key);
        view.admit_item(&table, &address)?;
        let record = view.entry(&address)?;
        let bytes = record.map_or(0, |record| record.item_bytes() as usize);
        let item = record.map(|record| record.to_item()).transpose()?;
        let item = match &projection {
            Some(paths) => item.map(|item| paths.apply(&item)),
            None => item,
        };
        let units = read_units(bytes, request.consistent_read);
        view.charge_item(&table, &address, units)?;
        Ok(GetItemResponse {
            item,
            consumed_capacity: ConsumedCapacity::of_table(units),
        })
    }
}

/// Parses the projection of a read by key.
///
/// # Errors
/// Fails with `Expression` or `Legacy` if it cannot be parsed.
pub(super) fn parse_projection(
    requested: RequestedProjection<'_>,
    placeholders: &Placeholders,
) -> Result<Option<ProjectionPaths>, Error> {
    // No expression of a read by key can use values; the wire form has no member for them.
    let mut scope = PlaceholderScope::checked(
        placeholders,
        requested.has_expression(),
        Some(&[ExpressionParameter::Projection]),
    )?;
    let paths = requested.paths(&mut scope)?;
    scope.finish()?;
    Ok(paths)
}

impl Engine {
    /// Starts a PutItem (docs/dynamodb.md 12.2): the item replaces the one with its key, if the
    /// condition holds for that. `done` gets the result after the commit.
    pub fn put_item(&self, request: PutItemRequest, done: Completion<PutItemResponse>) {
        self.shared.submit_checked(
            check_put(&request),
            move |transaction, plan| put(transaction, &request, plan),
            done,
        );
    }
}

/// Runs the checks that need no table.
fn check_put(request: &PutItemRequest) -> Result<WritePlan, Error> {
    request.item.check_limits()?;
    let guard = WriteCondition::of_request(&request.condition, &request.placeholders)?;
    Ok(WritePlan::Condition(guard.with_precondition(
        request.precondition,
        request.return_old_on_condition_failure,
    )))
}

fn put(
    transaction: &mut Transaction<'_>,
    request: &PutItemRequest,
    plan: &WritePlan,
) -> Result<PutItemResponse, Error> {
    let (stored, outcome) = plan.prepare(
        transaction,
        &request.table_name,
        WriteAction::Put(&request.item),
    )?;
    let attributes = returned_attributes(request.return_values, &stored)?;
    let AppliedWrite {
        version,
        consumed_capacity,
    } = outcome.write(transaction, &stored)?;
    let item_collection_metrics =
        write::collection_metrics_if(request.return_item_collection_metrics, transaction, &stored)?;
    Ok(PutItemResponse {
        attributes,
        consumed_capacity,
        item_collection_metrics,
        version,
    })
}

/// Returns the attributes that `ReturnValues` of a put or delete asks for.
fn returned_attributes(
    return_values: ReturnValues,
    stored: &StoredItem,
) -> Result<Option<Item>, StoreError> {
    match return_values {
        ReturnValues::AllOld => Ok(stored.item()?.cloned()),
        ReturnValues::None => Ok(None),
    }
}

impl Engine {
    /// Starts an UpdateItem (docs/dynamodb.md 12.3): the update applies to the item with the key,
    /// or to the key alone, if the condition holds for it. `done` gets the result after the commit.
    pub fn update_item(&self, request: UpdateItemRequest, done: Completion<UpdateItemResponse>) {
        self.shared.submit_checked(
            check_update(&request),
            move |transaction, plan| update(transaction, &request, plan),
            done,
        );
    }
}

/// Runs the checks that need no table.
fn check_update(request: &UpdateItemRequest) -> Result<WritePlan, Error> {
    request.key.check_nesting()?;
    let plan = UpdatePlan::parse(&request.update, &request.condition, &request.placeholders)?;
    Ok(WritePlan::Update(plan.with_precondition(
        request.precondition,
        request.return_old_on_condition_failure,
    )))
}

fn update(
    transaction: &mut Transaction<'_>,
    request: &UpdateItemRequest,
    plan: &WritePlan,
) -> Result<UpdateItemResponse, Error> {
    let (stored, outcome) = plan.prepare(
        transaction,
        &request.table_name,
        WriteAction::Update(&request.key),
    )?;
    let attributes = plan.returned(request.return_values, &stored, &outcome)?;
    let AppliedWrite {
        version,
        consumed_capacity,
    } = outcome.write(transaction, &stored)?;
    let item_collection_metrics =
        write::collection_metrics_if(request.return_item_collection_metrics, transaction, &stored)?;
    let version = outcome.item().map(|_| version);
    Ok(UpdateItemResponse {
        attributes,
        consumed_capacity,
        item_collection_metrics,
        version,
    })
}

impl Engine {
    /// Starts a DeleteItem (docs/dynamodb.md 12.4): deletes the item with the key if the condition
    /// holds for it; a missing item is no error. `done` gets the result after the commit.
    pub fn delete_item(&self, request: DeleteItemRequest, done: Completion<DeleteItemResponse>) {
        self.shared.submit_checked(
            check_delete(&request),
            move |transaction, plan| delete(transaction, &request, plan),
            done,
        );
    }
}

/// Runs the checks that need no table.
fn check_delete(request: &DeleteItemRequest) -> Result<WritePlan, Error> {
    request.key.check_nesting()?;
    let guard = WriteCondition::of_request(&request.condition, &request.placeholders)?;
    Ok(WritePlan::Condition(guard.with_precondition(
        request.precondition,
        request.return_old_on_condition_failure,
    )))
}

fn delete(
    transaction: &mut Transaction<'_>,
    request: &DeleteItemRequest,
    plan: &WritePlan,
) -> Result<DeleteItemResponse, Error> {
    let (stored, outcome) = plan.prepare(
        transaction,
        &request.table_name,
        WriteAction::Delete(&request.key),
    )?;
    let existed = stored.record()?.is_some();
    let attributes = returned_attributes(request.return_values, &stored)?;
    let consumed_capacity = outcome.write(transaction, &stored)?.consumed_capacity;
    let item_collection_metrics =
        write::collection_metrics_if(request.return_item_collection_metrics, transaction, &stored)?;
    Ok(DeleteItemResponse {
        attributes,
        consumed_capacity,
        item_collection_metrics,
        existed,
    })
}

impl Engine {
    /// Starts the delete of an item and puts its text into the trash in the same transaction;
    /// `done` gets the result after the commit. A missing item puts nothing into the trash.
    pub fn trash_item(&self, request: TrashRequest, done: Completion<DeleteItemResponse>) {
        let checked = check_delete(&request.delete);
        let park = move |transaction: &mut Transaction<'_>, plan: &WritePlan| {
            let table = transaction.active_table(&request.key.table)?;
            let response = delete(transaction, &request.delete, plan)?;
            if response.existed {
                trash::put(transaction, table.source, &request.key, &request.content)?;
            }
            Ok(response)
        };
        self.shared.submit_checked(checked, park, done);
    }

    /// Applies a change to the trash; returns true if it changed something.
    ///
    /// # Errors
    /// `ResourceNotFound` without the table; also errors of the store.
    pub fn change_trash(&self, change: TrashChange) -> Result<bool, Error> {
        self.shared
            .submit_and_wait(move |transaction| trash::apply_change(transaction, &change))
    }
}
