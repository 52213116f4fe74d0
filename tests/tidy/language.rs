//! Rules of the words: plain English in comments, the terms of the field in names, lines of documents that fit a screen.

use super::tokens::{Token, is_word};
use super::{Finding, Source, files, report, rust_sources};

/// Words for people, which comments do not use of programs and values.
const PEOPLE: [&str; 8] = [
    "who",
    "whom",
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "someone",
];

/// Words with which neither a doc comment nor one of its sentences begins: the subject is missing or comes last.
const HEADLESS: [&str; 10] = [
    "what", "who", "whom", "whose", "whoever", "those", "whether", "nobody", "could", "may",
];

/// Words that end as a verb in the third person does and are none.
const NO_VERBS: [&str; 11] = [
    "this", "its", "as", "is", "has", "was", "always", "items", "bytes", "names", "units",
];

/// Private words for which the field has its own; none is a part of a name.
const PRIVATE: [&str; 12] = [
    "door", "knock", "keeper", "toll", "purse", "seldom", "hand_on", "lookers", "lasting", "ears",
    "parked", "remains",
];

/// The longest line of prose in a document, in characters.
const DOCUMENT_LINE_MAX: usize = 160;

/// A comment: consecutive lines of one kind.
struct Comment {
    line: usize,
    is_doc: bool,
    /// The text without marks, and without code between backticks or fences.
    prose: String,
    /// The first line of code after it that is no attribute.
    subject: String,
    /// True before a test, whose name says what it checks.
    is_of_test: bool,
}

/// The kind of comment that a line is, and its text.
fn comment_line(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    ["///", "//!", "//"].into_iter().find_map(|mark| {
        let text = line.strip_prefix(mark)?;
        (!text.starts_with('/')).then_some((mark, text))
    })
}

/// The text without code between backticks.
fn without_code(text: &str) -> String {
    text.split('`')
        .enumerate()
        .map(|(place, part)| if place % 2 == 0 { part } else { "X" })
        .collect()
}

/// Returns the comments of a file.
fn comments(text: &str) -> Vec<Comment> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((mark, _)) = comment_line(lines[at]) else {
            at += 1;
            continue;
        };
        let start = at;
        let (mut prose, mut is_fenced) = (Vec::new(), false);
        while let Some((_, text)) = lines
            .get(at)
            .and_then(|line| comment_line(line))
            .filter(|(kind, _)| *kind == mark)
        {
            if text.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
            } else if !is_fenced {
                prose.push(text.trim());
            }
            at += 1;
        }
        let is_attribute =
            |line: &&&str| line.trim_start().starts_with('#') || comment_line(line).is_some();
        let attributes = lines[at..].iter().take_while(is_attribute);
        let is_of_test = attributes.clone().any(|line| line.trim() == "#[test]");
        let subject = lines.get(at + attributes.count());
        out.push(Comment {
            line: start + 1,
            is_doc: mark != "//",
            prose: without_code(&prose.join(" ")),
            subject: subject.unwrap_or(&"").trim().to_owned(),
            is_of_test,
        });
    }
    out
}

/// Returns the words of a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// True if a line of code begins a function.
fn is_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub")
            || matches!(
                *word,
                "const" | "async" | "unsafe" | "extern" | "\"C\"" | "in" | "crate)" | "super)"
            )
    });
    words.next() == Some("fn")
}

/// Returns what is wrong with a comment's language.
fn language_faults(comment: &Comment) -> Option<String> {
    let prose = comment.prose.trim();
    if let Some(word) = words(prose).find(|word| PEOPLE.contains(&word.as_str())) {
        return Some(format!(
            "\"{word}\" is for people: name the program or value"
        ));
    }
    let sentences = prose.split(". ").map(str::trim_start);
    for first in sentences
        .filter(|sentence| sentence.starts_with(char::is_uppercase))
        .filter_map(|sentence| words(sentence).next())
    {
        if HEADLESS.contains(&first.as_str()) {
            return Some(format!(
                "a sentence begins with its subject, not with \"{first}\""
            ));
        }
    }
    let first = words(prose).next()?;
    let is_verb = first.ends_with('s') && !NO_VERBS.contains(&first.as_str())
        || first == "true"
        || prose.starts_with('X');
    (comment.is_doc && is_function(&comment.subject) && !comment.is_of_test && !is_verb).then(
        || {
            format!(
                "a function's comment begins with a verb in the third person, not with \"{first}\""
            )
        },
    )
}

