//! What a line of a batch asks for.

use crate::codec::item_line;
use crate::fs::mount::reports::BatchKind;
use crate::fs::open::prelude::*;
use crate::model::api::{ConditionParameter, DeleteItemRequest, Placeholders, PutItemRequest};
use crate::model::api::{TransactAction, TransactWrite};
use std::collections::BTreeMap;

/// A line that can be carried out.
#[derive(Debug)]
pub enum Request {
    Put(PutItemRequest),
    Delete(DeleteItemRequest),
    Get(Key),
    Action(TransactWrite),
    /// Of a transaction: the end of its lines.
    Commit,
}

/// Reads a line, which is not blank.
///
/// # Errors
/// It is no item, key or path of this table.
pub fn parse(host: &Host, schema: &TableSchema, kind: BatchKind, line: &[u8]) -> Result<Request, FsError> {
    let table = &schema.name;
    match kind {
        BatchKind::Put => Ok(Request::Put(PutItemRequest::new(table.clone(), item_line::parse(line)?))),
        BatchKind::Insert => {
            let mut request = PutItemRequest::new(table.clone(), item_line::parse(line)?);
            request.precondition = Some(Precondition::Absent);
            Ok(Request::Put(request))
        }
        BatchKind::Delete => {
            let key = key(host, schema, line)?;
            Ok(Request::Delete(DeleteItemRequest::new(table.clone(), key.to_item(&schema.key))))
        }
        BatchKind::Get => Ok(Request::Get(key(host, schema, line)?)),
        BatchKind::Atomic if line.trim_ascii() == b"commit" => Ok(Request::Commit),
        BatchKind::Atomic => action(schema, line).map(Request::Action),
    }
}

/// A key, a whole item, or a path below the table.
fn key(host: &Host, schema: &TableSchema, line: &[u8]) -> Result<Key, FsError> {
    let line = line.trim_ascii();
    if line.starts_with(b"{") {
        return key_of(schema, &item_line::parse(line)?);
    }
    let start = Node::Table(schema.name.clone());
    let node = line.split(|&byte| byte == b'/').try_fold(start, |parent, name| host.resolve(&parent, name));
    match node {
        Ok(Node::Entry(entry)) if entry.source.index.is_none() => Ok(entry.key.base),
        _ => {
            Err(FsError::Body("a line is a key such as {\"pk\":\"u1\"}, a whole item, or a path such as items/u1.json".to_owned()))
        }
    }
}

fn key_of(schema: &TableSchema, item: &Item) -> Result<Key, FsError> {
    let names = || std::iter::once(&schema.key.partition).chain(&schema.key.sort).map(|attribute| &attribute.name);
    let lacks = || names().find(|name| item.get(name).is_none());
    item.key(&schema.key)
        .ok_or_else(|| FsError::Body(format!("the line lacks the key attribute {}", lacks().map_or("", String::as_str))))
}

/// A line of a transaction: an item, or one member that says what is done. No item has a lone attribute that is a map: it lacks
/// its key.
fn action(schema: &TableSchema, line: &[u8]) -> Result<TransactWrite, FsError> {
    let item = plain_json::parse(line)?;
    let named = match item.0.first_key_value() {
        Some((name, AttributeValue::M(inner))) if item.0.len() == 1 && name.starts_with('$') => {
            Some((name.clone(), untyped(Item(inner.clone()))?))
        }
        _ => None,
    };
    let Some((name, inner)) = named else {
        return Ok(TransactWrite::new(schema.name.clone(), TransactAction::Put { item: item_line::parse(line)? }));
    };
    let key = || key_of(schema, &inner).map(|key| key.to_item(&schema.key));
    let write = |action| TransactWrite::new(schema.name.clone(), action);
    match name.as_str() {
        "$put" => Ok(write(TransactAction::Put { item: inner })),
        "$insert" => Ok(conditional(schema, TransactAction::Put { item: inner }, "attribute_not_exists")),
        "$delete" => Ok(write(TransactAction::Delete { key: key()? })),
        "$exists" => Ok(conditional(schema, TransactAction::ConditionCheck { key: key()? }, "attribute_exists")),
        "$absent" => Ok(conditional(schema, TransactAction::ConditionCheck { key: key()? }, "attribute_not_exists")),
        other => Err(FsError::Body(format!("{other} is no action; they are $put, $insert, $delete, $exists, $absent"))),
    }
}

/// Items in an action are plain JSON only.
fn untyped(item: Item) -> Result<Item, FsError> {
    if plain_json::looks_like_dynamodb_json(&item) {
        return Err(FsError::Body("inside an action items are plain JSON, without types".to_owned()));
    }
    Ok(item)
}

fn conditional(schema: &TableSchema, action: TransactAction, function: &str) -> TransactWrite {
    let mut write = TransactWrite::new(schema.name.clone(), action);
    write.condition = ConditionParameter::Expression(format!("{function}(#key)"));
    let names = BTreeMap::from([("#key".to_owned(), schema.key.partition.name.clone())]);
    write.placeholders = Placeholders { names: Some(names), values: None };
    write
}
