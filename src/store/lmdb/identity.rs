//! The identity of the page cache through which a checkpoint was written: `checkpoint_file` stores
//! it, and `recovery_analysis` compares it with the present one.
//!
//! As long as it is the same, a data file of a killed process is whole in the page cache, though it
//! was never synced. The identity changes when the machine has stopped, when the file system was
//! unmounted, and when the files were copied.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A file of the system that has a new content after each boot.
const BOOT_ID_FILE: &str = "/proc/sys/kernel/random/boot_id";

pub(super) const IDENTITY_BYTES: usize = 40;

/// A file in one page cache: the boot's id, then device, inode and mount.
pub(super) type Identity = [u8; IDENTITY_BYTES];

/// True if both are of one file, whatever the boot and mount. A copy is another file.
pub(super) fn is_same_file(one: &Identity, other: &Identity) -> bool {
    one[16..32] == other[16..32]
}

/// Returns the identity of an open file; `None` if the system cannot tell one mount from a later
/// one (Linux before 6.8), so that it is never the same.
pub(super) fn identity(file: &File) -> io::Result<Option<Identity>> {
    let boot: String = std::fs::read_to_string(BOOT_ID_FILE)?
        .chars()
        .filter(char::is_ascii_hexdigit)
        .collect();
    let boot = u128::from_str_radix(&boot, 16).map_err(io::Error::other)?;
    // SAFETY: consists of integers, for which 0 is a value.
    let mut status: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_INO | libc::STATX_MNT_ID_UNIQUE;
    // SAFETY: an open descriptor, an empty terminated path, and room for the result.
    if unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            mask,
            &raw mut status,
        )
    } != 0
    {
        return Err(io::Error::last_os_error());
    }
    if status.stx_mask & mask != mask {
        return Ok(None);
    }
    let device = u64::from(status.stx_dev_major) << 32 | u64::from(status.stx_dev_minor);
    let mut identity = [0; IDENTITY_BYTES];
    identity[..16].copy_from_slice(&boot.to_le_bytes());
    identity[16..24].copy_from_slice(&device.to_le_bytes());
    identity[24..32].copy_from_slice(&status.stx_ino.to_le_bytes());
    identity[32..].copy_from_slice(&status.stx_mnt_id.to_le_bytes());
    Ok(Some(identity))
}
