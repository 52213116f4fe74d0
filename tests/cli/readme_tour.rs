//! Runs every command of the `console` blocks of README.md and of docs/, each document in a mount of the sample tables, and compares the output.

use std::path::Path;

use crate::support::daemon::{Mount, bash_in};

/// A command and the output that is shown for it.
struct Step {
    command: String,
    expected: String,
}

fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, _) => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    command: command.to_owned(),
                    expected: String::new(),
                }),
                (None, Some(step)) => step.expected += &format!("{line}\n"),
                (None, None) => panic!("a console block starts with a command, not with {line:?}"),
            },
            (false, _) => {}
        }
    }
    steps
}

/// Runs the commands of a document; how many.
fn check(name: &str, document: &str) -> usize {
    let steps = steps(document);
    if steps.is_empty() {
        return 0;
    }
    let mount = Mount::with_samples();
    // One shell, as a person has; each command's output ends in a marker line.
    let script: String = steps
        .iter()
        .map(|step| format!("{{ {}\n}} 2>&1; echo '=== end'\n", step.command))
        .collect();
    let output = bash_in(mount.dir.path(), &script);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let outputs: Vec<&str> = text.split("=== end\n").collect();
    let mut wrong = String::new();
    for (step, actual) in steps.iter().zip(outputs) {
        let (actual, expected) = (
            without_line_number(actual),
            without_line_number(&step.expected),
        );
        if actual != expected {
            wrong += &format!(
                "$ {}\n--- {name} shows\n{expected}--- the mount says\n{actual}\n",
                step.command
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    println!("{} commands print what {name} shows", steps.len());
    steps.len()
}

#[test]
fn every_command_of_the_tour_prints_what_the_readme_shows() {
    assert!(
        check("README.md", include_str!("../../README.md")) > 20,
        "the tour has commands"
    );
}

#[test]
fn every_command_of_the_documents_prints_what_they_show() {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let paths = std::fs::read_dir(documents)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let commands: usize = paths
        .map(|path| {
            check(
                &path.display().to_string(),
                &std::fs::read_to_string(&path).unwrap(),
            )
        })
        .sum();
    assert!(commands > 10, "{commands} commands");
}

/// bash says `bash: line 7: echo: …`; the number depends on the script around it.
fn without_line_number(text: &str) -> String {
    text.lines()
        .map(|line| {
            match line
                .strip_prefix("bash: line ")
                .and_then(|rest| rest.split_once(": "))
            {
                Some((_, rest)) => format!("bash: {rest}\n"),
                None => format!("{line}\n"),
            }
        })
        .collect()
}
