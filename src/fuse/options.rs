//! How to mount.

use std::path::PathBuf;
use std::time::Duration;

/// How to mount.
#[derive(Debug, Clone)]
pub struct MountOptions {
    pub mountpoint: PathBuf,
    /// The data directory, which must not be below the mountpoint.
    pub data: Option<PathBuf>,
    pub read_only: bool,
    /// The mountpoint may hold files, which are hidden while the mount lasts.
    pub nonempty: bool,
    /// Other users may come in; the kernel then holds to the permission bits.
    pub allow_other: bool,
    /// Whose files they are; else the mounting user's and group's.
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// Permission bits that no file and no directory has.
    pub umask: u16,
    /// The kernel is told that there are no extended attributes, and asks for none.
    pub no_xattr: bool,
    /// The kernel keeps nothing of what it is told.
    pub no_keep: bool,
    /// Threads that answer the kernel: as many calls may wait for a service elsewhere at a time.
    pub event_threads: usize,
    /// How long a call that may hold the lock of a file waits until the kernel is told. What it waits for may wait for that lock, which is
    /// rare: it takes a program that removes `X.patch` while it is written. Afterwards the call is answered though the kernel is not told.
    pub notify_timeout: Duration,
}

/// Much longer than a busy machine needs.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// Two are the best for most loads (with more, a client alone was a fifth slower); each has a file descriptor of its own.
const EVENT_THREADS: usize = 2;
/// The same where each call may wait for a service elsewhere.
pub const EVENT_THREADS_REMOTE: usize = 32;

/// `rwxr-xr-x` for directories, `rw-r--r--` for files.
pub const UMASK: u16 = 0o022;

impl MountOptions {
    /// A mount that can be written.
    #[must_use]
    pub fn new(mountpoint: impl Into<PathBuf>) -> Self {
        Self {
            mountpoint: mountpoint.into(),
            data: None,
            read_only: false,
            nonempty: false,
            allow_other: false,
            uid: None,
            gid: None,
            umask: UMASK,
            no_xattr: false,
            no_keep: false,
            event_threads: EVENT_THREADS,
            notify_timeout: NOTIFY_TIMEOUT,
        }
    }
}
