//! The command line: arguments, progress, messages, exit codes. A file has one command or a few,
//! and every command is a function that returns a `CommandResult` or a `CliError`.
//!
//! ```text
//! args, remote, data_dir   options that commands share, and the database that they open
//! mount_options            the words of `-o`, and the calls of mount(8)
//! exit, progress, prelude  output and results, progress bars, common imports
//! mount_reader, watchdog   helper processes, for a mount that does not answer
//! top/                     the live view of `ddbfs top`
//! ```
//!
//! Exit codes: 0 done, 1 failed, 2 usage (clap's own); of `diff` 0 same, 1 different, 2 trouble.

mod archive;
mod args;
mod copy_commands;
mod data_dir;
mod diff;
mod exit;
mod generate;
mod import;
mod inspect;
mod load;
mod load_files;
mod maintain;
mod mount;
mod mount_options;
mod mount_reader;
mod prelude;
mod progress;
mod remote;
mod serve;
mod shell;
mod sync;
mod top;
mod umount;
mod violations;
mod watchdog;
mod what_if;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use self::exit::{CliError, CommandResult, warn};
use crate::codec::sanitize;
use crate::store::heap;

/// Mount a DynamoDB-compatible database and work with it as files.
#[derive(Debug, Parser)]
#[command(name = "ddbfs", version, about, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  # create the example tables; in the mount, tables are directories
  ddbfs sample
  mkdir -p mnt; ddbfs mount ./mnt &
  ls mnt
  # an item is a JSON file, and a write to it is a PutItem
  cat mnt/Pets/items/Dog/Fido.json
  echo '{\"Age\":3}' > mnt/Pets/items/Dog/Rex.json
  # a path is a query
  cat mnt/GameScores/gsi/GameTitleIndex/query/@pk=Meteor%20Blasters/items.ndjson
  ddbfs umount ./mnt

Set RUST_LOG=info (or debug) for a log on standard error.";

/// The error of `ddbfs index`.
const OF_INDEXES: &str = "a mount makes, shows and drops global indexes while the table is in use: `mkdir T/gsi/NAME` and its schema.json, or \
     `echo 'gsi NAME key:S' > T/ctl`; `cat T/gsi/NAME/stats.json`; `rmdir T/gsi/NAME`. Over HTTP UpdateTable does";

#[derive(Debug, Subcommand)]
enum Command {
    /// Mount the database; SIGINT, SIGTERM or `ddbfs umount` end it cleanly.
    Mount(Box<mount::MountArgs>),
    /// Unmount; also clears a dead mount ("Transport endpoint is not connected").
    Umount(umount::UmountArgs),
    /// Serve the DynamoDB HTTP API without a mount.
    Serve(serve::ServeArgs),
    /// Put items from files, directories or standard input into a table: JSON, CSV, exports, output
    /// of `aws dynamodb`.
    Load(load::LoadArgs),
    /// Create the tables that templates, models and definitions declare.
    Import(import::ImportArgs),
    /// Write a table's items to standard output, one JSON object a line.
    Dump(load::DumpArgs),
    /// Copy a table of a service into the data directory, with its items, indexes and time to live;
    /// resumes where it stopped.
    Pull(sync::PullArgs),
    /// Bring a pulled table up to date: by the stream of the table that it was pulled from, or by a
    /// comparison; resumes where it stopped.
    Sync(sync::SyncArgs),
    /// Copy a table of the data directory to a service; resumes where it stopped.
    Push(copy_commands::PushArgs),
    /// Compare two tables, here or in services: items that only one has, items that differ.
    Diff(diff::DiffArgs),
    /// Recompute every index entry and counter from the items and compare.
    Check(maintain::CheckArgs),
    /// Return the free pages of the data file to the disk, while no ddbfs has it open.
    Compact(maintain::CompactArgs),
    /// Create the example tables with their data.
    Sample(maintain::SampleArgs),
    /// Print a completion script for a shell: `ddbfs completions bash >
    /// /usr/share/bash-completion/completions/ddbfs`.
    Completions(generate::CompletionsArgs),
    /// Print a script for an interactive shell: reports failures after each command, completes
    /// tables and query paths.
    Shell(shell::ShellArgs),
    /// Print a manual page: `ddbfs man | man -l -`.
    Man(generate::ManArgs),
    /// Advise on the design of keys and indexes, of one table or all, from data and load.
    Advise(inspect::AdviseArgs),
    /// Try another key, index or billing mode on a table's items and load, side by side with it as
    /// it is; nothing is changed.
    WhatIf(Box<what_if::WhatIfArgs>),
    /// Show the shapes of a table's items: patterns of keys, sizes, attributes, indexes.
    Shapes(inspect::ShapesArgs),
    /// Write the items of a key range to a directory and, on request, delete them from the table.
    Archive(archive::ArchiveArgs),
    /// Watch a mount live: tables and indexes with units, throttles and latency, hot keys,
    /// partitions; as JSON with --once.
    Top(top::TopArgs),
    /// Find and correct items that a global index cannot hold.
    Violations(violations::ViolationsArgs),
    /// Ends the connection of a mount after its process was killed; started by `mount`.
    #[command(name = watchdog::COMMAND, hide = true)]
    Watchdog(watchdog::WatchdogArgs),
    /// Reads files of a mount that may never answer; started by `top` and others.
    #[command(name = mount_reader::COMMAND, hide = true)]
    Reader { reader: u32, shell: u32 },
    /// Taken only to say what makes an index.
    #[command(hide = true)]
    Index {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _words: Vec<String>,
    },
}

