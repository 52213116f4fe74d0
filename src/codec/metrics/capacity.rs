//! The consumed capacity of a table and its estimated cost, as one JSON object.

use serde_json::{Value, json};

use crate::codec::calendar;
use crate::model::IndexKind;
use crate::model::metrics::{
    Billing, Load, Metrics, Period, ReadCounts, SourceMetrics, Statistic, TableCounts, TableMetrics,
};
use crate::model::prices::{BudgetPeriod, MonthlyCost, MountSpending, PriceTable, RateOption};

const MINUTE_MS: u64 = 60_000;
/// The period of a budget of all processes of a user.
pub const OF_DAY: &str = "a day";

/// Returns the object of `table`, one of the tables in `metrics`; times and rates are those of
/// `metrics`.
#[must_use]
pub fn render(metrics: &Metrics, table: &TableMetrics, prices: &PriceTable) -> Value {
    // Less than a minute is no basis for a month.
    let seconds = metrics.now_ms.saturating_sub(table.since_ms).max(MINUTE_MS) as f64 / 1e3;
    let rate = |window: Period| {
        // If the window is longer than the time in which units were counted, the divisor is that
        // time.
        let seconds = window.seconds().min(seconds.max(Period::Minute.seconds()));
        cost(&prices.month_of_table(table, seconds, |source| *source.within(window)))
    };
    json!({
        "name": table.table.as_str(),
        "since": calendar::iso(table.since_ms),
        "sources": table.sources.iter().map(|source| json!({
            "name": source.index.as_ref().map_or(table.table.as_str(), |index| index.as_str()),
            "kind": source.kind(),
            "billing": billing(source),
            "items": source.entries,
            "billed_bytes": source.billed_bytes,
            "since_start": load(&source.usage.total.load()),
            "last_minute": load(&source.within(Period::Minute).load()),
            "last_hour": load(&source.within(Period::Hour).load()),
            "last_day": load(&source.within(Period::Day).load()),
            "queries_last_day": reads(&source.within(Period::Day).queries),
            "scans_last_day": reads(&source.within(Period::Day).scans),
            "vectors_last_day": vectors(source, prices),
            "backfill": backfill(source, prices),
            "bulk_loads": bulk_loads(source, prices),
        })).collect::<Vec<_>>(),
        "requests": {
            "since_start": table.counts.total.requests(),
            "last_minute": table.requests[Period::Minute as usize],
            "last_hour": table.requests[Period::Hour as usize],
            "last_day": table.requests[Period::Day as usize],
        },
        "latency": {
            "since_start": latency(std::iter::once(&table.counts.total)),
            "last_two_minutes": latency(last_two_minutes(metrics, table)),
        },
        "month": {
            "currency": prices.currency,
            "prices_of": prices.date,
            "region": prices.region,
            "at_the_rate_since_start": cost(&prices.month_of_table(table, seconds, |source| source.usage.total)),
            "at_the_rate_of_the_last_minute": rate(Period::Minute),
            "at_the_rate_of_the_last_hour": rate(Period::Hour),
            "at_the_rate_of_the_last_day": rate(Period::Day),
        },
    })
}

/// Returns the object of all tables together: their units since each was counted, and the spending
/// and limits of a mount of another service.
#[must_use]
pub fn render_all(metrics: &Metrics, spent: Option<&MountSpending>, prices: &PriceTable) -> Value {
    let (mut all, mut of_vectors) = (Load::default(), 0.0);
    for source in metrics.tables.iter().flat_map(|table| &table.sources) {
        all.add(&source.usage.total.load());
        of_vectors += prices.vector_cost(&source.usage.total);
    }
    if let Some(spent) = spent {
        // The requests are counted, not the tables: some of their tables are gone.
        all = Load {
            read: spent.read,
            write: spent.write,
            read_throttles: spent.throttles,
            write_throttles: 0,
        };
    }
    let since_ms = spent.map(|spent| spent.since_ms).or(metrics
        .tables
        .iter()
        .map(|table| table.since_ms)
        .min());
    json!({
        "since": since_ms.map(calendar::iso),
        "since_start": load(&all),
        "cost_on_demand": cents(prices.read_cost(all.read) + prices.write_cost(all.write) + of_vectors),
        "currency": prices.currency,
        "prices_of": prices.date,
        "region": prices.region,
        "limits": limits(spent),
    })
}

/// Returns the limits of a mount of another service; `null` without one.
#[must_use]
pub fn limits(spent: Option<&MountSpending>) -> Value {
    let Some(spent) = spent else {
        return Value::Null;
    };
    let rate = |option: RateOption| match option {
        RateOption::Default => json!("default"),
        RateOption::Unlimited => Value::Null,
        RateOption::Units(units) => json!(units),
    };
    let budget = spent.budget;
    json!({
        "read_units_a_second": rate(spent.reads_max),
        "write_units_a_second": rate(spent.writes_max),
        "budget": budget.map(|budget| budget.limit),
        "budget_of": budget.map(|budget| match budget.period {
            BudgetPeriod::Run => "this run",
            BudgetPeriod::Day => OF_DAY,
        }),
        "left": budget.map(|budget| cents(budget.left)),
        "spent_today": spent.today.map(cents),
    })
}

