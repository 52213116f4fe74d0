//! `X.d/`: the attributes of an item as files, and those of maps and lists below `name.d/`.
//!
//! ```text
//! X.d/status        the value; writing keeps its type, rm removes it
//! X.d/status,N      the same attribute, written as a number (S, N, B, BOOL, JSON)
//! X.d/address.d/    the members of a map, mkdir makes an empty one
//! X.d/tags.d/0      the elements of a list
//! ```
//! Names are encoded as K(value) encodes a string key. An attribute's own name wins over the
//! meaning of its suffix.
//!
//! The text of such a file, and the value of a text written to it:
//!
//! ```text
//! S     the text, a newline          N, BOOL, NULL  the word, a newline
//! B     the bytes                    L, M, SS, NS, BS  plain JSON, a newline; a set is also written as a list
//! ```
//! One newline at the end of a written text is not part of the value, except for B.

use std::collections::BTreeMap;

use crate::codec::{
    file_name,
    plain_json::{self, PlainJsonFault},
};
use crate::fs::{
    open::{
        node_ops::open_text,
        prelude::*,
        text::{TextFile, action},
    },
    source::entry,
    write::{LineCheck, TextVerdict, schema_change::DefinitionCheck, utf8},
};
use crate::model::{
    AttributeType, KeySchema, PathElement,
    api::{Call, ConditionParameter, Placeholders, UpdateItemRequest, UpdateParameter},
    error::ValueError,
};

/// The suffix of a directory's name.
const FOLDER_SUFFIX: &str = ".d";

/// The members of a folder.
enum FolderMembers<'i> {
    Map(&'i BTreeMap<String, AttributeValue>),
    List(&'i [AttributeValue]),
}

fn members<'i>(item: &'i Item, path: Option<&DocumentPath>) -> Result<FolderMembers<'i>> {
    let Some(path) = path else {
        return Ok(FolderMembers::Map(&item.0));
    };
    match path.resolve_in(item) {
        Some(AttributeValue::M(map)) => Ok(FolderMembers::Map(map)),
        Some(AttributeValue::L(list)) => Ok(FolderMembers::List(list)),
        Some(_) | None => Err(FsError::NotFound),
    }
}

/// Returns the document path of a member of the value at `path`, by its file name.
fn member(
    path: Option<&DocumentPath>,
    members: &FolderMembers<'_>,
    name: &str,
) -> Result<DocumentPath> {
    let element = match members {
        FolderMembers::List(_) => PathElement::Index(index(name).ok_or(FsError::NotFound)?),
        FolderMembers::Map(map) => PathElement::Name(decode_name(map.keys(), name)?),
    };
    match (path, element) {
        (None, PathElement::Name(head)) => Ok(DocumentPath::top_level(head)),
        (None, PathElement::Index(_)) => Err(FsError::NotFound),
        (Some(path), element) => {
            let mut path = path.clone();
            path.rest.push(element);
            Ok(path)
        }
    }
}

/// Changes the item by an update of its own.
fn update(entry: &EntryNode, host: &Host, edit: AttributeEdit) -> Result<(), FsError> {
    let schema = host.mount.schema(entry.table())?;
    let request = edit.request(entry, &schema.key);
    run_blocking(host.context(), |done| {
        host.mount.db.start(Call::UpdateItem(request, done))
    })?;
    Ok(())
}

