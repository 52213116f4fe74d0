//! `ddbfs shell`: what an interactive shell takes in with `eval`: failures told after each command, completions of commands, tables
//! and query paths. The scripts are in `shell/`; they ask this command for what is to be told and completed, and never touch a mount
//! in the shell's own process, which could not be ended while it waits for one.
//!
//! Told is what `.ddb/errors/last` of each mount says after a command, once. A mount that does not answer is left to the process that asked
//! it, and is not asked again before that has ended: it costs one prompt a moment, and the others nothing.
//!
//! Completed are names in a mount that `ls` does not show. A directory is of a mount by the list of mounts alone, and the mount is read by a
//! process that can be left.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;

use clap::ValueEnum;
use clap_complete::Shell;

use super::outcome::{print, warn};
use super::prelude::*;
use super::reader::{Reader, is_waiting, user};
use crate::codec::digest::{digest, hex};
use crate::codec::file_name::is_name;
use crate::fs::path::HELP_NAME;
use crate::fs::query::is_word;
use crate::fs::tree;
use crate::fuse;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Interactive {
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
It reads .ddb/errors/last of each mount after each command, tells what is new there, and completes names in a mount that ls does not
show: query/, clauses, key values, results; and tables for ddbfs dump and its like.")]
pub struct ShellArgs {
    /// For which shell
    #[arg(required_unless_present_any = ["complete", "line", "told", "tables"])]
    shell: Option<Interactive>,
    /// What a word may become that names a file in a mount
    #[arg(long, value_name = "WORD", hide = true, allow_hyphen_values = true)]
    complete: Option<String>,
    /// What the last word of a bash's line may become, from where readline completes it
    #[arg(long, value_name = "LINE", hide = true, allow_hyphen_values = true)]
    line: Option<String>,
    /// Where readline begins words
    #[arg(
        long,
        value_name = "CHARACTERS",
        hide = true,
        allow_hyphen_values = true,
        default_value = ""
    )]
    breaks: String,
    /// Tell what failed since this was printed
    #[arg(long, value_name = "TOLD", hide = true)]
    told: Option<String>,
    /// The status of the command that has ended
    #[arg(long, value_name = "STATUS", hide = true)]
    status: Option<i32>,
    /// Tell nothing
    #[arg(long, hide = true, conflicts_with = "status")]
    quiet: bool,
    /// The names of the tables
    #[arg(long, hide = true)]
    tables: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// `program`: the definition of the commands, for what completes them.
pub fn run(args: &ShellArgs, program: clap::Command) -> Result<Outcome, CliError> {
    if let Some(told) = &args.told {
        return tell_failures(told, args.status.filter(|_| !args.quiet));
    } else if let Some(word) = &args.complete {
        let end = word.rfind('/').map_or(0, |slash| slash + 1);
        return offer(word, word.get(..end).unwrap_or_default(), 0);
    } else if let Some(line) = &args.line {
        let word = last_word(line, &args.breaks);
        return offer(&word.text, &word.directory, word.kept);
    } else if args.tables {
        print(table_names(&args.data)?.as_bytes())?;
    } else if let Some(shell) = args.shell {
        print(script(shell, program).as_bytes())?;
    }
    Ok(Outcome::Done)
}

fn script(shell: Interactive, mut program: clap::Command) -> String {
    let (generator, hook) = match shell {
        Interactive::Bash => (Shell::Bash, include_str!("shell/hook.bash")),
        Interactive::Zsh => (Shell::Zsh, include_str!("shell/hook.zsh")),
        Interactive::Fish => (Shell::Fish, include_str!("shell/hook.fish")),
    };
    let mut commands = Vec::new();
    clap_complete::generate(generator, &mut program, "ddbfs", &mut commands);
    let commands = String::from_utf8_lossy(&commands);
    match shell {
        Interactive::Zsh => {
            // The generator knows no completions but its own.
            let commands = commands.replace(
                ":table -- The table:_default",
                ":table -- The table:__ddbfs_tables",
            );
            format!(
                "(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit -D }}\n{commands}{hook}"
            )
        }
        Interactive::Bash | Interactive::Fish => format!("{commands}{hook}"),
    }
}