/// Runs the command of the process's arguments; wrong usage ends with exit code 2.
#[must_use]
pub fn main() -> ExitCode {
    // Before there are threads, each of which gets a heap.
    heap::tune();
    let args: Vec<OsString> = std::env::args_os().collect();
    match mount_options::arguments(&args) {
        Ok(by_mount) => match Cli::try_parse_from(by_mount.unwrap_or(args)) {
            Ok(cli) => run(cli),
            Err(error) => usage_error(&error),
        },
        Err(error) => failed(&error),
    }
}

/// Reports wrong arguments without characters that control a terminal, as scripts take arguments
/// from others. Help goes to standard output.
fn usage_error(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    warn(format_args!(
        "{}",
        sanitize::lines(error.to_string().trim_end(), usize::MAX)
    ));
    ExitCode::from(2)
}

fn failed(error: &CliError) -> ExitCode {
    warn(format_args!("ddbfs: {error}"));
    ExitCode::from(if matches!(error, CliError::Usage(_)) {
        2
    } else {
        1
    })
}

/// Runs the command; errors are printed to standard error.
fn run(cli: Cli) -> ExitCode {
    let outcome = match cli.command {
        Command::Mount(args) => mount::run(&args),
        Command::Umount(args) => umount::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Load(args) => load::load(args),
        Command::Import(args) => import::run(args),
        Command::Dump(args) => load::dump(args),
        Command::Pull(args) => sync::pull(args),
        Command::Sync(args) => sync::sync(args),
        Command::Push(args) => copy_commands::push(args),
        Command::Diff(args) => diff::run(&args),
        Command::Check(args) => maintain::check(&args),
        Command::Compact(args) => maintain::compact(&args),
        Command::Sample(args) => maintain::sample(args),
        Command::Completions(args) => generate::completions(&args, Cli::command()),
        Command::Shell(args) => shell::run(&args, Cli::command()),
        Command::Man(args) => generate::man(&args, Cli::command()),
        Command::Advise(args) => inspect::advise(args),
        Command::WhatIf(args) => what_if::run(*args),
        Command::Shapes(args) => inspect::shapes(args),
        Command::Archive(args) => archive::run(args),
        Command::Top(args) => top::run(args),
        Command::Violations(args) => violations::run(args),
        Command::Watchdog(args) => watchdog::run(&args),
        Command::Reader { reader, shell } => mount_reader::run([reader, shell]),
        Command::Index { .. } => Err(CliError::Usage(OF_INDEXES.to_owned())),
    };
    match outcome {
        Ok(CommandResult::Done) => ExitCode::SUCCESS,
        Ok(CommandResult::Failed) => ExitCode::from(1),
        Ok(CommandResult::Trouble) => ExitCode::from(2),
        Err(error) => failed(&error),
    }
}
