//! What a special file or directory reads, and what may be called on it.

use std::sync::Arc;

use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::mount::text::Text;
use crate::fs::node::attr::Attr;
use crate::fs::node::special::{Effort, Special, SpecialNode};
use crate::fs::node::{Kind, Node};
use crate::fs::open::computed::Producer;
use crate::fs::open::directory::Lister;
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::open::{OpenFlags, Reply};
use crate::fs::process::Caller;

/// A kind of special files and directories. `at` is which of them a call is about. It holds no state.
pub trait Room {
    /// Milliseconds since the epoch: when its table was made, or of what belongs to no table when this mount began.
    ///
    /// # Errors
    /// What it stands for is gone.
    fn modified_ms(&self, at: &Special, mount: &Mount) -> Result<u64, FsError> {
        at.table().map_or(Ok(mount.started_ms), |table| mount.table_time(table))
    }

    /// Attributes; the size is that of the text.
    ///
    /// # Errors
    /// `NotFound` when it is not there.
    fn attr(&self, at: &SpecialNode, mount: &Mount, caller: Caller) -> Result<Attr, FsError> {
        let (modified_ms, ino) = (self.modified_ms(at, mount)?, at.ino());
        match at.kind {
            Kind::Directory => Ok(Attr::directory(ino, modified_ms)),
            Kind::Symlink => Ok(Attr::symlink(ino, &self.link_target(at, mount)?, modified_ms)),
            Kind::File => {
                let size = match at.effort {
                    _ if at.is_computed() => 0,
                    Effort::Small => self.text(at, mount, caller)?.len() as u64,
                    Effort::Table | Effort::TableNow => self.made(at, mount, caller)?.bytes.len() as u64,
                };
                Ok(Attr { writable: at.is_writable, ..Attr::read_only(ino, size, modified_ms) })
            }
        }
    }

    /// What a name means in this directory, whether or not it exists.
    ///
    /// # Errors
    /// `NotFound` when the name can mean nothing here.
    fn resolve(&self, _at: &SpecialNode, _mount: &Mount, _name: &str) -> Result<Node, FsError> {
        Err(FsError::NotDirectory)
    }

    /// What this directory lists.
    ///
    /// # Errors
    /// Not a directory, or gone.
    fn lister(&self, _at: &SpecialNode, _mount: &Mount) -> Result<Box<dyn Lister>, FsError> {
        Err(FsError::NotDirectory)
    }

    /// What this file says.
    ///
    /// # Errors
    /// Not a file, or gone.
    fn text(&self, at: &Special, _mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Err(if at.kind == Kind::Directory { FsError::IsDirectory } else { FsError::BadHandle })
    }

    /// What this file says, counted. A text that reads a table is made once for all who ask.
    ///
    /// # Errors
    /// Those of [`Room::text`]; `TooManyOpen`.
    fn made(&self, at: &Special, mount: &Mount, caller: Caller) -> Result<Arc<Text>, FsError> {
        let make = || Text::new(self.text(at, mount, caller)?, &mount.budget);
        match at.effort {
            Effort::Small | Effort::TableNow => make(),
            Effort::Table => mount.texts.get(at.identity(), || mount.db.commit_id(), make),
        }
    }

    /// What makes the bytes of a computed file.
    ///
    /// # Errors
    /// Gone, or it is not computed.
    fn producer(&self, _at: &Special, _mount: &Mount) -> Result<Box<dyn Producer>, FsError> {
        Err(FsError::BadHandle)
    }

    /// Where this symlink points.
    ///
    /// # Errors
    /// Not a symlink, or gone.
    fn link_target(&self, _at: &Special, _mount: &Mount) -> Result<String, FsError> {
        Err(FsError::Invalid("not a symbolic link"))
    }

    /// OPEN of a reader, who gets the text as it is now.
    ///
    /// # Errors
    /// Gone.
    fn open_for_reading(&self, at: &SpecialNode, host: &Arc<dyn Host>, caller: Caller) -> Result<Handle, FsError> {
        Ok(Handle::Text(self.made(at, host.mount(), caller)?))
    }

    /// OPEN of a writer, and CREATE.
    ///
    /// # Errors
    /// Gone, or it cannot be written.
    fn open_for_writing(
        &self,
        _at: &SpecialNode,
        _host: &Arc<dyn Host>,
        _caller: Caller,
        _flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        Err(FsError::Derived)
    }

    /// UNLINK.
    fn unlink(&self, at: &SpecialNode, _host: &Arc<dyn Host>, _caller: Caller, reply: Reply<()>) {
        reply(Err(if at.kind == Kind::Directory { FsError::IsDirectory } else { FsError::Derived }));
    }

    /// MKDIR in this directory.
    ///
    /// # Errors
    /// None can be made.
    fn mkdir(&self, _at: &SpecialNode, _host: &dyn Host, _caller: Caller, _name: &str) -> Result<Node, FsError> {
        Err(FsError::Derived)
    }

    /// RMDIR.
    ///
    /// # Errors
    /// Not a directory, or part of the tree.
    fn rmdir(&self, at: &SpecialNode, _host: &dyn Host, _caller: Caller) -> Result<(), FsError> {
        Err(if at.kind == Kind::Directory { FsError::Derived } else { FsError::NotDirectory })
    }

    /// The answer to a file created in this directory under a name that means nothing here.
    fn create_refused(&self) -> FsError {
        FsError::Derived
    }

    /// SYMLINK in this directory.
    ///
    /// # Errors
    /// None can be made.
    fn symlink(&self, _at: &SpecialNode, _host: &dyn Host, _name: &str, _target: &str) -> Result<Node, FsError> {
        Err(FsError::NotPermitted("links are made in queries/ of a table: ln -s '../query/@pk=u1' queries/u1"))
    }

    /// RENAME of this file within its directory.
    ///
    /// # Errors
    /// It keeps its name.
    fn rename(&self, _at: &SpecialNode, _host: &dyn Host, _name: &str, _replace: bool) -> Result<(), FsError> {
        Err(FsError::Derived)
    }
}
