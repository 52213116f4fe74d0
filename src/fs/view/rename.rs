//! RENAME: a scratch file onto an item is a PutItem; an item onto a scratch name hides the item and
//! deletes it a little later; `rekey.rs` moves items and folders onto other keys.

use super::View;
use super::kernel_cache::cached_item;
use crate::fs::{
    mount::{can_discard_in, scratch::trash_place},
    node::item_ino,
    open::{
        host::record_error,
        node_ops::{node_ops, trash_key},
        prelude::*,
    },
    path::is_refused_probe,
    source::entry,
    special::{discarded_writes, schema},
    tree,
    write::{FileId, ItemTarget, TextTarget, WriteFailure, report::render_report},
};
use crate::model::{
    api::{
        PutItemRequest,
        table_control::{TrashChange, TrashKey},
    },
    error::ValueError,
};

/// The flags of a rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenameFlags {
    /// RENAME_NOREPLACE.
    pub no_replace: bool,
    /// RENAME_EXCHANGE.
    pub exchange: bool,
    /// A flag that is not known.
    pub other: bool,
}

impl View {
    /// Moves a name, and answers after the commit.
    pub fn rename(
        &self,
        old_parent: u64,
        old_name: &[u8],
        new_parent: u64,
        new_name: &[u8],
        flags: RenameFlags,
        reply: Reply<()>,
    ) {
        let pid = self.caller().pid;
        let parents = self
            .node(old_parent)
            .and_then(|old| Ok((old, self.node(new_parent)?)));
        let (old_parent, new_parent) = or_reply!(reply, parents);
        or_reply!(reply, self.check_change(&old_parent));
        or_reply!(reply, self.check_change(&new_parent));
        let to = NewName {
            parent: &new_parent,
            name: new_name,
        };
        let resolved = tree::resolve(self.mount(), &old_parent, old_name);
        let believed = self.cached_items(resolved.as_ref().ok(), to, flags);
        if !self.kernel_cache.begin_rename(&believed, pid) {
            return reply(Err(FsError::Stale));
        }
        let path = format!(
            "{} to {}",
            self.child_path(&old_parent, old_name),
            self.child_path(&new_parent, new_name)
        );
        let view = self.clone();
        let path_clone = path.clone();
        let (made_in, made) = (new_parent.ino(), new_name.to_owned());
        let reply: RenameReply = Box::new(move |ended| {
            view.kernel_cache.end_rename(&believed, pid);
            reply(match ended {
                Ok(()) => {
                    view.mount().error_log.forget_lookups(made_in, &made);
                    Ok(())
                }
                Err(WriteFailure { error, report }) if report.is_empty() => {
                    record_error(&view.host, "rename", || path, Err(error))
                }
                Err(failure) => Err(view.host.record("rename", path_clone, failure)),
            });
        });
        match resolved {
            Ok(old) => {
                // The kernel carries over the names that it knows in a folder; it locks the
                // folder's parent, not the folder.
                let view = if old.kind() == NodeKind::Directory {
                    self.with_wait(WaitPolicy::Short)
                } else {
                    self.clone()
                };
                view.move_node(&old_parent, &old, to, flags, reply);
            }
            Err(error) => reply(Err(error.into())),
        }
    }

    /// Returns the items that the kernel may have cached among those that a rename takes from their
    /// names: the kernel carries them over to other names. While the rename holds the locks of both
    /// directories it gets no answer about them that it may cache ([`super::kernel_cache`]). A
    /// folder keeps its inode number.
    fn cached_items(&self, old: Option<&Node>, to: NewName<'_>, flags: RenameFlags) -> Vec<u64> {
        let new = flags
            .exchange
            .then(|| tree::resolve(self.mount(), to.parent, to.name).ok())
            .flatten();
        let items = old
            .into_iter()
            .chain(&new)
            .filter(|node| cached_item(node).is_some());
        items
            .map(Node::ino)
            .filter(|ino| self.inodes.mark_of(self.inodes.number(*ino)).is_some())
            .collect()
    }

