//! fuser's callbacks: convert, call the view, reply.
//!
//! A panic in the view must not take an event thread with it: [`guard`] ends the call; fuser answers EIO for a reply that is dropped
//! unsent.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    IoctlFlags, KernelConfig, LockOwner, OpenFlags, PollEvents, PollFlags, PollNotifier, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyPoll,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use super::convert::{self, Owner, errno, file_attr, file_type, open_flags, rename_flags, time_ms};
use super::options::MountOptions;
use crate::fs::node::attr::Attr;
use crate::fs::open::Bytes;
use crate::fs::open::host::Host;
use crate::fs::process::Caller;
use crate::fs::view::{NewAttr, Place, RangeEnd, TimedCall};
use crate::fs::{FsError, View};
use crate::model::api::WaitPolicy;

/// What is told by LOOKUP and GETATTR may be kept as [`Attr::lasts`] says, nothing else.
const TTL: Duration = Duration::ZERO;
/// Inode numbers are never reused for something else: see `fs::node::inode_table`.
const GENERATION: Generation = Generation(0);
/// The largest write asked of the kernel; an item is smaller.
const WRITE_BYTES_MAX: u32 = 1024 * 1024;

/// What is asked of the kernel where it can.
const CAPABILITIES: [InitFlags; 6] = [
    // O_TRUNC comes with open: truncation is a property of the handle.
    InitFlags::FUSE_ATOMIC_O_TRUNC,
    // Lookups in one directory do not wait for each other: four times as many a second with four clients.
    InitFlags::FUSE_PARALLEL_DIROPS,
    // A listing whose names are then looked up brings their attributes with it.
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    // No file has capabilities or set-id bits to kill: saves asking for security.capability at each write.
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
    // Every file is opened for direct I/O; without this none could be mapped shared.
    InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
];

/// A view behind fuser's trait.
#[derive(Debug)]
pub struct Shell {
    view: Arc<View>,
    owner: Owner,
    has_xattr: bool,
}

impl Shell {
    pub fn new(view: Arc<View>, options: &MountOptions) -> Self {
        Self { view, owner: Owner::new(options), has_xattr: !options.no_xattr }
    }

    /// A call of a request on an inode or a name in it begins: see `fs::view::calls`.
    fn begin(&self, request: &Request, operation: &'static str, ino: INodeNo, name: Option<&OsStr>) -> TimedCall {
        self.view.begin(caller(request), operation, ino.0, name.map(OsStr::as_bytes))
    }
}

/// Runs a call that is answered when it has been worked out: on a thread for what takes long, if it may.
fn answer(view: &Arc<View>, call: &'static str, place: Place<'_>, work: impl FnOnce(&Arc<View>) + Send + 'static) {
    let again = Arc::clone(view);
    guard(call, || view.run_call(place, move || guard(call, || work(&again))));
}

/// Runs a call, of which a panic ends nothing else.
fn guard(call: &'static str, work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        log::error!("{call}: abandoned after a panic");
    }
}

/// Who asks by a call of a file, or one that changes nothing: it holds no directory's lock in the kernel.
fn caller(request: &Request) -> Caller {
    convert::caller(request, WaitPolicy::Short)
}

/// Who asks by a call during which the kernel holds the lock of a directory: nobody may wait for what waits for that.
fn in_directory(request: &Request) -> Caller {
    convert::caller(request, WaitPolicy::None)
}

fn reply_entry(reply: ReplyEntry, owner: Owner, entry: Result<Attr, FsError>) {
    match entry {
        Ok(attr) => reply.entry(&TTL, &file_attr(&attr, owner), GENERATION),
        Err(error) => reply.error(errno(&error)),
    }
}

fn reply_attr(reply: ReplyAttr, owner: Owner, attr: Result<Attr, FsError>) {
    match attr {
        Ok(attr) => reply.attr(&TTL, &file_attr(&attr, owner)),
        Err(error) => reply.error(errno(&error)),
    }
}

fn reply_empty(reply: ReplyEmpty, ended: Result<(), FsError>) {
    match ended {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(&error)),
    }
}

/// An answer, or its size when nothing but that is asked.
fn reply_xattr(reply: ReplyXattr, value: &[u8], size: u32) {
    match u32::try_from(value.len()) {
        Ok(bytes) if size == 0 => reply.size(bytes),
        Ok(bytes) if bytes <= size => reply.data(value),
        _ => reply.error(Errno::ERANGE),
    }
}

/// Direct I/O: each handle reads its own version, and two handles of one inode must not share pages. Readers need no flush.
fn fopen_flags(write: bool) -> FopenFlags {
    if write { FopenFlags::FOPEN_DIRECT_IO } else { FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH }
}

