//! The load of one key value: its share of a table's or index's reads or writes, times a rate,
//! against the limits of a partition. Reads and writes are judged apart, over each period.

use super::facts::{SourceTraffic, TableFacts, Traffic};
use super::format::AdviceLevel;
use super::key_source::KeySource;
use crate::model::metrics::{Billing, HotKey, Load, PartitionLimits, Period};
use crate::model::prices::MONTH_HOURS;
use crate::model::schema::{BillingMode, ON_DEMAND_WARM};

/// The part of a partition's limit from which a measured rate is close to being throttled.
pub const NEAR_LIMIT: f64 = 0.5;
/// The smallest share of one value that is worth a note if its rate is far below the limits.
const NOTE_SHARE: f64 = 0.25;

/// Reads or writes: a partition has a limit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Access {
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// Returns `read` or `write`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Returns this kind of the units.
    pub fn of(self, load: &Load) -> f64 {
        match self {
            Self::Read => load.read,
            Self::Write => load.write,
        }
    }

    pub fn throttles(self, load: &Load) -> u64 {
        match self {
            Self::Read => load.read_throttles,
            Self::Write => load.write_throttles,
        }
    }

    /// Returns the provisioned units a second of this kind.
    pub fn provisioned(self, billing: Billing) -> Option<f64> {
        match (self, billing) {
            (Self::Read, Billing::Provisioned(units)) => Some(units.read_capacity_units as f64),
            (Self::Write, Billing::Provisioned(units)) => Some(units.write_capacity_units as f64),
            _ => None,
        }
    }
}

/// Returns the units a second that a partition gives.
pub fn limit(facts: &TableFacts, access: Access) -> f64 {
    let usual = PartitionLimits::default();
    let usual = Load::of_units(usual.read_units_max, usual.write_units_max);
    access.of(facts
        .traffic
        .as_ref()
        .map_or(&usual, |traffic| &traffic.partition))
}

/// The source of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateOrigin {
    /// The busiest minute that was counted.
    Seen,
    Provisioned,
    /// The first capacity of an on-demand table; for an index its part of the items.
    OnDemand,
}

/// The rate of the largest value at a rate of its table or index.
#[derive(Debug, Clone, Copy)]
pub struct Pressure {
    pub access: Access,
    /// The value's share of the reads or writes.
    pub share: f64,
    /// Units a second of the table or index.
    pub rate: f64,
    pub origin: RateOrigin,
    /// Units a second that a partition gives.
    pub limit: f64,
}

impl Pressure {
    /// Returns the value's rate as a part of the limit.
    pub fn of_limit(&self) -> f64 {
        self.share * self.rate / self.limit
    }

    /// Returns the rate of the table or index at which the value meets the limit.
    pub fn ceiling(&self) -> f64 {
        self.limit / self.share
    }

    /// Returns the importance; `None` if there is nothing to tell.
    pub fn level(&self) -> Option<AdviceLevel> {
        match (self.origin, self.of_limit()) {
            (RateOrigin::Seen, NEAR_LIMIT..) | (RateOrigin::Provisioned, 1.0..) => {
                Some(AdviceLevel::Warning)
            }
            (RateOrigin::OnDemand, 1.0..) => Some(AdviceLevel::Hint),
            _ if self.share >= NOTE_SHARE => Some(AdviceLevel::Note),
            _ => None,
        }
    }
}

/// Returns the most important pressure on the value with this share of the entries. The share of
/// the load takes its place where the load was measured; the rate seen is then judged by the key's
/// own busiest second, in `traffic::hot_keys`.
pub fn pressure(facts: &TableFacts, keyed: &KeySource<'_>, share: f64) -> Option<Pressure> {
    let all = Access::ALL
        .into_iter()
        .flat_map(|access| pressures(facts, keyed, access, share));
    all.filter(|found| found.level().is_some()).max_by(|a, b| {
        b.level()
            .cmp(&a.level())
            .then(a.of_limit().total_cmp(&b.of_limit()))
    })
}

