//! Tables with a known fault each, and what must be said of it first.

use super::*;

/// A table with a fault: the first point, and words that must not be said of it.
pub struct Faulty {
    pub name: &'static str,
    pub make: fn(u32) -> Bed,
    pub level: AdviceLevel,
    pub subject: &'static str,
    pub first: &'static str,
    pub unsaid: &'static str,
}

pub const FAULTY: &[Faulty] = &[
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
        first: "Scans of table Tab evaluated ",
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
    // A load of everything must not hide what comes after it.
    Faulty {
        name: "a hot key after a bulk load",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"u{n}","sk":"{n}""#)
            });
            write_at_once(&bed, 1_300, |n| format!(r#""pk":"hot","sk":"{}""#, n % 30));
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "pk \"hot\" takes 100 % of the write units of the last ",
        unsaid: "% of the entries",
    },
    Faulty {
        name: "units that a bulk load alone used",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 2_000, 2_000);
            let bed = loaded(units, count, |n| format!(r#""pk":"u{n}","sk":"{n}""#));
            for n in 0..60 {
                drop(
                    put(
                        &bed.database,
                        "Tab",
                        json(&format!(r#""pk":"u{n}","sk":"new""#)),
                    )
                    .unwrap(),
                );
                bed.clock.advance_ms(2 * MINUTE_MS);
            }
            bed
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: " of 2000 provisioned write units a second, ",
        unsaid: "on demand and",
    },
    Faulty {
        name: "four keys, one of them written most",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"k{}","sk":"{n}""#, n % 4)
            });
            write_at_once(&bed, 1_500, |n| {
                format!(r#""pk":"k{}","sk":"0""#, if n % 8 == 0 { n % 4 } else { 2 })
            });
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "pk \"k2\" takes ",
        unsaid: "read units of the last",
    },
    Faulty {
        name: "a local index of everything",
        make: |count| {
            loaded(on_demand("pk:S sk:S", &["L by-at at:S ALL"]), count, |n| {
                let text = "x".repeat(1_500);
                format!(r#""pk":"u{n}","sk":"{n}","at":"{n}","text":"{text}""#)
            })
        },
        level: AdviceLevel::Hint,
        subject: "index by-at",
        first: "All attributes are projected.",
        unsaid: "rmdir",
    },
    Faulty {
        name: "a program that scans an index, again and again",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G by-mail mail:S KEYS_ONLY"]);
            let bed = loaded(table, count, |n| {
                format!(r#""pk":"u{n}","sk":"{n}","mail":"m{n}@example.com""#)
            });
            for _ in 0..30 {
                scan_pages(&bed.database, scan_request("Tab/by-mail"));
            }
            bed
        },
        level: AdviceLevel::Hint,
        subject: "index by-mail",
        first: "Scans took ",
        unsaid: "for nothing",
    },
    Faulty {
        name: "queries that throw nearly all away",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(
                    r#""pk":"t{}","sk":"{n}","text":"{}""#,
                    n % 5,
                    "x".repeat(100)
                )
            });
            for turn in 0..60 {
                let key = s(&format!("t{}", turn % 5));
                let values = [(":k", key), (":m", s("none"))];
                let mut request = query_request("Tab", "pk = :k", &values);
                request.filter = ConditionParameter::Expression("mail = :m".to_owned());
                query_pages(&bed.database, request);
                bed.clock.advance_ms(10_000);
            }
            bed
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "Queries of table Tab evaluated ",
        unsaid: "Scans",
    },
    Faulty {
        name: "an index by a status with three values",
        make: |count| {
            let table = on_demand("pk:S", &["G by-status status:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                let status = ["held", "done"].get(n as usize % 10).unwrap_or(&"open");
                format!(r#""pk":"{:08x}","status":"{status}""#, mixed(n))
            })
        },
        level: AdviceLevel::Hint,
        subject: "index by-status",
        first: "status has 3 distinct values over ",
        unsaid: "evenly",
    },
    Faulty {
        name: "batches beyond the units of their table",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 10, 10);
            let bed = Bed::with(units, |options| EngineOptions {
                throttle: Some(ThrottleOptions::new(true)),
                ..options
            });
            for turn in 0..count.min(900) {
                let items = (0..10).map(|n| json(&format!(r#""pk":"u{turn}","sk":"{n}""#)));
                // Some batches are refused whole.
                drop(write_batch(&bed, items.collect(), CallContext::default()));
                drop(put(&bed.database, "Tab", json(r#""pk":"u","sk":"0""#)));
                bed.clock.advance_ms(100);
            }
            for turn in 0..4_000 {
                drop(put(
                    &bed.database,
                    "Tab",
                    json(&format!(r#""pk":"v{turn}","sk":"0""#)),
                ));
            }
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: " to the table were throttled as a whole. A batch has an event for each item",
        unsaid: "Fewer would save",
    },
    Faulty {
        name: "an index that is never read",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G by-mail mail:S KEYS_ONLY"]);
            let bed = loaded(table, count, |n| {
                format!(r#""pk":"u{n}","sk":"o","mail":"m{n}@example.com""#)
            });
            for n in 0..400 {
                let key = format!(r#""pk":"u{}","sk":"o""#, n % count);
                get(&bed.database, "Tab", json(&key));
                let item = format!(r#"{key},"mail":"n{n}@example.com""#);
                drop(put(&bed.database, "Tab", json(&item)).unwrap());
                bed.clock.advance_ms(100);
            }
            bed
        },
        level: AdviceLevel::Hint,
        subject: "index by-mail",
        first: "No read of it since ",
        unsaid: "looks like",
    },
    Faulty {
        name: "an index by an attribute that no item has",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G by-mail mail:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(r#""pk":"u{}","sk":"{n}","email":"m{n}""#, mixed(n) % 997)
            })
        },
        level: AdviceLevel::Hint,
        subject: "index by-mail",
        first: " are in it: all of them lack mail.",
        unsaid: "% of the entries",
    },
    Faulty {
        name: "an index with fewer write units than its table",
        make: |count| {
            let mut units =
                provisioned(on_demand("pk:S", &["G by-mail mail:S KEYS_ONLY"]), 100, 100);
            for index in units.global_indexes.iter_mut().flatten() {
                index.throughput = Some(ProvisionedThroughput {
                    read_capacity_units: 100,
                    write_capacity_units: 5,
                });
            }
            loaded(units, count, |n| {
                format!(r#""pk":"{:08x}","mail":"m{n}@example.com""#, mixed(n))
            })
        },
        level: AdviceLevel::Warning,
        subject: "index by-mail",
        first: "It has 5 write units a second, the table 100. If the table uses all of them, the index needs 100.",
        unsaid: "takes every write",
    },
    Faulty {
        name: "prices that are texts in an index of numbers",
        make: |count| {
            let bed = loaded(on_demand("pk:S", &[]), count, |n| {
                let price = if n % 40 == 7 {
                    format!(r#""{n}""#)
                } else {
                    n.to_string()
                };
                format!(r#""pk":"{:08x}","price":{price}"#, mixed(n))
            });
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
            (0..20 + count / 1_000).for_each(|_| bed.background());
            bed
        },
        level: AdviceLevel::Warning,
        subject: "index by-price",
        first: " kept out of it by a value that cannot be its key, `Tab/items/",
        unsaid: "looks like",
    },
    Faulty {
        name: "a vector index that nobody searches",
        make: |count| {
            let bed = bed(on_demand("pk:S", &[]));
            make_near(&bed, count);
            write_at_once(&bed, count, |n| {
                format!(r#""pk":"{:08x}","v":[{n},1]"#, mixed(n))
            });
            bed
        },
        level: AdviceLevel::Hint,
        subject: "index near",
        first: "No search of it since ",
        unsaid: "most lack",
    },
    Faulty {
        name: "most items without a vector",
        make: |count| {
            let bed = loaded(on_demand("pk:S", &[]), count, |n| {
                let vector = if n % 10 == 0 { r#","v":[1,2]"# } else { "" };
                format!(r#""pk":"{:08x}"{vector}"#, mixed(n))
            });
            make_near(&bed, count);
            bed
        },
        level: AdviceLevel::Note,
        subject: "index near",
        first: " items are in it; most lack v.",
        unsaid: "No search",
    },
    Faulty {
        name: "vectors of another model than the index is for",
        make: |count| {
            let bed = loaded(on_demand("pk:S", &[]), count, |n| {
                format!(r#""pk":"{:08x}","v":[{n},1,2]"#, mixed(n))
            });
            make_near(&bed, count);
            bed
        },
        level: AdviceLevel::Warning,
        subject: "index near",
        first: "It has 2 dimensions, and 100 % of the vectors in a sample have 3",
        unsaid: "most lack",
    },
    Faulty {
        name: "vectors that are texts",
        make: |count| {
            let bed = loaded(on_demand("pk:S", &[]), count, |n| {
                let vector = if n % 40 == 7 { r#""1,2""# } else { "[1,2]" };
                format!(r#""pk":"{:08x}","v":{vector}"#, mixed(n))
            });
            make_near(&bed, count);
            bed
        },
        level: AdviceLevel::Warning,
        subject: "index near",
        first: " kept out of it by a value that it cannot hold.",
        unsaid: "dimensions",
    },
    Faulty {
        name: "an item near the limit",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"u{n}","sk":"{n}""#)
            });
            let text = "x".repeat(390 * 1024);
            load(
                &bed,
                [json(&format!(r#""pk":"u7","sk":"huge","text":"{text}""#))],
            );
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "1 item has 340 KB or more of the 400 KB that an item may have",
        unsaid: "half of the items",
    },
    Faulty {
        name: "an item far larger than the others",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"u{n}","sk":"{n}""#)
            });
            let text = "x".repeat(200 * 1024);
            load(
                &bed,
                [json(&format!(r#""pk":"u7","sk":"huge","text":"{text}""#))],
            );
            bed
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "The largest item, `Tab/items/u7/huge.json`, has 200 KB, half of the items ",
        unsaid: "that an item may have",
    },
    Faulty {
        name: "a collection that grows without end below a local index",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["L by-at at:S KEYS_ONLY"]);
            let bed = Bed::with(table, |options| EngineOptions {
                collection_bytes_max: 120 * 1024,
                ..options
            });
            load(
                &bed,
                (0..count).map(|n| json(&format!(r#""pk":"u{n}","sk":"{n}","at":"{n}""#))),
            );
            for n in 0..36 {
                let text = "x".repeat(1024);
                load(
                    &bed,
                    [json(&format!(
                        r#""pk":"log","sk":"n{n}","at":"{n}","text":"{text}""#
                    ))],
                );
                bed.clock.advance_ms(6 * 60 * MINUTE_MS);
            }
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "Its fullest item collection, \"log\" (`Tab/items/log/`), has 36 items and ",
        unsaid: "It is full",
    },
    Faulty {
        name: "units that the busiest minute used up",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 10, 7);
            let bed = loaded(units, count, |n| format!(r#""pk":"u{n}","sk":"o""#));
            for n in 0..400 {
                drop(
                    put(
                        &bed.database,
                        "Tab",
                        json(&format!(r#""pk":"u{n}","sk":"o""#)),
                    )
                    .unwrap(),
                );
            }
            bed.clock.advance_ms(120 * MINUTE_MS);
            bed
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "took 6.7 of 7 provisioned write units a second, 95 %.",
        unsaid: "would save",
    },
    Faulty {
        name: "an even load on demand",
        make: |count| {
            let bed = loaded(on_demand("pk:S sk:S", &[]), count, |n| {
                format!(r#""pk":"u{n}","sk":"o""#)
            });
            let text = "x".repeat(150 * 1024);
            for n in 0..140 {
                let item = format!(r#""pk":"w{n}","sk":"o","text":"{text}""#);
                drop(put(&bed.database, "Tab", json(&item)).unwrap());
                bed.clock.advance_ms(MINUTE_MS / 2);
            }
            bed
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: " on demand and ",
        unsaid: "would save",
    },
    Faulty {
        name: "seconds as the key of an index",
        make: |count| {
            let table = on_demand("pk:S", &["G by-second second:N KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(
                    r#""pk":"{:08x}","second":{}"#,
                    mixed(n),
                    NOW_MS / 1000 - 1 - u64::from(n)
                )
            })
        },
        level: AdviceLevel::Hint,
        subject: "index by-second",
        first: "second is a time: ",
        unsaid: "takes every write",
    },
    Faulty {
        name: "ids that grow with time, with an index",
        make: |count| {
            let table = on_demand("pk:S", &["G by-mail mail:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(r#""pk":"01HF7{n:06}0TSV4RRFFQ69G5F","mail":"m{n}@example.com""#)
            })
        },
        level: AdviceLevel::Hint,
        subject: "table Tab",
        first: "pk looks like a ULID, which grows with time, made by a database",
        unsaid: "sequence number",
    },
    // Provisioned for a bad key, and not used yet: what is paid for cannot be used.
    Faulty {
        name: "a tenant with most of the items, on more units than a partition has",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 100, 3_000);
            loaded(units, count, |n| {
                let tenant = if n % 10 < 7 { 0 } else { n };
                format!(r#""pk":"TENANT#{tenant}","sk":"{n}""#)
            })
        },
        level: AdviceLevel::Warning,
        subject: "table Tab",
        first: "With 70 % on one value the table serves at most 1429 write units a second; 3000 are provisioned.",
        unsaid: "evenly",
    },
];
