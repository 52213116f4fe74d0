//! A failure as a user reads it from `.ddb/errors/last` (docs/filesystem.md 9): an excerpt of the
//! text, a caret, a hint.
//!
//! ```text
//!   {"status":open}
//!             ^ expected a JSON value at byte 10
//!   hint: strings need quotes. The item is unchanged.
//! ```
//! It is printable on any terminal: control bytes, invisible characters and bytes that are not
//! UTF-8 are escaped.

use crate::codec::plain_json::{PlainJsonError, PlainJsonFault};
use crate::fs::error::advice;
use crate::fs::prelude::*;

/// Width of every line, its indentation included.
const COLUMNS_MAX: usize = 80;
/// Columns of an excerpt before the caret; the next is those from it on.
const COLUMNS_BEFORE: usize = 46;
const COLUMNS_AFTER: usize = COLUMNS_MAX - COLUMNS_BEFORE - 2 * ELLIPSIS.len_utf8() - INDENT.len();
const ELLIPSIS: char = '…';
const INDENT: &str = "  ";

/// Returns the lines below the first of an error's text, each indented and ended. `unchanged` is
/// the last sentence of the hint.
#[must_use]
pub fn render_report(text: &[u8], error: &FsError, unchanged: &str) -> String {
    let mut lines = String::new();
    let cause = match error {
        FsError::Json(fault) => {
            excerpt(text, fault, &mut lines);
            json_cause(text, fault).into()
        }
        _ => {
            lines.push_str(&format!("{INDENT}{}\n", printable(&error.to_string())));
            if let Some(throttled) = error.throttled() {
                lines.push_str(&format!("{INDENT}{}.\n", printable(&throttled.describe())));
            }
            advice(error)
        }
    };
    let blank = if cause.is_empty() { "" } else { " " };
    lines.push_str(&format!("{INDENT}hint: {cause}{blank}{unchanged}\n"));
    lines
}

/// Adds the part of the text around the error in one line, then the caret under the byte and the
/// fault.
fn excerpt(text: &[u8], error: &PlainJsonError, lines: &mut String) {
    // A text that ends too early is shown with its last line, not with the text after its newline.
    let ends_early = error.offset >= text.len();
    let text = if ends_early {
        text.trim_ascii_end()
    } else {
        text
    };
    let at = error.offset.min(text.len());
    let (left, right) = text.split_at(at);
    let line_start = left
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let line_end = right
        .iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(right.len());
    let before = fit(&left[line_start..], COLUMNS_BEFORE, true);
    let after = fit(&right[..line_end], COLUMNS_AFTER, false);
    lines.push_str(&format!("{INDENT}{before}{after}\n"));
    lines.push_str(&format!(
        "{INDENT}{}^ {}\n",
        " ".repeat(before.chars().count()),
        printable(&error.to_string())
    ));
}

/// Returns the part of `bytes` that fits, escaped: the end if `is_end`, else the beginning.
fn fit(bytes: &[u8], columns: usize, is_end: bool) -> String {
    let length = bytes.len().min(4 * columns);
    let mut cells = cells(if is_end {
        &bytes[bytes.len() - length..]
    } else {
        &bytes[..length]
    });
    if is_end {
        cells.reverse();
    }
    let mut used = 0;
    let fits = |cell: &&String| {
        used += cell.chars().count();
        used <= columns
    };
    let count = cells.iter().take_while(fits).count();
    let is_cut = count < cells.len() || length < bytes.len();
    cells.truncate(count);
    cells.extend(is_cut.then(|| ELLIPSIS.to_string()));
    if is_end {
        cells.reverse();
    }
    cells.concat()
}

