//! What the screen shows and what keys change of it: rows with rates, the order, the filter, the choice. Knows neither a terminal nor
//! a clock.

use std::cmp::Ordering;
use std::collections::HashMap;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::read::{Details, Latency, Reading, Readings, Spending, Units};
use crate::model::layout::Window;

/// Lines that PageUp and PageDown go.
const PAGE: usize = 10;

/// What rows are sorted by.
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

/// Each order with the key that chooses it.
pub const SORTS: [(char, Sort); 6] = [
    ('u', Sort::Units),
    ('r', Sort::Reads),
    ('w', Sort::Writes),
    ('t', Sort::Throttles),
    ('l', Sort::Latency),
    ('n', Sort::Name),
];

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Throttles => "throttles",
            Self::Latency => "latency",
            Self::Name => "name",
        }
    }

    /// Most first, and by name where that is the same.
    fn compare(self, one: &Row, other: &Row) -> Ordering {
        let figure = |row: &Row| match self {
            // As the load of `hot.tsv`.
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

/// A table or index with its rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub reading: Reading,
    /// Units a second since it was looked at before, at first over the window; throttles of the window.
    pub load: Units,
    pub mean_ms: Option<f64>,
    /// Of the last two minutes.
    pub worst_ms: Option<f64>,
}

impl Row {
    /// The rates between two looks; over the window when there was none, or when counting began anew between them.
    fn of(reading: Reading, window: Window, before: Option<(&Reading, f64)>) -> Self {
        let Units {
            read,
            write,
            throttles,
        } = reading.within(window);
        let rates = before.and_then(|(before, seconds)| {
            rates(&before.since_start, &reading.since_start, seconds)
        });
        let (read, write) = rates.unwrap_or((read / window.seconds(), write / window.seconds()));
        let recent = reading
            .latency
            .map(|(_, recent)| recent)
            .filter(|recent| recent.requests > 0);
        let mean_ms = match (
            before.and_then(|(before, _)| before.latency),
            reading.latency,
        ) {
            (Some((before, _)), Some((now, _))) if now.requests >= before.requests => {
                mean_between(&before, &now)
            }
            _ => recent.map(|recent| recent.mean_ms),
        };
        let load = Units {
            read,
            write,
            throttles,
        };
        Self {
            load,
            mean_ms,
            worst_ms: recent.map(|recent| recent.worst_ms),
            reading,
        }
    }

    /// Asked for more than four fifths of what is provisioned.
    pub fn is_near_provisioned(&self) -> bool {
        const NEAR: f64 = 0.8;
        let units = self.reading.provisioned;
        units.is_some_and(|units| {
            self.load.read > NEAR * units.read || self.load.write > NEAR * units.write
        })
    }
}

fn rates(before: &Units, now: &Units, seconds: f64) -> Option<(f64, f64)> {
    let (read, write) = (now.read - before.read, now.write - before.write);
    (seconds > 0.0 && read >= 0.0 && write >= 0.0).then(|| (read / seconds, write / seconds))
}

/// Of the requests between two looks; `None` when there were none.
fn mean_between(before: &Latency, now: &Latency) -> Option<f64> {
    let total = |latency: &Latency| latency.mean_ms * latency.requests as f64;
    let requests = now.requests - before.requests;
    (requests > 0).then(|| ((total(now) - total(before)) / requests as f64).max(0.0))
}

/// The next longer window; the shortest after the longest.
fn next(window: Window) -> Window {
    Window::ALL
        .into_iter()
        .find(|other| *other > window)
        .unwrap_or(Window::Minute)
}

/// What is to be done after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Stay,
    Leave,
}

#[derive(Debug, Clone)]
pub struct State {
    /// The mount, as it is shown.
    pub mount: String,
    pub sort: Sort,
    pub filter: String,
    /// Keys go to the filter.
    pub is_typing: bool,
    pub window: Window,
    /// Of the chosen table or index, once they came.
    pub details: Option<Details>,
    /// Why there is nothing newer to show.
    pub trouble: Option<String>,
    /// Of a service elsewhere.
    pub spent: Option<Spending>,
    rows: Vec<Row>,
    /// What was chosen by a key; else it is the first row.
    chosen: Option<String>,
}

impl State {
    pub fn new(mount: String, sort: Sort, filter: String, window: Window) -> Self {
        Self {
            mount,
            sort,
            filter,
            window,
            is_typing: false,
            details: None,
            trouble: None,
            spent: None,
            rows: Vec::new(),
            chosen: None,
        }
    }

    /// Takes what the mount says now, `seconds` after it was looked at before.
    pub fn see(&mut self, readings: Readings, seconds: Option<f64>) {
        let before: HashMap<String, Reading> = self
            .rows
            .drain(..)
            .map(|row| (row.reading.path.clone(), row.reading))
            .collect();
        let rows = readings.sources.into_iter().map(|reading| {
            let before = before.get(&reading.path).zip(seconds);
            Row::of(reading, self.window, before)
        });
        self.rows = rows.collect();
        self.trouble = readings.unread;
        self.spent = readings.spent;
    }

    /// Tables and indexes that were found.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Those that the filter leaves, in order.
    pub fn shown(&self) -> Vec<&Row> {
        let filter = self.filter.to_lowercase();
        let mut shown: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| row.reading.path.to_lowercase().contains(&filter))
            .collect();
        shown.sort_by(|one, other| self.sort.compare(one, other));
        shown
    }

    /// The place among the shown ones of the chosen one; the first when that is gone.
    pub fn place(&self) -> usize {
        let chosen = self.chosen.as_deref();
        self.shown()
            .iter()
            .position(|row| Some(row.reading.path.as_str()) == chosen)
            .unwrap_or(0)
    }

    /// The chosen table or index.
    pub fn chosen(&self) -> Option<&Row> {
        self.shown().get(self.place()).copied()
    }

    /// What is pressed is done.
    pub fn press(&mut self, key: KeyEvent) -> Then {
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Then::Leave;
            }
            KeyCode::Up => self.choose(|place, _| place.saturating_sub(1)),
            KeyCode::Down => self.choose(|place, _| place + 1),
            KeyCode::PageUp => self.choose(|place, _| place.saturating_sub(PAGE)),
            KeyCode::PageDown => self.choose(|place, _| place + PAGE),
            KeyCode::Home => self.choose(|_, _| 0),
            KeyCode::End => self.choose(|_, last| last),
            KeyCode::Esc => (self.is_typing, self.filter) = (false, String::new()),
            _ if self.is_typing => self.type_filter(key.code),
            KeyCode::Char('q') => return Then::Leave,
            KeyCode::Char(letter) => self.command(letter),
            _ => {}
        }
        Then::Stay
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
            'k' => self.choose(|place, _| place.saturating_sub(1)),
            'j' => self.choose(|place, _| place + 1),
            _ => {
                let found = SORTS.iter().find(|(key, _)| *key == letter);
                self.sort = found.map_or(self.sort, |(_, sort)| *sort);
            }
        }
    }

    /// Another place, of the one now and the last.
    fn choose(&mut self, to: impl Fn(usize, usize) -> usize) {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let path = shown
            .get(to(self.place(), last).min(last))
            .map(|row| row.reading.path.clone());
        self.chosen = path;
    }
}
