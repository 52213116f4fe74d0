//! A corpus of generated tables: with a known fault each, and what must be said first; healthy ones, of which no warning may be said
//! at any size. The larger sizes are ignored: `cargo test --test engine -- --ignored corpus`.

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::database::{Browse, Database};
use ddbfs::engine::EngineOptions;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::inspect::advice::{Advice, AdviceLevel, TableFacts, advise, markdown};
use ddbfs::model::Item;
use ddbfs::model::api::{
    BatchWriteItemRequest, Call, CallContext, Completion, ConditionParameter, CreateTableRequest,
    ReturnConsumedCapacity, TableWrites, WriteRequest,
};
use ddbfs::model::error::Error;
use ddbfs::model::metrics::Period;

const SIZES: [u32; 3] = [100, 1_000, 5_000];
const LARGE: [u32; 2] = [20_000, 300_000];
const MINUTE_MS: u64 = 60_000;

fn on_demand(keys: &str, indexes: &[&str]) -> CreateTableRequest {
    definition("Tab", keys, indexes)
}

fn bed(table: CreateTableRequest) -> Bed {
    Bed::with(table, |options| options)
}

/// Writes items as `ddbfs load` does: as a bulk load, which is no traffic.
fn load(bed: &Bed, items: impl IntoIterator<Item = Item>) {
    let items: Vec<Item> = items.into_iter().collect();
    for batch in items.chunks(25) {
        let requests = batch.iter().cloned().map(WriteRequest::Put).collect();
        let request = BatchWriteItemRequest {
            request_items: vec![TableWrites {
                table_name: table("Tab"),
                requests,
            }],
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Completion::new(CallContext::bulk(), move |outcome| {
            drop(sender.send(outcome))
        });
        bed.database.start(Call::BatchWriteItem(request, done));
        receiver.recv().unwrap().unwrap();
    }
}

fn loaded(table: CreateTableRequest, count: u32, item: impl Fn(u32) -> String) -> Bed {
    let bed = bed(table);
    load(&bed, (0..count).map(|n| json(&item(n))));
    bed
}

fn told(bed: &Bed) -> Vec<Advice> {
    advise(
        &TableFacts::read(&bed.database, &table("Tab"))
            .unwrap()
            .unwrap(),
    )
}

/// Distributes numbers as a hash does.
fn mixed(n: u32) -> u32 {
    n.wrapping_mul(2_654_435_761) >> 4
}

/// A healthy table of a size. No warning may be said, and none of these words.
struct Healthy {
    name: &'static str,
    make: fn(u32) -> Bed,
    unsaid: &'static [&'static str],
}

