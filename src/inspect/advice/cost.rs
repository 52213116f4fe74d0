//! Rules of advice on cost: the observed load priced in each billing mode, and the fit of the
//! provisioned units. Each rule is a function from [`TableFacts`] to a list of [`Advice`].

use super::facts::{SourceTraffic, TableFacts, Traffic};
use super::format::{Advice, AdviceCost, AdviceLevel};
use super::format::{minute, percent, units};
use super::load::{Access, month_of_rate};
use crate::codec::count::throttled;
use crate::model::metrics::{Billing, Load, SourceMetrics};
use crate::model::schema::{BillingMode, ProvisionedThroughput};

/// The minimum time of observation: a shorter one allows no conclusion on a month.
pub const SECONDS_MIN: f64 = 3600.0;
/// The parts of the provisioned units that the busiest minute uses: from HIGH on the units are too
/// few, below LOW too many.
const HIGH_UTILIZATION: f64 = 0.8;
const LOW_UTILIZATION: f64 = 0.2;
/// Provisioned units that cost next to nothing.
const UNITS_MIN: f64 = 10.0;
/// The target utilization of auto scaling.
const TARGET_UTILIZATION: f64 = 0.7;
/// The part of the present cost below which the other billing mode is worth a hint.
const CHEAPER_SHARE: f64 = 0.7;
/// The savings a month that are worth a hint.
const SAVED_MIN: f64 = 1.0;

/// The cost of a month: at present, on demand, and provisioned for the busiest minute.
#[derive(Debug, Clone, Copy)]
struct ModeCosts {
    now: f64,
    on_demand: f64,
    provisioned: f64,
}

/// Returns the units with which the busiest minute is at the target utilization.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn units_for(peak: f64) -> u64 {
    // A cast from float to integer saturates, it never wraps.
    ((peak / TARGET_UTILIZATION).ceil() as u64).max(1)
}

fn throughput_for(source: &SourceTraffic) -> ProvisionedThroughput {
    ProvisionedThroughput {
        read_capacity_units: units_for(source.peak.read),
        write_capacity_units: units_for(source.peak.write),
    }
}

/// Returns the cost of a month, at present or with another billing: then indexes get the units of
/// their busiest minute if the table is provisioned.
pub fn month(traffic: &Traffic, billing: Option<Billing>) -> f64 {
    let usage = |source: &SourceMetrics| {
        let of = traffic.source(source.index.as_ref());
        of.map(|of| of.usage).unwrap_or_default()
    };
    let mut table = traffic.metrics.clone();
    for source in &mut table.sources {
        let of = traffic.source(source.index.as_ref());
        source.billing = match (billing, of) {
            (None, _) => source.billing,
            (Some(Billing::Provisioned(_)), Some(of)) if source.index.is_some() => {
                match source.is_local() {
                    true => Billing::WithTable,
                    false => Billing::Provisioned(throughput_for(of)),
                }
            }
            (Some(billing), _) => billing,
        };
    }
    traffic
        .prices
        .month_of_table(&table, traffic.seconds(), usage)
        .total()
}

fn mode_costs(traffic: &Traffic) -> ModeCosts {
    let busiest = traffic.source(None).map(throughput_for);
    ModeCosts {
        now: month(traffic, None),
        on_demand: month(traffic, Some(Billing::OnDemand)),
        provisioned: month(traffic, busiest.map(Billing::Provisioned)),
    }
}

/// Reports too many or too few provisioned units.
pub fn provisioned(facts: &TableFacts) -> Vec<Advice> {
    let Some(traffic) = &facts.traffic else {
        return Vec::new();
    };
    let kinds = traffic
        .sources
        .iter()
        .flat_map(|source| Access::ALL.map(|access| (source, access)));
    kinds
        .filter_map(|(source, access)| provisioned_advice(facts, traffic, source, access))
        .collect()
}

