//! The command `ddbfs shell` prints a script for an interactive shell's `eval`. The script reports
//! failures after each command, and completes commands, tables and query paths. The scripts are in
//! `shell/`; they call this command for reports and completions, and never access a mount in the
//! shell's own process, which could not be interrupted while it waits for one.
//!
//! A report is `.ddb/errors/last` of each mount after a command, once. A mount that does not answer
//! is left to the process that reads it (`mount_reader`), and is not read again before that has
//! ended: it delays one prompt by a moment, and later prompts not at all.
//!
//! Completions are names in a mount that `ls` does not show. The list of mounts alone tells if a
//! directory is in a mount; a process that can be abandoned reads the mount itself.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;

use clap::ValueEnum;
use clap_complete::Shell;

use super::exit::{print_bytes, warn};
use super::mount_reader::{MountReader, current_user, is_waiting};
use super::prelude::*;
use crate::codec::digest::{digest, hex};
use crate::codec::file_name::is_plain_name;
use crate::fs::path::HELP_NAME;
use crate::fs::query::is_word;
use crate::fs::tree;
use crate::fuse;
use crate::model::IndexKind;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShellKind {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
#[command(after_help = "\
In ~/.bashrc, ~/.zshrc, or ~/.config/fish/config.fish:
  eval \"$(ddbfs shell bash)\"
  eval \"$(ddbfs shell zsh)\"
  ddbfs shell fish | source
It reads .ddb/errors/last of each mount after each command, reports new
failures, and completes names in a mount that ls does not show: query/, clauses,
key values, results; and tables for ddbfs dump and similar commands.")]
pub struct ShellArgs {
    /// The shell
    #[arg(required_unless_present_any = ["complete", "told", "tables"])]
    shell: Option<ShellKind>,
    /// Complete this word as a file name in a mount
    #[arg(long, value_name = "WORD", hide = true, allow_hyphen_values = true)]
    complete: Option<String>,
    /// Report failures since this state was printed
    #[arg(long, value_name = "TOLD", hide = true)]
    told: Option<String>,
    /// The status of the command that has ended
    #[arg(long, value_name = "STATUS", hide = true)]
    status: Option<i32>,
    /// Report nothing
    #[arg(long, hide = true, conflicts_with = "status")]
    quiet: bool,
    /// The names of the tables
    #[arg(long, hide = true)]
    tables: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// Runs the command. `program` is the definition of all commands, for their completions.
pub fn run(args: &ShellArgs, program: clap::Command) -> Result<CommandResult, CliError> {
    if let Some(told) = &args.told {
        return report_failures(told, args.status.filter(|_| !args.quiet));
    } else if let Some(word) = &args.complete {
        return print_completions(word);
    } else if args.tables {
        print_bytes(table_names(&args.data)?.as_bytes())?;
    } else if let Some(shell) = args.shell {
        print_bytes(script(shell, program).as_bytes())?;
    }
    Ok(CommandResult::Done)
}

fn script(shell: ShellKind, mut program: clap::Command) -> String {
    let (generator, hook) = match shell {
        ShellKind::Bash => (Shell::Bash, include_str!("shell/hook.bash")),
        ShellKind::Zsh => (Shell::Zsh, include_str!("shell/hook.zsh")),
        ShellKind::Fish => (Shell::Fish, include_str!("shell/hook.fish")),
    };
    let mut commands = Vec::new();
    clap_complete::generate(generator, &mut program, "ddbfs", &mut commands);
    let commands = String::from_utf8_lossy(&commands);
    match shell {
        ShellKind::Zsh => {
            // The generator knows no completions but its own.
            let commands = commands.replace(
                ":table -- The table:_default",
                ":table -- The table:__ddbfs_tables",
            );
            format!(
                "(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit -D }}\n{commands}{hook}"
            )
        }
        ShellKind::Bash | ShellKind::Fish => format!("{commands}{hook}"),
    }
}

/// Prints the completions of a word, a line each. Fails if the mount does not answer.
fn print_completions(word: &str) -> Result<CommandResult, CliError> {
    let names = match completions(word) {
        Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(CommandResult::Failed),
        names => names.unwrap_or_default(),
    };
    let directory = word.rfind('/').and_then(|slash| word.get(..=slash));
    let directory = directory.unwrap_or_default();
    let lines = names.iter().map(|name| format!("{directory}{name}\n"));
    print_bytes(lines.collect::<String>().as_bytes())?;
    Ok(CommandResult::Done)
}

/// Returns a line for each table name.
fn table_names(data: &DataArgs) -> Result<String, CliError> {
    let names = data_dir::open_passive(data)?.database.table_names()?;
    Ok(names.iter().map(|name| format!("{name}\n")).collect())
}

/// The time limit of all mounts together.
const REPORT_WAIT: Duration = Duration::from_millis(300);
const ERROR_FILE: &str = ".ddb/errors/last";
/// The prefix of the id of a process that still waits.
const WAITING: &str = "@";
/// The suffix of that id: a command failed meanwhile, and its report could not be read.
const FAILED_SUFFIX: &str = "x";
/// Calls that are reported even if the command succeeded: a refused write is never a mere attempt.
const WRITES: [&str; 3] = ["write ", "close ", "fsync "];

/// Prints to standard error the failures since `reported`, the state that the last call printed, and
/// prints the new state. `status` is the exit status of the command; `None` reports nothing, as
/// failed lookups while a command is typed are not failures of the command.
fn report_failures(reported: &str, status: Option<i32>) -> Result<CommandResult, CliError> {
    let before: HashMap<&str, &str> = reported
        .split(' ')
        .filter_map(|word| word.split_once('='))
        .collect();
    let user = current_user().map_err(CliError::io("cannot read who this process runs as"))?;
    let mounts = fuse::mounts().map_err(CliError::io("cannot read the list of mounts"))?;
    let mut known = Vec::new();
    let mut queries = Vec::new();
    for mount in mounts.into_iter().filter(|mount| mount.allows(user)) {
        let name = hex(&digest(mount.path.as_os_str().as_bytes()));
        match before.get(name.as_str()).copied() {
            Some(last)
                if parse_waiting(last)
                    .and_then(|(id, _)| id.parse().ok())
                    .is_some_and(is_waiting) =>
            {
                known.push(format!(
                    "{name}={}",
                    waiting_state(Some(last), status, None)
                ));
            }
            last => queries.extend(start_reader(mount.path).map(|reader| (name, last, reader))),
        }
    }
    // All were asked at once, so they share the time limit.
    let until = Instant::now() + REPORT_WAIT;
    for (name, last, reader) in queries {
        match reader.receive(until.saturating_duration_since(Instant::now())) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let (failure, id) = without_age(&text);
                let (state, is_told) = answered_state(last, status, failure, id);
                known.push(format!("{name}={state}"));
                if is_told {
                    warn(failure);
                }
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                known.push(format!(
                    "{name}={}",
                    waiting_state(last, status, Some(reader.abandon()))
                ));
            }
            // A dead mount, or no longer a mount.
            Err(_) => {}
        }
    }
    print_bytes(known.join(" ").as_bytes())?;
    Ok(CommandResult::Done)
}

