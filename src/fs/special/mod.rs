//! Files and directories beside tables, items and queries, each in one source file: what it says, what may be done to it. Most are
//! there for lookup only (docs/filesystem.md 0): they are in no listing.
//!
//! A file that is a text, and perhaps takes commands, is a row of [`derived`] and a function. What needs more is a [`room::Room`]: a
//! variant of [`crate::fs::node::special::Feature`] says which file or directory it is, and [`room()`] where what it does is written.
//! A file that takes more than one read or write answers an open with an [`crate::fs::open::special::OpenSpecial`].

mod about;
mod absence;
mod advice;
mod api;
pub mod batch;
mod calls;
mod control;
pub mod derived;
mod describe;
pub mod dropped;
mod forecast;
mod heat;
pub mod help;
pub mod index_draft;
pub mod item;
mod last;
mod metrics;
mod mount_control;
mod parked;
mod partition_text;
pub mod partitions;
mod picture;
mod plan;
pub mod queries;
pub mod room;
pub mod schema;
pub mod scratch;
pub mod service;
pub mod shapes;
pub mod stream;
mod ttl;

use crate::fs::FsError;
use crate::fs::node::special::Feature;
use room::Room;

/// Where it is written what a feature reads and does.
///
/// # Errors
/// `NotFound` of a row that there is not.
pub fn room(feature: &Feature) -> Result<&dyn Room, FsError> {
    Ok(match feature {
        Feature::Derived(name) => derived::row(name).ok_or(FsError::NotFound)?,
        Feature::Help(text) => text,
        Feature::HelpTopics => &help::Topics,
        Feature::Service(directory) => directory,
        Feature::Api(file) => file,
        Feature::AccessLog => &calls::AccessLog,
        Feature::Scratch => &scratch::Directory,
        Feature::Batch(file) => file,
        Feature::IndexDraft(file) => file,
        Feature::Item(file) => &**file,
        Feature::Parked(place) => place,
        Feature::Partitions(file) => file,
        Feature::Queries(file) => file,
        Feature::Stream(file) => file,
        Feature::Dropped(dropped) => dropped,
    })
}
