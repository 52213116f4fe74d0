//! What the special files of a mount remember.

use super::batch::report::Reports;
use super::index_draft::IndexDrafts;
use super::last::LastAnswers;
use super::stream::log::Logs;

/// See the module. Bounded each for itself.
#[derive(Debug, Default)]
pub struct ServiceState {
    pub batches: Reports,
    pub last: LastAnswers,
    pub logs: Logs,
    pub index_drafts: IndexDrafts,
}
