//! CreateTable and UpdateTable by a written `schema.json`; and `schema.plan`, the effect of writing
//! a definition, for lookup only. The plan is written as `schema.json` is and read back as ordered
//! steps and refusals; each session reads its own. `write/schema_change.rs` computes the steps,
//! `source/schema.rs` has the file.

use super::{absence, discarded_writes, queries};
use crate::codec::{
    file_name,
    json::document::{Document, Json},
    wire,
};
use crate::fs::{
    mount::text_cache::pretty_json,
    node::special::FilePlace,
    open::{
        node_ops::open_text,
        prelude::*,
        text::{TextFile, action},
    },
    process::session_of,
    source::schema,
    write::{
        Commit, Drafts,
        schema_change::{
            DefinitionCheck, PlannedRequest, SchemaChange, SchemaRefusal, SchemaRequest,
            SchemaTarget, ttl_attribute,
        },
    },
};
use crate::inspect::advice::expiry;
use crate::model::{
    api::{
        CreateTableRequest, TimeToLiveSpecification, UpdateTableRequest, UpdateTimeToLiveRequest,
    },
    schema::KeyType,
};
use crate::protocol::{self, RequestError};

/// `schema.json` of a table, a draft or an index.
#[derive(Debug)]
pub struct Schema<'n>(pub &'n SourceName);

impl NodeOps<Node> for Schema<'_> {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        schema::attr(&at, self.0)
    }

    fn text(&self, at: At<'_, Node>) -> Result<Vec<u8>> {
        schema::text(&at, self.0)
    }

    fn open_writer(&self, at: HostAt<'_, Node>, flags: OpenFlags) -> Result<Handle> {
        let mount = &at.mount;
        if !at.node.is_writable() {
            return Err(FsError::Derived);
        }
        let target = target(mount, &self.0.table)?;
        let (unchanged, text) = (target.unchanged(), schema::text(mount, self.0).ok());
        let text = text.map(|text| (text, None));
        let read = move |text: &[u8], _| {
            let Commit { request, warnings } = target.request(text)?;
            let table = target.table.clone();
            // On a thread of its own: the definition of an index may take a while.
            let change = move |host: &Host, _, reply: VersionReply| {
                let host_clone = host.clone();
                host.run_long(move || {
                    reply.complete(apply(&host_clone, &table, request).map(|()| 0));
                });
            };
            Ok(Commit {
                warnings,
                ..action(change)
            })
        };
        let file = TextFile::new(unchanged, read).with_check(DefinitionCheck::default);
        let place = FilePlace {
            ino: at.node.ino(),
            path: mount.display_path(at.node),
        };
        Ok(open_text(place, &at, flags, text, file))
    }

    fn unlink(&self, at: HostAt<'_, Node>, reply: Reply<()>) {
        let (mount, table) = (&at.mount, &self.0.table);
        reply(if at.node.is_writable() {
            mount.is_draft(table).and_then(|is_draft| {
                if is_draft {
                    mount.drafts.lock().unlink_schema(table)
                } else {
                    at.rm_guard.unlink_definition(mount, at.node, table)
                }
            })
        } else {
            Err(at.refuse_part(at.node))
        });
    }
}

/// Returns the target of a `schema.json` with the table's present definition.
pub fn target(mount: &Mount, table: &TableName) -> Result<SchemaTarget, FsError> {
    Ok(SchemaTarget {
        table: table.clone(),
        stored: schema::definition(mount, table)?,
    })
}