/// Returns the id of the process that waits, and true if a command failed meanwhile.
fn parse_waiting(state: &str) -> Option<(&str, bool)> {
    let id = state.strip_prefix(WAITING)?;
    Some(
        id.strip_suffix(FAILED_SUFFIX)
            .map_or((id, false), |id| (id, true)),
    )
}

/// Returns the state of a mount that has not answered: the id of the waiting process, which is
/// `process` if it is a new one.
fn waiting_state(last: Option<&str>, status: Option<i32>, process: Option<u32>) -> String {
    let (before, has_failed) = last.and_then(parse_waiting).unwrap_or_default();
    let failed = if has_failed || status.is_some_and(|status| status != 0) {
        FAILED_SUFFIX
    } else {
        ""
    };
    let process = process.map_or_else(|| before.to_owned(), |process| process.to_string());
    format!("{WAITING}{process}{failed}")
}

/// Returns the state of a mount that has answered, and true if its failure is to be reported. A
/// failure that could not be read after its own command is reported after the next one, whatever
/// that one's status.
fn answered_state(
    last: Option<&str>,
    status: Option<i32>,
    failure: &str,
    id: String,
) -> (String, bool) {
    let (waited, Some(status)) = (last.and_then(parse_waiting), status) else {
        return (
            last.filter(|last| parse_waiting(last).is_some())
                .map_or(id, str::to_owned),
            false,
        );
    };
    let has_failed = status != 0 || waited.is_some_and(|(_, failed)| failed);
    let is_news = !failure.is_empty() && last != Some(id.as_str());
    (
        id,
        is_news && (has_failed || WRITES.iter().any(|call| failure.starts_with(call))),
    )
}

