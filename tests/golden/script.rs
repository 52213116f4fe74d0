//! The files: lines that are asked, each with its answer behind ` => ` or on lines with `| ` below it.

use std::fs;
use std::path::Path;

use crate::support::golden_file::{File, Line};

/// What is asked in turn.
pub trait Session {
    /// The answer, in lines; empty where there is nothing to say.
    fn answer(&mut self, asked: &str) -> String;
}

/// Asks what the files of `tests/golden/<subject>` ask; with `UPDATE_GOLDEN` in the environment they are written anew.
pub fn check(subject: &str, begin: &dyn Fn() -> Box<dyn Session>) {
    if std::env::var_os("UPDATE_GOLDEN").is_none() {
        return check_but(subject, &|_| false, begin);
    }
    for path in File::all(subject) {
        fs::write(&path, run(&File::read(&path), begin).0).unwrap();
    }
}

/// Asks the same, but for some lines.
pub fn check_but(
    subject: &str,
    is_other: &dyn Fn(&str) -> bool,
    begin: &dyn Fn() -> Box<dyn Session>,
) {
    let mut faults = Vec::new();
    for path in File::all(subject) {
        let mut file = File::read(&path);
        file.lines
            .retain(|line| !matches!(line, Line::Asked { text, .. } if is_other(text)));
        faults.extend(
            run(&file, begin)
                .1
                .into_iter()
                .map(|fault| format!("{}:{fault}", name(&path))),
        );
    }
    assert!(
        faults.is_empty(),
        "{} answers are others; UPDATE_GOLDEN=1 writes them down\n\n{}",
        faults.len(),
        faults.join("\n")
    );
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The file with the answers of today, and the lines whose answer is another.
fn run(file: &File, begin: &dyn Fn() -> Box<dyn Session>) -> (String, Vec<String>) {
    let (mut text, mut wrong) = (String::new(), Vec::new());
    let mut session = begin();
    for line in &file.lines {
        if let Line::Title(_) = line {
            session = begin();
            file.preparation()
                .for_each(|asked| drop(session.answer(&asked)));
        }
        let Line::Asked {
            number,
            text: asked,
            answer,
        } = line
        else {
            text += &format!("{line}\n");
            continue;
        };
        let found = session.answer(&File::expanded(asked)).trim_end().to_owned();
        if found != *answer {
            wrong.push(format!(
                "{number}: {asked}\n   found: {found}\nexpected: {answer}"
            ));
        }
        text += &format!(
            "{}\n",
            Line::Asked {
                number: *number,
                text: asked.clone(),
                answer: found
            }
        );
    }
    (text, wrong)
}

/// Answers what it is asked, and how often it was asked before.
struct Echo(usize);

impl Session for Echo {
    fn answer(&mut self, asked: &str) -> String {
        self.0 += 1;
        match asked {
            "nothing" => String::new(),
            "two" => format!("{}\ntwo", self.0),
            other => format!("{} {other}", self.0),
        }
    }
}

#[test]
fn files_are_checked_and_written_anew() {
    let text = "# comment\nfirst\n\n## a\ntwo =>\n| 2\n| two\nnothing\n\n## b\n${x*3} => 2 xxx\n";
    let (anew, wrong) = run(&File::parse(text), &|| Box::new(Echo(0)));
    assert_eq!(wrong, ["2: first\n   found: 1 first\nexpected: "]);
    assert_eq!(anew, text.replace("first\n", "first => 1 first\n"));
    let (anew, wrong) = run(&File::parse("nothing => 1\ntwo => 5\n"), &|| {
        Box::new(Echo(0))
    });
    assert_eq!(
        (anew.as_str(), wrong.len()),
        ("nothing\ntwo =>\n| 2\n| two\n", 2)
    );
}
