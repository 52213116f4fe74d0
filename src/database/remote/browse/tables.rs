//! A short-lived cache of table definitions (ListTables, DescribeTable) with a time to live. An own
//! change invalidates it.
//!
//! The definition of a table in use is refreshed on another thread, while readers go on with the one
//! before: a request for it before each of theirs would double their wait. Counters are as new as
//! their reader asks.

use crate::database::cancel::CancelToken;
use crate::database::prelude::*;
use crate::model::clock::Clock;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicUsize;

use super::cache::RemoteCommits;
use super::cache::SingleFlight;
use super::prefetch::spawn_fetch;
use crate::model::TableSchema;
use crate::model::api::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, ListTablesRequest, TableDescription,
};
use crate::model::error::{RemoteError, StoreError};

/// The limit of listed tables: ten times that of an AWS account.
const TABLES_MAX: usize = 100_000;

/// The error of a broken cache, which must not look like an account without tables.
const WRONG_CACHE_ENTRY: Error =
    Error::Store(StoreError::Corrupt("the cached definitions of tables"));

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

#[derive(Debug, Clone)]
enum CachedAnswer {
    Names(Arc<Vec<TableName>>),
    Table(Option<Arc<DescribedTable>>),
    TimeToLive(DescribeTimeToLiveResponse),
}

/// The time for which a definition is cached at least: it changes rarely.
const DEFINITION_MS_MIN: u64 = 1_000;
/// The time after that for which readers go on with a definition while it is refreshed. One that was
/// not used for longer is requested before it is used.
const REFRESH_MS: u64 = 10_000;
/// The number of own writes by which requests under way tell a refresh apart.
const REFRESH: u64 = u64::MAX;

/// The cache key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum TableCacheKey {
    Names,
    Table(TableName),
    TimeToLive(TableName),
}

#[derive(Debug, Default)]
struct TableCacheState {
    /// Cached answers, each with the time of its request in milliseconds since the epoch, and the
    /// number of own writes before it.
    answers: HashMap<TableCacheKey, (u64, u64, CachedAnswer)>,
    /// The number of own changes so far. The answer to a request that was sent before a change is
    /// not cached after it.
    changes: u64,
}

/// The cache; see the module.
#[allow(missing_debug_implementations)]
pub struct TableCache {
    state: Mutex<TableCacheState>,
    /// Requests under way, by cache key and the number of own writes that the answer must reflect.
    flights: SingleFlight<(TableCacheKey, u64), CachedAnswer>,
    commits: Arc<RemoteCommits>,
    /// Patterns of the visible tables, in which `*` stands for any characters; all tables are
    /// visible if there are none.
    patterns: Vec<String>,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    /// The service for refreshes, which no caller waits for.
    refresh_service: Arc<dyn Database>,
    refreshes: Arc<AtomicUsize>,
}

