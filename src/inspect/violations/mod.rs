//! Key violations: items that an index cannot hold, because a key attribute has another type, is
//! too long, or is empty.
//!
//! A new index leaves these items out, and once it exists every write of such an item is refused.
//! They are found and corrected as with the service's Violation Detector: detect writes a CSV table
//! (RFC 4180), a person fills in new values, correct reads it.
//!
//! ```text
//! Table Hash Key, [Table Range Key,]
//!   for each key attribute of the index, `Hash` or `Range`:
//!     GSI Hash Key Value, GSI Hash Key Violation Type, GSI Hash Key Violation Description, GSI Hash Key Update Value(FOR USER),
//! Delete Blank Attributes When Updating?(Y/N)
//! ```
//! The names are the Violation Detector's. The second and later attributes of a part are called
//! `Hash Key 2` and so on. A string is written unchanged, a number by its digits, a binary in
//! base64, any other value as DynamoDB JSON.

pub mod correction;

use std::fmt;
use std::io::{Read, Write};

use csv::StringRecord;

use crate::codec::item_files::rows::{cell, value};
use crate::model::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::schema::{KeyAttributeType, KeyType};
use crate::model::{
    AttributeType, AttributeValue, IndexSchema, Item, Key, KeyAttribute, KeySchema,
};

/// The key attributes of an existing or planned index: HASH first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexKey {
    pub attributes: Vec<(KeyType, KeyAttribute)>,
}

impl From<&IndexSchema> for IndexKey {
    fn from(index: &IndexSchema) -> Self {
        let part = |key_type, attributes: &[KeyAttribute]| -> Vec<_> {
            attributes
                .iter()
                .map(|attribute| (key_type, attribute.clone()))
                .collect()
        };
        let mut attributes = part(KeyType::Hash, &index.partition);
        attributes.extend(part(KeyType::Range, &index.sort));
        Self { attributes }
    }
}

/// The reason for which a value cannot be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyValueFault {
    Type {
        expected: AttributeType,
        found: AttributeType,
    },
    /// In bytes.
    Size {
        max: usize,
        found: usize,
    },
    Empty,
}

impl KeyValueFault {
    /// Returns the text of the CSV's type column.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Type { .. } => "Type Violation",
            Self::Size { .. } => "Size Violation",
            Self::Empty => "Empty Violation",
        }
    }
}

/// Formats the description in the CSV.
impl fmt::Display for KeyValueFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, found } => write!(f, "Expected: {expected} Found: {found}"),
            Self::Size { max, found } => write!(f, "Max Bytes Allowed: {max} Found: {found}"),
            Self::Empty => f.write_str("Expected: at least 1 byte Found: 0"),
        }
    }
}

/// Returns the fault of a value as this key attribute of an index, if any (docs/dynamodb.md 9.4).
#[must_use]
pub fn key_fault(
    key_type: KeyType,
    attribute: &KeyAttribute,
    value: &AttributeValue,
) -> Option<KeyValueFault> {
    let (expected, found) = (
        attribute.attribute_type.as_attribute_type(),
        value.attribute_type(),
    );
    if expected != found {
        return Some(KeyValueFault::Type { expected, found });
    }
    let max = match key_type {
        KeyType::Hash => PARTITION_KEY_BYTES_MAX,
        KeyType::Range => SORT_KEY_BYTES_MAX,
    };
    match value.size() {
        0 => Some(KeyValueFault::Empty),
        bytes if bytes > max => Some(KeyValueFault::Size { max, found: bytes }),
        _ => None,
    }
}

/// An item that the index cannot hold.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexViolation {
    /// The key of the item.
    pub key: Key,
    /// For each attribute of [`IndexKey`], in its order: its value and fault, if it has one.
    pub parts: Vec<Option<(AttributeValue, KeyValueFault)>>,
}

