//! The time of day.

/// Wall-clock time, milliseconds since the epoch.
pub(in crate::fs) fn now_ms() -> u64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
