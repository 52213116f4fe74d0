//! The remedies that advice prints, on the tables of the corpus that provoked them: each path is there, each command runs, and what
//! removes the cause removes the finding.

use std::sync::Arc;

use crate::support::engine::corpus::faulty::{FAULTY, Faulty};
use crate::support::engine::corpus::told;
use crate::support::mounted::*;
use ddbfs::fs::view::ViewOptions;
use ddbfs::inspect::advice::Advice;

const ITEMS: u32 = 200;

/// Returns what a text has between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the script for a quoted part of a remedy; `None` for a name beside a file that is not known.
fn script(part: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_ddbfs");
    Some(match part.split_whitespace().collect::<Vec<_>>()[..] {
        ["gsi", ..] => {
            // What the reader has to choose.
            let words = part
                .replace("NAME", "more")
                .replace("attribute:S", "text:S");
            format!("echo '{words}' > Tab/ctl")
        }
        // They need a data directory, or run on: `tests/cli` has them.
        ["ddbfs", ref words @ ..] => {
            let words: Vec<&str> = words
                .iter()
                .copied()
                .filter(|word| !word.contains("Tab") && !word.starts_with("by-"))
                .map(|word| if word == "N" { "2000" } else { word })
                .collect();
            format!("{program} {} --help > /dev/null", words.join(" "))
        }
        ["find" | "rmdir" | "mkdir", ..] => part.to_owned(),
        [path] if path.contains('/') => {
            format!("if [ -d '{path}' ]; then ls '{path}'; else cat '{path}'; fi > /dev/null")
        }
        ["explain.json"] => "cat Tab/scan/explain.json > /dev/null".to_owned(),
        _ => return None,
    })
}

/// Runs the parts of a remedy; returns those that fail.
fn run(mount: &Mount, advice: &Advice) -> Vec<String> {
    let mut failed = Vec::new();
    for part in quoted(&advice.remedy) {
        let Some(script) = script(part) else {
            failed.push(format!("`{part}` is neither a path nor a command"));
            continue;
        };
        let ran = mount.sh(&script);
        if ran.status != 0 || !ran.err.is_empty() {
            failed.push(format!("{script}: {ran:?}"));
        }
        // An index that is made or deleted holds back the next command.
        for _ in 0..20 {
            mount.local.engine().run_background_work().unwrap();
        }
    }
    failed
}

/// Sets the units that a remedy names.
fn set_units(mount: &Mount, advice: &Advice) {
    let words: Vec<&str> = advice.remedy.split_whitespace().collect();
    let units = words.iter().find_map(|word| word.parse::<u64>().ok());
    let kind = if advice.finding.contains(" write units") {
        "Write"
    } else {
        "Read"
    };
    let of = advice.index.as_ref().map_or_else(
        || ".ProvisionedThroughput".to_owned(),
        |index| {
            format!(
                "(.GlobalSecondaryIndexes[]|select(.IndexName==\"{index}\")).ProvisionedThroughput"
            )
        },
    );
    let change = format!("{of}.{kind}CapacityUnits={}", units.unwrap());
    mount
        .sh(&format!(
            "t=$(mktemp) && jq '{change}' Tab/schema.json > $t && cp $t Tab/schema.json && rm $t"
        ))
        .ok();
}

#[test]
fn each_remedy_runs_on_the_table_that_it_is_for() {
    let (mut wrong, mut removed) = (Vec::new(), 0);
    for Faulty { name, make, .. } in FAULTY {
        let bed = make(ITEMS);
        let local = Arc::new(bed.database);
        let mount = Mount::over(
            Arc::clone(&local),
            local,
            ViewOptions::default(),
            |options| options,
        );
        let all = told(&*mount.local);
        for advice in &all {
            let is_units = advice.remedy.starts_with("Set about ")
                || advice.remedy.starts_with("Set at least ");
            let is_removed =
                is_units || quoted(&advice.remedy).any(|part| part.starts_with("rmdir "));
            let failed = run(&mount, advice);
            wrong.extend(failed.into_iter().map(|failed| format!("{name}: {failed}")));
            if is_units {
                set_units(&mount, advice);
            }
            removed += usize::from(is_removed);
            let after = told(&*mount.local);
            let is_same = |other: &&Advice| {
                (&other.index, other.rule) == (&advice.index, advice.rule)
                    && other.finding == advice.finding
            };
            if is_removed && after.iter().any(|other| is_same(&other)) {
                wrong.push(format!("{name}: still said: {}", advice.finding));
            }
        }
        mount.end();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(removed >= 6, "{removed}");
}
