//! `.ddb/scratch/`: every scratch file under one name, those in the trash of all processes too.
//! `.ddb/scratch.ndjson` has the same for programs.
//!
//! ```text
//! Table,name                in the table's directory
//! Table,items,name          in items/
//! Table,items,folder,name   in the folder of an item collection
//! ```
//! Names of tables and folders hold no comma. In a table with folders, a name in `items/` itself
//! begins with a dot; a folder's name never does. A name that is too long ends in `~` and the
//! digest of the whole.

use crate::codec::calendar::iso;
use crate::fs::{
    mount::scratch::{ITEMS_PREFIX, item_path, listed_name, move_warning, trash_place},
    open::prelude::*,
    source::{
        items,
        scratch::{self, ScratchEntry},
    },
};
use crate::model::api::table_control::TRASH_RETENTION_MS;

/// `.ddb/scratch/`
#[derive(Debug)]
pub struct ScratchDir;

/// Returns the directory and the own name that a name here stands for.
fn parse(mount: &Mount, name: &str) -> Result<(Node, String), FsError> {
    let (table, rest) = name.split_once(',').ok_or(FsError::NotFound)?;
    let table = TableName::new(table).map_err(|_| FsError::NotFound)?;
    let Some(rest) = rest.strip_prefix(ITEMS_PREFIX) else {
        return Ok((Node::Table(table), rest.to_owned()));
    };
    let items = Node::Items(SourceName::from(&table));
    if mount.schema(&table)?.key.sort.is_none() || rest.starts_with('.') {
        return Ok((items, rest.to_owned()));
    }
    let (folder, rest) = rest.split_once(',').ok_or(FsError::NotFound)?;
    Ok((
        items::resolve(mount, &SourceName::from(&table), folder)?,
        rest.to_owned(),
    ))
}

impl NodeOps for ScratchDir {
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        let (directory, own) = match parse(&at, name) {
            Ok(parsed) if listed_name(&parsed.0, &parsed.1) == name => parsed,
            Err(error @ FsError::Database(Error::Store(_) | Error::Remote(_))) => {
                return Err(error);
            }
            Ok(_) | Err(_) => return find_shortened(&at, name),
        };
        if let Some(id) = at.scratch.lock().find(&directory, &own) {
            return Ok(Node::Scratch(id));
        }
        let place = trash_place(&directory, &own).ok_or(FsError::NotFound)?;
        at.db
            .trashed_at(&place)?
            .map(|_| scratch::trash_node(place))
            .ok_or(FsError::NotFound)
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        let files = scratch::list(&at)?;
        Ok(files
            .iter()
            .map(|file| to_dirent(&file.node, &listed_name(&file.directory, &file.name)))
            .collect())
    }

    fn scratch_refusal(&self) -> FsError {
        FsError::NotPermitted("here are the scratch files of items/ folders; they are made there")
    }
}

/// Finds a file by a name that was shortened.
fn find_shortened(mount: &Mount, name: &str) -> Result<Node, FsError> {
    if !name.contains('~') {
        return Err(FsError::NotFound);
    }
    let found = scratch::list(mount)?
        .into_iter()
        .find(|file| listed_name(&file.directory, &file.name) == name);
    found.map(|file| file.node).ok_or(FsError::NotFound)
}

/// Returns the text of `.ddb/scratch.ndjson`.
pub fn lines(mount: &Mount, _at: &Special) -> Result<Vec<u8>, FsError> {
    let lines: Vec<String> = scratch::list(mount)?
        .iter()
        .map(|file| line(mount, file))
        .collect();
    Ok(lines.concat().into_bytes())
}

fn line(mount: &Mount, file: &ScratchEntry) -> String {
    let waits = match file.node {
        Node::Scratch(id) => mount.with_deferred(|deferred| deferred.by_file(id).is_some()),
        _ => false,
    };
    let line = serde_json::json!({
        "name": listed_name(&file.directory, &file.name),
        "path": format!("{}/{}", mount.display_path(&file.directory), file.name),
        "bytes": file.bytes,
        "modified": iso(file.modified_ms),
        "parked": file.until_ms.is_some(),
        "kept_until": file.until_ms.or(waits.then(|| now_ms() + TRASH_RETENTION_MS)).map(iso),
    });
    format!("{line}\n")
}

/// Returns a line for each renamed item that goes to the trash unless it is written again.
#[must_use]
pub fn warnings(mount: &Mount) -> String {
    let waiting = mount.with_deferred(|deferred| deferred.pending());
    let lines = waiting.into_iter().filter_map(|((table, key), file)| {
        let (directory, name) = mount.scratch_location(file)?;
        let item = item_path(&table, &key);
        let text = move_warning(&directory, &name, now_ms() + TRASH_RETENTION_MS);
        let line = serde_json::json!({"time_ms": now_ms(), "path": item, "text": text});
        Some(format!("{line}\n"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::file_name::NAME_BYTES_MAX;
    use crate::model::AttributeValue;

    #[test]
    fn names_say_table_folder_and_file() {
        let table = TableName::new("Orders").unwrap();
        let folder = Node::Collection(
            SourceName::from(&table),
            vec![AttributeValue::S("a,b".to_owned())],
        );
        let cases = [
            (
                Node::Table(table.clone()),
                "schema.json~",
                "Orders,schema.json~",
            ),
            (
                Node::Items(SourceName::from(&table)),
                "o1.json.bak",
                "Orders,items,o1.json.bak",
            ),
            (folder, "x,y", "Orders,items,a%2Cb,x,y"),
        ];
        for (directory, name, expected) in cases {
            assert_eq!(listed_name(&directory, name), expected);
        }
        let long = "é".repeat(127);
        let name = listed_name(&Node::Items(SourceName::from(&table)), &long);
        assert!(
            name.len() <= NAME_BYTES_MAX
                && name != listed_name(&Node::Items(SourceName::from(&table)), &long[2..]),
            "{name}"
        );
    }
}