/// Prints what a word may become, a line each: `directory`, and of the names behind it what comes after the bytes that are kept. Fails when
/// the mount does not answer.
fn offer(word: &str, directory: &str, kept: usize) -> Result<Outcome, CliError> {
    let names = match names(word) {
        Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(Outcome::Failed),
        names => names.unwrap_or_default(),
    };
    let lines = names
        .iter()
        .filter_map(|name| Some(format!("{directory}{}\n", name.get(kept..)?)));
    print(lines.collect::<String>().as_bytes())?;
    Ok(Outcome::Done)
}

/// A line for each.
fn table_names(data: &DataArgs) -> Result<String, CliError> {
    let names = data_dir::open(data)?.database.table_names()?;
    Ok(names.iter().map(|name| format!("{name}\n")).collect())
}

/// How long all mounts together may take.
const TELL_PATIENCE: Duration = Duration::from_millis(300);
const LAST: &str = ".ddb/errors/last";
/// Before the id of a process that still waits.
const WAITING: &str = "@";
/// After that id: a command failed of which nothing could be heard.
const FAILED: &str = "x";
/// Calls that are told of also when the command succeeded: a write that was refused is never part of what a program only tries.
const WRITES: [&str; 3] = ["write ", "close ", "fsync "];

/// Tells on standard error what is new since `told`, what this printed the time before, and prints what is known now. `status` is that of
/// the command; `None` tells nothing, as what is looked for while a command is typed is no failure of it.
fn tell_failures(told: &str, status: Option<i32>) -> Result<Outcome, CliError> {
    let before: HashMap<&str, &str> = told
        .split(' ')
        .filter_map(|word| word.split_once('='))
        .collect();
    let user = user().map_err(CliError::io("cannot read who this process runs as"))?;
    let mounts = fuse::mounts().map_err(CliError::io("cannot read the list of mounts"))?;
    let mut known = Vec::new();
    let mut asked = Vec::new();
    for mount in mounts.into_iter().filter(|mount| mount.is_open_to(user)) {
        let name = hex(&digest(mount.path.as_os_str().as_bytes()));
        match before.get(name.as_str()).copied() {
            Some(last)
                if waiting(last)
                    .and_then(|(id, _)| id.parse().ok())
                    .is_some_and(is_waiting) =>
            {
                known.push(format!("{name}={}", not_heard(Some(last), status, None)));
            }
            last => asked.extend(ask(mount.path).map(|reader| (name, last, reader))),
        }
    }
    // All were asked at once.
    let until = Instant::now() + TELL_PATIENCE;
    for (name, last, reader) in asked {
        match reader.answer(until.saturating_duration_since(Instant::now())) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let (failure, id) = without_age(&text);
                let (state, is_told) = heard(last, status, failure, id);
                known.push(format!("{name}={state}"));
                if is_told {
                    warn(failure);
                }
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                known.push(format!(
                    "{name}={}",
                    not_heard(last, status, Some(reader.leave()))
                ));
            }
            // A dead mount, or none any more.
            Err(_) => {}
        }
    }
    print(known.join(" ").as_bytes())?;
    Ok(Outcome::Done)
}

/// The process that waits, and whether a command failed meanwhile.
fn waiting(state: &str) -> Option<(&str, bool)> {
    let id = state.strip_prefix(WAITING)?;
    Some(id.strip_suffix(FAILED).map_or((id, false), |id| (id, true)))
}

/// The state of a mount that has not answered: who waits for it now, if another than before.
fn not_heard(last: Option<&str>, status: Option<i32>, process: Option<u32>) -> String {
    let (before, has_failed) = last.and_then(waiting).unwrap_or_default();
    let failed = if has_failed || status.is_some_and(|status| status != 0) {
        FAILED
    } else {
        ""
    };
    let process = process.map_or_else(|| before.to_owned(), |process| process.to_string());
    format!("{WAITING}{process}{failed}")
}

