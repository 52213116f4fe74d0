//! rename: a scratch file onto an item is a PutItem; an item onto a scratch name hides it and deletes it a little later; items and
//! folders onto other keys are for `rekey.rs`.

use std::sync::Arc;

use super::{Caller, Reply, View};
use crate::database::Source;
use crate::fs::FsError;
use crate::fs::node::{EntryNode, Kind, Node, base};
use crate::fs::special::dropped;
use crate::fs::tree::{items, now_ms};
use crate::fs::write::report::report;
use crate::fs::write::scratch::FileId;
use crate::fs::write::{Failure, Target, is_refused_probe, is_schema_scratch_name, is_scratch_name};
use crate::model::api::{Precondition, PutItemRequest};
use crate::model::error::ValueError;
use crate::model::{Error, TableName};

/// How a name is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenameFlags {
    /// RENAME_NOREPLACE.
    pub no_replace: bool,
    /// RENAME_EXCHANGE.
    pub exchange: bool,
    /// One not known.
    pub other: bool,
}

impl View {
    /// RENAME, answered after its commit.
    pub fn rename(self: &Arc<Self>, caller: Caller, from: (u64, &[u8]), to: (u64, &[u8]), flags: RenameFlags, reply: Reply<()>) {
        let parents = self.node(from.0).and_then(|old| Ok((old, self.node(to.0)?)));
        let (old_parent, new_parent) = match parents {
            Ok(parents) => parents,
            Err(error) => return reply(Err(error)),
        };
        let path = format!("{} to {}", self.child_path(&old_parent, from.1), self.child_path(&new_parent, to.1));
        let view = Arc::clone(self);
        let again = path.clone();
        let (made_in, made) = (new_parent.ino(), to.1.to_owned());
        let reply: Moved = Box::new(move |ended| {
            reply(match ended {
                Ok(()) => {
                    view.tree.journal.made(made_in, &made);
                    Ok(())
                }
                Err(Failure { error, report }) if report.is_empty() => view.noted_at(caller, "rename", || path, Err(error)),
                Err(failure) => Err(view.noted_failure(caller, "rename", &again, failure)),
            });
        });
        match self.tree.resolve(&old_parent, from.1) {
            Ok(old) => {
                let names = Names { from: (&old_parent, from.1), to: (&new_parent, to.1), flags };
                self.move_node(caller, &old, names, reply);
            }
            Err(error) => reply(Err(plain(error))),
        }
    }

    fn move_node(self: &Arc<Self>, caller: Caller, old: &Node, names: Names<'_>, reply: Moved) {
        let Names { from, to, flags } = names;
        if flags.other {
            return reply(Err(plain(FsError::Invalid("this way of renaming is not known"))));
        }
        if let Err(error) = self.attr_of(to.0, caller) {
            return reply(Err(plain(error)));
        }
        let new = self.tree.resolve(to.0, to.1);
        let exists = new.as_ref().is_ok_and(|new| self.attr_of(new, caller).is_ok());
        if flags.no_replace && exists {
            return reply(Err(plain(FsError::Exists)));
        }
        if flags.exchange && !exists {
            return reply(Err(plain(FsError::NotFound)));
        }
        if dropped::is_dropped(&self.tree, old) && dropped::is_place(to.0) {
            dropped::forget(&self.tree, old);
            if let (false, Ok(name)) = (exists, std::str::from_utf8(to.1)) {
                dropped::make(&self.tree, to.0, name, old.kind());
            }
            return reply(Ok(()));
        }
        match (old, new) {
            (Node::Entry(old), Ok(Node::Entry(new))) if old.source.index.is_none() && new.source.index.is_none() => {
                self.rekey_item(caller, old, &new, flags, reply);
            }
            (Node::Entry(old), Ok(Node::Alias(_))) if old.source.index.is_none() => {
                let problem = "the new name is a shortened one, which does not say the key; write the item with its key in it";
                reply(Err(moved(FsError::Body(problem.to_owned()), &[], "Nothing is changed.")));
            }
            (_, Ok(_)) if flags.exchange => reply(Err(plain(FsError::Invalid("only two items of a table are exchanged")))),
            (old @ Node::Collection(Source { index: None, .. }, _), Ok(new @ Node::Collection(Source { index: None, .. }, _))) => {
                self.rekey_folder(caller, old, &new, reply);
            }
            (Node::Special(special), _) if from.0 == to.0 => {
                let (view, special, name) = (Arc::clone(self), special.clone(), to.1.to_vec());
                self.run_elsewhere(Box::new(move || {
                    let name = std::str::from_utf8(&name).map_err(|_| FsError::Invalid(NOT_TEXT));
                    reply(name.and_then(|name| special.0.rename(&view, name, !flags.no_replace)).map_err(plain));
                }));
            }
            (Node::Special(_), _) => reply(Err(plain(FsError::CrossDevice))),
            (Node::Scratch(id), Ok(new @ (Node::Entry(_) | Node::Alias(_)))) => {
                self.put_scratch(caller, *id, from, &new, flags.no_replace, reply);
            }
            (Node::Scratch(id), Ok(Node::Schema(source))) if source.index.is_none() => {
                reply(self.put_schema(*id, from, source.table.clone()));
            }
            (Node::Scratch(_), Ok(Node::Scratch(_)) | Err(FsError::NotFound)) => reply(self.move_scratch(from, to).map_err(plain)),
            (Node::Entry(old), Ok(Node::Scratch(_)) | Err(FsError::NotFound)) if old.source.index.is_none() => {
                reply(self.hide_item(old, to).map_err(plain));
            }
            (old, Err(error)) if error != FsError::NotFound && old.kind() == Kind::File => reply(Err(plain(error))),
            (old, _) => reply(Err(plain(self.cannot_move(caller, old)))),
        }
    }

