//! Parser of the files of `tests/vectors`; their syntax is in `tests/vectors/README.md`.

use std::fs;
use std::path::{Path, PathBuf};

/// A request and its expected result.
#[derive(Debug)]
pub struct Vector {
    pub line: usize,
    pub operation: String,
    pub request: String,
    pub expected: String,
}

/// Vectors that share a service, in order.
#[derive(Debug, Default)]
pub struct Section {
    pub title: String,
    pub vectors: Vec<Vector>,
}

/// A file: the commands before each section, and the sections.
#[derive(Debug, Default)]
pub struct Script {
    names: Vec<(String, String)>,
    pub sections: Vec<Section>,
}

impl Script {
    pub fn parse(text: &str) -> Self {
        let mut script = Self {
            sections: vec![Section::default()],
            ..Self::default()
        };
        for (number, line) in text.lines().enumerate() {
            script.line(number + 1, line);
        }
        script
    }

    fn line(&mut self, number: usize, line: &str) {
        let section = self.sections.last_mut().expect("one section at least");
        let open = section
            .vectors
            .last_mut()
            .filter(|vector| vector.expected.is_empty());
        if let Some(title) = line.strip_prefix("## ") {
            assert!(
                open.is_none(),
                "line {number}: the request before has no =>"
            );
            self.sections.push(Section {
                title: title.to_owned(),
                vectors: Vec::new(),
            });
        } else if let Some(definition) = line.strip_prefix("let ") {
            let (name, text) = definition
                .split_once(' ')
                .unwrap_or_else(|| panic!("line {number}: let NAME text"));
            self.names.push((format!("${name}"), self.expand(text)));
        } else if let Some(expected) = line.strip_prefix("=> ") {
            let expected = self.expand(expected);
            let section = self.sections.last_mut().expect("one section at least");
            let vector = section
                .vectors
                .last_mut()
                .unwrap_or_else(|| panic!("line {number}: nothing was asked"));
            assert!(vector.expected.is_empty(), "line {number}: a second answer");
            vector.expected = expected;
        } else if line.trim().is_empty() || line.starts_with('#') {
        } else if let Some(vector) = open {
            vector.request.push_str(line);
        } else {
            let (operation, request) = line
                .split_once(' ')
                .unwrap_or_else(|| panic!("line {number}: Operation and JSON"));
            let (operation, request) = (operation.to_owned(), request.to_owned());
            section.vectors.push(Vector {
                line: number,
                operation,
                request,
                expected: String::new(),
            });
        }
    }

    /// Replaces names and repetitions, the longest name first.
    pub fn expand(&self, text: &str) -> String {
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        repeated(&names.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(name.as_str(), value)
        }))
    }
}

/// Expands `${text*count}` to `text` repeated.
pub fn repeated(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let end = after
            .char_indices()
            .find_map(|(at, _)| count_at(&after[at..]).map(|(count, length)| (at, count, length)));
        let (at, count, length) =
            end.unwrap_or_else(|| panic!("${{text*count}} has no end: {after:.80}"));
        out.push_str(before);
        out.push_str(&after[..at].repeat(count));
        rest = &after[at + length..];
    }
    out.push_str(rest);
    out
}

/// Parses `*count}` at the start; returns the count, and its length.
fn count_at(text: &str) -> Option<(usize, usize)> {
    let (digits, _) = text.strip_prefix('*')?.split_once('}')?;
    Some((digits.parse().ok()?, digits.len() + 2))
}

/// Returns the files, by name.
pub fn files() -> Vec<PathBuf> {
    files_of("tests/vectors", "vectors")
}

/// Returns the files of a folder of the package with this ending, by name.
pub fn files_of(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == ending)
    });
    files.sort();
    assert!(!files.is_empty(), "{ending} files");
    files
}
