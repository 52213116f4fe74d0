//! Conversions between the types of the view (`fs`) and fuser's: attributes, flags, callers,
//! errors.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileType, FopenFlags, Generation, INodeNo, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, ReplyXattr,
    Request, TimeOrNow,
};

use nix::unistd::{getegid, geteuid};

use super::mountpoint::MountOptions;
use crate::fs::FsError;
use crate::fs::node::NodeKind;
use crate::fs::node::attr::Attr;
use crate::fs::open::OpenFlags;
use crate::fs::process::Caller;
use crate::fs::view::{ReadBy, RenameFlags};
use crate::model::api::WaitPolicy;

/// The generation of all inodes: inode numbers are never reused, see `fs::node::inode_table`.
pub const GENERATION: Generation = Generation(0);
/// The block size in attributes, a hint for the size of reads.
const IO_BYTES: u32 = 128 * 1024;

/// The owner of all files, and the removed permission bits.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
    /// The permission bits that are removed.
    pub umask: u16,
}

impl Owner {
    /// Returns the owner from the mount options, or else the user of this process.
    pub fn new(options: &MountOptions) -> Self {
        Self {
            uid: options.uid.unwrap_or_else(|| geteuid().as_raw()),
            gid: options.gid.unwrap_or_else(|| getegid().as_raw()),
            umask: options.umask,
        }
    }
}

pub fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::Directory => FileType::Directory,
        NodeKind::File => FileType::RegularFile,
        NodeKind::Symlink => FileType::Symlink,
    }
}

pub fn file_attr(attr: &Attr, owner: Owner) -> FileAttr {
    // All times are equal: a record has only the time of its commit.
    let time = UNIX_EPOCH + Duration::from_millis(attr.modified_ms);
    FileAttr {
        ino: INodeNo(attr.ino),
        size: attr.size,
        blocks: attr.blocks(),
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: file_type(attr.kind),
        perm: permissions(attr, owner.umask),
        nlink: attr.links,
        uid: owner.uid,
        gid: owner.gid,
        rdev: 0,
        blksize: IO_BYTES,
        flags: 0,
    }
}

/// Returns the permission bits of a file or directory; those of a symlink mean nothing.
pub fn permissions(attr: &Attr, umask: u16) -> u16 {
    match attr.kind {
        NodeKind::Symlink => attr.permissions(),
        NodeKind::Directory | NodeKind::File => attr.permissions() & !umask,
    }
}

/// A reply of fuser's that can report a failure, whatever its success type.
pub trait FailReply: Send + 'static {
    fn refuse(self, errno: Errno);
}

macro_rules! fail_replies {
    ($($reply:ty),*) => {
        $(impl FailReply for $reply {
            fn refuse(self, errno: Errno) {
                self.error(errno);
            }
        })*
    };
}

fail_replies!(
    ReplyAttr,
    ReplyCreate,
    ReplyData,
    ReplyDirectory,
    ReplyDirectoryPlus,
    ReplyEmpty,
    ReplyEntry,
    ReplyOpen,
    ReplyWrite,
    ReplyXattr
);

pub fn errno(error: &FsError) -> Errno {
    Errno::from_i32(error.errno() as i32)
}

pub fn caller(request: &Request, wait: WaitPolicy) -> Caller {
    Caller {
        pid: request.pid(),
        uid: request.uid(),
        gid: request.gid(),
        wait,
    }
}

pub fn open_flags(flags: i32) -> OpenFlags {
    OpenFlags {
        write: flags & libc::O_ACCMODE != libc::O_RDONLY,
        truncate: flags & libc::O_TRUNC != 0,
        exclusive: flags & libc::O_EXCL != 0,
        append: flags & libc::O_APPEND != 0,
    }
}

/// Returns the flags of an opened file. By direct I/O each handle reads its own version; the page
/// cache has one version for all handles of an inode number. Readers need no flush.
pub fn fopen_flags(write: bool, reads: ReadBy) -> FopenFlags {
    let pages = match reads {
        ReadBy::Requests => FopenFlags::FOPEN_DIRECT_IO,
        ReadBy::NewPages => FopenFlags::empty(),
        ReadBy::Pages => FopenFlags::FOPEN_KEEP_CACHE,
    };
    if write {
        pages
    } else {
        pages | FopenFlags::FOPEN_NOFLUSH
    }
}

pub fn rename_flags(flags: fuser::RenameFlags) -> RenameFlags {
    let no_replace = fuser::RenameFlags::RENAME_NOREPLACE;
    let exchange = fuser::RenameFlags::RENAME_EXCHANGE;
    let other = !(flags - no_replace - exchange).is_empty();
    RenameFlags {
        no_replace: flags.contains(no_replace),
        exchange: flags.contains(exchange),
        other,
    }
}

/// Returns milliseconds since the epoch; `None` for "now".
pub fn time_ms(time: TimeOrNow) -> Option<u64> {
    match time {
        TimeOrNow::Now => None,
        TimeOrNow::SpecificTime(time) => Some(system_time_ms(time)),
    }
}

fn system_time_ms(time: SystemTime) -> u64 {
    u64::try_from(
        time.duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis(),
    )
    .unwrap_or(u64::MAX)
}
