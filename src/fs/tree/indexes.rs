//! `gsi/`, `lsi/` and `vector/` of a table: the directories of its indexes, and of drafts
//! (`special/index_draft.rs`).

use crate::fs::{
    open::prelude::*,
    special::{help, index_draft},
};

pub struct Indexes<'n>(pub &'n TableName, pub IndexKind);

impl NodeOps<Node> for Indexes<'_> {
    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        let Self(table, kind) = *self;
        let schema = at.schema(table)?;
        if let Some(index) = schema
            .indexes_of(kind)
            .find(|index| index.name.as_str() == name)
        {
            return Ok(Node::Index(SourceName {
                table: table.clone(),
                index: Some(index.name.clone()),
            }));
        }
        match index_draft::find(&at, table, kind, name) {
            Some(draft) => Ok(draft),
            None if name == HELP_NAME => {
                let directory = at.display_path(at.node);
                Ok(help::node(
                    &directory,
                    help::INDEXES,
                    Some(SourceName::from(table)),
                ))
            }
            None => Err(FsError::NotFound),
        }
    }

    fn list(&self, at: At<'_, Node>) -> Result<Vec<OwnedDirent>> {
        let Self(table, kind) = *self;
        let schema = at.schema(table)?;
        let names = schema.indexes_of(kind).map(|index| {
            let node = Node::Index(SourceName {
                table: table.clone(),
                index: Some(index.name.clone()),
            });
            to_dirent(&node, index.name.as_str())
        });
        let drafts = index_draft::list(&at, table, kind);
        let is_draft = |listed: &OwnedDirent| schema.index(&listed.name).is_none();
        Ok(names.chain(drafts.into_iter().filter(is_draft)).collect())
    }

    fn mkdir(&self, at: HostAt<'_, Node>, name: &str) -> Result<Node> {
        index_draft::make(&at.mount, self.0, self.1, name)
    }

    fn rmdir(&self, at: HostAt<'_, Node>) -> Result<()> {
        Err(at.refuse_part(at.node))
    }
}
