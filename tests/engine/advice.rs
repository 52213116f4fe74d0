//! The design advisor: each rule on data that it is for, and silence on data that it is not (docs/requirements.md S-08).

use crate::support::mounted::{create_table, memory, put};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::inspect::advice::{Advice, AdviceLevel, TableFacts, advise, markdown, subject};
use ddbfs::model::TableName;
use ddbfs::model::api::{PutItemRequest, TimeToLiveSpecification, UpdateTimeToLiveRequest};
use std::sync::Arc;

fn facts(database: &LocalDatabase, table: &str) -> TableFacts {
    TableFacts::read(database, &TableName::new(table).unwrap())
        .unwrap()
        .unwrap()
}

/// A table `T` of these keys (`pk:S sk:N`), with index definitions and billing as CreateTable has them.
fn table(keys: &str, more: &str) -> Arc<LocalDatabase> {
    let database = memory();
    let definition = |word: &str| {
        word.split_once(':')
            .map(|(name, t)| format!(r#"{{"AttributeName":"{name}","AttributeType":"{t}"}}"#))
    };
    let definitions: Vec<String> = keys.split(' ').filter_map(definition).collect();
    let schema = [("pk", "HASH"), ("sk", "RANGE")]
        .iter()
        .filter(|(name, _)| keys.contains(&format!("{name}:")));
    let schema: Vec<String> = schema
        .map(|(name, key_type)| format!(r#"{{"AttributeName":"{name}","KeyType":"{key_type}"}}"#))
        .collect();
    let billing = if more.contains("ProvisionedThroughput") {
        ""
    } else {
        r#","BillingMode":"PAY_PER_REQUEST""#
    };
    let json = format!(
        r#"{{"TableName":"T00","AttributeDefinitions":[{}],"KeySchema":[{}]{billing}{more}}}"#,
        definitions.join(","),
        schema.join(",")
    );
    create_table(&*database, &json);
    database
}

fn global(key: &str, projection: &str, more: &str) -> String {
    format!(
        r#","GlobalSecondaryIndexes":[{{"IndexName":"by-{key}","KeySchema":[{{"AttributeName":"{key}","KeyType":"HASH"}}],"Projection":{{"ProjectionType":"{projection}"}}{more}}}]"#
    )
}

/// The findings of one rule, by a word of its rule text.
fn found(database: &LocalDatabase, rule: &str) -> Vec<(AdviceLevel, String, String)> {
    let of_rule = |advice: &Advice| advice.rule.contains(rule);
    advise(&facts(database, "T00"))
        .into_iter()
        .filter(of_rule)
        .map(|advice| {
            let subject = subject(&TableName::new("T00").unwrap(), advice.index.as_ref());
            (advice.level, subject, advice.finding)
        })
        .collect()
}

fn one(level: AdviceLevel, subject: &str, finding: &str) -> Vec<(AdviceLevel, String, String)> {
    vec![(level, subject.to_owned(), finding.to_owned())]
}

/// Values take up to a hundred times what their items do.
#[test]
fn a_sample_takes_bounded_memory() {
    let database = table("pk:S", "");
    let nulls = vec!["null"; 100_000].join(",");
    (0..30).for_each(|n| {
        put(
            &*database,
            "T00",
            &format!(r#"{{"pk":"c{n}","v":[{nulls}]}}"#),
        )
    });
    let sampled = facts(&database, "T00").sample.len();
    assert!((2..8).contains(&sampled), "{sampled}");
}

#[test]
fn p_24_t_16_few_values_of_a_partition_key() {
    let database = table("pk:S sk:N country:S", &global("country", "KEYS_ONLY", ""));
    for n in 0..300 {
        let country = if n % 3 == 0 { "FRA" } else { "USA" };
        put(
            &*database,
            "T00",
            &format!(r#"{{"pk":"c{n}","sk":1,"country":"{country}"}}"#),
        );
    }
    let expected = "country has 2 distinct values over 300 entries: \"USA\" 67 %, \"FRA\" 33 %. With 67 % on one value the index serves at most 1500 write units a second; on demand it begins with 4000.";
    assert_eq!(
        found(&database, "P-24"),
        one(AdviceLevel::Hint, "index by-country", expected)
    );
}

#[test]
fn t_21_d_06_3_one_value_has_much() {
    let database = table("pk:S sk:N", "");
    for n in 0..300 {
        let pk = if n % 4 == 0 {
            "USA".to_owned()
        } else {
            format!("other{}", n % 100)
        };
        put(&*database, "T00", &format!(r#"{{"pk":"{pk}","sk":{n}}}"#));
    }
    let expected = "pk \"USA\" has 25 % of the entries: 75 of 300; half of the values have 3 or fewer, the largest has 75, 25 % of all. With 25 % on one value the table serves at most 4000 write units a second; on demand it begins with 4000.";
    assert_eq!(
        found(&database, "T-21"),
        one(AdviceLevel::Hint, "table T00", expected)
    );
}

#[test]
fn t_18_a_sequence_as_key_with_an_index() {
    let check = |keys: [&str; 3], expected: &str| {
        let database = table("pk:S a:S", &global("a", "KEYS_ONLY", ""));
        for pk in keys {
            put(&*database, "T00", &format!(r#"{{"pk":"{pk}","a":"x"}}"#));
        }
        let findings = found(&database, "T-18");
        assert_eq!(
            findings.len(),
            usize::from(!expected.is_empty()),
            "{keys:?}: {findings:?}"
        );
        assert!(
            findings
                .iter()
                .all(|(level, _, text)| *level == AdviceLevel::Hint && text.contains(expected)),
            "{findings:?}"
        );
    };
    check(
        ["1111111", "1111112", "1111113"],
        "looks like a sequence number",
    );
    let uuids = [
        "6f1ed002-ab50-4e6a-9d35-4a1a0a9b7d11",
        "0f1ed002-ab50-4e6a-9d35-4a1a0a9b7d12",
        "af1ed002-ab50-4e6a-9d35-4a1a0a9b7d13",
    ];
    check(uuids, "looks like a UUID");
    check(["a@example.com", "b@example.com", "c@example.com"], "");
    check(["49211234567", "33144556677", "15551234567"], "");
}

#[test]
fn g_46_m_26_an_index_with_less_write_capacity_than_its_table() {
    let throughput = |units: u64| {
        format!(
            r#","ProvisionedThroughput":{{"ReadCapacityUnits":5,"WriteCapacityUnits":{units}}}"#
        )
    };
    let check =
        |index: u64, expected: &[&str]| {
            let database = table(
                "pk:S a:S",
                &format!(
                    "{}{}",
                    throughput(10),
                    global("a", "ALL", &throughput(index))
                ),
            );
            let findings: Vec<String> = found(&database, "G-46")
                .into_iter()
                .map(|(_, _, text)| text)
                .collect();
            assert_eq!(findings, expected);
            let remedies: Vec<String> = advise(&facts(&database, "T00"))
                .into_iter()
                .map(|advice| advice.remedy)
                .collect();
            assert_eq!(
                remedies.iter().any(|text| text
                    == "Set at least 10 write units in `T00/schema.json`; 15 to build it."),
                !expected.is_empty()
            );
        };
    check(
        4,
        &[
            "It has 4 write units a second, the table 10. If the table uses all of them, the index needs 10.",
        ],
    );
    check(10, &[]);
}

#[test]
fn g_19_to_g_22_what_a_projection_costs() {
    let check = |projection: &str, expected: Option<AdviceLevel>| {
        let database = table("pk:S a:S", &global("a", projection, ""));
        for n in 0..10 {
            put(
                &*database,
                "T00",
                &format!(r#"{{"pk":"p{n}","a":"x","text":"{}"}}"#, "t".repeat(3000)),
            );
        }
        let findings = found(&database, "G-19");
        assert_eq!(
            findings.first().map(|finding| finding.0),
            expected,
            "{findings:?}"
        );
        if expected.is_some() {
            let bytes = "An entry has 3010 bytes on average, and a change of it takes 3 write units. With KEYS_ONLY it has 6 bytes and takes 1.";
            assert!(findings[0].2.contains(bytes), "{findings:?}");
            assert!(
                findings[0]
                    .2
                    .contains("KEYS_ONLY would save 30040 of 31100 bytes"),
                "{findings:?}"
            );
        }
        let arms = if expected.is_some() {
            "6 write units: table 3, by-a 3"
        } else {
            "4 write units: table 3, by-a 1"
        };
        let text = markdown(&facts(&database, "T00"));
        assert!(
            text.contains(&format!("\n- A new item of mean size costs {arms}.\n")),
            "{text}"
        );
    };
    check("ALL", Some(AdviceLevel::Hint));
    check("KEYS_ONLY", None);
}

#[test]
fn g_13_empty_and_sparse_indexes() {
    let check = |with: u64, expected: Option<(AdviceLevel, &str)>| {
        let database = table("pk:S a:S", &global("a", "KEYS_ONLY", ""));
        for n in 0..10 {
            let a = if n < with { r#","a":"x""# } else { "" };
            put(&*database, "T00", &format!(r#"{{"pk":"p{n}"{a}}}"#));
        }
        let findings = found(&database, "G-13");
        assert_eq!(
            findings
                .first()
                .map(|(level, _, text)| (*level, text.as_str())),
            expected
        );
        // What does not enter the index pays nothing for it.
        let cost = match with {
            0 => "table 1.".to_owned(),
            some => format!("table 1; 1 more for the {some}0 % of the items that are in by-a."),
        };
        let text = markdown(&facts(&database, "T00"));
        assert!(
            text.contains(&format!(
                "\n- A new item of mean size costs 1 write unit: {cost}\n"
            )),
            "{text}"
        );
        let sparse = if with == 2 {
            "2 of 10 items are in it, a sparse index, cheap to read whole;"
        } else {
            " of 10 items are in it;"
        };
        assert!(text.contains(sparse), "{text}");
    };
    check(
        0,
        Some((
            AdviceLevel::Hint,
            "0 of 10 items are in it: all of them lack a.",
        )),
    );
    check(2, None);
    check(9, None);
}

#[test]
fn l_41_l_42_collections_beside_a_local_index() {
    let local = r#","LocalSecondaryIndexes":[{"IndexName":"by-a","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"a","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]"#;
    let database = table("pk:S sk:S a:S", local);
    for n in 0..3 {
        put(
            &*database,
            "T00",
            &format!(r#"{{"pk":"u","sk":"{n}","a":"x"}}"#),
        );
    }
    // 3 items and 3 entries of 8 bytes, and 100 bytes beside each.
    assert_eq!(found(&database, "L-42"), []);
    let fullest = "Its fullest item collection, \"u\" (`T00/items/u/`), has 3 items and 648 bytes with its 1 local index: ";
    let text = markdown(&facts(&database, "T00"));
    assert!(
        text.contains(&format!("\n- {fullest}0 % of the 10 GB that a collection may have here. All of it was written on ")),
        "{text}"
    );
    let mut small = facts(&database, "T00");
    for (bytes_max, level, end) in [
        (
            720,
            AdviceLevel::Warning,
            "90 % of the 720 bytes that a collection may have here. All of it was",
        ),
        (2048, AdviceLevel::Hint, "31 % of the 2 KB that"),
        (
            648,
            AdviceLevel::Warning,
            "here. It is full: every write that makes it larger is refused.",
        ),
    ] {
        small.growth.as_mut().unwrap().bytes_max = bytes_max;
        let finding = advise(&small)
            .into_iter()
            .find(|advice| advice.rule.contains("L-42"))
            .unwrap();
        assert_eq!(finding.level, level);
        assert!(
            finding.finding.starts_with(fullest) && finding.finding.contains(end),
            "{finding:?}"
        );
    }
}

#[test]
fn t_09_write_units_need_values_to_go_to() {
    let check = |units: u64, expected: &[&str]| {
        let throughput = format!(
            r#","ProvisionedThroughput":{{"ReadCapacityUnits":5,"WriteCapacityUnits":{units}}}"#
        );
        let findings: Vec<String> = found(&table("pk:S", &throughput), "T-09")
            .into_iter()
            .map(|(_, _, text)| text)
            .collect();
        assert_eq!(findings, expected);
    };
    check(1000, &[]);
    check(
        4500,
        &[
            "4500 write units a second are provisioned. At 0 bytes an item they need writes to at least 5 values of pk at the same time.",
        ],
    );
}

#[test]
fn the_report_is_markdown_with_the_points_by_weight() {
    let database = memory();
    for (request, items) in sample_tables() {
        let table = request.table_name.clone();
        database.create_table(request).unwrap();
        for item in items {
            database
                .put_item(PutItemRequest::new(table.clone(), item))
                .unwrap();
        }
    }
    let text = markdown(&facts(&database, "OrdersBySequence"));
    assert!(
        text.starts_with("# Advice for OrdersBySequence\n\n3 items, 198 bytes, 3 values of TransactionID, 1 index, on-demand.\n"),
        "{text}"
    );
    let (hints, facts_at) = (
        text.find("\n## Hints\n").unwrap(),
        text.find("\n## Facts\n").unwrap(),
    );
    assert!(
        hints < facts_at && !text.contains("## Warnings") && !text.contains("## Notes"),
        "{text}"
    );
    let empty = table("pk:S", "");
    assert!(markdown(&facts(&empty, "T00")).contains("Nothing to say"));
    assert_eq!(
        TableFacts::read(&*empty, &TableName::new("Gone").unwrap())
            .unwrap()
            .map(|_| ()),
        None
    );
}

/// `rmdir` of a local index is EPERM.
#[test]
fn l_08_a_local_index_is_not_removed() {
    let local = r#","LocalSecondaryIndexes":[{"IndexName":"by-a","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"a","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]"#;
    let database = table("pk:S sk:S a:S", local);
    for n in 0..10 {
        let text = "t".repeat(3000);
        let item = format!(r#"{{"pk":"u{n}","sk":"s","a":"x","text":"{text}"}}"#);
        put(&*database, "T00", &item);
    }
    let all = advise(&facts(&database, "T00"));
    let of_projection = all.iter().find(|advice| advice.rule.contains("G-19"));
    let remedy = &of_projection.unwrap().remedy;
    assert!(
        remedy.contains("made and deleted with its table only") && !remedy.contains("rmdir"),
        "{remedy}"
    );
}

/// Items with times this many seconds from now, in an attribute.
fn with_times(attribute: &str, unit: i64, from_now: impl Fn(i64) -> i64) -> Arc<LocalDatabase> {
    let database = table("pk:S", "");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    for n in 0..40 {
        let time = (i64::try_from(now).unwrap() + from_now(n)) * unit;
        put(
            &*database,
            "T00",
            &format!(r#"{{"pk":"u{n}","{attribute}":{time},"name":"x"}}"#),
        );
    }
    database
}

#[test]
fn time_to_live_that_is_off_is_noted_with_the_items_that_are_over() {
    let off = "docs/dynamodb.md 16";
    let database = with_times("expires_at", 1, |n| n * 3600 - 36_000 + 60);
    let notes: Vec<Advice> = advise(&facts(&database, "T00"));
    let note = notes
        .iter()
        .find(|advice| advice.rule.contains(off))
        .unwrap();
    assert_eq!(
        (note.level, note.finding.as_str(), note.remedy.as_str()),
        (
            AdviceLevel::Note,
            "expires_at looks like an expiry, and time to live is off: 10 of 40 items are over.",
            "`echo enable expires_at > T00/ttl` turns it on and deletes 10 items at once."
        )
    );
    // Items that are over for longer than five years stay.
    let years = 365 * 86_400;
    let old = with_times("ttl", 1, |n| if n == 0 { -6 * years } else { years });
    assert!(found(&old, off)[0].2.contains("off: 0 of 40 items"));

    // It is on.
    let request = UpdateTimeToLiveRequest {
        table_name: TableName::new("T00").unwrap(),
        specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "expires_at".to_owned(),
        },
    };
    database.update_time_to_live(request).unwrap();
    assert_eq!(found(&database, off), []);
    // Times of the past that are no expiry, milliseconds, durations, texts.
    for (attribute, unit) in [
        ("createdAt", 1),
        ("updated_at", 1),
        ("expiresAt", 1000),
        ("battle", 1),
    ] {
        assert_eq!(
            found(&with_times(attribute, unit, |n| -n), off),
            [],
            "{attribute}"
        );
    }
    let durations = table("pk:S", "");
    put(
        &*durations,
        "T00",
        r#"{"pk":"a","ttl":3600,"expires":"1767225600","exp":null,"expiry; rm x":1767225600}"#,
    );
    assert_eq!(found(&durations, off), []);
}

#[test]
fn items_that_expire_are_found_behind_those_that_do_not() {
    let database = table("pk:S sk:S", "");
    for n in 0..1_500 {
        let item = format!(r#"{{"pk":"u","sk":"ORDER#{n}"}}"#);
        put(&*database, "T00", &item);
    }
    let session = r#"{"pk":"u","sk":"SESSION#1","expiresAt":1}"#;
    let now = facts(&database, "T00").description.at_ms / 1000;
    put(
        &*database,
        "T00",
        &session.replace(":1}", &format!(":{}}}", now - 60)),
    );
    let notes = found(&database, "docs/dynamodb.md 16");
    assert!(notes[0].2.contains("off: 1 of 1501 items"), "{notes:?}");
}

#[test]
fn nothing_to_say_is_said_only_alone() {
    let throughput =
        r#","ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":4500}"#;
    let text = markdown(&facts(&table("pk:S", throughput), "T00"));
    assert!(
        text.contains("\n## Notes\n") && !text.contains("Nothing to say"),
        "{text}"
    );
}
