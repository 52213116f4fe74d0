//! MKDIR, SYMLINK, UNLINK and RMDIR: the calls that make and remove names, but for files
//! (`open.rs`). The operations themselves are those of the node's kind, called by [`tree`].

use super::View;
use super::kernel_cache::{cached_item, is_listed_name};
use crate::fs::{
    open::{host::behind::RemovalStep, link_text, prelude::*},
    process::tgid_of,
    special::discarded_writes,
    tree,
};
use crate::model::api::Gathering;

impl View {
    /// Makes a draft table, a table in one step (`Orders@pk:S,sk:N`), or the folder of an
    /// item collection.
    ///
    /// # Errors
    /// `Exists`, or no directory can be made there.
    pub fn mkdir(&self, parent: u64, name: &[u8]) -> Result<Attr> {
        self.node(parent)?;
        let text = name_text(name)?;
        let make = |parent: &Node| match self.unhide_directory(parent, text) {
            Some(node) => Ok(node),
            None => self.make_directory(parent, text),
        };
        let instead = |parent: &Node| {
            Ok(discarded_writes::make(
                self.mount(),
                parent,
                text,
                NodeKind::Directory,
            ))
        };
        self.make_node(parent, name, make, instead)
    }

    /// Makes a node in a directory by `make`; with `-o restore`, by `make_default` a node that is
    /// forgotten, where no other can be.
    fn make_node(
        &self,
        ino: u64,
        name: &[u8],
        make: impl Fn(&Node) -> Result<Node>,
        make_default: impl Fn(&Node) -> Result<Node>,
    ) -> Result<Attr> {
        let make_in = |parent: &Node| {
            self.check_change(parent)?;
            self.quick_attr(parent)?;
            let node = match make(parent) {
                Err(FsError::Derived | FsError::NotPermitted(_))
                    if self.mount().discards_in(parent) =>
                {
                    // `-o restore`: the program that copies a directory must not stop at a derived
                    // one.
                    make_default(parent)?
                }
                made => made?,
            };
            let attr = self.quick_attr(&node)?;
            self.host.rm_guard.recreated(self.mount(), attr.ino);
            self.mark_known(node, attr)
        };
        let node = self.node(ino)?;
        let mut made = make_in(&node);
        if made.is_err() && matches!(*node, Node::DraftFolder(..)) {
            // The draft may have become a table just now: `rsync` and `cp -r` go on in it while its
            // schema.json is being committed.
            let now = self.node(ino)?;
            if *now != *node {
                made = make_in(&now);
            }
        }
        self.clear_missed(&node, name, made)
    }

    fn make_directory(&self, parent: &Node, name: &str) -> Result<Node> {
        match tree::mkdir(&self.host, parent, name) {
            // `mkdir -p` asks for directories that exist.
            Err(FsError::Derived | FsError::NotPermitted(_))
                if tree::resolve(self.mount(), parent, name.as_bytes())
                    .is_ok_and(|node| self.quick_attr(&node).is_ok()) =>
            {
                Err(FsError::Exists)
            }
            made => made,
        }
    }

    /// Returns a directory that exists by itself, if it did not exist for this caller until now.
    fn unhide_directory(&self, parent: &Node, name: &str) -> Option<Node> {
        let node = tree::resolve(self.mount(), parent, name.as_bytes())
            .ok()
            .filter(|_| self.mount().archiver_quirks.is_active(now_ms()))?;
        let is_there = node.kind() == NodeKind::Directory
            && self.quick_attr(&node).is_ok()
            && self.host.rm_guard.is_hidden_from(self.mount(), &node);
        is_there.then(|| {
            self.host.rm_guard.recreated(self.mount(), node.ino());
            node
        })
    }

    /// Makes a saved query; with `-o restore`, a link that is forgotten.
    ///
    /// # Errors
    /// `Exists`, a bad clause in the target, or no link can be made there.
    pub fn symlink(&self, parent: u64, name: &[u8], target: &[u8]) -> Result<Attr> {
        let make = |parent: &Node| tree::symlink(&self.host, parent, name, target);
        let instead = |parent: &Node| {
            let (name, target) = (link_text(name)?, link_text(target)?);
            discarded_writes::make_link(self.mount(), parent, name, target)
        };
        self.make_node(parent, name, make, instead)
    }

