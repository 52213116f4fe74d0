//! An index made and dropped between generated writes, step by step and with the store reopened anywhere, against a model of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::support::engine::*;
use ddbfs::codec::json::document::Document;
use ddbfs::codec::wire;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::engine::test_hooks::{IndexHold, IndexStage};
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Error, Item};
use ddbfs::store::Durability;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

const CASES: u32 = 100;
const DELAY_MS: u64 = 1_000;

#[derive(Debug, Clone)]
enum Op {
    /// Sort key and value number of `a`.
    Put(u8, u8),
    /// Changes an attribute that the index does not project.
    Touch(u8),
    Delete(u8),
    Create,
    Drop,
    /// Steps of the backfill or the removal.
    Steps(u64),
    /// To the end.
    Finish,
    /// With a delay of global indexes or without.
    Reopen(bool),
    Pause(bool),
    /// The clock, by half a delay.
    Advance,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..12_u8, 0..7_u8).prop_map(|(key, value)| Op::Put(key, value)),
        2 => (0..12_u8).prop_map(Op::Touch),
        3 => (0..12_u8).prop_map(Op::Delete),
        2 => Just(Op::Create),
        1 => Just(Op::Drop),
        4 => (1..4_u64).prop_map(Op::Steps),
        1 => Just(Op::Finish),
        1 => any::<bool>().prop_map(Op::Reopen),
        1 => any::<bool>().prop_map(Op::Pause),
        1 => Just(Op::Advance),
    ]
}

