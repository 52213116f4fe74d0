//! A JSON text as a compact tree, a flat array of nodes in the order of the text: the text itself,
//! and eight bytes for each name, scalar, list and object in it. Requests are parsed into it;
//! `codec::wire` walks it. `reader` parses the text.
//!
//! A request is read before anything is known of it but its length, so its tree must not be many
//! times its text. A list or object knows the number of its members and the node after it; a string
//! is its place in the text. The smallest value takes two bytes of text (`0,`), so that a tree is
//! at most four times its text.
//!
//! Values *made* of the tree are charged to the document's memory budget, see [`Json::charge`].

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Number, Value};

use super::reader::{JsonReader, read_document};
use super::write::JsonSink;
use super::{JsonError, JsonFault};

/// The levels of brackets that are read: two for each of an item's 32 levels, and as many for the
/// request around it. A deeper value stands as `null`: a value beyond 32 levels is refused before
/// its content matters.
const LEVELS_MAX: usize = 128;
/// The longest text: an offset fits in the 28 bits of a node.
const TEXT_BYTES_MAX: usize = (1 << 28) - 1;
/// The memory that a request may take, in bytes: its text, its tree, and the values made of them.
pub const REQUEST_BYTES_MAX: usize = 112 * 1024 * 1024;
/// The copies held of each value made of a document: a map is sorted before it is built, a value
/// becomes a record or an operand.
const COPIES: usize = 2;
/// The members of an object up to which each new name is compared with all others.
const FEW_MEMBERS: usize = 16;

/// A JSON text that was read whole.
#[derive(Debug)]
pub struct Document {
    text: String,
    nodes: Vec<JsonNode>,
    /// The unescaped form of strings with escapes.
    unescaped: String,
    /// True if a value was passed over because it lies too deep.
    is_truncated: bool,
    /// The bytes left of [`REQUEST_BYTES_MAX`].
    budget: AtomicUsize,
}

/// One value or name: its tag (4 bits), its offset or number of members (28), its length or the
/// index of the node after it (32).
#[derive(Clone, Copy)]
struct JsonNode(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonTag {
    Null,
    False,
    True,
    /// A number, in the text.
    Number,
    /// A string without escapes, in the text.
    String,
    /// A string with escapes, in [`Document::unescaped`].
    Unescaped,
    List,
    Object,
}

const TAGS: [JsonTag; 8] = [
    JsonTag::Null,
    JsonTag::False,
    JsonTag::True,
    JsonTag::Number,
    JsonTag::String,
    JsonTag::Unescaped,
    JsonTag::List,
    JsonTag::Object,
];

impl JsonNode {
    fn new(tag: JsonTag, small: usize, large: usize) -> Self {
        // Both are offsets in a text or indexes of nodes, of which there are fewer than bytes of
        // text.
        debug_assert!(small <= TEXT_BYTES_MAX && large <= u32::MAX as usize);
        Self((tag as u64) << 60 | (small as u64) << 32 | large as u64)
    }

    fn tag(self) -> JsonTag {
        TAGS[(self.0 >> 60) as usize % TAGS.len()]
    }

    fn small(self) -> usize {
        (self.0 >> 32) as usize & TEXT_BYTES_MAX
    }

    fn large(self) -> usize {
        (self.0 & 0xFFFF_FFFF) as usize
    }
}

impl fmt::Debug for JsonNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({}, {})", self.tag(), self.small(), self.large())
    }
}

