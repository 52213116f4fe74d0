//! The input of `ddbfs top`: parsers of a mount's files about its tables: `T/capacity.json` of
//! each, and `partitions/heat.tsv`, `partitions/hot.tsv` and `access.json` of a chosen table or index. Columns are
//! found by their names, as others may be added. The mount neither counts nor charges these reads.

use std::io::{self, ErrorKind};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::find::MountFiles;
use crate::cli::mount_reader::is_dead;
use crate::codec::metrics::capacity::OF_DAY;
use crate::codec::sanitize;
use crate::model::metrics::{Period, RequestCounts};

/// The kinds of a table and of a local index in the mount's files.
const TABLE: &str = "table";
pub const LOCAL: &str = "lsi";

/// `SuccessfulRequestLatency` of all operations on a table.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
pub struct TableLatency {
    pub requests: u64,
    pub mean_ms: f64,
    pub worst_ms: f64,
}

/// Requested load: capacity units, and throttle events.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
pub struct LoadUnits {
    #[serde(rename = "read_units")]
    pub read: f64,
    #[serde(rename = "write_units")]
    pub write: f64,
    pub throttles: u64,
}

impl LoadUnits {
    fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.write += other.write;
        self.throttles += other.throttles;
    }
}

/// Units read and written per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Provisioned {
    pub read: f64,
    pub write: f64,
}

/// A table or index at one moment. The load of a table includes that of its local indexes, which
/// consume its units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceReading {
    /// The path below the mount: `Orders`, `Orders/gsi/by-status`.
    pub path: String,
    /// `table`, or the directory of indexes of its kind.
    pub kind: String,
    /// `None` for on-demand billing, and for a local index.
    pub provisioned: Option<Provisioned>,
    pub since_start: LoadUnits,
    /// The load of each period, in the order of [`Period::ALL`].
    #[serde(skip)]
    windows: [LoadUnits; 3],
    pub items: u64,
    /// Bytes with the overhead of each item.
    pub bytes: u64,
    /// The write units of bulk loads, which are no part of the load.
    #[serde(rename = "bulk_units")]
    pub bulk: f64,
    /// The requests of each period; of tables only.
    #[serde(skip)]
    pub requests: [RequestCounts; 3],
    /// The latency over the last two minutes; of tables only.
    #[serde(skip)]
    pub latency: Option<TableLatency>,
}

impl SourceReading {
    /// Returns the load of a window.
    pub fn within(&self, window: Period) -> LoadUnits {
        self.windows[window as usize]
    }
}

/// The tables of a mount, and the first table with an unreadable file and its error.
#[derive(Debug, Default, PartialEq)]
pub struct Readings {
    pub sources: Vec<SourceReading>,
    pub unread: Option<String>,
    /// `.ddb/capacity.json` of a mount that spends.
    pub spent: Option<Value>,
}

/// Parses `.ddb/capacity.json`; `None` for a mount that spends nothing.
pub fn spending(text: &str) -> serde_json::Result<Option<Value>> {
    let file: Value = serde_json::from_str(text)?;
    Ok(Some(file).filter(|file| !file["limits"].is_null()))
}

/// Formats `.ddb/capacity.json` as `spent 0.0125 USD, 0.2 today, budget 2/day, max-rcu 25, max-wcu default`.
pub fn spending_text(file: &Value) -> String {
    let word = |value: &Value| match (value.as_f64(), value.as_str()) {
        (Some(number), _) => number.to_string(),
        (_, text) => text.unwrap_or("-").to_owned(),
    };
    let limits = &file["limits"];
    let today = limits["spent_today"].as_f64();
    let today = today.map(|today| format!(", {today} today"));
    let a_day = match limits["budget_of"] == OF_DAY {
        true => "/day",
        false => "",
    };
    format!(
        "spent {} {}{}, budget {}{a_day}, max-rcu {}, max-wcu {}",
        word(&file["cost_on_demand"]),
        word(&file["currency"]),
        today.unwrap_or_default(),
        word(&limits["budget"]),
        word(&limits["read_units_a_second"]),
        word(&limits["write_units_a_second"])
    )
}

#[derive(Deserialize)]
struct CapacityFile {
    sources: Vec<SourceEntry>,
    #[serde(default)]
    requests: RequestEntry,
    latency: LatencyEntry,
}

#[derive(Default, Deserialize)]
struct RequestEntry {
    last_minute: RequestCounts,
    last_hour: RequestCounts,
    last_day: RequestCounts,
}

#[derive(Deserialize)]
struct BulkEntry {
    write_units: f64,
}

#[derive(Deserialize)]
struct LatencyEntry {
    last_two_minutes: TableLatency,
}

