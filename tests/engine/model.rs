//! Generated operations against a reference model that keeps items in a map and recomputes every index.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::engine::*;
use ddbfs::codec::key::{encode, partition_digest};
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Collection, Database, EntryRange, SourceName};
use ddbfs::engine::check::check;
use ddbfs::model::api::tables::{IndexDefinition, ProjectionDefinition, ProjectionType};
use ddbfs::model::api::*;
use ddbfs::model::schema::{BillingMode, IndexKind, KeyAttributeType, KeyType};
use ddbfs::model::{AttributeValue, IndexName, Item, KeyAttribute};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const TABLE: &str = "Model";

/// A source: name, key attributes (partition, sort), names it projects beside the keys; `None` is all.
struct Shape {
    index: Option<&'static str>,
    kind: Option<IndexKind>,
    partition: &'static str,
    sort: Option<&'static str>,
    projected: Option<&'static [&'static str]>,
}

const SHAPES: [Shape; 4] = [
    Shape {
        index: None,
        kind: None,
        partition: "pk",
        sort: Some("sk"),
        projected: None,
    },
    Shape {
        index: Some("by-a"),
        kind: Some(IndexKind::Global),
        partition: "a",
        sort: Some("c"),
        projected: Some(&["d"]),
    },
    Shape {
        index: Some("by-c"),
        kind: Some(IndexKind::Global),
        partition: "c",
        sort: None,
        projected: Some(&[]),
    },
    Shape {
        index: Some("by-b"),
        kind: Some(IndexKind::Local),
        partition: "pk",
        sort: Some("b"),
        projected: Some(&[]),
    },
];

fn create_request() -> CreateTableRequest {
    let key = |partition: &str, sort: Option<&str>| {
        let hash = KeySchemaElement {
            attribute_name: partition.into(),
            key_type: KeyType::Hash,
        };
        let range = sort.map(|sort| KeySchemaElement {
            attribute_name: sort.into(),
            key_type: KeyType::Range,
        });
        std::iter::once(hash).chain(range).collect::<Vec<_>>()
    };
    let indexes = |kind| {
        let shapes = SHAPES.iter().filter(move |shape| shape.kind == Some(kind));
        shapes
            .map(|shape| IndexDefinition {
                name: IndexName::new(shape.index.unwrap()).unwrap(),
                kind,
                key_schema: key(shape.partition, shape.sort),
                projection: match shape.projected {
                    Some([]) => ProjectionDefinition {
                        projection_type: Some(ProjectionType::KeysOnly),
                        non_key_attributes: None,
                    },
                    Some(names) => ProjectionDefinition {
                        projection_type: Some(ProjectionType::Include),
                        non_key_attributes: Some(
                            names.iter().map(|name| (*name).to_owned()).collect(),
                        ),
                    },
                    None => ProjectionDefinition {
                        projection_type: Some(ProjectionType::All),
                        non_key_attributes: None,
                    },
                },
                throughput: None,
                settings: Default::default(),
                vector: None,
            })
            .collect::<Vec<_>>()
    };
    let types = [
        ("pk", KeyAttributeType::S),
        ("sk", KeyAttributeType::N),
        ("a", KeyAttributeType::S),
        ("b", KeyAttributeType::B),
        ("c", KeyAttributeType::N),
    ];
    CreateTableRequest {
        table_name: table(TABLE),
        attribute_definitions: types
            .map(|(name, attribute_type)| KeyAttribute {
                name: name.into(),
                attribute_type,
            })
            .to_vec(),
        key_schema: key("pk", Some("sk")),
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: Some(indexes(IndexKind::Local)),
        global_indexes: Some(indexes(IndexKind::Global)),
        deletion_protection: false,
        settings: Default::default(),
        vector_indexes: None,
    }
}

/// The reference: items by encoded key.
#[derive(Debug, Default)]
struct Model(BTreeMap<(Vec<u8>, Vec<u8>), Item>);

fn encoded(value: &AttributeValue) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

fn model_key(item: &Item) -> (Vec<u8>, Vec<u8>) {
    (
        encoded(item.get("pk").unwrap()),
        encoded(item.get("sk").unwrap()),
    )
}

