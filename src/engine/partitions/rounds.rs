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
    /// By source and number of a partition: when it was last looked at for its load, milliseconds since the epoch.
    tried: HashMap<(SourceId, u32), u64>,
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

    /// Notes that a hot partition is looked at; whether that is due again after `rest_ms`.
    pub fn is_due(&self, partition: (SourceId, u32), now_ms: u64, rest_ms: u64) -> bool {
        let mut remembered = self.0.lock();
        let last = remembered.tried.get(&partition).copied();
        let is_due = last.is_none_or(|last| now_ms.saturating_sub(last) >= rest_ms);
        if is_due {
            remembered.tried.insert(partition, now_ms);
        }
        is_due
    }

    /// Forgets sources that no table has any more.
    pub fn keep_only(&self, is_live: impl Fn(SourceId) -> bool) {
        let mut remembered = self.0.lock();
        remembered.measured.retain(|source, _| is_live(*source));
        remembered.tried.retain(|(source, _), _| is_live(*source));
    }
}
