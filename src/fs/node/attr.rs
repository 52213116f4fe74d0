//! The attributes that stat shows, and the kinds file, directory and symlink.

use crate::database::EntryStat;
use crate::fs::prelude::*;

/// The unit of `st_blocks`, in bytes.
const BLOCK_BYTES: u64 = 512;

/// Attributes of a node; owner and permissions come from the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    pub ino: u64,
    pub kind: NodeKind,
    /// Size in bytes; 0 for a directory.
    pub size: u64,
    /// Commit time, milliseconds since the epoch: mtime, ctime and atime.
    pub modified_ms: u64,
    /// False for index entries and all other derived files.
    pub writable: bool,
    /// Number of names; 0 for an open file that has none any more.
    pub links: u32,
    /// The version of an item or index entry that these attributes are of; 0 for anything else.
    pub version: Version,
    pub ttl: CacheTtl,
}

/// Times for which the kernel may cache a node; by default none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheTtl {
    /// Time for which the kernel may cache that the name stands for the inode.
    pub name: Duration,
    /// Time for which the kernel may cache the attributes.
    pub attr: Duration,
}

impl CacheTtl {
    /// No caching: the kernel asks each time.
    pub const NONE: Self = Self {
        name: Duration::ZERO,
        attr: Duration::ZERO,
    };
}

impl Attr {
    /// Creates attributes without an inode number, which [`Attr::of`] sets.
    fn new(kind: NodeKind, size: u64, modified_ms: u64) -> Self {
        Self {
            ino: 0,
            kind,
            size,
            modified_ms,
            writable: true,
            links: 1,
            version: 0,
            ttl: CacheTtl::NONE,
        }
    }

    /// Returns the attributes of a directory.
    #[must_use]
    pub fn directory(modified_ms: u64) -> Self {
        Self::new(NodeKind::Directory, 0, modified_ms)
    }

    /// Returns the attributes of a read-only file.
    #[must_use]
    pub fn read_only(size: u64, modified_ms: u64) -> Self {
        Self {
            writable: false,
            ..Self::file(size, modified_ms)
        }
    }

    /// Returns the attributes of a writable file.
    #[must_use]
    pub fn file(size: u64, modified_ms: u64) -> Self {
        Self::new(NodeKind::File, size, modified_ms)
    }

    /// Returns the attributes of a symlink; its size is the target's length.
    #[must_use]
    pub fn symlink(target: &str, modified_ms: u64) -> Self {
        Self::new(NodeKind::Symlink, target.len() as u64, modified_ms)
    }

    /// Returns the attributes of `X.json`.
    #[must_use]
    pub fn entry(stat: &EntryStat, writable: bool) -> Self {
        Self {
            writable,
            version: stat.version,
            ..Self::file(stat.plain_json_bytes, stat.modified_ms)
        }
    }

    /// Sets the inode number.
    #[must_use]
    pub fn with_ino(self, ino: u64) -> Self {
        Self { ino, ..self }
    }

    /// Sets the number under which the kernel knows the node. One that is not its own is shown only
    /// until the kernel asks for the attributes.
    #[must_use]
    pub fn with_number(self, number: u64) -> Self {
        let mut attr = Self {
            ino: number,
            ..self
        };
        if number != self.ino {
            attr.ttl.attr = Duration::ZERO;
        }
        attr
    }

    /// Returns `st_blocks`: units of 512 bytes, rounded up.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.size.div_ceil(BLOCK_BYTES)
    }

    /// Returns the permission bits before the mount's umask: all users may read, and write a
    /// writable file.
    #[must_use]
    pub fn permissions(&self) -> u16 {
        match (self.kind, self.writable) {
            (NodeKind::Directory, true) => 0o777,
            (NodeKind::Directory, false) => 0o555,
            (NodeKind::File, true) => 0o666,
            (NodeKind::File, false) => 0o444,
            (NodeKind::Symlink, _) => 0o777,
        }
    }
}

/// File, directory or symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    Directory,
    File,
    Symlink,
}