/// Returns the violation that keeps `item` out of the index, if any. A missing attribute is none:
/// the index is sparse.
#[must_use]
pub fn find_violation(index: &IndexKey, key: Key, item: &Item) -> Option<IndexViolation> {
    let part = |(key_type, attribute): &(KeyType, KeyAttribute)| {
        let value = item.get(&attribute.name)?;
        key_fault(*key_type, attribute, value).map(|fault| (value.clone(), fault))
    };
    let parts: Vec<_> = index.attributes.iter().map(part).collect();
    parts
        .iter()
        .any(Option::is_some)
        .then_some(IndexViolation { key, parts })
}

const TABLE_HASH: &str = "Table Hash Key";
const TABLE_RANGE: &str = "Table Range Key";
const DELETE_BLANK: &str = "Delete Blank Attributes When Updating?(Y/N)";

/// Returns the columns of each index key attribute: value, type and description of a violation, and
/// the new value.
fn columns(index: &IndexKey) -> Vec<[String; 4]> {
    let (mut hashes, mut ranges) = (0, 0);
    let of = |(key_type, _): &(KeyType, KeyAttribute)| {
        let (word, count) = match key_type {
            KeyType::Hash => ("Hash", &mut hashes),
            KeyType::Range => ("Range", &mut ranges),
        };
        *count += 1;
        let name = if *count == 1 {
            format!("GSI {word} Key")
        } else {
            format!("GSI {word} Key {count}")
        };
        [
            "Value",
            "Violation Type",
            "Violation Description",
            "Update Value(FOR USER)",
        ]
        .map(|what| format!("{name} {what}"))
    };
    index.attributes.iter().map(of).collect()
}

/// A writer of the table.
#[derive(Debug)]
pub struct TableWriter<W: Write> {
    csv: csv::Writer<W>,
}

impl<W: Write> TableWriter<W> {
    /// Writes the head; fails if `out` does.
    pub fn new(out: W, schema: &KeySchema, index: &IndexKey) -> Result<Self, csv::Error> {
        let mut csv = csv::Writer::from_writer(out);
        let mut head = vec![TABLE_HASH.to_owned()];
        head.extend(schema.sort.is_some().then(|| TABLE_RANGE.to_owned()));
        head.extend(columns(index).into_iter().flatten());
        head.push(DELETE_BLANK.to_owned());
        csv.write_record(head)?;
        Ok(Self { csv })
    }

    /// Writes a row with empty cells for the user; fails if the output does.
    pub fn row(&mut self, violation: &IndexViolation) -> Result<(), csv::Error> {
        let mut row = vec![cell(&violation.key.partition)];
        row.extend(violation.key.sort.as_ref().map(cell));
        for part in &violation.parts {
            let (value, kind, description) = match part {
                Some((value, fault)) => (cell(value), fault.kind().to_owned(), fault.to_string()),
                None => Default::default(),
            };
            row.extend([value, kind, description, String::new()]);
        }
        row.push(String::new());
        self.csv.write_record(row)
    }

    /// Flushes the output; fails if the output does.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.csv.flush()
    }
}

/// The change that a row requests for one key attribute of the index.
#[derive(Debug, Clone, PartialEq)]
pub enum Correction {
    Leave,
    Remove,
    Set(AttributeValue),
}

/// A filled-in row.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrectionRow {
    pub key: Key,
    /// One for each attribute of [`IndexKey`].
    pub changes: Vec<Correction>,
}

/// A row as read, and its content or the reason for which it has none.
type ReadRow = (StringRecord, Result<CorrectionRow, String>);