    /// `mv` copies and deletes what crosses devices.
    fn cannot_move(&self, caller: Caller, old: &Node) -> FsError {
        if let Err(error) = self.attr_of(old, caller) {
            return error;
        }
        match old {
            Node::Entry(entry) if entry.source.index.is_none() => FsError::CrossDevice,
            Node::Collection(source, _) if source.index.is_none() => FsError::CrossDevice,
            Node::Scratch(_) => FsError::CrossDevice,
            Node::Table(_) => FsError::NotPermitted("a table keeps its name"),
            Node::Schema(_) | Node::Stats(_) | Node::Items(_) | Node::Indexes(..) | Node::DraftFolder(..) => {
                FsError::NotPermitted("this name is part of its table")
            }
            _ => FsError::Derived,
        }
    }

    /// The text of a scratch file becomes the item; then the file is gone. What the process read must be what is there.
    fn put_scratch(self: &Arc<Self>, caller: Caller, id: FileId, from: (&Node, &[u8]), new: &Node, no_replace: bool, reply: Moved) {
        let mut request = match self.scratch_request(caller, id, new, no_replace) {
            Ok(request) => request,
            Err(failure) => return reply(Err(failure)),
        };
        let schema = match self.tree.schema(&request.table_name) {
            Ok(schema) => schema,
            Err(error) => return reply(Err(plain(error))),
        };
        let (key, table) = (request.item.key(&schema.key), request.table_name.clone());
        let known = key.as_ref().and_then(|key| self.known_version(&table, key, caller.pid));
        request.precondition = request.precondition.or(known.map(Precondition::Version));
        let (view, from) = (Arc::clone(self), (from.0.clone(), from.1.to_vec()));
        self.put(
            request,
            caller.pid,
            Box::new(move |outcome| match outcome {
                Ok(version) => {
                    if let Some(key) = &key {
                        view.wrote(&table, key, caller.pid, version);
                    }
                    if let Ok(name) = std::str::from_utf8(&from.1) {
                        // It may have been unlinked meanwhile.
                        let _ = view.tree.scratch.lock().remove(&from.0, name);
                    }
                    reply(Ok(()));
                }
                Err(Error::ConditionalCheckFailed { .. }) if no_replace => reply(Err(plain(FsError::Exists))),
                Err(Error::ConditionalCheckFailed { .. }) => reply(Err(moved(FsError::Stale, &[], "The item is unchanged."))),
                Err(Error::Value(ValueError::ItemTooLarge)) => {
                    reply(Err(moved(FsError::TooLarge, &[], "The item is unchanged.")));
                }
                Err(error) => reply(Err(moved(error.into(), &[], "The item is unchanged."))),
            }),
        );
    }

