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

/// The kind of a table or index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum SourceKind {
    #[serde(rename = "table")]
    Table,
    #[serde(rename = "gsi")]
    Global,
    #[serde(rename = "lsi")]
    Local,
}

impl SourceKind {
    /// Returns the name in the mount's files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Global => "gsi",
            Self::Local => "lsi",
        }
    }
}

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
    pub kind: SourceKind,
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
    /// The latency since the start and over the last two minutes; of tables only.
    #[serde(skip)]
    pub latency: Option<(TableLatency, TableLatency)>,
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
    pub spent: Option<Spending>,
}

/// The spending and budget of a remote mount: `.ddb/capacity.json`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Spending {
    pub currency: String,
    #[serde(rename = "cost_on_demand")]
    pub money: f64,
    #[serde(rename = "since_start")]
    pub units: LoadUnits,
    pub limits: SpendingLimits,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct SpendingLimits {
    #[serde(rename = "budget")]
    pub money: Option<f64>,
    pub budget_of: Option<String>,
    pub spent_today: Option<f64>,
    /// A number, or a word for the limits of each table.
    #[serde(rename = "read_units_a_second", default)]
    pub reads: Value,
    #[serde(rename = "write_units_a_second", default)]
    pub writes: Value,
}

impl SpendingLimits {
    /// Formats a limit of units a second.
    pub fn rate(limit: &Value) -> String {
        match limit {
            Value::Null => "-".to_owned(),
            limit => limit
                .as_str()
                .map_or_else(|| limit.to_string(), str::to_owned),
        }
    }

    /// Formats the budget as `2`, or `2/day`.
    pub fn budget_text(&self) -> String {
        let of_day = if self.budget_of.as_deref() == Some(OF_DAY) {
            "/day"
        } else {
            ""
        };
        self.money
            .map_or_else(|| "-".to_owned(), |money| format!("{money}{of_day}"))
    }
}

impl Spending {
    /// Formats as `spent 0.0125 USD, 0.2 today, budget 2/day, max-rcu 25, max-wcu default`.
    pub fn text(&self) -> String {
        let limits = &self.limits;
        let today = limits.spent_today.map(|today| format!(", {today} today"));
        format!(
            "spent {} {}{}, budget {}, max-rcu {}, max-wcu {}",
            self.money,
            self.currency,
            today.unwrap_or_default(),
            limits.budget_text(),
            SpendingLimits::rate(&limits.reads),
            SpendingLimits::rate(&limits.writes)
        )
    }
}

/// Parses `.ddb/capacity.json`; `None` for a mount that spends nothing.
pub fn spending(text: &str) -> serde_json::Result<Option<Spending>> {
    let file: Value = serde_json::from_str(text)?;
    if file["limits"].is_null() {
        return Ok(None);
    }
    serde_json::from_value(file).map(Some)
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
    since_start: TableLatency,
    last_two_minutes: TableLatency,
}

#[derive(Deserialize)]
struct SourceEntry {
    name: String,
    kind: SourceKind,
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
        .filter(|reading| reading.kind == SourceKind::Local)
        .cloned()
        .collect();
    if let Some(base) = readings
        .iter_mut()
        .find(|reading| reading.kind == SourceKind::Table)
    {
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
    let is_table = source.kind == SourceKind::Table;
    SourceReading {
        path: if is_table {
            table.to_owned()
        } else {
            format!("{table}/{}/{}", source.kind.name(), source.name)
        },
        kind: source.kind,
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
        latency: is_table.then_some((file.latency.since_start, file.latency.last_two_minutes)),
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
    /// The most bytes of a partition.
    pub bytes_max: Option<u64>,
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
    let first = partitions
        .first()
        .map(|first| format!("{}/stats.json", first.name));
    let stats = first.map_or_else(|| Ok(String::new()), |first| text_of(&first))?;
    let stats: Option<Value> = serde_json::from_str(&stats).ok();
    let bytes_max = stats.and_then(|stats| stats.get("bytes_max").and_then(Value::as_u64));
    Ok(SourceDetails {
        path: path.to_owned(),
        window,
        partitions,
        keys: hot_keys(&hot, window)?,
        patterns: patterns(&access, index, window)?,
        bytes_max,
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
