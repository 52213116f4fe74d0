//! A short-lived cache of table definitions (ListTables, DescribeTable) with a time to live. An own
//! change invalidates it.
//!
//! The definition of a table in use is refreshed on another thread, while readers go on with the one
//! before: a request for it before each of theirs would double their wait. Counters are as new as
//! their reader asks.

use crate::database::cancel::CancelToken;
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::database::thread_pool::ThreadPool;
use crate::model::clock::Clock;
use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cache::RemoteCommits;
use super::cache::SingleFlight;
use crate::model::TableSchema;
use crate::model::api::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, ListTablesRequest, TableDescription,
};
use crate::model::error::RemoteError;

/// The limit of listed tables: ten times that of an AWS account.
const TABLES_MAX: usize = 100_000;
/// The limit of remembered answers: names of absent tables have answers too.
const ANSWERS_MAX: usize = 10_000;

/// A service with the caller that asks it.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations)]
pub struct ServiceHandle<'a> {
    pub service: &'a dyn Database,
    pub caller: &'a CancelToken,
}

/// A described table.
#[derive(Debug)]
pub struct DescribedTable {
    /// The schema; the same `Arc` as long as it is equal.
    pub schema: Arc<TableSchema>,
    pub table: TableDescription,
}

/// The time for which a definition is cached at least: it changes rarely.
const DEFINITION_MS_MIN: u64 = 1_000;
/// The time after that for which readers go on with a definition while it is refreshed. One that was
/// not used for longer is requested before it is used.
const REFRESH_MS: u64 = 10_000;
/// The number of own writes by which requests under way tell a refresh apart.
const REFRESH: u64 = u64::MAX;

/// The answers to one kind of request, by its subject.
#[derive(Debug)]
struct Answers<K: Eq + Hash, V> {
    /// Each with the time of its request in milliseconds since the epoch, and the number of own
    /// writes before it.
    known: Mutex<LruMap<K, (u64, u64, V), ANSWERS_MAX>>,
    /// Requests under way, by subject and the number of own writes that the answer must reflect.
    flights: SingleFlight<(K, u64), V>,
}

impl<K: Eq + Hash + Clone, V: Clone> Answers<K, V> {
    fn new() -> Self {
        Self {
            known: Mutex::default(),
            flights: SingleFlight::default(),
        }
    }

    /// Invalidates all answers, which stay: new schemas are compared with theirs.
    fn invalidate(&self) {
        let mut known = self.known.lock();
        known
            .iter_mut()
            .for_each(|(_, (asked_ms, ..))| *asked_ms = 0);
        self.flights.detach_where(|_| true);
    }
}

/// The cache; see the module.
#[allow(missing_debug_implementations)]
pub struct TableCache {
    names: Answers<(), Arc<Vec<TableName>>>,
    tables: Answers<TableName, Option<Arc<DescribedTable>>>,
    times_to_live: Answers<TableName, DescribeTimeToLiveResponse>,
    /// The number of own changes so far. The answer to a request that was sent before a change is
    /// not cached after it.
    changes: AtomicU64,
    commits: Arc<RemoteCommits>,
    /// Patterns of the visible tables, in which `*` stands for any characters; all tables are
    /// visible if there are none.
    patterns: Vec<String>,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    /// The service for refreshes, which no caller waits for.
    refresh_service: Arc<dyn Database>,
    refreshes: Arc<ThreadPool>,
}

