//! Parser of the files below `tests/golden`; their syntax is in `tests/golden/README.md`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::vector_file::{files_of, repeated};

/// A line of a file, with its response.
#[derive(Debug)]
pub enum Line {
    /// A comment or a blank line.
    Silent(String),
    Title(String),
    Asked {
        number: usize,
        text: String,
        answer: String,
    },
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(text) | Self::Title(text) => f.write_str(text),
            Self::Asked { text, answer, .. } if answer.is_empty() => f.write_str(text),
            Self::Asked { text, answer, .. } if answer.contains('\n') => {
                write!(f, "{text} =>\n| {}", answer.replace('\n', "\n| "))
            }
            Self::Asked { text, answer, .. } => write!(f, "{text} => {answer}"),
        }
    }
}

/// A command, with its first word apart, and the response.
pub struct Asked {
    pub word: String,
    pub rest: String,
    pub answer: String,
}

pub struct File {
    pub lines: Vec<Line>,
}

impl File {
    /// Returns the files of a subject, by name.
    pub fn all(subject: &str) -> Vec<PathBuf> {
        files_of(&format!("tests/golden/{subject}"), "golden")
    }

    pub fn read(path: &Path) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap())
    }

    pub fn parse(text: &str) -> Self {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(more) = line.strip_prefix("| ") {
                let Some(Line::Asked { answer, .. }) = lines.last_mut() else {
                    panic!("line {number}: nothing is asked")
                };
                *answer = [answer.as_str(), more].join(if answer.is_empty() { "" } else { "\n" });
                continue;
            }
            lines.push(match line {
                _ if line.starts_with("## ") => Line::Title(line.to_owned()),
                _ if line.trim().is_empty() || line.starts_with('#') => {
                    Line::Silent(line.to_owned())
                }
                _ => {
                    let (text, answer) = line
                        .strip_suffix(" =>")
                        .map(|text| (text, ""))
                        .or(line.split_once(" => "))
                        .unwrap_or((line, ""));
                    Line::Asked {
                        number,
                        text: text.to_owned(),
                        answer: answer.to_owned(),
                    }
                }
            });
        }
        Self { lines }
    }

    /// Returns the commands to run before each section: all before the first title.
    pub fn preparation(&self) -> impl Iterator<Item = String> {
        self.lines
            .iter()
            .take_while(|line| !matches!(line, Line::Title(_)))
            .filter_map(|line| match line {
                Line::Asked { text, .. } => Some(Self::expanded(text)),
                _ => None,
            })
    }

    /// Returns the sections by their titles; commands before the first have none.
    pub fn sections(&self) -> Vec<(&str, Vec<Asked>)> {
        let mut sections = vec![("", Vec::new())];
        for line in &self.lines {
            match line {
                Line::Silent(_) => {}
                Line::Title(title) => sections.push((title.trim_start_matches("## "), Vec::new())),
                Line::Asked { text, answer, .. } => {
                    let text = Self::expanded(text);
                    let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
                    let asked = Asked {
                        word: word.to_owned(),
                        rest: format!(" {rest}"),
                        answer: answer.clone(),
                    };
                    sections.last_mut().unwrap().1.push(asked);
                }
            }
        }
        sections
    }

    /// Expands `${text*count}` to `text` repeated.
    pub fn expanded(text: &str) -> String {
        repeated(text)
    }
}

/// Splits the arguments of a command at ` |`; the last ones may be missing.
pub fn parts<const N: usize>(text: &str) -> [String; N] {
    let mut given = text.split(" |").map(|part| part.trim().to_owned());
    let parts = std::array::from_fn(|_| given.next().unwrap_or_default());
    assert_eq!(given.next(), None, "{text}: too many parts");
    parts
}
