//! fuser's callbacks (`impl Filesystem`), one for each FUSE request: convert, call the view, reply.
//!
//! A panic in the view must not take an event thread with it: `catch_panic` ends the call, and
//! fuser answers EIO for a reply that is dropped unsent.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags,
    INodeNo, InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenFlags, PollEvents, PollFlags,
    PollNotifier, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyPoll,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use super::convert::{
    self, FailReply, GENERATION, Owner, errno, file_attr, file_type, fopen_flags, open_flags,
    rename_flags, time_ms,
};
use super::direntplus::{Device, EntryNode, RawRequest};
use super::mountpoint::MountOptions;
use crate::fs::node::attr::Attr;
use crate::fs::open::{ReadBytes, Reply};
use crate::fs::process::Caller;
use crate::fs::view::{CallTarget, CopyRangeEnd, CreateReply, NewAttr, OpenReply, ReadBy};
use crate::fs::{FsError, View};
use crate::model::api::WaitPolicy;

/// The time to live of all answers but LOOKUP, GETATTR and READDIRPLUS, which use [`Attr::ttl`].
const NO_TTL: Duration = Duration::ZERO;
/// The size limit of a write, requested from the kernel; an item is smaller.
const WRITE_BYTES_MAX: u32 = 1024 * 1024;

/// The capabilities that are requested from the kernel.
const CAPABILITIES: [InitFlags; 5] = [
    // O_TRUNC comes with open: truncation is a property of the handle.
    InitFlags::FUSE_ATOMIC_O_TRUNC,
    // Lookups in one directory run concurrently: four times as many per second with four clients.
    InitFlags::FUSE_PARALLEL_DIROPS,
    // The view decides which names of a listing have their attributes (`fs::view::kernel_cache`).
    InitFlags::FUSE_DO_READDIRPLUS,
    // No file has capabilities or set-id bits to kill: saves a request for security.capability at
    // each write.
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
    // A file opened for direct I/O cannot be mapped shared without this.
    InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
];

/// A view behind fuser's trait.
#[derive(Debug)]
pub struct Shell {
    view: View,
    owner: Owner,
    has_xattr: bool,
    pub device: Device,
}

impl Shell {
    pub fn new(view: View, options: &MountOptions) -> Self {
        Self {
            view,
            owner: Owner::new(options),
            has_xattr: !options.no_xattr,
            device: Device::default(),
        }
    }

    /// Begins a call on an inode or a name in it (`fs::view::timed_call`); `send` converts its
    /// result to the reply.
    fn begin<R: FailReply, T: 'static>(
        &self,
        caller: Caller,
        operation: &'static str,
        ino: INodeNo,
        name: Option<&OsStr>,
        reply: R,
        send: impl FnOnce(R, T) + Send + 'static,
    ) -> PendingCall<T> {
        let call = self
            .view
            .begin(caller, operation, ino.0, name.map(OsStr::as_bytes));
        let view = call.view.clone();
        let done = move |ended| match call.end(ended) {
            Ok(value) => send(reply, value),
            Err(error) => reply.refuse(errno(&error)),
        };
        PendingCall {
            view,
            operation,
            done: Box::new(done),
        }
    }
}

/// A call that has begun.
struct PendingCall<T> {
    view: View,
    operation: &'static str,
    done: Reply<T>,
}

impl<T: 'static> PendingCall<T> {
    /// Runs a call that answers by itself, now or later.
    fn start(self, work: impl FnOnce(&View, Reply<T>)) {
        catch_panic(self.operation, || work(&self.view, self.done));
    }

    /// Runs such a call, on a thread for long work if `target` may take long.
    fn start_at(self, target: CallTarget<'_>, work: impl FnOnce(&View, Reply<T>) + Send + 'static) {
        let (operation, view) = (self.operation, self.view.clone());
        catch_panic(operation, || {
            view.run_call(target, move || self.start(work))
        });
    }

    /// Runs a call that is answered with its result, on a thread for long work if `target` may take
    /// long.
    fn answer(
        self,
        target: CallTarget<'_>,
        work: impl FnOnce(&View) -> Result<T, FsError> + Send + 'static,
    ) {
        self.start_at(target, move |view, done| done(work(view)));
    }

    fn refuse(self, error: FsError) {
        (self.done)(Err(error));
    }
}

