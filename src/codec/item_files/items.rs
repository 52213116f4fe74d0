//! Items in JSON: one after the other, plain or typed, in lists, and in what wraps them: responses
//! of Scan, Query, GetItem, BatchGetItem and TransactGetItems, requests of PutItem, BatchWriteItem
//! and TransactWriteItems, lines of full and incremental exports.
//!
//! A wrapper is told by the names in it, and an item by the key attributes of its table: an order
//! with an attribute `Items` is an item.

use std::borrow::Cow;
use std::io::Read;

use super::text_reader::{TextFault, TextReader, ValuePlace};
use super::{EntryPlace, EntrySink, FileEntry, FileError};
use crate::codec::json::JsonError;
use crate::codec::json::reader::JsonReader;
use crate::codec::{dynamodb_json, plain_json};
use crate::model::{KeySchema, TableSchema};

/// The levels of wrappers: a list of responses of a transaction has three.
const LEVELS_MAX: usize = 4;

/// A member of an object: its name, and the text from its value to the end of what is there.
#[derive(Debug)]
pub struct Member<'t> {
    pub name: Cow<'t, str>,
    pub value: &'t str,
}

impl Member<'_> {
    pub fn is(&self, name: &str, first: char) -> bool {
        self.name == name && self.value.starts_with(first)
    }
}

/// Returns the members of an object that may be cut off, each with its whole value or what is there
/// of it, and the fault after them.
#[must_use]
pub fn members(text: &[u8]) -> (Vec<Member<'_>>, Option<JsonError>) {
    let text = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let mut found: Vec<Member<'_>> = Vec::new();
    let mut reader = JsonReader::new(text);
    let read = reader.members("a JSON object", |reader, name, _| {
        let from = reader.offset();
        found.push(Member {
            name,
            value: text.get(from..).unwrap_or_default(),
        });
        reader.skip_value()?;
        if let Some(member) = found.last_mut() {
            let value = text.get(from..reader.offset()).unwrap_or_default();
            member.value = value.trim_end();
        }
        Ok(())
    });
    (found, read.err())
}

/// The JSON form of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemForm {
    Plain,
    Typed,
}

/// Returns the form of an item with these members; `None` if they are no item of a table with this
/// key.
fn item_form(members: &[Member<'_>], key: &KeySchema) -> Option<ItemForm> {
    let mut form = None;
    for attribute in key.attributes() {
        let member = members
            .iter()
            .find(|member| member.name == attribute.name)?;
        form = Some(match member.value.bytes().next()? {
            b'"' | b'-' | b'0'..=b'9' => ItemForm::Plain,
            _ => {
                let (inner, _) = self::members(member.value.as_bytes());
                let tag = inner.first().filter(|tag| tag.value.starts_with('"'))?;
                match &*tag.name {
                    "S" | "N" | "B" => ItemForm::Typed,
                    "$b64" => ItemForm::Plain,
                    _ => return None,
                }
            }
        });
    }
    form
}

/// The lists of items or requests that a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberLists {
    One,
    /// That of the table with the member's name.
    OfTable,
    /// By table names.
    ByTable,
}

impl MemberLists {
    fn new(name: &str, value: &[u8]) -> Option<Self> {
        match (name, value.first()?) {
            ("Items" | "TransactItems" | "Responses", b'[') => Some(Self::One),
            ("Responses" | "RequestItems" | "UnprocessedItems", b'{') => Some(Self::ByTable),
            _ => {
                let start = value.get(..LIST_START_BYTES).unwrap_or(value);
                let list = start.strip_prefix(b"[")?.trim_ascii_start();
                let request = list.strip_prefix(b"{")?.trim_ascii_start();
                ["\"PutRequest\"", "\"DeleteRequest\""]
                    .iter()
                    .any(|word| request.starts_with(word.as_bytes()))
                    .then_some(Self::OfTable)
            }
        }
    }
}

/// The bytes at the start of a list in which its first request shows.
const LIST_START_BYTES: usize = 512;

/// The members that wrap an item, or the request to delete one.
const WRAPPERS: [(&str, Within); 6] = [
    ("Item", Within::Put),
    ("NewImage", Within::Put),
    ("PutRequest", Within::Put),
    ("Put", Within::Put),
    ("DeleteRequest", Within::Delete),
    ("Delete", Within::Delete),
];