fn provisioned_advice(
    facts: &TableFacts,
    traffic: &Traffic,
    source: &SourceTraffic,
    access: Access,
) -> Option<Advice> {
    let given = access.provisioned(source.billing)?;
    let (kind, peak) = (access.name(), access.of(&source.peak));
    let share = peak / given.max(1.0);
    let is_high = share >= HIGH_UTILIZATION;
    let is_low = share < LOW_UTILIZATION && given > UNITS_MIN && traffic.seconds() >= SECONDS_MIN;
    if !is_high && !is_low || access.throttles(&source.load()) > 0 {
        return None;
    }
    let name = facts.name();
    let fewer = (given - units_for(peak) as f64).max(0.0);
    let saved = month_of_rate(traffic, access, fewer);
    let (level, more) = if is_high {
        (AdviceLevel::Warning, String::new())
    } else {
        (
            AdviceLevel::Hint,
            format!(
                " Fewer would save {saved:.2} {} a month.",
                traffic.prices.currency
            ),
        )
    };
    Some(Advice {
        level,
        index: source.index.clone(),
        finding: format!(
            "The busiest minute since {} took {} of {given} provisioned {kind} units a second, {}.{more}",
            minute(traffic.since_ms),
            units(peak),
            percent(share, 1.0)
        ),
        cost: AdviceCost::default().money(saved, &traffic.prices.currency),
        rule: "Provisioned units cost whether they are used or not, and what goes beyond them is throttled once the burst is used up (T-01, T-04, G-40, G-44).",
        remedy: format!(
            "Set about {} ({:.0} % used in the busiest minute) in `{name}/schema.json`; `ddbfs what-if {name} --billing on-demand` tells what this load costs on demand.",
            units_for(peak),
            TARGET_UTILIZATION * 100.0
        ),
    })
}

/// Reports that the other billing mode would be cheaper.
pub fn billing_mode(facts: &TableFacts) -> Vec<Advice> {
    let Some(traffic) = facts
        .traffic
        .as_ref()
        .filter(|traffic| traffic.seconds() >= SECONDS_MIN)
    else {
        return Vec::new();
    };
    let (schema, months) = (&facts.description.schema, mode_costs(traffic));
    let (other, is, cost) = match schema.billing_mode {
        BillingMode::Provisioned => ("on demand", "provisioned", months.on_demand),
        BillingMode::PayPerRequest => (
            "provisioned for the busiest minute",
            "on demand",
            months.provisioned,
        ),
    };
    // A change of the provisioned units comes first: it is advice of its own.
    let is_told = !provisioned(facts).is_empty();
    if is_told
        || traffic.load().weight() == 0.0
        || cost > months.now * CHEAPER_SHARE
        || months.now - cost < SAVED_MIN
    {
        return Vec::new();
    }
    vec![Advice {
        level: AdviceLevel::Hint,
        index: None,
        finding: format!(
            "A month of the load since {} costs {:.2} {} {is} and {cost:.2} {other}.",
            minute(traffic.since_ms),
            months.now,
            traffic.prices.currency
        ),
        cost: AdviceCost::default().money(months.now - cost, &traffic.prices.currency),
        rule: "Units on demand cost several times those that are provisioned and used: an even load is cheaper provisioned, a rare or uneven one on demand (G-40, G-41, S-10).",
        remedy: format!(
            "Set BillingMode in `{}/schema.json`; `{0}/capacity.json` has the costs.",
            schema.name
        ),
    }]
}

/// Returns the units of bulk loads as a fact; `None` if there was none.
pub fn bulk_loads(facts: &TableFacts) -> Option<String> {
    let traffic = facts.traffic.as_ref()?;
    let all: f64 = traffic
        .sources
        .iter()
        .map(|source| source.usage.bulk_write.sum)
        .sum();
    (all > 0.0).then(|| {
        format!(
            "Bulk loads took {} write units with the indexes. They are counted apart: no rule judges by them.",
            units(all)
        )
    })
}

/// Returns the load and its cost as a fact; `None` if there was no load.
pub fn load(facts: &TableFacts) -> Option<String> {
    let traffic = facts
        .traffic
        .as_ref()
        .filter(|traffic| traffic.load() != Load::default())?;
    let all = traffic.load();
    let took = format!(
        "Since {} it took {} read and {} write units with its indexes, with {}.",
        minute(traffic.since_ms),
        units(all.read),
        units(all.write),
        throttled(&traffic.metrics.counts.total.requests(), all.throttles()),
    );
    if traffic.seconds() < SECONDS_MIN {
        return Some(format!(
            "{took} That is less than an hour, too short for the price of a month."
        ));
    }
    let months = mode_costs(traffic);
    Some(format!(
        "{took} A month at this rate costs {:.2} {} as it is, {:.2} on demand, and {:.2} provisioned for the busiest minute.",
        months.now, traffic.prices.currency, months.on_demand, months.provisioned
    ))
}