    /// Moves a node of the directory `parent`. A report that is empty is made from the error.
    fn move_node(
        &self,
        parent: &Node,
        old: &Node,
        to: NewName<'_>,
        flags: RenameFlags,
        reply: RenameReply,
    ) {
        let Some(new) = or_reply!(reply, self.resolve_target(old, to, flags)) else {
            return reply(Ok(()));
        };
        let result = match (old, new) {
            // The order of the arms decides: pairs of two stored items first, then exchanges, which
            // nothing else takes.
            (Node::Entry(old), Ok(Node::Entry(new)))
                if old.source.index.is_none() && new.source.index.is_none() =>
            {
                return self.rekey_item(old, &new, flags, reply);
            }
            (Node::Entry(old), Ok(Node::Alias(_))) if old.source.index.is_none() => {
                let problem = "the new name is a shortened one, which does not say the key; write the item with its key in it";
                Err(rename_failure(
                    FsError::Body(problem.to_owned()),
                    &[],
                    "Nothing is changed.",
                ))
            }
            (_, Ok(_)) if flags.exchange => {
                Err(FsError::Invalid("only two items of a table are exchanged").into())
            }
            (
                old @ Node::Collection(SourceName { index: None, .. }, _),
                Ok(new @ Node::Collection(SourceName { index: None, .. }, _)),
            ) => {
                return self.rekey_folder(old, &new, reply);
            }
            // A file in the trash is a special node: it comes before the general case of those.
            (old, new) if trash_key(old).is_some() => {
                return self.move_trash(trash_key(old).cloned(), new, to, flags.no_replace, reply);
            }
            (Node::Special(special), _) if parent == to.parent => {
                // It waits for a commit: not on an event thread.
                let (host, special, name) = (self.host.clone(), special.clone(), to.name.to_vec());
                return self.host.run_short(move || {
                    let name = name_text(&name);
                    let renamed = name.and_then(|name| {
                        node_ops(&special).rename(At::new(&special, &host), name, !flags.no_replace)
                    });
                    reply(renamed.map_err(WriteFailure::from));
                });
            }
            (Node::Special(_), _) => Err(FsError::CrossDevice.into()),
            (Node::Scratch(id), Ok(new @ (Node::Entry(_) | Node::Alias(_)))) => {
                return self.put_scratch(MovedFile::Memory(*id), &new, flags.no_replace, reply);
            }
            (Node::Scratch(id), Ok(Node::Schema(source))) if source.index.is_none() => {
                self.put_schema(*id, &source.table)
            }
            (Node::Scratch(id), Ok(Node::Scratch(_)) | Err(FsError::NotFound)) => {
                return self.move_scratch(*id, to, reply);
            }
            // Editors keep a backup so: the item goes to a name that is no item's, and is written
            // again right after.
            (Node::Entry(old), Ok(Node::Scratch(_)) | Err(FsError::NotFound))
                if old.source.index.is_none() =>
            {
                self.hide_item(old, to).map_err(WriteFailure::from)
            }
            (old, Err(error)) if error != FsError::NotFound && old.kind() == NodeKind::File => {
                Err(error.into())
            }
            (old, _) => Err(self.rename_refusal(old).into()),
        };
        reply(result);
    }

