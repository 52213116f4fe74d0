//! What a special file or directory reads, and what may be called on it.
//!
//! A kind of them is a type with this trait, in one file: what it leaves out is answered as for a thing of its kind that cannot do it.

use std::fmt::Debug;

use super::computed::Producer;
use super::directory::{FixedLister, Lister};
use super::found::Listed;
use super::handle::Handle;
use super::host::Host;
use super::text::{Execute, OpenText};
use super::{OpenFlags, Reply};
use crate::fs::mount::Mount;
use crate::fs::mount::texts::Text;
use crate::fs::node::attr::Attr;
use crate::fs::node::special::{Effort, Feature, Special, SpecialNode};
use crate::fs::node::{Kind, Node};
use crate::fs::prelude::*;
use crate::fs::write::{Opener, TextWriter};
use crate::model::api::table_control::ParkedPlace;

impl<R: Room + 'static> From<R> for Feature {
    fn from(room: R) -> Self {
        Self::new(Box::new(room) as Box<dyn Room>)
    }
}

/// What a special file or directory reads and does.
///
/// # Errors
/// `Internal`: something else was put in.
pub fn room(at: &Special) -> Result<&dyn Room, FsError> {
    at.feature
        .get::<Box<dyn Room>>()
        .map(|room| &**room)
        .ok_or(FsError::Internal)
}

/// A kind of special files and directories. `at` is which of them a call is about. It holds no state.
pub trait Room: Send + Sync {
    /// Milliseconds since the epoch: when its table was made, or of what belongs to no table when this mount began.
    ///
    /// # Errors
    /// What it stands for is gone.
    fn modified_ms(&self, at: &Special, mount: &Mount) -> Result<u64, FsError> {
        at.table()
            .map_or(Ok(mount.started_ms), |table| mount.table_time(table))
    }

