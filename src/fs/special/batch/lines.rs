//! The lines of a batch. [`LineSplitter`] cuts writes into lines in bounded memory, since a line
//! may come in many writes and a write may hold many lines. [`parse`] gives the request of a line.
//! [`AtomicBatch`] holds the lines of `batch/atomic` until they are carried out: one
//! TransactWriteItems with its limits.

use std::collections::BTreeMap;

use crate::codec::plain_json;
use crate::fs::{mount::batch_reports::BatchKind, open::prelude::*};
use crate::model::{
    api::{
        ConditionParameter, DeleteItemRequest, Placeholders, PutItemRequest,
        ReturnConsumedCapacity, TransactAction, TransactWrite, TransactWriteItemsRequest,
    },
    limits::TRANSACTION_ITEMS_MAX,
};

/// The longest line, bytes: an item of 400 KB in any JSON form fits.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Splits the text of a batch into lines. It comes in pieces of any size.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The beginning of a line that has not ended yet.
    partial: Vec<u8>,
    /// True if the line is too long: its rest is skipped.
    is_too_long: bool,
    /// The number of whole lines.
    count: u64,
}

/// A line: its number from 1, and its text or the reason that it has none.
pub type BatchLine = (u64, Result<Vec<u8>, FsError>);

impl LineSplitter {
    /// Returns the lines that `data` completes. Blank lines have a number, and are left out.
    pub fn feed(&mut self, data: &[u8]) -> Vec<BatchLine> {
        let mut rest = data;
        let mut out = Vec::new();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, newline) = rest.split_at(end);
            self.add(line);
            out.extend(self.finish());
            rest = &newline[1..];
        }
        self.add(rest);
        out
    }

    fn add(&mut self, part: &[u8]) {
        if self.is_too_long || self.partial.len() + part.len() > LINE_BYTES_MAX {
            self.is_too_long = true;
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(part);
        }
    }

    /// Ends the line that was begun, if any.
    pub fn finish(&mut self) -> Option<BatchLine> {
        self.count += 1;
        let text = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.is_too_long) {
            let sentence = "the line is longer than any item can be (4 MiB); is there a newline between the items?";
            return Some((self.count, Err(FsError::Body(sentence.to_owned()))));
        }
        (!text.trim_ascii().is_empty()).then_some((self.count, Ok(text)))
    }

    /// Returns the beginning of a line that has no newline yet.
    #[must_use]
    pub fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Returns the bytes of memory of the line that was begun.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// True if a line is begun.
    #[must_use]
    pub fn has_partial(&self) -> bool {
        self.is_too_long || !self.partial.trim_ascii().is_empty()
    }

    /// Returns the number of whole lines.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The request of a line.
#[derive(Debug)]
pub enum BatchRequest {
    Put(PutItemRequest),
    Delete(DeleteItemRequest),
    Get(Key),
    Action(TransactWrite),
    /// The end of a transaction's lines.
    Commit,
}

/// Reads a line, which is not blank.
///
/// # Errors
/// The line is no item, key or path of this table.
pub fn parse(
    host: &Host,
    schema: &TableSchema,
    kind: BatchKind,
    line: &[u8],
) -> Result<BatchRequest> {
    let table = &schema.name;
    match kind {
        BatchKind::Put => Ok(BatchRequest::Put(PutItemRequest::new(
            table.clone(),
            plain_json::parse_line(line)?,
        ))),
        BatchKind::Insert => {
            let mut request = PutItemRequest::new(table.clone(), plain_json::parse_line(line)?);
            request.precondition = Some(Precondition::Absent);
            Ok(BatchRequest::Put(request))
        }
        BatchKind::Delete => {
            let key = parse_key(host, schema, line)?;
            Ok(BatchRequest::Delete(DeleteItemRequest::new(
                table.clone(),
                key.to_item(&schema.key),
            )))
        }
        BatchKind::Get => Ok(BatchRequest::Get(parse_key(host, schema, line)?)),
        BatchKind::Atomic if line.trim_ascii() == b"commit" => Ok(BatchRequest::Commit),
        BatchKind::Atomic => parse_action(schema, line).map(BatchRequest::Action),
    }
}

