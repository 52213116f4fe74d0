//! CreateTable and UpdateTable by a written `schema.json`, and the plan of one (`schema.plan`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::commit::{Outcome, Performer};
use super::{Caller, View};
use crate::codec::json::document::Document;
use crate::codec::{file_name, wire};
use crate::database::admin::Administration;
use crate::fs::FsError;
use crate::fs::handle::OpenText;
use crate::fs::journal::session_of;
use crate::fs::special::dropped;
use crate::fs::tree::pretty;
use crate::fs::tree::table_name;
use crate::fs::write::Drafts;
use crate::fs::write::schema_change::{Reach, Refusal, SchemaChange, Step};
use crate::fs::write::schema_target::{PlanTarget, SchemaRequest, SchemaTarget};
use crate::model::api::{CreateTableRequest, TimeToLiveSpecification, UpdateTableRequest, UpdateTimeToLiveRequest};
use crate::model::schema::KeyType;
use crate::model::{Error, TableName};

impl Performer for SchemaTarget {
    /// An index may take a while to be defined: on a thread of its own.
    fn perform(view: &Arc<View>, open: &Arc<OpenText<Self>>, request: SchemaRequest, done: Outcome) {
        let (again, open) = (Arc::clone(view), Arc::clone(open));
        view.run_long(Box::new(move || {
            let table = open.state.lock().writer.target().table.clone();
            let ended = again.store_schema(&table, request);
            done(ended.map(|()| 0));
        }));
    }
}

impl Performer for PlanTarget {
    fn perform(view: &Arc<View>, open: &Arc<OpenText<Self>>, request: SchemaRequest, done: Outcome) {
        let table = open.state.lock().writer.target().0.table.clone();
        let planned = view.plan(&table, request);
        if let Ok(text) = &planned {
            view.tree.plans.lock().keep(&table, session_of(open.opener), text.clone());
        }
        done(planned.map(|_| 0));
    }
}

impl View {
    /// The target of a `schema.json` as the table is now.
    pub(in crate::fs) fn schema_target(&self, table: &TableName) -> Result<SchemaTarget, FsError> {
        Ok(SchemaTarget { table: table.clone(), stored: self.tree.definition(table)? })
    }

    /// Performs what a written `schema.json` asks for. A change is checked as a whole before its first step.
    pub(super) fn store_schema(&self, table: &TableName, request: SchemaRequest) -> Result<(), Error> {
        match request {
            SchemaRequest::Create { request, expiry, .. } => {
                self.create_table(*request)?;
                let Some(attribute_name) = expiry else { return Ok(()) };
                let specification = TimeToLiveSpecification { enabled: true, attribute_name };
                self.tree.db.update_time_to_live(UpdateTimeToLiveRequest { table_name: table.clone(), specification }).map(drop)
            }
            SchemaRequest::Change(SchemaChange { steps, .. }) if steps.is_empty() => Ok(()),
            SchemaRequest::Change(SchemaChange { steps, .. }) => {
                let administration = self.administration()?;
                let requests: Vec<UpdateTableRequest> = steps.iter().filter_map(update_request).collect::<Result<_, _>>()?;
                administration.check_update_table(&requests).map_err(|(_, error)| error)?;
                for (done, step) in steps.iter().enumerate() {
                    self.perform_step(administration, step).inspect_err(|_| self.warn_of_part(table, &steps[..done]))?;
                }
                Ok(())
            }
        }
    }

    fn administration(&self) -> Result<&dyn Administration, Error> {
        self.tree.db.administration().ok_or(Error::NotSupported("changing a table's definition"))
    }

    /// Somebody else changed the table between the check and the steps.
    fn warn_of_part(&self, table: &TableName, done: &[Step]) {
        if !done.is_empty() {
            let names: Vec<&str> = done.iter().map(|step| step.operation).collect();
            self.warn(
                &format!("{}/schema.json", table_name(table)),
                vec![format!("these steps were done before the failure: {}", names.join(", "))],
            );
        }
    }

    fn perform_step(&self, administration: &dyn Administration, step: &Step) -> Result<(), Error> {
        let document = Document::of(&step.request);
        let json = document.root();
        match step.operation {
            "UpdateTable" => administration.update_table(wire::update_table::request(json).map_err(wire_error)?).map(drop),
            "TagResource" => administration.tag_resource(wire::resource::tag_request(json).map_err(wire_error)?),
            "UntagResource" => administration.untag_resource(wire::resource::untag_request(json).map_err(wire_error)?),
            "PutResourcePolicy" => {
                administration.put_policy(wire::resource::put_policy_request(json).map_err(wire_error)?).map(drop)
            }
            "DeleteResourcePolicy" => {
                administration.delete_policy(wire::resource::policy_request(json).map_err(wire_error)?).map(drop)
            }
            "UpdateTimeToLive" => {
                let request = wire::time_to_live::update_request(json).map_err(wire_error)?;
                self.tree.db.update_time_to_live(request).map(drop)
            }
            _ => Err(Error::NotSupported(step.operation)),
        }
    }

    /// What a written `schema.plan` says when it is read.
    fn plan(&self, table: &TableName, request: SchemaRequest) -> Result<Vec<u8>, Error> {
        let items = self.tree.db.describe(table)?.map_or(0, |description| description.item_count);
        let (would, change) = match request {
            SchemaRequest::Create { request, json, expiry } => ("create the table", self.plan_creation(*request, json, expiry)?),
            SchemaRequest::Change(change) => ("change the table", self.with_refusals(change)?),
        };
        let would = match (change.refusals.is_empty(), change.steps.is_empty()) {
            (false, _) => "be refused",
            (true, true) => "change nothing",
            (true, false) => would,
        };
        let steps: Vec<Value> = change.steps.iter().enumerate().map(|(place, step)| step_json(place + 1, step, items)).collect();
        let refusals = change.refusals.iter().map(|refusal| {
            let Refusal { member, why, hint } = refusal;
            json!({ "member": member, "why": why, "hint": hint })
        });
        Ok(pretty(&json!({
            "table": table.as_str(),
            "would": would,
            "steps": steps,
            "refusals": refusals.collect::<Vec<_>>(),
        })))
    }