/// Reads a table: its head, then its rows.
///
/// # Errors
/// Fails with a sentence if the head is not that of a table of violations of this index, or if the
/// file cannot be read.
pub fn read<R: Read>(
    input: R,
    schema: &KeySchema,
    index: &IndexKey,
) -> Result<(StringRecord, impl Iterator<Item = ReadRow>), String> {
    // The last cells are the user's, and a row may come back without them.
    let mut csv = csv::ReaderBuilder::new().flexible(true).from_reader(input);
    let head = csv.headers().map_err(|error| error.to_string())?.clone();
    let at = |name: &str| {
        head.iter().position(|column| column.trim() == name).ok_or_else(|| {
            format!("the table has no column {name:?}; give the file that was written for this table and index, filled in")
        })
    };
    let hash = (at(TABLE_HASH)?, schema.partition.attribute_type);
    let range = match &schema.sort {
        Some(attribute) => Some((at(TABLE_RANGE)?, attribute.attribute_type)),
        None => None,
    };
    let blank = at(DELETE_BLANK)?;
    let updates = columns(index)
        .iter()
        .map(|[.., update]| at(update))
        .collect::<Result<Vec<_>, _>>()?;
    let types: Vec<(usize, KeyType, KeyAttribute)> = updates
        .into_iter()
        .zip(&index.attributes)
        .map(|(column, (key_type, attribute))| (column, *key_type, attribute.clone()))
        .collect();
    let rows = csv.into_records().map(move |record| match record {
        Ok(record) => {
            let row = parse(&record, hash, range, blank, &types);
            (record, row)
        }
        Err(error) => (StringRecord::new(), Err(error.to_string())),
    });
    Ok((head, rows))
}

type KeyColumn = (usize, KeyAttributeType);

fn parse(
    record: &StringRecord,
    hash: KeyColumn,
    range: Option<KeyColumn>,
    blank: usize,
    updates: &[(usize, KeyType, KeyAttribute)],
) -> Result<CorrectionRow, String> {
    let get = |column: usize| record.get(column).unwrap_or_default();
    let partition = value(get(hash.0), hash.1)?;
    let sort = range
        .map(|(column, attribute_type)| value(get(column), attribute_type))
        .transpose()?;
    let removes = get(blank).trim().eq_ignore_ascii_case("y");
    let change = |(column, key_type, attribute): &(usize, KeyType, KeyAttribute)| match get(*column)
    {
        "" if removes => Ok(Correction::Remove),
        "" => Ok(Correction::Leave),
        text => {
            let value = value(text, attribute.attribute_type)?;
            match key_fault(*key_type, attribute, &value) {
                Some(fault) => Err(format!(
                    "the new value of {} does not fit either: {fault}",
                    attribute.name
                )),
                None => Ok(Correction::Set(value)),
            }
        }
    };
    let changes = updates.iter().map(change).collect::<Result<_, _>>()?;
    Ok(CorrectionRow {
        key: Key { partition, sort },
        changes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::KeyAttributeType;

    #[test]
    fn faults_of_values() {
        let check = |key_type, attribute_type, value: AttributeValue, expected: Option<&str>| {
            let attribute = KeyAttribute {
                name: "a".to_owned(),
                attribute_type,
            };
            let found = key_fault(key_type, &attribute, &value)
                .map(|fault| format!("{}: {fault}", fault.kind()));
            assert_eq!(found.as_deref(), expected, "{value:?}");
        };
        let s = |text: &str| AttributeValue::S(text.to_owned());
        check(KeyType::Hash, KeyAttributeType::S, s("x"), None);
        check(
            KeyType::Hash,
            KeyAttributeType::N,
            s("Hello"),
            Some("Type Violation: Expected: N Found: S"),
        );
        check(
            KeyType::Hash,
            KeyAttributeType::S,
            AttributeValue::Null,
            Some("Type Violation: Expected: S Found: NULL"),
        );
        check(
            KeyType::Hash,
            KeyAttributeType::S,
            s(""),
            Some("Empty Violation: Expected: at least 1 byte Found: 0"),
        );
        check(
            KeyType::Hash,
            KeyAttributeType::S,
            s(&"x".repeat(2048)),
            None,
        );
        check(
            KeyType::Range,
            KeyAttributeType::S,
            s(&"x".repeat(1024)),
            None,
        );
        let long = s(&"x".repeat(1025));
        check(
            KeyType::Range,
            KeyAttributeType::S,
            long,
            Some("Size Violation: Max Bytes Allowed: 1024 Found: 1025"),
        );
        let bytes = AttributeValue::B(vec![7; 2049]);
        check(
            KeyType::Hash,
            KeyAttributeType::B,
            bytes,
            Some("Size Violation: Max Bytes Allowed: 2048 Found: 2049"),
        );
        check(
            KeyType::Hash,
            KeyAttributeType::N,
            AttributeValue::N("0".parse().unwrap()),
            None,
        );
    }
}
