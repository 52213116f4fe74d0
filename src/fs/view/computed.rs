//! Calls on files whose bytes are made when somebody wants them: see [`crate::fs::computed`]. Steps are made on the threads for long
//! calls, never on those that serve the kernel.

use super::View;
use crate::fs::open::computed::{Computation, OpenComputed, Until};
use crate::fs::open::prelude::*;
use crate::fs::process::has_signal;
use crate::fs::tree;
use crate::store::StoreInfo;
use std::time::Instant;

/// How long steps are made before others have their turn.
const TURN: Duration = Duration::from_millis(20);
/// What results leave free of a disk: at most this, and at most a part of it. Commits need it more.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;
const FREE_PART_MIN: u64 = 16;

impl View {
    /// GETATTR, whose size may have to be computed.
    pub fn getattr_then(self: &Arc<Self>, caller: Caller, ino: u64, handle: Option<u64>, reply: Reply<Attr>) {
        let asked = self.node(ino).and_then(|node| Ok((self.getattr_of(caller, &node, ino, handle)?, node)));
        let (attr, node) = match asked {
            Ok((attr, node)) if node.is_computed() => (attr, node),
            asked => return reply(asked.map(|(attr, _)| attr).or_else(|error| self.removed_attr(ino).ok_or(error))),
        };
        let computation = match self.computation_of(caller, &node, handle) {
            Ok(computation) => computation,
            Err(error) => return reply(self.noted_at(caller, "getattr", || self.mount.path(&node), Err(error))),
        };
        let (view, of_wake) = (Arc::clone(self), Arc::clone(&computation));
        let wake = Box::new(move |woken: Result<(), FsError>| {
            let size = woken.and_then(|()| of_wake.size().unwrap_or(Err(FsError::Internal)));
            let size = view.noted_at(caller, "getattr", || view.mount.path(&node), size);
            reply(size.map(|size| Attr { size, ..attr }));
        });
        if computation.wait(caller.pid, Until::Size, wake) {
            self.compute(computation);
        }
    }

    /// The computation that a call is about: the handle's; else that of what the process opened last, since the kernel does not say
    /// through which descriptor fstat came; else the file's as it is now.
    fn computation_of(&self, caller: Caller, node: &Node, handle: Option<u64>) -> Result<Arc<Computation>, FsError> {
        let open = handle.and_then(|handle| self.handles.get(handle));
        let open = open.or_else(|| self.handles.of_process(node.ino(), caller.pid));
        match open.as_deref() {
            Some(Handle::Computed(open)) => Ok(Arc::clone(&open.computation)),
            _ => self.current_computation(node),
        }
    }

    /// The computation of a file as it is now, begun or not.
    fn current_computation(&self, node: &Node) -> Result<Arc<Computation>, FsError> {
        let (ino, commit_id) = (node.ino(), self.mount.db.commit_id());
        if let Some(computation) = self.kept.get(ino, commit_id) {
            return Ok(computation);
        }
        // What a snapshot shows may be a commit behind for a moment: then this one is of no use to the next.
        let commit_id = self.mount.db.visible_commit_id()?;
        let computation = Arc::new(Computation::new(tree::producer(&self.mount, node)?, &self.kept.spools));
        self.kept.insert(ino, commit_id, Arc::clone(&computation));
        Ok(computation)
    }

    /// The size of a computed file that is shown without computing it: that of its newest known text.
    pub(super) fn known_size(&self, ino: u64) -> u64 {
        let current = self.kept.get(ino, self.mount.db.commit_id());
        let known = current.and_then(|computation| computation.size());
        // A mapping of an open file must not shrink because somebody looks up its name.
        let known = known.or_else(|| self.handles.last_of(ino, 0).and_then(|(open, _)| open.size()).map(Ok));
        known.and_then(Result::ok).unwrap_or(0)
    }

    /// OPEN of a computed file. Nothing is computed so far.
    pub(super) fn open_computed(&self, node: &Node) -> Result<Handle, FsError> {
        let computation = self.current_computation(node)?;
        let again = node.clone();
        let make = Box::new(move |mount: &Mount| tree::producer(mount, &again));
        Ok(Handle::Computed(Box::new(OpenComputed::new(computation, make, self.mount.path(node)))))
    }

    /// READ of a computed file.
    pub(super) fn read_computed(
        self: &Arc<Self>,
        caller: Caller,
        handle: Arc<Handle>,
        (offset, size): (u64, usize),
        reply: Reply<Bytes>,
    ) {
        let Handle::Computed(open) = &*handle else { return reply(Err(FsError::BadHandle)) };
        let computation = Arc::clone(&open.computation);
        let (view, path) = (Arc::clone(self), open.path.clone());
        let wake = Box::new(move |woken: Result<(), FsError>| {
            let again = Arc::clone(&view);
            view.workers.run_long(Box::new(move || {
                let read = woken.and_then(|()| again.read_ready(caller, &handle, (offset, size)));
                reply(again.noted_at(caller, "read", || path, read).map(Bytes::own));
            }));
        });
        if computation.wait(caller.pid, Until::Byte(offset), wake) {
            self.compute(computation);
        }
    }

    fn read_ready(&self, caller: Caller, handle: &Handle, (offset, size): (u64, usize)) -> Result<Vec<u8>, FsError> {
        let Handle::Computed(open) = handle else { return Err(FsError::BadHandle) };
        let wanted = || has_signal(caller.pid) != Some(true);
        let answer = open.read(&self.mount, (offset, size), &wanted)?;
        if let Some(consumed) = answer.consumed {
            let last = &self.mount.last;
            last.keep(last.session(caller.pid), consumed);
        }
        Ok(answer.bytes)
    }

    /// Makes steps as long as somebody waits for them, in turns with other work.
    fn compute(self: &Arc<Self>, computation: Arc<Computation>) {
        let view = Arc::clone(self);
        self.workers.run_long(Box::new(move || {
            let (began, has_room) = (Instant::now(), |bytes| has_room(view.mount.db.store_info(), bytes));
            // In turns: a thread that made all of one result would let other readers wait for as long as a table takes.
            while computation.step(&view.mount, has_room) {
                if began.elapsed() > TURN {
                    return view.compute(computation);
                }
            }
        }));
    }
}

fn has_room(disk: StoreInfo, bytes: u64) -> bool {
    let kept = FREE_BYTES_MIN.min(disk.total_bytes / FREE_PART_MIN);
    disk.free_bytes >= bytes.saturating_add(kept)
}