/// Parses an element's index, in the form in which it is listed.
fn index(name: &str) -> Option<usize> {
    let canonical = !name.starts_with('0') || name == "0";
    name.parse()
        .ok()
        .filter(|_| canonical && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Decodes a file's name to an attribute's name; a shortened one must be of an existing attribute.
fn decode_name<'n>(mut known: impl Iterator<Item = &'n String>, name: &str) -> Result<String> {
    if file_name::alias_digest(name).is_some() {
        return known
            .find(|known| encode_name(known) == name)
            .cloned()
            .ok_or(FsError::NotFound);
    }
    match file_name::decode_value(name, KeyAttributeType::S) {
        Ok(AttributeValue::S(name)) => Ok(name),
        _ => Err(FsError::NotFound),
    }
}

/// Returns the file name of an attribute.
fn encode_name(name: &str) -> String {
    file_name::hash_item_stem(&AttributeValue::S(name.to_owned()))
}

/// `X.d/`, or the members of a map or list in it.
pub struct AttributeFolder {
    pub entry: EntryNode,
    pub path: Option<DocumentPath>,
}

/// The file of one attribute, member or element.
struct AttributeFile {
    entry: EntryNode,
    path: DocumentPath,
    /// The type that the name requires.
    forced_type: Option<ValueKind>,
}

impl AttributeFolder {
    fn attribute(
        &self,
        node: &Special,
        path: DocumentPath,
        forced_type: Option<ValueKind>,
        name: &str,
    ) -> Node {
        node.child(
            name,
            AttributeFile {
                entry: self.entry.clone(),
                path,
                forced_type,
            },
        )
        .writable()
        .into()
    }
}

impl NodeOps for AttributeFolder {
    /// Returns the time of the item's last change.
    fn modified_ms(&self, at: At<'_>) -> Result<u64, FsError> {
        let (item, stat) = entry::load(&at, &self.entry)?;
        members(&item, self.path.as_ref())?;
        Ok(stat.modified_ms)
    }

    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        if name.starts_with('.') {
            return Err(FsError::NotFound);
        }
        let (item, _) = entry::load(&at, &self.entry)?;
        let of = self.path.as_ref();
        let members = members(&item, of)?;
        // An existing attribute of that very name first: it may be called `a,N` or `b.d`.
        if let Ok(path) = member(of, &members, name)
            && path.resolve_in(&item).is_some()
        {
            return Ok(self.attribute(at.node, path, None, name));
        }
        if let Some(stem) = name.strip_suffix(FOLDER_SUFFIX) {
            let of = Some(member(of, &members, stem)?);
            return Ok(at
                .node
                .child_directory(
                    name,
                    Self {
                        entry: self.entry.clone(),
                        path: of,
                    },
                )
                .into());
        }
        if let Some((stem, word)) = name.rsplit_once(',') {
            let requested = ValueKind::named(word).ok_or(FsError::Invalid(
                "the types after a comma are S, N, B, BOOL and JSON; a comma itself is %2C",
            ))?;
            return Ok(self.attribute(at.node, member(of, &members, stem)?, Some(requested), name));
        }
        Ok(self.attribute(at.node, member(of, &members, name)?, None, name))
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        let (item, _) = entry::load(&at, &self.entry)?;
        let of = self.path.as_ref();
        let members = members(&item, of)?;
        let names: Vec<String> = match &members {
            FolderMembers::Map(map) => map.keys().map(|name| encode_name(name)).collect(),
            FolderMembers::List(list) => (0..list.len()).map(|index| index.to_string()).collect(),
        };
        let entry = |name: String| {
            Ok(to_dirent(
                &self.attribute(at.node, member(of, &members, &name)?, None, &name),
                &name,
            ))
        };
        names.into_iter().map(entry).collect()
    }

    /// Creates an empty map.
    fn mkdir(&self, at: HostAt<'_>, name: &str) -> Result<Node, FsError> {
        let stem = name.strip_suffix(FOLDER_SUFFIX);
        let stem = stem.ok_or(FsError::NotPermitted("a map's folder is its name and .d"))?;
        let (item, _) = entry::load(&at.mount, &self.entry)?;
        let of = self.path.as_ref();
        let path = member(of, &members(&item, of)?, stem)?;
        if path.resolve_in(&item).is_some() {
            return Err(FsError::Exists);
        }
        update(
            &self.entry,
            &at,
            AttributeEdit::set(
                path,
                AttributeValue::M(BTreeMap::new()),
                EditCondition::Absent,
            ),
        )?;
        self.resolve(At::new(at.node, &at.mount), name)
    }

    /// Removes an empty map or list.
    fn rmdir(&self, at: HostAt<'_>) -> Result<(), FsError> {
        let path = self
            .path
            .clone()
            .ok_or(FsError::NotPermitted("this folder goes with its item"))?;
        let (item, _) = entry::load(&at.mount, &self.entry)?;
        let is_empty = match members(&item, Some(&path))? {
            FolderMembers::Map(map) => map.is_empty(),
            FolderMembers::List(list) => list.is_empty(),
        };
        if !is_empty {
            return Err(FsError::NotEmpty);
        }
        update(
            &self.entry,
            &at,
            AttributeEdit {
                path,
                value: None,
                condition: EditCondition::Empty,
            },
        )
    }
}

