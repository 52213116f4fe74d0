//! What `pull`, `push` and `diff` share: what it costs is said first, a bar, signals that stop it after the page at hand.

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clap::Args;
use indicatif::{HumanBytes, HumanCount, HumanFloatCount};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::data_dir::Opened;
use super::index;
use super::outcome::{CliError, Outcome, print};
use super::progress::{BackfillProgress, ItemProgress};
use crate::codec::digest::{digest, hex};
use crate::codec::metrics::prices;
use crate::codec::plain_json;
use crate::database::copies::CopyError;
use crate::database::copies::copy::{Ended, Plan};
use crate::database::copies::tally::{Counts, Tally};
use crate::model::prices::PriceTable;
use crate::model::{Error, IndexName, Item, TableName};

/// What may be spent without being asked for, in the currency of the price table.
const FREE_OF_ASKING: f64 = 0.10;
/// Refused items printed; the rest are counted.
const REPORTS_MAX: u64 = 100;
/// The directory in the data directory where it is kept how far copies are.
const JOURNALS: &str = "copies";

/// Of all three.
#[derive(Debug, Clone, Args)]
pub struct CopyArgs {
    /// Parts of the table that are read at once, each by a thread
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub segments: u32,
    /// Do not ask before something that costs more than 0.10 USD by DynamoDB's prices on demand
    #[arg(long)]
    pub yes: bool,
}

/// Where it is kept how far the copy is that these words name.
pub fn journal(opened: &Opened, words: &[&str]) -> PathBuf {
    opened.dir.join(JOURNALS).join(format!("{}.ndjson", hex(&digest(words.join("\n").as_bytes()))))
}

/// A table's name that a person wrote.
pub fn table_name(name: &str) -> Result<TableName, CliError> {
    TableName::new(name).map_err(|error| CliError::Usage(format!("{name:?} is no table name: {error}")))
}

/// What units come to, on demand.
#[derive(Debug, Clone)]
pub struct Cost(PriceTable);

impl Cost {
    pub fn new() -> Self {
        Self(prices::built_in())
    }

    /// Money for read and write units.
    pub fn of(&self, read_units: f64, write_units: f64) -> f64 {
        (read_units * self.0.million_reads + write_units * self.0.million_writes) / 1e6
    }

    /// `1,250 write units, 0.02 USD`
    pub fn text(&self, read_units: f64, write_units: f64) -> String {
        let units = [(read_units, "read"), (write_units, "write")];
        let units = units.iter().filter(|(units, _)| *units > 0.0);
        let mut words: Vec<String> = units.map(|(units, of)| format!("{} {of} units", HumanFloatCount(units.ceil()))).collect();
        words.push(format!("{:.2} {}", self.of(read_units, write_units), self.0.currency));
        words.join(", ")
    }

    /// Asks, where it costs more than nobody minds.
    pub fn confirm(&self, (read_units, write_units): (f64, f64), yes: bool) -> Result<(), CliError> {
        if yes || self.of(read_units, write_units) <= FREE_OF_ASKING {
            return Ok(());
        }
        let text = self.text(read_units, write_units);
        if !std::io::stdin().is_terminal() {
            return Err(CliError::Message(format!("this takes about {text}; --yes says that you want it")));
        }
        eprint!("This takes about {text}. Go on? [y/N] ");
        let mut answer = String::new();
        let heard = std::io::stderr().flush().and_then(|()| std::io::stdin().lock().read_line(&mut answer));
        heard.map_err(CliError::io("cannot ask"))?;
        if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(CliError::Message("nothing was done".to_owned())) }
    }
}

/// Set by the first signal; the second ends the process.
pub fn stop_by_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the first finds the flag not set.
        let caught =
            flag::register_conditional_default(signal, Arc::clone(&stop)).and_then(|_| flag::register(signal, Arc::clone(&stop)));
        caught.map_err(CliError::io("cannot catch signals"))?;
    }
    Ok(stop)
}

/// A tally that moves a bar; `spent` are the units of which it tells.
pub fn tally(bar: &Arc<ItemProgress>, spent: fn(&Counts) -> (f64, f64)) -> Result<Tally, CliError> {
    let (bar, cost) = (Arc::clone(bar), Cost::new());
    Ok(Tally::new(stop_by_signals()?, move |counts| {
        let (read, written) = spent(counts);
        bar.update(counts.items, cost.text(read, written));
    }))
}

