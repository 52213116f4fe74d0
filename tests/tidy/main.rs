//! Rules of the source text that no compiler checks: the import direction of the layers, where outside crates may be used, the
//! length of files, nothing left to be written, no paths of one machine.
//!
//! Paths are read from tokens, `use` trees included; comments and literals don't count.

// Helpers of tests may fail as tests do.
#![allow(clippy::expect_used)]

mod citations;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom: a layer imports only from layers before it, and from itself. `lib.rs` and `main.rs` belong to none.
const LAYERS: [&str; 12] =
    ["model", "codec", "expr", "store", "engine", "database", "inspect", "protocol", "fs", "http", "fuse", "cli"];

/// A crate and the paths that may use it.
const CONFINED: [(&str, &[&str]); 10] = [
    ("lmdb", &["src/store/lmdb"]),
    ("lmdb_sys", &["src/store/lmdb"]),
    ("lmdb_rkv_sys", &["src/store/lmdb"]),
    ("fuser", &["src/fuse/"]),
    ("hyper", &["src/http/"]),
    ("hyper_util", &["src/http/"]),
    ("notify", &["src/store/lmdb/watch.rs", "src/fuse/"]),
    ("clap", &["src/cli/"]),
    ("clap_complete", &["src/cli/"]),
    ("clap_mangen", &["src/cli/"]),
];

/// Without the tests at the end.
const FILE_LINES_MAX: usize = 600;

/// Where a rule is broken and what to do.
struct Finding {
    file: String,
    line: usize,
    advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.advice)
    }
}

fn report(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", lines.join("\n"));
}

/// A source file, relative to the package.
struct Source {
    file: String,
    text: String,
}

impl Source {
    fn finding(&self, line: usize, advice: String) -> Finding {
        Finding { file: self.file.clone(), line, advice }
    }

    /// The modules the file is in: `["store", "lmdb"]` for `src/store/lmdb.rs`.
    fn modules(&self) -> Vec<&str> {
        let inner = self.file.trim_start_matches("src/").trim_end_matches(".rs");
        inner.split('/').filter(|part| !matches!(*part, "mod" | "lib" | "main")).collect()
    }
}

/// Every file below `top` that `keep` accepts, in order of path.
fn files(top: &str, keep: &dyn Fn(&Path) -> bool) -> Vec<Source> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut waiting = vec![root.join(top)];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a readable directory");
            waiting.extend(entries.map(|entry| entry.expect("a readable entry").path()));
        } else if path.is_file() && keep(&path) {
            let file = path.strip_prefix(&root).expect("below the package").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap_or_default();
            found.push(Source { file, text });
        }
    }
    found.sort_by(|one, two| one.file.cmp(&two.file));
    found
}

fn rust_sources() -> Vec<Source> {
    let sources = files("src", &|path| path.extension().is_some_and(|extension| extension == "rs"));
    assert!(sources.len() > 20, "the sources are not where they were");
    sources
}

/// A word or a punctuation mark (`::` is one mark), with its line from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    text: String,
    line: usize,
}

/// The tokens of Rust source without comments, lifetimes and literals.
fn tokens(source: &str) -> Vec<Token> {
    let characters: Vec<char> = source.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < characters.len() {
        let (text, next) = token_at(&characters, at);
        if let Some(text) = text {
            out.push(Token { text, line });
        }
        line += characters[at..next].iter().filter(|&&character| character == '\n').count();
        at = next;
    }
    out
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The token at `at`, if it counts, and the place behind it.
fn token_at(text: &[char], at: usize) -> (Option<String>, usize) {
    let is = |offset: usize, wanted: char| text.get(at + offset) == Some(&wanted);
    let first = text[at];
    if first == '/' && is(1, '/') {
        return (None, (at..text.len()).find(|&i| text[i] == '\n').unwrap_or(text.len()));
    }
    if first == '/' && is(1, '*') {
        return (None, after_block_comment(text, at));
    }
    if first == '"' {
        return (None, after_string(text, at));
    }
    if first == '\'' {
        return (None, after_quote(text, at));
    }
    if is_word(first) {
        let end = (at..text.len()).find(|&i| !is_word(text[i])).unwrap_or(text.len());
        let word: String = text[at..end].iter().collect();
        if matches!(word.as_str(), "r" | "br" | "cr")
            && let Some(end) = after_raw_string(text, end)
        {
            return (None, end);
        }
        return (Some(word), end);
    }
    if first == ':' && is(1, ':') {
        return (Some("::".to_owned()), at + 2);
    }
    ((!first.is_whitespace()).then(|| first.to_string()), at + 1)
}

fn after_block_comment(text: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn after_string(text: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// Behind a character literal, or behind the quote of a lifetime.
fn after_quote(text: &[char], start: usize) -> usize {
    match (text.get(start + 1), text.get(start + 2)) {
        (Some('\\'), _) => {
            let from = (start + 3).min(text.len());
            (from..text.len()).find(|&i| text[i] == '\'').map_or(text.len(), |end| end + 1)
        }
        (Some(_), Some('\'')) => start + 3,
        _ => start + 1,
    }
}

/// Behind `#"…"#` with any number of signs, if that is what stands there.
fn after_raw_string(text: &[char], start: usize) -> Option<usize> {
    let signs = text[start..].iter().take_while(|&&character| character == '#').count();
    if text.get(start + signs) != Some(&'"') {
        return None;
    }
    let closes = |i: &usize| text[*i] == '"' && text[i + 1..].iter().take(signs).filter(|&&c| c == '#').count() == signs;
    let end = (start + signs + 1..text.len()).find(closes)?;
    Some(end + 1 + signs)
}

/// A path as the source spells it, `use` trees taken apart: `use a::{b, c::d}` is `a::b` and `a::c::d`.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    path: Vec<String>,
    line: usize,
    imported: bool,
}

fn named_paths(tokens: &[Token]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].text == "use" && tokens.get(at + 1).is_some_and(|next| next.text != "<") {
            at = use_tree(tokens, at + 1, &[], &mut found);
            continue;
        }
        let (path, next) = plain_path(tokens, at);
        if path.len() > 1 {
            found.push(Named { path, line: tokens[at].line, imported: false });
        }
        at = next.max(at + 1);
    }
    found
}