/// Returns the names of functions with a destructured tuple among their parameters, with their lines.
fn tuple_parameters(tokens: &[Token]) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    for (at, pair) in tokens
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0].text == "fn" && pair[1].text.starts_with(is_word))
    {
        // `angles` are those before the parameters, `generics` those of a parameter's type.
        let (mut depth, mut angles, mut generics, mut before) = (0_usize, 0_usize, 0_usize, "");
        for window in tokens[at + 2..].windows(2) {
            let token = &window[0];
            match token.text.as_str() {
                "<" if depth == 1 => generics += 1,
                ">" if depth == 1 && !matches!(before, "-" | "=") => {
                    generics = generics.saturating_sub(1);
                }
                "<" if depth == 0 => angles += 1,
                ">" if depth == 0 && before != "-" => angles = angles.saturating_sub(1),
                "(" | "[" | "{" if angles == 0 => {
                    let is_pattern = token.text == "(" && matches!(before, "(" | ",");
                    if depth == 1 && generics == 0 && is_pattern && window[1].text != ")" {
                        out.push((pair[1].line, pair[1].text.as_str()));
                    }
                    if depth == 0 && token.text == "{" {
                        break;
                    }
                    depth += 1;
                }
                ")" | "]" | "}" if angles == 0 => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                ";" if depth == 0 => break,
                _ => {}
            }
            before = &token.text;
        }
    }
    out
}

/// True if a name has a private word among its parts.
fn private_word(name: &str) -> Option<&'static str> {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase()
            && !snake.ends_with('_')
            && !name.chars().all(|c| c.is_uppercase() || c == '_')
        {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    let snake = format!("_{}_", snake.trim_matches('_'));
    PRIVATE
        .into_iter()
        .find(|word| snake.contains(&format!("_{word}_")))
}

#[test]
fn comments_are_plain_english() {
    let mut findings: Vec<Finding> = Vec::new();
    for source in rust_sources() {
        for comment in comments(&source.text) {
            if let Some(advice) = language_faults(&comment) {
                findings.push(source.finding(comment.line, advice));
            }
        }
    }
    report(&findings);
}

#[test]
fn parameters_are_no_tuples() {
    let mut findings = Vec::new();
    for source in rust_sources().iter().filter(|source| !source.is_tests()) {
        for (line, name) in tuple_parameters(source.tokens()) {
            findings.push(source.finding(
                line,
                format!("{name} takes a tuple: make it two parameters, or a struct with a name"),
            ));
        }
    }
    report(&findings);
}

#[test]
fn names_are_terms_of_the_field() {
    let mut findings = Vec::new();
    for source in rust_sources() {
        for token in source.tokens() {
            if let Some(word) = private_word(&token.text) {
                findings.push(source.finding(
                    token.line,
                    format!("{}: \"{word}\" is a private word", token.text),
                ));
            }
        }
    }
    report(&findings);
}

#[test]
fn lines_of_documents_fit_a_screen() {
    let is_document = |path: &std::path::Path| path.extension().is_some_and(|end| end == "md");
    let mut findings = Vec::new();
    for source in [
        "docs",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "src",
    ]
    .iter()
    .flat_map(|top| files(top, &is_document))
    {
        let mut is_fenced = false;
        for (number, line) in source.text.lines().enumerate() {
            is_fenced ^= line.starts_with("```");
            if !is_fenced
                && !line.trim_start().starts_with(['|', '`'])
                && line.chars().count() > DOCUMENT_LINE_MAX
            {
                findings.push(source.finding(
                    number + 1,
                    format!("at most {DOCUMENT_LINE_MAX} characters a line"),
                ));
            }
        }
    }
    report(&findings);
}

#[test]
fn faults_of_language_are_found() {
    let fault = |text: &str| comments(text).iter().find_map(language_faults);
    for text in [
        "/// Who asks.\nstruct A;",
        "/// The thread. What it does is told.\nstruct A;",
        "/// The size of it.\nfn size() {}",
        "/// Could it be?\npub(crate) fn is() -> bool {}",
        "// For somebody.\n",
    ] {
        assert!(fault(text).is_some(), "{text}");
    }
    for text in [
        "/// Returns the size of `who`.\nfn size() {}",
        "/// True if it is.\n#[must_use]\npub const fn is() -> bool {}",
        "/// The size in bytes.\nsize: usize,",
        "//! The log.\n\nuse a;",
        "let a = \"// who\";",
    ] {
        assert_eq!(fault(text), None, "{text}");
    }
}

#[test]
fn tuples_and_private_words_are_found() {
    let taken = |text: &str| Source::new("a.rs", text);
    for (text, count) in [
        ("fn a((b, c): (B, C)) {}", 1),
        ("fn a<F: Fn(A) -> B>(x: X, (b, c): (B, C)) -> D {}", 1),
        ("fn a(b: (B, C), d: [u8; 2]) { f((1, 2)) }", 0),
        ("trait T { fn a(&self); fn b((c, d): E); }", 1),
        ("fn a(b: &mut V<'_, (C, D)>, (): ()) {}", 0),
    ] {
        assert_eq!(
            tuple_parameters(taken(text).tokens()).len(),
            count,
            "{text}"
        );
    }
    assert_eq!(private_word("StoreDoor"), Some("door"));
    assert_eq!(private_word("DOOR_FILE"), Some("door"));
    assert_eq!(private_word("years"), None);
    assert_eq!(private_word("doorway"), None);
}
