//! mkdir, unlink, rmdir.

use super::View;
use super::kernel_cache::{is_own_name, item_of};
use crate::fs::open::prelude::*;
use crate::fs::path::is_refused_probe;
use crate::fs::source::entry;
use crate::fs::source::scratch;
use crate::fs::special::{dropped, index_draft, schema};
use crate::fs::tree;
use crate::fs::write::draft;
use crate::fs::{
    mount::calls,
    open::{host::on_behalf_of, room::room},
    write::KeyPart,
};
use crate::model::api::Call;
use crate::model::api::{
    DeleteItemRequest, DeleteItemResponse, DeleteTableRequest, Done, table_control::ParkedChange,
};

impl View {
    /// MKDIR: a draft table, a table in one step (`Orders@pk:S,sk:N`), or the folder of an item collection.
    ///
    /// # Errors
    /// `Exists`, or no directory can be made there.
    pub fn mkdir(&self, parent: u64, name: &[u8]) -> Result<Attr, FsError> {
        self.node(parent)?;
        let text = name_text(name)?;
        let make = |parent: &Node| match self.made_by_itself(parent, text) {
            Some(node) => Ok(node),
            None => self.make_directory(parent, text),
        };
        let instead = |parent: &Node| {
            Ok(dropped::make(
                &self.host.mount,
                parent,
                text,
                Kind::Directory,
            ))
        };
        self.make(parent, name, make, instead)
    }

    /// Makes something in a directory; with `-o restore`, what is forgotten, where there can be none.
    fn make(
        &self,
        ino: u64,
        name: &[u8],
        make: impl Fn(&Node) -> Result<Node, FsError>,
        instead: impl Fn(&Node) -> Result<Node, FsError>,
    ) -> Result<Attr, FsError> {
        let make_in = |parent: &Node| {
            self.may_change(parent)?;
            self.attr_of(parent)?;
            let node = match make(parent) {
                Err(FsError::Derived | FsError::NotPermitted(_))
                    if self.host.mount.restores_in(parent) =>
                {
                    instead(parent)?
                }
                made => made?,
            };
            let attr = self.attr_of(&node)?;
            self.host.rm_guard.made_anew(&self.host.mount, attr.ino);
            self.remember(node, attr)
        };
        let node = self.node(ino)?;
        let mut made = make_in(&node);
        if made.is_err() && matches!(*node, Node::DraftFolder(..)) {
            // The draft may have become a table just now: `rsync` and `cp -r` go on in it while its schema.json is being committed.
            let now = self.node(ino)?;
            if *now != *node {
                made = make_in(&now);
            }
        }
        self.made(&node, name, made)
    }

