//! `items.csv`: a header and a record an item, quoted by RFC 4180. Lines end in a newline alone, as
//! in other Unix programs.
//!
//! The columns are the paths of `select=`, in their order. Without it they are the key attributes
//! and then, by name, every attribute that any of the items has, for which the query runs once
//! before. An attribute that a writer adds between the two runs is left out: a record always has as
//! many fields as the header.
//!
//! | value | field |
//! |---|---|
//! | none | empty |
//! | S | the text; the empty text is `""` |
//! | N, BOOL, NULL | `12`, `true`, `null` |
//! | B | base64 |
//! | sets, lists, maps | plain JSON |
//!
//! Below `typed` every field is the value's DynamoDB JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use std::{cell::RefCell, collections::BTreeSet};

use super::{
    clause_fault::ClauseFault,
    query_path::{QueryPath, TYPED},
    spelling::show_path,
};
use crate::codec::{dynamodb_json, record::ResultRow};
use crate::expr::ProjectionPaths;
use crate::fs::prelude::*;

/// The maximum number of columns of a header that is made from the items.
const COLUMNS_MAX: usize = 10_000;

/// Names of attributes, gathered from items.
pub(super) type ColumnNames = BTreeSet<String>;

/// The columns of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    paths: Vec<DocumentPath>,
    /// The top-level attributes that the columns are in.
    heads: BTreeSet<String>,
    typed: bool,
}

impl Columns {
    /// Returns the columns of `select=`.
    pub fn selected(path: &QueryPath) -> Option<Self> {
        Some(Self::new(
            path.clauses.select.clone()?,
            path.clauses.has(TYPED),
        ))
    }

    fn new(paths: Vec<DocumentPath>, typed: bool) -> Self {
        Self {
            heads: paths.iter().map(|path| path.head.clone()).collect(),
            paths,
            typed,
        }
    }

    /// Returns the columns of the items' attributes, key attributes first.
    pub fn of_names(path: &QueryPath, mut names: ColumnNames) -> Self {
        let keys: Vec<String> = path
            .context()
            .cursor_attributes()
            .iter()
            .map(|key| key.name.clone())
            .collect();
        names.retain(|name| !keys.contains(name));
        Self::new(
            keys.into_iter()
                .chain(names)
                .map(DocumentPath::top_level)
                .collect(),
            path.clauses.has(TYPED),
        )
    }

    /// Returns the projection to the top-level attributes that the columns are in.
    pub fn projection(&self) -> ProjectionPaths {
        ProjectionPaths::from_attributes(self.heads.iter().map(DocumentPath::top_level).collect())
    }

    pub fn write_header(&self, out: &mut Vec<u8>) {
        self.write_record(self.paths.iter().map(|path| Some(show_path(path))), out);
    }

    pub fn write_row(&self, row: &ResultRow<'_>, out: &mut Vec<u8>) -> Result<(), FsError> {
        let owned: Item;
        let item = match row {
            ResultRow::Record(record) => {
                owned = record
                    .attributes(&|name| self.heads.contains(name))
                    .map_err(Error::from)?;
                &owned
            }
            ResultRow::Item(item) => *item,
        };
        self.write_record(
            self.paths
                .iter()
                .map(|path| path.resolve_in(item).map(|value| self.field(value))),
            out,
        );
        Ok(())
    }

    fn field(&self, value: &AttributeValue) -> String {
        if self.typed {
            let mut text = Vec::new();
            dynamodb_json::write_value(value, &mut text);
            return String::from_utf8_lossy(&text).into_owned();
        }
        match value {
            AttributeValue::S(text) => text.clone(),
            AttributeValue::B(bytes) => BASE64.encode(bytes),
            other => plain_json::value(other),
        }
    }

    fn write_record(&self, fields: impl Iterator<Item = Option<String>>, out: &mut Vec<u8>) {
        for (number, field) in fields.enumerate() {
            if number > 0 {
                out.push(b',');
            }
            if let Some(field) = field {
                write_field(&field, out);
            }
        }
        out.push(b'\n');
    }
}

/// Writes a field, in quotes where a reader could misread it: an empty text differs from an absent
/// one.
fn write_field(field: &str, out: &mut Vec<u8>) {
    let is_bare =
        !field.is_empty() && !field.contains([',', '"', '\n', '\r']) && field.trim() == field;
    if is_bare {
        out.extend_from_slice(field.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(field.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// Adds the names of a row's attributes.
pub(super) fn collect_names(row: &ResultRow<'_>, names: &mut ColumnNames) -> Result<(), FsError> {
    match row {
        ResultRow::Item(item) => names.extend(item.0.keys().cloned()),
        ResultRow::Record(record) => {
            let found = RefCell::new(names);
            let look = |name: &str| {
                if !found.borrow().contains(name) {
                    found.borrow_mut().insert(name.to_owned());
                }
                false
            };
            record.attributes(&look).map_err(Error::from)?;
            return check_count(found.into_inner());
        }
    }
    check_count(names)
}

fn check_count(names: &ColumnNames) -> Result<(), FsError> {
    if names.len() <= COLUMNS_MAX {
        return Ok(());
    }
    let message = format!("the items have more than {COLUMNS_MAX} attributes, too many columns");
    Err(ClauseFault::new(message, "name the columns: select=a,b.c/items.csv").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::plain_json;

    fn check(json: &str, select: &[&str], typed: bool, expected: &str) {
        let item = plain_json::parse(json.as_bytes()).expect("JSON");
        let paths = select
            .iter()
            .map(|path| super::super::spelling::document_path(path).expect("a path"))
            .collect();
        let columns = Columns::new(paths, typed);
        let mut out = Vec::new();
        columns.write_header(&mut out);
        columns
            .write_row(&ResultRow::Item(&item), &mut out)
            .expect("a row");
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn fields_follow_rfc_4180() {
        check(
            r#"{"a":"x","b":12}"#,
            &["a", "b", "c"],
            false,
            "a,b,c\nx,12,\n",
        );
        check(
            r#"{"a":"x,y","b":"say \"hi\""}"#,
            &["a", "b"],
            false,
            "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n",
        );
        check(
            r#"{"a":"two\nlines","b":" "}"#,
            &["a", "b"],
            false,
            "a,b\n\"two\nlines\",\" \"\n",
        );
        check(
            r#"{"a":"","b":null}"#,
            &["a", "b"],
            false,
            "a,b\n\"\",null\n",
        );
        check(
            r#"{"a":true,"b":{"$b64":"AAE="}}"#,
            &["a", "b"],
            false,
            "a,b\ntrue,AAE=\n",
        );
        check(
            r#"{"a":[1,"x"],"b":{"c":1}}"#,
            &["a", "b"],
            false,
            "a,b\n\"[1,\"\"x\"\"]\",\"{\"\"c\"\":1}\"\n",
        );
        check(
            r#"{"a":[1,"x"],"b":{"c":1}}"#,
            &["a[1]", "b.c"],
            false,
            "a[1],b.c\nx,1\n",
        );
        check(r#"{"a,b":"x"}"#, &["a%2Cb"], false, "\"a,b\"\nx\n");
        check(
            r#"{"a":1,"b":{"$ss":["x"]}}"#,
            &["a", "b"],
            true,
            "a,b\n\"{\"\"N\"\":\"\"1\"\"}\",\"{\"\"SS\"\":[\"\"x\"\"]}\"\n",
        );
    }
}