/// Reads a key: a key, a whole item, or a path below the table.
fn parse_key(host: &Host, schema: &TableSchema, line: &[u8]) -> Result<Key, FsError> {
    let line = line.trim_ascii();
    if line.starts_with(b"{") {
        return item_key(schema, &plain_json::parse_line(line)?);
    }
    let start = Node::Table(schema.name.clone());
    let node = line
        .split(|&byte| byte == b'/')
        .try_fold(start, |parent, name| host.resolve(&parent, name));
    match node {
        Ok(Node::Entry(entry)) if entry.source.index.is_none() => Ok(entry.key.base),
        _ => {
            Err(FsError::Body("a line is a key such as {\"pk\":\"u1\"}, a whole item, or a path such as items/u1.json".to_owned()))
        }
    }
}

fn item_key(schema: &TableSchema, item: &Item) -> Result<Key> {
    let names = || {
        std::iter::once(&schema.key.partition)
            .chain(&schema.key.sort)
            .map(|attribute| &attribute.name)
    };
    let lacks = || names().find(|name| item.get(name).is_none());
    item.key(&schema.key).ok_or_else(|| {
        FsError::Body(format!(
            "the line lacks the key attribute {}",
            lacks().map_or("", String::as_str)
        ))
    })
}

/// Reads a line of a transaction: an item, or one member that names the action. No item is a lone
/// attribute that is a map: it would lack its key.
fn parse_action(schema: &TableSchema, line: &[u8]) -> Result<TransactWrite, FsError> {
    let item = plain_json::parse(line)?;
    let named = match item.0.first_key_value() {
        Some((name, AttributeValue::M(inner))) if item.0.len() == 1 && name.starts_with('$') => {
            Some((name.clone(), check_untyped(Item(inner.clone()))?))
        }
        _ => None,
    };
    let Some((name, inner)) = named else {
        return Ok(TransactWrite::new(
            schema.name.clone(),
            TransactAction::Put {
                item: plain_json::parse_line(line)?,
            },
        ));
    };
    let key = || item_key(schema, &inner).map(|key| key.to_item(&schema.key));
    let write = |action| TransactWrite::new(schema.name.clone(), action);
    match name.as_str() {
        "$put" => Ok(write(TransactAction::Put { item: inner })),
        "$insert" => Ok(conditional(
            schema,
            TransactAction::Put { item: inner },
            "attribute_not_exists",
        )),
        "$delete" => Ok(write(TransactAction::Delete { key: key()? })),
        "$exists" => Ok(conditional(
            schema,
            TransactAction::ConditionCheck { key: key()? },
            "attribute_exists",
        )),
        "$absent" => Ok(conditional(
            schema,
            TransactAction::ConditionCheck { key: key()? },
            "attribute_not_exists",
        )),
        other => Err(FsError::Body(format!(
            "{other} is no action; they are $put, $insert, $delete, $exists, $absent"
        ))),
    }
}

/// Refuses DynamoDB JSON: items in an action are plain JSON only.
fn check_untyped(item: Item) -> Result<Item, FsError> {
    if plain_json::looks_like_dynamodb_json(&item) {
        return Err(FsError::Body(
            "inside an action items are plain JSON, without types".to_owned(),
        ));
    }
    Ok(item)
}

fn conditional(schema: &TableSchema, action: TransactAction, function: &str) -> TransactWrite {
    let mut write = TransactWrite::new(schema.name.clone(), action);
    write.condition = ConditionParameter::Expression(format!("{function}(#key)"));
    let names = BTreeMap::from([("#key".to_owned(), schema.key.partition.name.clone())]);
    write.placeholders = Placeholders {
        names: Some(names),
        values: None,
    };
    write
}

/// The size of a value in memory, as a multiple of its text.
const VALUE_GROWTH: usize = 4;

