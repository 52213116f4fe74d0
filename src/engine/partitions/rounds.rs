//! What the rounds of splits remember, so that they look only at what changed.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::engine::base::keys::SourceId;

/// See the module.
#[derive(Debug, Default)]
pub struct SplitRounds(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// The commit of the last round that looked at everything.
    commit: Option<u64>,
    /// By source: its bytes when they were last found to need no split.
    measured: HashMap<SourceId, u64>,
}

impl SplitRounds {
    /// Notes the commit that a round looks at; whether it is another than that of the last.
    pub fn is_new(&self, commit: u64) -> bool {
        self.0.lock().commit.replace(commit) != Some(commit)
    }

    /// Notes a commit that needs no look.
    pub fn saw(&self, commit: u64) {
        self.0.lock().commit = Some(commit);
    }

    /// The bytes of a source when it was measured last; 0 before.
    #[must_use]
    pub fn measured(&self, source: SourceId) -> u64 {
        self.0.lock().measured.get(&source).copied().unwrap_or(0)
    }

    /// Notes that a source of that many bytes needs no split.
    pub fn set_measured(&self, source: SourceId, bytes: u64) {
        self.0.lock().measured.insert(source, bytes);
    }
}