impl NodeOps for AttributeFile {
    fn attr(&self, at: At<'_>) -> Result<Attr> {
        let (item, stat) = entry::load(&at, &self.entry)?;
        let value = self.path.resolve_in(&item).ok_or(FsError::NotFound)?;
        Ok(Attr::file(value_text(value).len() as u64, stat.modified_ms))
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        let (item, _) = entry::load(&at, &self.entry)?;
        self.path
            .resolve_in(&item)
            .map(value_text)
            .ok_or(FsError::NotFound)
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        let (mount, entry) = (&at.mount, self.entry.clone());
        let (item, _) = entry::load(mount, &entry)?;
        let value = self.path.resolve_in(&item);
        let kind = self
            .forced_type
            .unwrap_or_else(|| value.map_or(ValueKind::Text, ValueKind::of));
        let key_schema = mount.schema(entry.table())?.key.clone();
        let path = self.path.clone();
        let text = value.map(|value| (value_text(value), None));
        let read = move |text: &[u8], _| {
            let edit =
                AttributeEdit::set(path.clone(), kind.parse(text)?, EditCondition::ItemExists);
            let (request, entry) = (edit.request(&entry, &key_schema), entry.clone());
            Ok(action(move |host, writer, reply| {
                // The item is gone: a single attribute does not create one.
                let reply = reply.after(|outcome| {
                    outcome.map_err(|error| match error {
                        Error::ConditionalCheckFailed { .. } => Error::ResourceNotFound,
                        error => error,
                    })
                });
                super::change::execute(host, &entry, writer, request, reply);
            }))
        };
        let file = TextFile::new("The item is unchanged.", read);
        let file = match kind {
            ValueKind::Bytes => file.with_check(|| DefinitionCheck::Other),
            _ => file.with_check(move || LineCheck::continued(kind, judge)),
        };
        Ok(open_text(at.node.place(), &at, flags, text, file))
    }

    /// Removes the attribute, member or element.
    fn unlink(&self, at: HostAt<'_>, reply: Reply<()>) {
        let edit = || AttributeEdit {
            path: self.path.clone(),
            value: None,
            condition: EditCondition::Exists,
        };
        let current = self.text(At::new(at.node, &at.mount));
        reply(current.and_then(|_| update(&self.entry, &at, edit())));
    }
}

/// The precondition of an edit.
#[derive(Debug, Clone, Copy)]
enum EditCondition {
    ItemExists,
    Absent,
    Exists,
    Empty,
}

/// A change of one attribute: a new value, or its removal.
#[derive(Debug)]
struct AttributeEdit {
    path: DocumentPath,
    value: Option<AttributeValue>,
    condition: EditCondition,
}

impl AttributeEdit {
    fn set(path: DocumentPath, value: AttributeValue, condition: EditCondition) -> Self {
        Self {
            path,
            value: Some(value),
            condition,
        }
    }