/// Is the item what the table's types ask for?
fn is_legal(item: &Item) -> bool {
    let has_type =
        |name: &str, legal: fn(&AttributeValue) -> bool| item.get(name).is_none_or(legal);
    has_type(
        "a",
        |value| matches!(value, AttributeValue::S(text) if !text.is_empty()),
    ) && has_type(
        "b",
        |value| matches!(value, AttributeValue::B(bytes) if !bytes.is_empty()),
    ) && has_type("c", |value| matches!(value, AttributeValue::N(_)))
}

impl Model {
    /// The entries of a source in its order, each as (partition, sort, what the source holds of the item).
    fn entries(&self, shape: &Shape) -> Vec<(AttributeValue, Option<AttributeValue>, Item)> {
        let mut found: Vec<_> = self
            .0
            .values()
            .filter_map(|item| {
                let partition = item.get(shape.partition)?.clone();
                let sort = match shape.sort {
                    Some(name) => Some(item.get(name)?.clone()),
                    None => None,
                };
                let keeps = |name: &str| {
                    shape.projected.is_none_or(|names| {
                        names.contains(&name)
                            || ["pk", "sk", shape.partition].contains(&name)
                            || shape.sort == Some(name)
                    })
                };
                let kept = item.0.iter().filter(|(name, _)| keeps(name));
                let kept = Item(
                    kept.map(|(name, value)| (name.clone(), value.clone()))
                        .collect(),
                );
                Some((partition, sort, kept, item))
            })
            .collect();
        let order = |item: &Item, partition: &AttributeValue, sort: &Option<AttributeValue>| {
            let tie = match shape.kind {
                Some(IndexKind::Global) => partition_digest(&[item.get("pk").unwrap()]).to_vec(),
                _ => Vec::new(),
            };
            (
                partition_digest(&[partition]),
                sort.as_ref().map(encoded),
                tie,
                encoded(item.get("sk").unwrap()),
            )
        };
        found.sort_by_key(|(partition, sort, _, item)| order(item, partition, sort));
        found
            .into_iter()
            .map(|(partition, sort, kept, _)| (partition, sort, kept))
            .collect()
    }
}

#[derive(Debug, Clone)]
enum Operation {
    Put {
        item: Item,
        guard: PutGuard,
    },
    /// Sets the attributes of an item beside its key, removes others, counts, all only if `d` exists or in any case.
    Update {
        item: Item,
        removed: Vec<&'static str>,
        counts: bool,
        if_d: bool,
    },
    Delete {
        pk: u8,
        sk: u8,
    },
    Get {
        pk: u8,
        sk: u8,
    },
    Query {
        shape: usize,
        partition: u8,
        range: Option<(u8, u8, u8)>,
        forward: bool,
        limit: Option<u32>,
    },
    Scan {
        shape: usize,
        limit: Option<u32>,
        segments: u32,
    },
}

/// What a put asks of the item before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PutGuard {
    Nothing,
    Absent,
    /// The same as an expression.
    NotExists,
    /// The old `d` is less than `zz`.
    LessD,
}

const STRINGS: [&str; 4] = ["a", "ab", "b", "\u{0}"];
const NUMBERS: [&str; 5] = ["-10", "-1", "0", "2", "1e20"];
const BINARIES: [&[u8]; 4] = [&[0], &[0, 0], &[0, 255], &[255]];

/// The value number `pick` of the type an attribute has.
fn value(attribute: &str, pick: u8) -> AttributeValue {
    let pick = usize::from(pick);
    match attribute {
        "pk" | "a" => s(STRINGS[pick % STRINGS.len()]),
        "sk" | "c" => n(NUMBERS[pick % NUMBERS.len()]),
        _ => b(BINARIES[pick % BINARIES.len()]),
    }
}

fn key(pk: u8, sk: u8) -> Item {
    Item::from([("pk", value("pk", pk)), ("sk", value("sk", sk))])
}

