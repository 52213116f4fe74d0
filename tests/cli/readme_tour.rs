//! Runs every command of the README's `console` blocks in a mount of the sample tables, and compares the output.

use crate::support::daemon::{Mount, bash_in};

/// A command and the output the README shows for it.
struct Step {
    command: String,
    expected: String,
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, _) => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command: command.to_owned(), expected: String::new() }),
                (None, Some(step)) => step.expected += &format!("{line}\n"),
                (None, None) => panic!("a console block starts with a command, not with {line:?}"),
            },
            (false, _) => {}
        }
    }
    steps
}

#[test]
fn every_command_of_the_tour_prints_what_the_readme_shows() {
    let readme = include_str!("../../README.md");
    let steps = steps(readme);
    assert!(steps.len() > 20, "the tour has commands");
    let mount = Mount::with_samples();
    // One shell, as a person has; each command's output ends in a marker line.
    let script: String = steps.iter().map(|step| format!("{{ {}\n}} 2>&1; echo '=== end'\n", step.command)).collect();
    let output = bash_in(mount.dir.path(), &script);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let outputs: Vec<&str> = text.split("=== end\n").collect();
    let mut wrong = String::new();
    for (step, actual) in steps.iter().zip(outputs) {
        let (actual, expected) = (without_line_number(actual), without_line_number(&step.expected));
        if actual != expected {
            wrong += &format!("$ {}\n--- the README shows\n{expected}--- the mount says\n{actual}\n", step.command);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    println!("{} commands print what the README shows", steps.len());
}

/// bash says `bash: line 7: echo: …`; the number depends on the script around it.
fn without_line_number(text: &str) -> String {
    text.lines()
        .map(|line| match line.strip_prefix("bash: line ").and_then(|rest| rest.split_once(": ")) {
            Some((_, rest)) => format!("bash: {rest}\n"),
            None => format!("{line}\n"),
        })
        .collect()
}