    /// Returns the node of the new name, or the error if it can have none. Returns `None` if the
    /// rename is done, as of a node that is forgotten anyway.
    fn resolve_target(
        &self,
        old: &Node,
        to: NewName<'_>,
        flags: RenameFlags,
    ) -> Result<Option<Result<Node>>> {
        if flags.other {
            return Err(FsError::Invalid("this way of renaming is not known"));
        }
        // The kernel may have cached the name of a directory that is gone.
        self.quick_attr(to.parent)?;
        let new = tree::resolve(self.mount(), to.parent, to.name);
        // A name may stand for a node that does not exist: the node of an item that was never
        // stored follows from its name alone.
        let exists = new.as_ref().is_ok_and(|new| self.quick_attr(new).is_ok());
        // A file in the trash goes when another takes its place.
        let new = new.and_then(|new| {
            if trash_key(&new).is_some() {
                Err(FsError::NotFound)
            } else {
                Ok(new)
            }
        });
        if flags.no_replace && exists {
            return Err(FsError::Exists);
        }
        if flags.exchange && !exists {
            return Err(FsError::NotFound);
        }
        if !discarded_writes::is_discarded(self.mount(), old) || !can_discard_in(to.parent) {
            return Ok(Some(new));
        }
        if let Ok(replaced) = &new {
            self.inodes.remove_dir(replaced);
        }
        discarded_writes::rename(
            self.mount(),
            old,
            to.parent,
            name_text(to.name)?,
            flags.exchange,
            exists,
        );
        Ok(None)
    }

    /// Returns the error of a node that cannot be moved. `mv` copies and deletes on `CrossDevice`.
    fn rename_refusal(&self, old: &Node) -> FsError {
        if let Err(error) = self.quick_attr(old) {
            return error;
        }
        match old {
            Node::Entry(entry) if entry.source.index.is_none() => FsError::CrossDevice,
            Node::Collection(source, _) if source.index.is_none() => FsError::CrossDevice,
            Node::Scratch(_) => FsError::CrossDevice,
            Node::Table(_) => FsError::NotPermitted("a table keeps its name"),
            Node::Schema(_)
            | Node::Stats(_)
            | Node::Items(_)
            | Node::Indexes(..)
            | Node::DraftFolder(..) => FsError::NotPermitted("this name is part of its table"),
            _ => FsError::Derived,
        }
    }

    /// Makes an item of the text of a scratch file; then the file is gone. The item must be of the
    /// version that the process read.
    fn put_scratch(&self, moving: MovedFile, new: &Node, no_replace: bool, reply: RenameReply) {
        let pid = self.caller().pid;
        let (mut request, target, text) =
            or_reply!(reply, self.scratch_request(&moving, new, no_replace));
        let schema = or_reply!(reply, self.mount().schema(&request.table_name));
        let (key, table) = (request.item.key(&schema.key), request.table_name.clone());
        // If the process read the item, it must still be of that version, or absent.
        let known = key
            .as_ref()
            .and_then(|key| self.host.read_versions.version(item_ino(&table, key), pid));
        request.precondition = request
            .precondition
            .or(known.map(Precondition::VersionOrAbsent));
        let host = self.host.clone();
        let is_plain = request.precondition.is_none() && !self.mount().has_hidden();
        let gathering = key
            .as_ref()
            .filter(|_| is_plain && self.mount().options.writeback)
            .map(|key| host.write_behind("rename", &table, key, self.mount().display_path(new)));
        let context = host.with_gathering(gathering).context();
        self.host.put_item(
            request,
            key.clone(),
            pid,
            VersionReply::new(context, move |outcome| match outcome {
                Ok(version) => {
                    host.cache_written_text(&target, version, &text);
                    match moving {
                        // It may have been unlinked meanwhile.
                        MovedFile::Memory(id) => {
                            host.deletes.forget_scratch(id, Box::new(|_| reply(Ok(()))))
                        }
                        MovedFile::Trash(place) => host
                            .deletes
                            .change_trash(TrashChange::Remove(place), Box::new(|_| reply(Ok(())))),
                    }
                }
                Err(Error::ConditionalCheckFailed { .. }) if no_replace => {
                    reply(Err(FsError::Exists.into()))
                }
                Err(Error::ConditionalCheckFailed { .. }) => {
                    debug_assert!(known.is_some(), "refused without a condition");
                    let (host_clone, since) = (host.clone(), known.unwrap_or_default());
                    // The report reads the store: not on the committer.
                    host.run_short(move || {
                        let (versions, mount) = (&host_clone.read_versions, &host_clone.mount);
                        let of_key = |key| {
                            versions.conflict_report(
                                mount,
                                &FsError::Stale,
                                &table,
                                &key,
                                since,
                                "The item is unchanged.",
                            )
                        };
                        let report = key.map(of_key).unwrap_or_default();
                        reply(Err(WriteFailure {
                            error: FsError::InvalidMove(Box::new(FsError::Stale)),
                            report,
                        }));
                    });
                }
                Err(error) => {
                    let error = match error {
                        Error::Value(ValueError::ItemTooLarge) => FsError::TooLarge,
                        error => error.into(),
                    };
                    reply(Err(rename_failure(error, &[], "The item is unchanged.")));
                }
            }),
        );
    }

