//! The state of `ddbfs top`, a state machine, and the effect of keys on it: rows with rates, the
//! order, the filter, the choice. It knows neither a terminal nor a clock; `screen` draws it.

use std::cmp::Ordering;
use std::collections::HashMap;

use clap::ValueEnum as _;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Serialize;
use serde_json::Value;

use super::read::{LOCAL, LoadUnits, Readings, SourceDetails, SourceReading};
use crate::model::metrics::{Period, RequestCounts};

/// Lines that PageUp and PageDown move.
const PAGE: usize = 10;

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Sort {
    /// Units, a write unit as three
    #[default]
    Units,
    Reads,
    Writes,
    Throttles,
    Latency,
    Name,
}

impl Sort {
    /// Returns the name, whose first letter is its key.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Compares rows: most first, then by name.
    fn compare(self, one: &TopRow, other: &TopRow) -> Ordering {
        let figure = |row: &TopRow| match self {
            // The same weights as those of the load in `hot.tsv`.
            Self::Units => 3.0 * row.load.write + row.load.read,
            Self::Reads => row.load.read,
            Self::Writes => row.load.write,
            Self::Throttles => row.load.throttles as f64,
            Self::Latency => row.mean_ms.unwrap_or(-1.0),
            Self::Name => 0.0,
        };
        figure(other)
            .total_cmp(&figure(one))
            .then_with(|| one.reading.path.cmp(&other.reading.path))
    }
}

impl TopState {
    /// Returns the requests to the shown tables in the window, and the throttle events.
    pub fn throttled(&self) -> (RequestCounts, u64) {
        let (mut requests, mut events) = (RequestCounts::default(), 0);
        for row in self.shown() {
            // A table's events include those of its local indexes.
            if row.reading.kind != LOCAL {
                events += row.load.throttles;
            }
            requests.requests += row.requests.requests;
            requests.throttled += row.requests.throttled;
        }
        (requests, events)
    }
}

/// A table or index with its rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopRow {
    #[serde(flatten)]
    pub reading: SourceReading,
    /// Units per second since the previous reading of the files, at first over the window;
    /// throttles of the window.
    #[serde(rename = "load_per_second")]
    pub load: LoadUnits,
    /// The requests of the window.
    pub requests: RequestCounts,
    pub mean_ms: Option<f64>,
    /// The worst latency of the last two minutes.
    pub worst_ms: Option<f64>,
}

impl TopRow {
    /// Computes the rates between two readings; over the window if there was no earlier one, or if
    /// the counters were reset between them.
    fn new(reading: SourceReading, window: Period, before: Option<(&SourceReading, f64)>) -> Self {
        let LoadUnits {
            read,
            write,
            throttles,
        } = reading.within(window);
        let rates = before.and_then(|(before, seconds)| {
            rates(&before.since_start, &reading.since_start, seconds)
        });
        let (read, write) = rates.unwrap_or((read / window.seconds(), write / window.seconds()));
        let recent = reading.latency.filter(|recent| recent.requests > 0);
        let load = LoadUnits {
            read,
            write,
            throttles,
        };
        Self {
            load,
            requests: reading.requests[window as usize],
            mean_ms: recent.map(|recent| recent.mean_ms),
            worst_ms: recent.map(|recent| recent.worst_ms),
            reading,
        }
    }

    /// True if the load is above four fifths of the provisioned units.
    pub fn is_near_provisioned(&self) -> bool {
        const NEAR_SHARE: f64 = 0.8;
        let units = self.reading.provisioned;
        units.is_some_and(|units| {
            self.load.read > NEAR_SHARE * units.read || self.load.write > NEAR_SHARE * units.write
        })
    }
}

fn rates(before: &LoadUnits, now: &LoadUnits, seconds: f64) -> Option<(f64, f64)> {
    let (read, write) = (now.read - before.read, now.write - before.write);
    (seconds > 0.0 && read >= 0.0 && write >= 0.0).then(|| (read / seconds, write / seconds))
}

/// Returns the next longer window; the shortest after the longest.
fn next(window: Period) -> Period {
    Period::ALL
        .into_iter()
        .find(|other| *other > window)
        .unwrap_or(Period::Minute)
}

/// The action after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterKey {
    Stay,
    Leave,
}