/// Runs a call, and contains its panic.
fn catch_panic(call: &'static str, work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        log::error!("{call}: abandoned after a panic");
    }
}

/// Returns the caller of an operation on a file, or of one that changes nothing: the kernel holds
/// no directory lock during it.
fn file_caller(request: &Request) -> Caller {
    convert::caller(request, WaitPolicy::Short)
}

/// Returns the caller of an operation during which the kernel holds the lock of a directory: it
/// must not wait for a notification, which waits for that lock.
fn directory_caller(request: &Request) -> Caller {
    convert::caller(request, WaitPolicy::None)
}

/// Replies with a new entry, which the kernel must not cache.
fn reply_entry(owner: Owner) -> impl FnOnce(ReplyEntry, Attr) {
    move |reply, attr| reply.entry(&NO_TTL, &file_attr(&attr, owner), GENERATION)
}

fn reply_ok(reply: ReplyEmpty, (): ()) {
    reply.ok();
}

/// Replies with a value, or with its length if `size` is 0.
fn reply_xattr(size: u32) -> impl FnOnce(ReplyXattr, Vec<u8>) {
    move |reply, value| match u32::try_from(value.len()) {
        Ok(bytes) if size == 0 => reply.size(bytes),
        Ok(bytes) if bytes <= size => reply.data(&value),
        _ => reply.error(Errno::ERANGE),
    }
}

