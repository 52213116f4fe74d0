//! `/.ddb/`: service files, for lookup only; what is below it is listed, save what blocks or has parameters.
//! `.ddb/accesslog` is every call as it ends, for who reads it at that time.

use super::{
    api,
    derived::{OF_SERVICE, row},
    help, scratch,
};
use crate::fs::{
    mount::calls::{AHEAD_BYTES_MAX, Ahead},
    node::{ROOT_INO, special::Effort},
    open::{found::Names, prelude::*, text::OpenSpecial},
};

/// What is in `.ddb/` beside the rows of [`OF_SERVICE`].
const ROOT: Names<Special> = Names(&[
    ("accesslog", false, |_, at| {
        Ok(at
            .child("accesslog", AccessLog)
            .taking(Effort::Waits)
            .into())
    }),
    ("api", true, |_, at| {
        Ok(at.child_directory("api", api::Directory).into())
    }),
    ("errors", true, |_, at| {
        Ok(at.child_directory("errors", Service(NONE)).into())
    }),
    (HELP_NAME, true, |_, at| {
        Ok(at.child_directory(HELP_NAME, help::Topics).into())
    }),
    ("last", true, |_, at| {
        Ok(at.child_directory("last", Service(NONE)).into())
    }),
    ("scratch", true, |_, at| {
        Ok(at.child_directory("scratch", scratch::Directory).into())
    }),
    ("transact", true, |_, at| {
        Ok(at
            .child("transact", api::RequestFile::Transact)
            .writable()
            .into())
    }),
]);
const NONE: Names<Special> = Names(&[]);

/// `.ddb/`, or a directory in it whose names are fixed: what it has beside rows.
struct Service(Names<Special>);

/// `.ddb/`
#[must_use]
pub fn node() -> Node {
    Special::directory(SERVICE_NAME.to_owned(), None, ROOT_INO, Service(ROOT)).into()
}

impl Room for Service {
    fn resolve(&self, at: &SpecialNode, mount: &Mount, name: &str) -> Result<Node, FsError> {
        match row(&OF_SERVICE, &format!("{}/{name}", at.path)) {
            Some(row) => Ok(row.node(|feature| at.child(name, feature))),
            None => self.0.resolve(mount, at, name),
        }
    }

    fn list(&self, at: &SpecialNode, mount: &Mount) -> Result<Vec<Listed>, FsError> {
        let mut names = self.0.list(mount, at)?;
        for (row, name) in OF_SERVICE
            .iter()
            .filter_map(|row| Some((row, name_in(at, row.name)?)))
        {
            names.push(listed(&row.node(|feature| at.child(name, feature)), name));
        }
        // Two tables, one listing: by name, as `ls` would show it.
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }
}

/// The name of what has this path, if it is in that directory.
fn name_in<'p>(directory: &Special, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(directory.path.as_str())?
        .strip_prefix('/')
        .filter(|name| !name.contains('/'))
}

struct AccessLog;

impl Room for AccessLog {
    fn open_reader(&self, _at: &SpecialNode, host: &Host) -> Result<Handle, FsError> {
        Ok(Handle::Special(Arc::new(OpenAccessLog {
            ahead: host.mount.calls.watch(),
        })))
    }
}

#[derive(Debug)]
struct OpenAccessLog {
    ahead: Arc<Ahead>,
}

impl OpenSpecial for OpenAccessLog {
    /// It grows between calls.
    fn held_bytes(&self) -> Option<usize> {
        Some(AHEAD_BYTES_MAX)
    }

    fn read(self: Arc<Self>, host: &Host, _offset: u64, size: usize, reply: Reply<Bytes>) {
        if size == 0 {
            return reply(Ok(Bytes::own(Vec::new())));
        }
        host.wait(Box::new(move |_| Ok(self.ahead.take(size))), reply);
    }
}