/// Formats the limits of a mount or copy as a line that names their options.
#[must_use]
pub fn limits_text(spent: &MountSpending, prices: &PriceTable) -> String {
    let (currency, today) = (&prices.currency, spent.today.unwrap_or(0.0));
    let budget = match spent.budget {
        None => "none".to_owned(),
        Some(budget) if budget.period == BudgetPeriod::Run => {
            format!("{} {currency} in this run", budget.limit)
        }
        Some(budget) => format!(
            "{} {currency} a day for all mounts, pulls and pushes, {} spent today",
            budget.limit,
            prices.text(today)
        ),
    };
    let rate = |option: RateOption, on_demand: &str| match option {
        RateOption::Default => format!("a tenth of provisioned units{on_demand}"),
        RateOption::Unlimited => "any rate".to_owned(),
        RateOption::Units(units) => format!("{units} units a second"),
    };
    format!(
        "limits: {budget} (--budget); reads: {} (--max-rcu); writes: {} (--max-wcu); none lifts a limit",
        rate(spent.reads_max, ", 100 a second on demand"),
        rate(spent.writes_max, "")
    )
}

/// Returns the searches of a vector index, and the bytes of its requests, which are no units; `null`
/// for another source.
fn vectors(source: &SourceMetrics, prices: &PriceTable) -> Value {
    let usage = source.within(Period::Day);
    let (searches, writes) = (&usage.vector_search_bytes, &usage.vector_write_bytes);
    match source.kind {
        Some(IndexKind::Vector) => json!({
            "searches": searches.count,
            "search_bytes": searches.sum,
            "writes": writes.count,
            "write_bytes": writes.sum,
            "cost": cents(prices.vector_cost(usage)),
        }),
        _ => Value::Null,
    }
}

/// Returns the units of a backfill of an index and their cost; `null` for a table without one.
fn backfill(source: &SourceMetrics, prices: &PriceTable) -> Value {
    let total = &source.usage.total;
    let units = total.online_write.sum;
    let told = total
        .online_percent
        .map(|_| json!({ "write_units": units, "cost": write_cost(source, prices, units) }));
    json!(told)
}

/// Returns the units of bulk loads, which are no part of the load, and their cost; `null` if there was
/// none.
fn bulk_loads(source: &SourceMetrics, prices: &PriceTable) -> Value {
    let usage = &source.usage.total;
    let (units, throttles) = (usage.bulk_write.sum, usage.bulk_throttles);
    let told = (units > 0.0 || throttles > 0).then(|| {
        let cost = write_cost(source, prices, units);
        json!({ "write_units": units, "throttles": throttles, "cost": cost })
    });
    json!(told)
}

/// Returns the cost of write units beside the load: provisioned units are already paid.
fn write_cost(source: &SourceMetrics, prices: &PriceTable, units: f64) -> f64 {
    match source.billing {
        Billing::OnDemand => cents(prices.write_cost(units)),
        Billing::WithTable | Billing::Provisioned(_) => 0.0,
    }
}

fn load(load: &Load) -> Value {
    json!({ "read_units": load.read, "write_units": load.write, "throttles": load.throttles() })
}

fn reads(reads: &ReadCounts) -> Value {
    json!({ "requests": reads.requests, "evaluated": reads.evaluated, "returned": reads.returned, "read_units": reads.units })
}

/// Returns the counts of the running minute and of the whole one before it.
fn last_two_minutes<'t>(
    metrics: &Metrics,
    table: &'t TableMetrics,
) -> impl Iterator<Item = &'t TableCounts> {
    let from = (metrics.now_ms / MINUTE_MS).saturating_sub(1);
    table
        .counts
        .minutes
        .iter()
        .filter(move |(minute, _)| *minute >= from)
        .map(|(_, counts)| counts)
}

/// Returns `SuccessfulRequestLatency` of all operations together.
fn latency<'t>(counts: impl Iterator<Item = &'t TableCounts>) -> Value {
    let (mut all, mut worst_ms) = (Statistic::default(), 0.0_f64);
    for of in counts.flat_map(|counts| &counts.operations) {
        all.count += of.latency_ms.count;
        all.sum += of.latency_ms.sum;
        worst_ms = worst_ms.max(of.latency_ms.max);
    }
    json!({ "requests": all.count, "mean_ms": all.average(), "worst_ms": worst_ms })
}

fn billing(source: &SourceMetrics) -> Value {
    match source.billing {
        Billing::OnDemand => json!("on demand"),
        Billing::WithTable => json!("with the table"),
        Billing::Provisioned(units) => {
            json!({ "read_units_a_second": units.read_capacity_units, "write_units_a_second": units.write_capacity_units })
        }
    }
}

fn cost(cost: &MonthlyCost) -> Value {
    json!({
        "storage": cents(cost.storage),
        "reads": cents(cost.reads),
        "writes": cents(cost.writes),
        "total": cents(cost.total()),
    })
}

/// Rounds to a hundredth of a cent.
#[must_use]
pub fn cents(money: f64) -> f64 {
    (money * 1e4).round() / 1e4
}