impl Document {
    /// Reads a text with the crate's strict reader: a member given twice, half a surrogate pair and
    /// a byte order mark are errors. Depth is bounded: values deeper than any request goes are
    /// passed over, see [`Json::is_truncated`].
    ///
    /// # Errors
    /// [`JsonError`] with the fault and its offset.
    pub fn parse(text: Vec<u8>) -> Result<Self, JsonError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(JsonError {
                offset: TEXT_BYTES_MAX,
                fault: JsonFault::Expected("a text of less than 256 MiB"),
            });
        }
        let tree = read_document(&text, |reader| {
            // The capacity for a small request.
            let mut tree = DocumentBuilder {
                nodes: Vec::with_capacity(64),
                ..DocumentBuilder::default()
            };
            tree.value(reader, LEVELS_MAX)?;
            Ok(tree)
        })?;
        let text = String::from_utf8(text).map_err(|error| JsonError {
            offset: error.utf8_error().valid_up_to(),
            fault: JsonFault::NotUtf8,
        })?;
        let held = text.len() + tree.nodes.len() * size_of::<JsonNode>() + tree.unescaped.len();
        let budget = AtomicUsize::new(REQUEST_BYTES_MAX.saturating_sub(held));
        Ok(Self {
            text,
            nodes: tree.nodes,
            unescaped: tree.unescaped,
            is_truncated: tree.is_truncated,
            budget,
        })
    }

    /// Reads a text as [`Document::parse`] does, into a serde_json tree, for texts that are
    /// completed before they are a request.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn parse_value(text: &[u8]) -> Result<Value, JsonError> {
        Ok(Self::parse(text.to_vec())?.root().to_value())
    }

    /// Builds a document of a serde_json tree: a request made in the process, not sent.
    #[must_use]
    pub fn from_value(json: &Value) -> Self {
        // serde_json writes valid JSON.
        Self::parse(json.to_string().into_bytes()).unwrap_or_else(|error| {
            debug_assert!(false, "serde_json wrote: {error}");
            Self::null()
        })
    }

    fn null() -> Self {
        let nodes = vec![JsonNode::new(JsonTag::Null, 0, 0)];
        let budget = AtomicUsize::new(REQUEST_BYTES_MAX);
        Self {
            text: String::new(),
            nodes,
            unescaped: String::new(),
            is_truncated: false,
            budget,
        }
    }

    /// Returns the text as it was sent.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the outermost value.
    #[must_use]
    pub fn root(&self) -> Json<'_> {
        Json {
            document: self,
            at: 0,
        }
    }

    /// Returns the memory that the document holds, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.text.capacity() + self.nodes.len() * size_of::<JsonNode>() + self.unescaped.capacity()
    }

    fn node(&self, index: usize) -> JsonNode {
        debug_assert!(
            index < self.nodes.len(),
            "node {index} of {}",
            self.nodes.len()
        );
        self.nodes.get(index).copied().unwrap_or(JsonNode(0))
    }

    /// Returns the index of the node after the value at `index`.
    fn next_sibling(&self, index: usize) -> usize {
        let node = self.node(index);
        match node.tag() {
            JsonTag::List | JsonTag::Object => node.large(),
            _ => index + 1,
        }
    }

    fn str_at(&self, index: usize) -> &str {
        let node = self.node(index);
        str_of(node, &self.text, &self.unescaped)
    }
}

/// True if `text` is JSON; builds nothing.
#[must_use]
pub fn is_json(text: &[u8]) -> bool {
    read_document(text, |reader| reader.skip_value()).is_ok()
}

/// Returns the members of the outermost object and the byte ranges of their values. Scans the whole
/// text and builds nothing of it.
///
/// # Errors
/// [`JsonError`] with the fault and its offset.
pub fn member_ranges(text: &[u8]) -> Result<Vec<(String, Range<usize>)>, JsonError> {
    read_document(text, |reader| {
        let mut places = Vec::new();
        reader.members("an object", |reader, name, _| {
            let start = reader.offset();
            reader.skip_value()?;
            places.push((name.into_owned(), start..reader.offset()));
            Ok(())
        })?;
        Ok(places)
    })
}

/// Works as [`Document::from_value`].
impl From<Value> for Document {
    fn from(json: Value) -> Self {
        Self::from_value(&json)
    }
}

fn str_of<'t>(node: JsonNode, text: &'t str, unescaped: &'t str) -> &'t str {
    let of = if node.tag() == JsonTag::Unescaped {
        unescaped
    } else {
        text
    };
    let text = of.get(node.small()..node.small() + node.large());
    debug_assert!(text.is_some(), "{node:?} is no text");
    text.unwrap_or_default()
}

/// A document being read.
#[derive(Default)]
struct DocumentBuilder {
    nodes: Vec<JsonNode>,
    unescaped: String,
    /// The indexes of the names in the objects that are open.
    names: Vec<u32>,
    /// The hasher of the names in large objects.
    hashes: RandomState,
    is_truncated: bool,
}

