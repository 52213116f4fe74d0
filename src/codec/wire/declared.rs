//! The macros that generate the JSON form of the structures declared in `model::api` (see
//! `model::api::declare`): each line gives the member's shape, its reader and its writer, for a
//! request and for a response. The module of a declaration imports all of this, with the parts of a
//! wire form (`field`, `shape`, `write`).

use serde_json::{Map, Value};

pub use super::field::*;
pub use super::shape::{Element, Member, Members, Rule, Shape, Structure};
pub use super::write::Context;
pub use super::write::ObjectWriter;
use super::{members, response as answers};
pub use crate::codec::json::document::Json;
pub use crate::codec::wire::WireError;
pub use crate::model::{ApiEnum, Error, Item, TableName};

/// The table of a request that breaks no rule, if the check read it.
pub type Checked = Result<Option<TableName>, WireError>;

/// A structure that is declared.
pub trait Declared: Sized {
    const STRUCTURE: &'static Structure;
    /// The one member of a body that contains the structure's members.
    const OUTER: Option<&'static str> = None;

    /// Checks a request with correct types, before anything is made of it.
    ///
    /// # Errors
    /// The service's first objection.
    fn check(json: Json<'_>, _: Members<'_>) -> Checked {
        members::constrained(json, Self::STRUCTURE).map(|()| None)
    }

    /// Reads the structure from its members; `table` is the name that the check has read.
    ///
    /// # Errors
    /// The error of the first member that is missing or wrong.
    fn read_members(
        members: Members<'_>,
        table: Option<TableName>,
        sender: Sender,
    ) -> Result<Self, WireError>;

    fn write_members(&self, object: &mut ObjectWriter<'_>);
}

/// Reads the body of a request.
///
/// # Errors
/// In this order: types, the table's name, constraints, members that exclude each other, values.
pub fn request<T: Declared>(json: Json<'_>) -> Result<T, WireError> {
    let members = members::check_types(json, T::STRUCTURE)?;
    let table = T::check(json, members)?;
    T::read_members(members, table, Sender::Client)
}

/// Appends the body of a request or a response.
pub fn encode<T: Declared>(declared: &T, context: &Context, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start_in(context, out);
    match T::OUTER {
        None => declared.write_members(&mut object),
        Some(outer) => {
            let mut inner = ObjectWriter::start_in(context, object.member(outer));
            declared.write_members(&mut inner);
            inner.end();
        }
    }
    object.end();
}

/// The response of an operation.
pub trait Body {
    /// Appends the response as a body.
    fn write_body(&self, context: &Context, out: &mut Vec<u8>);
}

impl<T: Declared> Body for T {
    fn write_body(&self, context: &Context, out: &mut Vec<u8>) {
        encode(self, context, out);
    }
}

/// A response without a body.
impl Body for () {
    fn write_body(&self, _: &Context, _: &mut Vec<u8>) {}
}

/// Declares responses that are written as trees and never read: no request for them goes to another
/// service.
macro_rules! tree_bodies {
    ($($answer:ty: $tree:expr;)*) => {
        $(impl Body for $answer {
            fn write_body(&self, _: &Context, out: &mut Vec<u8>) {
                let tree: fn(&Self) -> serde_json::Value = $tree;
                out.extend_from_slice(tree(self).to_string().as_bytes());
            }
        })*
    };
}
pub(super) use tree_bodies;

/// Appends the body of a request that needs no [`Context`].
pub fn encode_request<T: Declared>(request: &T, out: &mut Vec<u8>) {
    encode(request, &Context::PLAIN, out);
}

/// Returns the members of a declared structure as a tree.
pub(super) fn tree_of<T: Declared>(declared: &T) -> Map<String, Value> {
    let mut out = Vec::new();
    encode_request(declared, &mut out);
    let tree = serde_json::from_slice(&out);
    debug_assert!(tree.is_ok(), "the written text is an object: {tree:?}");
    tree.unwrap_or_default()
}

/// Reads the body of a response.
///
/// # Errors
/// [`Error::Remote`] if the body is no such response.
pub fn decode_response<T: Declared>(json: Json<'_>) -> Result<T, Error> {
    let members = answers::members(json)?;
    let members = T::OUTER.map_or(Ok(members), |outer| answers::structure(members, outer))?;
    T::read_members(members, None, Sender::Service).map_err(answers::from_wire_error)
}

/// A structure with its members flattened into another one.
#[derive(Debug)]
pub struct Flat;

impl<T: Declared> Group<T> for Flat {
    const MEMBERS: &'static [Member] = T::STRUCTURE.members;

    fn read(members: Members<'_>, sender: Sender) -> Result<T, WireError> {
        T::read_members(members, None, sender)
    }

