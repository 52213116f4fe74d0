//! Rules of the source text that no compiler checks: the import direction of the layers, where outside crates may be used, the
//! length of files, circles of files, the weight of layers, nothing left to be written, no paths of one machine.

// Helpers of tests may fail as tests do.
#![allow(clippy::expect_used)]

mod circles;
mod citations;
mod language;
mod requirements;
mod tokens;
mod weight;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use tokens::{Named, Token, is_word, named_paths, tokens};

/// From the bottom: a layer imports only from layers before it, and from itself. `lib.rs` and `main.rs` belong to none.
const LAYERS: [&str; 12] = [
    "model", "codec", "expr", "store", "engine", "database", "inspect", "protocol", "fs", "http",
    "fuse", "cli",
];

/// A crate and the paths that may use it.
const CONFINED: [(&str, &[&str]); 22] = [
    ("lmdb", &["src/store/lmdb"]),
    ("lmdb_sys", &["src/store/lmdb"]),
    ("lmdb_rkv_sys", &["src/store/lmdb"]),
    ("fuser", &["src/fuse/"]),
    ("hyper", &["src/http/", "src/database/remote/aws/"]),
    ("hyper_util", &["src/http/", "src/database/remote/aws/"]),
    ("hyper_rustls", &["src/database/remote/aws/"]),
    ("aws_config", &["src/database/remote/aws/"]),
    ("aws_runtime", &["src/database/remote/aws/"]),
    ("aws_sdk_sts", &["src/database/remote/aws/"]),
    ("ring", &["src/database/remote/aws/"]),
    ("rustls", &["src/database/remote/aws/"]),
    ("aws_credential_types", &["src/database/remote/aws/"]),
    ("aws_sigv4", &["src/database/remote/aws/"]),
    ("aws_smithy_http_client", &["src/database/remote/aws/"]),
    ("aws_smithy_runtime_api", &["src/database/remote/aws/"]),
    ("aws_types", &["src/database/remote/aws/"]),
    ("notify", &["src/store/lmdb/", "src/fuse/"]),
    ("clap", &["src/cli/"]),
    ("clap_complete", &["src/cli/"]),
    ("clap_mangen", &["src/cli/"]),
    ("ratatui", &["src/cli/top/"]),
];

/// Without the tests at the end.
const FILE_LINES_MAX: usize = 900;

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
    tokens: OnceLock<Vec<Token>>,
}

impl Source {
    fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            text: text.into(),
            tokens: OnceLock::new(),
        }
    }

    fn tokens(&self) -> &[Token] {
        self.tokens.get_or_init(|| tokens(&self.text))
    }

    fn finding(&self, line: usize, advice: String) -> Finding {
        Finding {
            file: self.file.clone(),
            line,
            advice,
        }
    }

    /// True for a file of nothing but tests.
    fn is_tests(&self) -> bool {
        self.file.ends_with("tests.rs") || self.file.contains("/tests/")
    }

    /// The modules the file is in: `["store", "lmdb"]` for `src/store/lmdb.rs`.
    fn modules(&self) -> Vec<&str> {
        let inner = self.file.trim_start_matches("src/").trim_end_matches(".rs");
        inner
            .split('/')
            .filter(|part| !matches!(*part, "mod" | "lib" | "main"))
            .collect()
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
            let file = path
                .strip_prefix(&root)
                .expect("below the package")
                .to_string_lossy();
            found.push(Source::new(
                file,
                fs::read_to_string(&path).unwrap_or_default(),
            ));
        }
    }
    found.sort_by(|one, two| one.file.cmp(&two.file));
    found
}

/// The sources of the product, read once.
fn rust_sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        files("src", &|path| {
            path.extension().is_some_and(|end| end == "rs")
        })
    });
    assert!(SOURCES.len() > 20, "the sources are not where they were");
    &SOURCES
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

/// The files of the tests that sleep: the one by which tests wait, and a service that is slow.
const WAIT: &str = "tests/support/wait.rs";
const SLOW_SERVICE: &str = "tests/support/proxy.rs";

/// Where a moment may pass: what is tested there is itself a matter of time.
const MOMENTS: [&str; 7] = [
    "tests/mount/coherence/",
    "tests/mount/scratch_files.rs",
    "tests/store/crash",
    "tests/store/lease.rs",
    "tests/store/power_cut.rs",
    "tests/store/table_processes.rs",
    "tests/support/watchdog.rs",
];