const HEALTHY: &[Healthy] = &[
    Healthy {
        name: "users with orders",
        make: |count| {
            loaded(
                on_demand("pk:S sk:S", &["G by-mail mail:S KEYS_ONLY"]),
                count,
                |n| {
                    format!(
                        r#""pk":"USER#{}","sk":"ORDER#{n}","mail":"m{n}@example.com""#,
                        mixed(n) % 997
                    )
                },
            )
        },
        unsaid: &["distinct value", "% of the entries"],
    },
    Healthy {
        name: "400 write shards, evenly spread",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 3_000, 40_000);
            loaded(units, count, |n| {
                format!(r#""pk":"INV#{}-{}","sk":"{n}""#, n % 40, n / 40 % 10)
            })
        },
        unsaid: &["distinct value", "% of the entries", "suffix of 1"],
    },
    Healthy {
        name: "500 tenants",
        make: |count| {
            loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"TENANT#{}","sk":"DOC#{n}""#, mixed(n) % 500)
            })
        },
        unsaid: &["distinct value"],
    },
    Healthy {
        name: "five tenants with provisioned units that one partition serves",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 50, 50);
            loaded(units, count, |n| format!(r#""pk":"T{}","sk":"{n}""#, n % 5))
        },
        unsaid: &[],
    },
    Healthy {
        name: "appointments by the day, all to come",
        make: |count| {
            loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(
                    r#""pk":"2024-{:02}-{:02}","sk":"{n}""#,
                    n % 12 + 1,
                    n / 12 % 28 + 1
                )
            })
        },
        unsaid: &["takes every write", "is a date"],
    },
    Healthy {
        name: "a sparse index of flagged items, with one value",
        make: |count| {
            loaded(
                on_demand("pk:S sk:S", &["G by-flag flag:S sk:S KEYS_ONLY"]),
                count,
                |n| {
                    let flag = if n % 50 == 0 { r#","flag":"yes""# } else { "" };
                    format!(r#""pk":"u{n}","sk":"{n}"{flag}"#)
                },
            )
        },
        unsaid: &["index by-flag serves"],
    },
    Healthy {
        name: "documents by UUID, read by key",
        make: |count| {
            let bed = loaded(on_demand("pk:S", &[]), count, |n| {
                format!(
                    r#""pk":"{:08x}-ab50-4e6a-9d35-4a1a0a9b7d11","text":"{}""#,
                    mixed(n),
                    "x".repeat(200)
                )
            });
            for n in 0..400 {
                let key = format!(
                    r#""pk":"{:08x}-ab50-4e6a-9d35-4a1a0a9b7d11""#,
                    mixed(n % count)
                );
                get(&bed.database, "Tab", json(&key));
                bed.clock.advance_ms(1_000);
            }
            bed
        },
        unsaid: &["looks like a UUID"],
    },
    Healthy {
        name: "an index with the write units that its few entries need",
        make: |count| {
            let mut units =
                provisioned(on_demand("pk:S", &["G by-flag flag:S KEYS_ONLY"]), 100, 100);
            for index in units.global_indexes.iter_mut().flatten() {
                index.throughput = units.throughput;
                if let Some(units) = &mut index.throughput {
                    units.write_capacity_units = 20;
                }
            }
            loaded(units, count, |n| {
                let flag = if n % 10 == 0 {
                    format!(r#","flag":"f{n}""#)
                } else {
                    String::new()
                };
                format!(r#""pk":"u{n}"{flag}"#)
            })
        },
        unsaid: &["write units a second, the table"],
    },
    Healthy {
        name: "three keys, asked for alike",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"k{}","sk":"{n}""#, n % 3)
            });
            for n in 0..1_200 {
                drop(put(
                    &bed.database,
                    "Tab",
                    json(&format!(r#""pk":"k{}","sk":"0""#, n % 3)),
                ));
                bed.clock.advance_ms(50);
            }
            bed
        },
        unsaid: &["takes 33 %"],
    },
    Healthy {
        name: "a table that was scanned once",
        make: |count| {
            let bed = loaded(on_demand("pk:S", &[]), count, |n| {
                format!(r#""pk":"{}""#, mixed(n))
            });
            scan_pages(&bed.database, scan_request("Tab"));
            bed
        },
        unsaid: &["Scans took"],
    },
];

fn check_healthy(sizes: &[u32]) {
    let mut wrong = Vec::new();
    for Healthy { name, make, unsaid } in HEALTHY {
        for size in sizes {
            let all = told(&make(*size));
            let is_bad = |advice: &&Advice| {
                advice.level == AdviceLevel::Warning
                    || unsaid.iter().any(|words| {
                        advice.level != AdviceLevel::Note && advice.finding.contains(words)
                            || advice.rule.contains(words)
                    })
            };
            wrong.extend(all.iter().filter(is_bad).map(|advice| {
                format!(
                    "{name}, {size} items: {}: {}",
                    advice.subject, advice.finding
                )
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn corpus_healthy_tables_get_no_warning() {
    check_healthy(&SIZES);
}

#[test]
#[ignore = "300,000 items take minutes"]
fn corpus_healthy_tables_get_no_warning_when_large() {
    check_healthy(&LARGE);
}

/// A table with a fault: the first point, and words that must not be said of it.
struct Faulty {
    name: &'static str,
    make: fn(u32) -> Bed,
    level: AdviceLevel,
    subject: &'static str,
    first: &'static str,
    unsaid: &'static str,
}

const FAULTY: &[Faulty] = &[
    Faulty {
        name: "two values in an index, 98 % in one",
        make: |count| {
            let units = provisioned(
                on_demand("pk:S", &["G by-status status:S KEYS_ONLY"]),
                100,
                4_000,
            );
            loaded(units, count, |n| {
                format!(
                    r#""pk":"{n}","status":"{}""#,
                    if n % 50 == 0 { "open" } else { "done" }
                )
            })
        },
        level: AdviceLevel::Warning,
        subject: "index by-status",
        first: "With 98 % on one value the index serves at most 1020 write units a second; 4000 are provisioned.",
        unsaid: "evenly",
    },
    Faulty {
        name: "one tenant with most of the items",
        make: |count| {
            loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                let tenant = if n % 10 < 7 { 0 } else { n };
                format!(r#""pk":"TENANT#{tenant}","sk":"{n}""#)
            })
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "pk \"TENANT#0\" has 70 % of the entries",
        unsaid: "looks like",
    },
    Faulty {
        name: "events by the day, all past",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 10, 5_000);
            loaded(units, count, |n| {
                format!(r#""pk":"2023-10-{:02}","sk":"{n}""#, n % 20 + 1)
            })
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "pk is a date: 20 values, from \"2023-10-01\" to \"2023-10-20\"",
        unsaid: "% of the entries:",
    },
    Faulty {
        name: "events by the minute",
        make: |count| {
            loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"2023-11-14T10:{:02}","sk":"{n}""#, n % 20)
            })
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "pk is a minute: 20 values, from \"2023-11-14T10:00\" to \"2023-11-14T10:19\"",
        unsaid: "is a date",
    },
    Faulty {
        name: "sequential ids with an index",
        make: |count| {
            loaded(
                on_demand("pk:S", &["G by-mail mail:S KEYS_ONLY"]),
                count,
                |n| format!(r#""pk":"{}","mail":"m{n}@example.com""#, 1_000_000 + n),
            )
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "pk looks like a sequence number made by a database.",
        unsaid: "is a time",
    },
    Faulty {
        name: "a key at the limit of its partition in a large table",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 100, 10_000);
            let bed = Bed::with(units, |options| EngineOptions {
                throttle: Some(ThrottleOptions::new(true)),
                ..options
            });
            load(
                &bed,
                (0..count.min(900)).map(|n| json(&format!(r#""pk":"u{n}","sk":"{n}""#))),
            );
            bed.clock.advance_ms(MINUTE_MS);
            for n in 0..2_400 {
                match put(
                    &bed.database,
                    "Tab",
                    json(&format!(r#""pk":"hot","sk":"{}""#, n % 50)),
                ) {
                    Ok(_) | Err(Error::Throttled(_)) => {}
                    Err(other) => panic!("{other:?}"),
                }
                if n % 1_200 == 1_199 {
                    bed.clock.advance_ms(1_000);
                }
            }
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "pk \"hot\" takes 100 % of the write units of the last day: 2000 of 2000. In its busiest second it took 1000, 100 % of the 1000 that a partition gives.",
        unsaid: "Set more",
    },
    Faulty {
        name: "a table of which one key is read",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"k{}","sk":"{n}""#, n % 3)
            });
            for n in 0..7_000 {
                get(
                    &bed.database,
                    "Tab",
                    json(&format!(
                        r#""pk":"k{}","sk":"0""#,
                        if n % 10 == 0 { 1 } else { 0 }
                    )),
                );
                bed.clock
                    .advance_ms(if n % 3_500 == 3_499 { 1_000 } else { 0 });
            }
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "pk \"k0\" takes 90 % of the read units of the last ",
        unsaid: "write units of the last",
    },
    Faulty {
        name: "a program that scans all, again and again",
        make: |count| {
            let bed = loaded(on_demand("pk:S", &[]), count, |n| {
                format!(r#""pk":"{}""#, mixed(n))
            });
            for _ in 0..30 {
                scan_pages(&bed.database, scan_request("Tab"));
            }
            bed
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "Scans took ",
        unsaid: "for nothing",
    },
    Faulty {
        name: "scans that throw nearly all away, beside a cheaper fault",
        make: |count| {
            let bed = loaded(
                on_demand("pk:S", &["G by-mail mail:S KEYS_ONLY"]),
                count,
                |n| format!(r#""pk":"{}","text":"{}""#, mixed(n), "x".repeat(300)),
            );
            for _ in 0..30 {
                let mut request = scan_request("Tab");
                request.filter = ConditionParameter::Expression("pk = :p".to_owned());
                request.placeholders = placeholders(&[], &[(":p", s("0"))]);
                scan_pages(&bed.database, request);
            }
            bed
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "Scans evaluated ",
        unsaid: "Scans took",
    },
    Faulty {
        name: "a projection of everything",
        make: |count| {
            loaded(on_demand("pk:S", &["G by-mail mail:S ALL"]), count, |n| {
                format!(
                    r#""pk":"{}","mail":"m{n}","text":"{}""#,
                    mixed(n),
                    "x".repeat(1_500)
                )
            })
        },
        level: AdviceLevel::Hint,
        subject: "index by-mail",
        first: "All attributes are projected.",
        unsaid: "looks like",
    },
];

fn check_faulty(sizes: &[u32]) {
    let mut wrong = Vec::new();
    for of in FAULTY {
        for size in sizes {
            let all = told(&(of.make)(*size));
            let is_first = all.first().is_some_and(|advice| {
                (advice.level, advice.subject.as_str()) == (of.level, of.subject)
                    && advice.finding.contains(of.first)
            });
            let is_said = all.iter().any(|advice| {
                advice.finding.contains(of.unsaid) || advice.remedy.contains(of.unsaid)
            });
            if !is_first || is_said {
                wrong.push(format!("{}, {size} items: {all:#?}", of.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn corpus_each_fault_is_said_first() {
    check_faulty(&[200, 2_000]);
}

#[test]
#[ignore = "300,000 items take minutes"]
fn corpus_each_fault_is_said_first_when_large() {
    check_faulty(&LARGE);
}

#[test]
fn bulk_loads_are_counted_apart_and_counting_can_begin_anew() {
    let bed = loaded(
        on_demand("pk:S sk:S", &["G by-sk sk:S KEYS_ONLY"]),
        200,
        |n| format!(r#""pk":"hot","sk":"{n}""#),
    );
    let usage = |place: usize| bed.table_metrics().sources[place].usage.total;
    for place in [0, 1] {
        assert_eq!(usage(place).load(), Default::default());
        assert_eq!(usage(place).bulk_write.sum, 200.0);
    }
    let hot = || bed.layout().hot_keys(&source(""), Period::Day, 5).unwrap();
    assert_eq!(hot(), []);
    let facts = TableFacts::read(&bed.database, &table("Tab"))
        .unwrap()
        .unwrap();
    let apart = "- Bulk loads took 400 write units with the indexes. They are counted apart: no rule judges by them.\n";
    let text = markdown(&facts);
    assert!(text.contains(apart), "{text}");

    drop(put(&bed.database, "Tab", json(r#""pk":"hot","sk":"new""#)));
    bed.clock.advance_ms(MINUTE_MS);
    bed.background();
    drop(put(&bed.database, "Tab", json(r#""pk":"hot","sk":"new2""#)));
    assert_eq!((usage(0).write.sum, hot().len()), (2.0, 1));
    let before_ms = bed.table_metrics().since_ms;
    bed.database.count_from_now(&table("Tab")).unwrap();
    assert_eq!(usage(0), Default::default());
    assert_eq!(usage(1), Default::default());
    assert_eq!(hot(), []);
    assert_eq!(bed.table_metrics().since_ms, before_ms + MINUTE_MS);
    drop(put(&bed.database, "Tab", json(r#""pk":"hot","sk":"new3""#)));
    assert_eq!((usage(0).write.sum, hot().len()), (1.0, 1));
}
