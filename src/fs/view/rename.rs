//! rename: a scratch file onto an item is a PutItem; an item onto a scratch name hides it and deletes it a little later; items and
//! folders onto other keys are for `rekey.rs`.

use super::View;
use super::kernel_cache::item_of;
use crate::fs::mount::is_place_of_dropped;
use crate::fs::open::prelude::*;
use crate::fs::path::scratch_name::{is_refused_probe, is_schema_scratch_name, is_scratch_name};
use crate::fs::source::entry;
use crate::fs::source::scratch::place_in;
use crate::fs::special::{dropped, schema};
use crate::fs::tree;
use crate::fs::write::Target;
use crate::fs::write::report::report;
use crate::fs::{
    open::{
        host::on_behalf_of,
        room::{parked, room},
        text::warn,
    },
    write::{Failure, FileId, ItemTarget},
};
use crate::model::{
    api::{
        PutItemRequest,
        parked::{ParkedChange, ParkedPlace},
    },
    error::ValueError,
};

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
        if let Err(error) = self.may_change(&old_parent).and_then(|()| self.may_change(&new_parent)) {
            let path = || self.child_path(&old_parent, from.1);
            return reply(self.noted_at(caller, "rename", path, Err(error)));
        }
        let resolved = tree::resolve(&self.mount, &old_parent, from.1);
        let believed = self.believed(resolved.as_ref().ok(), (&new_parent, to.1), flags);
        if !self.kernel_cache.begin_rename(&believed, caller.pid) {
            return reply(Err(FsError::Stale));
        }
        let path = format!("{} to {}", self.child_path(&old_parent, from.1), self.child_path(&new_parent, to.1));
        let view = Arc::clone(self);
        let again = path.clone();
        let (made_in, made) = (new_parent.ino(), to.1.to_owned());
        let reply: Moved = Box::new(move |ended| {
            view.kernel_cache.end_rename(&believed, caller.pid);
            reply(match ended {
                Ok(()) => {
                    view.mount.journal.made(made_in, &made);
                    Ok(())
                }
                Err(Failure { error, report }) if report.is_empty() => view.noted_at(caller, "rename", || path, Err(error)),
                Err(failure) => Err(view.note_failure(caller, "rename", again, failure)),
            });
        });
        match resolved {
            Ok(old) => {
                let names = Names { from: (&old_parent, from.1), to: (&new_parent, to.1), flags };
                // What is in a folder goes by names that the kernel carries over; it locks the folder's parent, not the folder.
                let caller = if old.kind() == Kind::Directory { caller.waiting(WaitPolicy::Short) } else { caller };
                self.move_node(caller, &old, names, reply);
            }
            Err(error) => reply(Err(plain(error))),
        }
    }

    /// The items that the kernel may believe in of what a rename takes from its name, and carry over to another. It takes no answer about
    /// them that lasts while the rename has the locks of both directories ([`super::kernel_cache`]). A folder keeps its inode number.
    fn believed(&self, old: Option<&Node>, to: (&Node, &[u8]), flags: RenameFlags) -> Vec<u64> {
        let new = flags.exchange.then(|| tree::resolve(&self.mount, to.0, to.1).ok()).flatten();
        let items = old.into_iter().chain(&new).filter(|node| item_of(node).is_some());
        items.map(Node::ino).filter(|ino| self.inodes.marked(*ino).is_some()).collect()
    }

    fn move_node(self: &Arc<Self>, caller: Caller, old: &Node, names: Names<'_>, reply: Moved) {
        let Names { from, to, flags } = names;
        if flags.other {
            return reply(Err(plain(FsError::Invalid("this way of renaming is not known"))));
        }
        if let Err(error) = self.attr_of(to.0, caller) {
            return reply(Err(plain(error)));
        }
        let new = tree::resolve(&self.mount, to.0, to.1);
        // A name may mean something and not be there: of an item never stored the node is known from its name alone.
        let exists = new.as_ref().is_ok_and(|new| self.attr_of(new, caller).is_ok());
        // A parked file goes when another takes its place.
        let new = new.and_then(|new| if parked(&new).is_some() { Err(FsError::NotFound) } else { Ok(new) });
        if flags.no_replace && exists {
            return reply(Err(plain(FsError::Exists)));
        }
        if flags.exchange && !exists {
            return reply(Err(plain(FsError::NotFound)));
        }
        if dropped::is_dropped(&self.mount, old) && is_place_of_dropped(to.0) {
            dropped::forget(&self.mount, old);
            if let Ok(replaced) = &new {
                self.inodes.removed(replaced);
            }
            if let (false, Ok(name)) = (exists, std::str::from_utf8(to.1)) {
                dropped::make(&self.mount, to.0, name, old.kind());
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
            (old, new) if parked(old).is_some() => {
                self.move_parked(caller, parked(old).cloned(), new, (to, flags.no_replace), reply);
            }
            (Node::Special(special), _) if from.0 == to.0 => {
                let (view, special, name) = (Arc::clone(self), special.clone(), to.1.to_vec());
                self.run_elsewhere(Box::new(move || {
                    let name = name_text(&name);
                    reply(name.and_then(|name| room(&special)?.rename(&special, &*view, name, !flags.no_replace)).map_err(plain));
                }));
            }
            (Node::Special(_), _) => reply(Err(plain(FsError::CrossDevice))),
            (Node::Scratch(id), Ok(new @ (Node::Entry(_) | Node::Alias(_)))) => {
                self.put_scratch(caller, Moving::Memory(*id), &new, flags.no_replace, reply);
            }
            (Node::Scratch(id), Ok(Node::Schema(source))) if source.index.is_none() => {
                reply(self.put_schema(*id, source.table.clone()));
            }
            (Node::Scratch(id), Ok(Node::Scratch(_)) | Err(FsError::NotFound)) => self.move_scratch(*id, to, reply),
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
    fn put_scratch(self: &Arc<Self>, caller: Caller, moving: Moving, new: &Node, no_replace: bool, reply: Moved) {
        let (mut request, target, text) = match self.scratch_request(&moving, new, no_replace) {
            Ok(request) => request,
            Err(failure) => return reply(Err(failure)),
        };
        let schema = match self.mount.schema(&request.table_name) {
            Ok(schema) => schema,
            Err(error) => return reply(Err(plain(error))),
        };
        let (key, table) = (request.item.key(&schema.key), request.table_name.clone());
        let known = key.as_ref().and_then(|key| self.known_version(&table, key, caller.pid));
        request.precondition = request.precondition.or(known.map(Precondition::VersionOrAbsent));
        let view = Arc::clone(self);
        self.put_item(
            request,
            caller.pid,
            Outcome::new(on_behalf_of(&**self, caller.pid, caller.wait), move |outcome| match outcome {
                Ok(version) => {
                    view.keep_written(&target, version, &text);
                    match moving {
                        // It may have been unlinked meanwhile.
                        Moving::Memory(id) => view.forget_scratch(id, Box::new(|_| reply(Ok(())))),
                        Moving::Parked(place) => view.change_parked(ParkedChange::Remove(place), Box::new(|_| reply(Ok(())))),
                    }
                }
                Err(Error::ConditionalCheckFailed { .. }) if no_replace => reply(Err(plain(FsError::Exists))),
                Err(Error::ConditionalCheckFailed { .. }) => {
                    let (again, since) = (Arc::clone(&view), known.unwrap_or_default());
                    view.run_elsewhere(Box::new(move || {
                        let report =
                            key.map(|key| again.stale_report(&FsError::Stale, (&table, &key), since, "The item is unchanged."));
                        let report = report.unwrap_or_default();
                        reply(Err(Failure { error: FsError::Moved(Box::new(FsError::Stale)), report }));
                    }));
                }
                Err(Error::Value(ValueError::ItemTooLarge)) => {
                    reply(Err(moved(FsError::TooLarge, &[], "The item is unchanged.")));
                }
                Err(error) => reply(Err(moved(error.into(), &[], "The item is unchanged."))),
            }),
        );
    }

    /// The request, and what it is made of.
    fn scratch_request(
        &self,
        moving: &Moving,
        new: &Node,
        no_replace: bool,
    ) -> Result<(PutItemRequest, ItemTarget, Vec<u8>), Failure> {
        let target = entry::target(&self.mount, new).map_err(plain)?;
        let text = self.moving_text(moving).map_err(plain)?;
        let precondition = no_replace.then_some(Precondition::Absent);
        let commit = target.request(&text, precondition).map_err(|error| {
            self.bring_back(&target);
            moved(error, &text, target.unchanged())
        })?;
        warn(self, &self.mount.path(new), commit.warnings);
        Ok((commit.request, target, text))
    }

    /// The text of a scratch file becomes a table's definition (`rsync`, editors); then the file is gone.
    fn put_schema(&self, id: FileId, table: TableName) -> Result<(), Failure> {
        let text = self.mount.scratch.lock().content(id).map_err(plain)?;
        let target = schema::target(&self.mount, &table).map_err(plain)?;
        let stored = target.request(&text, None).and_then(|commit| {
            warn(self, &self.mount.path(&Node::Schema(base(&target.table))), commit.warnings);
            Ok(schema::store(self, &target.table, commit.request)?)
        });
        stored.map_err(|error| moved(error, &text, target.unchanged()))?;
        // It may have been unlinked meanwhile.
        let _ = self.mount.scratch.lock().remove(id);
        Ok(())
    }

    fn moving_text(&self, moving: &Moving) -> Result<Vec<u8>, FsError> {
        match moving {
            Moving::Memory(id) => self.mount.scratch.lock().content(*id),
            Moving::Parked(place) => Ok(self.mount.db.parked_at(place)?.ok_or(FsError::NotFound)?.1),
        }
    }

    /// A file in memory to another scratch name. What is parked under its old name follows, what is under the new one goes.
    fn move_scratch(self: &Arc<Self>, id: FileId, to: (&Node, &[u8]), reply: Moved) {
        let moved = scratch_name(to).and_then(|name| {
            self.mount.remember_birth(to.0)?;
            let mut scratch = self.mount.scratch.lock();
            let from = scratch.place(id).map(|(directory, name)| (directory.clone(), name.to_owned()));
            scratch.rename(id, (to.0.clone(), &name), now_ms())?;
            Ok((from.and_then(|(directory, name)| place_in(&directory, &name)), place_in(to.0, &name)))
        });
        let places = match moved {
            Ok(places) => places,
            Err(error) => return reply(Err(plain(error))),
        };
        let is_parked = |place: &ParkedPlace| matches!(self.mount.db.parked_at(place), Ok(Some(_)));
        match places {
            (Some(from), Some(to)) if from != to && is_parked(&from) => {
                self.change_parked(ParkedChange::Move { from, to }, Box::new(|ended| reply(ended.map_err(plain))));
            }
            (Some(from), Some(to)) if from != to && is_parked(&to) => {
                self.change_parked(ParkedChange::Remove(to), Box::new(|ended| reply(ended.map_err(plain))));
            }
            _ => reply(Ok(())),
        }
    }

    /// A parked file onto an item is a PutItem; to another scratch name it stays parked.
    fn move_parked(
        self: &Arc<Self>,
        caller: Caller,
        from: Option<ParkedPlace>,
        new: Result<Node, FsError>,
        (to, no_replace): ((&Node, &[u8]), bool),
        reply: Moved,
    ) {
        let Some(from) = from else { return reply(Err(plain(FsError::NotFound))) };
        match new {
            Ok(new @ (Node::Entry(_) | Node::Alias(_))) => {
                self.put_scratch(caller, Moving::Parked(from), &new, no_replace, reply);
            }
            new @ (Ok(Node::Scratch(_)) | Err(FsError::NotFound)) => match parking_place(to) {
                Ok(to) => {
                    let (view, hidden) = (Arc::clone(self), new.ok());
                    let change = ParkedChange::Move { from, to };
                    let done = move |ended: Result<(), FsError>| {
                        if let (Ok(()), Some(Node::Scratch(id))) = (&ended, hidden) {
                            // Its place is taken.
                            let _ = view.mount.scratch.lock().remove(id);
                        }
                        reply(ended.map_err(plain));
                    };
                    self.change_parked(change, Box::new(done));
                }
                Err(error) => reply(Err(plain(error))),
            },
            Ok(_) | Err(_) => reply(Err(plain(FsError::CrossDevice))),
        }
    }

    fn change_parked(self: &Arc<Self>, change: ParkedChange, reply: Reply<()>) {
        let view = Arc::clone(self);
        self.run_elsewhere(Box::new(move || reply(view.mount.db.change_parked(change).map(drop).map_err(FsError::from))));
    }

    /// The item's text goes into a scratch file; the item is hidden until its delete is due or it is written again.
    fn hide_item(&self, old: &EntryNode, to: (&Node, &[u8])) -> Result<(), FsError> {
        let name = parking_place(to)?.name;
        let (text, stat) = entry::text(&self.mount, old)?;
        // The copy first: hidden without it the text would be nowhere for a moment.
        let file = self.mount.fill_scratch(to.0, &name, &text, now_ms())?;
        let place = (old.source.table.clone(), old.key.base.clone());
        self.mount.with_deferred(|deferred| deferred.hide(place, stat.version, (file, old.form), now_ms()));
        // Taken and given back: the keeper has either not looked at the deadlines yet, or it sleeps and hears the call. Without
        // it the call could fall between its look and its sleep.
        drop(self.keeper.stop.lock());
        self.keeper.wake.notify_all();
        Ok(())
    }
}

/// A scratch file that becomes an item.
enum Moving {
    Memory(FileId),
    Parked(ParkedPlace),
}

/// Where an item that is moved to this name is parked.
fn parking_place(to: (&Node, &[u8])) -> Result<ParkedPlace, FsError> {
    let name = scratch_name(to)?;
    place_in(to.0, &name).ok_or(FsError::NotPermitted("an item's text is kept in items/ only, in a folder whose key is known"))
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

/// The name in memory that a file may be moved to.
fn scratch_name(to: (&Node, &[u8])) -> Result<String, FsError> {
    let name = name_text(to.1)?;
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