#[derive(Deserialize)]
struct SourceEntry {
    name: String,
    kind: String,
    /// An object for provisioned units, otherwise a text.
    billing: Value,
    items: u64,
    billed_bytes: u64,
    since_start: LoadUnits,
    last_minute: LoadUnits,
    last_hour: LoadUnits,
    last_day: LoadUnits,
    bulk_loads: Option<BulkEntry>,
}

/// Parses a table and its indexes from its `capacity.json`.
pub fn capacity(table: &str, text: &str) -> serde_json::Result<Vec<SourceReading>> {
    let file: CapacityFile = serde_json::from_str(text)?;
    let mut readings: Vec<SourceReading> = file
        .sources
        .iter()
        .map(|source| reading(table, source, &file))
        .collect();
    let local: Vec<SourceReading> = readings
        .iter()
        .filter(|reading| reading.kind == LOCAL)
        .cloned()
        .collect();
    if let Some(base) = readings.iter_mut().find(|reading| reading.kind == TABLE) {
        for index in &local {
            base.since_start.add(&index.since_start);
            base.bulk += index.bulk;
            base.windows
                .iter_mut()
                .zip(&index.windows)
                .for_each(|(sum, units)| sum.add(units));
        }
    }
    Ok(readings)
}

fn reading(table: &str, source: &SourceEntry, file: &CapacityFile) -> SourceReading {
    let RequestEntry {
        last_minute,
        last_hour,
        last_day,
    } = file.requests;
    let is_table = source.kind == TABLE;
    SourceReading {
        path: if is_table {
            table.to_owned()
        } else {
            format!("{table}/{}/{}", source.kind, source.name)
        },
        kind: source.kind.clone(),
        provisioned: provisioned(&source.billing),
        since_start: source.since_start,
        windows: [source.last_minute, source.last_hour, source.last_day],
        items: source.items,
        bytes: source.billed_bytes,
        bulk: source.bulk_loads.as_ref().map_or(0.0, |of| of.write_units),
        requests: [last_minute, last_hour, last_day].map(|of| {
            if is_table {
                of
            } else {
                RequestCounts::default()
            }
        }),
        latency: is_table.then_some(file.latency.last_two_minutes),
    }
}

fn provisioned(billing: &Value) -> Option<Provisioned> {
    let units = |name: &str| billing.get(name).and_then(Value::as_f64);
    Some(Provisioned {
        read: units("read_units_a_second")?,
        write: units("write_units_a_second")?,
    })
}

/// Reads all tables of the mount; those deleted meanwhile are omitted.
///
/// # Errors
/// The mount itself cannot be read.
pub fn all(mount: &mut MountFiles) -> io::Result<Readings> {
    let spent = spending(&mount.text(".ddb/capacity.json")?)?;
    let mut out = Readings {
        spent,
        ..Readings::default()
    };
    // The directories in the root of the mount are tables, with ASCII names, and `.ddb`.
    for table in mount
        .text("")?
        .lines()
        .filter(|name| !name.starts_with(".ddb"))
    {
        match table_readings(mount, table) {
            Ok(readings) => out.sources.extend(readings),
            Err(error) if is_gone(&error) => {}
            Err(error) if is_mount_error(&error) => return Err(error),
            Err(error) => {
                _ = out
                    .unread
                    .get_or_insert_with(|| format!("{table}/capacity.json: {error}"))
            }
        }
    }
    Ok(out)
}

fn table_readings(mount: &mut MountFiles, table: &str) -> io::Result<Vec<SourceReading>> {
    let text = mount.text(&format!("{table}/capacity.json"))?;
    Ok(capacity(table, &text)?)
}

/// True if the table was deleted, or is being created.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESTALE)
}

/// True if the mount's process is gone or does not answer.
fn is_mount_error(error: &io::Error) -> bool {
    is_dead(error) || error.kind() == ErrorKind::TimedOut
}

/// Returns `heat.tsv` for the last minute, `heat.hour.tsv`, `heat.day.tsv`.
fn file(stem: &str, window: Period) -> String {
    match window {
        Period::Minute => format!("{stem}.tsv"),
        Period::Hour | Period::Day => format!("{stem}.{}.tsv", window.name()),
    }
}

/// A partition of the chosen table or index: a line of `heat.tsv`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct PartitionHeat {
    #[serde(rename = "partition")]
    pub name: String,
    /// Percent of its limits over the window.
    #[serde(rename = "heat_percent")]
    pub percent: f64,
    /// Percent in the busiest second of the window.
    pub busiest_percent: f64,
    #[serde(rename = "rcu_per_s")]
    pub read_per_second: f64,
    #[serde(rename = "wcu_per_s")]
    pub write_per_second: f64,
    pub throttles: u64,
    pub items: u64,
    pub bytes: u64,
}