impl DocumentBuilder {
    fn value(&mut self, reader: &mut JsonReader<'_>, levels: usize) -> Result<(), JsonError> {
        let Some(inner) = levels.checked_sub(1) else {
            return self.skip_deep(reader);
        };
        match reader.peek()? {
            b'"' => {
                let offset = reader.offset();
                let text = reader.string("a string")?;
                self.string(&text, offset);
            }
            b'{' => self.object(reader, inner)?,
            b'[' => {
                let start = self.begin();
                let mut count = 0;
                reader.elements("a list", |reader| {
                    count += 1;
                    self.value(reader, inner)
                })?;
                self.end(JsonTag::List, start, count);
            }
            b'-' | b'0'..=b'9' => self.number(reader)?,
            _ => {
                let tag = match reader.literal("a JSON value")? {
                    None => JsonTag::Null,
                    Some(false) => JsonTag::False,
                    Some(true) => JsonTag::True,
                };
                self.nodes.push(JsonNode::new(tag, 0, 0));
            }
        }
        Ok(())
    }

    fn skip_deep(&mut self, reader: &mut JsonReader<'_>) -> Result<(), JsonError> {
        self.nodes.push(JsonNode::new(JsonTag::Null, 0, 0));
        self.is_truncated = true;
        reader.skip_value()
    }

    /// Adds a string with its opening quote at `offset`.
    // It takes the `Cow` itself: borrowed or owned says where the text lies.
    #[allow(clippy::ptr_arg)]
    fn string(&mut self, text: &Cow<'_, str>, offset: usize) {
        let node = match text {
            Cow::Borrowed(text) => JsonNode::new(JsonTag::String, offset + 1, text.len()),
            Cow::Owned(text) => {
                let start = self.unescaped.len();
                self.unescaped.push_str(text);
                JsonNode::new(JsonTag::Unescaped, start, text.len())
            }
        };
        self.nodes.push(node);
    }

    /// Adds a number. The protocol has no numbers beyond a double: those of items are strings.
    fn number(&mut self, reader: &mut JsonReader<'_>) -> Result<(), JsonError> {
        let offset = reader.offset();
        let text = reader.number_text()?;
        if serde_json::from_str::<Number>(text).is_err() {
            return Err(JsonError {
                offset,
                fault: JsonFault::Expected("a number in range"),
            });
        }
        self.nodes
            .push(JsonNode::new(JsonTag::Number, offset, text.len()));
        Ok(())
    }

    fn begin(&mut self) -> usize {
        self.nodes.push(JsonNode::new(JsonTag::Null, 0, 0));
        self.nodes.len() - 1
    }

    fn end(&mut self, tag: JsonTag, start: usize, count: usize) {
        let behind = self.nodes.len();
        self.nodes[start] = JsonNode::new(tag, count, behind);
    }

    fn object(&mut self, reader: &mut JsonReader<'_>, levels: usize) -> Result<(), JsonError> {
        let (start, opened) = (self.begin(), reader.offset());
        let own = self.names.len();
        let text = reader.text();
        reader.members("an object", |reader, name, offset| {
            let at = self.nodes.len();
            self.string(&name, offset);
            // Few names are compared as they come. Many are sorted once at the end: comparing a
            // million names would take a million comparisons each.
            let names = &self.names[own..];
            if names.len() < FEW_MEMBERS
                && names.iter().any(|&other| self.name(other, text) == name)
            {
                return Err(JsonError {
                    offset,
                    fault: JsonFault::DuplicateMember(name.into_owned()),
                });
            }
            self.names.push(u32::try_from(at).unwrap_or(u32::MAX));
            self.value(reader, levels)
        })?;
        let count = self.names.len() - own;
        if count > FEW_MEMBERS {
            self.check_duplicates(&self.names[own..], text, opened)?;
        }
        self.names.truncate(own);
        self.end(JsonTag::Object, start, count);
        Ok(())
    }

    fn name<'t>(&'t self, index: u32, text: &'t str) -> &'t str {
        str_of(self.nodes[index as usize], text, &self.unescaped)
    }

    /// Looks for a duplicate name in an object that begins at `opened`.
    fn check_duplicates(&self, names: &[u32], text: &str, opened: usize) -> Result<(), JsonError> {
        // The key of the hash is a secret of the process, so a client cannot send names that
        // collide.
        let hashed = |&at: &u32| ((self.hashes.hash_one(self.name(at, text)) >> 32) as u32, at);
        let mut sorted: Vec<(u32, u32)> = names.iter().map(hashed).collect();
        sorted.sort_unstable();
        for same in sorted
            .chunk_by(|one, other| one.0 == other.0)
            .filter(|same| same.len() > 1)
        {
            let mut texts: Vec<(&str, u32)> = same
                .iter()
                .map(|(_, at)| (self.name(*at, text), *at))
                .collect();
            texts.sort_unstable();
            if let Some([_, (name, at)]) = texts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let node = self.nodes[*at as usize];
                // An unescaped name has no offset: the object's is reported.
                let offset = if node.tag() == JsonTag::String {
                    node.small() - 1
                } else {
                    opened
                };
                return Err(JsonError {
                    offset,
                    fault: JsonFault::DuplicateMember((*name).to_owned()),
                });
            }
        }
        Ok(())
    }
}