impl TableCache {
    pub fn new(
        patterns: Vec<String>,
        ttl: Duration,
        clock: Arc<dyn Clock>,
        commits: Arc<RemoteCommits>,
        refresh_service: Arc<dyn Database>,
    ) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self {
            state: Mutex::default(),
            flights: SingleFlight::default(),
            commits,
            patterns,
            ttl_ms,
            clock,
            refresh_service,
            refreshes: Arc::default(),
        }
    }

    /// True if the table is visible.
    pub fn is_visible(&self, table: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches(pattern, table))
    }

    /// Returns the names of the visible tables in byte order.
    pub fn names(&self, service: ServiceHandle<'_>) -> Result<Arc<Vec<TableName>>, Error> {
        match self.cached(service.caller, TableCacheKey::Names, 0, || {
            Ok(CachedAnswer::Names(Arc::new(self.list(service)?)))
        })? {
            CachedAnswer::Names(names) => Ok(names),
            CachedAnswer::Table(_) | CachedAnswer::TimeToLive(_) => Err(WRONG_CACHE_ENTRY),
        }
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
        let key = TableCacheKey::Table(table.clone());
        let (asked_ms, known) = match self.state.lock().answers.get(&key)? {
            (asked_ms, _, CachedAnswer::Table(known)) => (*asked_ms, known.clone()?),
            _ => return None,
        };
        let age_ms = self.clock.now_ms().saturating_sub(asked_ms);
        let valid_ms = self.ttl_ms.max(DEFINITION_MS_MIN);
        if age_ms < valid_ms {
            return Some(Some(known));
        }
        if age_ms >= valid_ms.saturating_add(REFRESH_MS) {
            return None;
        }
        // No reader waits for a refresh: the service may be silent for long.
        let flight = (key, REFRESH);
        if let Ok(owner) = self.flights.begin(&flight) {
            let (cache, table) = (Arc::clone(self), table.clone());
            // Without a thread the flight ends, and the reader asks.
            spawn_fetch(&self.refreshes, move || {
                let service = &*cache.refresh_service;
                owner.finish(cache.ask(&flight.0, || cache.describe(service, &table)));
            })?;
        }
        Some(Some(known))
    }

    /// Returns a table as it was within the time to live.
    pub fn current_table(
        &self,
        service: ServiceHandle<'_>,
        table: &TableName,
    ) -> Result<Option<Arc<DescribedTable>>, Error> {
        self.described(service, table, 0)
    }

    /// Returns a table with counters that the service reported after the last own write.
    pub fn table_after_writes(
        &self,
        service: ServiceHandle<'_>,
        table: &TableName,
    ) -> Result<Option<Arc<DescribedTable>>, Error> {
        self.described(service, table, self.commits.own_writes())
    }

    fn described(
        &self,
        service: ServiceHandle<'_>,
        table: &TableName,
        own_writes: u64,
    ) -> Result<Option<Arc<DescribedTable>>, Error> {
        if !self.is_visible(table.as_str()) {
            return Ok(None);
        }
        let about = TableCacheKey::Table(table.clone());
        let known = self.cached(service.caller, about, own_writes, || {
            self.describe(service.service, table)
        })?;
        match known {
            CachedAnswer::Table(table) => Ok(table),
            CachedAnswer::Names(_) | CachedAnswer::TimeToLive(_) => Err(WRONG_CACHE_ENTRY),
        }
    }

    fn describe(&self, service: &dyn Database, table: &TableName) -> Result<CachedAnswer, Error> {
        let about = TableCacheKey::Table(table.clone());
        // The former schema keeps its `Arc` if nothing changed.
        let before = match self.state.lock().answers.get(&about) {
            Some((.., CachedAnswer::Table(Some(before)))) => Some(Arc::clone(before)),
            _ => None,
        };
        let table = service.find_table(table)?;
        Ok(CachedAnswer::Table(table.map(|table| {
            Arc::new(described(table, before.as_deref()))
        })))
    }

    pub fn time_to_live(
        &self,
        service: ServiceHandle<'_>,
        request: DescribeTimeToLiveRequest,
    ) -> Result<DescribeTimeToLiveResponse, Error> {
        let about = TableCacheKey::TimeToLive(request.table_name.clone());
        match self.cached(service.caller, about, 0, || {
            service
                .service
                .describe_time_to_live(request.clone())
                .map(CachedAnswer::TimeToLive)
        })? {
            CachedAnswer::TimeToLive(response) => Ok(response),
            CachedAnswer::Names(_) | CachedAnswer::Table(_) => Err(WRONG_CACHE_ENTRY),
        }
    }

    /// Invalidates all answers after an own change.
    pub fn invalidate(&self) {
        let mut state = self.state.lock();
        state.changes += 1;
        // The expired entries stay, because new schemas are compared with theirs.
        state
            .answers
            .values_mut()
            .for_each(|(asked_ms, ..)| *asked_ms = 0);
        self.flights.detach_where(|_| true);
    }

    fn cached(
        &self,
        caller: &CancelToken,
        key: TableCacheKey,
        own_writes: u64,
        ask: impl FnOnce() -> Result<CachedAnswer, Error>,
    ) -> Result<CachedAnswer, Error> {
        if let Some(known) = self.get_valid(&key, own_writes) {
            return Ok(known);
        }
        let flight = (key, own_writes);
        self.flights
            .run(&flight, caller, || self.ask(&flight.0, ask))
    }

    /// Asks the service, and caches the answer.
    fn ask(
        &self,
        key: &TableCacheKey,
        ask: impl FnOnce() -> Result<CachedAnswer, Error>,
    ) -> Result<CachedAnswer, Error> {
        // Read before the request: what happens while it is under way is not in its answer.
        let (asked_ms, own_writes, changes) = (
            self.clock.now_ms(),
            self.commits.own_writes(),
            self.state.lock().changes,
        );
        let known = ask()?;
        let mut state = self.state.lock();
        // A change during the request makes the answer stale.
        if state.changes == changes {
            state
                .answers
                .insert(key.clone(), (asked_ms, own_writes, known.clone()));
        }
        Ok(known)
    }

    fn get_valid(&self, key: &TableCacheKey, own_writes: u64) -> Option<CachedAnswer> {
        let now_ms = self.clock.now_ms();
        let state = self.state.lock();
        let (asked_ms, seen, known) = state.answers.get(key)?;
        // The counters of a table must reflect the own writes that the reader knows of.
        (*seen >= own_writes && now_ms < asked_ms.saturating_add(self.ttl_ms))
            .then(|| known.clone())
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
