//! Healthy tables: no warning may be said of them at any size. Among them are the published designs.

use super::*;

/// A healthy table of a size. No warning may be said, and none of these words.
pub struct Healthy {
    pub name: &'static str,
    pub make: fn(u32) -> Bed,
    pub unsaid: &'static [&'static str],
}

pub const HEALTHY: &[Healthy] = &[
    Healthy {
        name: "notes that are searched by their vectors",
        make: |count| {
            let bed = bed(on_demand("pk:S", &[]));
            make_near(&bed, count);
            write_at_once(&bed, count, |n| {
                format!(r#""pk":"{:08x}","v":[{n},1]"#, mixed(n))
            });
            search_near(&bed);
            bed
        },
        unsaid: &["No search", "most lack", "kept out", "dimension"],
    },
    Healthy {
        name: "vectors that were loaded and nobody searched yet",
        make: |count| {
            let bed = bed(on_demand("pk:S", &[]));
            make_near(&bed, count);
            load(
                &bed,
                (0..count).map(|n| json(&format!(r#""pk":"{:08x}","v":[{n},1]"#, mixed(n)))),
            );
            bed
        },
        unsaid: &["No search", "most lack", "kept out", "dimension"],
    },
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
    // AWS's example of a game (NoSQL Workbench): scores by user, an index by title.
    Healthy {
        name: "game scores by title",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G by-title title:S score:N KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(
                    r#""pk":"{:03}","sk":"T{}","title":"T{}","score":{}"#,
                    mixed(n) % 900,
                    n % 40,
                    n % 40,
                    mixed(n) % 5_000
                )
            })
        },
        unsaid: &["distinct value", "looks like"],
    },
    // dynamodb-instagram: users, posts, likes and followers in one table.
    Healthy {
        name: "users, posts, likes and followers in one table",
        make: |count| {
            loaded(on_demand("PK:S SK:S", &[]), count, |n| {
                let user = mixed(n) % 300;
                match n % 4 {
                    0 => format!(r##""PK":"USER#u{n}","SK":"#METADATA#u{n}""##),
                    1 => format!(r#""PK":"USER#u{user}","SK":"PHOTO#u{user}#{n:08}""#),
                    2 => format!(r#""PK":"PL#u{user}#{}","SK":"LIKE#u{n}""#, n / 40),
                    _ => format!(r##""PK":"USER#u{user}","SK":"#FRIEND#u{n}""##),
                }
            })
        },
        unsaid: &["% of the entries", "looks like"],
    },
    // AWS's design of a device log: an hour of a device is one collection.
    Healthy {
        name: "a time series by device and day",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G by-operator operator:S sk:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(
                    r#""pk":"DEV#{}#2023-11-{:02}","sk":"2023-11-14T{:02}:{:02}","operator":"op{}""#,
                    mixed(n) % 250,
                    n % 14 + 1,
                    n / 60 % 24,
                    n % 60,
                    mixed(n) % 80
                )
            })
        },
        unsaid: &["is a date", "is a minute", "takes every write"],
    },
    // The time index of a log, with ten suffixes a day.
    Healthy {
        name: "a date with write shards",
        make: |count| {
            let units = provisioned(on_demand("pk:S sk:S", &[]), 100, 4_000);
            loaded(units, count, |n| {
                format!(r#""pk":"2023-11-14#{}","sk":"{n}""#, n % 10)
            })
        },
        unsaid: &["is a date", "takes every write", "distinct value"],
    },
    // The adjacency list of the guide: edges one way by key, the other way by the index.
    Healthy {
        name: "an adjacency list with an inverted index",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G inverted sk:S pk:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(
                    r#""pk":"Invoice#{}","sk":"Bill#{}""#,
                    n / 3,
                    mixed(n) % 5_000
                )
            })
        },
        unsaid: &["% of the entries"],
    },
    // electrodb: an entity has its names in both keys.
    Healthy {
        name: "entities with their names in both keys",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G gsi1 gsi1pk:S gsi1sk:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(
                    r#""pk":"$taskapp#project_p{}","sk":"$tasks_1#task_{n}","gsi1pk":"$taskapp#employee_e{}","gsi1sk":"$assigned_1#{n}""#,
                    mixed(n) % 120,
                    mixed(n) % 411
                )
            })
        },
        unsaid: &["distinct value", "looks like"],
    },
    // onetable: accounts and users, found by mail too.
    Healthy {
        name: "accounts and users by prefix",
        make: |count| {
            let table = on_demand("pk:S sk:S", &["G gs1 gs1pk:S gs1sk:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                let account = mixed(n) % 600;
                format!(
                    r#""pk":"account:{account}","sk":"user:{n}","gs1pk":"user:m{n}@example.com","gs1sk":"account:{account}""#
                )
            })
        },
        unsaid: &["distinct value", "looks like"],
    },
    // The forum of the guide: replies of a thread, with a local index by author.
    Healthy {
        name: "replies of a thread with a local index",
        make: |count| {
            let table = on_demand("Id:S At:S", &["L by-author Author:S KEYS_ONLY"]);
            loaded(table, count, |n| {
                format!(
                    r#""Id":"Forum#Thread {}","At":"2023-11-14T{n:06}","Author":"u{}""#,
                    mixed(n) % 700,
                    mixed(n) % 90
                )
            })
        },
        unsaid: &["fullest item collection", "is a date"],
    },
    Healthy {
        name: "sessions by token that are read and written once each",
        make: |count| {
            let bed = loaded(on_demand("token:S", &[]), count, |n| {
                format!(r#""token":"{:08x}{n:08x}","expires":1800000000"#, mixed(n))
            });
            for n in 0..400 {
                let token = format!(r#""token":"{:08x}{:08x}""#, mixed(n % count), n % count);
                get(&bed.database, "Tab", json(&token));
                let item = format!(r#"{token},"expires":1800000000"#);
                drop(put(&bed.database, "Tab", json(&item)).unwrap());
                bed.clock.advance_ms(1_000);
            }
            bed
        },
        unsaid: &["takes "],
    },
    // NoSQL Workbench's employees: by name, by manager, by city.
    Healthy {
        name: "employees by alias, manager and city",
        make: |count| {
            let table = on_demand(
                "LoginAlias:S",
                &[
                    "G by-manager ManagerLoginAlias:S KEYS_ONLY",
                    "G by-city City:S LoginAlias:S KEYS_ONLY",
                ],
            );
            loaded(table, count, |n| {
                format!(
                    r#""LoginAlias":"alias{:07}","ManagerLoginAlias":"alias{:07}","City":"city {}""#,
                    mixed(n),
                    mixed(n / 9),
                    mixed(n) % 60
                )
            })
        },
        unsaid: &["distinct value", "looks like"],
    },
];
