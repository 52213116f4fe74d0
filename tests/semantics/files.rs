//! Vectors read from the files of `tests/vectors`, which a person can extend; `tests/vectors/README.md` says how they are written.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Service, expected_text, parse};

/// A request and what it must come to.
#[derive(Debug)]
struct Vector {
    line: usize,
    operation: String,
    request: String,
    expected: String,
}

/// Vectors that share a service, in order.
#[derive(Debug, Default)]
struct Section {
    title: String,
    vectors: Vec<Vector>,
}

/// A file: what is done before each section, and the sections.
#[derive(Debug, Default)]
struct Script {
    names: Vec<(String, String)>,
    sections: Vec<Section>,
}

impl Script {
    fn parse(text: &str) -> Self {
        let mut script = Self { sections: vec![Section::default()], ..Self::default() };
        for (number, line) in text.lines().enumerate() {
            script.line(number + 1, line);
        }
        script
    }

    fn line(&mut self, number: usize, line: &str) {
        let section = self.sections.last_mut().expect("one section at least");
        let open = section.vectors.last_mut().filter(|vector| vector.expected.is_empty());
        if let Some(title) = line.strip_prefix("## ") {
            assert!(open.is_none(), "line {number}: the request before has no =>");
            self.sections.push(Section { title: title.to_owned(), vectors: Vec::new() });
        } else if let Some(definition) = line.strip_prefix("let ") {
            let (name, text) = definition.split_once(' ').unwrap_or_else(|| panic!("line {number}: let NAME text"));
            self.names.push((format!("${name}"), self.expand(text)));
        } else if let Some(expected) = line.strip_prefix("=> ") {
            let expected = self.expand(expected);
            let section = self.sections.last_mut().expect("one section at least");
            let vector = section.vectors.last_mut().unwrap_or_else(|| panic!("line {number}: nothing was asked"));
            assert!(vector.expected.is_empty(), "line {number}: a second answer");
            vector.expected = expected;
        } else if line.trim().is_empty() || line.starts_with('#') {
        } else if let Some(vector) = open {
            vector.request.push_str(line);
        } else {
            let (operation, request) = line.split_once(' ').unwrap_or_else(|| panic!("line {number}: Operation and JSON"));
            let (operation, request) = (operation.to_owned(), request.to_owned());
            section.vectors.push(Vector { line: number, operation, request, expected: String::new() });
        }
    }

    /// Names and repetitions replaced, the longest name first.
    fn expand(&self, text: &str) -> String {
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        repeated(&names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name.as_str(), value)))
    }

    fn run(&self) -> Vec<String> {
        let (before, sections) = self.sections.split_first().expect("one section at least");
        let mut faults = Vec::new();
        for section in sections {
            let service = Service::new();
            let vectors = before.vectors.iter().chain(&section.vectors);
            faults.extend(vectors.filter_map(|vector| self.fault(&service, &section.title, vector)));
        }
        faults
    }

    fn fault(&self, service: &Service, title: &str, vector: &Vector) -> Option<String> {
        let request = self.expand(&vector.request);
        let found = answer(service, &vector.operation, &request);
        let expected = vector.expected.as_str();
        let alike = if expected.starts_with('{') {
            serde_json::from_str(&found).is_ok_and(|found: Value| contains(&found, &parse(expected)))
        } else {
            let expected = expected_text(expected);
            let found = if found.starts_with('{') { "OK" } else { found.as_str() };
            expected.strip_prefix('~').map_or(found == expected, |part| found.contains(part))
        };
        let shown = |text: &str| text.chars().take(1500).collect::<String>();
        (!alike).then(|| {
            let (request, found, expected) = (shown(&request), shown(&found), shown(expected));
            format!("{title}, line {}: {} {request}\n   found: {found}\nexpected: {expected}", vector.line, vector.operation)
        })
    }
}

/// The body of a success, or an error as [`Service::outcome`] writes it. The request goes out as it is written, so that it need not be JSON.
fn answer(service: &Service, operation: &str, request: &str) -> String {
    let answer = service.raw(operation, request);
    if answer.status == 200 { answer.text() } else { Service::error_of(&answer) }
}

/// `${text*count}` is `text` so many times.
fn repeated(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let end = after.char_indices().find_map(|(at, _)| count_at(&after[at..]).map(|(count, length)| (at, count, length)));
        let (at, count, length) = end.unwrap_or_else(|| panic!("${{text*count}} has no end: {after:.80}"));
        out.push_str(before);
        out.push_str(&after[..at].repeat(count));
        rest = &after[at + length..];
    }
    out.push_str(rest);
    out
}

/// `*count}` at the start: the count, and its length.
fn count_at(text: &str) -> Option<(usize, usize)> {
    let (digits, _) = text.strip_prefix('*')?.split_once('}')?;
    Some((digits.parse().ok()?, digits.len() + 2))
}

/// All that `expected` has is in `found`; lists are compared element by element.
fn contains(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected.iter().all(|(name, value)| match (found.get(name), value) {
            (None, Value::Null) => true,
            (found, value) => found.is_some_and(|found| contains(found, value)),
        }),
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| contains(found, expected))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        _ => found == expected,
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "vectors"));
    files.sort();
    files
}

#[test]
fn every_vector_of_the_files_gives_its_answer() {
    let files = files();
    assert!(!files.is_empty());
    let mut faults = Vec::new();
    for file in files {
        let script = Script::parse(&fs::read_to_string(&file).unwrap());
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        faults.extend(script.run().into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "{} vectors fail\n\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn a_vector_with_another_answer_is_a_fault() {
    let script = |expected: &str| Script::parse(&format!("## a table\nDescribeTable {{\"TableName\":\"Tab\"}}\n=> {expected}\n"));
    assert_eq!(script("OK").run().len(), 0);
    assert_eq!(script("IV: no").run().len(), 1);
    assert_eq!(script(r#"{"Table":{"TableStatus":"ACTIVE"}}"#).run().len(), 0);
    assert_eq!(script(r#"{"Table":{"TableStatus":"CREATING"}}"#).run().len(), 1);
    assert_eq!(script(r#"{"Table":{"KeySchema":[{"AttributeName":"pk"}]}}"#).run().len(), 1);
}

#[test]
fn repetitions_are_expanded() {
    assert_eq!(repeated(r#"{"a":${{"L":[*3}1${]}*3}}"#), r#"{"a":{"L":[{"L":[{"L":[1]}]}]}}"#);
    assert_eq!(repeated("${x*0}y${ab*2}"), "yabab");
}
