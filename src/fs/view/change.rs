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
use crate::model::api::{DeleteItemRequest, DeleteItemResponse, DeleteTableRequest, Done, table_control::ParkedChange};

impl View {
    /// MKDIR: a draft table, a table in one step (`Orders@pk:S,sk:N`), or the folder of an item collection.
    ///
    /// # Errors
    /// `Exists`, or no directory can be made there.
    pub fn mkdir(&self, caller: Caller, parent: u64, name: &[u8]) -> Result<Attr, FsError> {
        self.node(parent)?;
        let text = name_text(name)?;
        let make = |parent: &Node| match self.made_by_itself(caller, parent, text) {
            Some(node) => Ok(node),
            None => self.make_directory(caller, parent, text),
        };
        let instead = |parent: &Node| Ok(dropped::make(&self.mount, parent, text, Kind::Directory));
        self.make(caller, parent, name, make, instead)
    }

    /// Makes something in a directory; with `-o restore`, what is forgotten, where there can be none.
    fn make(
        &self,
        caller: Caller,
        ino: u64,
        name: &[u8],
        make: impl Fn(&Node) -> Result<Node, FsError>,
        instead: impl Fn(&Node) -> Result<Node, FsError>,
    ) -> Result<Attr, FsError> {
        let make_in = |parent: &Node| {
            self.may_change(parent)?;
            self.attr_of(parent, caller)?;
            let node = match make(parent) {
                Err(FsError::Derived | FsError::NotPermitted(_)) if self.mount.restores_in(parent) => instead(parent)?,
                made => made?,
            };
            let attr = self.attr_of(&node, caller)?;
            self.host.rm_guard.made_anew(attr.ino);
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

    fn make_directory(&self, caller: Caller, parent: &Node, text: &str) -> Result<Node, FsError> {
        let name = text.as_bytes();
        Ok(match parent {
            Node::Root => self.make_table(caller, text)?,
            Node::Table(table) | Node::DraftFolder(table, _) if self.mount.is_draft(table)? => {
                self.make_draft_folder(caller, parent, table, text)?
            }
            Node::Items(source) if source.index.is_none() => {
                if self.mount.schema(&source.table)?.key.sort.is_none() {
                    return Err(FsError::NotPermitted("this table has no sort key: its items are files here, in no folder"));
                }
                self.make_collection(caller, parent, text)?
            }
            Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_) => {
                return Err(FsError::NotPermitted("an item collection holds items, not folders"));
            }
            Node::Table(_) | Node::DraftFolder(..) => {
                return Err(self.existing_or(caller, parent, name, FsError::NotPermitted("a table has its own folders only")));
            }
            Node::Special(special) => room(special)?.mkdir(special, &self.host, caller, text)?,
            Node::Indexes(table, kind) => index_draft::make(&self.mount, table, *kind, text)?,
            _ => return Err(self.existing_or(caller, parent, name, FsError::Derived)),
        })
    }

    /// A directory that is there by itself, made by a caller for whom it was not.
    fn made_by_itself(&self, caller: Caller, parent: &Node, name: &str) -> Option<Node> {
        let node = tree::resolve(&self.mount, parent, name.as_bytes()).ok().filter(|_| self.mount.in_progress.any(now_ms()))?;
        let is_there =
            node.kind() == Kind::Directory && self.attr_of(&node, caller).is_ok() && self.host.rm_guard.is_gone_for(caller, &node);
        is_there.then(|| {
            self.host.rm_guard.made_anew(node.ino());
            node
        })
    }

    /// `mkdir -p` asks for what is there.
    fn existing_or(&self, caller: Caller, parent: &Node, name: &[u8], error: FsError) -> FsError {
        let there = tree::resolve(&self.mount, parent, name).and_then(|node| self.attr_of(&node, caller));
        if there.is_ok() { FsError::Exists } else { error }
    }

    fn make_table(&self, caller: Caller, name: &str) -> Result<Node, FsError> {
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
        if let Ok(Node::Readme | Node::Special(_)) = tree::resolve(&self.mount, &Node::Root, name.as_bytes()) {
            return Err(FsError::Exists);
        }
        if let Ok(table) = TableName::new(name)
            && self.mount.db.schema(&table)?.is_some()
        {
            return Err(FsError::Exists);
        }
        let table = self.mount.drafts.lock().create(name, now_ms())?;
        self.host.rm_guard.made_draft(caller, &table);
        Ok(Node::Table(table))
    }

    fn make_draft_folder(&self, caller: Caller, parent: &Node, table: &TableName, name: &str) -> Result<Node, FsError> {
        if tree::resolve(&self.mount, parent, name.as_bytes()).and_then(|node| self.attr_of(&node, caller)).is_ok() {
            return Err(FsError::Exists);
        }
        let path = match parent {
            Node::DraftFolder(_, folder) => format!("{folder}/{name}"),
            _ => name.to_owned(),
        };
        self.mount.drafts.lock().make_folder(table, &path)?;
        Ok(Node::DraftFolder(table.clone(), path))
    }

    fn make_collection(&self, caller: Caller, parent: &Node, name: &str) -> Result<Node, FsError> {
        let node = match tree::resolve(&self.mount, parent, name.as_bytes()) {
            Ok(node @ (Node::Collection(..) | Node::AliasFolder(_))) => node,
            // A hidden name is a file's in memory.
            Ok(_) => return Err(FsError::Exists),
            Err(FsError::NotFound) if name.starts_with('.') => {
                return Err(FsError::NotPermitted("here are folders named by a partition key"));
            }
            Err(FsError::NotFound) => return Err(FsError::Invalid(super::NO_KEY)),
            Err(error) => return Err(error),
        };
        if self.attr_of(&node, caller).is_ok() {
            return Err(FsError::Exists);
        }
        let mut folders = self.mount.folders.lock();
        let made = match &node {
            Node::Collection(source, partition) => {
                partition.first().is_none_or(|value| folders.make(&source.table, value.clone(), now_ms()))
            }
            Node::AliasFolder(folder) => folders.make_alias(&folder.table, folder.digest, &folder.name, now_ms()),
            _ => true,
        };
        if !made {
            return Err(FsError::NotPermitted("too many empty folders; write items into them or remove some"));
        }
        Ok(node)
    }

    /// SYMLINK: a saved query; with `-o restore`, one that is forgotten.
    ///
    /// # Errors
    /// `Exists`, a bad clause in the target, or no link can be made there.
    pub fn symlink(&self, caller: Caller, parent: u64, name: &[u8], target: &[u8]) -> Result<Attr, FsError> {
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| FsError::Invalid("names and targets are UTF-8"));
        let make = |parent: &Node| match parent {
            Node::Special(special) => room(special)?.symlink(special, &self.host, text(name)?, text(target)?),
            _ => Err(FsError::NotPermitted("links are made in queries/ of a table: ln -s '../query/@pk=u1' queries/u1")),
        };
        let instead = |parent: &Node| dropped::make_link(&self.mount, parent, text(name)?, text(target)?);
        self.make(caller, parent, name, make, instead)
    }

