//! How much code each layer has: it only goes down, unless a commit says why.

use std::collections::BTreeMap;

use super::{Finding, Source, report, rust_sources};

/// Thousands of characters of code that a layer may have, without spaces, comments and tests.
/// A change that makes a layer lighter lowers its figure; one that raises a figure says the reason in its commit.
const THOUSANDS_MAX: [(&str, usize); 12] = [
    ("cli", 177),
    ("codec", 391),
    ("database", 309),
    ("engine", 532),
    ("expr", 176),
    ("fs", 672),
    ("fuse", 44),
    ("http", 62),
    ("inspect", 169),
    ("model", 177),
    ("protocol", 16),
    ("store", 180),
];

/// A figure may be so much above what is there: small changes do not have to touch it.
const SLACK_THOUSANDS: usize = 2;

/// Characters of a file's lines, without spaces, comments and items under `#[cfg(test)]`.
fn weight(text: &str) -> usize {
    let (mut weight, mut lines) = (0, text.lines().map(str::trim));
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(test)]") {
            let mut depth = 0_usize;
            for line in lines.by_ref() {
                depth = (depth + line.matches(['{', '(', '[']).count())
                    .saturating_sub(line.matches(['}', ')', ']']).count());
                if depth == 0 && line.ends_with([';', '}', ',']) {
                    break;
                }
            }
        } else if !line.starts_with("//") {
            weight += line
                .chars()
                .filter(|character| !character.is_whitespace())
                .count();
        }
    }
    weight
}

/// What is wrong with the weights of layers, by the figures they may have.
fn faults(sources: &[Source], allowed: &[(&str, usize)]) -> Vec<Finding> {
    let mut weights: BTreeMap<&str, usize> = BTreeMap::new();
    // The round trips of the wire are tests by another name.
    for source in sources
        .iter()
        .filter(|source| !source.is_tests() && !source.file.contains("/round_trips/"))
    {
        if let [layer, ..] = source.modules()[..] {
            *weights.entry(layer).or_default() += weight(&source.text);
        }
    }
    let fault = |(layer, allowed): &(&str, usize)| {
        let thousands = weights.get(layer).map_or(0, |weight| weight.div_ceil(1000));
        let what_to_do = match thousands {
            more if more > *allowed => {
                "say an idea once that stands twice, or raise the figure and say the reason in the commit"
            }
            less if less + SLACK_THOUSANDS < *allowed => "lower the figure",
            _ => return None,
        };
        let advice = format!(
            "{layer} has {thousands} thousand characters of code, its figure is {allowed}: {what_to_do}"
        );
        Some(Finding {
            file: "tests/tidy/weight.rs".to_owned(),
            line: 0,
            advice,
        })
    };
    allowed.iter().filter_map(fault).collect()
}

#[test]
fn no_layer_gets_heavier_unseen() {
    report(&faults(rust_sources(), &THOUSANDS_MAX));
}

#[test]
fn every_layer_has_a_figure() {
    assert!(
        super::LAYERS
            .iter()
            .all(|layer| THOUSANDS_MAX.iter().any(|(named, _)| named == layer))
    );
}

#[test]
fn comments_spaces_and_tests_weigh_nothing() {
    for (text, characters) in [
        ("fn f() {}\n", 7),
        ("// a comment\n    let a = 1;\n\n/// a doc\n", 7),
        (
            "a\n#[cfg(test)]\nmod tests {\n    fn f() {\n    }\n}\nb\n",
            2,
        ),
        ("#[cfg(test)]\nuse a::b;\nc\n", 1),
        (
            "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nfn f(\n    a: u8,\n) -> u8 {\n    a\n}\nd\n",
            1,
        ),
    ] {
        assert_eq!(weight(text), characters, "{text}");
    }
}

#[test]
fn a_layer_that_is_heavier_or_much_lighter_than_its_figure_is_told() {
    let sources = [
        Source::new("src/a/b.rs", "x".repeat(4001)),
        Source::new("src/a/tests.rs", "y".repeat(9000)),
    ];
    let told = |figure: usize| {
        faults(&sources, &[("a", figure)])
            .iter()
            .map(|fault| fault.advice.clone())
            .collect::<Vec<_>>()
    };
    assert!(told(4)[0].contains("a has 5 thousand"), "{:?}", told(4));
    assert!(told(5).is_empty() && told(7).is_empty());
    assert!(told(8)[0].contains("lower the figure"));
}