/// Carries out the request of a written `schema.json`. A change is checked as a whole before its
/// first step.
pub fn apply(host: &Host, table: &TableName, request: SchemaRequest) -> Result<(), Error> {
    let mount = &host.mount;
    match request {
        SchemaRequest::Create {
            request, expiry, ..
        } => {
            create_table(host, *request)?;
            let Some(attribute_name) = expiry else {
                return Ok(());
            };
            let specification = TimeToLiveSpecification {
                enabled: true,
                attribute_name,
            };
            mount
                .db
                .update_time_to_live(UpdateTimeToLiveRequest {
                    table_name: table.clone(),
                    specification,
                })
                .map(drop)
        }
        SchemaRequest::Change(SchemaChange { steps, .. }) if steps.is_empty() => Ok(()),
        SchemaRequest::Change(SchemaChange { steps, .. }) => {
            let requests: Vec<UpdateTableRequest> = steps
                .iter()
                .filter_map(update_request)
                .collect::<Result<_, _>>()?;
            // All steps are checked before the first: a definition changes as a whole or, short of
            // a race, not at all.
            mount
                .db
                .check_update_table(&requests)
                .map_err(|(_, error)| error)?;
            for (done, step) in steps.iter().enumerate() {
                perform_step(mount, step)
                    .inspect_err(|_| warn_partial(mount, table, &steps[..done]))?;
            }
            Ok(())
        }
    }
}

/// Warns of a partial change: another process changed the table between the check and the steps.
fn warn_partial(mount: &Mount, table: &TableName, executed: &[PlannedRequest]) {
    if !executed.is_empty() {
        let names: Vec<&str> = executed.iter().map(|step| step.operation).collect();
        let warning = format!(
            "these steps were done before the failure: {}",
            names.join(", ")
        );
        mount
            .error_log
            .warn(&format!("{}/schema.json", table_name(table)), vec![warning]);
    }
}

fn perform_step(mount: &Mount, step: &PlannedRequest) -> Result<(), Error> {
    if let Some(request) = update_request(step) {
        // Through a remote mount it waits for the table, which a request in JSON does not.
        return mount.db.update_table(request?).map(drop);
    }
    let done = protocol::call(
        step.operation,
        Document::from_value(&step.request),
        &*mount.db,
        "",
    );
    done.map(drop).map_err(|failure| match failure {
        RequestError::Operation(error) => error,
        RequestError::Wire(error) => wire_error(error),
        RequestError::UnknownOperation => Error::NotSupported(step.operation),
    })
}

/// Returns the text of a `schema.plan`.
fn plan(mount: &Mount, table: &TableName, request: SchemaRequest) -> Result<Vec<u8>, Error> {
    let items = mount
        .db
        .describe(table)?
        .map_or(0, |description| description.item_count);
    let (would, change) = match request {
        SchemaRequest::Create {
            request,
            json,
            expiry,
        } => (
            "create the table",
            plan_creation(mount, *request, json, expiry)?,
        ),
        SchemaRequest::Change(change) => ("change the table", add_refusals(mount, change)?),
    };
    let would = match (change.refusals.is_empty(), change.steps.is_empty()) {
        (false, _) => "be refused",
        (true, true) => "change nothing",
        (true, false) => would,
    };
    let steps = change.steps.iter().enumerate().map(|(place, step)| {
        let mut json = step_json(place + 1, step, items);
        let forecast = if change.refusals.is_empty() {
            index_forecast(mount, step)?
        } else {
            None
        };
        if let Some(index) = forecast {
            json["index"] = index;
        }
        if let Some(attribute) = ttl_attribute(&step.request).filter(|_| items > 0)
            && !mount.db.charges_peeks()
        {
            json["over"] = json!(expiry::items_over(&*mount.db, table, &attribute, now_ms())?);
        }
        Ok(json)
    });
    let steps: Vec<Value> = steps.collect::<Result<_, Error>>()?;
    let refusals = change.refusals.iter().map(|refusal| {
        let SchemaRefusal {
            member,
            reason,
            hint,
        } = refusal;
        json!({ "member": member, "why": reason, "hint": hint })
    });
    Ok(pretty_json(&json!({
        "table": table.as_str(),
        "would": would,
        "steps": steps,
        "refusals": refusals.collect::<Vec<_>>(),
    })))
}