    fn scratch_request(&self, caller: Caller, id: FileId, new: &Node, no_replace: bool) -> Result<PutItemRequest, Failure> {
        let target = self.item_target(new).map_err(plain)?;
        let text = self.tree.scratch.lock().content(id).map_err(plain)?;
        let precondition = no_replace.then_some(Precondition::Absent);
        let commit = target.request(&text, precondition).map_err(|error| {
            self.bring_back(&target, caller.pid);
            moved(error, &text, target.unchanged())
        })?;
        self.warn(&self.tree.path(new), commit.warnings);
        Ok(commit.request)
    }

    /// The text of a scratch file becomes a table's definition (`rsync`, editors); then the file is gone.
    fn put_schema(&self, id: FileId, from: (&Node, &[u8]), table: TableName) -> Result<(), Failure> {
        let text = self.tree.scratch.lock().content(id).map_err(plain)?;
        let target = self.schema_target(&table).map_err(plain)?;
        let stored = target.request(&text, None).and_then(|commit| {
            self.warn(&self.tree.path(&Node::Schema(base(&target.table))), commit.warnings);
            Ok(self.store_schema(&target.table, commit.request)?)
        });
        stored.map_err(|error| moved(error, &text, target.unchanged()))?;
        if let Ok(name) = std::str::from_utf8(from.1) {
            // It may have been unlinked meanwhile.
            let _ = self.tree.scratch.lock().remove(from.0, name);
        }
        Ok(())
    }

    fn move_scratch(&self, from: (&Node, &[u8]), to: (&Node, &[u8])) -> Result<(), FsError> {
        let old = std::str::from_utf8(from.1).map_err(|_| FsError::NotFound)?;
        let new = scratch_name(to)?;
        self.tree.scratch.lock().rename((from.0, old), (to.0.clone(), &new), now_ms())
    }

    /// The item's text goes into a scratch file; the item is hidden until its delete is due or it is written again.
    fn hide_item(&self, old: &EntryNode, to: (&Node, &[u8])) -> Result<(), FsError> {
        let name = scratch_name(to)?;
        let (text, stat) = items::text(&self.tree, old)?;
        self.tree.scratch.lock().create_with(to.0.clone(), &name, &text, now_ms())?;
        let place = (old.source.table.clone(), old.key.base.clone());
        self.tree.with_deferred(|deferred| deferred.hide(place, stat.version, now_ms()));
        drop(self.keeper.stop.lock());
        self.keeper.wake.notify_all();
        Ok(())
    }
}

/// The names of a rename, each in its directory.
#[derive(Clone, Copy)]
struct Names<'a> {
    from: (&'a Node, &'a [u8]),
    to: (&'a Node, &'a [u8]),
    flags: RenameFlags,
}

/// Told how a rename ended; a report that is empty is made from the error.
pub(super) type Moved = Box<dyn FnOnce(Result<(), Failure>) + Send>;

pub(super) fn plain(error: FsError) -> Failure {
    Failure { error, report: String::new() }
}

/// A text that cannot become what it is moved onto.
pub(super) fn moved(error: FsError, text: &[u8], unchanged: &str) -> Failure {
    let report = report(text, &error, unchanged);
    Failure { error: FsError::Moved(Box::new(error)), report }
}

/// A name that is refused.
const NOT_TEXT: &str = "a name is UTF-8; write other bytes as %XX";

/// The name in memory that a file may be moved to.
fn scratch_name(to: (&Node, &[u8])) -> Result<String, FsError> {
    let name = std::str::from_utf8(to.1).map_err(|_| FsError::Invalid("a name is UTF-8; write other bytes as %XX"))?;
    match to.0 {
        Node::Items(Source { index: None, .. }) | Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_)
            if is_scratch_name(name) && !is_refused_probe(name) =>
        {
            Ok(name.to_owned())
        }
        Node::Table(_) if is_schema_scratch_name(name) => Ok(name.to_owned()),
        _ => Err(FsError::CrossDevice),
    }
}
