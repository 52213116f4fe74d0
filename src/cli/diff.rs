//! `ddbfs diff A B`: the differences of two tables. `database::copies::compare` has the comparison;
//! `copy_commands` the locations of tables.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use indicatif::HumanCount;
use serde_json::Value;

use super::copy_commands::{self, CopyArgs, LocatedTable};
use super::exit::{print_bytes, print_line, print_text, warn};
use super::progress::ProgressLine;
use crate::cli::prelude::*;
use crate::codec::plain_json;
use crate::database::copies::compare::{Comparison, Difference};
use crate::database::copies::definition;
use crate::database::copies::journal::CopyCounts;
use crate::model::{AttributeValue, KeySchema};

const AFTER_HELP: &str = "\
A table is [PLACE/]TABLE:
  Orders                          of the data directory
  ./copy/Orders                   of another data directory
  http://127.0.0.1:8000/Orders    of the service there
  aws:Orders                      of DynamoDB, by the AWS configuration
  aws:eu-west-1/Orders            of DynamoDB in that region

Both tables are read once. Items that differ are read again, consistently, and
printed if they still differ:
  - KEY    only in A
  + KEY    only in B
  ~ KEY    in both, with the attributes of A and of B

Exit code: 0 same items, 1 different, 2 failure.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct DiffArgs {
    /// A table
    #[arg(value_name = "A")]
    one: String,
    /// The table to compare it with
    #[arg(value_name = "B")]
    two: String,
    /// Report only whether they differ; stops at the first difference
    #[arg(long, short = 'q')]
    brief: bool,
    /// Print each difference as a line of JSON
    #[arg(long, conflicts_with = "brief")]
    json: bool,
    #[command(flatten)]
    copy: CopyArgs,
}

pub fn run(args: &DiffArgs) -> Result<CommandResult, CliError> {
    // A location that cannot be read is told of before any data directory is opened.
    let read = copy_commands::check_location(&args.one)
        .and_then(|()| copy_commands::check_location(&args.two));
    let found = read.and_then(|()| copy_commands::locate(&args.one, &args.copy, None));
    let found = found.and_then(|one| {
        let two = copy_commands::locate(&args.two, &args.copy, Some(&one))?;
        Ok([one, two])
    });
    let compared = found.and_then(|found: [LocatedTable; 2]| compare(args, found));
    // As in diff(1), where 1 means that there are differences.
    compared.or_else(|error| {
        warn(format_args!("ddbfs: {error}"));
        Ok(CommandResult::Trouble)
    })
}

