//! `<Table>/stream/`: the changes of a table's items, from its stream. For lookup only; what is below it is listed unless it blocks.
//!
//! ```text
//! log.ndjson       log.rs      today's changes: a file that only grows
//! follow           follow.rs   changes from now on: waits for them. Never listed
//! since/<seq>.ndjson           changes after a sequence number. Never listed
//! newest.rs        the table's stream; what is read of it, and the lines, are in mount/stream
//! ```
//! A table has a new stream each time one is enabled; these files are of the newest.

mod follow;
mod log;
mod newest;

use std::sync::Arc;

use newest::of_table;

use super::help;
use super::room::Room;
use crate::database::Bill;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::mount::stream::line;
use crate::fs::mount::stream::records::{Records, after};
use crate::fs::node::Node;
use crate::fs::node::attr::Attr;
use crate::fs::node::special::{Feature, Special, SpecialNode, StreamFile};
use crate::fs::open::computed::Producer;
use crate::fs::open::directory::{FixedLister, Lister};
use crate::fs::open::found::listed;
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::path::{HELP_NAME, STREAM_NAME};
use crate::fs::process::Caller;
use crate::model::TableName;

const FOLLOW_NAME: &str = "follow";
const SINCE_NAME: &str = "since";
const SINCE_SUFFIX: &str = ".ndjson";
/// Records of one page of a file in `since/`.
const PAGE_RECORDS: u32 = 1_000;

/// `stream/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, STREAM_NAME, Feature::Stream(StreamFile::Directory)).into()
}

fn table_of(at: &Special) -> Result<&TableName, FsError> {
    at.table().ok_or(FsError::NotFound)
}

/// Today's log of the table's newest stream.
fn log_node(at: &Special, mount: &Mount) -> Result<Node, FsError> {
    Ok(log::node(at, of_table(mount, table_of(at)?)?))
}

impl Room for StreamFile {
    fn modified_ms(&self, at: &Special, mount: &Mount) -> Result<u64, FsError> {
        match self {
            Self::Follow => return Ok(mount.started_ms),
            Self::Since(_) => drop(of_table(mount, table_of(at)?)?),
            Self::Directory | Self::Log(..) | Self::SinceDirectory => {}
        }
        mount.table_time(table_of(at)?)
    }

    fn attr(&self, at: &SpecialNode, mount: &Mount, _caller: Caller) -> Result<Attr, FsError> {
        match self {
            Self::Log(stream, day) => log::attr(at, mount, stream, *day),
            Self::Follow | Self::Since(_) => Ok(Attr::read_only(at.ino(), 0, self.modified_ms(at, mount)?)),
            Self::Directory | Self::SinceDirectory => Ok(Attr::directory(at.ino(), self.modified_ms(at, mount)?)),
        }
    }

    fn resolve(&self, at: &SpecialNode, mount: &Mount, name: &str) -> Result<Node, FsError> {
        let child = |file| at.child(name, Feature::Stream(file));
        match (self, name) {
            (Self::Directory, log::NAME) => log_node(at, mount),
            (Self::Directory, FOLLOW_NAME) => of_table(mount, table_of(at)?).map(|_| child(Self::Follow).into()),
            (Self::Directory, SINCE_NAME) => Ok(at.child_directory(name, Feature::Stream(Self::SinceDirectory)).into()),
            (Self::Directory, HELP_NAME) => Ok(help::node(&at.path, help::STREAM, at.source.clone())),
            (Self::Directory, _) => Err(FsError::NotFound),
            (Self::SinceDirectory, _) => {
                let position = after(name.strip_suffix(SINCE_SUFFIX).ok_or(FsError::NotFound)?)?;
                Ok(child(Self::Since(position)).into())
            }
            (Self::Log(..) | Self::Follow | Self::Since(_), _) => Err(FsError::NotDirectory),
        }
    }

    fn lister(&self, at: &SpecialNode, mount: &Mount) -> Result<Box<dyn Lister>, FsError> {
        match self {
            Self::Directory => {
                // Without a stream there is nothing to list; a lookup says how to get one.
                let log = log_node(at, mount).ok();
                Ok(Box::new(FixedLister::new(log.iter().map(|log| listed(log, log::NAME)).collect())))
            }
            Self::SinceDirectory => Ok(Box::<FixedLister>::default()),
            Self::Log(..) | Self::Follow | Self::Since(_) => Err(FsError::NotDirectory),
        }
    }

    fn text(&self, _at: &Special, _mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        match self {
            Self::Directory | Self::SinceDirectory => Err(FsError::IsDirectory),
            Self::Follow => Ok(Vec::new()),
            Self::Log(..) | Self::Since(_) => Err(FsError::BadHandle),
        }
    }

    fn producer(&self, at: &Special, mount: &Mount) -> Result<Box<dyn Producer>, FsError> {
        let Self::Since(position) = self else { return Err(FsError::BadHandle) };
        Ok(Box::new(Reading(Records::at(&*mount.db, of_table(mount, table_of(at)?)?, *position)?)))
    }

    fn open_for_reading(&self, at: &SpecialNode, host: &Arc<dyn Host>, caller: Caller) -> Result<Handle, FsError> {
        match self {
            Self::Log(stream, day) => log::open(at, host.mount(), stream, *day),
            Self::Follow => follow::open(host.mount(), table_of(at)?),
            _ => Ok(Handle::Text(self.made(at, host.mount(), caller)?)),
        }
    }
}

/// Lines are made a page of records at a time, as far as there are any then.
#[derive(Debug)]
struct Reading(Records);

impl Producer for Reading {
    fn advance(&mut self, mount: &Mount, _bills: &mut Vec<Bill>, out: &mut Vec<u8>) -> Result<bool, FsError> {
        let page = self.0.next(&*mount.db, PAGE_RECORDS)?;
        page.iter().for_each(|record| line::write(record, out));
        Ok(!page.is_empty())
    }
}