/// `a::b::c` at `at`, and the place behind it.
fn plain_path(tokens: &[Token], at: usize) -> (Vec<String>, usize) {
    let word = |i: usize| tokens.get(i).filter(|token| token.text.chars().all(is_word)).map(|token| token.text.clone());
    let mut path: Vec<String> = word(at).into_iter().collect();
    let mut next = at + path.len();
    while !path.is_empty() && tokens.get(next).is_some_and(|token| token.text == "::") {
        let Some(more) = word(next + 1) else { break };
        path.push(more);
        next += 2;
    }
    (path, next)
}

/// A `use` tree below `prefix`; returns the place of what ends it.
fn use_tree(tokens: &[Token], start: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let at = start + usize::from(tokens.get(start).is_some_and(|token| token.text == "::"));
    let (path, mut next) = plain_path(tokens, at);
    let path = [prefix, &path].concat();
    if tokens.get(next).is_some_and(|token| token.text == "::") {
        next += 1;
    }
    if tokens.get(next).is_none_or(|token| token.text != "{") {
        found.push(Named { path, line: tokens.get(at).map_or(0, |token| token.line), imported: true });
        let ends = |token: &Token| matches!(token.text.as_str(), ";" | "," | "}");
        return (next..tokens.len()).find(|&i| ends(&tokens[i])).unwrap_or(tokens.len());
    }
    loop {
        next = use_tree(tokens, next + 1, &path, found);
        match tokens.get(next).map(|token| token.text.as_str()) {
            Some(",") if tokens.get(next + 1).is_none_or(|token| token.text != "}") => {}
            Some(",") => return next + 2,
            _ => return next + 1,
        }
    }
}

/// The layer that a path leads into from a file in `modules`.
fn layer_of(path: &[String], modules: &[&str]) -> Option<usize> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let top = match path.first()?.as_str() {
        "crate" | "ddbfs" => path.get(1),
        "super" if ups >= modules.len() => path.get(ups),
        _ => None,
    }?;
    LAYERS.iter().position(|layer| layer == top)
}

#[test]
fn layers_import_only_from_below() {
    let mut findings = Vec::new();
    for source in rust_sources() {
        let modules = source.modules();
        let Some(own) = modules.first().and_then(|top| LAYERS.iter().position(|layer| layer == top)) else { continue };
        for named in named_paths(&tokens(&source.text)) {
            let Some(used) = layer_of(&named.path, &modules).filter(|used| *used > own) else { continue };
            let advice = format!(
                "{} is below {}: move what is shared down, or pass it in from above ({})",
                LAYERS[own],
                LAYERS[used],
                named.path.join("::")
            );
            findings.push(source.finding(named.line, advice));
        }
    }
    report(&findings);
}

/// Names that a file gives to modules of this package: `mod lmdb;`, `use crate::store::lmdb;`.
fn own_modules(tokens: &[Token], paths: &[Named]) -> BTreeSet<String> {
    let declared = tokens.windows(2).filter(|pair| pair[0].text == "mod").map(|pair| pair[1].text.clone());
    let inside = |named: &&Named| named.imported && matches!(named.path[0].as_str(), "crate" | "super" | "self");
    let imported =
        paths.iter().filter(|named| !named.path.is_empty()).filter(inside).filter_map(|named| named.path.last().cloned());
    declared.chain(imported).collect()
}

