//! The subjects of the examples in a help text: a table of the mount, its first item, an index with
//! an entry, and free names. With no tables the examples make one first.
//!
//! A text has `{t}items/{item}.json` in its blocks of `sh`; a line about something that the table
//! lacks is left out. The search takes a read or two a table, and no capacity is counted. A comment
//! after two blanks is aligned to one column.

use std::{collections::HashSet, fmt::Write as _};

use crate::codec::{dynamodb_json, file_name, sanitize};
use crate::fs::{open::prelude::*, query::first_entry};
use crate::inspect::advice::incomplete_note;
use crate::model::{IndexName, KeySchema, Number, api::TableStatus};

/// The most tables that are read for the best example.
const TABLES_READ_MAX: usize = 32;

/// Returns a help text with its placeholders filled, for the file at `path` in a directory of
/// `source`, if it belongs to one.
///
/// # Errors
/// Errors of the database.
pub fn render(
    mount: &Mount,
    path: &str,
    source: Option<&SourceName>,
    text: &str,
) -> Result<Vec<u8>> {
    let example = HelpExample::choose(mount, source)?;
    let depth = path.matches('/').count();
    let values = example.values(mount, source.map(|_| depth))?;
    let tables = source.map_or_else(
        || mount.db.table_names(),
        |source| Ok(vec![source.table.clone()]),
    )?;
    let mut out = String::new();
    for table in tables {
        out += &incomplete_note(&mount.db.incomplete_pull(&table)?);
    }
    Ok((out + &fill(text, &values)).into_bytes())
}

/// An index and an entry of it.
#[derive(Debug)]
struct IndexExample {
    /// The path below the table: `gsi/by-status`.
    path: String,
    kind: IndexKind,
    partition_names: Vec<String>,
    entry: EntryKey,
}

#[derive(Debug)]
struct HelpExample {
    table: TableName,
    key: KeySchema,
    /// `None` if the mount has no table.
    schema: Option<std::sync::Arc<TableSchema>>,
    item: Option<Key>,
    index: Option<IndexExample>,
}

