//! READ, WRITE, FLUSH, FSYNC, RELEASE, COPY_FILE_RANGE, and the size of SETATTR and GETATTR. The
//! steps of computed files ([`crate::fs::open::computed`]) are made on the threads for long calls,
//! never on those that serve the kernel.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::{NewAttr, View};
use crate::codec::dynamodb_json;
use crate::fs::{
    node::item_ino,
    open::{
        computed::{Computation, OpenComputed, WaitFor},
        host::record_error,
        prelude::*,
        text::{FileCall, log_failure, run_text_call},
    },
    process::{has_pending_signal, may_have_open, same_process, tgid_of},
    tree,
    write::{FileId, ItemTarget, KeyPart, TEXT_BYTES_MAX},
};
use crate::store::StoreInfo;

/// One side of a copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyRangeEnd {
    pub ino: u64,
    pub handle: u64,
    pub offset: u64,
}

/// The time for which steps are made before other work has its turn.
const TURN_TIME: Duration = Duration::from_millis(20);
/// The longest wait of one read for its units. A page of 1 MB, read consistently, owes 256 units: a
/// lone reader of a table with one unit a second has them by then.
const THROTTLE_WAIT_MAX: Duration = Duration::from_secs(300);
/// The pauses between two tries, each twice as long as the one before. Each try counts as throttled.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// The space that results leave free on a disk: at most this many bytes, and at most one part in
/// `FREE_PART_MIN`. Commits need it more.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;
const FREE_PART_MIN: u64 = 16;

