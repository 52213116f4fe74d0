//! Vectors read from the files of `tests/vectors`, which a person can extend; `tests/vectors/README.md` says how they are written.

use std::fs;

use serde_json::Value;

use super::*;
use crate::support::vector_file::{Script, Vector, files, repeated};

/// What is not as it is written, of every section.
fn run(script: &Script) -> Vec<String> {
    let (before, sections) = script.sections.split_first().expect("one section at least");
    let mut faults = Vec::new();
    for section in sections {
        let service = Service::new();
        let vectors = before.vectors.iter().chain(&section.vectors);
        faults.extend(vectors.filter_map(|vector| fault(script, &service, &section.title, vector)));
    }
    faults
}

fn fault(script: &Script, service: &Service, title: &str, vector: &Vector) -> Option<String> {
    let request = script.expand(&vector.request);
    let found = answer(service, &vector.operation, &request);
    let expected = vector.expected.as_str();
    let alike = if expected.starts_with('{') {
        serde_json::from_str(&found).is_ok_and(|found: Value| contains(&found, &parse(expected)))
    } else {
        let expected = expected_text(expected);
        let found = if found.starts_with('{') {
            "OK"
        } else {
            found.as_str()
        };
        expected
            .strip_prefix('~')
            .map_or(found == expected, |part| found.contains(part))
    };
    let shown = |text: &str| text.chars().take(1500).collect::<String>();
    (!alike).then(|| {
        let (request, found, expected) = (shown(&request), shown(&found), shown(expected));
        format!(
            "{title}, line {}: {} {request}\n   found: {found}\nexpected: {expected}",
            vector.line, vector.operation
        )
    })
}

/// The body of a success, or an error as [`Service::outcome`] writes it. The request goes out as it is written, so that it need not be JSON.
fn answer(service: &Service, operation: &str, request: &str) -> String {
    let answer = service.raw(operation, request);
    if answer.status == 200 {
        answer.text()
    } else {
        Service::error_of(&answer)
    }
}

/// All that `expected` has is in `found`; lists are compared element by element.
fn contains(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected
                .iter()
                .all(|(name, value)| match (found.get(name), value) {
                    (None, Value::Null) => true,
                    (found, value) => found.is_some_and(|found| contains(found, value)),
                })
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && found
                    .iter()
                    .zip(expected)
                    .all(|(found, expected)| contains(found, expected))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        _ => found == expected,
    }
}

#[test]
fn every_vector_of_the_files_gives_its_answer() {
    let files = files();
    assert!(!files.is_empty());
    let mut faults = Vec::new();
    for file in files {
        let script = Script::parse(&fs::read_to_string(&file).unwrap());
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        faults.extend(
            run(&script)
                .into_iter()
                .map(|fault| format!("{name}: {fault}")),
        );
    }
    assert!(
        faults.is_empty(),
        "{} vectors fail\n\n{}",
        faults.len(),
        faults.join("\n\n")
    );
}

#[test]
fn a_vector_with_another_answer_is_a_fault() {
    let script = |expected: &str| {
        Script::parse(&format!(
            "## a table\nDescribeTable {{\"TableName\":\"Tab\"}}\n=> {expected}\n"
        ))
    };
    assert_eq!(run(&script("OK")).len(), 0);
    assert_eq!(run(&script("IV: no")).len(), 1);
    assert_eq!(
        run(&script(r#"{"Table":{"TableStatus":"ACTIVE"}}"#)).len(),
        0
    );
    assert_eq!(
        run(&script(r#"{"Table":{"TableStatus":"CREATING"}}"#)).len(),
        1
    );
    assert_eq!(
        run(&script(
            r#"{"Table":{"KeySchema":[{"AttributeName":"pk"}]}}"#
        ))
        .len(),
        1
    );
}

#[test]
fn repetitions_are_expanded() {
    assert_eq!(
        repeated(r#"{"a":${{"L":[*3}1${]}*3}}"#),
        r#"{"a":{"L":[{"L":[{"L":[1]}]}]}}"#
    );
    assert_eq!(repeated("${x*0}y${ab*2}"), "yabab");
}
