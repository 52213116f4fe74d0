//! System calls without a safe wrapper in the crates used: disk space, mapped files, allocation of
//! blocks, write-out of dirty pages, scheduling.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::store::StoreInfo;

/// The lowest real-time priority: above every normal thread, below all other real-time threads.
const REAL_TIME_PRIORITY: libc::c_int = 1;

/// Returns the effective user of this process (geteuid(2)).
pub(super) fn effective_user() -> libc::uid_t {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::geteuid() }
}

/// The free (to this user) and total bytes of a filesystem.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DiskSpace {
    pub free_bytes: u64,
    /// Bytes that are free too, but reserved for root.
    pub reserved_bytes: u64,
    pub total_bytes: u64,
}

/// A write that fails with EIO while less than this is free (besides its own size) hit a full disk:
/// LMDB reports a short write as EIO.
pub(super) const LOW_SPACE_BYTES: u64 = 8 * 1024 * 1024;

/// Returns the space of the filesystem that holds `path` (statvfs(3)).
#[allow(clippy::unnecessary_cast)] // The fields' types differ between systems.
pub(super) fn disk_space(path: &Path) -> io::Result<DiskSpace> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a terminated path and room for the answer, which is read only after success.
    let stat = unsafe {
        if libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        stat.assume_init()
    };
    let fragment = stat.f_frsize as u64;
    Ok(DiskSpace {
        free_bytes: (stat.f_bavail as u64).saturating_mul(fragment),
        reserved_bytes: (stat.f_bfree as u64)
            .saturating_sub(stat.f_bavail as u64)
            .saturating_mul(fragment),
        total_bytes: (stat.f_blocks as u64).saturating_mul(fragment),
    })
}

/// Returns what is known of a store from its disk and the bytes that it uses.
pub(super) fn disk_info(path: &Path, used_bytes: u64) -> StoreInfo {
    let disk = disk_space(path).unwrap_or_default();
    StoreInfo {
        used_bytes,
        free_bytes: disk.free_bytes,
        reserved_bytes: disk.reserved_bytes,
        total_bytes: disk.total_bytes,
        ..StoreInfo::default()
    }
}

/// A file mapped into memory (mmap(2)), read-only. Access to a part that the file loses while it is
/// mapped raises SIGBUS, see `sigbus`.
#[derive(Debug)]
pub(super) struct MappedFile {
    address: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: read-only memory that belongs to no thread.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps a file that is not empty.
    pub fn open(file: &File) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: a descriptor that is open for the call; the system chooses the place.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Self { address, bytes })
        }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped with this length until it is dropped; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.bytes) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and no slice of it is left.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

/// Allocates blocks for a part of a file (fallocate(2)). Writes zeros if the file system has no
/// such call, unless the file is to keep its length.
///
/// # Errors
/// The call failed; a part of the blocks may be allocated.
pub(super) fn allocate(file: &File, from: u64, bytes: u64, keeps_length: bool) -> io::Result<()> {
    let offset = |bytes: u64| libc::off_t::try_from(bytes).map_err(io::Error::other);
    let mode = if keeps_length {
        libc::FALLOC_FL_KEEP_SIZE
    } else {
        0
    };
    // SAFETY: a descriptor that is open for the call, and numbers.
    if unsafe { libc::fallocate(file.as_raw_fd(), mode, offset(from)?, offset(bytes)?) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EOPNOTSUPP) || keeps_length {
        return Err(error);
    }
    let zeros = [0; 64 * 1024];
    let mut at = from;
    while at < from + bytes {
        let part = usize::try_from(from + bytes - at)
            .unwrap_or(usize::MAX)
            .min(zeros.len());
        file.write_all_at(&zeros[..part], at)?;
        at += part as u64;
    }
    Ok(())
}

/// Takes a write lock of this process on the first byte of a file (fcntl(2)), which holds until any
/// descriptor of the file is closed. Returns the process that has a conflicting lock, if any.
#[expect(
    clippy::cast_possible_truncation,
    reason = "constants, wider in C than the fields that they are for"
)]
pub(super) fn lock_first_byte(file: &File) -> io::Result<Option<libc::pid_t>> {
    // SAFETY: consists of integers, for which 0 is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence, lock.l_len) = (
        libc::F_WRLCK as libc::c_short,
        libc::SEEK_SET as libc::c_short,
        1,
    );
    // SAFETY: a descriptor that is open for the call; the lock lives through it.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) } == 0 {
        return Ok(None);
    }
    let error = io::Error::last_os_error();
    if !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) {
        return Err(error);
    }
    // SAFETY: as above.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) } {
        0 => Ok(Some(lock.l_pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes a part of a file to the disk and waits for it (sync_file_range(2)). Does not flush the
/// disk's own cache.
pub(super) fn write_out(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_file_range(file, from, bytes, flags)
}

/// Starts writing a file to the disk; waits only if more is in progress than the system takes. Does
/// nothing if the system has no such call: a later sync has more to do.
pub(super) fn start_write_out(file: &File) -> io::Result<()> {
    match sync_file_range(file, 0, 0, libc::SYNC_FILE_RANGE_WRITE) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        begun => begun,
    }
}

fn sync_file_range(file: &File, from: u64, bytes: u64, flags: libc::c_uint) -> io::Result<()> {
    let offset = |bytes: u64| libc::off_t::try_from(bytes).map_err(io::Error::other);
    // SAFETY: a descriptor that is open for the call, and numbers.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset(from)?, offset(bytes)?, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes the pages that the last commit of an environment uses, and no others, as a data file.
pub(super) fn copy_used_pages(
    environment: &lmdb::Environment,
    file: &File,
) -> Result<(), lmdb::Error> {
    // SAFETY: both are open for the call, which reads the one and writes the other.
    match unsafe {
        lmdb_sys::mdb_env_copyfd2(
            environment.env(),
            file.as_raw_fd(),
            lmdb_sys::MDB_CP_COMPACT,
        )
    } {
        lmdb_sys::MDB_SUCCESS => Ok(()),
        code => Err(lmdb::Error::from_err_code(code)),
    }
}

/// Sets round-robin real-time scheduling for the calling thread alone, not for its children. Does
/// nothing if it is not allowed.
pub(super) fn set_real_time() {
    let parameter = libc::sched_param {
        sched_priority: REAL_TIME_PRIORITY,
    };
    // SAFETY: 0 is the calling thread; the parameter lives through the call.
    let result = unsafe {
        libc::sched_setscheduler(
            0,
            libc::SCHED_RR | libc::SCHED_RESET_ON_FORK,
            &raw const parameter,
        )
    };
    if result != 0 {
        log::debug!(
            "no real-time scheduling for the writer thread: {}",
            io::Error::last_os_error()
        );
    }
}
