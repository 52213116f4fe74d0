//! The corpus of generated tables (`support::engine::corpus`): of each fault what must be said first, of healthy tables no warning at
//! any size. The larger sizes are ignored: `cargo test --test engine -- --ignored corpus`, with DDBFS_CORPUS_SIZES for other ones.

use crate::support::engine::bed::*;
use crate::support::engine::corpus::faulty::FAULTY;
use crate::support::engine::corpus::healthy::{HEALTHY, Healthy};
use crate::support::engine::corpus::*;
use crate::support::engine::*;
use ddbfs::codec::metrics::{cloudwatch, prometheus};
use ddbfs::database::Browse;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::inspect::advice::{Advice, AdviceLevel, TableFacts, markdown, subject};
use ddbfs::model::api::CallContext;
use ddbfs::model::error::Error;
use ddbfs::model::metrics::{Period, RequestCounts};

const SIZES: [u32; 2] = [100, 1_500];
const FAULTY_SIZES: [u32; 2] = [200, 1_000];
const LARGE: [u32; 2] = [20_000, 300_000];

/// Returns the sizes of the ignored tests.
fn large() -> Vec<u32> {
    let sizes = std::env::var("DDBFS_CORPUS_SIZES");
    sizes.map_or(LARGE.to_vec(), |sizes| {
        sizes.split(',').map(|size| size.parse().unwrap()).collect()
    })
}

/// Returns what a point is about: `table Tab`, `index by-status`.
fn about(advice: &Advice) -> String {
    subject(&table("Tab"), advice.index.as_ref())
}

fn check_healthy(sizes: &[u32]) {
    let mut wrong = Vec::new();
    for Healthy { name, make, unsaid } in HEALTHY {
        for size in sizes {
            let all = told(&make(*size).database);
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
                    about(advice),
                    advice.finding
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
    check_healthy(&large());
}

fn check_faulty(sizes: &[u32]) {
    let mut wrong = Vec::new();
    for of in FAULTY {
        for size in sizes {
            let all = told(&(of.make)(*size).database);
            let is_first = all.first().is_some_and(|advice| {
                (advice.level, about(advice).as_str()) == (of.level, of.subject)
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
    check_faulty(&FAULTY_SIZES);
}

#[test]
#[ignore = "300,000 items take minutes"]
fn corpus_each_fault_is_said_first_when_large() {
    check_faulty(&large());
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
    let requests = bed.table_metrics().requests;
    assert_eq!(requests, [RequestCounts::default(); 3]);
    let rendered = prometheus::render(&bed.metrics());
    for index in ["", ",index=\"by-sk\""] {
        let line = format!(
            "ddbfs_bulk_load_consumed_write_capacity_units_total{{table=\"Tab\"{index}}} 200\n"
        );
        assert!(rendered.contains(&line), "{rendered}");
    }
    let points = cloudwatch::render(&bed.table_metrics(), bed.metrics().now_ms);
    let bulk = points
        .lines()
        .filter(|line| line.contains("\"BulkLoadConsumedWriteCapacityUnits\""));
    assert_eq!(bulk.count(), 2, "{points}");
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

#[test]
fn throttled_requests_stand_beside_their_events() {
    let units = provisioned(on_demand("pk:S sk:S", &[]), 1, 1);
    let bed = Bed::with(units, |options| EngineOptions {
        throttle: Some(ThrottleOptions::new(true)),
        ..options
    });
    let (mut sent, mut refused, mut unwritten) = (0, 0, 0);
    for turn in 0..60 {
        let items = (0..10).map(|n| json(&format!(r#""pk":"u{turn}","sk":"{n}""#)));
        sent += 1;
        match write_batch(&bed, items.collect(), CallContext::default()) {
            Ok(response) => {
                unwritten += response
                    .unprocessed_items
                    .iter()
                    .map(Vec::len)
                    .sum::<usize>();
            }
            Err(Error::Throttled(_)) => {
                refused += 1;
                unwritten += 10;
            }
            Err(other) => panic!("{other:?}"),
        }
        bed.clock.advance_ms(700);
    }
    assert!(
        refused > 5 && unwritten > refused * 10,
        "{refused} {unwritten}"
    );
    let counts = bed.table_metrics().requests[Period::Day as usize];
    assert_eq!((counts.requests, counts.throttled), (sent, refused as u64));
    let advice = told(&bed.database);
    let first = format!(
        "{unwritten} throttle events in the last day: 0 of reads and {unwritten} of writes. {refused} of {sent} requests to the table were throttled as a whole."
    );
    assert!(advice[0].finding.starts_with(&first), "{advice:#?}");
    let facts = TableFacts::read(&bed.database, &table("Tab"))
        .unwrap()
        .unwrap();
    let text = markdown(&facts);
    let fact = format!("{refused} of {sent} requests throttled ({unwritten} throttle events)");
    assert!(text.contains(&fact), "{text}");
}
