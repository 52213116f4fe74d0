//! One request, one answer: what HTTP answers, `.ddb/api` answers, and the file form of an item or a query where it has one.
//!
//! Requests are those of `tests/vectors` and generated ones. `DDBFS_ONE_ANSWER_SEED=7 DDBFS_ONE_ANSWER_CASES=5000` runs others.

mod files;
mod grammar;
mod pair;

use std::fs;

use crate::support::seeded::Numbers;
use crate::support::vector_file;
use crate::support::vector_file::{Script, Section};
use pair::{INDEXED, PLAIN, Pair};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// What a section's requests are answered differently by the two.
fn differences(script: &Script, before: &Section, section: &Section) -> Vec<String> {
    let pair = Pair::new(PLAIN);
    let vectors = before.vectors.iter().chain(&section.vectors);
    vectors
        .filter_map(|vector| pair.difference(&vector.operation, &script.expand(&vector.request)))
        .collect()
}

#[test]
fn vectors_are_answered_alike_by_http_and_by_the_api_file() {
    let mut found = Vec::new();
    for file in vector_file::files() {
        let script = Script::parse(&fs::read_to_string(&file).unwrap());
        let (before, sections) = script.sections.split_first().unwrap();
        found.extend(
            sections
                .iter()
                .flat_map(|section| differences(&script, before, section)),
        );
    }
    assert!(
        found.is_empty(),
        "{} differences\n\n{}",
        found.len(),
        found.join("\n\n")
    );
}

#[test]
fn generated_requests_are_answered_alike_by_http_and_by_the_api_file() {
    let seed = number("DDBFS_ONE_ANSWER_SEED", 1);
    let mut numbers = Numbers(seed);
    let (mut found, mut done) = (Vec::new(), 0);
    let pair = Pair::new(INDEXED);
    let cases = number("DDBFS_ONE_ANSWER_CASES", 1_200);
    for _ in 0..cases {
        let (operation, request) = grammar::request(&mut numbers);
        found.extend(pair.difference(operation, &request));
        done += u64::from(pair.last_succeeded.get());
    }
    found.extend(pair.different_items());
    assert!(
        found.is_empty(),
        "seed {seed}: {} differences\n\n{}",
        found.len(),
        found.join("\n\n")
    );
    assert!(
        done > cases / 5 && done < cases,
        "{done} of {cases} requests succeed: the grammar is off"
    );
}

#[test]
fn generated_item_files_and_query_paths_come_to_what_http_answers() {
    let seed = number("DDBFS_ONE_ANSWER_SEED", 1);
    let cases = number("DDBFS_ONE_ANSWER_CASES", 1_200);
    let found = files::differences(seed, cases);
    assert!(
        found.is_empty(),
        "seed {seed}: {} differences\n\n{}",
        found.len(),
        found.join("\n\n")
    );
}
