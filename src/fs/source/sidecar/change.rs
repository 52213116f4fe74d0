//! `X.patch`: a written text is merged into the item (RFC 7396), in one step: read, merge, put if
//! unchanged, retry if it was changed.
//!
//! `X.update`: an UpdateItem, executed once for each file that is opened and written. The text is
//! an expression with its values, or a request's JSON. An expression is executed in the `write()`
//! that ends it with a newline, or at close; JSON in the `write()` that completes it.

use crate::codec::{
    dynamodb_json,
    json::{
        document::Document,
        prefix::{JsonPrefix, PrefixState},
    },
    plain_json::{MemberPatch, MergePatch, parse_patch},
    wire,
};
use crate::expr::{
    PlaceholderScope, condition,
    literals::{self, ApiUpdate},
    update,
};
use crate::fs::{
    mount::call_log,
    open::{
        node_ops::open_text,
        prelude::*,
        text::{TextFile, action},
    },
    source::entry,
    write::{Commit, LineCheck, TextVerdict, utf8},
};
use crate::model::{
    KeySchema,
    api::{
        Call, CallContext, Completion, ConditionParameter, PutItemRequest, UpdateItemRequest,
        UpdateItemResponse, UpdateParameter,
    },
    error::{
        ExpressionError,
        expression::{ExpressionFault, ExpressionParameter},
    },
};

/// The maximum number of tries of a merge; each fails because another write to the item succeeded
/// between read and put.
const TRIES_MAX: usize = 1_000;

const PATCH_USAGE: &str = "\
write a JSON object here to merge it into the item (RFC 7396), in one step:
  echo '{\"status\":\"shipped\",\"tmp\":null}' > X.patch