fn any_item() -> impl Strategy<Value = Item> {
    let optional = |name: &'static str| {
        prop_oneof![
            2 => Just(None),
            6 => (0..5u8).prop_map(move |pick| Some((name, value(name, pick)))),
            // A value that no key of that type may have.
            1 => prop_oneof![Just(AttributeValue::Null), Just(s("")), Just(b(b"")), Just(n("7"))]
                .prop_map(move |value| Some((name, value))),
        ]
    };
    let free = |name: &'static str| {
        prop::option::of((0..3u8).prop_map(move |pick| (name, s(&"z".repeat(pick.into())))))
    };
    (
        0..4u8,
        0..5u8,
        optional("a"),
        optional("b"),
        optional("c"),
        free("d"),
        free("e"),
    )
        .prop_map(|(pk, sk, a, b, c, d, e)| {
            let mut item = key(pk, sk);
            for (name, value) in [a, b, c, d, e].into_iter().flatten() {
                item.0.insert(name.to_owned(), value);
            }
            item
        })
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let limit = || prop::option::of(1..4u32);
    let guard = prop::sample::select(vec![
        PutGuard::Nothing,
        PutGuard::Nothing,
        PutGuard::Nothing,
        PutGuard::Absent,
        PutGuard::NotExists,
        PutGuard::LessD,
    ]);
    let removed = prop::sample::subsequence(vec!["a", "b", "c", "d", "e", "count"], 0..4);
    let range = prop::option::of((0..7u8, 0..5u8, 0..5u8));
    prop_oneof![
        8 => (any_item(), guard).prop_map(|(item, guard)| Operation::Put { item, guard }),
        6 => (any_item(), removed, any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(item, removed, counts, if_d)| Operation::Update { item, removed, counts, if_d }),
        3 => (0..4u8, 0..5u8).prop_map(|(pk, sk)| Operation::Delete { pk, sk }),
        2 => (0..4u8, 0..5u8).prop_map(|(pk, sk)| Operation::Get { pk, sk }),
        5 => (0..SHAPES.len(), 0..5u8, range, any::<bool>(), limit())
            .prop_map(|(shape, partition, range, forward, limit)| Operation::Query { shape, partition, range, forward, limit }),
        2 => (0..SHAPES.len(), limit(), 1..5u32)
            .prop_map(|(shape, limit, segments)| Operation::Scan { shape, limit, segments }),
    ]
}

fn clone_pair((name, value): (&String, &AttributeValue)) -> (String, AttributeValue) {
    (name.clone(), value.clone())
}

pub struct Run {
    database: Arc<dyn Browse>,
    local: Arc<LocalDatabase>,
    model: Model,
    /// Are counters of now, of collections too, and is a write judged by all that it asks before it is done?
    knows_all: bool,
}

impl Run {
    fn new(store: Arc<dyn Store>) -> Self {
        Self {
            knows_all: true,
            ..Self::with(store, |local| local)
        }
    }

    /// Operations by what `front` makes of a database.
    pub fn with(
        store: Arc<dyn Store>,
        front: impl FnOnce(Arc<LocalDatabase>) -> Arc<dyn Browse>,
    ) -> Self {
        let local = Arc::new(LocalDatabase::open(store, options()).unwrap());
        local.create_table(create_request()).unwrap();
        Self {
            database: front(Arc::clone(&local)),
            local,
            model: Model::default(),
            knows_all: false,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Put { item, guard } => self.put(item, *guard),
            Operation::Update {
                item,
                removed,
                counts,
                if_d,
            } => self.update(item, removed, *counts, *if_d),
            Operation::Delete { pk, sk } => {
                let mut request = DeleteItemRequest::new(table(TABLE), key(*pk, *sk));
                request.return_values = ReturnValues::AllOld;
                let response = self.database.delete_item(request).unwrap();
                let old = self.model.0.remove(&model_key(&key(*pk, *sk)));
                assert_eq!(
                    (response.attributes.as_ref(), response.existed),
                    (old.as_ref(), old.is_some())
                );
            }
            Operation::Get { pk, sk } => {
                let found = self
                    .database
                    .get_item(GetItemRequest::new(table(TABLE), key(*pk, *sk)))
                    .unwrap()
                    .item;
                assert_eq!(found.as_ref(), self.model.0.get(&model_key(&key(*pk, *sk))));
            }
            Operation::Query {
                shape,
                partition,
                range,
                forward,
                limit,
            } => {
                self.query(&SHAPES[*shape], *partition, *range, (*forward, *limit));
            }
            Operation::Scan {
                shape,
                limit,
                segments,
            } => self.scan(&SHAPES[*shape], *limit, *segments),
        }
    }