    fn request(self, entry: &EntryNode, key: &KeySchema) -> UpdateItemRequest {
        let mut names = BTreeMap::new();
        let path = placeholder_path(&self.path, &mut names);
        let mut values = BTreeMap::new();
        let update = match self.value {
            Some(value) => {
                values.insert(":v".to_owned(), value);
                format!("SET {path} = :v")
            }
            None => format!("REMOVE {path}"),
        };
        let condition = match self.condition {
            EditCondition::ItemExists => {
                names.insert("#key".to_owned(), key.partition.name.clone());
                "attribute_exists(#key)".to_owned()
            }
            EditCondition::Absent => format!("attribute_not_exists({path})"),
            EditCondition::Exists => format!("attribute_exists({path})"),
            EditCondition::Empty => {
                values.insert(":none".to_owned(), AttributeValue::N(0.into()));
                format!("size({path}) = :none")
            }
        };
        let values = (!values.is_empty()).then_some(values);
        let placeholders = Placeholders {
            names: Some(names),
            values,
        };
        let request = UpdateItemRequest::new(
            entry.table().clone(),
            entry.key().to_item(key),
            UpdateParameter::Expression(update),
            placeholders,
        );
        UpdateItemRequest {
            condition: ConditionParameter::Expression(condition),
            ..request
        }
    }
}

/// Returns the path in an expression, with placeholders for its names.
fn placeholder_path(path: &DocumentPath, names: &mut BTreeMap<String, String>) -> String {
    path.to_text_with(|name| {
        let alias = format!("#n{}", names.len());
        names.insert(alias.clone(), name.to_owned());
        alias
    })
}

/// The form of the text of an attribute's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Text,
    Number,
    Boolean,
    /// The word `null` is NULL; any other text is a string.
    Null,
    Bytes,
    /// Any value as plain JSON.
    Json,
    /// A set, which may also be written as a list.
    Set(AttributeType),
}

impl ValueKind {
    /// Returns the kind that keeps the type of a value.
    pub fn of(value: &AttributeValue) -> Self {
        match value {
            AttributeValue::S(_) => Self::Text,
            AttributeValue::N(_) => Self::Number,
            AttributeValue::B(_) => Self::Bytes,
            AttributeValue::Bool(_) => Self::Boolean,
            AttributeValue::Null => Self::Null,
            AttributeValue::L(_) | AttributeValue::M(_) => Self::Json,
            AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => {
                Self::Set(value.attribute_type())
            }
        }
    }

    /// Parses the type after the comma of a file's name.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "S" => Self::Text,
            "N" => Self::Number,
            "B" => Self::Bytes,
            "BOOL" => Self::Boolean,
            "JSON" => Self::Json,
            _ => return None,
        })
    }

    /// Parses a whole text to its value.
    ///
    /// # Errors
    /// [`FsError::Body`] or [`FsError::Json`] for a text of another type.
    pub fn parse(self, text: &[u8]) -> Result<AttributeValue, FsError> {
        if self == Self::Bytes {
            return Ok(AttributeValue::B(text.to_vec()));
        }
        let text = utf8(text)?;
        let line = text.strip_suffix('\n').unwrap_or(text);
        match (self, line.trim()) {
            (Self::Text, _) => Ok(AttributeValue::S(line.to_owned())),
            (Self::Null, "null") => Ok(AttributeValue::Null),
            (Self::Null, _) => Ok(AttributeValue::S(line.to_owned())),
            (Self::Boolean, "true") => Ok(AttributeValue::Bool(true)),
            (Self::Boolean, "false") => Ok(AttributeValue::Bool(false)),
            (Self::Boolean, _) => Err(type_error("true or false")),
            (Self::Number, word) => match word.parse() {
                Ok(number) => Ok(AttributeValue::N(number)),
                Err(error) => Err(FsError::Body(format!(
                    "the attribute is a number: {error}; write to the name with ,S to make it a string"
                ))),
            },
            (Self::Set(kind), _) => parse_set(
                kind,
                plain_json::parse_value(text.as_bytes()).map_err(FsError::Json)?,
            ),
            (Self::Json | Self::Bytes, _) => {
                plain_json::parse_value(text.as_bytes()).map_err(FsError::Json)
            }
        }
    }
}

fn type_error(expected: &str) -> FsError {
    FsError::Body(format!(
        "the attribute takes {expected}; write to the name with ,S to make it a string"
    ))
}