fn pressures(
    facts: &TableFacts,
    keyed: &KeySource<'_>,
    access: Access,
    share: f64,
) -> Vec<Pressure> {
    let traffic = keyed.traffic(facts);
    let limit = limit(facts, access);
    let measured = traffic.and_then(|of| measured_share(of, access, limit));
    let seen = traffic.map(|of| (access.of(&of.busiest()), RateOrigin::Seen));
    let provisioned = traffic
        .and_then(|of| access.provisioned(of.billing))
        .map(|units| (units, RateOrigin::Provisioned));
    // A write of an item is one of the index; the reads of an index are no part of the table's.
    let on_demand = (facts.description.schema.billing_mode == BillingMode::PayPerRequest
        && access == Access::Write)
        .then(|| {
            let units = ON_DEMAND_WARM.write_capacity_units as f64;
            (units * entered(facts, keyed), RateOrigin::OnDemand)
        });
    let seen = seen.filter(|_| measured.is_none());
    [seen, provisioned, on_demand]
        .into_iter()
        .flatten()
        .map(|(rate, origin)| Pressure {
            access,
            share: measured.unwrap_or(share),
            rate,
            origin,
            limit,
        })
        .collect()
}

/// Returns the part of the items that are in the source.
fn entered(facts: &TableFacts, keyed: &KeySource<'_>) -> f64 {
    let items = facts.table.stats.entries.max(1) as f64;
    (keyed.source.stats.entries as f64 / items).min(1.0)
}

/// Returns the share of the hottest key in the load of the last day; `None` if there was too little
/// to tell: less than a partition serves in a second.
fn measured_share(of: &SourceTraffic, access: Access, limit: f64) -> Option<f64> {
    let day = of.window(Period::Day);
    let all = access.of(&day.load);
    let hottest = day.hot.iter().map(|key| access.of(&key.load));
    (all >= limit).then(|| hottest.fold(0.0, f64::max) / all)
}

/// The load of a hot key in one period.
#[derive(Debug, Clone, Copy)]
pub struct HotLoad<'f> {
    pub key: &'f HotKey,
    pub access: Access,
    pub period: Period,
    /// Units of the period: of the key, and of all keys.
    pub units: f64,
    pub all: f64,
    /// Units in the key's busiest second.
    pub peak: f64,
    pub limit: f64,
}

impl HotLoad<'_> {
    pub fn share(&self) -> f64 {
        self.units / self.all.max(1.0)
    }

    pub fn of_limit(&self) -> f64 {
        self.peak / self.limit
    }

    /// True if the key is close to being throttled, or was.
    pub fn is_near(&self) -> bool {
        self.of_limit() >= NEAR_LIMIT || self.access.throttles(&self.key.load) > 0
    }
}

/// Returns the load of each hot key in each period, reads and writes apart, where it is as much as
/// a partition serves in a second.
pub fn hot_loads<'f>(
    facts: &'f TableFacts,
    of: &'f SourceTraffic,
) -> impl Iterator<Item = HotLoad<'f>> {
    Period::ALL.into_iter().flat_map(move |period| {
        let window = of.window(period);
        Access::ALL.into_iter().flat_map(move |access| {
            let (all, limit) = (access.of(&window.load), limit(facts, access));
            let keys = window.hot.iter().filter(move |_| all >= limit);
            keys.map(move |key| HotLoad {
                key,
                access,
                period,
                units: access.of(&key.load),
                all,
                peak: access.of(&key.peak.load),
                limit,
            })
        })
    })
}

pub const DAY_SECONDS: f64 = 86_400.0;

/// Returns the cost of a month in which every day takes this many units. Units that are provisioned
/// cost their price by the hour.
pub fn month_of_daily(traffic: &Traffic, billing: Billing, access: Access, units: f64) -> f64 {
    let prices = &traffic.prices;
    match (billing, access) {
        (Billing::OnDemand, Access::Read) => prices.read_cost(units * MONTH_HOURS / 24.0),
        (Billing::OnDemand, Access::Write) => prices.write_cost(units * MONTH_HOURS / 24.0),
        (_, access) => month_of_rate(traffic, access, units / DAY_SECONDS),
    }
}

/// Returns the cost of a month of provisioned units a second.
pub fn month_of_rate(traffic: &Traffic, access: Access, rate: f64) -> f64 {
    let hour = match access {
        Access::Read => traffic.prices.read_hour,
        Access::Write => traffic.prices.write_hour,
    };
    rate * hour * MONTH_HOURS
}