#[test]
fn outside_crates_stay_where_they_belong() {
    let mut findings = Vec::new();
    for source in rust_sources() {
        let tokens = tokens(&source.text);
        let paths = named_paths(&tokens);
        let own = own_modules(&tokens, &paths);
        for named in &paths {
            let Some((name, homes)) = CONFINED.iter().find(|(name, _)| named.path.first().is_some_and(|first| first == name))
            else {
                continue;
            };
            if own.contains(*name) || homes.iter().any(|home| source.file.starts_with(home)) {
                continue;
            }
            let advice = format!("{name} may be used only under {}: put a function there and call it", homes.join(", "));
            findings.push(source.finding(named.line, advice));
        }
    }
    report(&findings);
}

#[test]
fn files_stay_short() {
    let mut findings = Vec::new();
    for source in rust_sources().into_iter().filter(|source| !source.file.ends_with("tests.rs") && !source.file.contains("/tests/"))
    {
        let lines: Vec<&str> = source.text.lines().collect();
        let tests = lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "));
        let length = tests.unwrap_or(lines.len());
        if length > FILE_LINES_MAX {
            let advice = format!("{length} lines without tests, at most {FILE_LINES_MAX}: split it by what it does");
            findings.push(source.finding(length, advice));
        }
    }
    report(&findings);
}

#[test]
fn nothing_is_left_to_be_written() {
    let mut findings = Vec::new();
    for source in rust_sources() {
        for pair in tokens(&source.text).windows(2) {
            if matches!(pair[0].text.as_str(), "todo" | "unimplemented") && pair[1].text == "!" {
                findings.push(source.finding(pair[0].line, format!("write what {}! stands for", pair[0].text)));
            }
        }
    }
    report(&findings);
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let is_text = |path: &Path| !path.ends_with("tests/tidy/main.rs");
    let tops = ["src", "tests", "scripts", "benches", "docs", "README.md", "CONTRIBUTING.md", "Cargo.toml", ".ci"];
    let mut findings = Vec::new();
    for source in tops.iter().flat_map(|top| files(top, &is_text)) {
        for (number, line) in source.text.lines().enumerate() {
            for start in ["/home/", "/work/", "/root/", "/Users/"] {
                let absolute = line.match_indices(start).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|character| !is_word(character) && !matches!(character, '.' | '}' | '/' | '>' | '*'))
                });
                if absolute {
                    let advice = format!("{start}… is a path of one machine: take it from the environment or the package's place");
                    findings.push(source.finding(number + 1, advice));
                }
            }
        }
    }
    report(&findings);
}

/// The paths in a source, as text.
fn check_paths(source: &str, expected: &[&str]) {
    let found: Vec<String> = named_paths(&tokens(source)).iter().map(|named| named.path.join("::")).collect();
    assert_eq!(found, expected, "{source}");
}

#[test]
fn paths_are_read_from_tokens() {
    check_paths("use crate::fs::Node;", &["crate::fs::Node"]);
    check_paths("use crate::{fs::{self, Node}, model::*}; a::b()", &["crate::fs::self", "crate::fs::Node", "crate::model", "a::b"]);
    check_paths("use a as b; pub use c::d as e;", &["a", "c::d"]);
    check_paths("use ::fuser::{A, B,};x::y", &["fuser::A", "fuser::B", "x::y"]);
    check_paths("// crate::fs::x\n/* crate::fs /* y */ */ \"crate::fs \\\" \" r#\"crate::fs\"# 'a' '\\'' &'a str", &[]);
    check_paths("let x: &'static crate::fs::T = crate::fs::make::<u8>();", &["crate::fs::T", "crate::fs::make"]);
    check_paths("super::super::fs::x(b\"a::b\", '\"', \"c::d\")", &["super::super::fs::x"]);
    assert_eq!(tokens("a\n\"\n\n\"\nb").last().map(|token| token.line), Some(5));
}

#[test]
fn layers_are_found_in_paths() {
    let layer = |path: &str, modules: &[&str]| {
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        layer_of(&path, modules).map(|layer| LAYERS[layer])
    };
    assert_eq!(layer("crate::fs::Node", &["codec"]), Some("fs"));
    assert_eq!(layer("super::super::fs", &["codec", "key"]), Some("fs"));
    assert_eq!(layer("super::fs", &["codec", "key"]), None);
    assert_eq!(layer("std::fs::read", &["codec"]), None);
    assert_eq!(layer("ddbfs::cli::run", &[]), Some("cli"));
}

/// Each row of the table of requirements names tests as `file: name; file: name`.
#[test]
fn the_table_of_requirements_names_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("tests/REQUIREMENTS.md")).expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| id "))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(rows.len() > 200, "the table has only {} rows", rows.len());
    let mut wrong = Vec::new();
    let tested = rows.iter().filter(|row| row.get(2) == Some(&"tested"));
    for (id, shown) in tested.filter_map(|row| Some((row.first()?, row.get(3)?))) {
        for test in shown.split("; ") {
            let (file, name) = test.split_once(": ").unwrap_or((test, ""));
            let name = name.split(' ').next().unwrap_or_default();
            let source = fs::read_to_string(root.join(file)).unwrap_or_default();
            if name.is_empty() || !source.contains(&format!("fn {name}(")) {
                wrong.push(format!("{id}: there is no test {test}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