/// The state of a mount that has answered, and whether its failure is told. What could not be heard after the command that failed is told
/// after the next, whose own end does not matter then.
fn heard(last: Option<&str>, status: Option<i32>, failure: &str, id: String) -> (String, bool) {
    let (waited, Some(status)) = (last.and_then(waiting), status) else {
        return (
            last.filter(|last| waiting(last).is_some())
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

fn ask(mountpoint: PathBuf) -> Option<Reader> {
    let mut reader = Reader::start().ok()?;
    reader.ask(&mountpoint.join(LAST)).ok()?;
    Some(reader)
}

/// The lines of a failure without the last, which has its time, and what tells the failure from others: all but the age, which moves.
fn without_age(text: &str) -> (&str, String) {
    let timed = text.rsplit_once(',').map_or(text, |(timed, _)| timed);
    (
        timed.rsplit_once('\n').map_or("", |(lines, _)| lines),
        hex(&digest(timed.as_bytes())),
    )
}

/// How long a mount may take for one file or directory.
const COMPLETE_PATIENCE: Duration = Duration::from_secs(2);
/// Names that hold further names.
const DIRECTORIES: [&str; 8] = [
    "items",
    "gsi",
    "lsi",
    "partitions",
    "queries",
    "query",
    "scan",
    "batch",
];
/// Beside what names are made of: a clause's value and several of them, a directory, what is no character of its own.
const MARKS: [char; 4] = ['=', ',', '/', '%'];

/// The names that the part of `word` behind its last slash may become; none where `ls` shows all there is. No shell finds anything in
/// them but letters.
///
/// # Errors
/// `TimedOut`: the mount does not answer. Others of reading it.
pub fn names(word: &str) -> io::Result<Vec<String>> {
    let (directory, start) = word
        .rsplit_once('/')
        .map_or((".", word), |(directory, start)| (directory, start));
    let directory = if directory.is_empty() { "/" } else { directory };
    let Some((mount, inside)) = fuse::place(Path::new(directory))? else {
        return Ok(Vec::new());
    };
    let parts: Vec<String> = inside
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let mut names = names_in(&mount.path, &inside, &parts, start)?;
    names.retain(|name| name.starts_with(start) && name.split(MARKS).all(is_name));
    Ok(names)
}

/// What may stand in a directory of a mount.
fn names_in(
    root: &Path,
    directory: &Path,
    parts: &[String],
    start: &str,
) -> io::Result<Vec<String>> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [_] => Ok(directory_names(tree::names(true))),
        [_, "gsi" | "lsi", _] => Ok(directory_names(tree::names(false))),
        [_, rest @ ..]
            if let Some(at) = rest
                .iter()
                .position(|part| matches!(*part, "query" | "scan")) =>
        {
            let source = directory
                .ancestors()
                .nth(rest.len() - at)
                .unwrap_or(directory);
            clauses(&root.join(directory), &root.join(source), start)
        }
        _ => Ok(Vec::new()),
    }
}

fn directory_names(names: impl Iterator<Item = &'static str>) -> Vec<String> {
    let slash = |name: &str| if DIRECTORIES.contains(&name) { "/" } else { "" };
    names.map(|name| format!("{name}{}", slash(name))).collect()
}

/// The clauses and results that the help of a query's directory tells, and the values of a partition key once its clause is begun.
fn clauses(directory: &Path, source: &Path, start: &str) -> io::Result<Vec<String>> {
    let mut reader = Reader::start()?;
    let text = reader.read(&directory.join(HELP_NAME), COMPLETE_PATIENCE)?;
    let text = String::from_utf8_lossy(&text);
    let told = text
        .lines()
        .take_while(|line| !line.starts_with("Examples"));
    // A name begins at the third character; what belongs to it is indented further.
    let words = told.filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
    });
    let words: Vec<String> = words
        .flat_map(of_help)
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
    let names = reader.list(&source.join("items"), COMPLETE_PATIENCE)?;
    let names = names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(String::from_utf8_lossy);
    Ok(names
        .map(|name| format!("{key}={}/", name.strip_suffix(".json").unwrap_or(&name)))
        .collect())
}

/// The names in a line of the help: up to what is to be filled in.
fn of_help(line: &str) -> Vec<String> {
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
    // A path of the person's own follows.
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

/// A word, as far as it is typed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Typed {
    /// Without quotes and backslashes.
    pub text: String,
    /// As it was typed, from where readline completes it up to its last slash.
    pub directory: String,
    /// Bytes of `text` behind its last slash that readline keeps.
    pub kept: usize,
}