/// A value of a document.
#[derive(Clone, Copy)]
pub struct Json<'a> {
    document: &'a Document,
    at: usize,
}

/// The type of a value, with its content.
#[derive(Debug, Clone, Copy)]
pub enum JsonKind<'a> {
    Null,
    Bool(bool),
    /// The spelling of a number in the range of doubles.
    Number(&'a str),
    String(&'a str),
    List(JsonList<'a>),
    Object(JsonObject<'a>),
}

impl<'a> Json<'a> {
    #[must_use]
    pub fn kind(self) -> JsonKind<'a> {
        let node = self.document.node(self.at);
        match node.tag() {
            JsonTag::Null => JsonKind::Null,
            JsonTag::False => JsonKind::Bool(false),
            JsonTag::True => JsonKind::Bool(true),
            JsonTag::Number => JsonKind::Number(self.document.str_at(self.at)),
            JsonTag::String | JsonTag::Unescaped => JsonKind::String(self.document.str_at(self.at)),
            JsonTag::List => JsonKind::List(JsonList {
                document: Some(self.document),
                at: self.at + 1,
                left: node.small(),
            }),
            JsonTag::Object => JsonKind::Object(JsonObject {
                document: self.document,
                at: self.at + 1,
                len: node.small(),
            }),
        }
    }

    #[must_use]
    pub fn is_null(self) -> bool {
        self.document.node(self.at).tag() == JsonTag::Null
    }

    #[must_use]
    pub fn is_object(self) -> bool {
        self.document.node(self.at).tag() == JsonTag::Object
    }

    /// Returns the text of the whole document.
    #[must_use]
    pub fn document_text(self) -> &'a str {
        &self.document.text
    }

    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        match self.kind() {
            JsonKind::String(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_number(self) -> Option<Number> {
        match self.kind() {
            JsonKind::Number(text) => serde_json::from_str(text).ok(),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    #[must_use]
    pub fn as_list(self) -> Option<JsonList<'a>> {
        match self.kind() {
            JsonKind::List(list) => Some(list),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_object(self) -> Option<JsonObject<'a>> {
        match self.kind() {
            JsonKind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the member of an object.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Json<'a>> {
        self.as_object()?.get(name)
    }

    /// Converts to a serde_json tree, many times as large: for small parts of a request that are
    /// kept unchanged.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self.kind() {
            JsonKind::Null => Value::Null,
            JsonKind::Bool(value) => value.into(),
            JsonKind::Number(text) => {
                let number = serde_json::from_str(text);
                debug_assert!(number.is_ok(), "{text} was read as a number");
                number.map_or(Value::Null, Value::Number)
            }
            JsonKind::String(text) => text.into(),
            JsonKind::List(list) => list.map(Json::to_value).collect(),
            JsonKind::Object(object) => {
                let members = object.iter();
                members
                    .map(|(name, value)| (name.to_owned(), value.to_value()))
                    .collect()
            }
        }
    }

    /// True if some value of the document lies too deep and was passed over.
    #[must_use]
    pub fn is_truncated(self) -> bool {
        self.document.is_truncated
    }

    /// Charges `bytes` about to be made of the document to its budget, once for each copy held.
    pub fn charge(self, bytes: usize) {
        let budget = &self.document.budget;
        // Nothing else is ordered by it, so relaxed is enough.
        let left = budget
            .load(Ordering::Relaxed)
            .saturating_sub(COPIES * bytes);
        budget.store(left, Ordering::Relaxed);
    }

    /// Charges `times` times the amount charged so far.
    pub fn charge_again(self, times: usize) {
        let (held, left) = (
            self.document.memory_bytes(),
            self.document.budget.load(Ordering::Relaxed),
        );
        self.charge(times * REQUEST_BYTES_MAX.saturating_sub(held + left) / COPIES);
    }

    /// True if the document took more than its budget.
    #[must_use]
    pub fn is_over_budget(self) -> bool {
        self.document.budget.load(Ordering::Relaxed) == 0
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes JSON text without blanks, the members in their order.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            JsonKind::Null => f.write_str("null"),
            JsonKind::Bool(value) => write!(f, "{value}"),
            JsonKind::Number(text) => f.write_str(text),
            JsonKind::String(text) => write_string(text, f),
            JsonKind::List(list) => {
                f.write_str("[")?;
                for (place, value) in list.enumerate() {
                    f.write_str(if place > 0 { "," } else { "" })?;
                    write!(f, "{value}")?;
                }
                f.write_str("]")
            }
            JsonKind::Object(object) => {
                f.write_str("{")?;
                for (place, (name, value)) in object.iter().enumerate() {
                    f.write_str(if place > 0 { "," } else { "" })?;
                    write_string(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_string(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut escaped = Vec::with_capacity(text.len() + 2);
    escaped.put_escaped(text);
    write!(f, "\"{}\"", String::from_utf8_lossy(&escaped))
}

/// Compares spellings: `1` and `1.0` differ. The order of members counts in large objects only.
impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.kind(), other.kind()) {
            (JsonKind::Null, JsonKind::Null) => true,
            (JsonKind::Bool(one), JsonKind::Bool(other)) => one == other,
            (JsonKind::Number(one), JsonKind::Number(other))
            | (JsonKind::String(one), JsonKind::String(other)) => one == other,
            (JsonKind::List(one), JsonKind::List(other)) => {
                one.len() == other.len() && one.eq(other)
            }
            (JsonKind::Object(one), JsonKind::Object(other)) if one.len() != other.len() => false,
            (JsonKind::Object(one), JsonKind::Object(other)) if one.len() > FEW_MEMBERS => {
                one.iter().eq(other.iter())
            }
            (JsonKind::Object(one), JsonKind::Object(other)) => one
                .iter()
                .all(|(name, value)| other.get(name) == Some(value)),
            _ => false,
        }
    }
}

/// The remaining elements of a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonList<'a> {
    document: Option<&'a Document>,
    at: usize,
    left: usize,
}

impl<'a> Iterator for JsonList<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (document, at) = (self.document?, self.at);
        self.at = document.next_sibling(at);
        Some(Json { document, at })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for JsonList<'_> {}

/// The members of an object.
#[derive(Debug, Clone, Copy)]
pub struct JsonObject<'a> {
    document: &'a Document,
    at: usize,
    len: usize,
}

impl<'a> JsonObject<'a> {
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns a member by its name, with a linear search.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Json<'a>> {
        let Self {
            document,
            mut at,
            len,
        } = self;
        for _ in 0..len {
            let value = at + 1;
            // The length before the text: a request is asked for many names that it does not have.
            if document.node(at).large() == name.len() && document.str_at(at) == name {
                return Some(Json {
                    document,
                    at: value,
                });
            }
            at = document.next_sibling(value);
        }
        None
    }

    /// Iterates over names and values in the order sent.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Json<'a>)> {
        let Self {
            document,
            mut at,
            len,
        } = self;
        (0..len).map(move |_| {
            let (name, value) = (document.str_at(at), at + 1);
            at = document.next_sibling(value);
            (
                name,
                Json {
                    document,
                    at: value,
                },
            )
        })
    }

    pub fn keys(self) -> impl Iterator<Item = &'a str> {
        self.iter().map(|(name, _)| name)
    }

    pub fn values(self) -> impl Iterator<Item = Json<'a>> {
        self.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Checks the fault, or the value against serde_json's.
    fn check(text: &[u8], expected: Option<JsonFault>) {
        let found = Document::parse(text.to_vec());
        match expected {
            Some(fault) => assert_eq!(
                found
                    .map(|document| document.root().to_value())
                    .map_err(|error| error.fault),
                Err(fault)
            ),
            None => assert_eq!(
                found.unwrap().root().to_value(),
                serde_json::from_slice::<Value>(text).unwrap(),
                "{text:?}"
            ),
        }
    }

    fn many(names: impl Iterator<Item = String>) -> String {
        format!(
            "{{{}}}",
            names
                .map(|name| format!("\"{name}\":[]"))
                .collect::<Vec<_>>()
                .join(",")
        )
    }

    #[test]
    fn good_texts_are_read_as_any_reader_does() {
        let texts = [
            r#" {"a":[1,-2.5e3,0,true,false,null,"\u00e9\ud83d\ude00\n"],"b":{},"":{"a":{"a":1}}} "#,
            "[]",
            "18446744073709551615",
            r#""x""#,
            "null",
            r#"{"\u0061\"":["\\",{"x":"é"}],"z":[[[]],{}]}"#,
        ];
        texts.iter().for_each(|text| check(text.as_bytes(), None));
        check(
            format!("{}{}", "[".repeat(127), "]".repeat(127)).as_bytes(),
            None,
        );
        // serde_json reads no text of 128 levels.
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        let tree = Document::parse(deep.into()).unwrap().root().to_value();
        assert!(tree.is_array(), "{tree}");
        check(
            many((0..5000).map(|number| format!("n{number}"))).as_bytes(),
            None,
        );
    }

    #[test]
    fn bad_texts_are_told_apart() {
        check(
            br#"{"a":1,"b":{"c":1,"c":2}}"#,
            Some(JsonFault::DuplicateMember("c".into())),
        );
        check(
            br#"{"a":1,"\u0061":2}"#,
            Some(JsonFault::DuplicateMember("a".into())),
        );
        check("\u{FEFF}{}".as_bytes(), Some(JsonFault::ByteOrderMark));
        check(b"{\"a\":\"\xff\"}", Some(JsonFault::NotUtf8));
        check(br#"{"a":"\ud800"}"#, Some(JsonFault::LoneSurrogate));
        check(b"", Some(JsonFault::UnexpectedEnd));
        check(b"{} {}", Some(JsonFault::TrailingData));
        check(b"[1e400]", Some(JsonFault::Expected("a number in range")));
        check(b"[01]", Some(JsonFault::Expected("',' or ']'")));
        check(
            "[".repeat(1_000_000).as_bytes(),
            Some(JsonFault::UnexpectedEnd),
        );
        check(
            format!("{}]{}", "[".repeat(999), "]".repeat(1000)).as_bytes(),
            Some(JsonFault::TrailingData),
        );
        check(
            format!("{}{}", r#"{"a":"#.repeat(1000), "]".repeat(1000)).as_bytes(),
            Some(JsonFault::Expected("a JSON value")),
        );
        let twice = (0..5000)
            .map(|number| format!("n{number}"))
            .chain(["n4711".to_owned()]);
        check(
            many(twice).as_bytes(),
            Some(JsonFault::DuplicateMember("n4711".into())),
        );
        let escaped = (0..50)
            .map(|number| format!("n{number}"))
            .chain([r"\u006e7".to_owned()]);
        check(
            many(escaped).as_bytes(),
            Some(JsonFault::DuplicateMember("n7".into())),
        );
    }

    #[test]
    fn what_lies_deep_is_passed_over_without_recursing() {
        let nested = |levels: usize| {
            format!(
                r#"{{"a":{}"x",1,{{"b":[]}},{{}}{},"z":true}}"#,
                "[".repeat(levels),
                "]".repeat(levels)
            )
        };
        let check = |levels: usize, is_cut: bool| {
            let document = Document::parse(nested(levels).into_bytes()).unwrap();
            assert_eq!(document.root().is_truncated(), is_cut, "{levels}");
            assert!(
                matches!(
                    document.root().get("z").unwrap().kind(),
                    JsonKind::Bool(true)
                ),
                "{levels}"
            );
        };
        check(124, false);
        check(127, true);
        check(1_000_000, true);
    }

    #[test]
    fn the_tree_is_a_few_times_its_text() {
        for piece in ["0,", "[0],", "{},", r#"{"N":"1"},"#, r#"{"":{"":[]}},"#] {
            let text = format!("[{}0]", piece.repeat((1 << 20) / piece.len()));
            let bytes = text.len();
            let document = Document::parse(text.into_bytes()).unwrap();
            assert!(
                document.memory_bytes() <= 6 * bytes,
                "{piece}: {} of {bytes}",
                document.memory_bytes()
            );
        }
    }

    #[test]
    fn values_are_compared_as_written() {
        let check = |one: &str, other: &str, expected: bool| {
            let parse = |text: &str| Document::parse(text.as_bytes().to_vec()).unwrap();
            assert_eq!(
                parse(one).root() == parse(other).root(),
                expected,
                "{one} {other}"
            );
        };
        check(
            r#"{"a":[1,{"b":null}],"c":"x"}"#,
            r#"{"c":"\u0078","a":[1,{"b":null}]}"#,
            true,
        );
        check("[1]", "[1.0]", false);
        check("[1]", "[1,1]", false);
        check(r#"{"a":1}"#, r#"{"b":1}"#, false);
        check("true", "false", false);
    }
}
