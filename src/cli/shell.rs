//! `ddbfs shell`: what an interactive shell takes in with `eval`: failures told after each command, completions of commands, tables
//! and query paths. The scripts are in `shell/`; they ask this command for what is to be completed.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::data_dir::{self, DataArgs};
use super::outcome::{CliError, Outcome, print};
use crate::database::Browse as _;
use crate::fs::path::{HELP_NAME, SERVICE_NAME};
use crate::fs::tree;

/// Key values offered at most, of the first that a directory lists.
const VALUES_MAX: usize = 1_000;
/// Names that hold further names.
const DIRECTORIES: [&str; 8] = ["items", "gsi", "lsi", "partitions", "queries", "query", "scan", "batch"];

/// Clauses without a value.
const WORDS: [&str; 5] = ["desc", "asc", "live", "consistent", "typed"];

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
    #[arg(required_unless_present_any = ["complete", "tables"])]
    shell: Option<Interactive>,
    /// What a word may become that names a file in a mount
    #[arg(long, value_name = "WORD", hide = true)]
    complete: Option<String>,
    /// The names of the tables
    #[arg(long, hide = true)]
    tables: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// `program`: the definition of the commands, for what completes them.
pub fn run(args: &ShellArgs, program: clap::Command) -> Result<Outcome, CliError> {
    if let Some(word) = &args.complete {
        let lines: String = completions_of(word).iter().map(|name| format!("{name}\n")).collect();
        print(lines.as_bytes())?;
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
            let commands = commands.replace(":table -- The table:_default", ":table -- The table:__ddbfs_tables");
            format!("(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit -D }}\n{commands}{hook}")
        }
        Interactive::Bash | Interactive::Fish => format!("{commands}{hook}"),
    }
}

/// A line for each.
fn table_names(data: &DataArgs) -> Result<String, CliError> {
    let opened = data_dir::open(data)?;
    let names = opened.database.table_names();
    opened.close();
    Ok(names?.iter().map(|name| format!("{name}\n")).collect())
}

/// The words that `word`, the path of a file in a mount as far as it is typed, may become; none where `ls` shows all there is.
fn completions_of(word: &str) -> Vec<String> {
    let (directory, start) = word.rsplit_once('/').map_or(("", word), |(directory, start)| (directory, start));
    let place = if directory.is_empty() { PathBuf::from(".") } else { PathBuf::from(directory) };
    let names = place_in_mount(&place).map(|parts| names_in(&place, &parts, start)).unwrap_or_default();
    let prefix = word.strip_suffix(start).unwrap_or_default();
    names.into_iter().filter(|name| name.starts_with(start)).map(|name| format!("{prefix}{name}")).collect()
}

/// The names on the way from the root of a mount to a directory in it.
fn place_in_mount(directory: &Path) -> Option<Vec<String>> {
    // Names of clauses are no files that could be made canonical; those above them are.
    let absolute = std::path::absolute(directory).ok()?;
    let root = absolute.ancestors().find(|above| above.join(SERVICE_NAME).join("version").exists())?;
    let parts = absolute.strip_prefix(root).ok()?.iter().map(|part| part.to_string_lossy().into_owned());
    Some(parts.collect())
}

/// What may stand in a directory of a mount.
fn names_in(directory: &Path, parts: &[String], start: &str) -> Vec<String> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [_] => directory_names(tree::table_names()),
        [_, "gsi" | "lsi", _] => directory_names(tree::index_names()),
        [_, rest @ ..] if let Some(at) = rest.iter().position(|part| matches!(*part, "query" | "scan")) => {
            let above = directory.ancestors().nth(rest.len() - at);
            clauses(directory, above.unwrap_or(directory), start)
        }
        _ => Vec::new(),
    }
}

fn directory_names(names: impl Iterator<Item = &'static str>) -> Vec<String> {
    let slash = |name: &str| if DIRECTORIES.contains(&name) { "/" } else { "" };
    names.map(|name| format!("{name}{}", slash(name))).collect()
}

/// The clauses and results that the help of a query's directory tells, and the values of a partition key once its clause is begun.
fn clauses(directory: &Path, source: &Path, start: &str) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join(HELP_NAME)).unwrap_or_default();
    let told = text.lines().take_while(|line| !line.starts_with("Examples"));
    // A name begins at the third character; what belongs to it is indented further.
    let words = told.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let words: Vec<String> = words.flat_map(of_help).collect();
    let Some((key, _)) = start.split_once('=') else { return words };
    let is_partition = key == "@pk" || words.first().is_some_and(|first| first.strip_suffix('=') == Some(key));
    let names = std::fs::read_dir(source.join("items")).into_iter().flatten().map_while(Result::ok).take(VALUES_MAX);
    let values = names.filter(|_| is_partition).map(|name| name.file_name().to_string_lossy().into_owned());
    values.map(|name| format!("{key}={}/", name.strip_suffix(".json").unwrap_or(&name))).collect()
}

/// The names in a line of the help: up to what is to be filled in.
fn of_help(line: &str) -> Vec<String> {
    let names = line.split("  ").next().unwrap_or_default().split(' ').map(|name| name.trim_end_matches(','));
    let names = names.map(|name| match name.split_once('=') {
        Some((clause, _)) => format!("{}=", clause.split('[').next().unwrap_or_default()),
        None => name.to_owned(),
    });
    // A path of the person's own follows.
    let names = names.map(|name| name.split('<').next().unwrap_or_default().to_owned());
    let names = names.filter(|name| !name.is_empty() && name != "ls" && name != "…");
    names.map(|name| if WORDS.contains(&name.as_str()) { format!("{name}/") } else { name }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_help() {
        for (line, expected) in [
            ("GameTitle=<string>                 the partition key, needed", vec!["GameTitle="]),
            ("@pk.shards=<prefix>,<m>,<n>        all of", vec!["@pk.shards="]),
            ("desc, asc                          order", vec!["desc/", "asc/"]),
            ("where.<path>.<op>[=<value>]        a filter", vec!["where."]),
            ("items.ndjson            an item a line", vec!["items.ndjson"]),
            ("count                   how many", vec!["count"]),
            ("consistent                         consistent read", vec!["consistent/"]),
        ] {
            assert_eq!(of_help(line), expected, "{line}");
        }
    }
}
