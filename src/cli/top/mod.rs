//! `ddbfs top`: a live view of a mount from its own files, as top(1) is of processes, in a terminal
//! or once as JSON. A thread reads the mount, which may take any time; the main thread draws and
//! handles keys at once.
//!
//! ```text
//! find.rs     which mount, and does it answer      state.rs   rows, order, filter, choice; what keys do
//! read.rs     files to readings                    screen.rs  the state drawn
//! figures.rs  figures as text
//! ```

mod figures;
mod find;
mod read;
mod screen;
mod state;
#[cfg(test)]
#[path = "top_tests.rs"]
mod tests;

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Instant;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::exit::print_bytes;
use super::prelude::*;
use super::remote::seconds_to_wait;
use crate::fs::mount::text_cache::pretty_json;
use crate::model::metrics::Period;
use find::MountFiles;
use read::{LoadUnits, Readings, SourceDetails};
use state::{AfterKey, Sort, TopState};

#[derive(Debug, Args)]
#[command(after_help = "\
Keys: q or Ctrl-C quits; up and down, or k and j, choose a row; u r w t l n
sort; / filters, Enter keeps the filter and Esc clears it; m switches partitions
and keys between the last minute, hour and day; a switches to access patterns.

Its reads are free: they are neither charged, throttled nor counted.

Examples:
  ddbfs top
  ddbfs top mnt --interval 0.5 --sort throttles
  # the hot keys of every table and index with requests
  ddbfs top mnt --once | jq '.details[] | {path, keys}'")]
pub struct TopArgs {
    /// The mount, or a path in it; by default the only one of this user
    mount: Option<PathBuf>,
    /// Seconds between two updates
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds_to_wait)]
    interval: Duration,
    /// Print the window once as JSON and exit; also if standard output is not a terminal
    #[arg(long)]
    once: bool,
    /// Order of the rows: units (a write unit counts as three), reads, writes, throttles, latency or
    /// name
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    sort: Sort,
    /// Only tables and indexes with this in their paths
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    filter: String,
    /// Look back for a minute, hour or day
    #[arg(long, default_value = "minute", value_parser = window)]
    window: Period,
}

fn window(text: &str) -> Result<Period, String> {
    Period::ALL
        .into_iter()
        .find(|window| window.name() == text)
        .ok_or_else(|| "minute, hour or day".to_owned())
}

pub fn run(args: TopArgs) -> Result<CommandResult, CliError> {
    let files = find::find_mount(args.mount.as_deref())?;
    let state = TopState::new(
        files.root.display().to_string(),
        args.sort,
        args.filter,
        args.window,
    );
    if args.once || !io::stdout().is_terminal() {
        return once(files, state);
    }
    watch(files, state, args.interval)
}

fn once(mut files: MountFiles, mut state: TopState) -> Result<CommandResult, CliError> {
    let root = files.root.clone();
    let failed = |error| find::mount_error(&root, error);
    state.apply(read::all(&mut files).map_err(failed)?, None);
    let shown = state.shown();
    let mut details: Vec<SourceDetails> = Vec::new();
    // The details of a local index are its table's.
    let asked = shown.iter().filter(|row| {
        row.reading.kind != read::LOCAL && row.reading.since_start != LoadUnits::default()
    });
    for row in asked {
        details.push(read::details(&mut files, &row.reading.path, state.window).map_err(failed)?);
    }
    print_bytes(&pretty_json(&json!({
        "window": state.window.name(),
        "sources": shown,
        "details": details,
        "spent": state.spent,
    })))?;
    match &state.problem {
        Some(trouble) => Err(CliError::Message(format!(
            "not all could be read: {trouble}"
        ))),
        None => Ok(CommandResult::Done),
    }
}

/// The longest time until a key is handled.
const POLL: Duration = Duration::from_millis(50);
/// The time between two checks that the terminal is still open.
const TERMINAL_POLL: Duration = Duration::from_millis(500);
/// The number of intervals without an update after which the screen says that the mount does not
/// answer.
const INTERVALS_SILENT: u32 = 3;
/// The pause after a read, in multiples of its duration: reading takes at most a fifth of the time,
/// as the mount counts the partitions of a large table for it.
const READ_PAUSE_FACTOR: u32 = 4;

/// A message of the reading thread.
enum TopUpdate {
    Tables(Readings, Instant),
    Details(SourceDetails),
    Failed(String),
}

/// The table or index to read details of, if any.
type DetailsRequest = Option<(String, Period)>;

/// Shows a mount until the user quits.
pub fn watch(
    mut files: MountFiles,
    state: TopState,
    interval: Duration,
) -> Result<CommandResult, CliError> {
    let is_ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&is_ended))
            .map_err(CliError::io("cannot catch signals"))?;
    }
    let (ask, wanted) = channel();
    let (send, seen) = channel();
    // A silent mount is shown as such; the user decides whether to quit.
    files.waits_forever = true;
    std::thread::spawn(move || read_loop(&mut files, interval, &wanted, &send));
    std::thread::spawn(end_with_terminal);
    let mut terminal = Screen::begin().map_err(CliError::io("cannot use the terminal"))?;
    let mut live = LiveTop {
        state,
        ask,
        asked: None,
        seen,
        last: None,
        newest: Instant::now(),
        interval,
    };
    let result = live.run(&mut terminal, &is_ended);
    end_if_closed();
    result.map(|()| CommandResult::Done)
}

