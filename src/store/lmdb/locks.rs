//! Locks between the processes that have a data directory open, on bytes of a file beside the data.
//!
//! They are open file description locks (fcntl(2), `F_OFD_SETLK`): they belong to the open file,
//! not to the process as LMDB's do. They end with that file whatever else closes it, and hold in
//! every container that sees the directory.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use super::directory::{DataDirectory, open_to_write, write_options};

/// The name of the file.
pub(super) const LOCKS_FILE: &str = "log.lock";

/// The bytes of the file, each a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(super) enum LockByte {
    /// Held while the store is being opened or its last process ends.
    Opening = 0,
    /// Shared by every process that has the store open.
    Presence = 1,
    /// Held over a checkpoint. Taken before LMDB's writer mutex, never under it.
    Checkpoint = 2,
    /// The lease: shared by every process that has the store open, and held alone by one that
    /// caches what it reads, see `lease`. Taken before all others.
    Lease = 3,
}

/// The open file with its locks.
#[derive(Debug)]
pub(super) struct FileLocks(File);

/// A byte held exclusively, until dropped.
#[derive(Debug)]
pub(super) struct LockedByte<'l>(&'l FileLocks, LockByte);

impl FileLocks {
    pub fn open(directory: &DataDirectory) -> io::Result<Self> {
        open_to_write(&directory.path().join(LOCKS_FILE)).map(Self)
    }

    /// Opens the file without creating it; `None` if there is none.
    pub fn open_existing(directory: &Path) -> io::Result<Option<Self>> {
        let path = directory.join(LOCKS_FILE);
        match write_options().read(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => file.map(|file| Some(Self(file))),
        }
    }

    /// Waits for an exclusive lock on a byte, and holds it until the file is closed.
    pub fn lock_until_close(&self, byte: LockByte) -> io::Result<()> {
        self.set(byte, libc::F_WRLCK, libc::F_OFD_SETLKW)
    }

    /// Waits for an exclusive lock on a byte, and holds it until the guard is dropped.
    pub fn lock(&self, byte: LockByte) -> io::Result<LockedByte<'_>> {
        self.lock_until_close(byte)?;
        Ok(LockedByte(self, byte))
    }

    /// Takes an exclusive lock on a byte; returns false, and changes nothing, if another process
    /// shares it.
    pub fn try_lock(&self, byte: LockByte) -> io::Result<bool> {
        self.try_set(byte, libc::F_WRLCK)
    }

    /// Takes a shared lock on a byte, also from an exclusive one; returns false if another process
    /// holds it exclusively.
    pub fn try_lock_shared(&self, byte: LockByte) -> io::Result<bool> {
        self.try_set(byte, libc::F_RDLCK)
    }

    fn try_set(&self, byte: LockByte, kind: libc::c_int) -> io::Result<bool> {
        match self.set(byte, kind, libc::F_OFD_SETLK) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// True if no other process has the store open. One may be about to.
    pub fn is_alone(&self) -> io::Result<bool> {
        let mut lock = lock_of(LockByte::Presence, libc::F_WRLCK);
        // SAFETY: a descriptor that is open for the call; the lock lives through it.
        match unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) } {
            0 => Ok(libc::c_int::from(lock.l_type) == libc::F_UNLCK),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Shares [`LockByte::Presence`], until the file is closed.
    pub fn lock_presence(&self) -> io::Result<()> {
        self.set(LockByte::Presence, libc::F_RDLCK, libc::F_OFD_SETLKW)
    }

    /// Returns the file, for the mark that it holds.
    pub fn file(&self) -> &File {
        &self.0
    }

    fn set(&self, byte: LockByte, kind: libc::c_int, command: libc::c_int) -> io::Result<()> {
        let lock = lock_of(byte, kind);
        loop {
            // SAFETY: a descriptor that is open for the call; the lock lives through it.
            if unsafe { libc::fcntl(self.0.as_raw_fd(), command, &raw const lock) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            // A signal interrupts the waiting command.
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "constants, wider in C than the fields that they are for"
)]
fn lock_of(byte: LockByte, kind: libc::c_int) -> libc::flock {
    // SAFETY: consists of integers, for which 0 is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence, lock.l_len) =
        (kind as libc::c_short, libc::SEEK_SET as libc::c_short, 1);
    lock.l_start = libc::off_t::from(byte as i8);
    lock
}

impl Drop for LockedByte<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.set(self.1, libc::F_UNLCK, libc::F_OFD_SETLK) {
            log::error!("a lock of the store cannot be given back: {error}");
        }
    }
}