    /// UNLINK: DeleteItem of an item file, answered after its commit.
    pub fn unlink(self: &Arc<Self>, caller: Caller, parent: u64, name: &[u8], reply: Reply<()>) {
        let parent = match self.node(parent) {
            Ok(parent) => parent,
            Err(error) => return reply(Err(error)),
        };
        if let Err(error) = self.may_change(&parent) {
            return reply(Err(error));
        }
        match tree::resolve(&self.mount, &parent, name) {
            Ok(ref node @ Node::Entry(ref entry)) if entry.source.index.is_none() => {
                // The kernel drops the name that is unlinked, which is the one that it may keep.
                let is_kept_name = item_of(node).is_some() && is_own_name(&parent, node, name);
                let wait = if is_kept_name { WaitPolicy::Settled } else { caller.wait };
                self.delete_item(caller.waiting(wait), entry, reply);
            }
            Ok(node) if self.host.rm_guard.goes_with_table(caller, &node) => reply(Ok(())),
            Ok(Node::Scratch(id)) => self.host.deletes.unlink_scratch(id, caller.wait, reply),
            Ok(Node::Special(special)) => {
                let (host, node) = (Arc::clone(&self.host), Node::Special(special.clone()));
                let reply: Reply<()> =
                    Box::new(move |ended| reply(ended.or_else(|error| host.rm_guard.unlink_derived(caller, &node, error))));
                match room(&special) {
                    Ok(room) => room.unlink(&special, &self.host, caller, reply),
                    Err(error) => reply(Err(error)),
                }
            }
            Ok(node) => {
                let ended = self.unlink_other(caller, &node);
                let is_definition = matches!(&node, Node::Schema(source) if source.index.is_none());
                reply(if is_definition {
                    ended
                } else {
                    ended.or_else(|error| self.host.rm_guard.unlink_derived(caller, &node, error))
                });
            }
            Err(error) => reply(Err(error)),
        }
    }