impl TableCache {
    pub fn new(
        patterns: Vec<String>,
        ttl: Duration,
        clock: Arc<dyn Clock>,
        commits: Arc<RemoteCommits>,
        refresh_service: Arc<dyn Database>,
        refreshes: Arc<ThreadPool>,
    ) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self {
            names: Answers::new(),
            tables: Answers::new(),
            times_to_live: Answers::new(),
            changes: AtomicU64::new(0),
            commits,
            patterns,
            ttl_ms,
            clock,
            refresh_service,
            refreshes,
        }
    }

    /// True if the table is visible.
    pub fn is_visible(&self, table: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches(pattern, table))
    }

    /// Returns the names of the visible tables in byte order.
    pub fn names(&self, service: ServiceHandle<'_>) -> Result<Arc<Vec<TableName>>, Error> {
        self.cached(service.caller, &self.names, (), 0, || {
            Ok(Arc::new(self.list(service)?))
        })
    }

    fn list(&self, service: ServiceHandle<'_>) -> Result<Vec<TableName>, Error> {
        let (mut names, mut request) = (BTreeSet::new(), ListTablesRequest::default());
        loop {
            let page = service.service.list_tables(request)?;
            for name in page.table_names.iter().filter(|name| self.is_visible(name)) {
                names.insert(TableName::new(name).map_err(|fault| {
                    RemoteError::unreadable(format_args!("{name:?} names no table: {fault}"))
                })?);
            }
            if names.len() > TABLES_MAX {
                return Err(RemoteError::unreadable(format_args!(
                    "it lists more than {TABLES_MAX} tables"
                ))
                .into());
            }
            match page.last_evaluated_table_name {
                Some(last) => {
                    request = ListTablesRequest {
                        exclusive_start_table_name: Some(last),
                        limit: None,
                    }
                }
                None => return Ok(names.into_iter().collect()),
            }
        }
    }

    /// Returns a table, if it exists and is visible. One in use may be as it was before the last
    /// refresh.
    pub fn table(
        self: &Arc<Self>,
        service: ServiceHandle<'_>,
        table: &TableName,
    ) -> Result<Option<Arc<DescribedTable>>, Error> {
        if let Some(known) = self.aging(table) {
            return Ok(known);
        }
        self.described(service, table, 0)
    }

    /// Returns the cached definition of a table that was asked for a while ago, and has it
    /// refreshed if nothing else does.
    fn aging(self: &Arc<Self>, table: &TableName) -> Option<Option<Arc<DescribedTable>>> {
        let (asked_ms, _, known) = self.tables.known.lock().get(table).cloned()?;
        let known = known?;
        let age_ms = self.clock.now_ms().saturating_sub(asked_ms);
        let valid_ms = self.ttl_ms.max(DEFINITION_MS_MIN);
        if age_ms < valid_ms {
            return Some(Some(known));
        }
        if age_ms >= valid_ms.saturating_add(REFRESH_MS) {
            return None;
        }
        // No reader waits for a refresh: the service may be silent for long.
        if let Ok(owner) = self.tables.flights.begin(&(table.clone(), REFRESH)) {
            let (cache, table) = (Arc::clone(self), table.clone());
            self.refreshes.run(Box::new(move || {
                let service = &*cache.refresh_service;
                let ask = || cache.describe(service, &table);
                owner.finish(cache.ask(&cache.tables, &table, ask));
            }));
        }
        Some(Some(known))
    }

    /// Returns a table as it was within the time to live, with counters that the service reported
    /// after so many own writes.
    pub fn described(
        &self,
        service: ServiceHandle<'_>,
        table: &TableName,
        own_writes: u64,
    ) -> Result<Option<Arc<DescribedTable>>, Error> {
        if !self.is_visible(table.as_str()) {
            return Ok(None);
        }
        self.cached(
            service.caller,
            &self.tables,
            table.clone(),
            own_writes,
            || self.describe(service.service, table),
        )
    }

    fn describe(
        &self,
        service: &dyn Database,
        table: &TableName,
    ) -> Result<Option<Arc<DescribedTable>>, Error> {
        // The former schema keeps its `Arc` if nothing changed.
        let before = self.tables.known.lock().get(table).cloned();
        let before = before.and_then(|(.., before)| before);
        let table = service.find_table(table)?;
        Ok(table.map(|table| Arc::new(described(table, before.as_deref()))))
    }

    pub fn time_to_live(
        &self,
        service: ServiceHandle<'_>,
        request: DescribeTimeToLiveRequest,
    ) -> Result<DescribeTimeToLiveResponse, Error> {
        let table = request.table_name.clone();
        self.cached(service.caller, &self.times_to_live, table, 0, || {
            service.service.describe_time_to_live(request)
        })
    }

    /// Invalidates all answers after an own change.
    pub fn invalidate(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.names.invalidate();
        self.tables.invalidate();
        self.times_to_live.invalidate();
    }

    fn cached<K: Eq + Hash + Clone, V: Clone>(
        &self,
        caller: &CancelToken,
        answers: &Answers<K, V>,
        subject: K,
        own_writes: u64,
        ask: impl FnOnce() -> Result<V, Error>,
    ) -> Result<V, Error> {
        let now_ms = self.clock.now_ms();
        // The counters of a table must reflect the own writes that the reader knows of.
        if let Some((asked_ms, seen, known)) = answers.known.lock().get(&subject)
            && *seen >= own_writes
            && now_ms < asked_ms.saturating_add(self.ttl_ms)
        {
            return Ok(known.clone());
        }
        let flight = (subject, own_writes);
        answers
            .flights
            .run(&flight, caller, || self.ask(answers, &flight.0, ask))
    }

    /// Asks the service, and caches the answer.
    fn ask<K: Eq + Hash + Clone, V: Clone>(
        &self,
        answers: &Answers<K, V>,
        subject: &K,
        ask: impl FnOnce() -> Result<V, Error>,
    ) -> Result<V, Error> {
        // Read before the request: what happens while it is under way is not in its answer.
        let (asked_ms, own_writes, changes) = (
            self.clock.now_ms(),
            self.commits.own_writes(),
            self.changes.load(Ordering::SeqCst),
        );
        let answer = ask()?;
        let mut known = answers.known.lock();
        // A change during the request makes the answer stale. One after this check waits for the
        // lock, and invalidates it.
        if self.changes.load(Ordering::SeqCst) == changes {
            known.put(subject.clone(), (asked_ms, own_writes, answer.clone()));
        }
        Ok(answer)
    }
}

fn described(table: TableDescription, before: Option<&DescribedTable>) -> DescribedTable {
    // The id too: a table that was deleted and created again may have the same schema.
    let schema = before
        .filter(|before| *before.schema == table.schema && before.table.table_id == table.table_id);
    let schema = schema.map_or_else(
        || Arc::new(table.schema.clone()),
        |before| Arc::clone(&before.schema),
    );
    DescribedTable { schema, table }
}

/// True if the name matches the pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len())
                .filter(|at| name.is_char_boundary(*at))
                .any(|at| matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn table_of_patterns() {
        let hits = [
            ("Orders", "Orders"),
            ("Or*", "Orders"),
            ("*", "x"),
            ("*ders", "Orders"),
            ("O*d*s", "Orders"),
            ("a**b", "ab"),
        ];
        let misses = [
            ("Orders", "Orders2"),
            ("Or*x", "Orders"),
            ("", "x"),
            ("*.b", "a-b"),
        ];
        assert!(hits.iter().all(|(pattern, name)| matches(pattern, name)));
        assert!(misses.iter().all(|(pattern, name)| !matches(pattern, name)));
    }
}
