//! `/`: the tables, the drafts and `README.md`; `.ddb` for lookup only.

use crate::fs::{
    open::prelude::*,
    path::is_refused_probe,
    special::{help, schema, service},
    write::draft,
};

pub struct Root;

impl NodeOps<Node> for Root {
    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        match name {
            README_NAME => Ok(Node::Readme),
            SERVICE_NAME => Ok(service::node()),
            HELP_NAME if !is_table(&at, name)? => Ok(help::node("", help::ROOT, None)),
            // A leading dot is legal in a table's name but no shell glob matches it; such a table
            // is still found by name.
            _ => reserved_table(name)
                .map_or_else(|| TableName::new(name).map_err(|_| FsError::NotFound), Ok)
                .map(Node::Table),
        }
    }

    fn list(&self, at: At<'_, Node>) -> Result<Vec<OwnedDirent>> {
        let mut names = vec![to_dirent(&Node::Readme, README_NAME)];
        let tables = at.db.table_names()?;
        let drafts: Vec<TableName> = {
            let drafts = at.drafts.lock();
            drafts
                .names()
                .filter(|draft| tables.binary_search(draft).is_err())
                .cloned()
                .collect()
        };
        names.extend(tables.into_iter().chain(drafts).map(|table| {
            let name = table_name(&table);
            to_dirent(&Node::Table(table), &name)
        }));
        Ok(names)
    }

    /// Makes a draft, or a table in one step (`Orders@pk:S,sk:N`).
    fn mkdir(&self, at: HostAt<'_, Node>, name: &str) -> Result<Node> {
        let mount = &at.mount;
        if name.starts_with('.') && is_refused_probe(name) {
            return Err(FsError::NotPermitted(
                "programs look for this name everywhere; a table of this name is made through the API",
            ));
        }
        if let Some(request) = draft::one_step(name) {
            let request = request?;
            let table = request.table_name.clone();
            schema::create_table(&at, request)?;
            // The name that the caller asked for resolves to nothing later; the table has its own.
            return Ok(Node::Table(table));
        }
        if let Ok(Node::Readme | Node::Special(_)) = at.resolve(at.node, name.as_bytes()) {
            return Err(FsError::Exists);
        }
        if let Ok(table) = TableName::new(name)
            && mount.db.schema(&table)?.is_some()
        {
            return Err(FsError::Exists);
        }
        let table = mount.drafts.lock().create(name, now_ms())?;
        at.rm_guard.record_draft(mount, &table);
        Ok(Node::Table(table))
    }
}

/// `README.md`, with examples that speak of existing tables.
pub struct Readme;

impl NodeOps<Node> for Readme {
    fn text(&self, at: At<'_, Node>) -> Result<Vec<u8>> {
        help::example::render(&at, README_NAME, None, include_str!("README.md"))
    }

    fn unlink(&self, _at: HostAt<'_, Node>, reply: Reply<()>) {
        reply(Err(FsError::NotPermitted("this file is part of the tree")));
    }
}

/// True if there is a table or a draft of this name. It comes before our own file.
fn is_table(mount: &Mount, name: &str) -> Result<bool> {
    match TableName::new(name) {
        Ok(table) => {
            Ok(mount.drafts.lock().get(&table).is_some() || mount.db.schema(&table)?.is_some())
        }
        Err(_) => Ok(false),
    }
}