#[derive(Debug, Clone)]
pub struct TopState {
    /// The mount's path, as shown.
    pub mount: String,
    pub sort: Sort,
    pub filter: String,
    /// True if keys go to the filter.
    pub is_typing: bool,
    pub window: Period,
    /// True if access patterns are below, in place of partitions and keys.
    pub shows_patterns: bool,
    /// The details of the chosen table or index, once they are read.
    pub details: Option<SourceDetails>,
    /// The reason why nothing newer is shown.
    pub problem: Option<String>,
    /// The spending on a remote service.
    pub spent: Option<Value>,
    /// The seconds between the last two readings, over which rates are; `None` for the window.
    pub seconds: Option<f64>,
    rows: Vec<TopRow>,
    /// The row chosen by a key; otherwise it is the first row.
    chosen: Option<String>,
}

impl TopState {
    pub fn new(mount: String, sort: Sort, filter: String, window: Period) -> Self {
        Self {
            mount,
            sort,
            filter,
            window,
            is_typing: false,
            shows_patterns: false,
            details: None,
            problem: None,
            spent: None,
            seconds: None,
            rows: Vec::new(),
            chosen: None,
        }
    }

    /// Takes new readings of the mount, `seconds` after the previous ones.
    pub fn apply(&mut self, readings: Readings, seconds: Option<f64>) {
        let before: HashMap<String, SourceReading> = self
            .rows
            .drain(..)
            .map(|row| (row.reading.path.clone(), row.reading))
            .collect();
        self.seconds = seconds;
        let rows = readings.sources.into_iter().map(|reading| {
            let before = before.get(&reading.path).zip(seconds);
            TopRow::new(reading, self.window, before)
        });
        self.rows = rows.collect();
        self.problem = readings.unread;
        self.spent = readings.spent;
    }

    /// Returns the number of tables and indexes found.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows that pass the filter, in order.
    pub fn shown(&self) -> Vec<&TopRow> {
        let filter = self.filter.to_lowercase();
        let mut shown: Vec<&TopRow> = self
            .rows
            .iter()
            .filter(|row| row.reading.path.to_lowercase().contains(&filter))
            .collect();
        shown.sort_by(|one, other| self.sort.compare(one, other));
        shown
    }

    /// Returns the index of the chosen row among the shown ones; 0 if it is gone.
    pub fn index(&self) -> usize {
        let chosen = self.chosen.as_deref();
        self.shown()
            .iter()
            .position(|row| Some(row.reading.path.as_str()) == chosen)
            .unwrap_or(0)
    }

    /// Returns the chosen row.
    pub fn chosen(&self) -> Option<&TopRow> {
        self.shown().get(self.index()).copied()
    }

    /// Handles a key.
    pub fn press(&mut self, key: KeyEvent) -> AfterKey {
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return AfterKey::Leave;
            }
            KeyCode::Up => self.choose(|place, _| place.saturating_sub(1)),
            KeyCode::Down => self.choose(|place, _| place + 1),
            KeyCode::PageUp => self.choose(|place, _| place.saturating_sub(PAGE)),
            KeyCode::PageDown => self.choose(|place, _| place + PAGE),
            KeyCode::Home => self.choose(|_, _| 0),
            KeyCode::End => self.choose(|_, last| last),
            KeyCode::Esc => (self.is_typing, self.filter) = (false, String::new()),
            _ if self.is_typing => self.type_filter(key.code),
            KeyCode::Char('q') => return AfterKey::Leave,
            KeyCode::Char(letter) => self.command(letter),
            _ => {}
        }
        AfterKey::Stay
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Backspace => _ = self.filter.pop(),
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => {}
        }
    }

    fn command(&mut self, letter: char) {
        match letter {
            '/' => self.is_typing = true,
            'm' => self.window = next(self.window),
            'a' => self.shows_patterns = !self.shows_patterns,
            'k' => self.choose(|place, _| place.saturating_sub(1)),
            'j' => self.choose(|place, _| place + 1),
            _ => {
                let mut sorts = Sort::value_variants().iter();
                let found = sorts.find(|sort| sort.name().starts_with(letter));
                self.sort = found.copied().unwrap_or(self.sort);
            }
        }
    }

    /// Chooses another row; `index_of` gets the current and the last index.
    fn choose(&mut self, index_of: impl Fn(usize, usize) -> usize) {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let path = shown
            .get(index_of(self.index(), last).min(last))
            .map(|row| row.reading.path.clone());
        self.chosen = path;
    }
}