    fn put(&mut self, item: &Item, guard: PutGuard) {
        let mut request = PutItemRequest::new(table(TABLE), item.clone());
        request.precondition = (guard == PutGuard::Absent).then_some(Precondition::Absent);
        request.condition = match guard {
            PutGuard::Nothing | PutGuard::Absent => ConditionParameter::None,
            PutGuard::NotExists => {
                ConditionParameter::Expression("attribute_not_exists(pk)".to_owned())
            }
            PutGuard::LessD => ConditionParameter::Expression("d < :d".to_owned()),
        };
        if guard == PutGuard::LessD {
            request.placeholders = placeholders(&[], &[(":d", s("zz"))]);
        }
        request.return_values = ReturnValues::AllOld;
        let response = self.database.put_item(request);
        let old = self.model.0.get(&model_key(item));
        let may = match guard {
            PutGuard::Nothing => true,
            PutGuard::Absent | PutGuard::NotExists => old.is_none(),
            PutGuard::LessD => old
                .and_then(|old| old.get("d"))
                .is_some_and(|d| text(d).len() < 2),
        };
        if !is_legal(item) || !may {
            assert!(response.is_err(), "{item:?}");
            return;
        }
        let old = self.model.0.insert(model_key(item), item.clone());
        assert_eq!(response.unwrap().attributes, old);
    }

