//! Rust source as tokens, and the paths that it names: `use` trees taken apart; comments and literals don't count.

/// A word or a punctuation mark (`::` is one mark), with its line from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub line: usize,
}

/// The tokens of Rust source without comments, lifetimes and literals.
pub fn tokens(source: &str) -> Vec<Token> {
    let characters: Vec<char> = source.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < characters.len() {
        let (text, next) = token_at(&characters, at);
        if let Some(text) = text {
            out.push(Token { text, line });
        }
        line += characters[at..next]
            .iter()
            .filter(|&&character| character == '\n')
            .count();
        at = next;
    }
    out
}

pub fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The token at `at`, if it counts, and the place behind it.
fn token_at(text: &[char], at: usize) -> (Option<String>, usize) {
    let is = |offset: usize, wanted: char| text.get(at + offset) == Some(&wanted);
    let first = text[at];
    if first == '/' && is(1, '/') {
        return (
            None,
            (at..text.len())
                .find(|&i| text[i] == '\n')
                .unwrap_or(text.len()),
        );
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
        let end = (at..text.len())
            .find(|&i| !is_word(text[i]))
            .unwrap_or(text.len());
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
            (from..text.len())
                .find(|&i| text[i] == '\'')
                .map_or(text.len(), |end| end + 1)
        }
        (Some(_), Some('\'')) => start + 3,
        _ => start + 1,
    }
}

/// Behind `#"…"#` with any number of signs, if that is what stands there.
fn after_raw_string(text: &[char], start: usize) -> Option<usize> {
    let signs = text[start..]
        .iter()
        .take_while(|&&character| character == '#')
        .count();
    if text.get(start + signs) != Some(&'"') {
        return None;
    }
    let closes = |i: &usize| {
        text[*i] == '"'
            && text[i + 1..]
                .iter()
                .take(signs)
                .filter(|&&c| c == '#')
                .count()
                == signs
    };
    let end = (start + signs + 1..text.len()).find(closes)?;
    Some(end + 1 + signs)
}

/// A path as the source spells it, `use` trees taken apart: `use a::{b, c::d}` is `a::b` and `a::c::d`.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    pub path: Vec<String>,
    pub line: usize,
    pub import: Option<Import>,
}

/// What a `use` makes of a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// `pub use`, to whomever.
    pub exported: bool,
    /// The name it goes by from here on; none for `*`.
    pub name: Option<String>,
}

pub fn named_paths(tokens: &[Token]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].text == "use" && tokens.get(at + 1).is_some_and(|next| next.text != "<") {
            let exported = at > 0 && matches!(tokens[at - 1].text.as_str(), "pub" | ")");
            at = use_tree(tokens, at + 1, &[], exported, &mut found);
            continue;
        }
        // `pub(in a::b)` imports nothing.
        if tokens[at].text == "in"
            && at > 1
            && tokens[at - 1].text == "("
            && tokens[at - 2].text == "pub"
        {
            at = plain_path(tokens, at + 1).1;
            continue;
        }
        let (path, next) = plain_path(tokens, at);
        if path.len() > 1 {
            found.push(Named {
                path,
                line: tokens[at].line,
                import: None,
            });
        }
        at = next.max(at + 1);
    }
    found
}

/// `a::b::c` at `at`, and the place behind it.
fn plain_path(tokens: &[Token], at: usize) -> (Vec<String>, usize) {
    let word = |i: usize| {
        tokens
            .get(i)
            .filter(|token| token.text.chars().all(is_word))
            .map(|token| token.text.clone())
    };
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
fn use_tree(
    tokens: &[Token],
    start: usize,
    prefix: &[String],
    exported: bool,
    found: &mut Vec<Named>,
) -> usize {
    let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token| token.text == text);
    let at = start + usize::from(is(start, "::"));
    let (path, mut next) = plain_path(tokens, at);
    let path = [prefix, &path].concat();
    if is(next, "::") {
        next += 1;
    }
    if !is(next, "{") {
        let renamed = is(next, "as").then(|| tokens.get(next + 1)).flatten();
        let last = path
            .iter()
            .rev()
            .find(|word| *word != "self")
            .filter(|_| !is(next, "*"));
        let name = renamed.map(|token| token.text.clone()).or(last.cloned());
        let import = Some(Import { exported, name });
        found.push(Named {
            path,
            line: tokens.get(at).map_or(0, |token| token.line),
            import,
        });
        let ends = |token: &Token| matches!(token.text.as_str(), ";" | "," | "}");
        return (next..tokens.len())
            .find(|&i| ends(&tokens[i]))
            .unwrap_or(tokens.len());
    }
    loop {
        next = use_tree(tokens, next + 1, &path, exported, found);
        match tokens.get(next).map(|token| token.text.as_str()) {
            Some(",") if tokens.get(next + 1).is_none_or(|token| token.text != "}") => {}
            Some(",") => return next + 2,
            _ => return next + 1,
        }
    }
}

/// Those tokens that are in no `#[cfg(test)] mod name { … }`.
pub fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is = |offset: usize, text: &str| {
            tokens
                .get(at + offset)
                .is_some_and(|token| token.text == text)
        };
        let is_test = ["#", "[", "cfg", "(", "test", ")", "]", "mod"]
            .iter()
            .enumerate()
            .all(|(offset, text)| is(offset, text));
        if is_test && is(9, "{") {
            at = after_braces(tokens, at + 9);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Behind the `}` that closes the `{` at `start`.
fn after_braces(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// The paths in a source, as text.
fn check_paths(source: &str, expected: &[&str]) {
    let found: Vec<String> = named_paths(&tokens(source))
        .iter()
        .map(|named| named.path.join("::"))
        .collect();
    assert_eq!(found, expected, "{source}");
}

#[test]
fn paths_are_read_from_tokens() {
    check_paths("use crate::fs::Node;", &["crate::fs::Node"]);
    check_paths(
        "use crate::{fs::{self, Node}, model::*}; a::b()",
        &["crate::fs::self", "crate::fs::Node", "crate::model", "a::b"],
    );
    check_paths("use a as b; pub use c::d as e;", &["a", "c::d"]);
    check_paths(
        "use ::fuser::{A, B,};x::y",
        &["fuser::A", "fuser::B", "x::y"],
    );
    check_paths(
        "// crate::fs::x\n/* crate::fs /* y */ */ \"crate::fs \\\" \" r#\"crate::fs\"# 'a' '\\'' &'a str",
        &[],
    );
    check_paths(
        "let x: &'static crate::fs::T = crate::fs::make::<u8>();",
        &["crate::fs::T", "crate::fs::make"],
    );
    check_paths(
        "super::super::fs::x(b\"a::b\", '\"', \"c::d\")",
        &["super::super::fs::x"],
    );
    check_paths(
        "pub(in crate::fs) fn f() { for x in crate::g() {} }",
        &["crate::g"],
    );
    assert_eq!(
        tokens("a\n\"\n\n\"\nb").last().map(|token| token.line),
        Some(5)
    );
}
