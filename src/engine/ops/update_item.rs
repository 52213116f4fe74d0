//! UpdateItem: an update is applied to what has the key, or to the key alone, if the condition holds for it (docs/dynamodb.md 12.3).

use crate::engine::base::item_key;
use crate::engine::runtime::{Done, Engine, Transaction};
use crate::engine::write;
use crate::engine::write::stored::Stored;
use crate::engine::write::update::UpdatePlan;
use crate::model::api::{UpdateItemRequest, UpdateItemResponse};
use crate::model::{AttributeValue, Error};

impl Engine {
    /// Starts an update; `done` hears of it after the commit.
    pub fn update_item(&self, request: UpdateItemRequest, done: Done<UpdateItemResponse>) {
        match check_shape(&request) {
            Ok(plan) => self.shared.submit(move |transaction| update(transaction, &request, &plan), done),
            Err(error) => done(Err(error)),
        }
    }
}

/// What needs no table.
fn check_shape(request: &UpdateItemRequest) -> Result<UpdatePlan, Error> {
    request.key.0.values().try_for_each(AttributeValue::check_nesting)?;
    let plan = UpdatePlan::parse(&request.update, &request.condition, &request.placeholders)?;
    Ok(plan.with(request.precondition, request.return_old_on_condition_failure))
}

fn update(transaction: &mut Transaction<'_>, request: &UpdateItemRequest, plan: &UpdatePlan) -> Result<UpdateItemResponse, Error> {
    let table = transaction.active_table(&request.table_name)?;
    let key = item_key::key_of_parameter(&table.schema.key, &request.key)?;
    plan.check_table(&table)?;
    let stored = Stored::look_at(transaction, &table, key)?;
    transaction.held_values.change(stored.record()?)?;
    let new = plan.apply(&stored)?;
    let applied = write::replace(transaction, &stored, new.as_ref())?;
    let item_collection_metrics = write::metrics_if(request.return_item_collection_metrics, transaction, &stored)?;
    Ok(UpdateItemResponse {
        attributes: plan.returned(request.return_values, stored.item()?, new.as_ref()),
        consumed_capacity: applied.consumed_capacity,
        item_collection_metrics,
        version: new.is_some().then_some(applied.version),
    })
}
