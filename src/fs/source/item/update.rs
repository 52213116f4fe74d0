//! `X.update`: an UpdateItem, carried out once by each file that is opened and written: an expression with its values in the text, or a
//! request's JSON.
//!
//! An expression is carried out in the `write()` that ends it with a newline, or when the file is closed; JSON in the `write()` that
//! completes it.

use crate::codec::json::prefix::{JsonPrefix, PrefixState};
use crate::codec::{dynamodb_json, json::document::Document, wire};
use crate::expr::literals::{self, ExtractedUpdate};
use crate::expr::{PlaceholderUse, condition, update};
use crate::fs::open::prelude::*;
use crate::fs::write::{Judged, LineCheck, TextCheck};
use crate::fs::{
    mount::last,
    open::{room::open_text, text::Execute},
    write::{Commit, Target},
};
use crate::model::api::{Call, UpdateItemResponse, UpdateParameter};
use crate::model::error::ExpressionError;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::{
    KeySchema,
    api::{CallContext, ConditionParameter, Done, UpdateItemRequest},
};

const USAGE: &str = "\
write an update here to carry it out, once:
  echo 'SET n = n + 1, status = \"open\" REMOVE tmp IF n < 10' > X.update
  echo 'ADD views 1, tags {\"$ss\":[\"new\"]}' > X.update
The words are UpdateExpression's, and after IF a ConditionExpression.
{spelling}When IF fails the error is ECANCELED. Or write an UpdateItem request in JSON, without TableName and Key.
An item that is not there is made, unless the update only removes.
";

pub struct UpdateFile(pub EntryNode);

impl Room for UpdateFile {
    fn text(&self, _at: &Special, _mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(USAGE.replace("{spelling}", literals::SPELLING).into_bytes())
    }

    fn open_writer(&self, at: &SpecialNode, host: &Arc<Host>, caller: Caller, flags: OpenFlags) -> Result<Handle, FsError> {
        let key_schema = host.mount().schema(self.0.table())?.key.clone();
        let target = UpdateTarget { place: self.0.clone(), key_schema };
        Ok(open_text((at.ino(), at.path.clone()), caller, flags, target, None))
    }
}

#[derive(Debug)]
struct UpdateTarget {
    place: EntryNode,
    key_schema: KeySchema,
}

impl Target for UpdateTarget {
    type Request = UpdateItemRequest;

    fn request(&self, text: &[u8], _precondition: Option<Precondition>) -> Result<Commit<UpdateItemRequest>, FsError> {
        let text = std::str::from_utf8(text).map_err(|_| FsError::Body("the text is not UTF-8".to_owned()))?;
        let request = if is_json(text) { self.json_request(text)? } else { self.expression_request(text)? };
        Ok(Commit { request, warnings: Vec::new() })
    }

    fn check(&self) -> Box<dyn TextCheck> {
        Box::new(LineCheck::once(judge))
    }

    fn is_statement(&self) -> bool {
        true
    }

    fn unchanged(&self) -> &'static str {
        "The item is unchanged."
    }
}

impl UpdateTarget {
    fn expression_request(&self, text: &str) -> Result<UpdateItemRequest, FsError> {
        let extracted = extract(text)?;
        let key = self.place.key().to_item(&self.key_schema);
        let update = extracted.update.map_or(UpdateParameter::None, UpdateParameter::Expression);
        let condition = extracted.condition.map_or(ConditionParameter::None, ConditionParameter::Expression);
        let table = self.place.table().clone();
        Ok(UpdateItemRequest { condition, ..UpdateItemRequest::new(table, key, update, extracted.placeholders) })
    }

    fn json_request(&self, text: &str) -> Result<UpdateItemRequest, FsError> {
        let mut json: Value = Document::read_value(text.as_bytes()).map_err(|error| FsError::Body(error.to_string()))?;
        let key = self.place.key().to_item(&self.key_schema);
        if let Some(members) = json.as_object_mut() {
            members.entry("TableName").or_insert_with(|| Value::String(self.place.table().to_string()));
            members.entry("Key").or_insert_with(|| typed(&key));
        }
        let request = wire::request::<UpdateItemRequest>(Document::of(&json).root())?;
        if request.table_name != *self.place.table() || request.key != key {
            return Err(FsError::Body("TableName and Key come from the file's name; leave them out".to_owned()));
        }
        Ok(request)
    }
}