impl HelpExample {
    /// Returns an example of the table that the directory belongs to, else of the one that shows
    /// most.
    fn choose(mount: &Mount, source: Option<&SourceName>) -> Result<Self, FsError> {
        if let Some(source) = source {
            return Self::from_table(mount, &source.table, source.index.as_ref());
        }
        let mut best: Option<Self> = None;
        for table in mount.db.table_names()?.iter().take(TABLES_READ_MAX) {
            if best.as_ref().is_some_and(|best| best.rank() == [true; 3]) {
                // No table shows more.
                break;
            }
            match Self::from_table(mount, table, None) {
                Ok(example)
                    if best
                        .as_ref()
                        .is_none_or(|best| example.rank() > best.rank()) =>
                {
                    best = Some(example)
                }
                // A table that was deleted meanwhile is no example.
                Ok(_) | Err(FsError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        best.map_or_else(|| Self::empty(mount), Ok)
    }

    fn from_table(mount: &Mount, table: &TableName, own_index: Option<&IndexName>) -> Result<Self> {
        let schema = mount.schema(table)?;
        let source = SourceName::from(table);
        let item = first_entry(&*mount.db, &source)?.map(|entry| entry.base);
        let index = first_index(mount, &schema, own_index)?;
        Ok(Self {
            table: table.clone(),
            key: schema.key.clone(),
            schema: Some(schema),
            item,
            index,
        })
    }

    /// Returns the example of a mount without tables: the text makes one first.
    fn empty(mount: &Mount) -> Result<Self, FsError> {
        let attribute = |name: &str| KeyAttribute {
            name: name.to_owned(),
            attribute_type: KeyAttributeType::S,
        };
        let key = KeySchema {
            partition: attribute("pk"),
            sort: Some(attribute("sk")),
        };
        Ok(Self {
            table: free_table(mount, "Orders")?,
            key,
            schema: None,
            item: None,
            index: None,
        })
    }

    /// Returns the features that the example can show, in the order of their importance.
    fn rank(&self) -> [bool; 3] {
        [
            self.item.is_some(),
            self.key.sort.is_some(),
            self.index.is_some(),
        ]
    }

    /// Returns the values of all placeholders, for a text in the mount's root or at that depth in
    /// the table's directory.
    fn values(&self, mount: &Mount, depth: Option<usize>) -> Result<PlaceholderValues, FsError> {
        let directory = table_name(&self.table);
        let from_root = if directory.starts_with('-') {
            format!("./{directory}/")
        } else {
            format!("{directory}/")
        };
        let t = depth.map_or(from_root, |depth| "../".repeat(depth.saturating_sub(1)));
        let item = self.item.clone().unwrap_or_else(|| sample_key(&self.key));
        let free = self.free_key(mount, &item)?;
        let note = self.free_attribute();
        let has_sort = self.key.sort.is_some();
        let index = self.index.as_ref();
        Ok(vec![
            ("make", self.setup(&t, &item, note)),
            ("name", Some(self.table.to_string())),
            ("fresh", Some(free_table(mount, "Example")?.to_string())),
            ("item", Some(stem(&item))),
            ("free", Some(stem(&free))),
            (
                "folder",
                has_sort.then(|| file_name::encode(&item.partition)),
            ),
            ("pk", Some(file_name::encode(&item.partition))),
            ("sk", item.sort.as_ref().map(file_name::encode)),
            ("index", index.map(|index| index.path.clone())),
            ("index-query", index.and_then(IndexExample::query)),
            ("index-near", index.and_then(IndexExample::near)),
            ("index-folder", index.and_then(IndexExample::folder)),
            ("note", Some(note.to_owned())),
            ("root", Some("../".repeat(depth.unwrap_or(0)))),
            ("t", Some(t)),
            (
                "key",
                Some(shell_quoted(dynamodb_json_of(&item, &self.key))),
            ),
            (
                "free-key",
                Some(shell_quoted(dynamodb_json_of(&free, &self.key))),
            ),
            (
                "free-line",
                Some(shell_quoted(plain_json_of(&free, &self.key))),
            ),
        ])
    }

    /// Returns the commands that make the missing table and item.
    fn setup(&self, t: &str, item: &Key, note: &str) -> Option<String> {
        if self.item.is_some() {
            return None;
        }
        let mut out = String::new();
        // A write to a String does not fail.
        if self.schema.is_none() {
            let _ = writeln!(
                out,
                "mkdir '{}@pk:S,sk:S'  # a table, with its key attributes",
                self.table
            );
        }
        if self.key.sort.is_some() {
            let _ = writeln!(
                out,
                "mkdir -p {t}items/{}  # the folder of a partition key",
                file_name::encode(&item.partition)
            );
        }
        let _ = write!(
            out,
            "echo '{{\"{note}\":\"the first\"}}' > {t}items/{}.json  # an item",
            stem(item)
        );
        Some(out)
    }

    /// Returns a key next to that of the item which no item has.
    fn free_key(&self, mount: &Mount, item: &Key) -> Result<Key, FsError> {
        let source = SourceName::from(&self.table);
        for number in 1..10 {
            let key = match &self.key.sort {
                Some(sort) => Key {
                    partition: item.partition.clone(),
                    sort: Some(sample(sort, "example", number)),
                },
                None => Key {
                    partition: sample(&self.key.partition, "example", number),
                    sort: None,
                },
            };
            let is_there =
                self.schema.is_some() && mount.db.stat(&source, &key.clone().into())?.is_some();
            if !is_there {
                return Ok(key);
            }
        }
        Ok(item.clone())
    }

    /// Returns the name of an attribute that is in no key.
    fn free_attribute(&self) -> &'static str {
        let taken = self
            .schema
            .as_ref()
            .map(|schema| schema.attribute_definitions())
            .unwrap_or_default();
        let is_free = |name: &&str| taken.iter().all(|attribute| attribute.name != *name);
        ["note", "remark", "comment"]
            .into_iter()
            .find(is_free)
            .unwrap_or("an_attribute")
    }
}

impl IndexExample {
    /// Returns the name of the entry's item in a search, of an index that has searches.
    fn near(&self) -> Option<String> {
        (self.kind == IndexKind::Vector).then(|| stem(&self.entry.base).replace('/', ","))
    }

    /// Returns the clauses of a query for the entry's partition key, of an index that has queries.
    fn query(&self) -> Option<String> {
        if self.kind == IndexKind::Vector {
            return None;
        }
        let values = self.partition();
        Some(match values {
            [value] => format!("@pk={}", file_name::encode(value)),
            _ => {
                let pair = |(name, value): (&String, &AttributeValue)| {
                    format!(
                        "{}={}",
                        file_name::encode(&AttributeValue::S(name.clone())),
                        file_name::encode(value)
                    )
                };
                self.partition_names
                    .iter()
                    .zip(values)
                    .map(pair)
                    .collect::<Vec<_>>()
                    .join("/")
            }
        })
    }

    /// Returns the folder of the entry below `items/`.
    fn folder(&self) -> Option<String> {
        (!self.partition().is_empty()).then(|| names::collection_name(self.partition()))
    }

    fn partition(&self) -> &[AttributeValue] {
        self.entry
            .index
            .as_ref()
            .map_or(&[], |(partition, _)| partition)
    }
}

/// Returns the first index that can be read and has an entry; in an index's own directory only that
/// index counts.
fn first_index(
    mount: &Mount,
    schema: &TableSchema,
    own_index: Option<&IndexName>,
) -> Result<Option<IndexExample>> {
    let described = mount.db.describe(&schema.name)?.ok_or(FsError::NotFound)?;
    for (index, about) in described.schema.indexes.iter().zip(&described.indexes) {
        if own_index.is_some_and(|own_index| *own_index != index.name)
            || about.status != TableStatus::Active
        {
            continue;
        }
        let source = SourceName {
            table: schema.name.clone(),
            index: Some(index.name.clone()),
        };
        let Some(entry) = first_entry(&*mount.db, &source)? else {
            continue;
        };
        let kind = index.kind.name();
        let partition_names = index
            .partition
            .iter()
            .map(|attribute| attribute.name.clone())
            .collect();
        return Ok(Some(IndexExample {
            path: format!("{kind}/{}", index.name),
            kind: index.kind,
            partition_names,
            entry,
        }));
    }
    Ok(None)
}

/// Returns a name that neither a listed table nor a draft has. A service may describe any table
/// that it is asked for.
fn free_table(mount: &Mount, name: &str) -> Result<TableName, FsError> {
    let taken: HashSet<TableName> = mount.db.table_names()?.into_iter().collect();
    let candidates =
        std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}{number}")));
    for candidate in candidates {
        let table = TableName::new(&candidate).map_err(|_| FsError::NotFound)?;
        if !taken.contains(&table) && mount.drafts.lock().get(&table).is_none() {
            return Ok(table);
        }
    }
    Err(FsError::NotFound)
}

/// Returns the key of the item that the examples make in an empty table.
fn sample_key(key: &KeySchema) -> Key {
    Key {
        partition: sample(&key.partition, "u1", 1),
        sort: key.sort.as_ref().map(|sort| sample(sort, "o1", 1)),
    }
}

/// Returns the sample value of that number of an attribute: the first is the word itself.
fn sample(attribute: &KeyAttribute, word: &str, number: i64) -> AttributeValue {
    let text = if number == 1 {
        word.to_owned()
    } else {
        format!("{word}{number}")
    };
    match attribute.attribute_type {
        KeyAttributeType::S => AttributeValue::S(text),
        KeyAttributeType::N if word == "example" => {
            AttributeValue::N(Number::from(1_000_000 + number))
        }
        KeyAttributeType::N => AttributeValue::N(Number::from(number)),
        KeyAttributeType::B => AttributeValue::B(text.into_bytes()),
    }
}

/// Returns the path below `items/` without `.json`.
fn stem(key: &Key) -> String {
    match &key.sort {
        Some(sort) => format!(
            "{}/{}",
            file_name::encode(&key.partition),
            file_name::encode(sort)
        ),
        None => file_name::encode(&key.partition),
    }
}

fn dynamodb_json_of(key: &Key, schema: &KeySchema) -> Vec<u8> {
    let mut out = Vec::new();
    dynamodb_json::write_item(&key.to_item(schema), &mut out);
    out
}

fn plain_json_of(key: &Key, schema: &KeySchema) -> Vec<u8> {
    let mut out = Vec::new();
    plain_json::write_line(&key.to_item(schema), &[], &mut out);
    out
}

/// Returns JSON for use between single quotes of a shell.
fn shell_quoted(json: Vec<u8>) -> String {
    sanitize::json(String::from_utf8_lossy(&json).trim_end()).replace('\'', r"'\''")
}

/// The placeholders by name, in the order in which they are filled, and their values; `None` if the
/// example has no such thing.
pub type PlaceholderValues = Vec<(&'static str, Option<String>)>;

const FENCE_BEGIN: &str = "```sh";
const FENCE_END: &str = "```";
/// The last column at which comments may begin, in characters.
const COLUMN_MAX: usize = 60;

/// Fills a text; a line of a block with a placeholder that has no value is left out.
#[must_use]
pub fn fill(text: &str, values: &PlaceholderValues) -> String {
    let mut out = String::new();
    let mut block: Option<Vec<String>> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, FENCE_BEGIN) => block = Some(Vec::new()),
            (Some(lines), FENCE_END) => {
                write_block(lines, &mut out);
                block = None;
            }
            (Some(lines), _) => lines.extend(fill_line(line, values)),
            (None, _) => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn fill_line(line: &str, values: &PlaceholderValues) -> Vec<String> {
    let mut out = line.to_owned();
    for (name, value) in values {
        let placeholder = format!("{{{name}}}");
        match value {
            _ if !out.contains(&placeholder) => {}
            Some(value) => out = out.replace(&placeholder, value),
            None => return Vec::new(),
        }
    }
    out.lines().map(str::to_owned).collect()
}

/// Writes a block with its comments aligned; writes nothing if the block has no line.
fn write_block(lines: &[String], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    let width = |line: &str| line.chars().count();
    let commands = lines
        .iter()
        .filter_map(|line| line.split_once("  # "))
        .map(|(command, _)| width(command.trim_end()));
    let column = commands
        .filter(|width| *width <= COLUMN_MAX)
        .max()
        .unwrap_or(0);
    out.push_str(FENCE_BEGIN);
    out.push('\n');
    for line in lines {
        match line.split_once("  # ") {
            Some((command, comment)) => {
                let command = command.trim_end();
                let blanks = " ".repeat(column.saturating_sub(width(command)));
                out.extend([command, &blanks, "  # ", comment.trim_start()]);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out.push_str(FENCE_END);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_lines_without_a_value_left_out() {
        let values = vec![
            ("t", Some(String::from("Orders/"))),
            ("sk", None),
            ("make", Some(String::from("a\nbb  # b"))),
        ];
        let text = "{t} and {sk} outside stay.\n```sh\n{make}\nls {t}items  # {\"x\":1}\nls {sk}\n```\n```sh\nls {sk}\n```\nend\n";
        let expected = "{t} and {sk} outside stay.\n```sh\na\nbb               # b\nls Orders/items  # {\"x\":1}\n```\nend\n";
        assert_eq!(fill(text, &values), expected);
    }
}