/// Ends the process with its terminal. On a closed terminal the wait for a key never ends, and
/// takes all of a processor.
fn end_with_terminal() {
    loop {
        end_if_closed();
        std::thread::sleep(TERMINAL_POLL);
    }
}

/// Ends the process if its terminal is closed: restoring it or printing to it would panic.
fn end_if_closed() {
    if !io::stdout().is_terminal() {
        std::process::exit(1);
    }
}

/// The terminal in raw mode; restored on drop. A panic restores it too.
struct Screen(DefaultTerminal);

impl Screen {
    fn begin() -> io::Result<Self> {
        ratatui::try_init()
            .map(Self)
            .inspect_err(|_| ratatui::restore())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

struct LiveTop {
    state: TopState,
    ask: Sender<DetailsRequest>,
    asked: DetailsRequest,
    seen: Receiver<TopUpdate>,
    /// The time at which the shown tables were read.
    last: Option<Instant>,
    /// The time of the last message.
    newest: Instant,
    interval: Duration,
}

impl LiveTop {
    fn run(&mut self, screen: &mut Screen, is_ended: &AtomicBool) -> Result<(), CliError> {
        let failed = |error| CliError::io("cannot use the terminal")(error);
        let mut is_stale = true;
        while !is_ended.load(Ordering::Relaxed) {
            if is_stale {
                screen
                    .0
                    .draw(|frame| screen::draw(frame, &self.state))
                    .map_err(failed)?;
            }
            is_stale = event::poll(POLL).map_err(failed)?;
            if is_stale && self.handle(&event::read().map_err(failed)?) == AfterKey::Leave {
                return Ok(());
            }
            is_stale |= self.receive()?;
            if is_stale {
                self.ask_for_chosen();
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: &Event) -> AfterKey {
        match event {
            Event::Key(key) if key.is_press() || key.is_repeat() => self.state.press(*key),
            _ => AfterKey::Stay,
        }
    }

    /// Takes the messages of the reading thread; returns true if there is anything new to show.
    fn receive(&mut self) -> Result<bool, CliError> {
        let mut is_new = false;
        loop {
            match self.seen.try_recv() {
                Ok(seen) => self.apply(seen),
                Err(TryRecvError::Empty) => return Ok(self.note_silence() || is_new),
                Err(TryRecvError::Disconnected) => {
                    return Err(CliError::Message(
                        "what reads the mount has ended, see above; begin again".to_owned(),
                    ));
                }
            }
            is_new = true;
        }
    }

    fn apply(&mut self, update: TopUpdate) {
        self.newest = Instant::now();
        match update {
            TopUpdate::Tables(readings, at) => {
                let seconds = self.last.map(|last| at.duration_since(last).as_secs_f64());
                self.state.apply(readings, seconds);
                self.last = Some(at);
            }
            TopUpdate::Details(details) => self.state.details = Some(details),
            TopUpdate::Failed(why) => self.state.problem = Some(why),
        }
    }

    /// Sets the message that the mount is silent, with the time; returns true if it changed.
    fn note_silence(&mut self) -> bool {
        let silence = self.newest.elapsed();
        let problem = format!("no answer for {} seconds", silence.as_secs());
        let is_news = silence > self.interval * INTERVALS_SILENT
            && self.state.problem.as_ref() != Some(&problem);
        if is_news {
            self.state.problem = Some(problem);
        }
        is_news
    }

    fn ask_for_chosen(&mut self) {
        let wanted = self
            .state
            .chosen()
            .map(|row| (row.reading.path.clone(), self.state.window));
        if wanted != self.asked {
            // A send fails if the thread has ended, which the next `take` reports.
            let _ = self.ask.send(wanted.clone());
            self.asked = wanted;
        }
    }
}

/// Reads tables at each interval, and details also when others are wanted; ends with the receiver.
fn read_loop(
    files: &mut MountFiles,
    interval: Duration,
    requests: &Receiver<DetailsRequest>,
    updates: &Sender<TopUpdate>,
) {
    let mut requested: DetailsRequest = None;
    loop {
        let began = Instant::now();
        if updates.send(tables(files)).is_err()
            || send_details(files, requested.as_ref(), updates).is_err()
        {
            return;
        }
        let mut next = began + interval.max(began.elapsed() * READ_PAUSE_FACTOR);
        loop {
            match requests.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(newest) => {
                    // Only the last of several requests.
                    requested = requests.try_iter().last().unwrap_or(newest);
                    let began = Instant::now();
                    if send_details(files, requested.as_ref(), updates).is_err() {
                        return;
                    }
                    next = next.max(Instant::now() + began.elapsed() * READ_PAUSE_FACTOR);
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn tables(files: &mut MountFiles) -> TopUpdate {
    let at = Instant::now();
    match read::all(files) {
        Ok(readings) => TopUpdate::Tables(readings, at),
        Err(error) => TopUpdate::Failed(find::mount_error(&files.root, error).to_string()),
    }
}

/// Reads and sends details. Fails if the receiver is gone.
fn send_details(
    files: &mut MountFiles,
    requested: Option<&(String, Period)>,
    updates: &Sender<TopUpdate>,
) -> Result<(), ()> {
    let Some((path, window)) = requested else {
        return Ok(());
    };
    let update = match read::details(files, path, *window) {
        Ok(details) => TopUpdate::Details(details),
        Err(error) => TopUpdate::Failed(find::mount_error(&files.root, error).to_string()),
    };
    updates.send(update).map_err(drop)
}