fn parse_set(kind: AttributeType, value: AttributeValue) -> Result<AttributeValue> {
    let list = match value {
        AttributeValue::L(list) => list,
        value if value.attribute_type() == kind => return Ok(value),
        _ => {
            return Err(FsError::Body(format!(
                "the attribute is a set of type {kind}: write a JSON list of its members"
            )));
        }
    };
    let made = match kind {
        AttributeType::Ns => list
            .into_iter()
            .map(|v| {
                if let AttributeValue::N(n) = v {
                    Some(n)
                } else {
                    None
                }
            })
            .collect::<Option<_>>()
            .map(AttributeValue::number_set),
        AttributeType::Bs => list
            .into_iter()
            .map(|v| {
                if let AttributeValue::B(b) = v {
                    Some(b)
                } else {
                    None
                }
            })
            .collect::<Option<_>>()
            .map(AttributeValue::binary_set),
        _ => list
            .into_iter()
            .map(|v| {
                if let AttributeValue::S(s) = v {
                    Some(s)
                } else {
                    None
                }
            })
            .collect::<Option<_>>()
            .map(AttributeValue::string_set),
    };
    let made: Result<AttributeValue, ValueError> = made
        .ok_or_else(|| FsError::Body(format!("not every member is one of a set of type {kind}")))?;
    Ok(made.map_err(crate::model::Error::from)?)
}

fn judge(kind: &ValueKind, text: &str) -> TextVerdict {
    match kind.parse(text.as_bytes()) {
        Ok(_) => TextVerdict::Valid,
        Err(FsError::Json(error)) if error.fault == PlainJsonFault::UnexpectedEnd => {
            TextVerdict::Incomplete(FsError::Json(error))
        }
        Err(error) => TextVerdict::Invalid(error),
    }
}

/// Returns the text of the file of a value.
fn value_text(value: &AttributeValue) -> Vec<u8> {
    match value {
        AttributeValue::S(text) => format!("{text}\n").into_bytes(),
        AttributeValue::B(bytes) => bytes.clone(),
        _ => (plain_json::value(value) + "\n").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::write::{CheckState, TextCheck as _};

    #[test]
    fn a_text_keeps_the_type_of_what_is_there() {
        let check = |before: &str, written: &str, expected: &str| {
            let kind = ValueKind::of(&plain_json::parse_value(before.as_bytes()).unwrap());
            let mut check = LineCheck::continued(kind, judge);
            check.feed(written.as_bytes());
            let found = match check.at_end() {
                CheckState::Complete => {
                    String::from_utf8(value_text(&kind.parse(written.as_bytes()).unwrap())).unwrap()
                }
                CheckState::Incomplete => format!("unfinished: {}", check.incomplete()),
                CheckState::Invalid(error) => error.to_string(),
            };
            assert_eq!(
                found.trim_end_matches('\n'),
                expected,
                "{before} {written:?}"
            );
        };
        check("\"a\"", "b c\n", "b c");
        check("\"a\"", "12", "12");
        check("\"a\"", "two\nlines\n", "two\nlines");
        check("1", "2.50\n", "2.5");
        check("true", "false\n", "false");
        check("null", "null\n", "null");
        check("null", "x\n", "x");
        check("[1]", "[1,\n2]\n", "[1,2]");
        check(
            "[1]",
            "[1,\n",
            "unfinished: expected more: the text ends at byte 4",
        );
        check("[1]", "[1,]\n", "expected a JSON value at byte 3");
        check(
            "{\"$ss\":[\"a\"]}",
            "[\"b\",\"a\"]\n",
            "{\"$ss\":[\"a\",\"b\"]}",
        );
        check("{\"$ns\":[1]}", "{\"$ns\":[3,2]}\n", "{\"$ns\":[2,3]}");
        check(
            "{\"$ss\":[\"a\"]}",
            "[1]\n",
            "not every member is one of a set of type SS",
        );
        check(
            "{\"$ss\":[\"a\"]}",
            "1\n",
            "the attribute is a set of type SS: write a JSON list of its members",
        );
        check(
            "true",
            "maybe\n",
            "the attribute takes true or false; write to the name with ,S to make it a string",
        );
    }
}