/// Returns the printed form of each character, and of each byte that is none.
fn cells(bytes: &[u8]) -> Vec<String> {
    let mut cells = Vec::new();
    for chunk in bytes.utf8_chunks() {
        cells.extend(chunk.valid().chars().map(|c| {
            if is_printable(c) {
                c.to_string()
            } else {
                c.escape_unicode().to_string()
            }
        }));
        cells.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    cells
}

/// Returns `text` with its control and invisible characters escaped.
fn printable(text: &str) -> String {
    cells(text.as_bytes()).concat()
}

/// True unless it is a control, zero-width, direction or line-separating character.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{AD}' | '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// Returns the likely cause of bad JSON, a sentence or nothing.
fn json_cause(text: &[u8], error: &PlainJsonError) -> &'static str {
    let wrong = text.get(error.offset);
    match (&error.fault, wrong) {
        (PlainJsonFault::Expected(_) | PlainJsonFault::UnexpectedEnd, None) => {
            "the text ends too early."
        }
        (PlainJsonFault::TrailingData, _) => {
            "one file holds one item; write it as a whole (>), do not append (>>)."
        }
        (PlainJsonFault::ControlCharacter, Some(b'\n' | b'\t')) => {
            "a newline in a string is \\n, a tab \\t."
        }
        (PlainJsonFault::Expected(_), Some(b'\'')) => "JSON strings take double quotes.",
        (PlainJsonFault::Expected(what), Some(b'}' | b']')) if is_value(what) || is_name(what) => {
            "is there a comma too many?"
        }
        (PlainJsonFault::Expected(what), Some(byte))
            if byte.is_ascii_alphabetic() && is_value(what) =>
        {
            "strings need quotes."
        }
        (PlainJsonFault::Expected(what), Some(byte))
            if byte.is_ascii_alphabetic() && is_name(what) =>
        {
            "member names need quotes."
        }
        _ => "",
    }
}

fn is_value(expected: &str) -> bool {
    expected.contains("JSON value")
}

fn is_name(expected: &str) -> bool {
    expected.contains("name in quotes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::prefix::JsonPrefix;

    fn json_report(text: &[u8]) -> String {
        let mut check = JsonPrefix::new();
        check.feed(text);
        render_report(
            text,
            &FsError::Json(check.incomplete()),
            "The item is unchanged.",
        )
    }

    #[test]
    fn an_unquoted_string() {
        assert_eq!(
            json_report(br#"{"status":open}"#),
            concat!(
                "  {\"status\":open}\n",
                "            ^ expected a JSON value at byte 10\n",
                "  hint: strings need quotes. The item is unchanged.\n"
            )
        );
    }

    #[test]
    fn only_the_line_of_the_error_is_shown_and_control_bytes_are_escaped() {
        assert_eq!(
            json_report(b"{\n  \"a\xFF\": 1,\n}\n"),
            concat!(
                "    \"a\\xFF\": 1,\n",
                "      ^ the text is not UTF-8 at byte 6\n",
                "  hint: The item is unchanged.\n"
            )
        );
        assert_eq!(
            json_report(b"{\"a\":\"\x1b[31m\"}"),
            concat!(
                "  {\"a\":\"\\u{1b}[31m\"}\n",
                "        ^ a control character in a string must be written as an escape at byte 6\n",
                "  hint: The item is unchanged.\n"
            )
        );
    }

    #[test]
    fn a_text_that_ends_too_early() {
        assert_eq!(
            json_report(b"{\"a\":"),
            concat!(
                "  {\"a\":\n",
                "       ^ expected a JSON value at byte 5\n",
                "  hint: the text ends too early. The item is unchanged.\n"
            )
        );
    }

    #[test]
    fn a_text_that_ends_too_early_is_shown_with_its_last_line() {
        assert_eq!(
            json_report(b"{\"a\":1\n\n"),
            concat!(
                "  {\"a\":1\n",
                "        ^ expected ',' or '}' at byte 8\n",
                "  hint: the text ends too early. The item is unchanged.\n"
            )
        );
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides() {
        let text = format!(
            "{{\"a\":\"{}\", x, \"b\":\"{}\"}}",
            "é".repeat(500),
            "€".repeat(500)
        );
        let report = json_report(text.as_bytes());
        let lines: Vec<&str> = report.lines().collect();
        assert!(
            lines[0].starts_with("  …é") && lines[0].ends_with("€…"),
            "{report}"
        );
        assert!(lines[0].chars().count() <= COLUMNS_MAX, "{report}");
        let caret = lines[1].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[0].chars().nth(caret), Some('x'), "{report}");
    }

    #[test]
    fn other_errors_say_their_sentence() {
        assert_eq!(
            render_report(b"", &FsError::Stale, "The item is unchanged."),
            concat!(
                "  the item was changed by somebody else since it was read\n",
                "  hint: read it again, then write; with -o lww the last writer wins. The item is unchanged.\n"
            )
        );
    }

    #[test]
    fn hints() {
        let cases: &[(&str, &str)] = &[
            ("{'a':1}", "JSON strings take double quotes."),
            ("{a:1}", "member names need quotes."),
            ("{\"a\":1,}", "is there a comma too many?"),
            ("{}{}", "one file holds one item"),
            ("{\"a\":\"\n\"}", "a newline in a string"),
        ];
        for (text, hint) in cases {
            assert!(
                json_report(text.as_bytes()).contains(hint),
                "{text}: {}",
                json_report(text.as_bytes())
            );
        }
    }
}
