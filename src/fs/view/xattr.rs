//! Extended attributes. `user.ddb.*` of an item tell what is known of it, to who asks by name: they are not listed, since `cp -a`,
//! `tar --xattrs` and `rsync -X` would carry them away. Others are not kept, and setting them is refused as by a filesystem that has none:
//! `cp -a` and `mv` then go on in silence, `tar` with a warning; `rsync -X` fails.

use super::View;
use crate::fs::open::prelude::*;
use crate::fs::process::session_of;
use crate::fs::source::item::facts::Facts;

/// What the names of our own begin with.
const PREFIX: &[u8] = b"user.ddb.";

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

    /// SETXATTR: nothing is kept, so it always fails.
    pub fn setxattr(&self, name: &[u8]) -> FsError {
        match name {
            name if name.starts_with(PREFIX) => FsError::Derived,
            name if name.starts_with(b"user.") => {
                FsError::Unsupported("files here keep no extended attributes; what is to be kept is an attribute of the item")
            }
            _ => FsError::NotSupported,
        }
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