/// Returns the forecast of the index that a step makes, if it makes one.
fn index_forecast(mount: &Mount, step: &PlannedRequest) -> Result<Option<Value>, Error> {
    let Some(request) = update_request(step).transpose()? else {
        return Ok(None);
    };
    let Some(index) = request.index_creations().next() else {
        return Ok(None);
    };
    let (forecast, layout) = (mount.db.forecast_index(&request, index)?, mount.db.layout());
    Ok(forecast
        .zip(layout)
        .map(|(forecast, layout)| absence::forecast(&forecast, layout.prices())))
}

/// Adds the refusals that only the database can find.
fn add_refusals(mount: &Mount, mut change: SchemaChange) -> Result<SchemaChange, Error> {
    if change.refusals.is_empty() {
        let requests: Vec<UpdateTableRequest> = change
            .steps
            .iter()
            .filter_map(update_request)
            .collect::<Result<_, _>>()?;
        match mount.db.check_update_table(&requests) {
            Ok(()) => {}
            Err((_, Error::Store(error))) => return Err(Error::Store(error)),
            Err((place, error)) => change.refusals.push(refusal(
                format!("UpdateTable, request {}", place + 1),
                &error,
            )),
        }
    }
    Ok(change)
}

fn plan_creation(
    mount: &Mount,
    request: CreateTableRequest,
    json: Value,
    expiry: Option<String>,
) -> Result<SchemaChange, Error> {
    let mut change = SchemaChange::default();
    match mount.db.check_create_table(request.clone()) {
        Ok(()) => {}
        Err(Error::Store(error)) => return Err(Error::Store(error)),
        Err(error) => {
            change
                .refusals
                .push(refusal("CreateTable".to_owned(), &error));
            return Ok(change);
        }
    }
    let step = |operation, request, effect: &str| PlannedRequest {
        operation,
        request,
        effect: effect.to_owned(),
    };
    change.steps.push(step(
        "CreateTable",
        json,
        "the draft becomes a table; its folders stay",
    ));
    if let Some(attribute) = expiry {
        let specification = json!({ "Enabled": true, "AttributeName": attribute });
        let request = json!({ "TableName": request.table_name.as_str(), "TimeToLiveSpecification": specification });
        change.steps.push(step(
            "UpdateTimeToLive",
            request,
            "items whose time has passed are deleted",
        ));
    }
    Ok(change)
}

/// Creates a table; the draft of that name becomes it. Its folders become collections before it is
/// a table, so that a program at work in them finds them at every moment; links in its `queries/`
/// become saved queries after it is one.
pub fn create_table(host: &Host, request: CreateTableRequest) -> Result<(), Error> {
    let (mount, table) = (&host.mount, request.table_name.clone());
    let made = keep_draft_folders(mount, &mount.drafts.lock(), &request);
    if let Err(error) = mount.db.create_table(request.clone()) {
        if made {
            mount.folders.lock().drop_table(&table);
        }
        return Err(error);
    }
    // Other processes may have made folders in the draft meanwhile. The lock is held until the
    // draft is gone: a folder made in between would be in neither.
    let mut drafts = mount.drafts.lock();
    keep_draft_folders(mount, &drafts, &request);
    drafts.finish(&table);
    let links = discarded_writes::take_links(mount, &table);
    drop(drafts);
    let refused = links.into_iter().filter_map(|(name, target)| {
        let error = queries::save_link(host, &table, &name, &target).err()?;
        Some(format!("{QUERIES_NAME}/{name} is not saved: {error}"))
    });
    let refused: Vec<String> = refused.collect();
    if !refused.is_empty() {
        mount
            .error_log
            .warn(&format!("{}/schema.json", table_name(&table)), refused);
    }
    Ok(())
}