/// True if a line calls a function of that name.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let is_whole =
            !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        is_whole && line[at + name.len()..].starts_with('(')
    })
}

#[test]
fn tests_wait_for_facts() {
    let mut findings = Vec::new();
    for source in files("tests", &|path| {
        path.extension().is_some_and(|end| end == "rs")
    }) {
        for (number, line) in source
            .text
            .lines()
            .enumerate()
            .filter(|_| source.file != WAIT)
        {
            if calls(line, "sleep") && source.file != SLOW_SERVICE {
                findings.push(source.finding(
                    number + 1,
                    format!("wait for a fact by a function of {WAIT}"),
                ));
            }
            if calls(line, "moment")
                && !MOMENTS
                    .iter()
                    .any(|allowed| source.file.starts_with(allowed))
            {
                findings.push(source.finding(
                    number + 1,
                    "wait for a fact, not for time to pass".to_owned(),
                ));
            }
        }
    }
    report(&findings);
}

#[test]
fn layers_import_only_from_below() {
    let mut findings = Vec::new();
    for source in rust_sources() {
        let modules = source.modules();
        let Some(own) = modules
            .first()
            .and_then(|top| LAYERS.iter().position(|layer| layer == top))
        else {
            continue;
        };
        for named in named_paths(source.tokens()) {
            let Some(used) = layer_of(&named.path, &modules).filter(|used| *used > own) else {
                continue;
            };
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
    let declared = tokens
        .windows(2)
        .filter(|pair| pair[0].text == "mod")
        .map(|pair| pair[1].text.clone());
    let inside = |named: &&Named| {
        named.import.is_some() && matches!(named.path[0].as_str(), "crate" | "super" | "self")
    };
    let imported = paths
        .iter()
        .filter(|named| !named.path.is_empty())
        .filter(inside)
        .filter_map(|named| named.path.last().cloned());
    declared.chain(imported).collect()
}

#[test]
fn outside_crates_stay_where_they_belong() {
    let mut findings = Vec::new();
    for source in rust_sources() {
        let paths = named_paths(source.tokens());
        let own = own_modules(source.tokens(), &paths);
        for named in &paths {
            let Some((name, homes)) = CONFINED
                .iter()
                .find(|(name, _)| named.path.first().is_some_and(|first| first == name))
            else {
                continue;
            };
            if own.contains(*name) || homes.iter().any(|home| source.file.starts_with(home)) {
                continue;
            }
            let advice = format!(
                "{name} may be used only under {}: put a function there and call it",
                homes.join(", ")
            );
            findings.push(source.finding(named.line, advice));
        }
    }
    report(&findings);
}

#[test]
fn files_stay_short() {
    let mut findings = Vec::new();
    for source in rust_sources().iter().filter(|source| !source.is_tests()) {
        let lines: Vec<&str> = source.text.lines().collect();
        let tests = lines
            .windows(2)
            .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "));
        let length = tests.unwrap_or(lines.len());
        if length > FILE_LINES_MAX {
            let advice = format!(
                "{length} lines without tests, at most {FILE_LINES_MAX}: split it by what it does"
            );
            findings.push(source.finding(length, advice));
        }
    }
    report(&findings);
}

#[test]
fn nothing_is_left_to_be_written() {
    let mut findings = Vec::new();
    for source in rust_sources() {
        for pair in source.tokens().windows(2) {
            if matches!(pair[0].text.as_str(), "todo" | "unimplemented") && pair[1].text == "!" {
                findings.push(source.finding(
                    pair[0].line,
                    format!("write what {}! stands for", pair[0].text),
                ));
            }
        }
    }
    report(&findings);
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let is_text = |path: &Path| !path.ends_with("tests/tidy/main.rs");
    let tops = [
        "src",
        "tests",
        "scripts",
        "benches",
        "docs",
        "README.md",
        "CONTRIBUTING.md",
        "Cargo.toml",
        ".ci",
    ];
    let mut findings = Vec::new();
    for source in tops.iter().flat_map(|top| files(top, &is_text)) {
        for (number, line) in source.text.lines().enumerate() {
            for start in ["/home/", "/work/", "/root/", "/Users/"] {
                let absolute = line.match_indices(start).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|character| {
                        !is_word(character) && !matches!(character, '.' | '}' | '/' | '>' | '*')
                    })
                });
                if absolute {
                    let advice = format!(
                        "{start}… is a path of one machine: take it from the environment or the package's place"
                    );
                    findings.push(source.finding(number + 1, advice));
                }
            }
        }
    }
    report(&findings);
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
