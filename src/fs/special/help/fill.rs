//! Help texts with their placeholders filled: `{pk}` in a block of `sh` lines. A comment after two blanks is put in one column.

/// The placeholders by name, in the order in which they are filled, and what each stands for; `None` where there is no such thing.
pub type Values = Vec<(&'static str, Option<String>)>;

const BEGIN: &str = "```sh";
const END: &str = "```";
/// Where comments begin at most, in characters.
const COLUMN_MAX: usize = 60;

/// The text: a line of a block that speaks of what there is not is left out.
#[must_use]
pub fn filled(text: &str, values: &Values) -> String {
    let mut out = String::new();
    let mut block: Option<Vec<String>> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, BEGIN) => block = Some(Vec::new()),
            (Some(lines), END) => {
                write_block(lines, &mut out);
                block = None;
            }
            (Some(lines), _) => lines.extend(filled_line(line, values)),
            (None, _) => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn filled_line(line: &str, values: &Values) -> Vec<String> {
    let mut out = line.to_owned();
    for (name, value) in values {
        let placeholder = format!("{{{name}}}");
        match value {
            _ if !out.contains(&placeholder) => {}
            Some(value) => out = out.replace(&placeholder, value),
            None => return Vec::new(),
        }
    }
    out.lines().map(str::to_owned).collect()
}

/// Nothing, if the block has no line.
fn write_block(lines: &[String], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    let width = |line: &str| line.chars().count();
    let commands = lines.iter().filter_map(|line| line.split_once("  # ")).map(|(command, _)| width(command.trim_end()));
    let column = commands.filter(|width| *width <= COLUMN_MAX).max().unwrap_or(0);
    out.push_str(BEGIN);
    out.push('\n');
    for line in lines {
        match line.split_once("  # ") {
            Some((command, comment)) => {
                let command = command.trim_end();
                let blanks = " ".repeat(column.saturating_sub(width(command)));
                out.extend([command, &blanks, "  # ", comment.trim_start()]);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out.push_str(END);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_lines_without_a_value_left_out() {
        let values = vec![("t", Some(String::from("Orders/"))), ("sk", None), ("make", Some(String::from("a\nbb  # b")))];
        let text = "{t} and {sk} outside stay.\n```sh\n{make}\nls {t}items  # {\"x\":1}\nls {sk}\n```\n```sh\nls {sk}\n```\nend\n";
        let expected = "{t} and {sk} outside stay.\n```sh\na\nbb               # b\nls Orders/items  # {\"x\":1}\n```\nend\n";
        assert_eq!(filled(text, &values), expected);
    }
}
