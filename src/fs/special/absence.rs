//! `gsi/<ix>/violations.ndjson` and `missing.ndjson`: the items without an entry in an index, one a
//! line, with the reason. Also the forecast of a new index for a plan: how many items enter it, its
//! cost once and each month, and the cost it adds to each write.

use std::ops::ControlFlow;

use crate::codec::count::plural;
use crate::codec::{item_files::rows::cell, metrics::capacity::cents};
use crate::fs::{open::prelude::*, path::names::item_path};
use crate::inspect::sharding::PARTITION_WRITE_UNITS;
use crate::model::{
    api::tables::{AbsentEntry, AbsentReason, IndexEstimate, KeyViolation},
    limits::ENTRY_OVERHEAD_BYTES,
    prices::PriceTable,
    schema::ON_DEMAND_WARM,
};

/// The most lines of a file. It is made in memory; the last line says if there are more.
const LINES_MAX: usize = 100_000;
const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Returns the text of either file; `each` visits its items.
pub fn absences(
    node: &Special,
    each: impl FnOnce(&SourceName, &mut dyn FnMut(AbsentEntry) -> ControlFlow<()>) -> Result<(), Error>,
) -> Result<Vec<u8>> {
    let source = node.try_source()?;
    let mut out = String::new();
    let mut lines = 0;
    each(source, &mut |absence: AbsentEntry| {
        if lines == LINES_MAX || out.len() >= TEXT_BYTES_MAX {
            out.push_str(&format!("{}\n", json!({ "more_than": lines })));
            return ControlFlow::Break(());
        }
        lines += 1;
        out.push_str(&format!("{}\n", absence_line(absence)));
        ControlFlow::Continue(())
    })?;
    Ok(out.into_bytes())
}

/// Returns the line of one item. Its path is relative to the table, as in query results.
pub fn absence_line(absence: AbsentEntry) -> Value {
    let path = item_path(&absence.key);
    match absence.reason {
        AbsentReason::Lacks(names) => json!({ "path": path, "lacks": names }),
        AbsentReason::Pending => json!({ "path": path, "lacks": [], "comes": true }),
        AbsentReason::InvalidKey(KeyViolation {
            attribute,
            expected,
            found,
        }) => {
            json!({ "path": path, "attribute": attribute, "expected": expected, "found": found })
        }
    }
}

/// Returns the figures of a new index for the whole table; those of a very large table are
/// estimated from the part that was read.
pub fn forecast(forecast: &IndexEstimate, prices: &PriceTable) -> Value {
    let IndexEstimate {
        index,
        items,
        sampled,
        entries,
        violations,
        ..
    } = forecast;
    // Scales a count of the part that was read to the whole table.
    let whole = |count| scaled(count, *items, *sampled);
    let (entries_all, entry_bytes) = (whole(*entries), whole(forecast.entry_bytes));
    let billed_bytes = entry_bytes + entries_all * ENTRY_OVERHEAD_BYTES;
    let write_units = (forecast.write_units * *items as f64 / (*sampled).max(1) as f64).round();
    let a_write = average(forecast.write_units, *sampled);
    let table_units = average(forecast.put_units, *sampled);
    // Writes of a vector index are counted in bytes, which are no units.
    let (backfill, a_put) = match index.vector {
        Some(_) => (
            json!({
                "write_bytes": write_units,
                "cost": cents(prices.vector_write_cost(write_units)),
                "currency": prices.currency,
            }),
            json!({ "table_units": table_units, "index_bytes": a_write }),
        ),
        None => {
            let (rate, assumed) = backfill_rate(forecast);
            let on_demand = prices.write_cost(write_units);
            (
                json!({
                    "write_units": write_units,
                    "cost": cents(index.throughput.map_or(on_demand, |_| 0.0)),
                    "currency": prices.currency,
                    "seconds": (write_units / rate as f64 * 10.0).round() / 10.0,
                    "at_write_units_a_second": rate,
                    "assumed": assumed,
                }),
                json!({ "table_units": table_units, "index_units": a_write }),
            )
        }
    };
    json!({
        "name": index.name.as_str(),
        "items": items,
        "looked_at": sampled,
        "entries": entries_all,
        "violations": whole(*violations),
        "violation_examples": forecast.examples.iter().cloned().map(absence_line).collect::<Vec<_>>(),
        "without_key_attributes": whole(sampled - entries - violations),
        "entry_bytes": entry_bytes,
        "average_entry_bytes": average(forecast.entry_bytes as f64, *entries),
        "distinct_values": forecast.partition_keys,
        "largest_value": forecast.largest.as_ref().map(|(values, _)| values.iter().map(cell).collect::<Vec<_>>().join(" + ")),
        "largest_share": largest_share(forecast).map(|share| (share * 1e4).round() / 1e4),
        "billed_bytes": billed_bytes,
        "storage_month": cents(prices.month_of_bytes(billed_bytes as f64)),
        "backfill": backfill,
        "a_put": a_put,
        "in_words": sentences(forecast, a_write),
    })
}