null removes an attribute, {\"$null\":true} stores NULL, objects are merged into maps, anything else replaces.
An item that is not there is made.
";

pub struct PatchFile(pub EntryNode);

impl NodeOps for PatchFile {
    fn text(&self, _at: At<'_>) -> Result<Vec<u8>> {
        Ok(PATCH_USAGE.as_bytes().to_vec())
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        let (entry, strict) = (self.0.clone(), at.mount.options.strict_keys);
        let schema = at.mount.schema(entry.table())?.key.clone();
        let read = move |text: &[u8], _| {
            let (patch, warnings) = read_patch(text, entry.key(), &schema, strict)?;
            let (entry, schema) = (entry.clone(), schema.clone());
            let merge = move |host: &Host, writer, reply: VersionReply| {
                let merge = PatchMerge {
                    entry,
                    schema,
                    patch,
                    writer,
                };
                merge.attempt(host, TRIES_MAX, reply);
            };
            Ok(Commit {
                warnings,
                ..action(merge)
            })
        };
        let file = TextFile::new("The item is unchanged.", read).statement();
        Ok(open_text(at.node.place(), &at, flags, None, file))
    }
}

/// Reads a patch of the item of this key, with sentences for `.ddb/warnings.ndjson`.
fn read_patch(
    text: &[u8],
    key: &Key,
    schema: &KeySchema,
    strict: bool,
) -> Result<(MergePatch, Vec<String>)> {
    let mut patch = parse_patch(text).map_err(FsError::Json)?;
    if patch.looks_like_dynamodb_json() {
        return Err(FsError::Body(
            "this looks like DynamoDB JSON; a patch is plain JSON".to_owned(),
        ));
    }
    let mut warnings = Vec::new();
    let values = std::iter::once(&key.partition).chain(&key.sort);
    for (attribute, value) in schema.attributes().zip(values) {
        warnings.extend(take_key(&mut patch, &attribute.name, value, strict)?);
    }
    Ok((patch, warnings))
}

/// Takes the key, which the file's name determines, out of the patch. Returns a warning when the
/// patch had another.
fn take_key(
    patch: &mut MergePatch,
    name: &str,
    value: &AttributeValue,
    strict: bool,
) -> Result<Option<String>> {
    match patch.0.remove(name) {
        None => Ok(None),
        Some(MemberPatch::Set(given)) if given == *value => Ok(None),
        Some(MemberPatch::Remove) => Err(FsError::Body(format!(
            "`{name}` is part of the key: it cannot be removed"
        ))),
        Some(_) if strict => Err(FsError::Body(format!(
            "`{name}` in the body differs from the key that the file's name says"
        ))),
        Some(_) => Ok(Some(format!(
            "`{name}` in the body differs from the file's name; the name's key stays"
        ))),
    }
}

struct PatchMerge {
    entry: EntryNode,
    schema: KeySchema,
    patch: MergePatch,
    /// The writing thread.
    writer: u32,
}

impl PatchMerge {
    fn attempt(self, host: &Host, tries: usize, reply: VersionReply) {
        let (mut item, precondition) = match entry::load(&host.mount, &self.entry) {
            Ok((item, stat)) => (item, Precondition::Version(stat.version)),
            Err(FsError::NotFound) => {
                (self.entry.key().to_item(&self.schema), Precondition::Absent)
            }
            Err(FsError::Database(error)) => return reply.complete(Err(error)),
            Err(error) => {
                debug_assert!(false, "not an error of the database: {error}");
                return reply.complete(Err(Error::ResourceNotFound));
            }
        };
        self.patch.apply(&mut item);
        let mut request = PutItemRequest::new(self.entry.table().clone(), item);
        request.precondition = Some(precondition);
        let (host_clone, context, key) = (
            host.clone(),
            reply.context.clone(),
            request.item.key(&self.schema),
        );
        host.put_item(
            request,
            key,
            self.writer,
            VersionReply::new(context, move |outcome| match outcome {
                Err(Error::ConditionalCheckFailed { .. }) if tries > 1 => {
                    // Read again on another thread: this one is the committer.
                    let host = host_clone.clone();
                    host_clone.run_short(move || self.attempt(&host, tries - 1, reply));
                }
                outcome => reply.complete(outcome),
            }),
        );
    }
}

const UPDATE_USAGE: &str = "\
write an update here to carry it out, once:
  echo 'SET n = n + 1, status = \"open\" REMOVE tmp IF n < 10' > X.update
  echo 'ADD views 1, tags {\"$ss\":[\"new\"]}' > X.update
The words are UpdateExpression's, and after IF a ConditionExpression.
{spelling}When IF fails the error is ECANCELED. Or write an UpdateItem request in JSON, without TableName and Key.
An item that is not there is made, unless the update only removes.
";

pub struct UpdateFile(pub EntryNode);

impl NodeOps for UpdateFile {
    fn text(&self, _at: At<'_>) -> Result<Vec<u8>> {
        Ok(UPDATE_USAGE
            .replace("{spelling}", literals::SYNTAX_HELP)
            .into_bytes())
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        let entry = self.0.clone();
        let schema = at.mount.schema(entry.table())?.key.clone();
        let read = move |text: &[u8], _| {
            let text = utf8(text)?;
            let key = entry.key().to_item(&schema);
            let request = if is_json(text) {
                json_request(text, entry.table(), key)?
            } else {
                expression_request(text, entry.table().clone(), key)?
            };
            let entry = entry.clone();
            Ok(action(move |host, writer, reply| {
                execute(host, &entry, writer, request, reply)
            }))
        };
        let file = TextFile::new("The item is unchanged.", read)
            .with_check(|| LineCheck::once((), judge))
            .statement();
        Ok(open_text(at.node.place(), &at, flags, None, file))
    }
}

fn expression_request(text: &str, table: TableName, key: Item) -> Result<UpdateItemRequest> {
    let extracted = extract(text)?;
    let update = extracted
        .update
        .map_or(UpdateParameter::None, UpdateParameter::Expression);
    let condition = extracted
        .condition
        .map_or(ConditionParameter::None, ConditionParameter::Expression);
    Ok(UpdateItemRequest {
        condition,
        ..UpdateItemRequest::new(table, key, update, extracted.placeholders)
    })
}

fn json_request(text: &str, table: &TableName, key: Item) -> Result<UpdateItemRequest> {
    let mut json: Value =
        Document::parse_value(text.as_bytes()).map_err(|error| FsError::Body(error.to_string()))?;
    if let Some(members) = json.as_object_mut() {
        members
            .entry("TableName")
            .or_insert_with(|| Value::String(table.to_string()));
        if !members.contains_key("Key") {
            members.insert("Key".to_owned(), to_json(&key)?);
        }
    }
    let request = wire::request::<UpdateItemRequest>(Document::from_value(&json).root())?;
    if request.table_name != *table || request.key != key {
        return Err(FsError::Body(
            "TableName and Key come from the file's name; leave them out".to_owned(),
        ));
    }
    Ok(request)
}

/// Returns the item as a DynamoDB JSON value.
fn to_json(item: &Item) -> Result<Value, FsError> {
    let mut text = Vec::new();
    dynamodb_json::write_item(item, &mut text);
    serde_json::from_slice(&text).map_err(|_| FsError::Internal)
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn judge(_: &(), text: &str) -> TextVerdict {
    if is_json(text) {
        let mut check = JsonPrefix::new();
        return match check.feed(text.as_bytes()) {
            PrefixState::Complete => TextVerdict::Valid,
            PrefixState::Incomplete => TextVerdict::Incomplete(FsError::Json(check.incomplete())),
            PrefixState::Invalid(error) => TextVerdict::Invalid(FsError::Json(error)),
        };
    }
    if text.trim().is_empty() {
        return TextVerdict::Incomplete(FsError::Body(
            "an update begins with SET, REMOVE, ADD, DELETE or IF".to_owned(),
        ));
    }
    let extracted = match literals::update(text) {
        Ok(extracted) => extracted,
        Err(error) if error.is_incomplete() => {
            return TextVerdict::Incomplete(FsError::Body(error.to_string()));
        }
        Err(error) => return TextVerdict::Invalid(FsError::Body(error.to_string())),
    };
    match parse(&extracted) {
        Ok(()) => TextVerdict::Valid,
        Err(error) if ends_early(&error, &extracted) => {
            TextVerdict::Incomplete(FsError::Database(error))
        }
        Err(error) => TextVerdict::Invalid(FsError::Database(error)),
    }
}

fn extract(text: &str) -> Result<ApiUpdate> {
    literals::update(text).map_err(|error| FsError::Body(error.to_string()))
}

fn parse(extracted: &ApiUpdate) -> Result<(), Error> {
    let mut scope = PlaceholderScope::new(&extracted.placeholders);
    if let Some(text) = &extracted.update {
        update::parse(text, &mut scope)?;
    }
    if let Some(text) = &extracted.condition {
        condition::parse_parameter(text, ExpressionParameter::Condition, &mut scope)?;
    }
    scope.finish()
}

/// True if the error is the end of the text.
fn ends_early(error: &Error, extracted: &ApiUpdate) -> bool {
    let last = if extracted.condition.is_some() {
        ExpressionParameter::Condition
    } else {
        ExpressionParameter::Update
    };
    match error {
        Error::Expression(ExpressionError::Invalid { parameter, fault }) if *parameter == last => {
            match fault {
                ExpressionFault::Syntax { token, .. } => token == "<EOF>",
                ExpressionFault::Empty => true,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Executes an update of the item; a hidden item becomes visible again.
pub(super) fn execute(
    host: &Host,
    entry: &EntryNode,
    writer: u32,
    request: UpdateItemRequest,
    reply: VersionReply,
) {
    // Must precede the update: the pending delete would remove the updated item.
    host.revive_item(entry.table(), entry.key());
    let (host_clone, entry) = (host.clone(), entry.clone());
    let session = host.mount.last_responses.session(writer);
    let context = CallContext {
        listener: Some(host.listener(writer)),
        ..reply.context.clone()
    };
    let stored = Completion::new(
        context,
        move |outcome: Result<UpdateItemResponse, Error>| {
            let answer = outcome
                .as_ref()
                .map(|response| call_log::write_response(entry.table(), response));
            host_clone
                .mount
                .last_responses
                .record_write(session, "UpdateItem", answer);
            let version = outcome.map(|response| response.version);
            if let Ok(Some(_)) = version {
                host_clone.after_put(entry.table(), entry.key());
            }
            reply.complete(version.map(Option::unwrap_or_default));
        },
    );
    host.mount.db.start(Call::UpdateItem(request, stored));
}