/// True if the object with these members is one item, request or line, or has lists of them.
#[must_use]
pub fn has_items(members: &[Member<'_>], table: &TableSchema) -> bool {
    let wraps = |member: &Member<'_>| {
        MemberLists::new(&member.name, member.value.as_bytes()).is_some()
            || member.is("Keys", '{')
            || WRAPPERS.iter().any(|(name, _)| member.is(name, '{'))
    };
    item_form(members, &table.key).is_some() || members.iter().any(wraps)
}

/// True if a request or list for a table of this name or ARN is for `table`.
fn is_for(name: &str, table: &TableSchema) -> bool {
    name.rsplit('/').next() == Some(table.name.as_str())
}

/// Passes the entries of a text to `take`.
///
/// # Errors
/// The text cannot be read, is cut off, or breaks a rule of JSON outside of items; or `take` stops.
pub fn read<R: Read>(
    text: &mut TextReader<R>,
    table: &TableSchema,
    take: &mut EntrySink<'_>,
) -> Result<(), FileError> {
    let value = Vec::new();
    ItemReader {
        text,
        table,
        take,
        value,
        level: 0,
    }
    .documents()
}

struct ItemReader<'a, 's, R> {
    text: &'a mut TextReader<R>,
    table: &'a TableSchema,
    take: &'a mut EntrySink<'s>,
    /// The text of the value that was taken last.
    value: Vec<u8>,
    /// The number of open wrappers.
    level: usize,
}

impl<R: Read> ItemReader<'_, '_, R> {
    fn documents(&mut self) -> Result<(), FileError> {
        loop {
            let from = self.text.offset;
            match self.text.token()? {
                None => return Ok(()),
                Some(b'[') => self.list()?,
                Some(b'{') => self.object(from, None)?,
                Some(_) => {
                    let line = self.text.line;
                    self.text.advance(1);
                    self.text.skip_lines()?;
                    self.entry(
                        from,
                        line,
                        None,
                        FileEntry::Bad("expected a JSON object".to_owned()),
                    )?;
                }
            }
        }
    }

    /// Passes on an entry that began at `from`.
    fn entry(
        &mut self,
        from: u64,
        line: u64,
        element: Option<u64>,
        entry: FileEntry,
    ) -> Result<(), FileError> {
        let bytes = usize::try_from(self.text.offset - from).unwrap_or(usize::MAX);
        (self.take)(EntryPlace { line, element }, bytes, entry)
    }

    /// Takes the byte of a token, or fails.
    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), FileError> {
        match self.text.token()? {
            None => Err(FileError::Cut),
            Some(found) if found == byte => {
                self.text.advance(1);
                Ok(())
            }
            Some(_) => Err(FileError::Expected(what)),
        }
    }

    /// True if the list or object that ends with `end` has another value, before which this moves.
    fn has_next(&mut self, is_first: bool, end: u8) -> Result<bool, FileError> {
        if self.text.token()? == Some(end) {
            self.text.advance(1);
            return Ok(false);
        }
        if !is_first {
            self.expect(b',', "a comma or the end of the list or object")?;
        }
        Ok(true)
    }

    fn list(&mut self) -> Result<(), FileError> {
        self.text.advance(1);
        let mut element = 0;
        while self.has_next(element == 0, b']')? {
            element += 1;
            let from = self.text.offset;
            match self.text.token()? {
                Some(b'{') => self.object(from, Some(element))?,
                _ => {
                    let line = self.text.line;
                    self.skip_value()?;
                    let fault = FileEntry::Bad("expected a JSON object".to_owned());
                    self.entry(from, line, Some(element), fault)?;
                }
            }
        }
        Ok(())
    }

    /// Passes over a value of any length.
    fn skip_value(&mut self) -> Result<(), FileError> {
        let from = self.text.offset;
        match self.text.take_value(ValuePlace::Inner, &mut self.value)? {
            Err(TextFault::Cut) => Err(FileError::Cut),
            _ if self.text.offset == from => Err(FileError::Expected("a JSON value")),
            _ => Ok(()),
        }
    }

    /// Reads the members of an object whose bracket comes next; `each` gets a name, and reads the
    /// value.
    fn each_member(
        &mut self,
        each: fn(&mut Self, &str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.text.advance(1);
        let mut is_first = true;
        while self.has_next(is_first, b'}')? {
            is_first = false;
            if self.text.token()? != Some(b'"') {
                return Err(FileError::Expected("a member name in quotes"));
            }
            self.skip_value()?;
            let name = serde_json::from_slice::<String>(&self.value)
                .map_err(|_| FileError::Expected("a member name"))?;
            self.expect(b':', "a colon")?;
            self.text.token()?;
            while self.text.ahead().len() < LIST_START_BYTES && self.text.read_more()? {}
            each(self, &name)?;
        }
        Ok(())
    }

    /// True if the object ahead has lists of items or requests, as far as it is looked at.
    fn look(&mut self) -> Result<bool, FileError> {
        let ahead = self.text.look()?;
        if memchr::memchr(b'[', ahead).is_none() {
            return Ok(false);
        }
        let (members, _) = members(ahead);
        let has_lists = members
            .iter()
            .any(|member| MemberLists::new(&member.name, member.value.as_bytes()).is_some());
        Ok(has_lists && item_form(&members, &self.table.key).is_none())
    }

    fn object(&mut self, from: u64, element: Option<u64>) -> Result<(), FileError> {
        if self.level < LEVELS_MAX && self.look()? {
            self.level += 1;
            self.each_member(Self::lists_of_member)?;
            self.level -= 1;
            return Ok(());
        }
        let line = self.text.line;
        let place = match element {
            None => ValuePlace::Outer,
            Some(_) => ValuePlace::Inner,
        };
        let entry = match self.text.take_value(place, &mut self.value)? {
            Err(TextFault::Cut) if element.is_some() => return Err(FileError::Cut),
            Err(fault) => {
                if fault == TextFault::Cut {
                    self.text.skip_lines()?;
                }
                FileEntry::Bad(fault.to_string())
            }
            // TransactGetItems returns it for an item that is not there.
            Ok(()) if element.is_some() && self.value == b"{}" => return Ok(()),
            Ok(()) => parse_entry(&self.value, self.table, Within::Nothing, 0),
        };
        self.entry(from, line, element, entry)
    }

    fn lists_of_member(&mut self, name: &str) -> Result<(), FileError> {
        match MemberLists::new(name, self.text.ahead()) {
            Some(MemberLists::One) => self.list(),
            Some(MemberLists::OfTable) => self.list_of_table(name),
            Some(MemberLists::ByTable) => self.each_member(Self::list_of_table),
            None => self.skip_value(),
        }
    }

    fn list_of_table(&mut self, name: &str) -> Result<(), FileError> {
        if is_for(name, self.table) && self.text.token()? == Some(b'[') {
            return self.list();
        }
        let (from, line) = (self.text.offset, self.text.line);
        self.skip_value()?;
        self.entry(from, line, None, FileEntry::OtherTable(name.to_owned()))
    }
}