impl Filesystem for Shell {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for capability in CAPABILITIES {
            if config.add_capabilities(capability).is_err() {
                log::debug!("the kernel has no {capability:?}");
            }
        }
        // An answer "too large" names the most that it takes, which is then the default.
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let call = self.begin(request, "lookup", parent, Some(name));
        let (caller, owner, owned) = (in_directory(request), self.owner, name.as_bytes().to_vec());
        answer(&self.view, "lookup", Place::Name(parent.0, name.as_bytes()), move |view| {
            match call.end(view.lookup(caller, parent.0, &owned)) {
                Ok(attr) => reply.entry_with_ttls(&attr.lasts.attr, &attr.lasts.name, &file_attr(&attr, owner), GENERATION),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    fn forget(&self, _request: &Request, ino: INodeNo, count: u64) {
        guard("forget", || self.view.forget(ino.0, count));
    }

    fn getattr(&self, request: &Request, ino: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        let call = self.begin(request, "getattr", ino, None);
        let (caller, owner, handle) = (caller(request), self.owner, handle.map(|handle| handle.0));
        answer(&self.view, "getattr", Place::Inode(ino.0), move |view| {
            let done = Box::new(move |attr: Result<Attr, FsError>| match call.end(attr) {
                Ok(attr) => reply.attr(&attr.lasts.attr, &file_attr(&attr, owner)),
                Err(error) => reply.error(errno(&error)),
            });
            view.getattr_then(caller, ino.0, handle, done);
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
        // Owner, access and birth times are taken and dropped: cp -p, rsync and tar set them, and fail where they are refused.
        let touched = matches!(mtime, Some(TimeOrNow::Now));
        let new = NewAttr { mode, size, modified_ms: mtime.and_then(time_ms), touched };
        let (caller, owner, handle) = (caller(request), self.owner, handle.map(|handle| handle.0));
        let call = self.begin(request, "setattr", ino, None);
        answer(&self.view, "setattr", Place::Inode(ino.0), move |view| {
            let done = Box::new(move |attr| reply_attr(reply, owner, call.end(attr)));
            view.setattr(caller, ino.0, handle, new, done);
        });
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        guard("readlink", || match self.begin(request, "readlink", ino, None).end(self.view.readlink(ino.0)) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(error) => reply.error(errno(&error)),
        });
    }

    fn mknod(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, _rdev: u32, reply: ReplyEntry) {
        let call = self.begin(request, "mknod", parent, Some(name));
        let (view, caller, owner, name) = (Arc::clone(&self.view), in_directory(request), self.owner, name.as_bytes().to_vec());
        let make = move || {
            let made = match mode & libc::S_IFMT {
                libc::S_IFREG => view.mknod(caller, parent.0, &name, mode),
                // mknod(2)'s answer of a filesystem that has no such nodes; link(2)'s is the same.
                _ => Err(FsError::NotPermitted("files here are items; there are no pipes, sockets and devices")),
            };
            reply_entry(reply, owner, call.end(made));
        };
        // Elsewhere: it waits for a commit.
        guard("mknod", || self.view.run_elsewhere(Box::new(make)));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        let call = self.begin(request, "mkdir", parent, Some(name));
        let (caller, owner, name) = (in_directory(request), self.owner, name.as_bytes().to_vec());
        answer(&self.view, "mkdir", Place::Directory(parent.0), move |view| {
            reply_entry(reply, owner, call.end(view.mkdir(caller, parent.0, &name)));
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        guard("unlink", || {
            let call = self.begin(request, "unlink", parent, Some(name));
            let done = Box::new(move |ended| reply_empty(reply, call.end(ended)));
            self.view.unlink(in_directory(request), parent.0, name.as_bytes(), done);
        });
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let call = self.begin(request, "rmdir", parent, Some(name));
        let (caller, name) = (in_directory(request), name.as_bytes().to_vec());
        answer(&self.view, "rmdir", Place::Directory(parent.0), move |view| {
            reply_empty(reply, call.end(view.rmdir(caller, parent.0, &name)));
        });
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let call = self.begin(request, "symlink", parent, Some(name));
        let (caller, owner) = (in_directory(request), self.owner);
        let (name, target) = (name.as_bytes().to_vec(), target.as_os_str().as_bytes().to_vec());
        answer(&self.view, "symlink", Place::Directory(parent.0), move |view| {
            reply_entry(reply, owner, call.end(view.symlink(caller, parent.0, &name, &target)));
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
        guard("rename", || {
            let (from, to) = ((parent.0, name.as_bytes()), (newparent.0, newname.as_bytes()));
            let call = self.begin(request, "rename", parent, Some(name));
            let done = Box::new(move |ended| reply_empty(reply, call.end(ended)));
            self.view.rename(in_directory(request), from, to, rename_flags(flags), done);
        });
    }

    fn link(&self, request: &Request, _ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let refused = Err(FsError::NotPermitted("an item has one name; cp makes another item"));
        reply_entry(reply, self.owner, self.begin(request, "link", newparent, Some(newname)).end(refused));
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (caller, flags) = (caller(request), open_flags(flags.0));
        let call = self.begin(request, "open", ino, None);
        answer(&self.view, "open", Place::Inode(ino.0), move |view| match call.end(view.open(caller, ino.0, flags)) {
            Ok(handle) => reply.opened(FileHandle(handle), fopen_flags(flags.write)),
            Err(error) => reply.error(errno(&error)),
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
        guard("read", || {
            let call = self.begin(request, "read", ino, None);
            let done = Box::new(move |read: Result<Bytes, FsError>| match call.end(read) {
                Ok(bytes) => reply.data(bytes.as_ref()),
                Err(error) => reply.error(errno(&error)),
            });
            self.view.read(caller(request), handle.0, offset, size as usize, done);
        });
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
        // After write(2) the kernel asks for the file's attributes; not so when it writes back what a mapping left.
        let is_mapped = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let wait = if is_mapped { WaitPolicy::Short } else { WaitPolicy::Settled };
        guard("write", || {
            // The kernel never sends more than WRITE_BYTES_MAX.
            let written = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let call = self.begin(request, "write", ino, None);
            let done = Box::new(move |ended| match call.end(ended) {
                Ok(()) => reply.written(written),
                Err(error) => reply.error(errno(&error)),
            });
            self.view.write(convert::caller(request, wait), handle.0, offset, data, done);
        });
    }

    fn flush(&self, request: &Request, ino: INodeNo, handle: FileHandle, _lock_owner: LockOwner, reply: ReplyEmpty) {
        guard("flush", || {
            // Not the last close: a child's comes here too, with half a document written, and one before the first write.
            let call = self.begin(request, "flush", ino, None);
            let done = Box::new(move |ended| reply_empty(reply, call.end(ended)));
            self.view.flush(caller(request), handle.0, done);
        });
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
        guard("release", || {
            // An error here reaches nobody: the view has it in its log.
            let call = self.begin(request, "release", ino, None);
            let done = Box::new(move |ended| reply_empty(reply, call.end(ended)));
            self.view.release(caller(request), handle.0, done);
        });
    }

    fn fsync(&self, request: &Request, ino: INodeNo, handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        guard("fsync", || {
            let call = self.begin(request, "fsync", ino, None);
            let done = Box::new(move |ended| reply_empty(reply, call.end(ended)));
            self.view.fsync(caller(request), handle.0, done);
        });
    }

    fn opendir(&self, request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        guard("opendir", || {
            match self.begin(request, "opendir", ino, None).end(self.view.opendir(in_directory(request), ino.0)) {
                // No FOPEN_CACHE_DIR: a kept listing would not show what other front ends write.
                Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    fn readdir(&self, request: &Request, ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        guard("readdir", || {
            let call = self.begin(request, "readdir", ino, None);
            let (view, caller) = (Arc::clone(&self.view), in_directory(request));
            let list = move || {
                let read = view.readdir(caller, handle.0, offset, &mut |entry, offset| {
                    reply.add(INodeNo(entry.ino), offset, file_type(entry.kind), entry.name)
                });
                match call.end(read) {
                    Ok(()) => reply.ok(),
                    Err(error) => reply.error(errno(&error)),
                }
            };
            self.view.run_listing(handle.0, Box::new(list));
        });
    }

    fn readdirplus(&self, request: &Request, ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        guard("readdirplus", || {
            let call = self.begin(request, "readdirplus", ino, None);
            let (view, caller, owner) = (Arc::clone(&self.view), caller(request), self.owner);
            let list = move || {
                let read = view.readdirplus(caller, ino.0, handle.0, offset, &mut |name, offset, attr| {
                    let ttl = attr.lasts.name.min(attr.lasts.attr);
                    reply.add(INodeNo(attr.ino), offset, name, &ttl, &file_attr(attr, owner), GENERATION)
                });
                match call.end(read) {
                    Ok(()) => reply.ok(),
                    Err(error) => reply.error(errno(&error)),
                }
            };
            self.view.run_listing(handle.0, Box::new(list));
        });
    }

    fn releasedir(&self, _request: &Request, _ino: INodeNo, handle: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        guard("releasedir", || {
            self.view.releasedir(handle.0);
            reply.ok();
        });
    }

    /// What a directory shows was durable before the call that made it returned.
    /// Not ENOSYS: the kernel would take it for success from then on, even of a daemon that is dead.
    fn fsyncdir(&self, _request: &Request, _ino: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        guard("statfs", || {
            let stat = self.view.statfs();
            let (block, free, available) = (stat.block_bytes, stat.blocks_free, stat.blocks_available);
            // No inodes and none free: there is no such bound.
            reply.statfs(stat.blocks, free, available, 0, 0, block, stat.name_bytes_max, block);
        });
    }

    /// ENOSYS, where there are to be none: the kernel asks no more. So for the other three.
    fn setxattr(&self, request: &Request, ino: INodeNo, name: &OsStr, _value: &[u8], _flags: i32, _at: u32, reply: ReplyEmpty) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        let call = self.begin(request, "setxattr", ino, None);
        reply_empty(reply, call.end(Err(self.view.setxattr(name.as_bytes()))));
    }

    fn getxattr(&self, request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        guard("getxattr", || {
            let call = self.begin(request, "getxattr", ino, None);
            match call.end(self.view.getxattr(caller(request), ino.0, name.as_bytes())) {
                Ok(value) => reply_xattr(reply, &value, size),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    /// None is listed: see `fs::view`.
    fn listxattr(&self, _request: &Request, _ino: INodeNo, size: u32, reply: ReplyXattr) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        reply_xattr(reply, &[], size);
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if !self.has_xattr {
            return reply.error(Errno::ENOSYS);
        }
        reply_empty(reply, self.begin(request, "removexattr", ino, None).end(Err(self.view.removexattr(name.as_bytes()))));
    }

    fn access(&self, request: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let caller = caller(request);
        answer(&self.view, "access", Place::Inode(ino.0), move |view| match view.getattr(caller, ino.0, None) {
            Ok(attr) if mask.contains(AccessFlags::W_OK) && !attr.writable => reply.error(Errno::EROFS),
            Ok(attr) if mask.contains(AccessFlags::X_OK) && attr.permissions() & 0o111 == 0 => reply.error(Errno::EACCES),
            Ok(_) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        });
    }

    fn create(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, flags: i32, reply: ReplyCreate) {
        let call = self.begin(request, "create", parent, Some(name));
        let (view, caller, owner, name) = (Arc::clone(&self.view), in_directory(request), self.owner, name.as_bytes().to_vec());
        let flags = open_flags(flags);
        let make = move || match call.end(view.create(caller, parent.0, &name, mode, flags)) {
            Ok(created) => {
                let attr = file_attr(&created.attr, owner);
                reply.created(&TTL, &attr, GENERATION, FileHandle(created.handle), fopen_flags(true));
            }
            Err(error) => reply.error(errno(&error)),
        };
        // Elsewhere what waits for a commit.
        guard("create", || if flags.exclusive { self.view.run_elsewhere(Box::new(make)) } else { make() });
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

    /// ENOSYS: the kernel treats every file as ready, and asks no more.
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

    fn fallocate(&self, request: &Request, ino: INodeNo, _: FileHandle, _offset: u64, _length: u64, _mode: i32, reply: ReplyEmpty) {
        // posix_fallocate(3) then writes zeros itself.
        let refused = Err(FsError::Unsupported("an item has the size of its text; write it as a whole"));
        reply_empty(reply, self.begin(request, "fallocate", ino, None).end(refused));
    }

    /// ENOSYS: the kernel seeks by itself, and asks no more.
    fn lseek(&self, _request: &Request, _ino: INodeNo, _handle: FileHandle, _offset: i64, _whence: i32, reply: ReplyLseek) {
        reply.error(Errno::ENOSYS);
    }

    /// EOPNOTSUPP of what is no whole item: the kernel copies by reading and writing.
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
        guard("copy_file_range", || {
            let from = RangeEnd { ino: ino_in.0, handle: handle_in.0, offset: offset_in };
            let to = RangeEnd { ino: ino_out.0, handle: handle_out.0, offset: offset_out };
            let call = self.begin(request, "copy_file_range", ino_out, None);
            let done = Box::new(move |copied: Result<u64, FsError>| match call.end(copied) {
                // An item's text is far below.
                Ok(bytes) => reply.written(u32::try_from(bytes).unwrap_or(u32::MAX)),
                Err(error) => reply.error(errno(&error)),
            });
            self.view.copy_file_range(caller(request), from, to, length, done);
        });
    }
}
