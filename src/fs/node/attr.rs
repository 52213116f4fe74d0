//! What stat shows: file, directory or symlink, and its attributes.

use crate::database::EntryStat;
use crate::fs::prelude::*;

/// Bytes that `st_blocks` counts in.
const BLOCK_BYTES: u64 = 512;

/// Attributes of a node; owner and permissions come from the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    pub ino: u64,
    pub kind: Kind,
    /// Bytes; 0 of a directory.
    pub size: u64,
    /// Commit time, milliseconds since the epoch: mtime, ctime and atime.
    pub modified_ms: u64,
    /// False for index entries and everything else that is derived.
    pub writable: bool,
    /// Names; 0 of a file that is open and has none any more.
    pub links: u32,
    /// Of an item or index entry, the version they are of; of anything else 0.
    pub version: Version,
    pub lasts: Lasting,
}

/// How long the kernel may keep what it is told of a node: by default not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lasting {
    /// That the name stands for the inode.
    pub name: Duration,
    /// The attributes.
    pub attr: Duration,
}

impl Lasting {
    /// It asks again each time.
    pub const NOT: Self = Self {
        name: Duration::ZERO,
        attr: Duration::ZERO,
    };
}

impl Attr {
    /// As of its kind, without its inode number, which [`Attr::of`] gives.
    fn new(kind: Kind, size: u64, modified_ms: u64) -> Self {
        Self {
            ino: 0,
            kind,
            size,
            modified_ms,
            writable: true,
            links: 1,
            version: 0,
            lasts: Lasting::NOT,
        }
    }

    /// A directory.
    #[must_use]
    pub fn directory(modified_ms: u64) -> Self {
        Self::new(Kind::Directory, 0, modified_ms)
    }

    /// A file that cannot be written.
    #[must_use]
    pub fn read_only(size: u64, modified_ms: u64) -> Self {
        Self {
            writable: false,
            ..Self::file(size, modified_ms)
        }
    }

    /// A file that can be written.
    #[must_use]
    pub fn file(size: u64, modified_ms: u64) -> Self {
        Self::new(Kind::File, size, modified_ms)
    }

    /// A symlink; its size is the target's length.
    #[must_use]
    pub fn symlink(target: &str, modified_ms: u64) -> Self {
        Self::new(Kind::Symlink, target.len() as u64, modified_ms)
    }

    /// `X.json`.
    #[must_use]
    pub fn entry(stat: &EntryStat, writable: bool) -> Self {
        Self {
            writable,
            version: stat.version,
            ..Self::file(stat.plain_json_bytes, stat.modified_ms)
        }
    }

    /// The same, of the inode that is shown under this number.
    #[must_use]
    pub fn of(self, ino: u64) -> Self {
        Self { ino, ..self }
    }

    /// `st_blocks`: units of 512 bytes, rounded up.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.size.div_ceil(BLOCK_BYTES)
    }

    /// The permission bits before the mount's umask: anybody may read, and write what can be written.
    #[must_use]
    pub fn permissions(&self) -> u16 {
        match (self.kind, self.writable) {
            (Kind::Directory, true) => 0o777,
            (Kind::Directory, false) => 0o555,
            (Kind::File, true) => 0o666,
            (Kind::File, false) => 0o444,
            (Kind::Symlink, _) => 0o777,
        }
    }
}

/// File, directory or symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
    Symlink,
}