/// A key with high load: a line of `hot.tsv`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct HotKeyLine {
    /// The name below `items/`.
    #[serde(rename = "key")]
    pub name: String,
    pub partition: String,
    /// Units of the window in the file.
    #[serde(
        alias = "rcu_last_minute",
        alias = "rcu_last_hour",
        alias = "rcu_last_day"
    )]
    pub read_per_second: f64,
    #[serde(
        alias = "wcu_last_minute",
        alias = "wcu_last_hour",
        alias = "wcu_last_day"
    )]
    pub write_per_second: f64,
    pub throttles: u64,
}

/// The requests of a table or index with one normal form, over a window.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct PatternLine {
    #[serde(default)]
    pub request: String,
    pub requests: u64,
    pub read_units: f64,
    pub write_units: f64,
    pub evaluated: u64,
    pub returned: u64,
    pub p99_ms: Option<f64>,
    pub throttled: u64,
}

/// The partitions, hot keys and access patterns of a table or index, over a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceDetails {
    pub path: String,
    #[serde(skip)]
    pub window: Period,
    pub partitions: Vec<PartitionHeat>,
    /// Hottest first.
    pub keys: Vec<HotKeyLine>,
    /// The patterns, the most units first; a table has those of its indexes too.
    pub patterns: Vec<PatternLine>,
}

/// Reads the details of a table or index; empty if it was deleted. A local index lies in its
/// table's partitions.
///
/// # Errors
/// The mount cannot be read, or a file of it has other columns.
pub fn details(mount: &mut MountFiles, path: &str, window: Period) -> io::Result<SourceDetails> {
    let own = path.split_once("/lsi/").map_or(path, |(table, _)| table);
    let mut text_of = |path: &str| match mount.text(path) {
        Err(error) if !is_mount_error(&error) => Ok(String::new()),
        read => read,
    };
    let (table, index) = path.split_once('/').unwrap_or((path, ""));
    let access = text_of(&format!("{table}/access.json"))?;
    let index = index.rsplit('/').next().unwrap_or_default();
    let mut text_of = |name: &str| text_of(&format!("{own}/partitions/{name}"));
    let heat = text_of(&file("heat", window))?;
    let hot = text_of(&file("hot", window))?;
    let partitions: Vec<PartitionHeat> = lines(&heat)?;
    Ok(SourceDetails {
        path: path.to_owned(),
        window,
        partitions,
        keys: hot_keys(&hot, window)?,
        patterns: patterns(&access, index, window)?,
    })
}

/// Parses `access.json`: the patterns of an index, or all if its name is empty.
pub fn patterns(text: &str, index: &str, window: Period) -> serde_json::Result<Vec<PatternLine>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let file: Value = serde_json::from_str(text)?;
    let all = file["patterns"].as_array().into_iter().flatten();
    let of_index = all.filter(|pattern| index.is_empty() || pattern["index"] == index);
    let lines = of_index.map(|pattern| {
        let mut line: PatternLine = serde_json::from_value(pattern[window.name()].clone())?;
        let request = pattern["request"].as_str().unwrap_or_default();
        line.request = sanitize::line(request, sanitize::TEXT_CHARS_MAX);
        Ok(line)
    });
    let mut lines = lines.collect::<serde_json::Result<Vec<_>>>()?;
    lines.retain(|line| line.requests > 0);
    let units = |line: &PatternLine| line.read_units + line.write_units;
    lines.sort_by(|one, other| units(other).total_cmp(&units(one)));
    Ok(lines)
}

/// Parses `hot.tsv`.
pub fn hot_keys(text: &str, window: Period) -> io::Result<Vec<HotKeyLine>> {
    let mut keys: Vec<HotKeyLine> = lines(text)?;
    for key in &mut keys {
        key.read_per_second /= window.seconds();
        key.write_per_second /= window.seconds();
    }
    Ok(keys)
}

/// Parses values separated by tabs, below the last comment that names columns.
pub fn lines<T: DeserializeOwned>(text: &str) -> io::Result<Vec<T>> {
    let is_columns = |line: &&str| line.starts_with('#') && line.contains('\t');
    let Some(columns) = text.lines().rfind(is_columns) else {
        return Ok(Vec::new());
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let table = std::iter::once(columns.trim_start_matches('#')).chain(lines);
    let table = table.collect::<Vec<_>>().join("\n");
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.delimiter(b'\t').quoting(false);
    let parsed: Result<_, _> = reader
        .from_reader(table.as_bytes())
        .into_deserialize()
        .collect();
    parsed.map_err(|error| {
        let told = format!("{error}: the mount is of another version of ddbfs");
        io::Error::new(ErrorKind::InvalidData, told)
    })
}
