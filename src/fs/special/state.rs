//! What the special files of a mount remember.

use std::sync::OnceLock;

use serde_json::Value;

use super::batch::report::Reports;
use super::calls::Calls;
use super::index_draft::IndexDrafts;
use super::last::LastAnswers;
use super::stream::log::Logs;
use super::texts::LongTexts;

/// See the module. Bounded each for itself.
#[derive(Debug, Default)]
pub struct ServiceState {
    pub batches: Reports,
    pub calls: Calls,
    /// What the program that mounts tells of itself: an object.
    pub config: OnceLock<Value>,
    pub last: LastAnswers,
    pub logs: Logs,
    pub index_drafts: IndexDrafts,
    pub texts: LongTexts,
}