/// The wrapper that an object is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Put,
    Delete,
}

/// Parses an item, or an object that wraps one or its key.
fn parse_entry(text: &[u8], table: &TableSchema, within: Within, level: usize) -> FileEntry {
    let bad = |error: JsonError| FileEntry::Bad(error.to_string());
    let (members, fault) = members(text);
    let form = item_form(&members, &table.key).filter(|_| within != Within::Delete);
    match form {
        Some(ItemForm::Plain) => return plain_json::parse(text).map_or_else(bad, FileEntry::Put),
        Some(ItemForm::Typed) => {
            return dynamodb_json::parse(text).map_or_else(bad, FileEntry::Put);
        }
        None => {}
    }
    let other = members
        .iter()
        .find(|member| member.is("TableName", '"'))
        .and_then(|member| serde_json::from_str::<String>(member.value).ok())
        .filter(|name| !is_for(name, table));
    let find = |name: &str| {
        let member = members.iter().find(|member| member.is(name, '{'))?;
        Some(member.value.as_bytes())
    };
    let key_of = |name: &str| {
        let key = find(name)?;
        Some(plain_json::parse_line(key).map_or_else(bad, FileEntry::Delete))
    };
    let wrapper = WRAPPERS
        .iter()
        .find_map(|(name, within)| Some((find(name)?, *within)))
        .filter(|_| level < LEVELS_MAX);
    let is_change = find("Metadata").or(find("OldImage")).is_some();
    let entry = match (wrapper, within) {
        (None, Within::Delete) => key_of("Key"),
        (Some((inner, within)), _) => Some(parse_entry(inner, table, within, level + 1)),
        // A line of an incremental export without NewImage: the item was deleted.
        (None, _) if is_change => key_of("Keys"),
        (None, _) => None,
    };
    match (entry, other, fault) {
        (Some(_), _, Some(fault)) => bad(fault),
        (Some(_), Some(name), None) => FileEntry::OtherTable(name),
        (Some(entry), None, None) => entry,
        (None, _, _) if within == Within::Delete => {
            FileEntry::Bad("expected a member Key".to_owned())
        }
        (None, _, _) => plain_json::parse_line(text).map_or_else(bad, FileEntry::Put),
    }
}