fn scaled(count: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(count) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Returns the write units a second of the backfill, and the reason for that rate.
fn backfill_rate(forecast: &IndexEstimate) -> (u64, &'static str) {
    let maximum = forecast.index.settings.on_demand.max_write_request_units;
    match (
        forecast.index.throughput,
        maximum
            .and_then(|units| u64::try_from(units).ok())
            .filter(|units| *units > 0),
    ) {
        (Some(units), _) => (
            units.write_capacity_units.max(1),
            "the index's provisioned units; live writes share them",
        ),
        (None, Some(units)) => (units, "the index's maximum on demand; live writes share it"),
        (None, None) => on_demand_rate(forecast),
    }
}

/// Returns what a new index on demand takes, or less if its largest value meets the limit of a
/// partition before.
fn on_demand_rate(forecast: &IndexEstimate) -> (u64, &'static str) {
    let (most, ceiling) = (ON_DEMAND_WARM.write_capacity_units, ceiling(forecast));
    if ceiling < most {
        (
            ceiling,
            "what the partition of the index's largest value allows",
        )
    } else {
        (most, "what a new index takes on demand")
    }
}

/// Returns the part of the entries that the largest value has.
fn largest_share(forecast: &IndexEstimate) -> Option<f64> {
    let (_, most) = forecast.largest.as_ref()?;
    Some(*most as f64 / forecast.entries.max(1) as f64)
}

/// Returns the write units a second at which the largest value meets the limit of a partition.
fn ceiling(forecast: &IndexEstimate) -> u64 {
    let most = forecast.largest.as_ref().map_or(1, |(_, most)| *most);
    scaled(PARTITION_WRITE_UNITS, forecast.entries.max(1), most)
}

fn sentences(forecast: &IndexEstimate, a_write: f64) -> Vec<String> {
    let IndexEstimate {
        index,
        items,
        sampled,
        entries,
        violations,
        ..
    } = forecast;
    let join = |names: Vec<&str>| names.join(" and ");
    let keys = join(index.required_names().collect());
    let vector = index.vector.as_ref();
    let form = vector.map_or_else(
        || "the right type".to_owned(),
        |vector| format!("{} as {}", vector.name, plural(vector.dimensions, "number")),
    );
    let mut words = Vec::new();
    if sampled < items {
        words.push(format!(
            "estimated from the first {sampled} of {} in hash order",
            plural(*items, "item")
        ));
    }
    words.push(format!(
        "{entries} of {} enter the index: they have {keys} with {form}",
        plural(*sampled, "item")
    ));
    if *violations > 0 {
        words.push(format!("{violations} have a value that the index cannot hold and stay out until it is corrected; later writes of such values are refused"));
    }
    if let Some(share) = largest_share(forecast).filter(|_| vector.is_none()) {
        words.push(format!(
            "the partition key has {} distinct values, and the largest has {:.1} % of the entries: its partition takes {PARTITION_WRITE_UNITS} write units a second, so the index takes at most {}",
            forecast.partition_keys,
            share * 100.0,
            ceiling(forecast)
        ));
    }
    let places: Vec<&str> = match vector {
        None => index.names(),
        Some(_) => (index.partition.iter().map(|key| &*key.name)).collect(),
    };
    words.push(match vector {
        None => format!("a put costs {a_write} write units more on average"),
        Some(_) => format!(
            "a put writes {a_write} bytes into the index on average, an entry at least 1,024: VectorWriteRequestBytes"
        ),
    });
    if !places.is_empty() {
        let places = join(places);
        words.push(format!(
            "a change of {places} costs the index twice: it deletes one entry and writes another"
        ));
    }
    words.push("a change of attributes that are not in the index costs it nothing".to_owned());
    words
}

/// Returns the average, rounded to a thousandth.
fn average(sum: f64, count: u64) -> f64 {
    if count == 0 {
        0.0
    } else {
        (sum / count as f64 * 1e3).round() / 1e3
    }
}
