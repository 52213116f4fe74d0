//! `X.d/`: the attributes of an item as files, and those of maps and lists below `name.d/`.
//!
//! ```text
//! X.d/status        the value; writing keeps its type, rm removes it
//! X.d/status,N      the same attribute, written as a number (S, N, B, BOOL, JSON)
//! X.d/address.d/    the members of a map, mkdir makes an empty one
//! X.d/tags.d/0      the elements of a list
//! ```
//! Names are written as K(value) writes a string key. A name that is an attribute's own wins over what its suffix would mean.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::{Special, SpecialNode};
use super::attribute_value::{self, Kind as ValueKind};
use super::{Place, update};
use crate::codec::file_name;
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::handle::{Handle, OpenText};
use crate::fs::node::{Kind, Node};
use crate::fs::tree::{Caller, Tree, listed};
use crate::fs::view::{OpenFlags, Outcome, Performer, Reply, View};
use crate::fs::write::check::TextCheck;
use crate::fs::write::{Commit, Opener, Target, TextWriter};
use crate::model::api::{ConditionParameter, Placeholders, Precondition, UpdateItemRequest, UpdateParameter};
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, DocumentPath, Error, Item, KeySchema, PathElement, TableName};

/// What a directory's name ends with.
const FOLDER_SUFFIX: &str = ".d";

/// The attributes of an item, or the members of a map or list in it.
#[derive(Debug, Clone)]
struct Folder {
    place: Place,
    /// `None`: the item itself.
    of: Option<DocumentPath>,
    path: String,
}

/// One attribute, member or element.
#[derive(Debug, Clone)]
struct Attribute {
    folder: Folder,
    of: DocumentPath,
    /// What the name asks for.
    kind: Option<ValueKind>,
    path: String,
}

pub fn node(place: Place) -> Node {
    let path = place.path(FOLDER_SUFFIX);
    SpecialNode::node(Folder { place, of: None, path })
}

/// What is in a folder.
enum Members<'i> {
    Named(&'i BTreeMap<String, AttributeValue>),
    Listed(&'i [AttributeValue]),
}

fn find<'i>(item: &'i Item, path: &DocumentPath) -> Option<&'i AttributeValue> {
    path.rest.iter().try_fold(item.get(&path.head)?, |value, element| match (value, element) {
        (AttributeValue::M(map), PathElement::Name(name)) => map.get(name),
        (AttributeValue::L(list), PathElement::Index(index)) => list.get(*index),
        _ => None,
    })
}

impl Folder {
    fn members<'i>(&self, item: &'i Item) -> Result<Members<'i>, FsError> {
        let Some(path) = &self.of else { return Ok(Members::Named(&item.0)) };
        match find(item, path) {
            Some(AttributeValue::M(map)) => Ok(Members::Named(map)),
            Some(AttributeValue::L(list)) => Ok(Members::Listed(list)),
            Some(_) | None => Err(FsError::NotFound),
        }
    }

    /// The document path of a member, by its name as a file.
    fn member(&self, members: &Members<'_>, name: &str) -> Result<DocumentPath, FsError> {
        let element = match members {
            Members::Listed(_) => PathElement::Index(index(name).ok_or(FsError::NotFound)?),
            Members::Named(map) => PathElement::Name(attribute_name(map.keys(), name)?),
        };
        match (&self.of, element) {
            (None, PathElement::Name(head)) => Ok(DocumentPath::top_level(head)),
            (None, PathElement::Index(_)) => Err(FsError::NotFound),
            (Some(path), element) => {
                let mut path = path.clone();
                path.rest.push(element);
                Ok(path)
            }
        }
    }

    fn attribute(&self, of: DocumentPath, kind: Option<ValueKind>, name: &str) -> Node {
        let path = format!("{}/{name}", self.path);
        SpecialNode::node(Attribute { folder: self.clone(), of, kind, path })
    }

    fn change(&self, view: &View, caller: Caller, change: Change) -> Result<(), FsError> {
        let schema = view.tree().schema(self.place.table())?;
        let request = change.request(&self.place, &schema.key);
        view.on_behalf_of(caller.pid, || view.tree().db.update_item(request))?;
        Ok(())
    }
}