/// Keeps the folders `items/K(pk)` of a draft as empty collections. Returns false if there is no
/// draft, or the table has no sort key.
fn keep_draft_folders(mount: &Mount, drafts: &Drafts, request: &CreateTableRequest) -> bool {
    if let (true, Some(draft)) = (
        mount.discards_writes(&request.table_name),
        drafts.get(&request.table_name),
    ) {
        discarded_writes::keep_folders(mount, &request.table_name, draft.folders());
    }
    let key = |kind| {
        request
            .key_schema
            .iter()
            .find(|element| element.key_type == kind)
            .map(|element| &element.attribute_name)
    };
    let (Some(partition), Some(_)) = (key(KeyType::Hash), key(KeyType::Range)) else {
        return false;
    };
    let Some(definition) = request
        .attribute_definitions
        .iter()
        .find(|one| one.name == *partition)
    else {
        return false;
    };
    let Some(draft) = drafts.get(&request.table_name) else {
        return false;
    };
    let mut kept = mount.folders.lock();
    for name in draft.children("items") {
        if let Some(digest) = file_name::alias_digest(name) {
            kept.add_alias(&request.table_name, digest, name, now_ms());
        } else if let Ok(value) = file_name::decode_value(name, definition.attribute_type) {
            kept.add(&request.table_name, value, now_ms());
        }
    }
    true
}

fn update_request(step: &PlannedRequest) -> Option<Result<UpdateTableRequest, Error>> {
    (step.operation == "UpdateTable").then(|| decode(Document::from_value(&step.request).root()))
}

fn decode<T: wire::Declared>(json: Json<'_>) -> Result<T, Error> {
    wire::request(json).map_err(wire_error)
}

/// Converts a wire error. The body was checked as a CreateTable request; as a part of another it
/// can only fail by a rule of that operation.
fn wire_error(error: wire::WireError) -> Error {
    match error {
        wire::WireError::Request(error) => error,
        _ => Error::NotSupported("this change of a table's definition"),
    }
}

fn refusal(member: String, error: &Error) -> SchemaRefusal {
    SchemaRefusal {
        member,
        reason: error.to_string(),
        hint: "change what it says and plan again".to_owned(),
    }
}

fn step_json(number: usize, step: &PlannedRequest, items: u64) -> Value {
    let items = if step.reads_items() { items } else { 0 };
    json!({ "step": number, "operation": step.operation, "request": step.request, "items": items, "effect": step.effect })
}

/// Returns the last plan of the caller's session, or the way to make one.
pub fn plan_text(mount: &Mount, node: &Special) -> Result<Vec<u8>, FsError> {
    let table = node.try_table()?;
    let plan = mount
        .plans
        .lock()
        .get(&(table.clone(), session_of(mount.caller.pid)), now_ms())
        .cloned();
    Ok(plan.unwrap_or_else(|| {
        no_plan(
            table,
            "write a definition here as into schema.json, then read what that would do; nothing is done",
        )
    }))
}

fn no_plan(table: &TableName, hint: &str) -> Vec<u8> {
    pretty_json(&json!({
        "table": table.as_str(),
        "would": "change nothing",
        "steps": [],
        "refusals": [],
        "hint": hint,
    }))
}

/// Opens `schema.plan` for writing. The plan before it is forgotten: if the new text is refused, it
/// would be read as the plan of that text.
pub fn open_plan(host: &Host, node: &SpecialNode, flags: OpenFlags) -> Result<Handle, FsError> {
    let table = node.try_table()?;
    let target = target(&host.mount, table)?;
    let place = (table.clone(), session_of(host.mount.caller.pid));
    host.mount.plans.lock().insert(
        place.clone(),
        no_plan(
            table,
            "there is no plan: the text that was written last is no whole definition; `.ddb/errors/last` tells what is wrong with it",
        ),
        now_ms(),
    );
    let read = move |text: &[u8], _| {
        let (request, place) = (target.read(text)?.request, place.clone());
        // On a thread of its own: a new index is checked against every item.
        Ok(action(move |host, _, reply| {
            let host_clone = host.clone();
            host.run_long(move || {
                let mount = &host_clone.mount;
                let planned = plan(mount, &place.0, request);
                let kept = planned.map(|text| mount.plans.lock().insert(place, text, now_ms()));
                reply.complete(kept.map(|_| 0));
            });
        }))
    };
    let file = TextFile::new("Nothing is planned; nothing is ever done here.", read)
        .with_check(DefinitionCheck::default);
    Ok(open_text(node.place(), host, flags, None, file))
}
