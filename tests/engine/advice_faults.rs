//! Generated data sets with a known fault each, and what advice says of them: the fault, and nothing else. Of healthy ones it says nothing.

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::inspect::advice::{Advice, AdviceLevel, TableFacts, advise, subject};
use ddbfs::model::api::ConditionParameter;
use ddbfs::model::{Error, Item};
use ddbfs::protocol;
use serde_json::json as value;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;

/// A data set, and for each point of advice its level, subject and a part of its sentence.
struct Row {
    name: &'static str,
    make: fn() -> Bed,
    told: &'static [(AdviceLevel, &'static str, &'static str)],
}

#[test]
fn s_08_each_fault_is_named_and_nothing_else() {
    let mut wrong = Vec::new();
    for Row { name, make, told } in ROWS {
        let bed = make();
        let facts = TableFacts::read(&bed.database, &table("Tab"))
            .unwrap()
            .unwrap();
        let found: Vec<_> = advise(&facts)
            .into_iter()
            .filter(|advice| advice.level != AdviceLevel::Note)
            .collect();
        let is_told = |(advice, (level, expected, part)): (&Advice, &(AdviceLevel, &str, &str))| {
            let about = subject(&table("Tab"), advice.index.as_ref());
            (advice.level, about.as_str()) == (*level, *expected) && advice.finding.contains(part)
        };
        if found.len() != told.len() || !found.iter().zip(*told).all(is_told) {
            wrong.push(format!("{name}: {found:#?}\n{told:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

const ROWS: &[Row] = &[
    Row {
        name: "healthy control",
        make: control,
        told: &[],
    },
    Row {
        name: "nothing in it",
        make: || Bed::new("pk:S sk:S", &["G by-email email:S ALL"]),
        told: &[],
    },
    Row {
        name: "single table of six shapes",
        make: single_table,
        told: &[],
    },
    Row {
        name: "a sparse index that is a short list",
        make: short_list,
        told: &[],
    },
    Row {
        name: "low cardinality",
        make: low_cardinality,
        told: &[(
            AdviceLevel::Hint,
            "index by-status",
            "status has 3 distinct values over 400 entries: \"open\" 80 %, \"held\" 10 %, \"done\" 10 %. With 80 % on one value the index serves at most 1250 write units a second; on demand it begins with 4000.",
        )],
    },
    Row {
        name: "a dominant value",
        make: dominant,
        told: &[(
            AdviceLevel::Warning,
            "table Tab",
            "pk \"big\" takes 60 % of the write units of the last day: 600 of 1000. In its busiest second it took 600, 60 % of the 1000 that a partition gives. With this share the table serves at most 1667 write units a second.",
        )],
    },
    Row {
        name: "a date as partition key",
        make: dates,
        told: &[(
            AdviceLevel::Hint,
            "table Tab",
            "pk is a date: 20 values, from \"2023-03-01\" to \"2023-03-20\", over 600 entries; half of the values have 30 or fewer",
        )],
    },
    Row {
        name: "seconds since the epoch as partition key of an index",
        make: moments,
        told: &[(
            AdviceLevel::Hint,
            "index by-second",
            "second is a time: 300 values, from \"1699999700\" to \"1699999999\", over 300 entries, about one each.",
        )],
    },
    Row {
        name: "a growing sequence",
        make: sequence,
        told: &[(
            AdviceLevel::Hint,
            "table Tab",
            "pk looks like a sequence number made by a database",
        )],
    },
    Row {
        name: "ids that grow with time",
        make: ulids,
        told: &[(
            AdviceLevel::Hint,
            "table Tab",
            "pk looks like a ULID, which grows with time, made by a database",
        )],
    },
    Row {
        name: "an unbounded collection",
        make: unbounded,
        told: &[(
            AdviceLevel::Warning,
            "table Tab",
            "Its fullest item collection, \"u0\" (`Tab/items/u0/`), has 44 items and 46.1 KB with its 1 local index: 46 % of the 100 KB that a collection may have here. In the last week it grew by 4.8 KB a day: full on 2023-12-05. Its oldest item is of 2023-11-14.",
        )],
    },
    Row {
        name: "wrong types in an index attribute",
        make: wrong_types,
        told: &[(
            AdviceLevel::Warning,
            "index by-price",
            "7 items are kept out of it by a value that cannot be its key, `Tab/items/",
        )],
    },
    Row {
        name: "an item of 300 KB among small ones",
        make: outlier,
        told: &[(
            AdviceLevel::Hint,
            "table Tab",
            "The largest item, `Tab/items/u7/huge.json`, has 300 KB, half of the items 39 bytes or fewer; 1 item has 16 KB or more: a write costs 301 units, a consistent read 76, and a page of a query is full with 4 of such.",
        )],
    },
    Row {
        name: "an item near 400 KB",
        make: near_full,
        told: &[(
            AdviceLevel::Warning,
            "table Tab",
            "1 item has 340 KB or more of the 400 KB that an item may have; the largest, `Tab/items/u7/huge.json`, has 390 KB:",
        )],
    },
    Row {
        name: "an index of everything",
        make: everything,
        told: &[(
            AdviceLevel::Hint,
            "index by-email",
            "All attributes are projected. An entry has 5040 bytes on average, and a change of it takes 5 write units. With KEYS_ONLY it has 30 bytes and takes 1.",
        )],
    },
    Row {
        name: "an index that no item is in",
        make: nobody_in,
        told: &[(
            AdviceLevel::Hint,
            "index by-mail",
            "0 of 400 items are in it: all of them lack mail.",
        )],
    },
    Row {
        name: "a hot key",
        make: hot_key,
        told: &[(
            AdviceLevel::Hint,
            "table Tab",
            "pk \"u7\" takes 64 % of the write units of the last day: 704 of 1100. In its busiest second it took 13, 1 % of the 1000 that a partition gives.",
        )],
    },
    Row {
        name: "a hot key that a partition can hardly hold",
        make: very_hot_key,
        told: &[(
            AdviceLevel::Warning,
            "table Tab",
            "In its busiest second it took 711, 71 % of the 1000 that a partition gives.",
        )],
    },
    Row {
        name: "throttled writes",
        make: throttled,
        told: &[(
            AdviceLevel::Warning,
            "table Tab",
            " throttle events in the last day: 0 of reads and ",
        )],
    },
    Row {
        name: "more provisioned than asked for",
        make: over_provisioned,
        told: &[
            (
                AdviceLevel::Hint,
                "table Tab",
                "took 6.7 of 500 provisioned write units a second, 1 %. Fewer would save 232.50 USD a month.",
            ),
            (
                AdviceLevel::Hint,
                "table Tab",
                " provisioned read units a second, 2 %. Fewer would save ",
            ),
        ],
    },
    Row {
        name: "less provisioned than asked for",
        make: under_provisioned,
        told: &[(
            AdviceLevel::Warning,
            "table Tab",
            "took 6.7 of 7 provisioned write units a second, 95 %.",
        )],
    },
    Row {
        name: "on demand where provisioned is cheaper",
        make: steady,
        told: &[(AdviceLevel::Hint, "table Tab", " USD on demand and ")],
    },
    Row {
        name: "an unused index",
        make: unused_index,
        told: &[(
            AdviceLevel::Hint,
            "index by-email",
            "No read of it since 2023-11-14T22:13Z; its writes took 400 of 800 write units, 50 %.",
        )],
    },
    Row {
        name: "wasteful scans",
        make: wasteful,
        told: &[(
            AdviceLevel::Hint,
            "table Tab",
            "Scans of table Tab evaluated 4000 items in the last day and returned 10: 400 read for each one returned. About 20 of the 20 read units that they took were for nothing.",
        )],
    },
];

/// As it is: an item of a user's, 100 users with 4 each.
fn order(n: u32) -> Item {
    json(&format!(
        r#""pk":"u{}","sk":"o{n}","email":"m{n}@example.com","total":{}"#,
        n % 100,
        n % 7
    ))
}

fn put_all(bed: &Bed, items: impl IntoIterator<Item = Item>) {
    items
        .into_iter()
        .for_each(|item| drop(put(&bed.database, "Tab", item).unwrap()));
}

fn with(index: &[&str], items: impl IntoIterator<Item = Item>) -> Bed {
    let bed = Bed::new("pk:S sk:S", index);
    put_all(&bed, items);
    bed
}

/// An item of its own index attribute.
fn and(item: Item, more: &str) -> Item {
    let mut item = item;
    item.0.extend(json(more).0);
    item
}

/// Reads and writes spread over all users, an index that is read, units that are used.
fn control() -> Bed {
    let bed = with(&["G by-email email:S KEYS_ONLY"], (0..400).map(order));
    for n in 0..400 {
        get(
            &bed.database,
            "Tab",
            json(&format!(r#""pk":"u{}","sk":"o{n}""#, n % 100)),
        );
        let email = s(&format!("m{n}@example.com"));
        bed.database
            .query(&query_request(
                "Tab/by-email",
                "email = :e",
                &[(":e", email)],
            ))
            .unwrap();
        bed.clock.advance_ms(MINUTE_MS / 2);
    }
    bed
}

/// Users, their orders, products, orders of products, sessions, a counter: one table and one overloaded index.
fn single_table() -> Bed {
    let shapes = (0..200).flat_map(|n| {
        [
            format!(r#""pk":"USER#{n}","sk":"PROFILE","gsi1pk":"EMAIL#m{n}@example.com","gsi1sk":"USER#{n}""#),
            format!(
                r#""pk":"USER#{n}","sk":"ORDER#2026-03-{:02}#{n}","gsi1pk":"PRODUCT#{}","gsi1sk":"2026-03-{:02}""#,
                n % 28 + 1,
                n % 50,
                n % 28 + 1
            ),
            format!(r#""pk":"PRODUCT#{n}","sk":"META","price":{n}"#),
            format!(r#""pk":"SESSION#{n}","sk":"SESSION#{n}","expires":17000000{n:02}"#),
            format!(r#""pk":"ORDER#{n}","sk":"ITEM#1","gsi1pk":"PRODUCT#{}","gsi1sk":"ORDER#{n}""#, n % 50),
            format!(r#""pk":"COUNTER#{}","sk":"{n}","count":{n}"#, n % 40),
        ]
    });
    with(
        &["G gsi1 gsi1pk:S gsi1sk:S KEYS_ONLY"],
        shapes.map(|text| json(&text)),
    )
}

fn short_list() -> Bed {
    let flagged = |n: u32| {
        if n.is_multiple_of(50) {
            and(order(n), r#""flagged":"yes""#)
        } else {
            order(n)
        }
    };
    with(
        &["G by-flag flagged:S sk:S KEYS_ONLY"],
        (0..6000).map(flagged),
    )
}

fn low_cardinality() -> Bed {
    let status = |n: u32| {
        ["held", "done"]
            .get(n as usize % 10)
            .copied()
            .unwrap_or("open")
    };
    with(
        &["G by-status status:S sk:S KEYS_ONLY"],
        (0..400).map(|n| and(order(n), &format!(r#""status":"{}""#, status(n)))),
    )
}

fn dominant() -> Bed {
    let big = (0..600).map(|n| json(&format!(r#""pk":"big","sk":"{n}""#)));
    with(&[], (0..400).map(order).chain(big))
}

fn dates() -> Bed {
    let of_day = |n: u32| json(&format!(r#""pk":"2023-03-{:02}","sk":"{n}""#, n % 20 + 1));
    with(&[], (0..600).map(of_day))
}

fn moments() -> Bed {
    let second = |n: u32| {
        and(
            order(n),
            &format!(r#""second":{}"#, NOW_MS / 1000 - 1 - u64::from(n)),
        )
    };
    with(&["G by-second second:N KEYS_ONLY"], (0..300).map(second))
}

fn keyed(pk: fn(u32) -> String) -> Bed {
    let bed = Bed::with(
        definition("Tab", "pk:S", &["G by-email email:S KEYS_ONLY"]),
        |options| options,
    );
    put_all(
        &bed,
        (0..300).map(|n| json(&format!(r#""pk":"{}","email":"m{n}@example.com""#, pk(n)))),
    );
    bed
}

fn sequence() -> Bed {
    keyed(|n| (1_000_000 + n).to_string())
}

fn ulids() -> Bed {
    keyed(|n| format!("01HF7YAT{n:03}0TSV4RRFFQ69G5F"))
}

/// 4 KB a day, and as much again in the local index, where a collection may have 100 KB.
fn unbounded() -> Bed {
    let limit = |options| EngineOptions {
        collection_bytes_max: 100 * 1024,
        ..options
    };
    let bed = Bed::with(
        definition("Tab", "pk:S sk:S", &["L by-at at:S KEYS_ONLY"]),
        limit,
    );
    put_all(
        &bed,
        (0..800).map(|n| and(order(n), &format!(r#""at":"{n}""#))),
    );
    for n in 0..36 {
        let text = "x".repeat(1024);
        put_all(
            &bed,
            [json(&format!(
                r#""pk":"u0","sk":"n{n}","at":"{n}","text":"{text}""#
            ))],
        );
        bed.clock.advance_ms(DAY_MS / 4);
    }
    bed
}

fn wrong_types() -> Bed {
    let price = |n: u32| {
        if n % 50 == 7 {
            format!(r#""price":"{n}""#)
        } else {
            format!(r#""price":{n}"#)
        }
    };
    let bed = with(&[], (0..350).map(|n| and(order(n), &price(n))));
    let create = value!({
        "TableName": "Tab",
        "AttributeDefinitions": [{ "AttributeName": "price", "AttributeType": "N" }],
        "GlobalSecondaryIndexUpdates": [{ "Create": {
            "IndexName": "by-price",
            "KeySchema": [{ "AttributeName": "price", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "KEYS_ONLY" }
        }}]
    });
    protocol::call("UpdateTable", create, &bed.database, "localhost").unwrap();
    (0..20).for_each(|_| bed.background());
    bed
}

fn sized(bytes: usize) -> Bed {
    let bed = with(&[], (0..400).map(order));
    put_all(
        &bed,
        [Item::from([
            ("pk", s("u7")),
            ("sk", s("huge")),
            ("text", x(bytes)),
        ])],
    );
    bed
}

fn outlier() -> Bed {
    sized(300 * 1024)
}

fn near_full() -> Bed {
    sized(390 * 1024)
}

fn everything() -> Bed {
    let large = |n| and(order(n), &format!(r#""text":"{}""#, "x".repeat(5000)));
    with(&["G by-email email:S ALL"], (0..120).map(large))
}

fn nobody_in() -> Bed {
    with(&["G by-mail mail:S KEYS_ONLY"], (0..400).map(order))
}

/// Writes one user's item again and again, ten times a second.
fn hot_key() -> Bed {
    let bed = with(&[], (0..400).map(order));
    for n in 0..700 {
        bed.clock.advance_ms(100);
        put_all(&bed, [and(order(7), &format!(r#""total":{n}"#))]);
    }
    bed
}

/// 350 times a second, two units each.
fn very_hot_key() -> Bed {
    let bed = with(&[], (0..400).map(order));
    bed.clock.advance_ms(1_000);
    put_all(
        &bed,
        (0..350).map(|n| {
            and(
                order(7),
                &format!(r#""n":{n},"text":"{}""#, "x".repeat(1_200)),
            )
        }),
    );
    put_all(&bed, (0..1000).map(order));
    bed
}

fn provision(read: u64, write: u64) -> Bed {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:S", &[]), read, write),
        |options| options,
    );
    put_all(&bed, (0..400).map(order));
    (0..400).for_each(|n| {
        drop(get(
            &bed.database,
            "Tab",
            json(&format!(r#""pk":"u{}","sk":"o{n}""#, n % 100)),
        ))
    });
    bed.clock.advance_ms(120 * MINUTE_MS);
    bed
}

fn over_provisioned() -> Bed {
    provision(200, 500)
}

fn under_provisioned() -> Bed {
    provision(10, 7)
}

fn throttled() -> Bed {
    let change = |options| EngineOptions {
        throttle: Some(ThrottleOptions::new(true)),
        ..options
    };
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:S", &[]), 1, 1),
        change,
    );
    for n in 0..500 {
        match put(&bed.database, "Tab", order(n % 400)) {
            Ok(_) | Err(Error::Throttled(_)) => bed.clock.advance_ms(20),
            Err(other) => panic!("{other:?}"),
        }
    }
    bed
}

/// 150 units every half minute.
fn steady() -> Bed {
    let bed = Bed::new("pk:S sk:S", &[]);
    for n in 0..150 {
        put_all(
            &bed,
            [Item::from([
                ("pk", s(&format!("u{n}"))),
                ("sk", s("o")),
                ("text", x(150 * 1024)),
            ])],
        );
        bed.clock.advance_ms(MINUTE_MS / 2);
    }
    bed
}

fn unused_index() -> Bed {
    let bed = with(&["G by-email email:S KEYS_ONLY"], (0..400).map(order));
    (0..400).for_each(|n| {
        drop(get(
            &bed.database,
            "Tab",
            json(&format!(r#""pk":"u{}","sk":"o{n}""#, n % 100)),
        ))
    });
    bed
}

/// A filter that one item passes.
fn wasteful() -> Bed {
    let bed = with(&[], (0..400).map(order));
    for _ in 0..10 {
        let mut request = scan_request("Tab");
        request.filter = ConditionParameter::Expression("email = :e".to_owned());
        request.placeholders = placeholders(&[], &[(":e", s("m9@example.com"))]);
        assert_eq!(bed.database.scan(&request).unwrap().items.unwrap().len(), 1);
    }
    bed
}

#[test]
fn s_08_of_the_sample_tables_only_the_anti_pattern_is_named() {
    let database = samples();
    let mut told = Vec::new();
    for (request, _) in sample_tables() {
        let facts = TableFacts::read(&database, &request.table_name)
            .unwrap()
            .unwrap();
        told.extend(
            advise(&facts)
                .into_iter()
                .map(|advice| (request.table_name.to_string(), advice.level, advice.finding)),
        );
    }
    let sequence = "TransactionID looks like a sequence number made by a database. An index finds items by something else, and no request reads the table by its key.";
    assert_eq!(
        told,
        [(
            "OrdersBySequence".to_owned(),
            AdviceLevel::Hint,
            sequence.to_owned()
        )]
    );
}