    /// Removes a file. Of an item this is DeleteItem, answered after its commit.
    pub fn unlink(&self, parent: u64, name: &[u8], reply: Reply<()>) {
        let parent_ino = parent;
        let found = self.node(parent).and_then(|parent| {
            self.check_change(&parent)?;
            let node = tree::resolve(self.mount(), &parent, name)?;
            Ok((parent, node))
        });
        let (parent, node) = or_reply!(reply, found);
        // `rm -r` of a table with `-o allow_drop` names everything in it; the table's drop removes
        // it all.
        if self.host.rm_guard.goes_with_table(self.mount(), &node) {
            return reply(Ok(()));
        }
        // A derived file that is gone is `NotFound`; the refusal is for one that exists.
        if !node.is_writable()
            && let Err(error) = self.quick_attr(&node)
        {
            return reply(Err(error));
        }
        // Errors of data are meant: only the unlink of a derived file may succeed without effect.
        let is_data = matches!(node, Node::Entry(_) | Node::Schema(_)) && node.is_writable();
        let (host, derived) = (self.host.clone(), node.clone());
        let reply: Reply<()> =
            if is_data {
                reply
            } else {
                Box::new(move |ended| {
                    reply(ended.or_else(|error| {
                        host.rm_guard.unlink_derived(&host.mount, &derived, error)
                    }))
                })
            };
        // The kernel drops the name that is unlinked, which is the one that it may cache.
        let is_kept_name = cached_item(&node).is_some() && is_listed_name(&parent, &node, name);
        let wait = if is_kept_name {
            WaitPolicy::Settled
        } else {
            self.caller().wait
        };
        let host = self.host.with_wait(wait);
        match &node {
            Node::Entry(entry) if self.mount().db.is_remote() && node.is_writable() => {
                match self.gather_unlink(parent_ino, &host, entry, &node, reply) {
                    Ok((host, reply)) => tree::unlink(&host, &node, reply),
                    Err((error, reply)) => reply(Err(error)),
                }
            }
            _ => tree::unlink(&host, &node, reply),
        }
    }

    /// Lets the delete of an item be sent in a batch with others: with `-o writeback`, or if the
    /// process removes what it has listed.
    fn gather_unlink(
        &self,
        folder: u64,
        host: &Host,
        entry: &EntryNode,
        node: &Node,
        reply: Reply<()>,
    ) -> Result<(Host, Reply<()>), (FsError, Reply<()>)> {
        let path = self.mount().display_path(node);
        if self.mount().options.writeback {
            let (table, key) = (&entry.source.table, &entry.key.base);
            let behind = host.write_behind("unlink", table, key, path);
            return Ok((host.with_gathering(Some(behind)), reply));
        }
        let listing = self.handles.for_process(folder, self.caller().pid);
        let listed = match listing.as_deref() {
            Some(Handle::Directory(stream)) => {
                stream.try_lock().and_then(|stream| stream.listed_to_end())
            }
            _ => None,
        };
        let Some(listed) = listed else {
            return Ok((host.clone(), reply));
        };
        let removing = (tgid_of(self.caller().pid), folder);
        Ok(match host.removals.step(removing, listed) {
            Err(error) => return Err((error, reply)),
            Ok(RemovalStep::Alone) => (host.clone(), reply),
            Ok(RemovalStep::Behind) => {
                let behind = host.remove_behind(removing, path);
                (host.with_gathering(Some(behind)), reply)
            }
            Ok(RemovalStep::Last) => {
                let host_clone = host.clone();
                let last: Reply<()> = Box::new(move |ended| {
                    host_clone.clone().run_long(move || {
                        let settled = host_clone.mount.db.flush_writes();
                        let all = host_clone.removals.end(removing);
                        reply(ended.and(settled.map_err(FsError::from)).and(all));
                    });
                });
                (host.with_gathering(Some(Gathering::Awaited)), last)
            }
        })
    }

    /// Removes a directory: a table without items by DeleteTable, a draft, an empty
    /// collection's folder.
    ///
    /// # Errors
    /// `NotEmpty`, `NotFound`, or the directory is part of the tree.
    pub fn rmdir(&self, parent: u64, name: &[u8]) -> Result<()> {
        let parent = self.node(parent)?;
        let found = self
            .check_change(&parent)
            .and_then(|()| tree::resolve(self.mount(), &parent, name));
        let removed = found.and_then(|node| {
            // The kernel may have cached the name of a directory that is gone.
            self.quick_attr(&node)?;
            if !self.host.rm_guard.goes_with_table(self.mount(), &node) {
                tree::rmdir(&self.host, &node)?;
            }
            // Processes that are in the directory keep its inode number until they leave.
            self.inodes.remove_dir(&node);
            Ok(())
        });
        self.clear_missed(&parent, name, removed)
    }
}