    /// Makes the request, and returns the target and the text that it is made from.
    fn scratch_request(
        &self,
        moving: &MovedFile,
        new: &Node,
        no_replace: bool,
    ) -> Result<(PutItemRequest, ItemTarget, Vec<u8>), WriteFailure> {
        let target = entry::target(self.mount(), new)?;
        let text = self.read_moving(moving)?;
        let precondition = no_replace.then_some(Precondition::Absent);
        let commit = target.request(&text, precondition).map_err(|error| {
            if let Some(key) = target.known_key() {
                self.host.revive_item(&target.table, &key);
            }
            rename_failure(error, &text, target.unchanged())
        })?;
        self.mount()
            .error_log
            .warn(&self.mount().display_path(new), commit.warnings);
        Ok((commit.request, target, text))
    }

    /// Makes a table's definition of the text of a scratch file (`rsync`, editors); then the file
    /// is gone.
    fn put_schema(&self, id: FileId, table: &TableName) -> Result<(), WriteFailure> {
        let text = self.mount().scratch.lock().content(id)?;
        let target = schema::target(self.mount(), table)?;
        let stored = target.request(&text).and_then(|commit| {
            self.mount().error_log.warn(
                &self
                    .mount()
                    .display_path(&Node::Schema(SourceName::from(&target.table))),
                commit.warnings,
            );
            Ok(schema::apply(&self.host, &target.table, commit.request)?)
        });
        stored.map_err(|error| rename_failure(error, &text, target.unchanged()))?;
        // It may have been unlinked meanwhile.
        let _ = self.mount().scratch.lock().remove(id);
        Ok(())
    }

    fn read_moving(&self, moving: &MovedFile) -> Result<Vec<u8>> {
        match moving {
            MovedFile::Memory(id) => self.mount().scratch.lock().content(*id),
            MovedFile::Trash(place) => Ok(self
                .mount()
                .db
                .trashed_at(place)?
                .ok_or(FsError::NotFound)?
                .1),
        }
    }

    /// Moves a file in memory to another scratch name. A text that the trash has under the old name
    /// follows, one under the new name goes.
    fn move_scratch(&self, id: FileId, to: NewName<'_>, reply: RenameReply) {
        let moved = scratch_name(self.mount(), to).and_then(|name| {
            self.mount().record_created(to.parent)?;
            // The lock of the scratch files is held from reading the old place to the move: a
            // second rename of the file waits.
            let mut scratch = self.mount().scratch.lock();
            let from = scratch
                .location(id)
                .map(|(directory, name)| (directory.clone(), name.to_owned()));
            scratch.rename(id, to.parent.clone(), &name, now_ms())?;
            Ok((
                from.and_then(|(directory, name)| trash_place(&directory, &name)),
                trash_place(to.parent, &name),
            ))
        });
        let places = or_reply!(reply, moved);
        // A failed look counts as not in the trash: the text stays in the store for its week.
        let is_trashed =
            |place: &TrashKey| matches!(self.mount().db.trashed_at(place), Ok(Some(_)));
        let change = match places {
            (Some(from), Some(to)) if from != to && is_trashed(&from) => {
                TrashChange::Move { from, to }
            }
            (Some(from), Some(to)) if from != to && is_trashed(&to) => TrashChange::Remove(to),
            _ => return reply(Ok(())),
        };
        let reply: Reply<()> = Box::new(|ended| reply(ended.map_err(WriteFailure::from)));
        self.host.deletes.change_trash(change, reply);
    }