    fn make_directory(&self, parent: &Node, text: &str) -> Result<Node, FsError> {
        let name = text.as_bytes();
        Ok(match parent {
            Node::Root => self.make_table(text)?,
            Node::Table(table) | Node::DraftFolder(table, _)
                if self.host.mount.is_draft(table)? =>
            {
                self.make_draft_folder(parent, table, text)?
            }
            Node::Items(source) if source.index.is_none() => {
                if self.host.mount.schema(&source.table)?.key.sort.is_none() {
                    return Err(FsError::NotPermitted(
                        "this table has no sort key: its items are files here, in no folder",
                    ));
                }
                self.make_collection(parent, text)?
            }
            Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_) => {
                return Err(FsError::NotPermitted(
                    "an item collection holds items, not folders",
                ));
            }
            Node::Table(_) | Node::DraftFolder(..) => {
                return Err(self.existing_or(
                    parent,
                    name,
                    FsError::NotPermitted("a table has its own folders only"),
                ));
            }
            Node::Special(special) => room(special)?.mkdir(special, &self.host, text)?,
            Node::Indexes(table, kind) => index_draft::make(&self.host.mount, table, *kind, text)?,
            _ => return Err(self.existing_or(parent, name, FsError::Derived)),
        })
    }

    /// A directory that is there by itself, made by a caller for whom it was not.
    fn made_by_itself(&self, parent: &Node, name: &str) -> Option<Node> {
        let node = tree::resolve(&self.host.mount, parent, name.as_bytes())
            .ok()
            .filter(|_| self.host.mount.in_progress.any(now_ms()))?;
        let is_there = node.kind() == Kind::Directory
            && self.attr_of(&node).is_ok()
            && self.host.rm_guard.is_gone_for(&self.host.mount, &node);
        is_there.then(|| {
            self.host.rm_guard.made_anew(&self.host.mount, node.ino());
            node
        })
    }

    /// `mkdir -p` asks for what is there.
    fn existing_or(&self, parent: &Node, name: &[u8], error: FsError) -> FsError {
        let there =
            tree::resolve(&self.host.mount, parent, name).and_then(|node| self.attr_of(&node));
        if there.is_ok() {
            FsError::Exists
        } else {
            error
        }
    }

    fn make_table(&self, name: &str) -> Result<Node, FsError> {
        if name.starts_with('.') && is_refused_probe(name) {
            return Err(FsError::NotPermitted(
                "programs look for this name everywhere; a table of this name is made through the API",
            ));
        }
        if let Some(request) = draft::one_step(name) {
            let request = request?;
            let table = request.table_name.clone();
            schema::create_table(&self.host, request)?;
            // The name the caller asked for resolves to nothing later; the table has its own.
            return Ok(Node::Table(table));
        }
        if let Ok(Node::Readme | Node::Special(_)) =
            tree::resolve(&self.host.mount, &Node::Root, name.as_bytes())
        {
            return Err(FsError::Exists);
        }
        if let Ok(table) = TableName::new(name)
            && self.host.mount.db.schema(&table)?.is_some()
        {
            return Err(FsError::Exists);
        }
        let table = self.host.mount.drafts.lock().create(name, now_ms())?;
        self.host.rm_guard.made_draft(&self.host.mount, &table);
        Ok(Node::Table(table))
    }

    fn make_draft_folder(
        &self,
        parent: &Node,
        table: &TableName,
        name: &str,
    ) -> Result<Node, FsError> {
        if tree::resolve(&self.host.mount, parent, name.as_bytes())
            .and_then(|node| self.attr_of(&node))
            .is_ok()
        {
            return Err(FsError::Exists);
        }
        let path = match parent {
            Node::DraftFolder(_, folder) => format!("{folder}/{name}"),
            _ => name.to_owned(),
        };
        self.host.mount.drafts.lock().make_folder(table, &path)?;
        Ok(Node::DraftFolder(table.clone(), path))
    }

    fn make_collection(&self, parent: &Node, name: &str) -> Result<Node, FsError> {
        let node = match tree::resolve(&self.host.mount, parent, name.as_bytes()) {
            Ok(node @ (Node::Collection(..) | Node::AliasFolder(_))) => node,
            // A hidden name is a file's in memory.
            Ok(_) => return Err(FsError::Exists),
            Err(FsError::NotFound) if name.starts_with('.') => {
                return Err(FsError::NotPermitted(
                    "here are folders named by a partition key",
                ));
            }
            Err(FsError::NotFound) => return Err(FsError::Invalid(super::NO_KEY)),
            Err(error) => return Err(error),
        };
        if self.attr_of(&node).is_ok() {
            return Err(FsError::Exists);
        }
        let mut folders = self.host.mount.folders.lock();
        let made = match &node {
            Node::Collection(source, partition) => partition
                .first()
                .is_none_or(|value| folders.make(&source.table, value.clone(), now_ms())),
            Node::AliasFolder(folder) => {
                folders.make_alias(&folder.table, folder.digest, &folder.name, now_ms())
            }
            _ => true,
        };
        if !made {
            return Err(FsError::NotPermitted(
                "too many empty folders; write items into them or remove some",
            ));
        }
        Ok(node)
    }

    /// SYMLINK: a saved query; with `-o restore`, one that is forgotten.
    ///
    /// # Errors
    /// `Exists`, a bad clause in the target, or no link can be made there.
    pub fn symlink(&self, parent: u64, name: &[u8], target: &[u8]) -> Result<Attr, FsError> {
        let text = |bytes| {
            std::str::from_utf8(bytes).map_err(|_| FsError::Invalid("names and targets are UTF-8"))
        };
        let make = |parent: &Node| match parent {
            Node::Special(special) => {
                room(special)?.symlink(special, &self.host, text(name)?, text(target)?)
            }
            _ => Err(FsError::NotPermitted(
                "links are made in queries/ of a table: ln -s '../query/@pk=u1' queries/u1",
            )),
        };
        let instead = |parent: &Node| {
            dropped::make_link(&self.host.mount, parent, text(name)?, text(target)?)
        };
        self.make(parent, name, make, instead)
    }

    /// UNLINK: DeleteItem of an item file, answered after its commit.
    pub fn unlink(&self, parent: u64, name: &[u8], reply: Reply<()>) {
        let parent = match self.node(parent) {
            Ok(parent) => parent,
            Err(error) => return reply(Err(error)),
        };
        if let Err(error) = self.may_change(&parent) {
            return reply(Err(error));
        }
        match tree::resolve(&self.host.mount, &parent, name) {
            Ok(ref node @ Node::Entry(ref entry)) if entry.source.index.is_none() => {
                // The kernel drops the name that is unlinked, which is the one that it may keep.
                let is_kept_name = item_of(node).is_some() && is_own_name(&parent, node, name);
                let wait = if is_kept_name {
                    WaitPolicy::Settled
                } else {
                    self.caller().wait
                };
                self.waiting(wait).delete_item(entry, reply);
            }
            Ok(node) if self.host.rm_guard.goes_with_table(&self.host.mount, &node) => {
                reply(Ok(()))
            }
            Ok(Node::Scratch(id)) => self
                .host
                .deletes
                .unlink_scratch(&self.host.mount, id, reply),
            Ok(Node::Special(special)) => {
                let (host, node) = (self.host.clone(), Node::Special(special.clone()));
                let reply: Reply<()> =
                    Box::new(move |ended| {
                        reply(ended.or_else(|error| {
                            host.rm_guard.unlink_derived(&host.mount, &node, error)
                        }))
                    });
                match room(&special) {
                    Ok(room) => room.unlink(&special, &self.host, reply),
                    Err(error) => reply(Err(error)),
                }
            }
            Ok(node) => {
                let ended = self.unlink_other(&node);
                let is_definition = matches!(&node, Node::Schema(source) if source.index.is_none());
                reply(if is_definition {
                    ended
                } else {
                    ended.or_else(|error| {
                        self.host
                            .rm_guard
                            .unlink_derived(&self.host.mount, &node, error)
                    })
                });
            }
            Err(error) => reply(Err(error)),
        }
    }

    fn unlink_other(&self, node: &Node) -> Result<(), FsError> {
        match node {
            Node::Schema(source) if source.index.is_none() => {
                if self.host.mount.is_draft(&source.table)? {
                    return self.host.mount.drafts.lock().unlink_schema(&source.table);
                }
                self.host
                    .rm_guard
                    .unlink_definition(&self.host.mount, node, &source.table)
            }
            Node::Stats(_) | Node::Schema(_) => {
                self.host.rm_guard.veto_after(&self.host.mount, node);
                Err(FsError::NotPermitted("this file is part of its table"))
            }
            Node::Readme => Err(FsError::NotPermitted("this file is part of the tree")),
            _ if node.kind() == crate::fs::node::Kind::Directory => Err(FsError::IsDirectory),
            _ => {
                self.attr_of(node)?;
                Err(FsError::Derived)
            }
        }
    }

    fn delete_item(&self, entry: &EntryNode, reply: Reply<()>) {
        let caller = self.caller();
        let (table, key) = (entry.source.table.clone(), entry.key.base.clone());
        if let Err(error) = self.host.rm_guard.may_delete(&table, &self.host.mount) {
            return reply(Err(error));
        }
        let schema = match self.host.mount.schema(&table) {
            Ok(schema) => schema,
            Err(error) => return reply(Err(error)),
        };
        // Hidden: renamed away, its name is gone already.
        if self.host.mount.hides_any()
            && let Err(error) = entry::stat(&self.host.mount, &entry.source, &entry.key)
        {
            return reply(Err(error));
        }
        let request = DeleteItemRequest::new(table.clone(), key.to_item(&schema.key));
        let composite = schema.key.sort.is_some();
        let ino = Node::Entry(Box::new(entry.clone())).ino();
        let view = self.clone();
        let session = view.host.mount.last.session(caller.pid);
        let context = on_behalf_of(&self.host, caller.pid, caller.wait);
        let done = Done::new(
            context,
            move |outcome: Result<DeleteItemResponse, Error>| {
                let answer = outcome
                    .as_ref()
                    .map(|response| calls::of_write(&table, response));
                view.host
                    .mount
                    .last
                    .keep_write(session, "DeleteItem", answer);
                match outcome {
                    Ok(response) if response.existed => {
                        // In memory from here on: the store knows no empty collections, and `rm u1/*; rmdir u1` is two calls.
                        if composite {
                            view.host
                                .mount
                                .folders
                                .lock()
                                .keep(&table, &key.partition, now_ms());
                        }
                        reply(Ok(()));
                    }
                    // Nothing was written to it so far, nor will it be an item without.
                    Ok(_) if view.creations.unlinked(ino) => reply(Ok(())),
                    Ok(_) => reply(Err(FsError::NotFound)),
                    Err(error) => reply(Err(error.into())),
                }
            },
        );
        self.host.mount.db.start(Call::DeleteItem(request, done));
    }

    /// RMDIR: DeleteTable of a table without items, the end of a draft, an empty collection's folder.
    ///
    /// # Errors
    /// `NotEmpty`, `NotFound`, or the directory is part of the tree.
    pub fn rmdir(&self, parent: u64, name: &[u8]) -> Result<(), FsError> {
        let parent = self.node(parent)?;
        let found = self
            .may_change(&parent)
            .and_then(|()| tree::resolve(&self.host.mount, &parent, name));
        let removed = found.and_then(|node| {
            self.attr_of(&node)?;
            if !self.host.rm_guard.goes_with_table(&self.host.mount, &node) {
                self.rmdir_node(&node)?;
            }
            self.inodes.removed(&node);
            Ok(())
        });
        self.made(&parent, name, removed)
    }

    fn rmdir_node(&self, node: &Node) -> Result<(), FsError> {
        match node {
            Node::Table(table) if self.host.mount.is_draft(table)? => {
                self.host.mount.drafts.lock().remove(table)?;
                self.host.mount.drop_scratch_of(table);
                Ok(())
            }
            Node::Table(table) => self.delete_table(table),
            Node::DraftFolder(table, path) => {
                self.host.mount.drafts.lock().remove_folder(table, path)
            }
            Node::Collection(source, partition) if source.index.is_none() => {
                self.remove_collection(node, (source, partition))
            }
            Node::AliasFolder(folder) => {
                let removed = self
                    .host
                    .mount
                    .folders
                    .lock()
                    .remove_alias(&folder.table, &folder.digest);
                self.host.mount.scratch.lock().remove_directory(node);
                removed.map(drop).ok_or(FsError::NotFound)
            }
            Node::Items(_) | Node::Indexes(..) => {
                self.host.rm_guard.veto_after(&self.host.mount, node);
                Err(FsError::NotPermitted("this folder is part of its table"))
            }
            Node::Index(source) => {
                self.host
                    .rm_guard
                    .may_delete(&source.table, &self.host.mount)?;
                index_draft::drop_index(&self.host.mount, source)
            }
            Node::Collection(..) | Node::Query(_) | Node::Root => Err(FsError::Derived),
            Node::Special(special) => room(special)?.rmdir(special, &self.host),
            _ => Err(FsError::NotDirectory),
        }
    }

    fn delete_table(&self, table: &TableName) -> Result<(), FsError> {
        self.host.mount.schema(table)?;
        self.host.rm_guard.may_delete(table, &self.host.mount)?;
        // What was renamed away is not seen, and would be in the way.
        self.host
            .deletes
            .settle(&self.host.mount, |(of, _)| of == table);
        let only_if_empty = !self.host.mount.options.allow_drop;
        self.host.drop_table(DeleteTableRequest {
            table_name: table.clone(),
            only_if_empty,
        })
    }

    /// The scratch files in it go with it, and what is created there and has no text; what is parked is only in `.ddb/scratch/` from
    /// now on.
    fn remove_collection(
        &self,
        node: &Node,
        (source, partition): (&Source, &PartitionKey),
    ) -> Result<(), FsError> {
        let value = partition.first().ok_or(FsError::NotFound)?;
        // What was renamed away is not seen, and would be in the way.
        self.host.deletes.settle(&self.host.mount, |(table, key)| {
            *table == source.table && key.partition == *value
        });
        if self.host.mount.db.collection(source, partition)?.is_some() {
            return Err(FsError::NotEmpty);
        }
        let was_kept = self.host.mount.folders.lock().remove(&source.table, value);
        let had_parked = scratch::parked_in_ms(&self.host.mount, source, partition)?.is_some() && {
            let folder = Some(value.clone());
            self.host.mount.db.change_parked(ParkedChange::Leave {
                table: source.table.clone(),
                folder,
            })?
        };
        self.host.mount.scratch.lock().remove_directory(node);
        let partition = KeyPart::Value(value.clone());
        self.creations.folder_removed(|target| {
            target.table == source.table && target.key.partition == partition
        });
        if was_kept || had_parked {
            Ok(())
        } else {
            Err(FsError::NotFound)
        }
    }
}