    fn unlink_other(&self, caller: Caller, node: &Node) -> Result<(), FsError> {
        match node {
            Node::Schema(source) if source.index.is_none() => {
                if self.mount.is_draft(&source.table)? {
                    return self.mount.drafts.lock().unlink_schema(&source.table);
                }
                self.host.rm_guard.unlink_definition(caller, node, &source.table)
            }
            Node::Stats(_) | Node::Schema(_) => {
                self.host.rm_guard.veto_after(caller, node);
                Err(FsError::NotPermitted("this file is part of its table"))
            }
            Node::Readme => Err(FsError::NotPermitted("this file is part of the tree")),
            _ if node.kind() == crate::fs::node::Kind::Directory => Err(FsError::IsDirectory),
            _ => {
                self.attr_of(node, caller)?;
                Err(FsError::Derived)
            }
        }
    }

    fn delete_item(self: &Arc<Self>, caller: Caller, entry: &EntryNode, reply: Reply<()>) {
        let (table, key) = (entry.source.table.clone(), entry.key.base.clone());
        if let Err(error) = self.host.rm_guard.may_delete(&table, caller) {
            return reply(Err(error));
        }
        let schema = match self.mount.schema(&table) {
            Ok(schema) => schema,
            Err(error) => return reply(Err(error)),
        };
        // Hidden: renamed away, its name is gone already.
        if self.mount.hides_any()
            && let Err(error) = entry::stat(&self.mount, &entry.source, &entry.key)
        {
            return reply(Err(error));
        }
        let request = DeleteItemRequest::new(table.clone(), key.to_item(&schema.key));
        let composite = schema.key.sort.is_some();
        let ino = Node::Entry(Box::new(entry.clone())).ino();
        let view = Arc::clone(self);
        let session = view.mount.last.session(caller.pid);
        let context = on_behalf_of(&self.host, caller.pid, caller.wait);
        let done = Done::new(context, move |outcome: Result<DeleteItemResponse, Error>| {
            let answer = outcome.as_ref().map(|response| calls::of_write(&table, response));
            view.mount.last.keep_write(session, "DeleteItem", answer);
            match outcome {
                Ok(response) if response.existed => {
                    // In memory from here on: the store knows no empty collections, and `rm u1/*; rmdir u1` is two calls.
                    if composite {
                        view.mount.folders.lock().keep(&table, &key.partition, now_ms());
                    }
                    reply(Ok(()));
                }
                // Nothing was written to it so far, nor will it be an item without.
                Ok(_) if view.creations.unlinked(ino) => reply(Ok(())),
                Ok(_) => reply(Err(FsError::NotFound)),
                Err(error) => reply(Err(error.into())),
            }
        });
        self.mount.db.start(Call::DeleteItem(request, done));
    }

