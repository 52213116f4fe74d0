//! The report in `.ddb/errors/last` of a table, an index or a folder that does not exist.
//!
//! Programs look for names that need not exist, and a look does not say its purpose. So only names
//! are reported that a person types, in the directories where a mistake is common; a name that was
//! made right after is not reported; and the failure of a program's call comes before a name that
//! the same program missed right after.

use super::table_dir;
use crate::fs::{
    error::Errno, mount::error_log::FailedCall, open::prelude::*, path::is_refused_probe,
    query::spelling::nearest, write::draft::TABLE_NAME_RULE,
};

/// The number of names that a hint lists.
const NAMES_MAX: usize = 12;
/// The names that git, make, ctags and npm look for in every directory; tables seldom have them.
const PROBED_NAMES: [&str; 16] = [
    "HEAD",
    "objects",
    "refs",
    "hooks",
    "info",
    "branches",
    "config",
    "commondir",
    "worktrees",
    "modules",
    "tags",
    "TAGS",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "node_modules",
];

/// True if a name that is not in this directory may be a person's mistake. Called for every name
/// that is missed: reads nothing.
#[must_use]
pub fn is_reportable(parent: &Node, name: &str) -> bool {
    let is_word = !name.starts_with('.')
        && !name.ends_with('~')
        && !is_refused_probe(name)
        && !PROBED_NAMES.contains(&name);
    is_word
        && match parent {
            Node::Root => !name.contains('.'),
            Node::Table(_) | Node::Index(_) | Node::Indexes(..) => true,
            // A missing item says so itself.
            Node::Items(source) => source.index.is_none() && !name.contains('.'),
            _ => false,
        }
}

/// Returns the report of a name that a process missed; `None` if the name exists by now.
#[must_use]
pub fn explain_missing(
    mount: &Mount,
    parent: &Node,
    name: &str,
    time_ms: u64,
    thread: u32,
) -> Option<FailedCall> {
    let node = super::resolve(mount, parent, name.as_bytes());
    if node.and_then(|node| super::attr(mount, &node)).is_ok() {
        return None;
    }
    let path = mount.display_path(parent);
    let separator = if path.is_empty() { "" } else { "/" };
    let (sentence, hint) = hint_sentences(mount, parent, name);
    Some(FailedCall {
        operation: "lookup",
        path: format!("{path}{separator}{name}"),
        errno: Errno::ENOENT,
        exception: None,
        text: format!("  {sentence}\n  hint: {hint}\n"),
        time_ms,
        thread,
    })
}

/// Returns two sentences: what does not exist, and what to do.
fn hint_sentences(mount: &Mount, parent: &Node, name: &str) -> (String, String) {
    match parent {
        Node::Indexes(table, kind) => explain_index(mount, table, *kind, name),
        Node::Items(source) => explain_folder(mount, &source.table, name),
        Node::Table(table) if mount.is_draft(table).unwrap_or(false) => (
            format!("{table} is no table yet, and has no {name}"),
            format!(
                "write {table}/schema.json first (cat it: it is a template), or: echo create pk:S sk:S > {table}/ctl"
            ),
        ),
        Node::Table(table) => (
            format!("a table has no {name}"),
            with_suggestion(
                name,
                &to_strings(table_dir::dir_names(None)),
                &format!("cat {table}/help"),
            ),
        ),
        Node::Index(source) if name == ITEMS_NAME => (
            "the service tells the entries of a vector index by a search alone".to_owned(),
            format!(
                "cat {}/near/help; `ddbfs pull` the table and look there",
                mount.source_path(source)
            ),
        ),
        Node::Index(source) => {
            let (help, kind) = (
                format!("cat {}/help", mount.source_path(source)),
                mount.index_kind(source),
            );
            (
                format!("an index has no {name}"),
                with_suggestion(name, &to_strings(table_dir::dir_names(kind)), &help),
            )
        }
        _ => {
            let tables = mount.db.table_names().unwrap_or_default();
            let tables: Vec<String> = tables.iter().map(ToString::to_string).collect();
            let (fault, make) = match TableName::new(name) {
                Ok(_) => (
                    String::new(),
                    format!("mkdir '{name}@pk:S,sk:S' makes it; "),
                ),
                Err(_) => (format!(": {TABLE_NAME_RULE}"), String::new()),
            };
            let there = list_names("the tables are", &tables);
            (
                format!("there is no table {name}{fault}"),
                with_suggestion(name, &tables, &format!("{make}{there}")),
            )
        }
    }
}

fn explain_index(
    mount: &Mount,
    table: &TableName,
    kind: IndexKind,
    name: &str,
) -> (String, String) {
    let schema = mount.schema(table).ok();
    let directory = kind.name();
    let sentence = format!("table {table} has no index {name} in {directory}/");
    if let Some(index) = schema.as_ref().and_then(|schema| schema.index(name)) {
        return (
            sentence,
            format!("it is in {table}/{}/{name}", index.kind.name()),
        );
    }
    let make = match kind {
        IndexKind::Global | IndexKind::Vector => {
            format!("mkdir {table}/{directory}/{name} and writing its schema.json makes it")
        }
        IndexKind::Local => "local indexes are made with their table".to_owned(),
    };
    let indexes: Vec<String> = schema
        .iter()
        .flat_map(|schema| schema.indexes_of(kind))
        .map(|index| index.name.to_string())
        .collect();
    (
        sentence,
        with_suggestion(
            name,
            &indexes,
            &format!(
                "{make}; {}",
                list_names(&format!("in {directory}/ are"), &indexes)
            ),
        ),
    )
}

fn explain_folder(mount: &Mount, table: &TableName, name: &str) -> (String, String) {
    if mount
        .schema(table)
        .is_ok_and(|schema| schema.key.sort.is_none())
    {
        let sentence =
            format!("table {table} has no sort key: its items are files here, in no folder");
        return (
            sentence,
            format!("the item of the key {name} is {table}/items/{name}.json"),
        );
    }
    let sentence =
        format!("there is no item of the partition key {name} yet, and no folder for them");
    (
        sentence,
        format!("mkdir -p '{table}/items/{name}' makes the folder; then write the items in it"),
    )
}

fn to_strings<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    names.map(str::to_owned).collect()
}

/// Returns the hint, after a question for the name that was meant if one is similar.
fn with_suggestion(name: &str, names: &[String], hint: &str) -> String {
    nearest(name, names.iter().map(String::as_str)).map_or_else(
        || hint.to_owned(),
        |near| format!("did you mean {near}? Else: {hint}"),
    )
}

fn list_names(what: &str, names: &[String]) -> String {
    match names {
        [] => format!("{what} none"),
        names => {
            let more = if names.len() > NAMES_MAX { ", …" } else { "" };
            format!(
                "{what} {}{more}",
                names
                    .iter()
                    .take(NAMES_MAX)
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
    }
}
