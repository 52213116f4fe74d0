//! Tables copied and compared by the operations alone, between two databases in memory: what is copied, where a copy goes on, what is refused.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::engine::*;
use crate::support::wait::until;
use ddbfs::codec::wire::tables::definition_to_json;
use ddbfs::database::copies::compare::{Comparison, Difference};
use ddbfs::database::copies::copy::{CopyOptions, CopyOutcome, CopyPlan, ExistingTargetMode};
use ddbfs::database::copies::journal::CopyCounts;
use ddbfs::database::copies::scan::CopyProgress;
use ddbfs::database::copies::{CopyError, CopySide};
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database};
use ddbfs::engine::EngineOptions;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::model::Item;
use ddbfs::model::api::*;
use ddbfs::model::schema::StreamViewType;
use ddbfs::store::memory::MemoryStore;
use proptest::prelude::*;
use tempfile::TempDir;

const PULL: CopyOptions = CopyOptions {
    existing: ExistingTargetMode::Refuse,
    create: true,
    indexes_last: true,
    segments: 3,
    restart: false,
    restart_option: "--restart",
};
const PUSH: CopyOptions = CopyOptions {
    existing: ExistingTargetMode::Fill,
    create: false,
    indexes_last: false,
    ..PULL
};

/// With its own threads and the system's clock: indexes are made.
fn live() -> Arc<LocalDatabase> {
    live_with(EngineOptions::default())
}

fn live_with(options: EngineOptions) -> Arc<LocalDatabase> {
    Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap())
}

fn side(database: &Arc<LocalDatabase>, name: &str) -> CopySide {
    CopySide::new(
        Arc::clone(database) as Arc<dyn Database>,
        table(name),
        name.to_owned(),
    )
}

fn tally() -> CopyProgress {
    CopyProgress::new(Arc::default(), |_| ())
}

/// A table of so many items of 1.5 KB, each collection of seven.
fn filled(definition: CreateTableRequest, items: u32) -> Arc<LocalDatabase> {
    let database = live();
    let name = definition.table_name.to_string();
    database.create_table(definition).unwrap();
    for number in 0..items {
        put(&database, &name, item(number)).unwrap();
    }
    database
}

fn item(number: u32) -> Item {
    let (pk, sk) = (format!("p{}", number / 7), (number % 7).to_string());
    Item::from([
        ("pk", s(&pk)),
        ("sk", n(&sk)),
        ("a", s(&sk)),
        ("n", n(&number.to_string())),
        ("fill", x(1500)),
    ])
}

/// Copies `Tab` to `Copy`; the items refused, by their `n`.
fn copy(
    from: &CopySide,
    to: &CopySide,
    rules: CopyOptions,
    dir: &Path,
    tally: &CopyProgress,
) -> Result<(CopyOutcome, Vec<String>), CopyError> {
    let rejected = parking_lot::Mutex::new(Vec::new());
    let plan = CopyPlan::new(from.clone(), to.clone(), rules, &dir.join("journals/Tab"))?;
    let ended = plan.run(
        tally,
        &|item, _| rejected.lock().push(text(item.get("n").unwrap())),
        &mut |_, _| (),
    )?;
    let mut rejected = rejected.into_inner();
    rejected.sort();
    Ok((ended, rejected))
}

