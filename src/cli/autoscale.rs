//! `ddbfs autoscale`: simulates a scaling policy (target tracking) on a recorded load. Nothing is
//! changed. `inspect::auto_scaling` has the simulation; `codec::metrics::cloudwatch` writes the
//! load that it reads.

use std::io::{BufRead, BufReader};

use clap::ValueEnum;
use serde_json::Value;

use super::exit::print_text;
use crate::cli::prelude::*;
use crate::codec::calendar;
use crate::codec::metrics::prices;
use crate::inspect::auto_scaling::{
    ScalingAction, ScalingMinute, ScalingPolicy, TARGET_PERCENT_DEFAULT, TARGET_PERCENT_MAX,
    TARGET_PERCENT_MIN, simulate as run_policy, unit_hours,
};

const MINUTE_MS: u64 = 60_000;

const AFTER_HELP: &str = "\
Example:
  ddbfs autoscale mnt/Orders/metrics.ndjson --min 5 --max 500

Prints a line for each minute in which the policy acts, then its cost and the
number of minutes with more load than capacity.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct AutoscaleArgs {
    /// File with metrics, as in T/metrics.ndjson; - or none: standard input
    file: Option<PathBuf>,
    /// The capacity that the policy scales
    #[arg(long, value_name = "WHICH", default_value = "write")]
    units: ScaledUnits,
    /// Scale this global index instead of the table
    #[arg(long, value_name = "INDEX")]
    index: Option<String>,
    /// Least capacity, in units a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    min: u64,
    /// Largest capacity, in units a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max: u64,
    /// Percent of the capacity that should be in use
    #[arg(long, value_name = "PERCENT", default_value_t = TARGET_PERCENT_DEFAULT,
          value_parser = clap::value_parser!(u32).range(i64::from(TARGET_PERCENT_MIN)..=i64::from(TARGET_PERCENT_MAX)))]
    target: u32,
    /// Capacity at the beginning [default: --min]
    #[arg(long, value_name = "N")]
    start: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScaledUnits {
    Read,
    Write,
}

pub fn run(args: AutoscaleArgs) -> Result<CommandResult, CliError> {
    if args.min > args.max {
        return Err(CliError::Message(format!(
            "--min {} is more than --max {}",
            args.min, args.max
        )));
    }
    let load = read(&args)?;
    if load.is_empty() {
        let of = args
            .index
            .as_ref()
            .map_or_else(String::new, |index| format!(" of index {index}"));
        return Err(CliError::Message(format!(
            "there is no {} in these metrics{of}",
            metric(args.units)
        )));
    }
    let policy = ScalingPolicy {
        min: args.min,
        max: args.max,
        target_percent: args.target,
    };
    let minutes = run_policy(&load, policy, args.start.unwrap_or(args.min));
    let mut text = String::new();
    for minute in &minutes {
        if let Some(action) = minute.action {
            text += &line(minute, action);
        }
    }
    text += &summary(&minutes, policy, args.units);
    print_text(&text)?;
    Ok(CommandResult::Done)
}

fn metric(units: ScaledUnits) -> &'static str {
    match units {
        ScaledUnits::Read => "ConsumedReadCapacityUnits",
        ScaledUnits::Write => "ConsumedWriteCapacityUnits",
    }
}

/// Reads the units of each minute; minutes since the epoch, ascending.
fn read(args: &AutoscaleArgs) -> Result<Vec<(u64, f64)>, CliError> {
    let (name, reader): (String, Box<dyn BufRead>) = match &args.file {
        Some(path) if path != Path::new("-") => {
            let name = path.display().to_string();
            let file = std::fs::File::open(path).map_err(CliError::io(name.clone()))?;
            (name, Box::new(BufReader::new(file)))
        }
        _ => (
            "standard input".to_owned(),
            Box::new(std::io::stdin().lock()),
        ),
    };
    let mut load = Vec::new();
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.map_err(CliError::io(name.clone()))?;
        if line.trim().is_empty() {
            continue;
        }
        let point: Value = serde_json::from_str(&line).map_err(|error| {
            CliError::Message(format!(
                "{name}:{number}: no JSON object of metrics: {error}"
            ))
        })?;
        load.extend(
            units_of(&point, args)
                .map_err(|what| CliError::Message(format!("{name}:{number}: {what}")))?,
        );
    }
    // Files may be concatenated in any order; the policy goes by time.
    load.sort_by_key(|(minute, _)| *minute);
    Ok(load)
}

/// Returns the point's minute and units if it is of the metric asked for.
fn units_of(point: &Value, args: &AutoscaleArgs) -> Result<Option<(u64, f64)>, String> {
    let index = point["Dimensions"]["GlobalSecondaryIndexName"].as_str();
    if point["MetricName"] != metric(args.units) || index != args.index.as_deref() {
        return Ok(None);
    }
    let ms = point["Timestamp"].as_str().and_then(calendar::parse_iso);
    let ms = ms.ok_or("Timestamp is no time as in 2026-01-02T03:04:00.000Z")?;
    let sum = point["Sum"]
        .as_f64()
        .filter(|sum| *sum >= 0.0)
        .ok_or("Sum is no number")?;
    Ok(Some((ms / MINUTE_MS, sum)))
}

fn line(minute: &ScalingMinute, action: ScalingAction) -> String {
    let done = match action {
        ScalingAction::Raise(units) => format!("raised to {units}"),
        ScalingAction::Lower(units) => format!("lowered to {units}"),
        ScalingAction::LowerRefused(units) => {
            format!("would lower to {units}; the decreases of this day are used up")
        }
    };
    let at = calendar::iso(minute.minute * MINUTE_MS);
    format!(
        "{at}  {:.1} of {} units a second used, {:.0} %: {done}\n",
        minute.consumed,
        minute.capacity,
        minute.utilisation()
    )
}

fn summary(minutes: &[ScalingMinute], policy: ScalingPolicy, units: ScaledUnits) -> String {
    let table = prices::built_in();
    let price = match units {
        ScaledUnits::Read => table.read_hour,
        ScaledUnits::Write => table.write_hour,
    };
    let fixed: Vec<ScalingMinute> = minutes
        .iter()
        .map(|minute| ScalingMinute {
            capacity: policy.max,
            ..*minute
        })
        .collect();
    let (scaled, fixed) = (unit_hours(minutes), unit_hours(&fixed));
    let over = minutes
        .iter()
        .filter(|minute| minute.utilisation() > 100.0)
        .count();
    format!(
        "{}: {scaled:.1} unit-hours, {:.4} {currency}; always {}: {fixed:.1} unit-hours, {:.4} {currency}; {} had more load than capacity\n",
        plural(minutes.len() as u64, "minute"),
        scaled * price,
        policy.max,
        fixed * price,
        plural(over as u64, "minute"),
        currency = table.currency
    )
}