    /// What only the database can say against the steps.
    fn with_refusals(&self, mut change: SchemaChange) -> Result<SchemaChange, Error> {
        if change.refusals.is_empty() {
            let requests: Vec<UpdateTableRequest> = change.steps.iter().filter_map(update_request).collect::<Result<_, _>>()?;
            match self.administration()?.check_update_table(&requests) {
                Ok(()) => {}
                Err((_, Error::Store(error))) => return Err(Error::Store(error)),
                Err((place, error)) => change.refusals.push(refused(format!("UpdateTable, request {}", place + 1), &error)),
            }
        }
        Ok(change)
    }

    fn plan_creation(&self, request: CreateTableRequest, json: Value, expiry: Option<String>) -> Result<SchemaChange, Error> {
        let mut change = SchemaChange::default();
        match self.administration()?.check_create_table(request.clone()) {
            Ok(()) => {}
            Err(Error::Store(error)) => return Err(Error::Store(error)),
            Err(error) => {
                change.refusals.push(refused("CreateTable".to_owned(), &error));
                return Ok(change);
            }
        }
        let step =
            |operation, request, effect: &str| Step { operation, request, reach: Reach::Settings, effect: effect.to_owned() };
        change.steps.push(step("CreateTable", json, "the draft becomes a table; its folders stay"));
        if let Some(attribute) = expiry {
            let specification = json!({ "Enabled": true, "AttributeName": attribute });
            let request = json!({ "TableName": request.table_name.as_str(), "TimeToLiveSpecification": specification });
            change.steps.push(step("UpdateTimeToLive", request, "items whose time has passed are deleted"));
        }
        Ok(change)
    }

    /// CreateTable; the draft of that name becomes the table. Its folders are collections before it is a table, so that a program
    /// that is at work in them finds them at every moment.
    pub(in crate::fs) fn create_table(&self, request: CreateTableRequest) -> Result<(), Error> {
        let table = request.table_name.clone();
        let made = self.keep_draft_folders(&self.tree.drafts.lock(), &request);
        if let Err(error) = self.tree.db.create_table(request.clone()) {
            if made {
                self.tree.folders.lock().drop_table(&table);
            }
            return Err(error);
        }
        // Other processes went on making folders in the draft.
        let mut drafts = self.tree.drafts.lock();
        self.keep_draft_folders(&drafts, &request);
        drafts.created(&table);
        Ok(())
    }

    /// The folders `items/K(pk)` of a draft as empty collections; false when there is no draft, or the table has no sort key.
    fn keep_draft_folders(&self, drafts: &Drafts, request: &CreateTableRequest) -> bool {
        if let (true, Some(draft)) = (self.tree.restores(&request.table_name), drafts.get(&request.table_name)) {
            dropped::keep_folders(&self.tree, &request.table_name, draft.folders());
        }
        let key = |kind| request.key_schema.iter().find(|element| element.key_type == kind).map(|element| &element.attribute_name);
        let (Some(partition), Some(_)) = (key(KeyType::Hash), key(KeyType::Range)) else { return false };
        let Some(definition) = request.attribute_definitions.iter().find(|one| one.name == *partition) else { return false };
        let Some(draft) = drafts.get(&request.table_name) else { return false };
        let mut kept = self.tree.folders.lock();
        for name in draft.children("items") {
            if let Some(digest) = file_name::alias_digest(name) {
                kept.make_alias(&request.table_name, digest, name, super::now_ms());
            } else if let Ok(value) = file_name::decode_value(name, definition.attribute_type) {
                kept.make(&request.table_name, value, super::now_ms());
            }
        }
        true
    }

    /// The plan that this session made last, or how to make one.
    pub(in crate::fs) fn no_plan(table: &TableName) -> Vec<u8> {
        pretty(&json!({
            "table": table.as_str(),
            "would": "change nothing",
            "steps": [],
            "refusals": [],
            "hint": "write a definition here as into schema.json, then read what that would do; nothing is done",
        }))
    }

    /// The text of `schema.plan`.
    pub(in crate::fs) fn plan_text(tree: &crate::fs::tree::Tree, table: &TableName, caller: Caller) -> Vec<u8> {
        tree.plans.lock().get(table, session_of(caller.pid)).unwrap_or_else(|| Self::no_plan(table))
    }
}

fn update_request(step: &Step) -> Option<Result<UpdateTableRequest, Error>> {
    (step.operation == "UpdateTable").then(|| wire::update_table::request(Document::of(&step.request).root()).map_err(wire_error))
}

/// The body was checked as a CreateTable request; as a part of another it can only fail by a rule of that operation.
fn wire_error(error: wire::WireError) -> Error {
    match error {
        wire::WireError::Request(error) => error,
        _ => Error::NotSupported("this change of a table's definition"),
    }
}

fn refused(member: String, error: &Error) -> Refusal {
    Refusal { member, why: error.to_string(), hint: "change what it says and plan again".to_owned() }
}

fn step_json(number: usize, step: &Step, items: u64) -> Value {
    let items = match step.reach {
        Reach::Settings => 0,
        Reach::EveryItem => items,
    };
    json!({ "step": number, "operation": step.operation, "request": step.request, "items": items, "effect": step.effect })
}
