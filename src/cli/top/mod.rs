//! `ddbfs top`: a live look at a mount from its own files, in a terminal or once as text.
//!
//! ```text
//! find.rs     which mount, and does it answer      state.rs   rows, order, filter, choice; what keys do
//! read.rs     files to readings                    screen.rs  the state drawn       live.rs  the terminal
//! figures.rs  figures as text                      plain.rs   a look as text
//! ```

mod figures;
mod find;
mod live;
mod plain;
mod read;
mod screen;
mod state;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use self::find::Files;
use self::read::{Details, Units};
use self::state::{Sort, State};
use super::outcome::{CliError, Outcome, tell};
use crate::model::layout::Window;

#[derive(Debug, Args)]
#[command(after_help = "\
Keys: q or Ctrl-C leaves; up and down, or k and j, choose; u r w t l n sort; / filters, Enter keeps the filter and Esc takes it away;
m takes the last minute, hour or day for partitions and keys.

Reading is free: nothing that is looked at is charged, throttled or counted.

Examples:
  ddbfs top
  ddbfs top mnt --interval 0.5 --sort throttles
  ddbfs top mnt --once | awk '$1 == \"key\"'      hot keys of every table and index that was asked for anything")]
pub struct TopArgs {
    /// The mount, or a path in it; left out: the only one of this user
    mount: Option<PathBuf>,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = interval)]
    interval: Duration,
    /// Print one look at the window as aligned text, and end; also when standard output is no terminal
    #[arg(long)]
    once: bool,
    /// What is shown first
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// Only tables and indexes with this in their paths
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Look back for a minute, hour or day
    #[arg(long, default_value = "minute", value_parser = window)]
    window: Window,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds, as 2 or 0.5".to_owned())?;
    if !(0.1..=3600.0).contains(&seconds) {
        return Err("from 0.1 to 3600 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn window(text: &str) -> Result<Window, String> {
    Window::ALL.into_iter().find(|window| window.name() == text).ok_or_else(|| "minute, hour or day".to_owned())
}

pub fn run(args: TopArgs) -> Result<Outcome, CliError> {
    let files = find::mount(args.mount.as_deref())?;
    let state = State::new(files.root.display().to_string(), args.sort, args.filter, args.window);
    if args.once || !io::stdout().is_terminal() {
        return once(files, state);
    }
    live::run(files, state, args.interval)
}

fn once(mut files: Files, mut state: State) -> Result<Outcome, CliError> {
    let root = files.root.clone();
    let failed = |error| find::refused(&root, error);
    state.see(read::all(&mut files).map_err(failed)?, None);
    let shown = state.shown();
    let mut details: Vec<Details> = Vec::new();
    // Those of a local index are its table's.
    let asked = shown.iter().filter(|row| row.reading.kind != read::Kind::Local && row.reading.since_start != Units::default());
    for row in asked {
        details.push(read::details(&mut files, &row.reading.path, state.window).map_err(failed)?);
    }
    tell(&plain::text(&shown, &details, state.spent.as_ref()))?;
    match &state.trouble {
        Some(trouble) => Err(CliError::Message(format!("not all could be read: {trouble}"))),
        None => Ok(Outcome::Done),
    }
}