/// The last three cannot be keys of the index.
fn value(pick: u8) -> Option<AttributeValue> {
    match pick {
        0 => None,
        1..=3 => Some(s(["x", "xy", "z"][usize::from(pick) - 1])),
        4 => Some(n("1")),
        5 => Some(s("")),
        _ => Some(x(2_049)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Building,
    Active,
    Leaving,
}

struct Run {
    database: Option<LocalDatabase>,
    hold: Arc<IndexHold>,
    /// `a` by sort key.
    items: BTreeMap<u8, Option<AttributeValue>>,
    state: State,
    clock: Arc<ManualClock>,
    /// What the index should have held after each operation.
    moments: Vec<BTreeSet<String>>,
    /// The moment that it showed last.
    shown: usize,
}

impl Run {
    fn db(&self) -> &LocalDatabase {
        self.database.as_ref().unwrap()
    }

    fn open(&mut self, dir: &Path, is_late: bool) {
        if let Some(old) = self.database.take() {
            old.engine().close();
        }
        let options = EngineOptions {
            index_step_items: 2,
            index_hold: Arc::clone(&self.hold),
            gsi_delay_ms: if is_late { DELAY_MS } else { 0 },
            clock: Arc::<ManualClock>::clone(&self.clock),
            ..options()
        };
        let store = LmdbStore::open(
            dir,
            LmdbOptions {
                durability: Durability::Kill,
                ..LmdbOptions::default()
            },
        )
        .unwrap();
        self.database = Some(LocalDatabase::open(Arc::new(store), options).unwrap());
    }

    fn key(key: u8) -> Item {
        Item::from([("pk", s("p")), ("sk", n(&key.to_string()))])
    }

    fn is_fitting(value: Option<&AttributeValue>) -> bool {
        matches!(value, Some(AttributeValue::S(text)) if !text.is_empty() && text.len() <= 2_048)
    }

    fn put(&mut self, key: u8, pick: u8) {
        let value = value(pick);
        let mut item = Self::key(key);
        item.0
            .extend(value.clone().map(|value| ("a".to_owned(), value)));
        item.0.insert("v".to_owned(), n(&pick.to_string()));
        let outcome = put(self.db(), "Tab", item);
        let is_checked = matches!(self.state, State::Building | State::Active);
        let is_legal = value.is_none() || Self::is_fitting(value.as_ref()) || !is_checked;
        assert_eq!(outcome.is_ok(), is_legal, "{value:?} in {:?}", self.state);
        if is_legal {
            self.items.insert(key, value);
        }
    }

    fn touch(&mut self, key: u8) {
        let update = UpdateParameter::Expression("SET w = :w".to_owned());
        let request = UpdateItemRequest::new(
            table("Tab"),
            Self::key(key),
            update,
            placeholders(&[], &[(":w", n("1"))]),
        );
        self.db().update_item(request).unwrap();
        self.items.entry(key).or_insert(None);
    }

    fn change_index(&self, update: serde_json::Value) -> Result<UpdateTableResponse, Error> {
        let body = json!({ "TableName": "Tab", "AttributeDefinitions": [{ "AttributeName": "a", "AttributeType": "S" }],
            "GlobalSecondaryIndexUpdates": [update] });
        self.db()
            .update_table(wire::request(Document::from_value(&body).root()).unwrap())
    }

    fn create(&mut self) {
        let key = json!([{ "AttributeName": "a", "KeyType": "HASH" }]);
        let projection = json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": ["v"] });
        let update = json!({ "Create": { "IndexName": "by-a", "KeySchema": key, "Projection": projection } });
        let outcome = self.change_index(update);
        assert_eq!(
            outcome.is_ok(),
            self.state == State::Absent,
            "{outcome:?} in {:?}",
            self.state
        );
        if outcome.is_ok() {
            self.state = State::Building;
            self.steps(0);
        }
    }

    fn drop_index(&mut self) {
        let outcome = self.change_index(json!({ "Delete": { "IndexName": "by-a" } }));
        assert_eq!(
            outcome.is_ok(),
            matches!(self.state, State::Building | State::Active),
            "{outcome:?} in {:?}",
            self.state
        );
        if outcome.is_ok() {
            self.state = State::Leaving;
        }
    }

    /// Some steps; none lets the allocation end.
    fn steps(&mut self, steps: u64) {
        self.hold.hold_after(IndexStage::Backfill, steps);
        self.hold.hold_after(IndexStage::Removal, steps);
        self.db().engine().run_background_work().unwrap();
        self.look();
    }

    /// Where the index is now.
    fn look(&mut self) {
        let table = self.db().engine().describe(&table("Tab")).unwrap().unwrap();
        self.state = match table
            .indexes
            .first()
            .map(|index| (index.status, index.backfilling))
        {
            None => State::Absent,
            Some((TableStatus::Deleting, None)) => State::Leaving,
            Some((TableStatus::Creating, Some(true))) => State::Building,
            Some((TableStatus::Active, None)) => State::Active,
            other => panic!("{other:?}"),
        };
    }

    /// The sort keys that the index should show.
    fn expected(&self) -> BTreeSet<String> {
        let fitting = self
            .items
            .iter()
            .filter(|(_, value)| Self::is_fitting(value.as_ref()));
        fitting
            .map(|(key, value)| format!("{key}={}", text(value.as_ref().unwrap())))
            .collect()
    }

    fn pause(&self, is_paused: bool) {
        let outcome = self
            .db()
            .engine()
            .pause_index_propagation(&table("Tab"), is_paused);
        assert_eq!(
            outcome.is_ok(),
            matches!(self.state, State::Building | State::Active),
            "{outcome:?}"
        );
    }

    fn check(&mut self) {
        assert_clean(self.db());
        self.moments.push(self.expected());
        if self.state != State::Active {
            return;
        }
        let found = self
            .db()
            .scan(&scan_request("Tab/by-a"))
            .unwrap()
            .items
            .unwrap();
        let found: BTreeSet<String> = found
            .iter()
            .map(|item| {
                format!(
                    "{}={}",
                    text(item.get("sk").unwrap()),
                    text(item.get("a").unwrap())
                )
            })
            .collect();
        // A moment of the table, and never one before that shown last.
        let at = self
            .moments
            .iter()
            .skip(self.shown)
            .position(|moment| *moment == found);
        self.shown += at.unwrap_or_else(|| {
            panic!(
                "{found:?} is no moment after {} of {:?}",
                self.shown, self.moments
            )
        });
        let table = self.db().engine().describe(&table("Tab")).unwrap().unwrap();
        if table.index_lag.is_none() {
            assert_eq!(found, self.expected());
        }
        let kept_out = self
            .items
            .values()
            .filter(|value| value.is_some() && !Self::is_fitting(value.as_ref()))
            .count();
        assert_eq!(table.indexes[0].violations, kept_out as u64);
    }

    /// Everything is let go: the index shows the table.
    fn converge(&mut self, dir: &Path) {
        self.open(dir, false);
        if matches!(self.state, State::Building | State::Active) {
            self.pause(false);
        }
        self.clock.advance_ms(2 * DELAY_MS);
        self.steps(u64::MAX);
        assert!(matches!(self.state, State::Absent | State::Active));
        assert_eq!(
            self.db()
                .engine()
                .describe(&table("Tab"))
                .unwrap()
                .unwrap()
                .index_lag,
            None
        );
        self.check();
    }
}

fn agrees(ops: &[Op]) {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run {
        database: None,
        hold: Arc::default(),
        items: BTreeMap::new(),
        state: State::Absent,
        clock: Arc::new(ManualClock::at(NOW_MS)),
        moments: Vec::new(),
        shown: 0,
    };
    run.open(dir.path(), false);
    run.db()
        .create_table(definition("Tab", "pk:S sk:N", &[]))
        .unwrap();
    for op in ops {
        match *op {
            Op::Put(key, pick) => run.put(key, pick),
            Op::Touch(key) => run.touch(key),
            Op::Delete(key) => {
                run.db()
                    .delete_item(DeleteItemRequest::new(table("Tab"), Run::key(key)))
                    .unwrap();
                run.items.remove(&key);
            }
            Op::Create => run.create(),
            Op::Drop => run.drop_index(),
            Op::Steps(steps) => run.steps(steps),
            Op::Finish => run.steps(u64::MAX),
            Op::Reopen(is_late) => run.open(dir.path(), is_late),
            Op::Pause(is_paused) => run.pause(is_paused),
            Op::Advance => run.clock.advance_ms(DELAY_MS / 2),
        }
        run.check();
    }
    run.converge(dir.path());
    run.db().engine().close();
}

#[test]
fn an_index_is_the_projection_of_its_table_whatever_happens_meanwhile() {
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&prop::collection::vec(op(), 1..60), |ops| {
            agrees(&ops);
            Ok(())
        })
        .unwrap();
}