    /// Moves a file in the trash: onto an item this is a PutItem; under another scratch name it
    /// stays there.
    fn move_trash(
        &self,
        source: Option<TrashKey>,
        new: Result<Node>,
        target: NewName<'_>,
        no_replace: bool,
        reply: RenameReply,
    ) {
        let source = or_reply!(reply, source.ok_or(FsError::NotFound));
        match new {
            Ok(new @ (Node::Entry(_) | Node::Alias(_))) => {
                self.put_scratch(MovedFile::Trash(source), &new, no_replace, reply);
            }
            new @ (Ok(Node::Scratch(_)) | Err(FsError::NotFound)) => {
                let to = or_reply!(reply, new_trash_place(self.mount(), target));
                let (view, hidden) = (self.clone(), new.ok());
                let done = move |ended: Result<()>| {
                    if let (Ok(()), Some(Node::Scratch(id))) = (&ended, hidden) {
                        // Its place is taken.
                        let _ = view.mount().scratch.lock().remove(id);
                    }
                    reply(ended.map_err(WriteFailure::from));
                };
                let change = TrashChange::Move { from: source, to };
                self.host.deletes.change_trash(change, Box::new(done));
            }
            Ok(_) | Err(_) => reply(Err(FsError::CrossDevice.into())),
        }
    }

    /// Copies the item's text into a scratch file and hides the item until its delete is due or it
    /// is written again.
    fn hide_item(&self, old: &EntryNode, to: NewName<'_>) -> Result<()> {
        let name = new_trash_place(self.mount(), to)?.name;
        let (text, stat) = entry::text(self.mount(), old)?;
        // The copy first: if the item were hidden without it, the text would be nowhere for a
        // moment.
        let file = self
            .mount()
            .fill_scratch(to.parent, &name, &text, now_ms())?;
        let place = (old.source.table.clone(), old.key.base.clone());
        self.host.deletes.hide(place, stat.version, file, old.form);
        Ok(())
    }
}

/// A new name in a directory.
#[derive(Clone, Copy)]
struct NewName<'n> {
    parent: &'n Node,
    name: &'n [u8],
}

/// A scratch file that becomes an item.
enum MovedFile {
    Memory(FileId),
    Trash(TrashKey),
}

/// Returns the place in the trash of an item that is moved to this name.
fn new_trash_place(mount: &Mount, to: NewName<'_>) -> Result<TrashKey> {
    let name = scratch_name(mount, to)?;
    trash_place(to.parent, &name).ok_or(FsError::NotPermitted(
        "an item's text is kept in items/ only, in a folder whose key is known",
    ))
}

/// A callback that gets the result of a rename; a report that is empty is made from the error.
pub(super) type RenameReply = Box<dyn FnOnce(Result<(), WriteFailure>) + Send>;

/// Makes the failure of a text that cannot become the file onto which it is moved.
pub(super) fn rename_failure(error: FsError, text: &[u8], unchanged: &str) -> WriteFailure {
    let report = render_report(text, &error, unchanged);
    WriteFailure {
        error: FsError::InvalidMove(Box::new(error)),
        report,
    }
}

/// Returns the name in memory that a file may be moved to.
fn scratch_name(mount: &Mount, to: NewName<'_>) -> Result<String> {
    let name = name_text(to.name)?;
    if is_refused_probe(name) || tree::check_scratch(mount, to.parent, name).is_err() {
        return Err(FsError::CrossDevice);
    }
    Ok(name.to_owned())
}
