//! The time of day.

use crate::model::clock::{Clock as _, SystemClock};

/// Wall-clock time, milliseconds since the epoch.
pub(in crate::fs) fn now_ms() -> u64 {
    SystemClock.now_ms()
}