impl Filesystem for Shell {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for capability in CAPABILITIES {
            if config.add_capabilities(capability).is_err() {
                log::debug!("the kernel has no {capability:?}");
            }
        }
        // The error of a larger value names the maximum, which is then the default.
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (owner, owned) = (self.owner, name.as_bytes().to_vec());
        let send = move |reply: ReplyEntry, attr: Attr| {
            reply.entry_with_ttls(
                &attr.ttl.attr,
                &attr.ttl.name,
                &file_attr(&attr, owner),
                GENERATION,
            );
        };
        let call = self.begin(
            directory_caller(request),
            "lookup",
            parent,
            Some(name),
            reply,
            send,
        );
        call.answer(CallTarget::Name(parent.0, name.as_bytes()), move |view| {
            view.lookup(parent.0, &owned)
        });
    }

    fn forget(&self, _request: &Request, ino: INodeNo, count: u64) {
        catch_panic("forget", || self.view.forget(ino.0, count));
    }

    fn getattr(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        let (owner, handle) = (self.owner, handle.map(|handle| handle.0));
        let send = move |reply: ReplyAttr, attr: Attr| {
            reply.attr(&attr.ttl.attr, &file_attr(&attr, owner))
        };
        let call = self.begin(file_caller(request), "getattr", ino, None, reply, send);
        call.start_at(CallTarget::Inode(ino.0), move |view, done| {
            view.getattr_async(ino.0, handle, done)
        });
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // Owner, access and birth times are accepted and ignored: cp -p, rsync and tar set them,
        // and fail if they are refused.
        let touched = matches!(mtime, Some(TimeOrNow::Now));
        let new = NewAttr {
            mode,
            size,
            modified_ms: mtime.and_then(time_ms),
            touched,
        };
        let (owner, handle) = (self.owner, handle.map(|handle| handle.0));
        let send =
            move |reply: ReplyAttr, attr: Attr| reply.attr(&NO_TTL, &file_attr(&attr, owner));
        let call = self.begin(file_caller(request), "setattr", ino, None, reply, send);
        call.start_at(CallTarget::Inode(ino.0), move |view, done| {
            view.setattr(ino.0, handle, new, done)
        });
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        let send = |reply: ReplyData, target: String| reply.data(target.as_bytes());
        self.begin(file_caller(request), "readlink", ino, None, reply, send)
            .start(|view, done| done(view.readlink(ino.0)));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        let owned = name.as_bytes().to_vec();
        let call = self.begin(
            directory_caller(request),
            "mknod",
            parent,
            Some(name),
            reply,
            reply_entry(self.owner),
        );
        call.answer(CallTarget::Commit, move |view| match mode & libc::S_IFMT {
            libc::S_IFREG => view.mknod(parent.0, &owned, mode),
            // The error of mknod(2) for unsupported node types; link(2) has the same.
            _ => Err(FsError::NotPermitted(
                "files here are items; there are no pipes, sockets and devices",
            )),
        });
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let owned = name.as_bytes().to_vec();
        let call = self.begin(
            directory_caller(request),
            "mkdir",
            parent,
            Some(name),
            reply,
            reply_entry(self.owner),
        );
        call.answer(CallTarget::Directory(parent.0), move |view| {
            view.mkdir(parent.0, &owned)
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let call = self.begin(
            directory_caller(request),
            "unlink",
            parent,
            Some(name),
            reply,
            reply_ok,
        );
        call.start(|view, done| view.unlink(parent.0, name.as_bytes(), done));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let owned = name.as_bytes().to_vec();
        let call = self.begin(
            directory_caller(request),
            "rmdir",
            parent,
            Some(name),
            reply,
            reply_ok,
        );
        call.answer(CallTarget::Directory(parent.0), move |view| {
            view.rmdir(parent.0, &owned)
        });
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let (owned, target) = (
            name.as_bytes().to_vec(),
            target.as_os_str().as_bytes().to_vec(),
        );
        let call = self.begin(
            directory_caller(request),
            "symlink",
            parent,
            Some(name),
            reply,
            reply_entry(self.owner),
        );
        call.answer(CallTarget::Directory(parent.0), move |view| {
            view.symlink(parent.0, &owned, &target)
        });
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (old_name, new_name) = (name.as_bytes(), newname.as_bytes());
        let call = self.begin(
            directory_caller(request),
            "rename",
            parent,
            Some(name),
            reply,
            reply_ok,
        );
        let flags = rename_flags(flags);
        call.start(|view, done| {
            view.rename(parent.0, old_name, newparent.0, new_name, flags, done)
        });
    }

    fn link(
        &self,
        request: &Request,
        _ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        let call = self.begin(
            file_caller(request),
            "link",
            newparent,
            Some(newname),
            reply,
            reply_entry(self.owner),
        );
        call.refuse(FsError::NotPermitted(
            "an item has one name; cp makes another item",
        ));
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let flags = open_flags(flags.0);
        let send = move |reply: ReplyOpen, opened: OpenReply| {
            let OpenReply { handle, reads } = opened;
            reply.opened(FileHandle(handle), fopen_flags(flags.write, reads))
        };
        let call = self.begin(file_caller(request), "open", ino, None, reply, send);
        call.answer(CallTarget::Inode(ino.0), move |view| {
            view.open(ino.0, flags)
        });
    }

    fn read(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let send = |reply: ReplyData, bytes: ReadBytes| reply.data(bytes.as_ref());
        let call = self.begin(file_caller(request), "read", ino, None, reply, send);
        call.start(|view, done| view.read(handle.0, offset, size as usize, done));
    }

    fn write(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // After write(2) the kernel requests the file's attributes, but not after writing back a
        // mapping.
        let is_mapped = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let wait = if is_mapped {
            WaitPolicy::Short
        } else {
            WaitPolicy::Settled
        };
        // The kernel never sends more than WRITE_BYTES_MAX.
        debug_assert!(data.len() <= WRITE_BYTES_MAX as usize);
        let written = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let send = move |reply: ReplyWrite, (): ()| reply.written(written);
        let call = self.begin(
            convert::caller(request, wait),
            "write",
            ino,
            None,
            reply,
            send,
        );
        call.start(|view, done| view.write(handle.0, offset, data, done));
    }

    fn flush(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        // Not the last close: a child's close comes here too, with half a document written, and so
        // does one before the first write.
        let call = self.begin(file_caller(request), "flush", ino, None, reply, reply_ok);
        call.start(|view, done| view.flush(handle.0, done));
    }

    fn release(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        // An error here reaches no program: the view logs it.
        let call = self.begin(file_caller(request), "release", ino, None, reply, reply_ok);
        call.start(|view, done| view.release(handle.0, done));
    }

    fn fsync(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        let call = self.begin(file_caller(request), "fsync", ino, None, reply, reply_ok);
        call.start(|view, done| view.fsync(handle.0, done));
    }

    fn opendir(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        // No FOPEN_CACHE_DIR: a cached listing would not show writes through other front ends
        // (docs/performance.md 2).
        let send =
            |reply: ReplyOpen, handle: u64| reply.opened(FileHandle(handle), FopenFlags::empty());
        let call = self.begin(directory_caller(request), "opendir", ino, None, reply, send);
        // So fts(3) opens, which reads thousands of names before it looks at the first.
        let walks = flags.0 & libc::O_NOFOLLOW != 0;
        call.start(|view, done| done(view.opendir(ino.0, walks)));
    }

    fn readdir(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let call = self
            .view
            .begin(directory_caller(request), "readdir", ino.0, None);
        let view = call.view.clone();
        let list = move || {
            let read = view.readdir(handle.0, offset, &mut |entry, offset| {
                reply.add(
                    INodeNo(entry.ino),
                    offset,
                    file_type(entry.kind),
                    entry.name,
                )
            });
            match call.end(read) {
                Ok(()) => reply.ok(),
                Err(error) => reply.error(errno(&error)),
            }
        };
        catch_panic("readdir", || self.view.run_listing(handle.0, list));
    }

    fn readdirplus(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        let call = self
            .view
            .begin(file_caller(request), "readdirplus", ino.0, None);
        let (view, owner) = (call.view.clone(), self.owner);
        let mut reply = RawRequest::new(&self.device, request.unique().0, reply);
        let list = move || {
            let mut entries = RawRequest::entries();
            let read = view.readdirplus(handle.0, offset, &mut |entry, offset, node| {
                let node = node.map(|(node_id, attr)| EntryNode {
                    node_id,
                    ttl: attr.ttl,
                    attr: file_attr(attr, owner),
                });
                reply.add(&mut entries, entry, offset, node)
            });
            match call.end(read) {
                Ok(()) => reply.answer(entries),
                Err(error) => reply.refuse(errno(&error)),
            }
        };
        catch_panic("readdirplus", || self.view.run_listing(handle.0, list));
    }

    fn releasedir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        catch_panic("releasedir", || {
            self.view.releasedir(handle.0);
            reply.ok();
        });
    }

    /// Succeeds at once, but with `-o writeback`: the content of a directory was durable before the
    /// call that changed it returned. Not ENOSYS, which the kernel would take for success from then
    /// on, even of a dead daemon.
    fn fsyncdir(
        &self,
        request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        let call = self.begin(
            directory_caller(request),
            "fsync",
            ino,
            None,
            reply,
            reply_ok,
        );
        call.start(|view, done| view.fsyncdir(ino.0, done));
    }

    fn statfs(&self, request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        catch_panic("statfs", || {
            let stat = self.view.with_caller(file_caller(request)).statfs();
            let (block, free, available) =
                (stat.block_bytes, stat.blocks_free, stat.blocks_available);
            // Inode counts are 0: there is no such limit.
            reply.statfs(
                stat.blocks,
                free,
                available,
                0,
                0,
                block,
                stat.name_bytes_max,
                block,
            );
        });
    }

    /// Answers ENOSYS if extended attributes are disabled, after which the kernel asks no more; so
    /// do the other three.
    fn setxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        _value: &[u8],
        _flags: i32,
        _at: u32,
        reply: ReplyEmpty,
    ) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        let call = self.begin(file_caller(request), "setxattr", ino, None, reply, reply_ok);
        call.refuse(self.view.setxattr(name.as_bytes()));
    }

    fn getxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        let call = self.begin(
            file_caller(request),
            "getxattr",
            ino,
            None,
            reply,
            reply_xattr(size),
        );
        call.start(|view, done| done(view.getxattr(ino.0, name.as_bytes())));
    }

    /// Lists none: see `fs::view`.
    fn listxattr(&self, _request: &Request, _ino: INodeNo, size: u32, reply: ReplyXattr) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        reply_xattr(size)(reply, Vec::new());
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        let call = self.begin(
            file_caller(request),
            "removexattr",
            ino,
            None,
            reply,
            reply_ok,
        );
        call.refuse(self.view.removexattr(name.as_bytes()));
    }

    fn access(&self, request: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let view = self.view.with_caller(file_caller(request));
        let ask = move || match view.getattr(ino.0, None) {
            Ok(attr) if mask.contains(AccessFlags::W_OK) && !attr.writable => {
                reply.error(Errno::EROFS)
            }
            Ok(attr) if mask.contains(AccessFlags::X_OK) && attr.permissions() & 0o111 == 0 => {
                reply.error(Errno::EACCES)
            }
            Ok(_) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        };
        catch_panic("access", || {
            self.view
                .run_call(CallTarget::Inode(ino.0), move || catch_panic("access", ask))
        });
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (owner, owned, flags) = (self.owner, name.as_bytes().to_vec(), open_flags(flags));
        let send = move |reply: RawRequest<ReplyCreate>, created: CreateReply| {
            let node = EntryNode {
                node_id: created.attr.ino,
                ttl: created.attr.ttl,
                attr: file_attr(&created.attr, owner),
            };
            reply.answer(&node, created.handle, fopen_flags(true, ReadBy::Requests));
        };
        let reply = RawRequest::new(&self.device, request.unique().0, reply);
        let call = self.begin(
            directory_caller(request),
            "create",
            parent,
            Some(name),
            reply,
            send,
        );
        let make = move |view: &View, done: Reply<CreateReply>| {
            done(view.create(parent.0, &owned, mode, flags))
        };
        // A create that waits for a commit runs on another thread.
        if flags.exclusive {
            call.start_at(CallTarget::Commit, make)
        } else {
            call.start(make)
        }
    }

    fn ioctl(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        _command: u32,
        _data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    /// Answers ENOSYS: the kernel treats every file as ready, and asks no more.
    fn poll(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _notifier: PollNotifier,
        _events: PollEvents,
        _flags: PollFlags,
        reply: ReplyPoll,
    ) {
        reply.error(Errno::ENOSYS);
    }

    fn fallocate(
        &self,
        request: &Request,
        ino: INodeNo,
        _: FileHandle,
        _offset: u64,
        _length: u64,
        _mode: i32,
        reply: ReplyEmpty,
    ) {
        // posix_fallocate(3) then writes zeros itself.
        let call = self.begin(
            file_caller(request),
            "fallocate",
            ino,
            None,
            reply,
            reply_ok,
        );
        call.refuse(FsError::Unsupported(
            "an item has the size of its text; write it as a whole",
        ));
    }

    /// Answers ENOSYS: the kernel seeks by itself, and asks no more.
    fn lseek(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _offset: i64,
        _whence: i32,
        reply: ReplyLseek,
    ) {
        reply.error(Errno::ENOSYS);
    }

    /// Copies whole items; answers EOPNOTSUPP otherwise, and the kernel copies by reading and
    /// writing.
    fn copy_file_range(
        &self,
        request: &Request,
        ino_in: INodeNo,
        handle_in: FileHandle,
        offset_in: u64,
        ino_out: INodeNo,
        handle_out: FileHandle,
        offset_out: u64,
        length: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let from = CopyRangeEnd {
            ino: ino_in.0,
            handle: handle_in.0,
            offset: offset_in,
        };
        let to = CopyRangeEnd {
            ino: ino_out.0,
            handle: handle_out.0,
            offset: offset_out,
        };
        // The text of an item is far below `u32::MAX`.
        let send =
            |reply: ReplyWrite, bytes: u64| reply.written(u32::try_from(bytes).unwrap_or(u32::MAX));
        let call = self.begin(
            file_caller(request),
            "copy_file_range",
            ino_out,
            None,
            reply,
            send,
        );
        call.start(|view, done| view.copy_file_range(from, to, length, done));
    }
}