    /// Attributes without the inode number, which is the node's; the size is that of the text.
    ///
    /// # Errors
    /// `NotFound` when it is not there.
    fn attr(&self, at: &Special, mount: &Mount) -> Result<Attr, FsError> {
        let modified_ms = self.modified_ms(at, mount)?;
        match at.kind {
            Kind::Directory => Ok(Attr::directory(modified_ms)),
            Kind::Symlink => Ok(Attr::symlink(&self.link_target(at, mount)?, modified_ms)),
            Kind::File => {
                let size = match at.effort {
                    Effort::Waits | Effort::Computed => 0,
                    Effort::Small => self.text(at, mount)?.len() as u64,
                    Effort::Table | Effort::TableNow => self.made(at, mount)?.bytes.len() as u64,
                };
                Ok(Attr {
                    writable: at.is_writable,
                    ..Attr::read_only(size, modified_ms)
                })
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
    fn list(&self, _at: &SpecialNode, _mount: &Mount) -> Result<Vec<Listed>, FsError> {
        Err(FsError::NotDirectory)
    }

    /// The same of any size.
    ///
    /// # Errors
    /// Not a directory, or gone.
    fn lister(&self, at: &SpecialNode, mount: &Mount) -> Result<Box<dyn Lister>, FsError> {
        Ok(Box::new(FixedLister::new(self.list(at, mount)?)))
    }

    /// What this directory has become meanwhile: whoever is in it goes on there.
    ///
    /// # Errors
    /// Gone.
    fn became(&self, _at: &Special, _mount: &Mount) -> Result<Option<Node>, FsError> {
        Ok(None)
    }

    /// What this file says.
    ///
    /// # Errors
    /// Not a file, or gone.
    fn text(&self, at: &Special, _mount: &Mount) -> Result<Vec<u8>, FsError> {
        Err(if at.kind == Kind::Directory {
            FsError::IsDirectory
        } else {
            FsError::BadHandle
        })
    }

    /// What this file says, counted. A text that reads a table is made once for all who ask.
    ///
    /// # Errors
    /// Those of [`Room::text`]; `TooManyOpen`.
    fn made(&self, at: &Special, mount: &Mount) -> Result<Arc<Text>, FsError> {
        let make = || Text::new(self.text(at, mount)?, &mount.budget);
        match at.effort {
            Effort::Table => mount
                .texts
                .get(at.identity(), || mount.db.commit_id(), make),
            _ => make(),
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
    fn open_reader(&self, at: &SpecialNode, host: &Host) -> Result<Handle, FsError> {
        Ok(Handle::Text(self.made(at, &host.mount)?))
    }

    /// OPEN of a writer, and CREATE.
    ///
    /// # Errors
    /// Gone, or it cannot be written.
    fn open_writer(
        &self,
        _at: &SpecialNode,
        _host: &Host,
        _flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        Err(FsError::Derived)
    }

    /// May something be written here where the database is only read? A request of the API is judged by what it does.
    fn is_judged_by_request(&self) -> bool {
        false
    }

    /// The answer to a file created in this directory under a name that means nothing here.
    fn create_refused(&self) -> FsError {
        FsError::Derived
    }

    /// UNLINK.
    fn unlink(&self, at: &SpecialNode, _host: &Host, reply: Reply<()>) {
        reply(Err(if at.kind == Kind::Directory {
            FsError::IsDirectory
        } else {
            FsError::Derived
        }));
    }

    /// MKDIR in this directory.
    ///
    /// # Errors
    /// None can be made.
    fn mkdir(&self, _at: &SpecialNode, _host: &Host, _name: &str) -> Result<Node, FsError> {
        Err(FsError::Derived)
    }

    /// RMDIR.
    ///
    /// # Errors
    /// Not a directory, or part of the tree.
    fn rmdir(&self, at: &SpecialNode, _host: &Host) -> Result<(), FsError> {
        Err(if at.kind == Kind::Directory {
            FsError::Derived
        } else {
            FsError::NotDirectory
        })
    }

    /// SYMLINK in this directory.
    ///
    /// # Errors
    /// None can be made.
    fn symlink(
        &self,
        _at: &SpecialNode,
        _host: &Host,
        _name: &str,
        _target: &str,
    ) -> Result<Node, FsError> {
        Err(FsError::NotPermitted(
            "links are made in queries/ of a table: ln -s '../query/@pk=u1' queries/u1",
        ))
    }

    /// RENAME of this file within its directory.
    ///
    /// # Errors
    /// It keeps its name.
    fn rename(
        &self,
        _at: &SpecialNode,
        _host: &Host,
        _name: &str,
        _replace: bool,
    ) -> Result<(), FsError> {
        Err(FsError::Derived)
    }

    /// Where it is parked, if it is a parked file.
    fn parked(&self) -> Option<&ParkedPlace> {
        None
    }
}

/// Where a node is parked, if it is a parked file.
#[must_use]
pub fn parked(node: &Node) -> Option<&ParkedPlace> {
    let Node::Special(special) = node else {
        return None;
    };
    room(special).ok()?.parked()
}

/// Opens a file that holds one text: to be edited where there is one, else to be written anew. `at` is its inode number and path.
pub fn open_text<T>(
    at: (u64, String),
    caller: Caller,
    flags: OpenFlags,
    target: T,
    text: Option<Vec<u8>>,
) -> Handle
where
    T: Execute + Debug + Sync,
    T::Request: Send,
{
    let opener = Opener {
        pid: caller.pid,
        append: flags.append,
    };
    let writer = match text {
        Some(text) => TextWriter::edit(target, text, None, opener),
        None => TextWriter::stream(target, opener),
    };
    Handle::Special(Arc::new(OpenText::new(at.0, at.1, caller.pid, writer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Judged;

    impl Room for Judged {
        fn is_judged_by_request(&self) -> bool {
            true
        }
    }

    struct Plain;

    impl Room for Plain {}

    #[test]
    fn a_node_gives_back_what_it_carries() {
        let is_judged = |special: &Special| room(special).map(Room::is_judged_by_request);
        let directory = Special::directory("a".to_owned(), None, 1, Judged);
        assert_eq!(is_judged(&directory), Ok(true));
        assert_eq!(is_judged(&directory.child("b", Plain)), Ok(false));
        assert_eq!(
            is_judged(&Special::file("c".to_owned(), None, Feature::new(Plain))),
            Err(FsError::Internal)
        );
    }
}