/// An element's number, as it is listed.
fn index(name: &str) -> Option<usize> {
    let canonical = !name.starts_with('0') || name == "0";
    name.parse().ok().filter(|_| canonical && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The attribute's name that a file's name says; a shortened one is that of an attribute which is there.
fn attribute_name<'n>(mut known: impl Iterator<Item = &'n String>, name: &str) -> Result<String, FsError> {
    if file_name::alias_digest(name).is_some() {
        return known.find(|known| file_of(known) == name).cloned().ok_or(FsError::NotFound);
    }
    match file_name::decode_value(name, KeyAttributeType::S) {
        Ok(AttributeValue::S(name)) => Ok(name),
        _ => Err(FsError::NotFound),
    }
}

/// The file's name of an attribute.
fn file_of(name: &str) -> String {
    file_name::hash_item_stem(&AttributeValue::S(name.to_owned()))
}

impl Special for Folder {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        let Some(of) = &self.of else { return self.place.parent() };
        let mut above = of.clone();
        let of = above.rest.pop().map(|_| above);
        let path = self.path.rsplit_once('/').map_or("", |(path, _)| path).to_owned();
        SpecialNode::node(Self { place: self.place.clone(), of, path })
    }

    fn table(&self) -> Option<&TableName> {
        Some(self.place.table())
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        let (item, stat) = self.place.load(tree)?;
        self.members(&item)?;
        Ok(stat.modified_ms)
    }

    fn resolve(&self, tree: &Tree, name: &str) -> Result<Node, FsError> {
        if name.starts_with('.') {
            return Err(FsError::NotFound);
        }
        let (item, _) = self.place.load(tree)?;
        let members = self.members(&item)?;
        if let Ok(path) = self.member(&members, name)
            && find(&item, &path).is_some()
        {
            return Ok(self.attribute(path, None, name));
        }
        if let Some(stem) = name.strip_suffix(FOLDER_SUFFIX) {
            let of = Some(self.member(&members, stem)?);
            return Ok(SpecialNode::node(Self { place: self.place.clone(), of, path: format!("{}/{name}", self.path) }));
        }
        if let Some((stem, word)) = name.rsplit_once(',') {
            let kind = ValueKind::named(word)
                .ok_or(FsError::Invalid("the types after a comma are S, N, B, BOOL and JSON; a comma itself is %2C"))?;
            return Ok(self.attribute(self.member(&members, stem)?, Some(kind), name));
        }
        Ok(self.attribute(self.member(&members, name)?, None, name))
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        let (item, _) = self.place.load(tree)?;
        let members = self.members(&item)?;
        let names: Vec<String> = match &members {
            Members::Named(map) => map.keys().map(|name| file_of(name)).collect(),
            Members::Listed(list) => (0..list.len()).map(|index| index.to_string()).collect(),
        };
        let entry = |name: String| Ok(listed(&self.attribute(self.member(&members, &name)?, None, &name), &name));
        Ok(Box::new(FixedLister::new(names.into_iter().map(entry).collect::<Result<_, FsError>>()?)))
    }

    fn mkdir(&self, view: &View, caller: Caller, name: &str) -> Result<Node, FsError> {
        let stem = name.strip_suffix(FOLDER_SUFFIX);
        let stem = stem.ok_or(FsError::NotPermitted("a map's folder is its name and .d"))?;
        let (item, _) = self.place.load(view.tree())?;
        let path = self.member(&self.members(&item)?, stem)?;
        if find(&item, &path).is_some() {
            return Err(FsError::Exists);
        }
        self.change(view, caller, Change::set(path, AttributeValue::M(BTreeMap::new()), Must::BeAbsent))?;
        self.resolve(view.tree(), name)
    }

    fn rmdir(&self, view: &View, caller: Caller) -> Result<(), FsError> {
        let path = self.of.clone().ok_or(FsError::NotPermitted("this folder goes with its item"))?;
        let (item, _) = self.place.load(view.tree())?;
        let is_empty = match self.members(&item)? {
            Members::Named(map) => map.is_empty(),
            Members::Listed(list) => list.is_empty(),
        };
        if !is_empty {
            return Err(FsError::NotEmpty);
        }
        self.change(view, caller, Change { path, value: None, must: Must::BeEmpty })
    }
}

