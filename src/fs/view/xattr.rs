//! Extended attributes. `user.ddb.*` of an item tell what is known of it, to who asks by name: they are not listed, since `cp -a`,
//! `tar --xattrs` and `rsync -X` would carry them away. Others are not kept; setting them succeeds where programs would complain.

use super::{Caller, View};
use crate::fs::FsError;
use crate::fs::journal::session_of;
use crate::fs::special::item::facts::Facts;
use crate::fs::tree::now_ms;

/// What the names of our own begin with.
const PREFIX: &[u8] = b"user.ddb.";

impl View {
    /// GETXATTR.
    ///
    /// # Errors
    /// `NoAttribute`; `NotSupported` of access control lists.
    pub fn getxattr(&self, caller: Caller, ino: u64, name: &[u8]) -> Result<Vec<u8>, FsError> {
        let Some(fact) = name.strip_prefix(PREFIX) else {
            return Err(if name.starts_with(b"system.posix_acl_") { FsError::NotSupported } else { FsError::NoAttribute });
        };
        let node = self.node(ino)?;
        let value = match fact {
            b"error" => self.tree.journal.last_at(session_of(caller.pid), &self.tree.path(&node), now_ms()),
            fact => Facts::of_node(&self.tree, &node)?.get(&String::from_utf8_lossy(fact)),
        };
        value.map(String::into_bytes).ok_or(FsError::NoAttribute)
    }

    /// SETXATTR: nothing is kept.
    ///
    /// # Errors
    /// `Derived` of what is known, `NotSupported` of what would be a promise to keep.
    pub fn setxattr(&self, name: &[u8]) -> Result<(), FsError> {
        match name {
            name if name.starts_with(PREFIX) => Err(FsError::Derived),
            // `rsync -X` and `tar --xattrs` report what cannot be set.
            name if name.starts_with(b"user.") => Ok(()),
            _ => Err(FsError::NotSupported),
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
