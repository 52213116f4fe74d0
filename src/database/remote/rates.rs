//! Rate limits of a meter: token buckets of units a second. Without an option, each table that is
//! provisioned, and each of its global indexes, has a tenth of its own units, so that the
//! application behind it keeps nine; reads of a table on demand have `ON_DEMAND_READS`. Writes on
//! demand take nothing from others, so only the budget limits them.

use std::time::Instant;

use super::consumption::{CapacityKind, Consumption, MeteredRequest, RequestUnits};
use crate::database::prelude::*;
pub use crate::model::prices::RateOption;
use crate::model::schema::IndexKind;
use crate::model::{IndexName, TableSchema};

/// The part of provisioned units that a meter takes by default.
const PROVISIONED_PART: f64 = 0.1;
/// The read units a second of a table on demand by default.
const ON_DEMAND_READS: f64 = 100.0;

/// The requests that share a bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RateScope {
    All,
    /// A table with its other indexes, or an index with units of its own.
    Source(TableName, Option<IndexName>),
    /// Tables that cannot be described, and statements.
    Unknown,
}

/// A limit of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct RateLimit {
    pub scope: RateScope,
    pub per_second: f64,
}

/// Returns the limits of a request on a table.
pub fn limits(schema: &TableSchema, request: &MeteredRequest) -> Vec<RateLimit> {
    let own = schema.throughput.filter(|own| own.read_capacity_units > 0);
    let indexes = schema.indexes_of(IndexKind::Global);
    let provisioned = own.into_iter().flat_map(|own| {
        let indexes = indexes.clone();
        let of_indexes = indexes.filter_map(|index| Some((Some(&index.name), index.throughput?)));
        std::iter::once((None, own)).chain(of_indexes)
    });
    let limit = |index: Option<&IndexName>, per_second: f64| RateLimit {
        scope: RateScope::Source(schema.name.clone(), index.cloned()),
        per_second,
    };
    match request.kind {
        // A write goes to the table and to all of its indexes.
        CapacityKind::Write => provisioned
            .map(|(index, units)| {
                limit(index, units.write_capacity_units as f64 * PROVISIONED_PART)
            })
            .collect(),
        CapacityKind::Read => {
            // A local index takes the units of its table, which comes first.
            let asked = request.index();
            let of_request = provisioned
                .filter(|(index, _)| index.is_none() || *index == asked.as_ref())
                .last();
            vec![of_request.map_or_else(
                || limit(None, ON_DEMAND_READS),
                |(index, units)| limit(index, units.read_capacity_units as f64 * PROVISIONED_PART),
            )]
        }
    }
}

impl RateLimit {
    /// Returns the limit of a request whose table is not known.
    pub fn unknown(kind: CapacityKind) -> Vec<Self> {
        let reads = (kind == CapacityKind::Read).then_some(Self {
            scope: RateScope::Unknown,
            per_second: ON_DEMAND_READS,
        });
        reads.into_iter().collect()
    }

    /// Returns the limit as an error names it, for instance `--max-rcu 25`.
    pub fn text(&self, kind: CapacityKind) -> String {
        let (option, units) = (kind.option(), self.per_second);
        match &self.scope {
            RateScope::All => format!("{option} {units}"),
            RateScope::Unknown => format!("the default {option} of {units}"),
            RateScope::Source(table, index) => {
                let index = index.as_ref().map(|index| format!("/{index}"));
                format!(
                    "the default {option} of {units} units a second for {table}{}",
                    index.unwrap_or_default()
                )
            }
        }
    }
}

/// Returns the units that a request took of each of its limits.
pub fn shares(limits: &[RateLimit], consumed: &Consumption) -> Vec<f64> {
    let sum = |units: &RequestUnits| units.read + units.write;
    if let [_] = limits {
        return vec![sum(&consumed.total())];
    }
    let has = |scope: &RateScope| limits.iter().any(|limit| limit.scope == *scope);
    let mut shares = vec![0.0; limits.len()];
    for of in &consumed.tables {
        for (index, units) in &of.sources {
            let own = RateScope::Source(of.table.clone(), index.clone());
            let scope = if has(&own) {
                own
            } else {
                RateScope::Source(of.table.clone(), None)
            };
            for (limit, share) in limits.iter().zip(&mut shares) {
                if limit.scope == scope {
                    *share += sum(units);
                }
            }
        }
    }
    shares
}

/// A token bucket of capacity units.
#[derive(Debug, Default)]
pub struct TokenBucket {
    /// The units that may be taken; negative while consumption is to be made up for.
    pub level: f64,
    /// The units reserved by requests under way.
    pub reserved: f64,
    filled: Option<Instant>,
}

impl TokenBucket {
    /// Fills the bucket, and returns how long a request must wait; zero if it waits only for
    /// answers of others, `None` if it may begin.
    pub fn wait(&mut self, per_second: f64, now: Instant) -> Option<Duration> {
        let since = self
            .filled
            .map(|filled| now.saturating_duration_since(filled).as_secs_f64());
        // A new bucket begins with the units of one second, and none ever holds more.
        self.level = since.map_or(per_second, |seconds| {
            (self.level + seconds * per_second).min(per_second)
        });
        self.filled = Some(now);
        // A reservation leaves the level alone until its request ends, so the level must cover all
        // of them.
        if self.level >= self.reserved {
            return None;
        }
        // The units are there but reserved: only the end of another request helps, not time.
        if self.level >= 0.0 {
            return Some(Duration::ZERO);
        }
        // Rounded up, so that the units suffice when the time has come.
        let owed = Duration::try_from_secs_f64(-self.level / per_second).unwrap_or(Duration::MAX);
        Some(owed.saturating_add(Duration::from_millis(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lends_to_one_at_a_time_and_is_paid_back() {
        let (mut bucket, begun) = (TokenBucket::default(), Instant::now());
        let at = |ms: u64| begun + Duration::from_millis(ms);
        // The bucket begins with the units of one second.
        assert_eq!(bucket.wait(10.0, at(0)), None);
        bucket.reserved = 10.5;
        assert_eq!(bucket.wait(10.0, at(0)), Some(Duration::ZERO));
        (bucket.level, bucket.reserved) = (bucket.level - 30.0, 0.0);
        let wait = bucket.wait(10.0, at(0)).unwrap();
        assert!((2_000..=2_002).contains(&wait.as_millis()), "{wait:?}");
        assert!(bucket.wait(10.0, at(1_000)).is_some());
        assert_eq!(bucket.wait(10.0, at(2_001)), None);
        // An idle bucket never holds more than the units of one second.
        assert_eq!(bucket.wait(10.0, at(900_000)), None);
        assert!((bucket.level - 10.0).abs() < 1e-9);
    }
}