impl Special for Attribute {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        SpecialNode::node(self.folder.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(self.folder.place.table())
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn attr(&self, tree: &Tree, _caller: Caller, ino: u64) -> Result<Attr, FsError> {
        let (item, stat) = self.folder.place.load(tree)?;
        let value = find(&item, &self.of).ok_or(FsError::NotFound)?;
        Ok(Attr::file(ino, attribute_value::text(value).len() as u64, stat.modified_ms))
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let (item, _) = self.folder.place.load(tree)?;
        find(&item, &self.of).map(attribute_value::text).ok_or(FsError::NotFound)
    }

    fn open_for_writing(&self, view: &Arc<View>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        let place = self.folder.place.clone();
        let (item, _) = place.load(view.tree())?;
        let value = find(&item, &self.of);
        let kind = self.kind.unwrap_or_else(|| value.map_or(ValueKind::Text, ValueKind::of));
        let key_schema = view.tree().schema(place.table())?.key.clone();
        let target = AttributeTarget { place, key_schema, of: self.of.clone(), kind };
        let opener = Opener { pid: caller.pid, append: flags.append };
        let writer = match value.filter(|_| !flags.truncate) {
            Some(value) => TextWriter::edit(target, attribute_value::text(value), None, opener),
            None => TextWriter::stream(target, opener),
        };
        Ok(Handle::Special(Arc::new(OpenText::new(ino, self.path.clone(), caller.pid, writer))))
    }

    fn unlink(&self, view: &Arc<View>, caller: Caller, reply: Reply<()>) {
        let removed = self
            .text(view.tree(), caller)
            .and_then(|_| self.folder.change(view, caller, Change { path: self.of.clone(), value: None, must: Must::BeThere }));
        reply(removed);
    }
}

#[derive(Debug)]
struct AttributeTarget {
    place: Place,
    key_schema: KeySchema,
    of: DocumentPath,
    kind: ValueKind,
}

impl Target for AttributeTarget {
    type Request = UpdateItemRequest;

    fn request(&self, text: &[u8], _precondition: Option<Precondition>) -> Result<Commit<UpdateItemRequest>, FsError> {
        let change = Change::set(self.of.clone(), self.kind.parse(text)?, Must::HaveItem);
        Ok(Commit { request: change.request(&self.place, &self.key_schema), warnings: Vec::new() })
    }

    fn check(&self) -> Box<dyn TextCheck> {
        self.kind.check()
    }

    fn unchanged(&self) -> &'static str {
        "The item is unchanged."
    }
}

impl Performer for AttributeTarget {
    fn perform(view: &Arc<View>, open: &Arc<OpenText<Self>>, request: UpdateItemRequest, done: Outcome) {
        let place = open.state.lock().writer.target().place.clone();
        // The item is gone: nothing is made of one attribute.
        let done: Outcome = Box::new(|outcome| {
            done(outcome.map_err(|error| match error {
                Error::ConditionalCheckFailed { .. } => Error::ResourceNotFound,
                error => error,
            }));
        });
        update::perform(view, &place, open.writer(), request, done);
    }
}

/// What must be true of the item for a change.
#[derive(Debug, Clone, Copy)]
enum Must {
    HaveItem,
    BeAbsent,
    BeThere,
    BeEmpty,
}

/// An attribute set, or removed.
#[derive(Debug)]
struct Change {
    path: DocumentPath,
    value: Option<AttributeValue>,
    must: Must,
}

impl Change {
    fn set(path: DocumentPath, value: AttributeValue, must: Must) -> Self {
        Self { path, value: Some(value), must }
    }

    fn request(self, place: &Place, key: &KeySchema) -> UpdateItemRequest {
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
        let condition = match self.must {
            Must::HaveItem => {
                names.insert("#key".to_owned(), key.partition.name.clone());
                "attribute_exists(#key)".to_owned()
            }
            Must::BeAbsent => format!("attribute_not_exists({path})"),
            Must::BeThere => format!("attribute_exists({path})"),
            Must::BeEmpty => {
                values.insert(":none".to_owned(), AttributeValue::N(0.into()));
                format!("size({path}) = :none")
            }
        };
        let values = (!values.is_empty()).then_some(values);
        let placeholders = Placeholders { names: Some(names), values };
        let request = UpdateItemRequest::new(
            place.table().clone(),
            place.key().to_item(key),
            UpdateParameter::Expression(update),
            placeholders,
        );
        UpdateItemRequest { condition: ConditionParameter::Expression(condition), ..request }
    }
}

/// The path in an expression, its names taken out.
fn placeholder_path(path: &DocumentPath, names: &mut BTreeMap<String, String>) -> String {
    let mut name = |name: &String| {
        let alias = format!("#n{}", names.len());
        names.insert(alias.clone(), name.clone());
        alias
    };
    let mut out = name(&path.head);
    for element in &path.rest {
        match element {
            PathElement::Name(member) => {
                out.push('.');
                out.push_str(&name(member));
            }
            PathElement::Index(index) => out.push_str(&format!("[{index}]")),
        }
    }
    out
}
