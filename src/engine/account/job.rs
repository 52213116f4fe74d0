//! Background jobs as plain data: what is copied from where to where, and how far it is. `jobs` carries them out.

use crate::engine::base::keys::SourceId;
use crate::model::TableName;
use crate::model::api::Version;

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    Copy(CopyJob),
    Changes(ChangesJob),
    /// Removes the history of a source up to a version.
    Trim {
        source: SourceId,
        below: Version,
    },
}

/// A copy of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyJob {
    pub from: CopySource,
    pub to: CopyTarget,
    pub place: CopyPlace,
}

/// Where a copy reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopySource {
    /// A table as of a version.
    Table { name: TableName, source: SourceId, bound: Version },
    /// A backup, whole.
    Backup { arn: String, source: SourceId },
}

/// Where a copy writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyTarget {
    Backup { arn: String, source: SourceId },
    Export { arn: String, source: SourceId },
    Table(TableName),
}

/// How far a copy is: strictly after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyPlace {
    Items(Option<Vec<u8>>),
    History(Version),
}

/// Gathers what changed between two moments of a table, for an incremental export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesJob {
    /// The export's.
    pub arn: String,
    pub table: TableName,
    /// The table's items.
    pub source: SourceId,
    /// Where the changes are gathered, each at its item's place.
    pub into: SourceId,
    /// How far the walk is: at first the last version before the window.
    pub after: Version,
    /// The last version of the window.
    pub until: Version,
}