/// Which units of a copy are paid for, read and written.
pub type Spent = fn(&Counts) -> (f64, f64);

/// Says what a copy comes to, asks where that is much, and copies. `done` is the word for it.
pub fn perform(plan: Plan, what: impl Display, done: &str, spent: Spent, yes: bool) -> Result<Outcome, CliError> {
    let (estimate, cost) = (plan.estimate(), Cost::new());
    let left = Counts { read_units: estimate.read_units, write_units: estimate.write_units, ..Counts::default() };
    let units = spent(&left);
    let (items, bytes) = (HumanCount(estimate.items), HumanBytes(estimate.bytes));
    eprintln!("{what}: about {items} items, {bytes}; {}", cost.text(units.0, units.1));
    if let Some(earlier) = plan.done() {
        eprintln!("goes on where it was stopped: {} items are there", HumanCount(earlier.items));
    }
    if let Err(error) = &plan.expiry {
        eprintln!("time to live is not known, so the copy gets none: {error}");
    }
    cost.confirm(units, yes)?;
    let bar = Arc::new(ItemProgress::new(estimate.items, plan.done().unwrap_or_default().items));
    let tally = tally(&bar, spent)?;
    let ended = copy(plan, &tally, &bar);
    let counts = tally.counts();
    let (read, written) = spent(&counts);
    let summary = format!("{} items {done}; {}", HumanCount(counts.items - counts.rejected), cost.text(read, written));
    let goes_on = "the same command goes on from here";
    let told = match ended {
        Ok(Ended::Whole) if counts.rejected == 0 => return print(format!("{summary}\n").as_bytes()).map(|()| Outcome::Done),
        Ok(Ended::Whole) => format!("{summary}; {} items are not taken by the table\n", HumanCount(counts.rejected)),
        Ok(Ended::Stopped) => format!("stopped: {summary}; {goes_on}\n"),
        Err(error) if counts.items == 0 => return Err(error.into()),
        Err(error) => return Err(CliError::Message(format!("{error}\n{summary}; {goes_on}"))),
    };
    print(told.as_bytes())?;
    Ok(Outcome::Failed)
}

/// Copies, with a bar for the items and one for each index that is made after them.
fn copy(plan: Plan, tally: &Tally, bar: &ItemProgress) -> Result<Ended, CopyError> {
    let reported = AtomicU64::new(0);
    let report = |item: &Item, error: &Error| match reported.fetch_add(1, Ordering::Relaxed) {
        ..REPORTS_MAX => bar.line(&format!("not taken: {error}: {}", line(item))),
        REPORTS_MAX => bar.line("more items are not taken; they are counted only"),
        _ => {}
    };
    let mut of_index: Option<(IndexName, BackfillProgress)> = None;
    let ended = plan.run(tally, &report, &mut |name, state| {
        bar.finish();
        if of_index.as_ref().is_none_or(|(shown, _)| shown != name) {
            of_index = Some((name.clone(), BackfillProgress::new(name.as_str())));
        }
        let _ = of_index.iter().try_for_each(|(_, progress)| index::step(state, progress));
    });
    of_index.iter().for_each(|(_, progress)| progress.finish());
    bar.finish();
    ended
}

/// The beginning of an item, for people.
fn line(item: &Item) -> String {
    const CHARS_MAX: usize = 200;
    let mut text = Vec::new();
    plain_json::write_line(item, &[], &mut text);
    let text = String::from_utf8_lossy(&text);
    let end = text.char_indices().nth(CHARS_MAX).map(|(at, _)| at);
    end.map_or_else(|| text.trim_end().to_owned(), |end| format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn much_is_asked_for_and_little_is_not() {
        let cost = Cost::new();
        // By the built-in prices a million write units are 0.625, a million read units 0.125.
        assert_eq!(cost.text(0.0, 4_000_000.0), "4,000,000 write units, 2.50 USD");
        assert_eq!(cost.text(2_000_000.2, 0.0), "2,000,001 read units, 0.25 USD");
        assert!(cost.confirm((0.0, 160_000.0), false).is_ok());
        assert!(cost.confirm((0.0, 1e9), true).is_ok());
    }
}
