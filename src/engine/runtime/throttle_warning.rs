//! Warnings of throttled requests: in the log, and the last of them to be read back. A client that tries again and again is one warning a
//! minute.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::model::error::Throttled;
use crate::model::layout::ThrottleWarning;

/// Warnings that are kept.
const WARNINGS_MAX: usize = 1_000;
const MINUTE_MS: u64 = 60_000;

/// The last warnings, oldest first.
#[derive(Debug, Default)]
pub struct ThrottleWarnings(Mutex<VecDeque<ThrottleWarning>>);

impl ThrottleWarnings {
    /// Warns of a request, unless the same limit of the same partition was warned of in the minute before: then it is counted there.
    pub fn warn(&self, throttled: &Throttled, time_ms: u64) {
        let mut warnings = self.0.lock();
        let mut recent = warnings.iter_mut().rev().take_while(|warning| time_ms.saturating_sub(warning.time_ms) < MINUTE_MS);
        if let Some(same) = recent.find(|warning| is_same(&warning.throttled, throttled)) {
            same.requests += 1;
            return;
        }
        log::warn!("throttled: {}", throttled.whereabouts());
        if warnings.len() == WARNINGS_MAX {
            warnings.pop_front();
        }
        warnings.push_back(ThrottleWarning { throttled: throttled.clone(), requests: 1, time_ms });
    }

    /// The last warnings, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<ThrottleWarning> {
        self.0.lock().iter().cloned().collect()
    }
}

fn is_same(one: &Throttled, other: &Throttled) -> bool {
    let of = |throttled: &Throttled| (throttled.is_write, throttled.cause, throttled.at.partition);
    of(one) == of(other) && one.table == other.table && one.index == other.index
}
