//! Warnings of throttled requests: in the log, and the last of them to be read back. A client that tries again and again is one warning a
//! minute.

use super::warnings::Warnings;
use crate::model::error::Throttled;
use crate::model::layout::ThrottleWarning;

const MINUTE_MS: u64 = 60_000;

impl Warnings<ThrottleWarning> {
    /// Warns of a request, unless the same limit of the same partition was warned of in the minute before: then it is counted there.
    pub fn warn(&self, throttled: &Throttled, time_ms: u64) {
        let warning = ThrottleWarning { throttled: throttled.clone(), requests: 1, time_ms };
        let is_new = self.add(
            |warnings| {
                let mut recent = warnings.iter_mut().rev().take_while(|it| time_ms.saturating_sub(it.time_ms) < MINUTE_MS);
                recent.find(|it| is_same(&it.throttled, throttled)).map(|same| same.requests += 1)
            },
            warning,
        );
        if is_new {
            log::warn!("throttled: {}", throttled.whereabouts());
        }
    }
}

fn is_same(one: &Throttled, other: &Throttled) -> bool {
    let of = |throttled: &Throttled| (throttled.is_write, throttled.cause, throttled.at.partition);
    of(one) == of(other) && one.table == other.table && one.index == other.index
}
