//! The escaping of untrusted text that people read, on a terminal and in Markdown. Control codes,
//! invisible characters and characters that reorder their neighbours are written as `\u{1b}`; a
//! text that is too long is cut. Items and file names keep their bytes.

use std::fmt::Write as _;

/// The longest text quoted in a sentence or a report, in characters.
pub const TEXT_CHARS_MAX: usize = 8 * 1024;
/// The longest name, value or pattern in a line, in characters.
pub const WORD_CHARS_MAX: usize = 100;

/// Returns a text on one line.
#[must_use]
pub fn line(text: &str, chars_max: usize) -> String {
    truncated(text, chars_max, push_escaped)
}

/// Returns a text that may have several lines, and tabs.
#[must_use]
pub fn lines(text: &str, chars_max: usize) -> String {
    truncated(text, chars_max, |out, character| {
        if matches!(character, '\n' | '\t') {
            out.push(character)
        } else {
            push_escaped(out, character)
        }
    })
}

/// Returns text for Markdown that stays plain text: no markup, no HTML, no table cell of its own.
#[must_use]
pub fn markdown(text: &str, chars_max: usize) -> String {
    truncated(text, chars_max, |out, character| match character {
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '&' => out.push_str("&amp;"),
        '\\' | '`' | '*' | '[' | ']' | '|' | '~' => out.extend(['\\', character]),
        _ => push_escaped(out, character),
    })
}

/// Returns a word as code in Markdown, also in a table.
#[must_use]
pub fn code(text: &str, chars_max: usize) -> String {
    let inside = truncated(text, chars_max, |out, character| match character {
        '|' => out.push_str("\\|"),
        _ => push_escaped(out, character),
    });
    let run = inside.split(|character| character != '`').map(str::len);
    let run = run.max().unwrap_or(0);
    // More backquotes than inside, and blanks, which Markdown takes away.
    let (fence, blank) = ("`".repeat(run + 1), if run > 0 { " " } else { "" });
    format!("{fence}{blank}{inside}{blank}{fence}")
}

/// Returns JSON with the same meaning, its unsafe characters escaped.
#[must_use]
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_printable(character) || character == '\n' {
            out.push(character);
        } else {
            // Writing to a string does not fail.
            character
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| _ = write!(out, "\\u{unit:04x}"));
        }
    }
    out
}

fn push_escaped(out: &mut String, character: char) {
    if is_printable(character) {
        out.push(character)
    } else {
        out.extend(character.escape_default())
    }
}

fn truncated(text: &str, chars_max: usize, put: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(text.len().min(chars_max));
    let mut characters = text.chars();
    characters
        .by_ref()
        .take(chars_max)
        .for_each(|character| put(&mut out, character));
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// True if the character stands in a shown text as it is.
#[must_use]
pub fn is_printable(character: char) -> bool {
    // Joiners and selectors belong to the text of many languages, and to pictures.
    matches!(character, ' '..='~' | '\u{A0}' | '\u{200C}' | '\u{200D}' | '\u{3000}' | '\u{FE00}'..='\u{FE0F}')
        || is_printable_non_ascii(character)
}

/// True if the character shows something of its own. The standard library's debug form keeps
/// exactly the characters outside of the categories Cc, Cf, Cs, Co, Cn, Zl, Zp and Zs; after
/// another character it keeps combining marks, which belong to the text of many languages.
pub(super) fn is_printable_non_ascii(character: char) -> bool {
    if character.is_ascii() || is_blank(character) {
        return false;
    }
    let mut buffer = [b'x'; 5];
    let (_, tail) = buffer.split_at_mut(1);
    let length = 1 + character.encode_utf8(tail).len();
    let text = buffer
        .get(..length)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| text.escape_debug().nth(1) == Some(character))
}

/// True for assigned letters, marks or symbols that show nothing (Default_Ignorable_Code_Point, and
/// the empty Braille pattern).
fn is_blank(character: char) -> bool {
    matches!(
        character,
        '\u{34F}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FFA0}'
            | '\u{E0100}'..='\u{E01EF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_and_what_turns_a_line_is_written_out() {
        let hostile = "a\u{1b}]0;x\u{7}\u{9b}2J\r\n\t\u{7f}\u{202e}é❤\u{fe0f}";
        let shown = r"a\u{1b}]0;x\u{7}\u{9b}2J\r\n\t\u{7f}\u{202e}é❤".to_owned() + "\u{fe0f}";
        assert_eq!(line(hostile, 99), shown);
        assert_eq!(lines("a\n\tb\r\u{1b}", 99), "a\n\tb\\r\\u{1b}");
        assert_eq!(
            (line("abc", 3), line("abcd", 3)),
            ("abc".to_owned(), "abc…".to_owned())
        );
        assert_eq!(
            json("{\n  \"\u{7f}\u{9b}\u{202e}\u{e0061}é\"}"),
            "{\n  \"\\u007f\\u009b\\u202e\\udb40\\udc61é\"}"
        );
    }

    #[test]
    fn markdown_has_no_markup_of_others() {
        assert_eq!(
            markdown("<img onerror=x> [a](b) `c` d|e\n*f* a_b", 99),
            r"&lt;img onerror=x&gt; \[a\](b) \`c\` d\|e\n\*f\* a_b"
        );
        assert_eq!(
            (code("a``<b>|\n", 99), code("abcd", 3), code("`", 9)),
            (
                r"``` a``<b>\|\n ```".to_owned(),
                "`abc…`".to_owned(),
                "`` ` ``".to_owned()
            )
        );
    }

    #[test]
    fn characters_that_show_something_are_kept() {
        for character in "éßñ中文日本語한국어אبक्षिΩ€😀♥İ\u{301}\u{FFFD}".chars()
        {
            assert!(is_printable_non_ascii(character), "{character:?}");
        }
    }

    #[test]
    fn characters_that_show_nothing_are_not() {
        let characters = "\u{80}\u{85}\u{A0}\u{AD}\u{34F}\u{61C}\u{115F}\u{1680}\u{180E}\u{2000}\u{200B}\u{200C}\u{200D}\u{200E}\u{200F}\
            \u{2028}\u{2029}\u{202A}\u{202E}\u{202F}\u{205F}\u{2060}\u{2066}\u{2069}\u{3000}\u{3164}\u{E000}\u{FE0F}\u{FEFF}\u{FFF9}\
            \u{FFFE}\u{378}\u{E0001}\u{E0061}\u{10FFFF}";
        for character in characters.chars() {
            assert!(!is_printable_non_ascii(character), "{character:?}");
        }
    }
}