fn compared(one: &CopySide, two: &CopySide) -> Vec<Difference> {
    let key = one
        .database
        .describe_table(DescribeTableRequest {
            table_name: one.table.clone(),
        })
        .unwrap()
        .table
        .schema
        .key;
    let mut found = Vec::new();
    let tally = tally();
    let comparison = Comparison {
        sides: [one.clone(), two.clone()],
        key,
        segments: 2,
        progress: &tally,
    };
    comparison
        .run(&mut |difference| {
            found.push(difference.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// The whole definition as `schema.json` has it, but the name.
fn definition_of(database: &LocalDatabase, name: &str) -> serde_json::Value {
    let mut json = definition_to_json(&database.schema(&table(name)).unwrap().unwrap());
    json["TableName"] = "".into();
    json
}

#[test]
fn a_copy_has_the_items_indexes_stream_and_time_to_live() {
    let mut definition = definition(
        "Tab",
        "pk:S sk:N",
        &[
            "L loc a:S ALL",
            "G one a:S sk:N KEYS_ONLY",
            "G two n:N INCLUDE=a,fill",
        ],
    );
    definition.settings.stream = Some(StreamViewType::NewImage);
    let (one, two) = (filled(definition, 4_000), live());
    let specification = TimeToLiveSpecification {
        enabled: true,
        attribute_name: "expires".to_owned(),
    };
    one.update_time_to_live(UpdateTimeToLiveRequest {
        table_name: table("Tab"),
        specification,
    })
    .unwrap();
    let (dir, tally) = (tempfile::tempdir().unwrap(), tally());
    let (from, to) = (side(&one, "Tab"), side(&two, "Copy"));
    assert_eq!(
        copy(&from, &to, PULL, dir.path(), &tally).unwrap(),
        (CopyOutcome::Whole, vec![])
    );
    assert_eq!(tally.counts().items, 4_000);
    assert_eq!(compared(&from, &to), []);
    assert_eq!(definition_of(&one, "Tab"), definition_of(&two, "Copy"));
    let described = two
        .describe_time_to_live(DescribeTimeToLiveRequest {
            table_name: table("Copy"),
        })
        .unwrap();
    assert_eq!(described.attribute_name.as_deref(), Some("expires"));
    let description = two.describe(&table("Copy")).unwrap().unwrap();
    let entries: Vec<u64> = description
        .indexes
        .iter()
        .map(|index| index.item_count)
        .collect();
    assert_eq!((description.item_count, entries), (4_000, vec![4_000; 3]));
    assert!(!dir.path().join("journals/Tab").exists());
}

/// Items whose attribute cannot be the key of an index were there before the index: so they are in the copy.
#[test]
fn a_copy_has_items_that_an_index_keeps_out() {
    let one = filled(definition("Tab", "pk:S sk:N", &[]), 50);
    put(&one, "Tab", json(r#""pk":"odd","sk":1,"n":1,"a":7"#)).unwrap();
    let planned = definition("Tab", "pk:S sk:N", &["G one a:S ALL"]);
    let mut request = UpdateTableRequest::new(table("Tab"));
    request.attribute_definitions = Some(planned.attribute_definitions);
    let create = planned.global_indexes.unwrap().pop().map(Box::new);
    request.index_updates = Some(vec![IndexUpdate {
        create,
        ..Default::default()
    }]);
    one.update_table(request).unwrap();
    until("the index is there", || {
        one.describe(&table("Tab")).unwrap().unwrap().indexes[0].status == TableStatus::Active
    });
    let (two, dir) = (live(), tempfile::tempdir().unwrap());
    let (from, to) = (side(&one, "Tab"), side(&two, "Copy"));
    assert_eq!(
        copy(&from, &to, PULL, dir.path(), &tally()).unwrap(),
        (CopyOutcome::Whole, vec![])
    );
    assert_eq!(compared(&from, &to), []);
    let index = &two.describe(&table("Copy")).unwrap().unwrap().indexes[0];
    assert_eq!((index.item_count, index.violations), (50, 1));
}

/// Stopped after every few pages, until it is whole: nothing is missing, and nothing was read twice.
#[test]
fn a_copy_goes_on_where_it_was_stopped() {
    let (one, two) = (
        filled(definition("Tab", "pk:S sk:N", &["G one a:S ALL"]), 8_000),
        live(),
    );
    let (from, to) = (side(&one, "Tab"), side(&two, "Copy"));
    let dir = tempfile::tempdir().unwrap();
    let mut runs = 0;
    let counts = loop {
        let stop = Arc::new(AtomicBool::new(false));
        let (by_watch, pages) = (Arc::clone(&stop), AtomicU64::new(0));
        // Its first call tells of the runs before.
        let tally = CopyProgress::new(stop, move |_: &CopyCounts| {
            by_watch.store(
                pages.fetch_add(1, Ordering::Relaxed) >= 2,
                Ordering::Relaxed,
            )
        });
        runs += 1;
        // Another number of segments does not change those that were begun.
        let (ended, _) = copy(
            &from,
            &to,
            CopyOptions {
                segments: 3 + runs,
                ..PULL
            },
            dir.path(),
            &tally,
        )
        .unwrap();
        if ended == CopyOutcome::Whole {
            break tally.counts();
        }
    };
    assert!(runs > 2, "{runs} runs");
    let whole: f64 = one
        .describe(&table("Tab"))
        .unwrap()
        .unwrap()
        .table_size_bytes as f64
        / 8192.0;
    assert_eq!(counts.items, 8_000);
    assert!(
        counts.read_units <= whole + 20.0,
        "{counts:?}, {whole} for all"
    );
    assert_eq!(compared(&from, &to), []);
    assert_eq!(
        two.describe(&table("Copy")).unwrap().unwrap().indexes.len(),
        1
    );
}

#[test]
fn items_that_the_table_does_not_take_are_told_and_the_others_are_there() {
    let one = filled(definition("Tab", "pk:S sk:N", &[]), 60);
    let two = live();
    two.create_table(definition("Copy", "pk:S sk:N", &["G one b:S ALL"]))
        .unwrap();
    for number in [7, 33] {
        let mut odd = item(number);
        odd.0.insert("b".to_owned(), n("1"));
        put(&one, "Tab", odd).unwrap();
    }
    let (from, to) = (side(&one, "Tab"), side(&two, "Copy"));
    let (dir, tally) = (tempfile::tempdir().unwrap(), tally());
    let (ended, rejected) = copy(&from, &to, PUSH, dir.path(), &tally).unwrap();
    assert_eq!(
        (ended, rejected),
        (CopyOutcome::Whole, vec!["33".to_owned(), "7".to_owned()])
    );
    assert_eq!((tally.counts().items, tally.counts().rejected), (60, 2));
    assert_eq!(compared(&from, &to).len(), 2);
}

#[test]
fn a_throttled_table_is_written_as_it_has_capacity() {
    let one = filled(definition("Tab", "pk:S sk:N", &[]), 40);
    let throttle = Some(ThrottleOptions {
        account_units_max: 30,
        ..ThrottleOptions::new(true)
    });
    let two = live_with(EngineOptions {
        throttle,
        ..EngineOptions::default()
    });
    // Eighty units: two for each item.
    two.create_table(definition("Copy", "pk:S sk:N", &[]))
        .unwrap();
    let (from, to) = (side(&one, "Tab"), side(&two, "Copy"));
    let (dir, tally) = (tempfile::tempdir().unwrap(), tally());
    assert_eq!(
        copy(&from, &to, PUSH, dir.path(), &tally).unwrap(),
        (CopyOutcome::Whole, vec![])
    );
    assert_eq!(tally.counts().write_units, 80.0);
    assert_eq!(compared(&from, &to), []);
    let metrics = two.layout().unwrap().metrics(&[table("Copy")]).unwrap();
    assert!(metrics.tables[0].sources[0].usage.total.bulk_throttles > 0);
}

/// What is refused before anything is done, and in which words.
#[test]
fn what_cannot_be_copied_is_refused_with_a_sentence() {
    let one = filled(definition("Tab", "pk:S sk:N", &[]), 8);
    let two = live();
    let dir = tempfile::tempdir().unwrap();
    let refusal = |from: &CopySide, to: &CopySide, rules: CopyOptions, dir: &TempDir| {
        copy(from, to, rules, dir.path(), &tally())
            .unwrap_err()
            .to_string()
    };
    let (from, to) = (side(&one, "Tab"), side(&two, "Copy"));
    assert_eq!(
        refusal(&side(&one, "Absent"), &to, PULL, &dir),
        "Absent: there is no such table"
    );
    assert_eq!(
        refusal(&from, &to, PUSH, &dir),
        "Copy: there is no such table; --create makes it"
    );
    two.create_table(definition("Copy", "pk:S sk:S", &[]))
        .unwrap();
    let text = "Copy: its key is pk (S) and sk (S), that of Tab is pk (S) and sk (N): the items do not fit";
    assert_eq!(refusal(&from, &to, PUSH, &dir), text);
    let text = "Copy: there is a table of that name; --replace drops it first, --to-table NAME takes another name, `ddbfs sync` brings a copy up to date";
    assert_eq!(refusal(&from, &to, PULL, &dir), text);
    let replaced = CopyOptions {
        existing: ExistingTargetMode::Replace,
        restart: true,
        ..PULL
    };
    copy(&from, &to, replaced, dir.path(), &tally()).unwrap();
    assert_eq!(compared(&from, &to), []);
    let text = "Copy: the table has items; --merge puts the others beside them, and over those with the same key";
    assert_eq!(refusal(&from, &to, PUSH, &dir), text);
    copy(
        &from,
        &to,
        CopyOptions {
            existing: ExistingTargetMode::Merge,
            ..PUSH
        },
        dir.path(),
        &tally(),
    )
    .unwrap();

    // Of a copy that was begun.
    two.delete_table(DeleteTableRequest::new(table("Copy")))
        .unwrap();
    let begun = || {
        let stop = CopyProgress::new(Arc::new(AtomicBool::new(true)), |_| ());
        copy(
            &from,
            &to,
            CopyOptions {
                existing: ExistingTargetMode::Merge,
                ..PUSH
            },
            dir.path(),
            &stop,
        )
    };
    two.create_table(definition("Copy", "pk:S sk:N", &[]))
        .unwrap();
    assert_eq!(begun().unwrap().0, CopyOutcome::Stopped);
    let other = CopySide {
        name: "Elsewhere".to_owned(),
        ..from.clone()
    };
    assert_eq!(
        refusal(&other, &to, PULL, &dir),
        "Copy: a copy of Tab was begun and is not whole; --restart begins anew"
    );
    two.delete_table(DeleteTableRequest::new(table("Copy")))
        .unwrap();
    let text = "Copy: the table is not the one that the copy was begun with; --restart begins anew";
    assert_eq!(refusal(&from, &to, PULL, &dir), text);
    one.delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    one.create_table(definition("Tab", "pk:S sk:N", &[]))
        .unwrap();
    let text = "Copy: Tab is another table than when the copy was begun; --restart begins anew";
    assert_eq!(refusal(&from, &to, PULL, &dir), text);
    let anew = CopyOptions {
        restart: true,
        ..PULL
    };
    assert_eq!(
        copy(&from, &to, anew, dir.path(), &tally()).unwrap().0,
        CopyOutcome::Whole
    );
}

#[test]
fn an_estimate_counts_what_is_left_and_the_indexes() {
    let one = filled(definition("Tab", "pk:S sk:N", &["G one a:S ALL"]), 70);
    let plan = CopyPlan::new(
        side(&one, "Tab"),
        side(&live(), "Copy"),
        PULL,
        Path::new("absent"),
    )
    .unwrap();
    let estimate = plan.estimate();
    assert_eq!((estimate.items, estimate.left.write_units), (70, 280.0));
    let bytes = one
        .describe(&table("Tab"))
        .unwrap()
        .unwrap()
        .table_size_bytes;
    assert!((estimate.left.read_units - bytes as f64 / 8192.0).abs() < 0.01);
    assert_eq!(plan.earlier_counts(), None);
}

#[test]
fn differing_attributes_are_told_by_name() {
    let of = |text: &str| Some(json(text));
    let key = ddbfs::model::Key {
        partition: s("p"),
        sort: None,
    };
    let difference = Difference {
        key,
        items: [
            of(r#""k":"p","a":1,"b":2,"c":3"#),
            of(r#""k":"p","a":1,"b":4,"d":5"#),
        ],
    };
    let found: Vec<String> = difference
        .attributes()
        .iter()
        .map(|(name, values)| format!("{name} {values:?}"))
        .collect();
    let n = |text: &str| Some(n(text));
    let expected = [
        ("b", [n("2"), n("4")]),
        ("c", [n("3"), None]),
        ("d", [None, n("5")]),
    ];
    assert_eq!(
        found,
        expected
            .map(|(name, values)| format!("{name} {:?}", values.each_ref().map(Option::as_ref)))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Each key's value in two tables, 0 for no item: exactly the keys with different values are told.
    #[test]
    fn exactly_what_differs_is_told(values in proptest::collection::vec((0..3_u32, 0..3_u32), 0..60)) {
        let databases = [live(), live()];
        for database in &databases {
            database.create_table(definition("Tab", "pk:S sk:N", &[])).unwrap();
        }
        let mut expected = Vec::new();
        for (number, (one, two)) in (0..).zip(values) {
            let item = |value: u32| {
                let mut item = item(number);
                item.0.insert("value".to_owned(), n(&value.to_string()));
                (value > 0).then_some(item)
            };
            let items = [item(one), item(two)];
            for (database, item) in databases.iter().zip(&items) {
                item.iter().for_each(|item| drop(put(database, "Tab", item.clone()).unwrap()));
            }
            if one != two {
                expected.push(items);
            }
        }
        let [one, two] = databases.each_ref().map(|database| side(database, "Tab"));
        let mut found: Vec<[Option<Item>; 2]> = compared(&one, &two).into_iter().map(|difference| difference.items).collect();
        let number = |items: &[Option<Item>; 2]| items.iter().flatten().next().map(|item| text(&item.0["n"]).parse::<u32>().unwrap());
        found.sort_by_key(number);
        prop_assert_eq!(found, expected);
    }
}
