//! Comments, tests and documents cite `docs/`: the document is there, and so is the section, the id or the heading.
//!
//! A citation is the document's path and what follows it: `docs/dynamodb.md 3.2, 3.3`, `docs/filesystem.md 0.5`, `docs/requirements.md P-10`.
//! The sections are those of numbered headings (`## 3.`, `### 3.2`, `### B.4`) and the items of a numbered list below one (`0.5`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Finding, Source, files, report};

/// What can be cited of a document.
#[derive(Default)]
struct Document {
    /// `3`, `3.2`, `P-10`, `D-01.1`.
    places: BTreeSet<String>,
    /// Headings as links name them: `a-full-disk`.
    anchors: BTreeSet<String>,
}

impl Document {
    fn of(text: &str) -> Self {
        let mut document = Self::default();
        let mut section = String::new();
        for line in text.lines() {
            if let Some(heading) = line
                .strip_prefix('#')
                .map(|rest| rest.trim_start_matches('#').trim())
            {
                document.anchors.insert(anchor(heading));
                section = heading
                    .trim_start_matches("Appendix ")
                    .split(' ')
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches('.')
                    .to_owned();
                document.places.insert(section.clone());
            }
            if let Some((number, _)) = line
                .split_once(". ")
                .filter(|(number, _)| number.parse::<u32>().is_ok())
            {
                document.places.insert(format!("{section}.{number}"));
            }
            document.places.extend(
                line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.')
                    .filter(|it| is_id(it))
                    .map(id),
            );
        }
        document
    }
}

/// `P-10`, `D-01.1`.
fn is_id(word: &str) -> bool {
    let digits = word
        .strip_prefix(|c: char| c.is_ascii_uppercase())
        .and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
}

fn id(word: &str) -> String {
    word.trim_end_matches('.').to_owned()
}

/// A heading as GitHub names it in links.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        .collect()
}

/// A section's number (`3`, `3.2`, `B.4`) or an id.
fn is_place(word: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let (first, rest) = word.split_once('.').unwrap_or((word, ""));
    let is_section = is_number(first)
        || first.len() == 1
            && first.starts_with(|c: char| c.is_ascii_uppercase())
            && is_number(rest);
    is_id(word) || is_section && (rest.is_empty() || is_number(rest))
}

/// The places that are cited after a document's path.
fn cited(after: &str) -> Vec<String> {
    let mut places = Vec::new();
    let until_end = after.split([')', ';', ':']).next().unwrap_or_default();
    for word in until_end.split(' ').filter(|word| !word.is_empty()) {
        let place = word.trim_end_matches([',', '.', '`', '"', '\'']);
        if is_place(place) {
            places.push(place.to_owned());
        } else if !matches!(place, "section" | "sections" | "and" | "to" | "Appendix") {
            break;
        }
        if place.len() < word.len() && !word.ends_with(',') {
            break;
        }
    }
    places
}

fn documents() -> BTreeMap<String, Document> {
    let all = files("docs", &|path: &Path| {
        path.extension().is_some_and(|it| it == "md")
    });
    all.into_iter()
        .map(|source| (source.file, Document::of(&source.text)))
        .collect()
}

/// Where a path of a document begins and ends in a line.
fn paths(line: &str) -> Vec<(&str, &str)> {
    let end = |rest: &str| rest.find(".md").map(|at| at + ".md".len());
    let starts = line
        .match_indices("docs/")
        .filter_map(|(at, _)| line.get(at..));
    let found = starts.filter_map(|rest| rest.split_at_checked(end(rest)?));
    found
        .filter(|(path, _)| {
            path.chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.'))
        })
        .collect()
}

fn faults_of(line: &str, documents: &BTreeMap<String, Document>) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, after) in paths(line) {
        match documents.get(path) {
            None => faults.push(format!("there is no {path}")),
            Some(document) => {
                let missing = cited(after)
                    .into_iter()
                    .filter(|place| !document.places.contains(place));
                faults.extend(missing.map(|place| format!("there is no {place} in {path}")));
            }
        }
    }
    faults
}