    /// RMDIR: DeleteTable of a table without items, the end of a draft, an empty collection's folder.
    ///
    /// # Errors
    /// `NotEmpty`, `NotFound`, or the directory is part of the tree.
    pub fn rmdir(self: &Arc<Self>, caller: Caller, parent: u64, name: &[u8]) -> Result<(), FsError> {
        let parent = self.node(parent)?;
        let found = self.may_change(&parent).and_then(|()| tree::resolve(&self.mount, &parent, name));
        let removed = found.and_then(|node| {
            self.attr_of(&node, caller)?;
            if !self.host.rm_guard.goes_with_table(caller, &node) {
                self.rmdir_node(caller, &node)?;
            }
            self.inodes.removed(&node);
            Ok(())
        });
        self.made(&parent, name, removed)
    }

    fn rmdir_node(self: &Arc<Self>, caller: Caller, node: &Node) -> Result<(), FsError> {
        match node {
            Node::Table(table) if self.mount.is_draft(table)? => {
                self.mount.drafts.lock().remove(table)?;
                self.mount.drop_scratch_of(table);
                Ok(())
            }
            Node::Table(table) => self.delete_table(caller, table),
            Node::DraftFolder(table, path) => self.mount.drafts.lock().remove_folder(table, path),
            Node::Collection(source, partition) if source.index.is_none() => {
                self.remove_collection(caller, node, (source, partition))
            }
            Node::AliasFolder(folder) => {
                let removed = self.mount.folders.lock().remove_alias(&folder.table, &folder.digest);
                self.mount.scratch.lock().remove_directory(node);
                removed.map(drop).ok_or(FsError::NotFound)
            }
            Node::Items(_) | Node::Indexes(..) => {
                self.host.rm_guard.veto_after(caller, node);
                Err(FsError::NotPermitted("this folder is part of its table"))
            }
            Node::Index(source) => {
                self.host.rm_guard.may_delete(&source.table, caller)?;
                index_draft::drop_index(&self.mount, source)
            }
            Node::Collection(..) | Node::Query(_) | Node::Root => Err(FsError::Derived),
            Node::Special(special) => room(special)?.rmdir(special, &self.host, caller),
            _ => Err(FsError::NotDirectory),
        }
    }

    fn delete_table(self: &Arc<Self>, caller: Caller, table: &TableName) -> Result<(), FsError> {
        self.mount.schema(table)?;
        self.host.rm_guard.may_delete(table, caller)?;
        // What was renamed away is not seen, and would be in the way.
        self.host.deletes.settle(caller.wait, |(of, _)| of == table);
        let only_if_empty = !self.mount.options.allow_drop;
        self.host.drop_table(DeleteTableRequest { table_name: table.clone(), only_if_empty }, caller.wait)
    }

    /// The scratch files in it go with it, and what is created there and has no text; what is parked is only in `.ddb/scratch/` from
    /// now on.
    fn remove_collection(
        self: &Arc<Self>,
        caller: Caller,
        node: &Node,
        (source, partition): (&Source, &PartitionKey),
    ) -> Result<(), FsError> {
        let value = partition.first().ok_or(FsError::NotFound)?;
        // What was renamed away is not seen, and would be in the way.
        self.host.deletes.settle(caller.wait, |(table, key)| *table == source.table && key.partition == *value);
        if self.mount.db.collection(source, partition)?.is_some() {
            return Err(FsError::NotEmpty);
        }
        let was_kept = self.mount.folders.lock().remove(&source.table, value);
        let had_parked = scratch::parked_in_ms(&self.mount, source, partition)?.is_some() && {
            let folder = Some(value.clone());
            self.mount.db.change_parked(ParkedChange::Leave { table: source.table.clone(), folder })?
        };
        self.mount.scratch.lock().remove_directory(node);
        let partition = KeyPart::Value(value.clone());
        self.creations.folder_removed(|target| target.table == source.table && target.key.partition == partition);
        if was_kept || had_parked { Ok(()) } else { Err(FsError::NotFound) }
    }
}