impl View {
    /// Answers a call that could not reserve its memory. Otherwise returns a reply that counts the
    /// memory of the handle before it answers.
    fn with_reservation<T: 'static>(
        &self,
        number: u64,
        result: Result<()>,
        reply: Reply<T>,
    ) -> Option<Reply<T>> {
        if let Err(error) = result {
            reply(Err(error));
            return None;
        }
        let handles = Arc::clone(&self.handles);
        Some(Box::new(move |ended| {
            handles.recount(number);
            reply(ended);
        }))
    }

    /// Returns the bytes at `offset`, fewer than `size` only at the end. A query's result is
    /// read on a thread of its own.
    pub fn read(&self, number: u64, offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let handle = or_reply!(reply, self.handles.get(number).ok_or(FsError::BadHandle));
        // Memory is reserved before the read makes any: many readers of long results must not
        // exhaust it together.
        let reply = if handle.grows_on_read() {
            let Some(reply) =
                self.with_reservation(number, self.handles.reserve_read(number), reply)
            else {
                return;
            };
            reply
        } else {
            reply
        };
        match &*handle {
            Handle::Special(open) => Arc::clone(open).read(&self.host, offset, size, reply),
            Handle::Computed(_) => self.read_computed(handle, offset, size, reply),
            _ => reply(self.read_now(&handle, offset, size)),
        }
    }

    fn read_now(&self, handle: &Arc<Handle>, offset: u64, size: usize) -> Result<ReadBytes> {
        let bytes = match &**handle {
            Handle::Text(text, _) => return Ok(ReadBytes::from_text(text, offset, size)),
            Handle::Item(open) => self.read_text(open, offset, size),
            Handle::Scratch(id) => self
                .mount()
                .scratch
                .lock()
                .read(*id, offset, size, now_ms())?,
            Handle::Directory(_) => return Err(FsError::IsDirectory),
            Handle::Special(_) | Handle::Computed(_) => return Err(FsError::BadHandle),
        };
        Ok(ReadBytes::owned(bytes))
    }

    /// Reads the text of a file that is open for writing too. The reader has read the item, if the
    /// text is still that of the item.
    fn read_text(&self, open: &OpenText<ItemTarget>, offset: u64, size: usize) -> Vec<u8> {
        let state = open.state.lock();
        let target = state.writer.target();
        // The note is of the version in the handle: a commit of another program since then refuses
        // the write.
        if let (Some(version), Some(key)) = (state.writer.snapshot_version(), target.known_key()) {
            self.host.read_versions.record(
                item_ino(&target.table, &key),
                self.caller().pid,
                version,
            );
        }
        state.writer.read(offset, size).to_vec()
    }

    /// Writes all of `data`, or fails. Answered after the commit if the data completes an
    /// item.
    pub fn write(&self, number: u64, offset: u64, data: &[u8], reply: Reply<()>) {
        let handle = or_reply!(reply, self.handles.get(number).ok_or(FsError::BadHandle));
        // Before the text is copied: data that is refused must not have been held for a moment.
        let Some(reply) =
            self.with_reservation(number, self.handles.reserve(number, data.len()), reply)
        else {
            return;
        };
        let (host, call) = (&self.host, FileCall::write(offset, data));
        match &*handle {
            // A written plain text needs a notification of attributes only, which waits for no
            // lock; any other file waits for a moment only (`kernel_cache/invalidate.rs`).
            Handle::Item(open) if is_of_plain_text(open) => handle.call(host, call, reply),
            _ => handle.call(&host.with_wait(WaitPolicy::Short), call, reply),
        }
    }

    /// Closes a descriptor. An incomplete text of the closing process is an error.
    pub fn flush(&self, handle: u64, reply: Reply<()>) {
        self.end_changes(handle, FileCall::Flush, reply);
    }

    /// Ends the changes of a handle as FSYNC asks, like [`View::flush`].
    pub fn fsync(&self, handle: u64, reply: Reply<()>) {
        self.end_changes(handle, FileCall::Fsync, reply);
    }

    fn end_changes(&self, number: u64, call: FileCall, reply: Reply<()>) {
        let caller = self.caller();
        let handle = or_reply!(reply, self.handles.get(number).ok_or(FsError::BadHandle));
        if let Handle::Item(open) = &*handle
            && call.is_flush()
            && self.mount().db.is_remote()
            && open.state.lock().writer.has_stored()
        {
            self.host.creations.end_copy(tgid_of(open.opener));
        }
        let reply = match &*handle {
            Handle::Item(open) if self.mount().options.writeback => {
                let state = open.state.lock();
                let target = state.writer.target();
                let ino = target
                    .known_key()
                    .map_or(open.ino, |key| item_ino(&target.table, &key));
                drop(state);
                self.with_late_errors(ino, !call.is_flush(), reply)
            }
            // `sync FILE` has it open for reading.
            Handle::Text(..) if self.mount().options.writeback && !call.is_flush() => {
                let node = self
                    .handles
                    .ino(number)
                    .and_then(|ino| self.inodes.get(ino));
                self.with_late_errors(node.map_or(0, |node| node.ino()), true, reply)
            }
            _ => reply,
        };
        match &*handle {
            // Not before the first write of `echo >`, which has the file open under another
            // descriptor then.
            Handle::Item(open)
                if call.is_flush()
                    && self.host.creations.is_untouched(open)
                    && same_process(open.opener, caller.pid)
                    && !may_have_open(caller.pid, open.ino) =>
            {
                self.store_empty(open, reply);
            }
            handle => handle.call(&self.host, call, reply),
        }
    }

    /// Adds to the reply of a call the failure of earlier writes; `waits` for those that have not
    /// ended.
    fn with_late_errors(&self, ino: u64, waits: bool, reply: Reply<()>) -> Reply<()> {
        let host = self.host.clone();
        Box::new(move |ended| {
            let host_clone = host.clone();
            let answer = move || {
                let settled = if waits {
                    host.mount.db.flush_writes().map_err(FsError::from)
                } else {
                    Ok(())
                };
                reply(ended.and(settled).and_then(|()| host.late_errors.take(ino)));
            };
            if waits {
                host_clone.run_long(answer);
            } else {
                answer();
            }
        })
    }

    /// Ends the changes in a directory, as fsync of it asks.
    pub fn fsyncdir(&self, ino: u64, reply: Reply<()>) {
        if self.mount().options.writeback {
            self.with_late_errors(ino, true, reply)(Ok(()));
        } else {
            reply(Ok(()));
        }
    }

    /// Removes the handle. Text that a mapping left behind is stored; a failure reaches
    /// only the log.
    pub fn release(&self, handle: u64, reply: Reply<()>) {
        let handle = or_reply!(reply, self.handles.remove(handle).ok_or(FsError::BadHandle));
        match &*handle {
            Handle::Item(open) => {
                let (view, open_clone) = (self.clone(), Arc::clone(open));
                let reply = log_failure(reply, open.path.clone());
                // The last close of a file that was created and never written makes an empty item,
                // also without a FLUSH.
                let done: Reply<()> = Box::new(move |ended| {
                    if ended.is_ok() && view.host.creations.is_untouched(&open_clone) {
                        return view.store_empty(&open_clone, reply);
                    }
                    view.host.creations.remove(&open_clone);
                    reply(ended);
                });
                handle.call(&self.host, FileCall::Release, done);
            }
            _ => {
                if let Handle::Special(open) = &*handle {
                    self.special_creations.remove(open);
                }
                handle.call(&self.host, FileCall::Release, reply);
            }
        }
    }

    /// Makes an item of a created file to which nothing was written: `touch` of a new name, `: >
    /// X.json`.
    pub(super) fn store_empty(&self, open: &Arc<OpenText<ItemTarget>>, reply: Reply<()>) {
        let pid = self.caller().pid;
        let (view, open_clone) = (self.clone(), Arc::clone(open));
        let ended = move |made: Result<Option<Version>>| {
            // Before the reply: the program's next call must see the item, not the creation.
            view.host.creations.remove(&open_clone);
            if let Ok(Some(version)) = made {
                view.host.creations.mark_empty(open_clone.ino, version);
            }
            reply(record_error(&view.host, "create", || open_clone.path.clone(), made).map(drop));
        };
        let (request, key) = or_reply!(ended, open.state.lock().writer.target().key_request());
        let done = VersionReply::new(self.host.context(), move |outcome| {
            ended(match outcome {
                Ok(version) => Ok(Some(version)),
                // Another program was first: the name exists, as it should.
                Err(Error::ConditionalCheckFailed { .. }) => Ok(None),
                Err(error) => Err(FsError::Database(error)),
            });
        });
        self.host.put_item(request, Some(key), pid, done);
    }

    /// Sets attributes. Truncation is a property of the handle: without one it touches no
    /// item. Owner, mode and times of items are not kept, and setting them succeeds.
    pub fn setattr(&self, ino: u64, handle: Option<u64>, new: NewAttr, reply: Reply<Attr>) {
        let node = or_reply!(reply, self.node(ino));
        or_reply!(reply, self.check_change(&node));
        if let Node::Scratch(id) = &*node {
            let set = self.set_scratch_attr(*id, new);
            return reply(set.and_then(|()| self.getattr(ino, handle)));
        }
        if new.size.is_some() {
            self.note_open(&node, ino);
        }
        let view = self.clone();
        let answer: Reply<()> =
            Box::new(move |set| reply(set.and_then(|()| view.getattr(ino, handle))));
        // A truncation to a larger size fills the text with zero bytes: they are reserved before.
        let answer = match (new.size, handle) {
            (Some(size), Some(number)) => {
                let grown = usize::try_from(size)
                    .unwrap_or(usize::MAX)
                    .min(TEXT_BYTES_MAX);
                let reserved = self.handles.reserve(number, grown);
                let reserved = record_error(
                    &self.host,
                    "truncate",
                    || self.mount().display_path(&node),
                    reserved,
                );
                let Some(answer) = self.with_reservation(number, reserved, answer) else {
                    return;
                };
                answer
            }
            _ => answer,
        };
        match (new.size, handle.and_then(|handle| self.handles.get(handle))) {
            (Some(size), Some(opened)) => opened.call(&self.host, FileCall::Truncate(size), answer),
            (Some(_), None) if !node.is_writable() => answer(Err(FsError::Derived)),
            // A truncated item would be no item; the writer that follows opens it itself.
            (Some(0), None) => answer(Ok(())),
            (Some(_), None) => answer(Err(FsError::Invalid(
                "an item has the size of its text; write it as a whole",
            ))),
            // `touch` of a created file sets times only: then the file is to exist.
            (None, _) => match self
                .host
                .creations
                .get(ino)
                .filter(|open| self.host.creations.is_untouched(open))
            {
                Some(open) if new.touched || new.modified_ms.is_some() => {
                    self.store_empty(&open, answer)
                }
                _ => answer(Ok(())),
            },
        }
    }

    fn set_scratch_attr(&self, id: FileId, new: NewAttr) -> Result<()> {
        let mut scratch = self.mount().scratch.lock();
        if let Some(size) = new.size {
            scratch.truncate(id, size, now_ms())?;
        }
        let modified_ms = if new.touched {
            Some(now_ms())
        } else {
            new.modified_ms
        };
        scratch.set_attributes(id, new.mode, modified_ms)
    }

    /// Returns the attributes, after the size was computed if it must be.
    pub fn getattr_async(&self, ino: u64, handle: Option<u64>, reply: Reply<Attr>) {
        let requested = self
            .node(ino)
            .and_then(|node| Ok((self.getattr_of(&node, ino, handle)?, node)));
        let (attr, node) = match requested {
            Ok((attr, node)) if node.is_computed() => (attr, node),
            requested => {
                return reply(
                    requested
                        .map(|(attr, _)| attr)
                        .or_else(|error| self.removed_attr(ino).ok_or(error)),
                );
            }
        };
        let computation = or_reply!(reply, self.computation_of(&node, handle));
        let of_wake = Arc::clone(&computation);
        let wake = Box::new(move |woken: Result<()>| {
            let size = woken.and_then(|()| of_wake.size().unwrap_or(Err(FsError::Internal)));
            reply(size.map(|size| Attr { size, ..attr }));
        });
        if computation.wait(self.caller().pid, WaitFor::Size, wake) {
            self.run_steps(computation);
        }
    }

    /// Returns the computation that a call is about: the handle's, or that of the file which the
    /// process opened last, since the kernel does not say through which descriptor fstat came; or
    /// else the file's as it is now.
    fn computation_of(&self, node: &Node, handle: Option<u64>) -> Result<Arc<Computation>> {
        let open = handle.and_then(|handle| self.handles.get(handle));
        let open = open.or_else(|| self.handles.for_process(node.ino(), self.caller().pid));
        match open.as_deref() {
            Some(Handle::Computed(open)) => Ok(Arc::clone(&open.computation)),
            _ => self.current_computation(node),
        }
    }

    /// Returns the computation of a file as it is now, begun or not.
    fn current_computation(&self, node: &Node) -> Result<Arc<Computation>> {
        let (ino, commit_id) = (node.ino(), self.mount().db.commit_id());
        if let Some(computation) = self.computations.get(ino, commit_id) {
            return Ok(computation);
        }
        // A snapshot may be a commit behind for a moment: then this computation is of no use to the
        // next open.
        let commit_id = self.mount().db.visible_commit_id()?;
        let computation = Arc::new(Computation::new(
            tree::producer(self.mount(), node)?,
            &self.computations.spools,
        ));
        self.computations
            .insert(ino, commit_id, Arc::clone(&computation));
        Ok(computation)
    }

    /// Returns the size of a computed file that is shown without computing it: that of its newest
    /// known text.
    pub(super) fn known_size(&self, ino: u64) -> u64 {
        let current = self.computations.get(ino, self.mount().db.commit_id());
        let known = current.and_then(|computation| computation.size());
        // A mapping of an open file must not shrink because another program looks up its name.
        let known = known.or_else(|| {
            self.handles
                .last_for(ino, 0)
                .and_then(|(open, _)| open.size())
                .map(Ok)
        });
        known.and_then(Result::ok).unwrap_or(0)
    }

    /// Opens a computed file. Nothing is computed so far.
    pub(super) fn open_computed(&self, node: &Node) -> Result<Handle> {
        let computation = self.current_computation(node)?;
        let node_clone = node.clone();
        let make = Box::new(move |mount: &Mount| tree::producer(mount, &node_clone));
        Ok(Handle::Computed(Box::new(OpenComputed::new(
            computation,
            make,
            self.mount().display_path(node),
        ))))
    }

    /// Reads a computed file.
    pub(super) fn read_computed(
        &self,
        handle: Arc<Handle>,
        offset: u64,
        size: usize,
        reply: Reply<ReadBytes>,
    ) {
        let Handle::Computed(open) = &*handle else {
            return reply(Err(FsError::BadHandle));
        };
        let computation = Arc::clone(&open.computation);
        let view = self.clone();
        let wake = Box::new(move |woken: Result<()>| {
            let view_clone = view.clone();
            view.host.run_long(move || match woken {
                Ok(()) => view_clone.read_charged(handle, offset, size, reply),
                Err(error) => reply(Err(error)),
            });
        });
        if computation.wait(self.caller().pid, WaitFor::Byte(offset), wake) {
            self.run_steps(computation);
        }
    }

    /// Reads bytes that are made. A reader that has the first bytes is not throttled in the middle
    /// of a line: it waits for its units, as a client of the service tries again. Only a read from
    /// the beginning is refused at once.
    fn read_charged(&self, handle: Arc<Handle>, offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let view = self.clone();
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        let mut next = began;
        let is_read = Arc::new(AtomicBool::new(false));
        let was_read = Arc::clone(&is_read);
        let awaited = move |_: &Mount| {
            if Instant::now() < next {
                return Ok(None);
            }
            match view.read_ready(&handle, offset, size) {
                Err(error)
                    if offset > 0
                        && error.throttled().is_some()
                        && began.elapsed() < THROTTLE_WAIT_MAX =>
                {
                    next = Instant::now() + pause;
                    pause = (pause * 2).min(LAST_PAUSE);
                    Ok(None)
                }
                read => {
                    is_read.store(true, Ordering::Relaxed);
                    read.map(Some)
                }
            }
        };
        // A wait that is ended from outside ends as at the end of a file, which this is not.
        let reply: Reply<ReadBytes> = Box::new(move |read| {
            let is_cut = read.is_ok() && !was_read.load(Ordering::Relaxed);
            reply(if is_cut {
                Err(FsError::Interrupted)
            } else {
                read
            });
        });
        self.host.wait_read(Box::new(awaited), reply);
    }

    fn read_ready(&self, handle: &Handle, offset: u64, size: usize) -> Result<Vec<u8>> {
        let caller = self.caller();
        let Handle::Computed(open) = handle else {
            return Err(FsError::BadHandle);
        };
        let wanted = || has_pending_signal(caller.pid) != Some(true);
        let answer = open.read(self.mount(), offset, size, &wanted)?;
        if let Some(consumed) = answer.consumed {
            let last = &self.mount().last_responses;
            last.record(last.session(caller.pid), consumed);
        }
        Ok(answer.bytes)
    }

    /// Makes steps as long as a caller waits for them, in turns with other work.
    fn run_steps(&self, computation: Arc<Computation>) {
        let view = self.clone();
        self.host.run_long(move || {
            let (began, has_room) = (Instant::now(), |bytes| {
                has_room(view.mount().db.store_info(), bytes)
            });
            // In turns: a thread that made all of one result would let other readers wait for as
            // long as a table takes.
            while computation.step(view.mount(), has_room) {
                if began.elapsed() > TURN_TIME {
                    return view.run_steps(computation);
                }
            }
        });
    }

    /// Copies a whole item onto an empty one, and returns the number of bytes of
    /// the source. Answered after the commit.
    ///
    /// `NotSupported` of any other copy: the kernel then reads and writes.
    pub fn copy_file_range(
        &self,
        from: CopyRangeEnd,
        to: CopyRangeEnd,
        length: u64,
        reply: Reply<u64>,
    ) {
        let handle = or_reply!(reply, self.handles.get(to.handle).ok_or(FsError::BadHandle));
        let Handle::Item(open) = &*handle else {
            return reply(Err(FsError::NotSupported));
        };
        let target = {
            let state = open.state.lock();
            // A text that is begun, or being committed, is for the state machine: the kernel then
            // copies by read and write.
            (state.writer.len() == 0 && !state.queue.is_busy())
                .then(|| state.writer.target().clone())
        };
        let (Some(target), 0, 0) = (target, from.offset, to.offset) else {
            return reply(Err(FsError::NotSupported));
        };
        let copied = self
            .whole_item(from, length)
            .map(|(item, bytes)| (text_for(&target, item), bytes));
        let (data, bytes) = or_reply!(reply, copied);
        run_text_call(
            &self.host,
            open,
            FileCall::Write { offset: 0, data },
            Box::new(move |ended| reply(ended.map(|()| bytes))),
        );
    }

    /// Returns the item as the source's handle has it, and the length of its text in bytes.
    fn whole_item(&self, from: CopyRangeEnd, length: u64) -> Result<(Item, u64)> {
        let handle = self.handles.get(from.handle).ok_or(FsError::BadHandle)?;
        let (Handle::Text(text, _), Node::Entry(entry)) = (&*handle, &*self.node(from.ino)?) else {
            return Err(FsError::NotSupported);
        };
        if self.mount().options.keep_text {
            // With kept texts the copy is the text itself, which may say another key.
            return Err(FsError::NotSupported);
        }
        let text = text.bytes.as_slice();
        let bytes = text.len() as u64;
        if length < bytes {
            return Err(FsError::NotSupported);
        }
        let item = match entry.form {
            TextForm::PlainJson => plain_json::parse(text),
            TextForm::DynamoDbJson => dynamodb_json::parse(text),
        };
        Ok((item.map_err(|_| FsError::NotSupported)?, bytes))
    }
}

/// True if this is the plain text of an item and its name says its key. Then its inode is the one
/// that has the item's attributes.
fn is_of_plain_text(open: &OpenText<ItemTarget>) -> bool {
    let state = open.state.lock();
    let target = state.writer.target();
    target.form == TextForm::PlainJson && target.is_key_known()
}

/// Makes the item's text with the key that the target's name says.
fn text_for(target: &ItemTarget, mut item: Item) -> Vec<u8> {
    let parts = std::iter::once(&target.key.partition).chain(&target.key.sort);
    for (attribute, part) in target.key_schema.attributes().zip(parts) {
        if let KeyPart::Value(value) = part {
            item.0.insert(attribute.name.clone(), value.clone());
        }
    }
    let mut text = Vec::new();
    match target.form {
        TextForm::PlainJson => plain_json::write_line(&item, &[], &mut text),
        TextForm::DynamoDbJson => dynamodb_json::write_item(&item, &mut text),
    }
    text
}

fn has_room(disk: StoreInfo, bytes: u64) -> bool {
    let kept = FREE_BYTES_MIN.min(disk.total_bytes / FREE_PART_MIN);
    disk.free_bytes >= bytes.saturating_add(kept)
}
