//! Bounded logs in memory of the last warnings: item collections near their size limit, and
//! throttled requests. They are also written to the log of the process.

use std::collections::VecDeque;

use super::options::EngineOptions;
use crate::engine::prelude::*;
use crate::model::{
    error::Throttled,
    metrics::{CollectionWarning, ThrottleWarning},
};

/// The number of warnings kept.
const WARNINGS_MAX: usize = 1_000;

/// The last warnings, oldest first.
#[derive(Debug)]
pub struct Warnings<T>(Mutex<VecDeque<T>>);

impl<T> Default for Warnings<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Warnings<T> {
    /// Adds a warning. Returns true if it is a new one: `find_known` counts it in an existing warning,
    /// if it finds one.
    pub(super) fn add(
        &self,
        find_known: impl FnOnce(&mut VecDeque<T>) -> Option<()>,
        warning: T,
    ) -> bool {
        let mut warnings = self.0.lock();
        if find_known(&mut warnings).is_some() {
            return false;
        }
        if warnings.len() == WARNINGS_MAX {
            warnings.pop_front();
        }
        warnings.push_back(warning);
        true
    }

    /// Returns the last warnings, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<T> {
        self.0.lock().iter().cloned().collect()
    }
}

// Warnings of item collections near their limit (docs/requirements.md L-41): written to the log,
// and the last of them kept.

impl Warnings<CollectionWarning> {
    /// Warns of a collection that a write grows to `bytes`, if it was below the threshold before it
    /// grew by `growth`.
    pub fn warn(
        &self,
        options: &EngineOptions,
        table: &TableName,
        partition: &AttributeValue,
        bytes: u64,
        growth: i64,
    ) {
        let bytes_max = options.collection_bytes_max;
        let threshold = options
            .collection_warning_bytes
            .unwrap_or(bytes_max / 5 * 4);
        if bytes < threshold || bytes.saturating_add_signed(-growth) >= threshold {
            return;
        }
        log::warn!(
            "an item collection of {table} has {bytes} bytes; writes that grow it are refused from {bytes_max} on"
        );
        let time_ms = options.clock.now_ms();
        let (table, partition) = (table.clone(), partition.clone());
        self.add(
            |_| None,
            CollectionWarning {
                table,
                partition,
                billed_bytes: bytes,
                bytes_max,
                time_ms,
            },
        );
    }
}

// Warnings of throttled requests: written to the log, and the last of them kept. A client that
// retries again and again causes one warning a minute.

const MINUTE_MS: u64 = 60_000;

impl Warnings<ThrottleWarning> {
    /// Warns of a request; a repetition for the same limit of the same partition within a minute is
    /// counted in the first warning.
    pub fn warn(&self, throttled: &Throttled, time_ms: u64) {
        let warning = ThrottleWarning {
            throttled: throttled.clone(),
            events: 1,
            time_ms,
        };
        let is_new = self.add(
            |warnings| {
                let mut recent = warnings
                    .iter_mut()
                    .rev()
                    .take_while(|it| time_ms.saturating_sub(it.time_ms) < MINUTE_MS);
                recent
                    .find(|it| is_same(&it.throttled, throttled))
                    .map(|same| same.events += 1)
            },
            warning,
        );
        if is_new {
            log::warn!("throttled: {}", throttled.describe());
        }
    }
}

fn is_same(one: &Throttled, other: &Throttled) -> bool {
    let of = |throttled: &Throttled| {
        (
            throttled.is_write,
            throttled.cause,
            throttled.location.partition,
        )
    };
    of(one) == of(other) && one.table == other.table && one.index == other.index
}