fn start_reader(mountpoint: PathBuf) -> Option<MountReader> {
    let mut reader = MountReader::start().ok()?;
    reader.request(&mountpoint.join(ERROR_FILE)).ok()?;
    Some(reader)
}

/// Splits a report into its lines without the last one, which has its time, and an id that tells it
/// from other reports: a hash of all but the age, which changes.
fn without_age(text: &str) -> (&str, String) {
    let timed = text.rsplit_once(',').map_or(text, |(timed, _)| timed);
    (
        timed.rsplit_once('\n').map_or("", |(lines, _)| lines),
        hex(&digest(timed.as_bytes())),
    )
}

/// The time limit of a mount for one file or directory.
const COMPLETE_WAIT: Duration = Duration::from_secs(2);
/// Names of directories.
const DIRECTORIES: [&str; 10] = [
    "items",
    "gsi",
    "lsi",
    "vector",
    "partitions",
    "queries",
    "query",
    "scan",
    "near",
    "batch",
];
/// The kinds of indexes, each with a directory of its own.
const KINDS: [IndexKind; 3] = [IndexKind::Global, IndexKind::Local, IndexKind::Vector];
/// Characters allowed besides those of names: a clause's value and a list of values, a directory,
/// an escaped character.
const EXTRA_CHARS: [char; 4] = ['=', ',', '/', '%'];

/// Returns the completions of the part of `word` after its last slash; none if `ls` shows all there
/// is. They contain only characters that no shell treats specially.
///
/// # Errors
/// `TimedOut` if the mount does not answer; any error of reading it.
pub fn completions(word: &str) -> io::Result<Vec<String>> {
    let (directory, start) = word
        .rsplit_once('/')
        .map_or((".", word), |(directory, start)| (directory, start));
    let directory = if directory.is_empty() { "/" } else { directory };
    let Some((mount, inside)) = fuse::find_mount(Path::new(directory))? else {
        return Ok(Vec::new());
    };
    let parts: Vec<String> = inside
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let mut names = directory_completions(&mount.path, &inside, &parts, start)?;
    names.retain(|name| name.starts_with(start) && name.split(EXTRA_CHARS).all(is_plain_name));
    Ok(names)
}

/// Returns the names that a directory of a mount may have.
fn directory_completions(
    root: &Path,
    directory: &Path,
    parts: &[String],
    start: &str,
) -> io::Result<Vec<String>> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [_] => Ok(directory_names(tree::dir_names(None))),
        [_, kind, _] if let Some(kind) = KINDS.into_iter().find(|of| of.name() == *kind) => {
            Ok(directory_names(tree::dir_names(Some(kind))))
        }
        [_, rest @ ..]
            if let Some(at) = rest
                .iter()
                .position(|part| matches!(*part, "query" | "scan" | "near")) =>
        {
            let source = directory
                .ancestors()
                .nth(rest.len() - at)
                .unwrap_or(directory);
            let source = root.join(source);
            let mut names = clauses(&root.join(directory), &source, start, rest[at] == "near")?;
            if let (["near"], Some(table)) = (&rest[at..], source.ancestors().nth(2))
                && !start.contains('=')
            {
                names.extend(items(&table.join("items"), start)?);
            }
            Ok(names)
        }
        _ => Ok(Vec::new()),
    }
}

fn directory_names(names: impl Iterator<Item = &'static str>) -> Vec<String> {
    let slash = |name: &str| if DIRECTORIES.contains(&name) { "/" } else { "" };
    names.map(|name| format!("{name}{}", slash(name))).collect()
}

