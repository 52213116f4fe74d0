//! Access patterns: requests counted by their normal form (`expr::normal_form`), as
//! `pg_stat_statements` counts statements.
//!
//! The cost: the text of a request is hashed and its form looked up, which makes the form only for
//! a text that is new; at the end, the lock of its table is taken and some ten numbers are added.
//! Bounded: [`PATTERNS_MAX`] patterns of a table are kept by their units, [`OPEN_FORMS_MAX`] of all
//! tables are counted at a time, and the rest is one pattern, the others.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use parking_lot::RwLock;

use super::{
    pyramid::{MergeRecord, OpenSlotRecords, Pyramid},
    sums::OperationOutcome,
};
use crate::engine::prelude::*;
use crate::expr::normal_form::{self, NormalForm, RequestPart};
use crate::model::{
    api::Consumption,
    metrics::{AccessCounts, AccessForm},
};

/// The patterns of a table in a record, beside the others.
pub const PATTERNS_MAX: usize = 50;
/// The patterns that are counted at a time, of all tables.
const OPEN_FORMS_MAX: usize = 10_000;
/// The forms that are kept by the texts of requests.
const TEXTS_MAX: usize = 4_096;

/// The requests of a table's patterns over an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "AccessRows", into = "AccessRows")]
pub struct AccessRecord(pub BTreeMap<Arc<AccessForm>, AccessCounts>);

/// The stored form of [`AccessRecord`].
#[derive(Serialize, Deserialize)]
struct AccessRows {
    patterns: Vec<(Arc<AccessForm>, AccessCounts)>,
}

impl From<AccessRecord> for AccessRows {
    fn from(record: AccessRecord) -> Self {
        Self {
            patterns: record.0.into_iter().collect(),
        }
    }
}

impl From<AccessRows> for AccessRecord {
    fn from(rows: AccessRows) -> Self {
        Self(rows.patterns.into_iter().collect())
    }
}

impl MergeRecord for AccessRecord {
    fn merge(&mut self, other: &Self) {
        for (form, counts) in &other.0 {
            self.0.entry(Arc::clone(form)).or_default().merge(counts);
        }
    }

