//! The JSON forms of member types, as traits like serde's: [`Field`] is a type's own form, [`Form`]
//! a form chosen by the declaration, [`Group`] a value made of several members. Each has the shape,
//! the reader and the writer. `declared` uses them for every line of a declaration.

use super::shape::{Element, Member, Members, Rule, Shape};
use super::write::{self, ObjectWriter};
use super::{attribute_value, names, response as answers, shape};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::codec::wire::WireError;
use crate::model::limits::KEY_NAME_CHARS_MAX;
use crate::model::{ApiEnum, AttributeValue, IndexName, Item, TableName};

/// The origin of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A client: both walks have checked the text against its shape.
    Client,
    /// Another service: its response is unchecked.
    Service,
}

/// A type with a JSON form of its own.
pub trait Field: Sized {
    const SHAPE: Shape;
    const RULES: &'static [Rule] = &[];

    /// Reads a value; `None` if the JSON type is wrong.
    ///
    /// # Errors
    /// The error of a value with the right JSON type that is not legal.
    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Self>, WireError>;

    fn write(&self, out: &mut Vec<u8>);
}

/// A JSON form of the type `T`: the type's own, or another one.
pub trait Form<T> {
    const SHAPE: Shape;
    const RULES: &'static [Rule] = &[];

    /// Reads a value as [`Field::read`] does.
    fn read(json: Json<'_>, sender: Sender) -> Result<Option<T>, WireError>;

    fn write(value: &T, out: &mut Vec<u8>);

    /// Writes the member of that name.
    fn put(value: &T, name: &str, object: &mut ObjectWriter<'_>) {
        Self::write(value, object.member(name));
    }
}

/// The type's own form.
#[derive(Debug)]
pub struct Plain;

impl<T: Field> Form<T> for Plain {
    const SHAPE: Shape = T::SHAPE;
    const RULES: &'static [Rule] = T::RULES;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<T>, WireError> {
        T::read(json, sender)
    }

    fn write(value: &T, out: &mut Vec<u8>) {
        value.write(out);
    }
}

/// Returns the member of that name, in that form.
pub const fn member<T, F: Form<T>>(name: &'static str) -> Member {
    Member::new(name, F::SHAPE).rules(F::RULES)
}

/// Several members that make one value, or a value that follows from them.
pub trait Group<T> {
    const MEMBERS: &'static [Member] = &[];

    /// Reads the value.
    ///
    /// # Errors
    /// The error of the first member that is wrong.
    fn read(members: Members<'_>, sender: Sender) -> Result<T, WireError>;

    /// Writes the members; nothing for a value that only follows from others.
    fn write(_: &T, _: &mut ObjectWriter<'_>) {}
}

/// Reads the member `name`, if present.
pub fn optional<T, F: Form<T>>(
    members: Members<'_>,
    name: &str,
    sender: Sender,
) -> Result<Option<T>, WireError> {
    members
        .get(name)
        .map_or(Ok(None), |json| F::read(json, sender))
}

/// Reads the member `name`. A checked request has it.
pub fn required<T, F: Form<T>>(
    members: Members<'_>,
    name: &str,
    sender: Sender,
) -> Result<T, WireError> {
    Ok(optional::<T, F>(members, name, sender)?.ok_or_else(|| answers::missing(name))?)
}

/// Implements simple types: shape, reader, writer.
macro_rules! simple_fields {
    ($($kind:ty: $shape:ident, $read:expr, $write:expr;)*) => {
        $(impl Field for $kind {
            const SHAPE: Shape = Shape::$shape;

            fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
                let read: fn(Json<'_>) -> Option<Self> = $read;
                Ok(read(json))
            }

            fn write(&self, out: &mut Vec<u8>) {
                let write: fn(&Self, &mut Vec<u8>) = $write;
                write(self, out);
            }
        })*
    };
}

simple_fields! {
    String: String, |json| json.as_str().map(str::to_owned), |text, out| write::string(text, out);
    bool: Boolean, shape::boolean, |is_set, out| out.extend_from_slice(if *is_set { b"true" } else { b"false" });
    // The wire's integers are 32 bits; larger ones saturate.
    u32: Integer, |json| shape::integer(json)?.min(i64::from(i32::MAX)).try_into().ok(), |count, out| write::whole((*count).into(), out);
    u64: Long, |json| shape::integer(json)?.try_into().ok(), |count, out| write::whole(*count, out);
    f64: Long, |json| Json::as_f64(json), |number, out| write::double(*number, out);
    i64: Long, shape::integer, |number, out| out.extend_from_slice(number.to_string().as_bytes());
}

impl<T: ApiEnum> Field for T {
    const SHAPE: Shape = Shape::String;
    const RULES: &'static [Rule] = &[Rule::OneOf(T::VALUES)];

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(json.as_str().and_then(T::parse))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write::string(self.as_str(), out);
    }
}

/// Implements names: constraints, the reader of a request, the reader of a response.
macro_rules! name_fields {
    ($($kind:ident: $rules:expr, $read_request:path, $read_response:path;)*) => {
        $(impl Field for $kind {
            const SHAPE: Shape = Shape::String;
            const RULES: &'static [Rule] = $rules;

            fn read(json: Json<'_>, sender: Sender) -> Result<Option<Self>, WireError> {
                let Some(text) = json.as_str() else { return Ok(None) };
                match sender {
                    Sender::Client => $read_request(text).map(Some),
                    Sender::Service => Ok(Some($read_response(text)?)),
                }
            }

            fn write(&self, out: &mut Vec<u8>) {
                write::string(self.as_str(), out);
            }
        })*
    };
}

name_fields! {
    TableName: &[], names::table, answers::table_name;
    IndexName: names::NAME_RULES, names::index_name, answers::index_name;
}

impl Field for Item {
    const SHAPE: Shape = Shape::Map(&attribute_value::ATTRIBUTE_VALUE_ELEMENT);

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Self>, WireError> {
        match sender {
            Sender::Client => Ok(Some(attribute_value::item(json)?)),
            Sender::Service => Ok(Some(answers::read_item(json)?)),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        dynamodb_json::write_item(self, out);
    }
}

impl Field for AttributeValue {
    const SHAPE: Shape = Shape::Structure(&attribute_value::ATTRIBUTE_VALUE);

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(Some(attribute_value::value(json)?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        dynamodb_json::write_value(self, out);
    }
}

impl<T: Field> Field for Vec<T> {
    const SHAPE: Shape = <List<Plain> as Form<Self>>::SHAPE;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Self>, WireError> {
        List::<Plain>::read(json, sender)
    }