fn compare(args: &DiffArgs, found: [LocatedTable; 2]) -> Result<CommandResult, CliError> {
    let sides = found.each_ref().map(|found| found.side.clone());
    let tables = [
        definition::existing(&sides[0])?,
        definition::existing(&sides[1])?,
    ];
    let key = tables[0].schema.key.clone();
    if key != tables[1].schema.key {
        let text = format!(
            "{} and {} have different keys: their items cannot be compared",
            sides[0].name, sides[1].name
        );
        return Err(CliError::Message(text));
    }
    // Only reads of a service are paid for.
    let of_service = |place: usize| {
        if sides[place].name.contains("://") {
            tables[place].table_size_bytes as f64
        } else {
            0.0
        }
    };
    let estimate = CopyCounts::of_scan(of_service(0) + of_service(1));
    let cost = args.copy.read_cost()?;
    cost.confirm(&estimate, &args.copy)?;
    let bar = Arc::new(ProgressLine::of_items(
        tables[0].item_count + tables[1].item_count,
        0,
    ));
    let tally = copy_commands::tally(&bar, &cost, move || {
        found.iter().for_each(LocatedTable::release_pages);
    })?;
    let comparison = Comparison {
        sides,
        key,
        segments: args.copy.segments,
        progress: &tally,
    };
    // Counts of items only in A, only in B, in both.
    let (mut counts, mut printed) = ([0_u64; 3], Ok(()));
    let outcome = comparison.run(&mut |difference| {
        counts[match &difference.items {
            [Some(_), None] => 0,
            [None, _] => 1,
            [Some(_), Some(_)] => 2,
        }] += 1;
        if args.brief {
            return ControlFlow::Break(());
        }
        bar.finish();
        printed = if args.json {
            print_bytes(json_line(&comparison.key, difference).as_bytes())
        } else {
            print_text(&text(&comparison.key, difference))
        };
        if printed.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    bar.finish();
    outcome?;
    printed?;
    let [one, two] = &comparison.sides;
    let same = counts == [0; 3];
    if args.brief && !same {
        print_line!("{} and {} differ", one.name, two.name)?;
    } else if !same {
        let [removed, added, changed] = counts;
        warn(format_args!(
            "{} only in {}, {} only in {}, {} different",
            HumanCount(removed),
            one.name,
            HumanCount(added),
            two.name,
            HumanCount(changed)
        ));
    }
    Ok(CommandResult::done_if(same))
}

/// Formats the key, its partition key first.
fn key_line(schema: &KeySchema, difference: &Difference) -> String {
    let first = schema.names();
    plain_json::line(&difference.key.to_item(schema), &first)
}

fn text(schema: &KeySchema, difference: &Difference) -> String {
    let key = key_line(schema, difference);
    let sign = match &difference.items {
        [Some(_), None] => '-',
        [None, _] => '+',
        [Some(_), Some(_)] => '~',
    };
    let mut text = format!("{sign} {key}\n");
    if sign == '~' {
        for (name, values) in difference.attributes() {
            for (sign, value) in ["-", "+"]
                .iter()
                .zip(values)
                .filter_map(|(sign, of)| of.map(|of| (sign, plain_json::value(of))))
            {
                // Writing to a string does not fail.
                let _ = writeln!(text, "    {sign} {}: {value}", Value::from(name));
            }
        }
    }
    text
}

fn json_line(schema: &KeySchema, difference: &Difference) -> String {
    let key = key_line(schema, difference);
    match &difference.items {
        [Some(_), None] => format!("{{\"only_in\":\"A\",\"key\":{key}}}\n"),
        [None, _] => format!("{{\"only_in\":\"B\",\"key\":{key}}}\n"),
        [Some(_), Some(_)] => {
            let sides = |[one, two]: [Option<&AttributeValue>; 2]| {
                let sides = [("A", one), ("B", two)]
                    .into_iter()
                    .filter_map(|(side, of)| {
                        Some(format!("\"{side}\":{}", plain_json::value(of?)))
                    });
                sides.collect::<Vec<_>>().join(",")
            };
            let attributes = difference.attributes();
            let attributes = attributes
                .iter()
                .map(|(name, values)| format!("{}:{{{}}}", Value::from(*name), sides(*values)));
            format!(
                "{{\"key\":{key},\"attributes\":{{{}}}}}\n",
                attributes.collect::<Vec<_>>().join(",")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::{KeyAttribute, KeyAttributeType};
    use crate::model::{Item, Key};

    #[test]
    fn differences_are_told_with_all_digits() {
        let schema = KeySchema {
            partition: KeyAttribute {
                name: "k".to_owned(),
                attribute_type: KeyAttributeType::S,
            },
            sort: None,
        };
        let item = |text: &str| plain_json::parse(text.as_bytes()).ok();
        let check = |one: Option<Item>, two: Option<Item>, told: &str, as_json: &str| {
            let key = Key {
                partition: AttributeValue::S("a \"b\"".to_owned()),
                sort: None,
            };
            let difference = Difference {
                key,
                items: [one, two],
            };
            assert_eq!(
                (
                    text(&schema, &difference).as_str(),
                    json_line(&schema, &difference).as_str()
                ),
                (told, as_json)
            );
        };
        check(
            item("{}"),
            None,
            "- {\"k\":\"a \\\"b\\\"\"}\n",
            "{\"only_in\":\"A\",\"key\":{\"k\":\"a \\\"b\\\"\"}}\n",
        );
        check(
            None,
            item("{}"),
            "+ {\"k\":\"a \\\"b\\\"\"}\n",
            "{\"only_in\":\"B\",\"key\":{\"k\":\"a \\\"b\\\"\"}}\n",
        );
        check(
            item(r#"{"n":12345678901234567890123456789012345678,"m":{"x":[1]}}"#),
            item(r#"{"n":12345678901234567890123456789012345679,"é":null}"#),
            "~ {\"k\":\"a \\\"b\\\"\"}\n    - \"m\": {\"x\":[1]}\n    - \"n\": 12345678901234567890123456789012345678\n    \
             + \"n\": 12345678901234567890123456789012345679\n    + \"é\": null\n",
            "{\"key\":{\"k\":\"a \\\"b\\\"\"},\"attributes\":{\"m\":{\"A\":{\"x\":[1]}},\"n\":{\"A\":12345678901234567890123456789012345678,\
             \"B\":12345678901234567890123456789012345679},\"é\":{\"B\":null}}}\n",
        );
    }
}
