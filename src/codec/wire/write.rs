//! A streaming JSON writer of responses and requests: JSON text into bytes, without a tree in
//! between. [`Context`] has the request's parameters on which a response depends.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::codec::dynamodb_json::write_item;
use crate::codec::json::document::Json;
use crate::model::api::{ConsumedCapacity, ReturnConsumedCapacity};
use crate::model::{ApiEnum, Item, TableName, arn};

/// The request parameters that shape its response's body. It is kept apart, as the operation
/// consumes its request.
#[derive(Debug, Clone)]
pub struct Context {
    /// The tables as the request named them, by their ARNs if these were sent (docs/dynamodb.md
    /// 10.4).
    pub table_names: Vec<String>,
    pub detail: ReturnConsumedCapacity,
    /// The region and account in the ARNs of another service, see [`arn::table_prefix`]; empty for
    /// our own.
    pub home: String,
    /// Counts the units of the response, whether or not the request asks for them.
    pub units: UnitCounter,
}

/// A counter of consumed units, shared by all its clones; by default it counts nothing.
#[derive(Debug, Clone, Default)]
pub struct UnitCounter(Option<Arc<Mutex<f64>>>);

impl UnitCounter {
    const NONE: Self = Self(None);

    #[must_use]
    pub fn counting() -> Self {
        Self(Some(Arc::default()))
    }

    /// Adds what a response says that its request consumed.
    pub fn add(&self, consumed: &ConsumedCapacity) {
        if let Some(sum) = &self.0 {
            *sum.lock() += consumed.total();
        }
    }

    /// Returns the units counted; `None` if there were none, as of a request that failed.
    #[must_use]
    pub fn sum(&self) -> Option<f64> {
        self.0
            .as_ref()
            .map(|sum| *sum.lock())
            .filter(|sum| *sum > 0.0)
    }
}

impl Context {
    /// The context of a request without such parameters.
    pub const PLAIN: Self = Self {
        table_names: Vec::new(),
        detail: ReturnConsumedCapacity::None,
        home: String::new(),
        units: UnitCounter::NONE,
    };

    /// Returns the context of the response to a request.
    #[must_use]
    pub fn of(json: Json<'_>) -> Self {
        let detail = json.get("ReturnConsumedCapacity").and_then(Json::as_str);
        let detail = detail
            .and_then(ReturnConsumedCapacity::parse)
            .unwrap_or_default();
        Self {
            table_names: requested_tables(json),
            detail,
            ..Self::PLAIN
        }
    }

    /// Returns the context of the response to an operation on one table.
    #[must_use]
    pub fn of_table(table: impl Into<String>, detail: ReturnConsumedCapacity) -> Self {
        Self {
            table_names: vec![table.into()],
            detail,
            ..Self::PLAIN
        }
    }

    /// Returns the same context with a counter of units.
    #[must_use]
    pub fn with_units(self, units: &UnitCounter) -> Self {
        Self {
            units: units.clone(),
            ..self
        }
    }

    /// Returns a table as the request named it.
    #[must_use]
    pub fn requested_name<'n>(&'n self, table: &'n TableName) -> &'n str {
        let is_it = |sent: &&String| {
            *sent == table.as_str() || arn::parse_table(sent).is_ok_and(|named| named == *table)
        };
        self.table_names
            .iter()
            .find(is_it)
            .map_or(table.as_str(), String::as_str)
    }
}

/// Returns the tables that a request names, as it names them.
fn requested_tables(json: Json<'_>) -> Vec<String> {
    if let Some(table) = json.get("TableName").and_then(Json::as_str) {
        return vec![table.to_owned()];
    }
    if let Some(tables) = json.get("RequestItems").and_then(Json::as_object) {
        return tables.keys().map(str::to_owned).collect();
    }
    let actions = json
        .get("TransactItems")
        .and_then(Json::as_list)
        .unwrap_or_default();
    let members = actions
        .filter_map(Json::as_object)
        .flat_map(|action| action.values());
    let names = members.filter_map(|member| member.get("TableName")?.as_str());
    // The response itself has the plain names.
    names
        .filter(|name| name.contains(':'))
        .map(str::to_owned)
        .collect()
}

/// A writer of the members of one object.
#[derive(Debug)]
pub struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
    pub context: &'a Context,
}

impl<'a> ObjectWriter<'a> {
    /// Opens an object.
    pub fn start(out: &'a mut Vec<u8>) -> Self {
        static PLAIN: Context = Context::PLAIN;
        Self::start_in(&PLAIN, out)
    }

    /// Opens an object with the context of a body.
    pub fn start_in(context: &'a Context, out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self {
            out,
            is_empty: true,
            context,
        }
    }

    /// Continues an object that `out` already has, up to and including the comma before this part.
    pub fn resume_in(context: &'a Context, out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            is_empty: true,
            context,
        }
    }

    /// Writes a member's name; returns the buffer for its value.
    pub fn member(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        string(name, self.out);
        self.out.push(b':');
        self.out
    }

    pub fn text(&mut self, name: &str, text: impl AsRef<str>) {
        string(text.as_ref(), self.member(name));
    }

    pub fn text_if(&mut self, name: &str, text: Option<impl AsRef<str>>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    pub fn item(&mut self, name: &str, item: &Item) {
        write_item(item, self.member(name));
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// Builds a tree of members; those without a value are left out.
macro_rules! object {
    ($($name:literal: $value:expr),* $(,)?) => {{
        let mut members = serde_json::Map::new();
        $($crate::codec::wire::write::add(&mut members, $name, &$value);)*
        serde_json::Value::Object(members)
    }};
}
pub(super) use object;

/// Adds a member to a tree, if there is a value.
pub fn add(members: &mut Map<String, Value>, name: &str, value: &impl Serialize) {
    let value = serde_json::to_value(value);
    debug_assert!(value.is_ok(), "{name} is a text, number or tree");
    if let Some(value) = value.ok().filter(|value| !value.is_null()) {
        members.insert(name.to_owned(), value);
    }
}

/// Appends a JSON array.
pub fn list<T>(
    values: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (position, value) in values.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}

/// Appends a JSON string with its quotes.
pub fn string(text: &str, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail, and every text is a JSON string.
    let _ = serde_json::to_writer(&mut *out, text);
}

/// Appends a whole number.
pub fn whole(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}

/// Appends a double as the service writes them: `0.5`, `1.0`.
pub fn double(value: f64, out: &mut Vec<u8>) {
    // `Debug` keeps the point that `Display` leaves out.
    out.extend_from_slice(format!("{value:?}").as_bytes());
}