/// Returns the clauses and results in the help of a query's directory, or, once a clause of the
/// partition key is begun, its values.
fn clauses(
    directory: &Path,
    source: &Path,
    start: &str,
    is_search: bool,
) -> io::Result<Vec<String>> {
    let mut reader = MountReader::start()?;
    let text = reader.read(&directory.join(HELP_NAME), COMPLETE_WAIT)?;
    let text = String::from_utf8_lossy(&text);
    let listed = text
        .lines()
        .take_while(|line| !line.starts_with("Examples"));
    // A name begins at the third character; its description is indented further.
    let words = listed.filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
    });
    let words: Vec<String> = words
        .flat_map(help_names)
        .chain([HELP_NAME.to_owned()])
        .collect();
    let Some((key, _)) = start.split_once('=') else {
        return Ok(words);
    };
    let is_partition = key == "@pk"
        || words
            .first()
            .is_some_and(|first| first.strip_suffix('=') == Some(key));
    if !is_partition {
        return Ok(Vec::new());
    }
    let names = list(&mut reader, &source.join("items"))?;
    let values = names
        .iter()
        .filter_map(|name| match name.strip_suffix(".json") {
            // A vector index without a HASH: no clause is of its partition key.
            Some(_) if is_search => None,
            stem => Some(format!("{key}={}/", stem.unwrap_or(name))),
        });
    Ok(values.collect())
}

/// Returns the items from which a search begins: `<name>/`; or `<folder>,`, and in it `<folder>,<name>/`.
fn items(directory: &Path, start: &str) -> io::Result<Vec<String>> {
    let mut reader = MountReader::start()?;
    let folder = start.split_once(',').map(|(folder, _)| folder);
    let names = list(&mut reader, &directory.join(folder.unwrap_or_default()))?;
    let before = folder.map_or_else(String::new, |folder| format!("{folder},"));
    let names = names.iter().map(|name| match name.strip_suffix(".json") {
        Some(stem) => format!("{before}{stem}/"),
        None => format!("{before}{name},"),
    });
    Ok(names.collect())
}

fn list(reader: &mut MountReader, directory: &Path) -> io::Result<Vec<String>> {
    let names = reader.list(directory, COMPLETE_WAIT)?;
    let names = names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    Ok(names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

/// Returns the names in a line of the help, up to their placeholders.
fn help_names(line: &str) -> Vec<String> {
    let names = line
        .split("  ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .map(|name| name.trim_end_matches(','));
    let names = names.map(|name| match name.split_once('=') {
        Some((clause, _)) => format!("{}=", clause.split('[').next().unwrap_or_default()),
        None => name.to_owned(),
    });
    // The user's own path follows.
    let names = names.map(|name| name.split('<').next().unwrap_or_default().to_owned());
    let names = names.filter(|name| !name.is_empty() && name != "ls" && name != "…");
    names
        .map(|name| {
            if is_word(&name) {
                format!("{name}/")
            } else {
                name
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_after_a_command_that_failed_also_if_it_was_not_heard_then() {
        let check = |last: &str, status: Option<i32>, failure: &str, expected: (&str, bool)| {
            let (state, is_told) = answered_state(Some(last), status, failure, "new".to_owned());
            assert_eq!(
                (state.as_str(), is_told),
                expected,
                "{last} {status:?} {failure}"
            );
        };
        check("old", Some(1), "open x", ("new", true));
        check("old", Some(0), "open x", ("new", false));
        check("old", Some(0), "write x", ("new", true));
        check("new", Some(1), "open x", ("new", false));
        check("old", None, "write x", ("new", false));
        check("@7", Some(0), "open x", ("new", false));
        check("@7x", Some(0), "open x", ("new", true));
        check("@7x", None, "open x", ("@7x", false));
        assert_eq!(waiting_state(None, Some(1), Some(8)), "@8x");
        assert_eq!(waiting_state(Some("@7x"), Some(0), Some(8)), "@8x");
        assert_eq!(waiting_state(Some("@7"), Some(1), None), "@7x");
        assert_eq!(waiting_state(Some("old"), Some(0), Some(8)), "@8");
    }

    #[test]
    fn words_of_the_help() {
        for (line, expected) in [
            (
                "GameTitle=<string>                 the partition key, needed",
                vec!["GameTitle="],
            ),
            (
                "@pk.shards=<prefix>,<m>,<n>        all of",
                vec!["@pk.shards="],
            ),
            (
                "desc, asc                          order",
                vec!["desc/", "asc/"],
            ),
            (
                "where.<path>.<op>[=<value>]        a filter",
                vec!["where."],
            ),
            (
                "items.ndjson            an item a line",
                vec!["items.ndjson"],
            ),
            ("count                   how many", vec!["count"]),
            (
                "consistent                         consistent read",
                vec!["consistent/"],
            ),
        ] {
            assert_eq!(help_names(line), expected, "{line}");
        }
    }
}