/// `[text](target)` in a document: the targets in this repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .match_indices("](")
        .filter_map(|(at, _)| text.get(at + 2..)?.split(')').next());
    targets.filter(|target| {
        !target.contains("://") && (target.contains(".md") || target.starts_with('#'))
    })
}

fn broken_links(
    source: &Source,
    folder: &str,
    documents: &BTreeMap<String, Document>,
) -> Vec<Finding> {
    let own = Document::of(&source.text);
    let is_there = |target: &str| {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let document = if path.is_empty() {
            Some(&own)
        } else {
            documents.get(&format!("{folder}{path}"))
        };
        let is_other = || {
            super::PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join(folder)
                .join(path)
                .exists()
                && heading.is_empty()
        };
        document.map_or_else(is_other, |document| {
            heading.is_empty() || document.anchors.contains(heading)
        })
    };
    let lines = source.text.lines().enumerate();
    let broken = lines.flat_map(|(number, line)| {
        links(line)
            .filter(|it| !is_there(it))
            .map(move |it| (number + 1, it))
    });
    broken
        .map(|(number, it)| source.finding(number, format!("the link {it} leads nowhere")))
        .collect()
}

/// Documents that came before those of `docs/` and are not in the repository.
const GONE: [&str; 2] = ["SEMANTICS ", "FILESYSTEM "];

#[test]
fn what_is_cited_of_the_documents_is_there() {
    let documents = documents();
    assert!(
        documents.len() >= 5,
        "docs/ has only {} documents",
        documents.len()
    );
    let is_text = |path: &Path| !path.ends_with("tests/tidy/citations.rs");
    let tops = [
        "src",
        "tests",
        "scripts",
        "docs",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "Cargo.toml",
    ];
    let mut findings = Vec::new();
    for source in tops.iter().flat_map(|top| files(top, &is_text)) {
        for (number, line) in source.text.lines().enumerate() {
            let gone = GONE
                .iter()
                .filter(|name| line.contains(*name))
                .map(|name| format!("{name}is in docs/ now, by its path there"));
            let faults = faults_of(line, &documents).into_iter().chain(gone);
            findings.extend(faults.map(|fault| source.finding(number + 1, fault)));
        }
        let is_document = source.file.starts_with("docs/")
            || !source.file.contains('/') && source.file.ends_with(".md");
        if is_document {
            let folder = if source.file.starts_with("docs/") {
                "docs/"
            } else {
                ""
            };
            findings.extend(broken_links(&source, folder, &documents));
        }
    }
    report(&findings);
}

#[test]
fn citations_are_found() {
    let text = "# Title\n## 0. Principles\n1. **One**\n## 3. Names\n### 3.2 Forms\n| P-10 | x |\n### B.4 Keys\n#### D-01.1 twice\n";
    let documents = BTreeMap::from([("docs/a.md".to_owned(), Document::of(text))]);
    let cases: &[(&str, &[&str])] = &[
        ("as docs/a.md says", &[]),
        ("(docs/a.md 3.2, 3): docs/a.md 0.1", &[]),
        ("docs/a.md B.4 and 3.2; docs/a.md P-10 to D-01.1.", &[]),
        ("docs/b.md", &["there is no docs/b.md"]),
        (
            "docs/a.md 3.3, 0.2 and 7 things",
            &[
                "there is no 3.3 in docs/a.md",
                "there is no 0.2 in docs/a.md",
                "there is no 7 in docs/a.md",
            ],
        ),
        (
            "(docs/a.md sections 3 to 4) 9",
            &["there is no 4 in docs/a.md"],
        ),
        (
            "docs/a.md P-11. 5 things",
            &["there is no P-11 in docs/a.md"],
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(&faults_of(line, &documents), expected, "{line}");
    }
    assert_eq!(
        links("[a](b.md#c) [d](https://e.md) [f](#g) [h](i.png)").collect::<Vec<_>>(),
        ["b.md#c", "#g"]
    );
    assert!(Document::of(text).anchors.contains("32-forms"));
}
