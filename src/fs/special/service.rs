//! `/.ddb/`: service files, for lookup only. A name below it is listed unless it blocks, has
//! parameters or reads all tables. `.ddb/accesslog` has every call as it ends, for a process that reads at that time.

use super::{
    api,
    derived::{SERVICE_FILES, find},
    help, scratch,
};
use crate::fs::{
    mount::call_log::{LogQueue, QUEUE_BYTES_MAX},
    node::{ROOT_INO, special::ReadCost},
    open::{dirent::FixedDir, host::threads::LastRead, prelude::*, text::SpecialHandle},
};

/// The names in `.ddb/` beside the rows of [`SERVICE_FILES`].
const ROOT_NAMES: FixedDir<Special> = FixedDir(&[
    ("accesslog", false, |_, at| {
        Ok(at
            .child("accesslog", AccessLog)
            .with_cost(ReadCost::Blocking)
            .into())
    }),
    ("api", true, |_, at| {
        Ok(at.child_directory("api", api::ApiDir).into())
    }),
    ("errors", true, |_, at| {
        Ok(at.child_directory("errors", ServiceDir(NO_NAMES)).into())
    }),
    (HELP_NAME, true, |_, at| {
        Ok(at.child_directory(HELP_NAME, help::Topics).into())
    }),
    ("last", true, |_, at| {
        Ok(at.child_directory("last", ServiceDir(NO_NAMES)).into())
    }),
    ("scratch", true, |_, at| {
        Ok(at.child_directory("scratch", scratch::ScratchDir).into())
    }),
    ("transact", true, |_, at| {
        Ok(at
            .child("transact", api::RequestFile::Transact)
            .writable()
            .into())
    }),
]);
const NO_NAMES: FixedDir<Special> = FixedDir(&[]);

/// `.ddb/`, or a directory in it with fixed names: its names beside the rows.
struct ServiceDir(FixedDir<Special>);

/// Returns `.ddb/`.
#[must_use]
pub fn node() -> Node {
    Special::directory(
        SERVICE_NAME.to_owned(),
        None,
        ROOT_INO,
        ServiceDir(ROOT_NAMES),
    )
    .into()
}

impl NodeOps for ServiceDir {
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        match find(&SERVICE_FILES, &format!("{}/{name}", at.node.path)) {
            Some(row) => Ok(row.node(|feature| at.node.child(name, feature))),
            None => self.0.resolve(&at, at.node, name),
        }
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        let mut names = self.0.list(&at, at.node)?;
        for (row, name) in SERVICE_FILES
            .iter()
            .filter(|row| row.is_listed)
            .filter_map(|row| Some((row, name_in(at.node, row.name)?)))
        {
            names.push(to_dirent(
                &row.node(|feature| at.node.child(name, feature)),
                name,
            ));
        }
        // Two tables make one listing, sorted by name as `ls` shows it.
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }
}

/// Returns the name in that directory of the file at this path, if it is there.
fn name_in<'p>(directory: &Special, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(directory.path.as_str())?
        .strip_prefix('/')
        .filter(|name| !name.contains('/'))
}

struct AccessLog;

impl NodeOps for AccessLog {
    fn open_reader(&self, at: HostAt<'_>) -> Result<Handle> {
        Ok(Handle::Special(Arc::new(OpenAccessLog {
            buffer: at.mount.call_log.subscribe(),
            last_read: LastRead::default(),
        })))
    }
}

#[derive(Debug)]
struct OpenAccessLog {
    buffer: Arc<LogQueue>,
    last_read: LastRead,
}

impl SpecialHandle for OpenAccessLog {
    /// Returns the most bytes it may hold: the buffer grows between calls.
    fn held_bytes(&self) -> Option<usize> {
        Some(QUEUE_BYTES_MAX + self.last_read.held_bytes()?)
    }

    fn read(self: Arc<Self>, host: &Host, offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let awaited = move |_: &Mount| {
            self.last_read
                .read(offset, size, || Ok(self.buffer.take(size)))
        };
        host.wait_read(Box::new(awaited), reply);
    }
}