/// The lines of `batch/atomic` until they are carried out.
#[derive(Debug, Default)]
pub struct AtomicBatch {
    /// Line numbers and their actions.
    writes: Vec<(u64, TransactWrite)>,
    /// Bytes of the lines' texts.
    text_bytes: usize,
    /// True if a line was refused: nothing is done.
    is_aborted: bool,
}

impl AtomicBatch {
    /// Adds a line.
    ///
    /// # Errors
    /// The transaction has 100 lines already.
    pub fn add(&mut self, number: u64, text: &[u8], write: TransactWrite) -> Result<(), FsError> {
        if self.is_aborted {
            return Ok(());
        }
        if self.writes.len() == TRANSACTION_ITEMS_MAX {
            return Err(FsError::Body(
                "a transaction has at most 100 lines; batch/put takes any number, each for itself"
                    .to_owned(),
            ));
        }
        self.writes.push((number, write));
        self.text_bytes += text.len();
        Ok(())
    }

    /// Cancels the transaction: nothing of it is done.
    pub fn abort(&mut self) {
        self.is_aborted = true;
        self.writes.clear();
        self.text_bytes = 0;
    }

    /// Takes the whole transaction with the number of each line; `None` if it is empty.
    pub fn take(&mut self) -> Option<(Vec<u64>, TransactWriteItemsRequest)> {
        if self.writes.is_empty() {
            return None;
        }
        self.text_bytes = 0;
        let (numbers, transact_items) = std::mem::take(&mut self.writes).into_iter().unzip();
        let request = TransactWriteItemsRequest {
            transact_items,
            fault: None,
            client_request_token: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        };
        Some((numbers, request))
    }

    /// Returns the bytes of memory of the lines: values take more than their text.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        VALUE_GROWTH * self.text_bytes
    }

    /// True if a line was refused since the last end.
    #[must_use]
    pub fn is_spoiled(&self) -> bool {
        self.is_aborted
    }

    /// Begins another transaction with the next line.
    pub fn reset(&mut self) {
        self.is_aborted = false;
    }

    /// Returns the error that reports a refused line or a failed end.
    #[must_use]
    pub fn refusal(&self, error: FsError) -> FsError {
        match error {
            FsError::Database(_) => error,
            other => FsError::Clause {
                message: other.to_string(),
                hint: "nothing is done; batch/result.json names the line".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the lines with their numbers; `!` is a line without a text.
    fn check(writes: &[&[u8]], expected: &[(u64, &str)]) {
        let mut lines = LineSplitter::default();
        let mut found: Vec<BatchLine> = writes.iter().flat_map(|write| lines.feed(write)).collect();
        if lines.has_partial() {
            found.extend(lines.finish());
        }
        let text = |text: Result<Vec<u8>, FsError>| {
            text.map_or("!".to_owned(), |text| String::from_utf8(text).unwrap())
        };
        let found: Vec<(u64, String)> = found
            .into_iter()
            .map(|(number, line)| (number, text(line)))
            .collect();
        let expected: Vec<(u64, String)> = expected
            .iter()
            .map(|(number, line)| (*number, (*line).to_owned()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_found_however_they_are_written() {
        check(&[b"a\nb\n"], &[(1, "a"), (2, "b")]);
        check(&[b"a", b"b", b"\nc"], &[(1, "ab"), (2, "c")]);
        check(&[b"a\n\n \nb\n\n"], &[(1, "a"), (4, "b")]);
        check(&[b"", b"\n"], &[]);
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_spoils_no_other() {
        let long = vec![b'x'; LINE_BYTES_MAX / 2 + 1];
        check(
            &[b"a\n", &long, &long, &long, b"y\nb\n"],
            &[(1, "a"), (2, "!"), (3, "b")],
        );
        let mut lines = LineSplitter::default();
        (0..9).for_each(|_| drop(lines.feed(&long)));
        assert!(lines.partial().is_empty() && lines.has_partial());
    }
}