    fn update(&mut self, item: &Item, removed: &[&'static str], counts: bool, if_d: bool) {
        let key = Item(
            item.0
                .iter()
                .filter(|(name, _)| ["pk", "sk"].contains(&name.as_str()))
                .map(clone_pair)
                .collect(),
        );
        let set: Vec<_> = item
            .0
            .iter()
            .filter(|(name, _)| key.get(name).is_none())
            .collect();
        let removed: Vec<_> = removed
            .iter()
            .filter(|name| item.get(name).is_none() && !(counts && **name == "count"))
            .collect();
        let mut sections = Vec::new();
        if !set.is_empty() {
            let actions: Vec<_> = set
                .iter()
                .map(|(name, _)| format!("{name} = :{name}"))
                .collect();
            sections.push(format!("SET {}", actions.join(", ")));
        }
        if !removed.is_empty() {
            sections.push(format!(
                "REMOVE {}",
                removed
                    .iter()
                    .map(|name| format!("#{name}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        if counts {
            sections.push("ADD #count :one".to_owned());
        }
        let parameter = match sections.is_empty() {
            true => UpdateParameter::None,
            false => UpdateParameter::Expression(sections.join(" ")),
        };
        let values = set
            .iter()
            .map(|(name, value)| (format!(":{name}"), (*value).clone()));
        let values: BTreeMap<_, _> = values
            .chain(counts.then(|| (":one".to_owned(), n("1"))))
            .collect();
        let names = removed
            .iter()
            .copied()
            .copied()
            .chain(counts.then_some("count"));
        let names: BTreeMap<_, _> = names
            .map(|name| (format!("#{name}"), name.to_owned()))
            .collect();
        let given = Placeholders {
            names: (!names.is_empty()).then_some(names),
            values: (!values.is_empty()).then_some(values),
        };
        let mut request = UpdateItemRequest::new(table(TABLE), key.clone(), parameter, given);
        request.return_values = UpdateReturnValues::AllNew;
        if if_d {
            request.condition = ConditionParameter::Expression("attribute_exists(d)".to_owned());
        }
        let outcome = self.database.update_item(request.clone());

        let old = self.model.0.get(&model_key(&key));
        let mut new = old.unwrap_or(&key).clone();
        new.0.extend(set.into_iter().map(clone_pair));
        removed.iter().for_each(|name| drop(new.0.remove(**name)));
        if counts {
            let before = new
                .get("count")
                .map_or(0, |count| text(count).parse::<i64>().unwrap());
            new.0
                .insert("count".to_owned(), n(&(before + 1).to_string()));
        }
        if !is_legal(&new) || (if_d && old.is_none_or(|old| old.get("d").is_none())) {
            assert!(outcome.is_err(), "{request:?}");
        } else if old.is_none() && !removed.is_empty() && sections.len() == 1 {
            assert_eq!(outcome.unwrap().attributes, None, "{request:?}");
        } else {
            assert_eq!(
                outcome.unwrap().attributes.as_ref(),
                Some(&new),
                "{request:?}"
            );
            self.model.0.insert(model_key(&key), new);
        }
    }

    fn query(
        &self,
        shape: &Shape,
        pick: u8,
        range: Option<(u8, u8, u8)>,
        (forward, limit): (bool, Option<u32>),
    ) {
        let text = match (range, shape.sort) {
            (Some((operator, _, _)), Some(sort)) => match range_text(operator, sort) {
                Some(text) => Some(text),
                None => return,
            },
            _ => None,
        };
        let partition = value(shape.partition, pick);
        let mut expected: Vec<Item> = self
            .model
            .entries(shape)
            .into_iter()
            .filter(|(of, _, _)| *of == partition)
            .filter(|(_, sort, _)| match (range, sort, shape.sort) {
                (Some(range), Some(sort), Some(name)) => in_range(range, name, sort),
                _ => true,
            })
            .map(|(_, _, item)| item)
            .collect();
        if !forward {
            expected.reverse();
        }
        let mut values = vec![(":p", partition)];
        let mut condition = format!("{} = :p", shape.partition);
        if let (Some((operator, low, high)), Some(sort), Some(text)) = (range, shape.sort, text) {
            condition = format!("{text} AND {condition}");
            let (low, high) = bounds(sort, low, high);
            values.push((":l", low));
            if operator == 5 {
                values.push((":h", high));
            }
        }
        let source = shape
            .index
            .map_or(TABLE.to_owned(), |index| format!("{TABLE}/{index}"));
        let mut request = query_request(&source, &condition, &values);
        request.scan_index_forward = forward;
        request.limit = limit;
        let is_one = shape.index.is_none() && matches!(range, Some((0, _, _)));
        // A query of at most one row ends with it, whatever its limit.
        let items = pages(limit.filter(|_| !is_one), |start| {
            request.exclusive_start_key = start;
            let response = self.database.query(&request).unwrap();
            (response.items.unwrap(), response.page)
        });
        assert_eq!(items, expected, "{request:?}");
    }

    fn scan(&self, shape: &Shape, limit: Option<u32>, segments: u32) {
        let expected: Vec<Item> = self
            .model
            .entries(shape)
            .into_iter()
            .map(|(_, _, item)| item)
            .collect();
        let source = shape
            .index
            .map_or(TABLE.to_owned(), |index| format!("{TABLE}/{index}"));
        let mut request = scan_request(&source);
        request.limit = limit;
        let mut items = Vec::new();
        for index in 0..segments {
            request.segment = (segments > 1).then_some(Segment {
                index,
                total: segments,
            });
            items.extend(pages(limit, |start| {
                request.exclusive_start_key = start;
                let response = self.database.scan(&request).unwrap();
                (response.items.unwrap(), response.page)
            }));
        }
        assert_eq!(items, expected, "{request:?}");
    }

    /// Counters, collections, listings and the engine's own check.
    fn finish(&self) {
        for shape in &SHAPES {
            let source = SourceName {
                table: table(TABLE),
                index: shape.index.map(|index| IndexName::new(index).unwrap()),
            };
            let entries = self.model.entries(shape);
            let stats = self.database.stats(&source).unwrap();
            if self.knows_all {
                assert_eq!(stats.entries, entries.len() as u64);
                assert_eq!(
                    stats.bytes,
                    entries
                        .iter()
                        .map(|(_, _, item)| item.size() as u64)
                        .sum::<u64>()
                );
            }
            let mut collections: Vec<Collection> = Vec::new();
            let mut after = None;
            loop {
                let before = collections.len();
                let from = after.clone();
                let visit = &mut |(collection, position)| {
                    collections.push(collection);
                    after = Some(position);
                    // One at a time: every place is gone on from.
                    std::ops::ControlFlow::Break(())
                };
                self.database
                    .collections(&source, None, from.as_ref(), visit)
                    .unwrap();
                if collections.len() == before {
                    break;
                }
            }
            if self.knows_all {
                assert_eq!(stats.partition_keys, collections.len() as u64);
            }
            let mut listed = 0;
            for collection in &collections {
                let of = entries
                    .iter()
                    .filter(|(partition, _, _)| collection.partition == [partition.clone()]);
                assert_eq!(
                    self.database
                        .collection(&source, &collection.partition)
                        .unwrap()
                        .as_ref(),
                    Some(collection)
                );
                if self.knows_all {
                    assert_eq!(collection.entries, of.clone().count() as u64);
                    assert_eq!(
                        collection.bytes,
                        of.map(|(_, _, item)| item.size() as u64).sum::<u64>()
                    );
                }
                let range = EntryRange::Collection {
                    partition: collection.partition.clone(),
                    sort_prefix: None,
                };
                self.database
                    .entries(&source, &range, None, &mut |key, stat, _| {
                        assert_eq!(self.database.stat(&source, key).unwrap(), Some(stat));
                        listed += 1;
                        std::ops::ControlFlow::Continue(())
                    })
                    .unwrap();
            }
            assert_eq!(listed, entries.len());
        }
        let report = check(self.local.engine()).unwrap();
        assert!(report.is_clean(), "{:#?}", report.differences);
        assert_eq!(report.items, self.model.0.len() as u64);
    }
}

/// Two values of an attribute, the lower first.
fn bounds(name: &str, one: u8, other: u8) -> (AttributeValue, AttributeValue) {
    let (one, other) = (value(name, one), value(name, other));
    if encoded(&one) <= encoded(&other) {
        (one, other)
    } else {
        (other, one)
    }
}

fn in_range((operator, low, high): (u8, u8, u8), name: &str, sort: &AttributeValue) -> bool {
    let (low, high) = bounds(name, low, high);
    let (low, high) = (encoded(&low), encoded(&high));
    let sort = encoded(sort);
    match operator {
        0 => sort == low,
        1 => sort < low,
        2 => sort <= low,
        3 => sort > low,
        4 => sort >= low,
        5 => low <= sort && sort <= high,
        _ => sort.starts_with(&low[..low.len() - 2]),
    }
}

/// `None` when the type has no such operator, or the bounds would be reversed.
fn range_text(operator: u8, name: &str) -> Option<String> {
    Some(match operator {
        0 => format!("{name} = :l"),
        1 => format!("{name} < :l"),
        2 => format!("{name} <= :l"),
        3 => format!("{name} > :l"),
        4 => format!(":l <= {name}"),
        5 => format!("{name} BETWEEN :l AND :h"),
        _ if name == "b" => format!("begins_with({name}, :l)"),
        _ => return None,
    })
}

/// Reads page after page; each page but the last is exactly as long as the limit.
fn pages(limit: Option<u32>, mut read: impl FnMut(Option<Item>) -> (Vec<Item>, Page)) -> Vec<Item> {
    let mut all = Vec::new();
    let mut start = None;
    loop {
        let (items, page) = read(start.take());
        assert_eq!(
            (items.len() as u64, page.count),
            (page.scanned_count, page.scanned_count)
        );
        assert_eq!(
            page.last_evaluated_key.is_some(),
            limit.is_some_and(|limit| items.len() == limit as usize)
        );
        all.extend(items);
        match page.last_evaluated_key {
            Some(key) => start = Some(key),
            None => return all,
        }
    }
}

fn run_cases(cases: u32, mut store: impl FnMut() -> (Arc<dyn Store>, Option<tempfile::TempDir>)) {
    run_cases_of(cases, || {
        let (store, dir) = store();
        (Run::new(store), dir)
    });
}

/// Runs generated operations, each time by another run; what comes with it lasts as long.
pub fn run_cases_of<T>(cases: u32, mut run: impl FnMut() -> (Run, T)) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let run = std::cell::RefCell::new(&mut run);
    runner
        .run(
            &proptest::collection::vec(any_operation(), 1..60),
            |operations| {
                let (mut run, _with) = (run.borrow_mut())();
                operations.iter().for_each(|operation| run.apply(operation));
                run.finish();
                Ok(())
            },
        )
        .unwrap();
}

#[test]
fn engine_agrees_with_the_model_in_memory() {
    run_cases(200, || (Arc::new(MemoryStore::new().unwrap()), None));
}

#[test]
fn engine_agrees_with_the_model_on_lmdb() {
    run_cases(20, || {
        let dir = tempfile::tempdir().unwrap();
        let store = LmdbStore::open(dir.path(), LmdbOptions::default()).unwrap();
        (Arc::new(store), Some(dir))
    });
}