/// Where readline's own word begins.
#[derive(Debug, Default, Clone, Copy)]
struct Start {
    raw: usize,
    text: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// The last word of a line. `breaks`: the characters at which readline begins another one, `COMP_WORDBREAKS`.
fn last_word(line: &str, breaks: &str) -> Typed {
    let (mut text, mut quote) = (String::new(), Quote::None);
    // Of the word, of the part behind its last slash, and of what readline completes, now and outside of the open quote.
    let (mut slash, mut start, mut outside) =
        (Start::default(), Start::default(), Start::default());
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        let next = at + character.len_utf8();
        match (quote, character) {
            (Quote::None, '\\') | (Quote::Double, '\\') => {
                text.extend(characters.next().map(|(_, character)| character))
            }
            (Quote::None, '\'' | '"') => {
                quote = if character == '"' {
                    Quote::Double
                } else {
                    Quote::Single
                };
                (outside, start) = (
                    start,
                    Start {
                        raw: next,
                        text: text.len(),
                    },
                );
            }
            (Quote::Single, '\'') | (Quote::Double, '"') => (quote, start) = (Quote::None, outside),
            (Quote::None, ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>') => {
                text.clear();
                start = Start { raw: next, text: 0 };
                slash = start;
            }
            (_, '/') => {
                text.push('/');
                slash = Start {
                    raw: next,
                    text: text.len(),
                };
            }
            (Quote::None, _) if breaks.contains(character) => {
                text.push(character);
                start = Start {
                    raw: next,
                    text: text.len(),
                };
            }
            _ => text.push(character),
        }
    }
    let directory = line
        .get(start.raw..slash.raw)
        .unwrap_or_default()
        .to_owned();
    Typed {
        kept: start.text.saturating_sub(slash.text),
        directory,
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_after_a_command_that_failed_also_if_it_was_not_heard_then() {
        let check = |last: &str, status: Option<i32>, failure: &str, expected: (&str, bool)| {
            let (state, is_told) = heard(Some(last), status, failure, "new".to_owned());
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
        assert_eq!(not_heard(None, Some(1), Some(8)), "@8x");
        assert_eq!(not_heard(Some("@7x"), Some(0), Some(8)), "@8x");
        assert_eq!(not_heard(Some("@7"), Some(1), None), "@7x");
        assert_eq!(not_heard(Some("old"), Some(0), Some(8)), "@8");
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
            assert_eq!(of_help(line), expected, "{line}");
        }
    }

    #[test]
    fn quotes_and_breaks_are_those_of_bash() {
        let cases: [(&str, &str, &str, usize); 12] = [
            ("cat Pets/query/@pk=Do", "Pets/query/@pk=Do", "", 4),
            ("cat Pets/query/li", "Pets/query/li", "Pets/query/", 0),
            ("cat a@b/query/li", "a@b/query/li", "b/query/", 0),
            (r"cat my\ mnt/T/qu", "my mnt/T/qu", r"my\ mnt/T/", 0),
            ("cat 'my mnt/T/@pk=D", "my mnt/T/@pk=D", "my mnt/T/", 0),
            ("cat 'my mnt'/T/qu", "my mnt/T/qu", "'my mnt'/T/", 0),
            ("cat T/\"@pk=D", "T/@pk=D", "", 0),
            ("cat T/@pk=\"D", "T/@pk=D", "", 4),
            (r"cat T/\$\(x\)/l", "T/$(x)/l", r"T/\$\(x\)/", 0),
            ("cat <T/qu", "T/qu", "T/", 0),
            ("true;cat ", "", "", 0),
            ("cat T/x\\", "T/x", "T/", 0),
        ];
        for (line, text, directory, kept) in cases {
            let expected = Typed {
                text: text.to_owned(),
                directory: directory.to_owned(),
                kept,
            };
            assert_eq!(last_word(line, " \t\n\"'@><=;|&(:"), expected, "{line}");
        }
    }
}
