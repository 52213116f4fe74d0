//! Extended attributes. `user.ddb.*` of an item tell what is known of it, to who asks by name: they are not listed, since `cp -a`,
//! `tar --xattrs` and `rsync -X` would carry them away. Others are not kept, and setting them is refused as by a filesystem that has none:
//! `cp -a` and `mv` then go on in silence. Programs that complain all the same are told yes, and a warning says what was not kept.

use std::sync::atomic::Ordering;

use super::View;
use crate::fs::FsError;
use crate::fs::open::text::warn;
use crate::fs::process::{Caller, name_of, process_of, session_of};
use crate::fs::special::item::facts::Facts;
use crate::fs::time::now_ms;

/// What the names of our own begin with.
const PREFIX: &[u8] = b"user.ddb.";

/// Programs that report every attribute that cannot be set, and those that then fail.
const COMPLAINERS: [&str; 6] = ["rsync", "tar", "gtar", "bsdtar", "star", "unzip"];

fn complains(pid: u32) -> bool {
    COMPLAINERS.contains(&name_of(pid).as_str())
}

/// Is it of a kind that no file here has? Who asks file by file, as a coloured `ls` for `security.capability`, then asks once.
fn has_none(name: &[u8]) -> bool {
    name.starts_with(b"system.posix_acl_") || name.starts_with(b"security.")
}

impl View {
    /// GETXATTR.
    ///
    /// # Errors
    /// `NoAttribute`; `NotSupported` of access control lists and of what security modules keep.
    pub fn getxattr(&self, caller: Caller, ino: u64, name: &[u8]) -> Result<Vec<u8>, FsError> {
        let Some(fact) = name.strip_prefix(PREFIX) else {
            return Err(if has_none(name) { FsError::NotSupported } else { FsError::NoAttribute });
        };
        let node = self.node(ino)?;
        let value = match fact {
            b"error" => self.mount.journal.last_at(session_of(caller.pid), &self.mount.path(&node), now_ms()),
            fact => Facts::of_node(&self.mount, &node)?.get(&String::from_utf8_lossy(fact)),
        };
        value.map(String::into_bytes).ok_or(FsError::NoAttribute)
    }

    /// SETXATTR: nothing is kept.
    ///
    /// # Errors
    /// `Derived` of what is known, `NotSupported` and `Unsupported` of the rest, save for programs that would complain.
    pub fn setxattr(&self, caller: Caller, ino: u64, name: &[u8]) -> Result<(), FsError> {
        if name.starts_with(PREFIX) {
            return Err(FsError::Derived);
        }
        let process = process_of(caller.pid);
        if !name.starts_with(b"user.") {
            return Err(FsError::NotSupported);
        }
        if !complains(process) {
            return Err(FsError::Unsupported(
                "files here keep no extended attributes; what is to be kept is an attribute of the item",
            ));
        }
        if self.warned_of_xattr.swap(process, Ordering::Relaxed) != process {
            let path = self.node(ino).map(|node| self.mount.path(&node)).unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            let sentence = format!("files here keep no extended attributes: {name} of this and other files was not kept");
            warn(self, &path, vec![sentence]);
        }
        Ok(())
    }

    /// REMOVEXATTR: there is none.
    ///
    /// # Errors
    /// Always.
    pub fn removexattr(&self, name: &[u8]) -> FsError {
        match name {
            name if name.starts_with(PREFIX) => FsError::Derived,
            name if name.starts_with(b"user.") => FsError::NoAttribute,
            _ => FsError::NotSupported,
        }
    }
}