/// The item as a JSON value.
fn typed(item: &crate::model::Item) -> Value {
    let mut text = Vec::new();
    dynamodb_json::write_item(item, &mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn judge(text: &str) -> Judged {
    if is_json(text) {
        let mut check = JsonPrefix::new();
        return match check.feed(text.as_bytes()) {
            PrefixState::Complete => Judged::Good,
            PrefixState::Incomplete => Judged::Unfinished(FsError::Json(check.incomplete())),
            PrefixState::Invalid(error) => Judged::Bad(FsError::Json(error)),
        };
    }
    if text.trim().is_empty() {
        return Judged::Unfinished(FsError::Body("an update begins with SET, REMOVE, ADD, DELETE or IF".to_owned()));
    }
    let extracted = match literals::update(text) {
        Ok(extracted) => extracted,
        Err(error) if error.is_incomplete() => return Judged::Unfinished(FsError::Body(error.to_string())),
        Err(error) => return Judged::Bad(FsError::Body(error.to_string())),
    };
    match parse(&extracted) {
        Ok(()) => Judged::Good,
        Err(error) if ends_early(&error, &extracted) => Judged::Unfinished(FsError::Database(error)),
        Err(error) => Judged::Bad(FsError::Database(error)),
    }
}

fn extract(text: &str) -> Result<ExtractedUpdate, FsError> {
    literals::update(text).map_err(|error| FsError::Body(error.to_string()))
}

fn parse(extracted: &ExtractedUpdate) -> Result<(), Error> {
    let mut used = PlaceholderUse::default();
    if let Some(text) = &extracted.update {
        update::parse(text, &extracted.placeholders, &mut used)?;
    }
    if let Some(text) = &extracted.condition {
        condition::parse_parameter(text, ExpressionParameter::Condition, &extracted.placeholders, &mut used)?;
    }
    used.finish(&extracted.placeholders)
}

/// Is what is wrong that the text stops?
fn ends_early(error: &Error, extracted: &ExtractedUpdate) -> bool {
    let last = if extracted.condition.is_some() { ExpressionParameter::Condition } else { ExpressionParameter::Update };
    match error {
        Error::Expression(ExpressionError::Invalid { parameter, fault }) if *parameter == last => match fault {
            ExpressionFault::Syntax { token, .. } => token == "<EOF>",
            ExpressionFault::Empty => true,
            _ => false,
        },
        _ => false,
    }
}

impl Execute for UpdateTarget {
    fn execute(host: &Arc<Host>, open: &Arc<OpenText<Self>>, request: UpdateItemRequest, done: Outcome) {
        let place = open.state.lock().writer.target().place.clone();
        execute(host, &place, open.writer(), request, done);
    }
}

/// Carries out an update of the item; an item that is hidden is itself again.
pub(super) fn execute(host: &Arc<Host>, place: &EntryNode, writer: u32, request: UpdateItemRequest, done: Outcome) {
    // Before the update, which would else change what the waiting delete then takes with it.
    host.revive_item(place.table(), place.key());
    let (again, place) = (Arc::clone(host), place.clone());
    let session = host.mount().last.session(writer);
    let context = CallContext { listener: Some(host.listener(writer)), ..done.context.clone() };
    let stored = Done::new(context, move |outcome: Result<UpdateItemResponse, Error>| {
        let answer = outcome.as_ref().map(|response| last::of_write(place.table(), response));
        again.mount().last.keep_write(session, "UpdateItem", answer);
        let version = outcome.map(|response| response.version);
        if let Ok(Some(_)) = version {
            again.item_stored(place.table(), place.key());
        }
        done.tell(version.map(Option::unwrap_or_default));
    });
    host.mount().db.start(Call::UpdateItem(request, stored));
}
