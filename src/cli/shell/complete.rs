//! What a word may become that names a file in a mount: names that `ls` does not show. A directory is of a mount by the list of mounts
//! alone, and the mount is read by a process that can be left.

use std::io;

use crate::cli::prelude::*;
use crate::cli::reader::Reader;
use crate::codec::file_name::is_name;
use crate::fs::path::HELP_NAME;
use crate::fs::query::is_word;
use crate::fs::tree;
use crate::fuse;

/// How long a mount may take for one file or directory.
const PATIENCE: Duration = Duration::from_secs(2);
/// Names that hold further names.
const DIRECTORIES: [&str; 8] = ["items", "gsi", "lsi", "partitions", "queries", "query", "scan", "batch"];
/// Beside what names are made of: a clause's value and several of them, a directory, what is no character of its own.
const MARKS: [char; 4] = ['=', ',', '/', '%'];

/// The names that the part of `word` behind its last slash may become; none where `ls` shows all there is. No shell finds anything in
/// them but letters.
///
/// # Errors
/// `TimedOut`: the mount does not answer. Others of reading it.
pub fn names(word: &str) -> io::Result<Vec<String>> {
    let (directory, start) = word.rsplit_once('/').map_or((".", word), |(directory, start)| (directory, start));
    let directory = if directory.is_empty() { "/" } else { directory };
    let Some((mount, inside)) = fuse::place(Path::new(directory))? else { return Ok(Vec::new()) };
    let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let mut names = names_in(&mount.path, &inside, &parts, start)?;
    names.retain(|name| name.starts_with(start) && name.split(MARKS).all(is_name));
    Ok(names)
}

/// What may stand in a directory of a mount.
fn names_in(root: &Path, directory: &Path, parts: &[String], start: &str) -> io::Result<Vec<String>> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [_] => Ok(directory_names(tree::names(true))),
        [_, "gsi" | "lsi", _] => Ok(directory_names(tree::names(false))),
        [_, rest @ ..] if let Some(at) = rest.iter().position(|part| matches!(*part, "query" | "scan")) => {
            let source = directory.ancestors().nth(rest.len() - at).unwrap_or(directory);
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
    let text = reader.read(&directory.join(HELP_NAME), PATIENCE)?;
    let text = String::from_utf8_lossy(&text);
    let told = text.lines().take_while(|line| !line.starts_with("Examples"));
    // A name begins at the third character; what belongs to it is indented further.
    let words = told.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let words: Vec<String> = words.flat_map(of_help).chain([HELP_NAME.to_owned()]).collect();
    let Some((key, _)) = start.split_once('=') else { return Ok(words) };
    let is_partition = key == "@pk" || words.first().is_some_and(|first| first.strip_suffix('=') == Some(key));
    if !is_partition {
        return Ok(Vec::new());
    }
    let names = reader.list(&source.join("items"), PATIENCE)?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(String::from_utf8_lossy);
    Ok(names.map(|name| format!("{key}={}/", name.strip_suffix(".json").unwrap_or(&name))).collect())
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
    names.map(|name| if is_word(&name) { format!("{name}/") } else { name }).collect()
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