    fn write(value: &T, object: &mut ObjectWriter<'_>) {
        value.write_members(object);
    }
}

/// The value of a member that follows from other fields.
pub trait DerivedMember {
    /// Writes the member `name`, if requested.
    fn put(&self, name: &str, object: &mut ObjectWriter<'_>);
}

impl<T: Field> DerivedMember for T {
    fn put(&self, name: &str, object: &mut ObjectWriter<'_>) {
        self.write(object.member(name));
    }
}

/// Writes the member `name` with a value that follows from other fields, if there is one.
pub fn put_derived<S, T: DerivedMember>(
    of: &S,
    name: &str,
    derive: impl Fn(&S) -> Option<T>,
    object: &mut ObjectWriter<'_>,
) {
    if let Some(derive) = derive(of) {
        derive.put(name, object);
    }
}

/// Returns the length of [`pascal`]'s result.
pub(super) const fn pascal_len(snake: &str) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < snake.len() {
        count += (snake.as_bytes()[at] != b'_') as usize;
        at += 1;
    }
    count
}

/// Returns `TableName` for `table_name`.
pub(super) const fn pascal<const N: usize>(snake: &str) -> [u8; N] {
    let (mut name, mut at, mut to, mut is_first) = ([0; N], 0, 0, true);
    while at < snake.len() {
        let byte = snake.as_bytes()[at];
        if byte != b'_' {
            name[to] = if is_first {
                byte.to_ascii_uppercase()
            } else {
                byte
            };
            to += 1;
        }
        is_first = byte == b'_';
        at += 1;
    }
    name
}

/// Returns the number of members in all parts.
pub(super) const fn count(parts: &[&[Member]]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < parts.len() {
        count += parts[at].len();
        at += 1;
    }
    count
}

/// Concatenates the members of all parts.
pub(super) const fn joined<const N: usize>(parts: &[&[Member]]) -> [Member; N] {
    let mut all = [Member::new("", Shape::String); N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut member = 0;
        while member < parts[part].len() {
            all[at] = parts[part][member];
            member += 1;
            at += 1;
        }
        part += 1;
    }
    all
}

/// Implements the wire form of declared structures.
macro_rules! wire {
    ($(
        $(#[$attribute:meta])*
        $name:ident $(= $wire:literal)? $(by $check:ident)? $(in $outer:literal)? $(fn $constructor:ident $given:tt)? { $($members:tt)* }
    )*) => {
        $($crate::codec::wire::declared::wire_form! { $name ($($wire)?) ($($check)?) ($($outer)?) { $($members)* } })*
    };
}
pub(crate) use wire;

macro_rules! wire_form {
    ($name:ident ($($wire:literal)?) $check:tt ($($outer:literal)?) { $(
        $(#[$doc:meta])*
        $presence:ident $field:ident: $kind:ty $(as $form:ty)? $(= $member:literal)? $([$($rule:expr),+])?,
        $(..$extra:expr,)*
        $(+ $derived_name:literal = $derived:expr,)*
    )* }) => {
        const _: () = {
            #[allow(unused_imports)]
            use $crate::codec::wire::{declared::*, members, names};

            // The members' names.
            #[allow(non_upper_case_globals, dead_code)]
            impl $name {
                $(const $field: &'static str = member_name!($field $($member)?);)*
            }

            impl Declared for $name {
                const STRUCTURE: &'static Structure = {
                    #[allow(unused_imports)]
                    use Rule::*;
                    const PARTS: &[&[Member]] = &[$(member_shape!($presence $name::$field, $kind, ($($form)?), [$($($rule),+)?]), $($extra,)*)*];
                    const MEMBERS: [Member; count(PARTS)] = joined(PARTS);
                    &Structure { name: concat!($($wire)?), members: &MEMBERS }
                };
                $(const OUTER: Option<&'static str> = Some($outer);)?

                #[allow(unused_variables)]
                fn check(json: Json<'_>, members: Members<'_>) -> Checked {
                    check_request!($check json, members, Self::STRUCTURE, $($presence)*)
                }

                #[allow(unused_variables)]
                fn read_members(members: Members<'_>, table: Option<TableName>, sender: Sender) -> Result<Self, WireError> {
                    Ok(Self { $($field: read_checked!($presence table, members, Self::$field, sender, $kind, ($($form)?))),* })
                }

                #[allow(unused_variables)]
                fn write_members(&self, object: &mut ObjectWriter<'_>) {
                    $(
                        write_member!($presence object, Self::$field, &self.$field, $kind, ($($form)?));
                        $(put_derived(self, $derived_name, $derived, object);)*
                    )*
                }
            }

            impl Field for $name {
                const SHAPE: Shape = Shape::Structure(<Self as Declared>::STRUCTURE);

                fn read(json: Json<'_>, sender: Sender) -> Result<Option<Self>, WireError> {
                    Members::of(json).map(|members| Self::read_members(members, None, sender)).transpose()
                }

                fn write(&self, out: &mut Vec<u8>) {
                    let mut object = ObjectWriter::start(out);
                    self.write_members(&mut object);
                    object.end();
                }
            }
        };
    };
}
pub(crate) use wire_form;

macro_rules! member_name {
    ($field:ident $name:literal) => {
        $name
    };
    ($field:ident) => {{
        const NAME: [u8; pascal_len(stringify!($field))] = pascal(stringify!($field));
        match std::str::from_utf8(&NAME) {
            Ok(name) => name,
            Err(_) => "",
        }
    }};
}
pub(crate) use member_name;

/// Expands to the shape of a member, or of none.
macro_rules! member_shape {
    (group $name:expr, $kind:ty, ($form:ty), $rules:tt) => { <$form as Group<$kind>>::MEMBERS };
    (later $($rest:tt)*) => { &[] };
    (local $($rest:tt)*) => { &[] };
    (data $($rest:tt)*) => { member_shape!(required $($rest)*) };
    ($presence:ident $name:expr, $kind:ty, (), $rules:tt) => { member_shape!($presence $name, $kind, (Plain), $rules) };
    (required $name:expr, $kind:ty, ($form:ty), $rules:tt) => { &[member_shape!(@ $name, $kind, $form, $rules).required()] };
    ($presence:ident $name:expr, $kind:ty, ($form:ty), $rules:tt) => { &[member_shape!(@ $name, $kind, $form, $rules)] };
    (@ $name:expr, $kind:ty, $form:ty, []) => {
        member::<$kind, $form>($name)
    };
    (@ $name:expr, $kind:ty, $form:ty, $rules:expr) => { member::<$kind, $form>($name).rules(&$rules) };
}
pub(crate) use member_shape;

/// Expands to the reader of the table's name, which is checked before all else.
macro_rules! early_table {
    (control $members:ident) => {
        Some(names::control_table($members)?)
    };
    (data $members:ident) => {
        names::data_table($members)?
    };
    (early $members:ident) => {
        names::data_table($members)?
    };
    ($presence:ident $members:ident) => {
        None
    };
}
pub(crate) use early_table;

/// Expands to the check of the table and the constraints, or to the check that the declaration
/// names.
macro_rules! check_request {
    (() $json:ident, $members:ident, $structure:expr, $($presence:ident)*) => {{
        let table = None$(.or(early_table!($presence $members)))*;
        members::constrained($json, $structure)?;
        Ok(table)
    }};
    (($check:ident) $json:ident, $members:ident, $structure:expr, $($presence:ident)*) => { $check($json, $members, $structure) };
}
pub(crate) use check_request;

/// Expands to the reader of a member; the table's name is taken from the check.
macro_rules! read_checked {
    (control $($rest:tt)*) => { read_checked!(data $($rest)*) };
    (data $table:ident, $($rest:tt)*) => {
        match $table {
            Some(table) => table,
            None => read_member!(data $($rest)*),
        }
    };
    (early $table:ident, $($rest:tt)*) => {
        match $table {
            None => read_member!(early $($rest)*),
            table => table,
        }
    };
    ($presence:ident $table:ident, $($rest:tt)*) => { read_member!($presence $($rest)*) };
}
pub(crate) use read_checked;

macro_rules! read_member {
    (local $($rest:tt)*) => { Default::default() };
    ($presence:ident $members:ident, $name:expr, $sender:ident, $kind:ty, ()) => { read_member!($presence $members, $name, $sender, $kind, (Plain)) };
    (group $members:ident, $name:expr, $sender:ident, $kind:ty, ($form:ty)) => { <$form as Group<$kind>>::read($members, $sender)? };
    (optional $members:ident, $name:expr, $sender:ident, $kind:ty, ($form:ty)) => {
        optional::<$kind, $form>($members, $name, $sender)?
    };
    (later $($rest:tt)*) => { read_member!(group $($rest)*) };
    (early $($rest:tt)*) => { read_member!(optional $($rest)*) };
    (default $($rest:tt)*) => { read_member!(optional $($rest)*).unwrap_or_default() };
    (always $($rest:tt)*) => { read_member!(optional $($rest)*).unwrap_or_default() };
    ($presence:ident $members:ident, $name:expr, $sender:ident, $kind:ty, ($form:ty)) => {
        required::<$kind, $form>($members, $name, $sender)?
    };
}
pub(crate) use read_member;

macro_rules! write_member {
    (local $($rest:tt)*) => {};
    ($presence:ident $object:ident, $name:expr, $value:expr, $kind:ty, ()) => { write_member!($presence $object, $name, $value, $kind, (Plain)) };
    (group $object:ident, $name:expr, $value:expr, $kind:ty, ($form:ty)) => { <$form as Group<$kind>>::write($value, $object) };
    (optional $object:ident, $name:expr, $value:expr, $kind:ty, ($form:ty)) => {
        if let Some(value) = $value {
            <$form as Form<$kind>>::put(value, $name, $object);
        }
    };
    (later $($rest:tt)*) => { write_member!(group $($rest)*) };
    (early $($rest:tt)*) => { write_member!(optional $($rest)*) };
    (default $object:ident, $name:expr, $value:expr, $kind:ty, ($form:ty)) => {
        if *$value != <$kind>::default() {
            <$form as Form<$kind>>::put($value, $name, $object);
        }
    };
    ($presence:ident $object:ident, $name:expr, $value:expr, $kind:ty, ($form:ty)) => {
        <$form as Form<$kind>>::put($value, $name, $object)
    };
}
pub(crate) use write_member;
