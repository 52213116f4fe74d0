//! What the special files of a mount remember.

use super::last::LastAnswers;
use super::stream::log::Logs;

/// See the module. Bounded each for itself.
#[derive(Debug, Default)]
pub struct ServiceState {
    pub last: LastAnswers,
    pub logs: Logs,
}