    fn trim(&mut self) {
        if self.0.len() <= PATTERNS_MAX {
            return;
        }
        let mut others = self.0.remove(&AccessForm::default()).unwrap_or_default();
        let mut ranked: Vec<_> = std::mem::take(&mut self.0).into_iter().collect();
        ranked.sort_by(|(_, one), (_, other)| other.rank(one));
        for (_, counts) in ranked.drain(PATTERNS_MAX.min(ranked.len())..) {
            others.merge(&counts);
        }
        self.0.extend(ranked);
        if others != AccessCounts::default() {
            self.0.insert(Arc::default(), others);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The patterns of a table that are not stored yet.
#[derive(Debug, Default)]
struct AccessSlots(OpenSlotRecords<AccessRecord>);

impl AccessSlots {
    /// Returns the counts of a form in the open slot; `open` counts the forms of all tables.
    fn counts(
        &mut self,
        form: &Arc<AccessForm>,
        now_ms: u64,
        open: &AtomicUsize,
    ) -> &mut AccessCounts {
        if self.0.is_over(now_ms) {
            self.0.close(now_ms);
        }
        let patterns = &mut self.0.open;
        if !patterns.0.contains_key(form) {
            let before = patterns.0.len();
            if before >= 2 * PATTERNS_MAX {
                patterns.trim();
                open.fetch_sub(before - patterns.0.len(), Relaxed);
            }
            if open.fetch_add(1, Relaxed) >= OPEN_FORMS_MAX {
                open.fetch_sub(1, Relaxed);
                return patterns.0.entry(Arc::default()).or_default();
            }
        }
        patterns.0.entry(Arc::clone(form)).or_default()
    }

    /// Takes the closed slots; at the end the open one too.
    fn take(&mut self, now_ms: u64, is_end: bool) -> Pyramid<AccessRecord> {
        if is_end || self.0.is_over(now_ms) {
            self.0.close(now_ms);
        }
        self.0.take()
    }

    fn records(&self) -> Pyramid<AccessRecord> {
        self.0.all(&self.0.open)
    }
}

/// The form of a part and the table's source.
type KnownForm = (NormalForm, SourceId);

/// A known form with the hash of its text.
type HashedForm = (u64, Arc<KnownForm>);

/// The forms of requests by the hash of their texts.
#[derive(Debug, Default)]
pub struct AccessForms {
    hasher: RandomState,
    parts: RwLock<HashMap<u64, Arc<KnownForm>>>,
    /// Of batches and transactions, by their operation and parts.
    combined: RwLock<HashMap<u64, Arc<AccessForm>>>,
    /// The forms in the open slots of all tables, about.
    open: AtomicUsize,
    tables: RwLock<BTreeMap<SourceId, Arc<TableAccess>>>,
}

/// The patterns of a table.
#[derive(Debug)]
struct TableAccess {
    name: TableName,
    slots: Mutex<AccessSlots>,
}

/// A request on one table that is to be counted.
#[derive(Debug)]
pub struct Access {
    pub table: TableName,
    source: SourceId,
    form: Arc<AccessForm>,
    reads: bool,
    entities: Vec<Box<str>>,
    /// The request's parts on the table.
    parts: Vec<usize>,
}

/// Adds to a map that is emptied when it is full: forms are cheap to make again.
fn remember<T>(map: &RwLock<HashMap<u64, Arc<T>>>, hash: u64, value: &Arc<T>) {
    let mut map = map.write();
    if map.len() >= TEXTS_MAX {
        map.clear();
    }
    map.insert(hash, Arc::clone(value));
}

impl AccessForms {
    /// Forgets the forms and patterns of tables that are gone.
    pub fn retain(&self, is_live: impl Fn(SourceId) -> bool) {
        self.parts.write().retain(|_, known| is_live(known.1));
        self.tables.write().retain(|source, _| is_live(*source));
    }

    fn known_table(&self, source: SourceId) -> Option<Arc<TableAccess>> {
        self.tables.read().get(&source).map(Arc::clone)
    }

    fn table(&self, source: SourceId, name: &TableName) -> Arc<TableAccess> {
        self.known_table(source).unwrap_or_else(|| {
            let new = || {
                Arc::new(TableAccess {
                    name: name.clone(),
                    slots: Mutex::default(),
                })
            };
            Arc::clone(self.tables.write().entry(source).or_insert_with(new))
        })
    }

    /// Takes the patterns of all tables to flush, with their names.
    pub fn take(
        &self,
        now_ms: u64,
        is_end: bool,
    ) -> BTreeMap<SourceId, (TableName, Pyramid<AccessRecord>)> {
        let mut open = 0;
        let tables = self.tables.read();
        let taken = tables.iter().map(|(source, table)| {
            let mut slots = table.slots.lock();
            let taken = slots.take(now_ms, is_end);
            open += slots.0.open.0.len();
            (*source, (table.name.clone(), taken))
        });
        let taken = taken.collect();
        self.open.store(open, Relaxed);
        taken
    }

    /// Gives back patterns that could not be stored.
    pub fn restore(&self, source: SourceId, taken: &Pyramid<AccessRecord>) {
        if let Some(table) = self.known_table(source) {
            table.slots.lock().0.restore(taken);
        }
    }

    /// Forgets the patterns of a table.
    pub fn forget(&self, name: &TableName) {
        self.tables.write().retain(|_, table| table.name != *name);
    }

    /// Returns the patterns of a table that are not stored yet.
    #[must_use]
    pub fn records(&self, source: SourceId) -> Pyramid<AccessRecord> {
        let table = self.known_table(source);
        table
            .map(|table| table.slots.lock().records())
            .unwrap_or_default()
    }

    /// Returns the accesses of a request, one for each table; parts that are refused are left out.
    pub fn accesses(
        &self,
        operation: &str,
        parts: &[RequestPart<'_>],
        table_of: impl Fn(&TableName) -> Option<Arc<TableEntry>>,
    ) -> Vec<Access> {
        let mut accesses: Vec<(Access, Vec<HashedForm>)> = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            let hash = self.hasher.hash_one(part);
            let Some(known) = self.known(hash, part, &table_of) else {
                continue;
            };
            let found = accesses
                .iter()
                .position(|(access, _)| access.table == known.0.table);
            let at = found.unwrap_or_else(|| {
                let access = Access {
                    table: known.0.table.clone(),
                    source: known.1,
                    form: Arc::default(),
                    reads: known.0.reads(),
                    entities: Vec::new(),
                    parts: Vec::new(),
                };
                accesses.push((access, Vec::new()));
                accesses.len() - 1
            });
            let (access, forms) = &mut accesses[at];
            access.parts.push(place);
            for entity in known.0.entities(part) {
                if !access.entities.iter().any(|other| **other == *entity) {
                    access.entities.push(entity.into());
                }
            }
            if !forms.iter().any(|(_, other)| other.0.form == known.0.form) {
                forms.push((hash, known));
            }
        }
        let named = accesses.into_iter().map(|(access, forms)| Access {
            form: self.form(operation, forms),
            ..access
        });
        named.collect()
    }

    fn known(
        &self,
        hash: u64,
        part: &RequestPart<'_>,
        table_of: impl Fn(&TableName) -> Option<Arc<TableEntry>>,
    ) -> Option<Arc<KnownForm>> {
        if part.is_hashable()
            && let Some(known) = self.parts.read().get(&hash)
        {
            return Some(Arc::clone(known));
        }
        let mut source = None;
        let form = NormalForm::of(part, |name| {
            let table = table_of(name)?;
            source = Some(table.source);
            Some(Arc::clone(&table.schema))
        })?;
        let is_cacheable = form.is_cacheable && part.is_hashable();
        let known = Arc::new((form, source?));
        if is_cacheable {
            remember(&self.parts, hash, &known);
        }
        Some(known)
    }

    /// Returns the form of a request with these different parts on one table.
    fn form(&self, operation: &str, mut parts: Vec<HashedForm>) -> Arc<AccessForm> {
        if !operation.starts_with("Batch") && !operation.contains("Transact") {
            let first = parts.first();
            return first.map_or_else(Arc::default, |(_, known)| Arc::clone(&known.0.form));
        }
        parts.sort_by_key(|(hash, _)| *hash);
        let hashes: Vec<u64> = parts.iter().map(|(hash, _)| *hash).collect();
        let hash = self.hasher.hash_one((operation, hashes));
        let is_kept = parts.iter().all(|(_, known)| known.0.is_cacheable);
        if is_kept && let Some(form) = self.combined.read().get(&hash) {
            return Arc::clone(form);
        }
        let mut actions: Vec<String> = parts.iter().map(|(_, known)| known.0.action()).collect();
        actions.sort();
        actions.dedup();
        let form = Arc::new(AccessForm {
            operation: operation.to_owned(),
            actions: Some(normal_form::cut(actions.join("; "))),
            ..AccessForm::default()
        });
        if is_kept {
            remember(&self.combined, hash, &form);
        }
        form
    }

    /// Counts a read of one entry by its key, which found it, without making an [`Access`].
    pub fn count_get(
        &self,
        part: &RequestPart<'_>,
        units: f64,
        now_ms: u64,
        table_of: impl Fn(&TableName) -> Option<Arc<TableEntry>>,
    ) {
        let Some(known) = self.known(self.hasher.hash_one(part), part, table_of) else {
            return;
        };
        let (form, source) = &*known;
        let table = self.table(*source, &form.table);
        let mut slots = table.slots.lock();
        let counts = slots.counts(&form.form, now_ms, &self.open);
        counts.requests += 1;
        counts.read += units;
        counts.returned += 1;
        counts.evaluated += 1;
        for entity in form.entities(part) {
            counts.add_entity(entity, 1);
        }
    }

    /// Counts the end of a request in its patterns: what it consumed, or its outcome.
    pub fn count(
        &self,
        accesses: &[Access],
        now_ms: u64,
        latency_ms: Option<f64>,
        outcome: OperationOutcome,
        consumed: &Consumption,
    ) {
        for (place, access) in accesses.iter().enumerate() {
            let table = self.table(access.source, &access.table);
            let mut slots = table.slots.lock();
            let counts = slots.counts(&access.form, now_ms, &self.open);
            counts.requests += 1;
            counts.throttled += u64::from(outcome == OperationOutcome::Throttled);
            counts.failed_conditions += u64::from(outcome == OperationOutcome::ConditionFailed);
            for entity in &access.entities {
                counts.add_entity(entity, 1);
            }
            if outcome != OperationOutcome::Success {
                continue;
            }
            if let Some(ms) = latency_ms {
                counts.latency.add(ms);
            }
            let units = consumed
                .units
                .iter()
                .enumerate()
                .filter(|(at, (table, _))| {
                    table
                        .as_ref()
                        .map_or(*at == place, |table| *table == access.table)
                });
            let units: f64 = units.map(|(_, (_, units))| units).sum();
            let reads = access.reads || consumed.is_read;
            *(if reads {
                &mut counts.read
            } else {
                &mut counts.write
            }) += units;
            let returned = access
                .parts
                .iter()
                .filter_map(|part| consumed.returned.get(*part));
            let returned = returned.sum::<u64>();
            counts.returned += returned;
            counts.evaluated += consumed
                .evaluated
                .unwrap_or(if reads { returned } else { 0 });
        }
    }
}
