//! What `pull`, `push` and `diff` share: what it costs is said first, a bar, signals that stop it after the page at hand.

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::{HumanBytes, HumanCount, HumanFloatCount};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::index;
use super::model_args::PriceArgs;
use super::outcome::{tell, warn};
use super::progress::{BackfillProgress, Progress};
use super::remote::ServiceArgs;
use crate::cli::prelude::*;
use crate::codec::{plain_json, shown};
use crate::database::copies::CopyError;
use crate::database::copies::copy::{Ended, Plan};
use crate::database::copies::tally::{Counts, Tally};
use crate::model::prices::PriceTable;
use crate::model::{Error, IndexName, Item, TableName};

/// What may be spent without being asked for, in the currency of the price table.
const FREE_OF_ASKING: f64 = 0.10;
/// Refused items printed; the rest are counted.
const REPORTS_MAX: u64 = 100;

/// Of all three.
#[derive(Debug, Clone, Args)]
pub struct CopyArgs {
    /// Parts of the table that are read at once, each by a thread
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub segments: u32,
    /// Do not ask before something that costs more than 0.10 USD by DynamoDB's prices on demand and has no --budget
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub prices: PriceArgs,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub data: DataArgs,
}

impl CopyArgs {
    /// Who reads a service pays for read units.
    pub fn of_reads(&self) -> Result<Cost, CliError> {
        Ok(Cost { kind: "read", units: |counts| counts.read_units, price: PriceTable::of_reads, prices: self.prices.table()? })
    }

    /// Who writes to one, for write units.
    pub fn of_writes(&self) -> Result<Cost, CliError> {
        Ok(Cost { kind: "write", units: |counts| counts.write_units, price: PriceTable::of_writes, prices: self.prices.table()? })
    }
}

/// A table's name that a person wrote.
pub fn table_name(name: &str) -> Result<TableName, CliError> {
    TableName::new(name).map_err(|error| CliError::Usage(format!("{name:?} is no table name: {error}")))
}

/// What the units that are paid for come to, on demand.
#[derive(Debug, Clone)]
pub struct Cost {
    kind: &'static str,
    units: fn(&Counts) -> f64,
    price: fn(&PriceTable, f64) -> f64,
    prices: PriceTable,
}

impl Cost {
    fn money(&self, counts: &Counts) -> f64 {
        (self.price)(&self.prices, (self.units)(counts))
    }

    /// `1,250 write units, 0.02 USD`
    fn text(&self, counts: &Counts) -> String {
        let units = HumanFloatCount((self.units)(counts).ceil());
        format!("{units} {} units, {:.2} {}", self.kind, self.money(counts), self.prices.currency)
    }

    /// Asks, where it costs more than nobody minds and nothing was said of it.
    pub fn confirm(&self, counts: &Counts, args: &CopyArgs) -> Result<(), CliError> {
        if args.yes || args.service.budget.is_some() || self.money(counts) <= FREE_OF_ASKING {
            return Ok(());
        }
        let text = self.text(counts);
        if !std::io::stdin().is_terminal() {
            return Err(CliError::Message(format!("this takes about {text}; --yes says that you want it")));
        }
        let mut answer = String::new();
        let asked = write!(std::io::stderr(), "This takes about {text}. Go on? [y/N] ");
        let heard = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
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

/// A tally that moves a bar.
pub fn tally(bar: &Arc<Progress>, cost: &Cost) -> Result<Tally, CliError> {
    let (bar, cost) = (Arc::clone(bar), cost.clone());
    Ok(Tally::new(stop_by_signals()?, move |counts| bar.update(counts.items, cost.text(counts))))
}

/// Says what a copy comes to, asks where that is much, and copies. `done` is the word for it.
pub fn perform(plan: Plan, what: impl Display, done: &str, cost: &Cost, args: &CopyArgs) -> Result<Outcome, CliError> {
    let estimate = plan.estimate();
    let (items, bytes) = (HumanCount(estimate.items), HumanBytes(estimate.bytes));
    warn(format_args!("{what}: about {items} items, {bytes}; {}", cost.text(&estimate.left)));
    if let Some(earlier) = plan.done() {
        warn(format_args!("goes on where it was stopped: {} items are there", HumanCount(earlier.items)));
    }
    if let Err(error) = &plan.expiry {
        warn(format_args!("time to live is not known, so the copy gets none: {error}"));
    }
    cost.confirm(&estimate.left, args)?;
    let bar = Arc::new(Progress::of_items(estimate.items, plan.done().unwrap_or_default().items));
    let tally = tally(&bar, cost)?;
    let ended = copy(plan, &tally, &bar);
    let counts = tally.counts();
    let summary = format!("{} items {done}; {}", HumanCount(counts.items - counts.rejected), cost.text(&counts));
    let goes_on = "the same command goes on from here";
    let told = match ended {
        Ok(Ended::Whole) if counts.rejected == 0 => return tell(&format!("{summary}\n")).map(|()| Outcome::Done),
        Ok(Ended::Whole) => format!("{summary}; {} items are not taken by the table\n", HumanCount(counts.rejected)),
        Ok(Ended::Stopped) => format!("stopped: {summary}; {goes_on}\n"),
        Err(error) if counts.items == 0 => return Err(error.into()),
        Err(error) => return Err(CliError::Message(format!("{error}\n{summary}; {goes_on}"))),
    };
    tell(&told)?;
    Ok(Outcome::Failed)
}

/// Copies, with a bar for the items and one for each index that is made after them.
fn copy(plan: Plan, tally: &Tally, bar: &Progress) -> Result<Ended, CopyError> {
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
    shown::line(&plain_json::line(item, &[]), CHARS_MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        copy: CopyArgs,
    }

    #[test]
    fn much_is_asked_for_and_little_is_not() {
        let args = |more: &[&str]| Command::try_parse_from([&["x"], more].concat()).unwrap().copy;
        let units = |units: f64| Counts { read_units: units, write_units: units, ..Counts::default() };
        // By the built-in prices a million write units are 0.625, a million read units 0.125.
        let (reads, writes) = (args(&[]).of_reads().unwrap(), args(&[]).of_writes().unwrap());
        assert_eq!(writes.text(&units(4_000_000.0)), "4,000,000 write units, 2.50 USD");
        assert_eq!(reads.text(&units(2_000_000.2)), "2,000,001 read units, 0.25 USD");
        assert!(writes.confirm(&units(160_000.0), &args(&[])).is_ok());
        for said in [&["--yes"][..], &["--budget", "2 USD"]] {
            assert!(writes.confirm(&units(1e9), &args(said)).is_ok());
        }
    }
}
