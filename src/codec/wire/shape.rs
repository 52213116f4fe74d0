//! The schema of requests as data: the names, types and constraints of the API's members, in the
//! service's order.
//!
//! One table per operation drives both walks over a request: [`super::json_type`] first,
//! [`super::constraint`] second. A request that passed both has every member either absent or of
//! its type, so [`Members`] reads it without further errors.
//!
//! These are tables and not derived readers: derived readers report the first fault in the order
//! sent and in words of their own. The service goes through its model's members in the model's
//! order, once for types and once for constraints, and clients match on its texts.

use crate::codec::json::document::{Json, JsonKind, JsonList, JsonObject};
use crate::model::ApiEnum;

/// The type of a member.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    String,
    Boolean,
    Integer,
    Long,
    Blob,
    List(&'static Element),
    Map(&'static Element),
    Structure(&'static Structure),
}

/// The element of a list or map.
#[derive(Debug)]
pub struct Element {
    pub shape: Shape,
    pub rules: &'static [Rule],
}

/// A structure; its name appears in type errors.
#[derive(Debug)]
pub struct Structure {
    pub name: &'static str,
    pub members: &'static [Member],
}

/// A member of a structure or request.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub name: &'static str,
    pub shape: Shape,
    pub required: bool,
    pub rules: &'static [Rule],
}

/// A constraint on a member that is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// `[a-zA-Z0-9_.-]+`, the only pattern of these operations.
    NamePattern,
    OneOf(&'static [&'static str]),
    LengthMin(usize),
    LengthMax(usize),
    ValueMin(i64),
    ValueMax(i64),
    /// The size of each list in a map.
    MapListLength(usize, usize),
    /// The keys of a map are names or ARNs of tables.
    MapTableNames,
}

impl Member {
    /// Returns an optional member without constraints.
    pub const fn new(name: &'static str, shape: Shape) -> Self {
        Self {
            name,
            shape,
            required: false,
            rules: &[],
        }
    }

    /// Returns the same member, required.
    pub const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    /// Returns the same member with constraints.
    pub const fn rules(self, rules: &'static [Rule]) -> Self {
        Self { rules, ..self }
    }
}

/// The members of a JSON object that passed the type walk; `null` members are absent.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a>(JsonObject<'a>);

impl<'a> Members<'a> {
    /// Returns the members of `json`, if it is an object.
    pub fn of(json: Json<'a>) -> Option<Self> {
        json.as_object().map(Self)
    }

    pub fn get(self, name: &str) -> Option<Json<'a>> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn string(self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Json::as_str)
    }

    /// Returns a value of an API enum; `None` also for an unknown word.
    pub fn word<T: ApiEnum>(self, name: &str) -> Option<T> {
        self.string(name).and_then(T::parse)
    }

    pub fn owned(self, name: &str) -> Option<String> {
        self.string(name).map(str::to_owned)
    }

    pub fn boolean(self, name: &str) -> Option<bool> {
        self.get(name).and_then(boolean)
    }

    pub fn integer(self, name: &str) -> Option<i64> {
        self.get(name).and_then(integer)
    }

    /// Returns an `Integer` member with a minimum of 0 or more. The wire's integers are 32 bits;
    /// larger ones saturate.
    pub fn count(self, name: &str) -> Option<u32> {
        let value = self.integer(name)?.min(i64::from(i32::MAX));
        u32::try_from(value).ok()
    }

    /// Returns a timestamp of seconds as milliseconds since the epoch.
    pub fn time_ms(self, name: &str) -> Option<u64> {
        self.get(name).and_then(time_ms)
    }

    pub fn list(self, name: &str) -> Option<JsonList<'a>> {
        self.get(name).and_then(Json::as_list)
    }

    pub fn structure(self, name: &str) -> Option<Members<'a>> {
        self.get(name).and_then(Self::of)
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the members in the order sent.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Json<'a>)> {
        self.0.iter()
    }
}

/// Returns a JSON boolean, or one of the words that the service takes for one.
pub fn boolean(json: Json<'_>) -> Option<bool> {
    match json.kind() {
        JsonKind::Bool(value) => Some(value),
        JsonKind::String(text) => boolean_word(text),
        _ => None,
    }
}

/// Parses the words that the service takes for a boolean.
pub fn boolean_word(text: &str) -> Option<bool> {
    match text.to_ascii_uppercase().as_str() {
        "TRUE" | "1" | "YES" => Some(true),
        "FALSE" | "0" | "NO" => Some(false),
        _ => None,
    }
}

/// Converts a JSON number of seconds to milliseconds.
pub fn time_ms(json: Json<'_>) -> Option<u64> {
    let seconds = json.as_f64()?;
    // `as` saturates here, which is the rule wanted; a JSON number is never NaN.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some((seconds * 1000.0).round() as u64)
}

/// Returns a JSON number as a whole number.
pub fn integer(json: Json<'_>) -> Option<i64> {
    whole(&json.as_number()?)
}

/// Converts to a whole number: truncates a fraction toward zero and saturates.
pub fn whole(number: &serde_json::Number) -> Option<i64> {
    if let Some(value) = number.as_i64() {
        return Some(value);
    }
    // `as` saturates here, which is the rule wanted; a JSON number is never NaN.
    #[allow(clippy::cast_possible_truncation)]
    number.as_f64().map(|value| value.trunc() as i64)
}