    fn write(&self, out: &mut Vec<u8>) {
        List::<Plain>::write(self, out);
    }
}

/// A list of elements in a form. An element of a wrong JSON type is an error in a response; the walks over a request have found it.
#[derive(Debug)]
pub struct List<F>(F);

impl<T, F: Form<T>> Form<Vec<T>> for List<F> {
    const SHAPE: Shape = Shape::List(&Element {
        shape: F::SHAPE,
        rules: F::RULES,
    });

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Vec<T>>, WireError> {
        let element = |json| match F::read(json, sender) {
            Ok(None) if sender == Sender::Service => Some(Err(answers::unreadable(
                "a list has an unknown element",
            )
            .into())),
            read => read.transpose(),
        };
        let values = json
            .as_list()
            .map(|values| values.filter_map(element).collect());
        values.transpose()
    }

    fn write(value: &Vec<T>, out: &mut Vec<u8>) {
        write::list(value.iter(), out, F::write);
    }
}

/// Milliseconds since the epoch as seconds with a fraction.
#[derive(Debug)]
pub struct Seconds;

impl Form<u64> for Seconds {
    const SHAPE: Shape = Shape::Long;

    fn read(json: Json<'_>, _: Sender) -> Result<Option<u64>, WireError> {
        Ok(shape::time_ms(json))
    }

    fn write(value: &u64, out: &mut Vec<u8>) {
        // Exact: the milliseconds of any realistic date are far below 2^53.
        write::double(*value as f64 / 1000.0, out);
    }
}

/// Declares forms that are written as their type's own, and read otherwise or under other rules.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident of $kind:ty, $shape:expr, $rules:expr, $read:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $form;

            impl Form<$kind> for $form {
                const SHAPE: Shape = $shape;
                const RULES: &'static [Rule] = $rules;

                fn read(json: Json<'_>, sender: Sender) -> Result<Option<$kind>, WireError> {
                    let read: fn(Json<'_>, Sender) -> Result<Option<$kind>, WireError> = $read;
                    read(json, sender)
                }

                fn write(value: &$kind, out: &mut Vec<u8>) {
                    value.write(out);
                }
            }
        )*
    };
}
pub(super) use forms;

forms! {
    /// The name of a key attribute, or of one that an index projects.
    AttributeName of String, Shape::String, &[Rule::LengthMin(1), Rule::LengthMax(KEY_NAME_CHARS_MAX)], Plain::read;
    /// A plain name, no ARN.
    Name of String, Shape::String, names::NAME_RULES, Plain::read;
}

impl Form<TableName> for Name {
    const SHAPE: Shape = Shape::String;
    const RULES: &'static [Rule] = names::NAME_RULES;

    fn read(json: Json<'_>, _: Sender) -> Result<Option<TableName>, WireError> {
        json.as_str().map(names::plain_table).transpose()
    }

    fn write(value: &TableName, out: &mut Vec<u8>) {
        value.write(out);
    }
}

/// An enum value without a constraint; an unknown one counts as absent.
#[derive(Debug)]
pub struct LenientEnum;

impl<T: ApiEnum> Form<T> for LenientEnum {
    const SHAPE: Shape = Shape::String;

    fn read(json: Json<'_>, _: Sender) -> Result<Option<T>, WireError> {
        Ok(json.as_str().and_then(T::parse))
    }

    fn write(value: &T, out: &mut Vec<u8>) {
        write::string(value.as_str(), out);
    }
}

/// Declares forms that are true for one word; an unknown word counts as another.
macro_rules! flag_forms {
    ($($form:ident: $word:literal of $words:expr;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Form<bool> for $form {
                const SHAPE: Shape = Shape::String;
                const RULES: &'static [Rule] = &[Rule::OneOf(&$words)];

                fn read(json: Json<'_>, _: Sender) -> Result<Option<bool>, WireError> {
                    Ok(json.as_str().map(|word| word == $word))
                }

                fn write(_: &bool, out: &mut Vec<u8>) {
                    write::string($word, out);
                }
            }
        )*
    };
}

flag_forms! {
    AllOld: "ALL_OLD" of ["ALL_OLD", "NONE"];
    Size: "SIZE" of ["SIZE", "NONE"];
    Enable: "ENABLE" of ["ENABLE", "DISABLE"];
}
