//! Spending limits: a decorator of a [`Transport`] that counts the consumption of each answer
//! (`consumption`), and delays or refuses requests.
//!
//! Units per second are a token bucket (`rates`) that fills at that rate, up to the units of one
//! second. The consumption of a request is known only afterwards, so the bucket may go negative; the
//! next request waits until that is made up for. While a request is under way, its maximal
//! consumption is reserved, and another begins only if the bucket has all reserved units: however
//! many requests run concurrently, they exceed the rate by the consumption of one. A request that
//! would wait longer than the time-out is refused as throttled. Money is counted by the prices of
//! on-demand capacity, and reserved in the same way, for this run and for the day of its user
//! (`ledger`); once it is spent, only requests that cost nothing are sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::Condvar;

use super::consumption::{CapacityKind, Consumption, MeteredRequest, RequestUnits};
use super::ledger::{DayAdmission, DayReservation, SpendLedger};
use super::rates::{self, RateLimit, RateOption, RateScope, TokenBucket, shares};
use super::transport::{AnswerBody, Transport, is_free};
use crate::codec::wire::{response, table_description};
use crate::database::cancel::{CancelToken, POLL_INTERVAL};
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::database::{found, layout};
use crate::engine::meter::OperationOutcome;
use crate::engine::meter::sums::{SumSlots, count_operation};
use crate::model::IndexName;
use crate::model::api::TableDescription;
use crate::model::clock::{Clock as _, SystemClock};
use crate::model::error::{RemoteCause, RemoteError};
use crate::model::metrics::{
    Billing, MeteredOperation, Metrics, Period, SourceMetrics, TableMetrics, TimeSpan,
};
use crate::model::prices::{BudgetPeriod, MountBudget, MountSpending, PriceTable};
use crate::model::schema::{IndexKind, IndexSchema, ProvisionedThroughput};

/// The limits of spending.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpendLimits {
    /// Read units per second.
    pub reads: RateOption,
    /// Write units per second.
    pub writes: RateOption,
    /// Money in the currency of the prices, over the life of this process.
    pub money: Option<f64>,
    /// The limit of a request's wait for units.
    pub timeout: Duration,
}

/// The spending of all meters that share it.
#[derive(Debug, Clone, Default)]
pub struct Budget(Arc<SharedBudget>);

#[derive(Debug, Default)]
struct SharedBudget {
    account: Mutex<BudgetUse>,
    day: OnceLock<DayBudget>,
}

/// The budget of a day of the user.
#[derive(Debug)]
pub struct DayBudget {
    pub ledger: SpendLedger,
    /// The limit in the currency of the prices; without one, the spending is only counted.
    pub limit: Option<f64>,
}

impl Budget {
    /// Counts the spending in the sum of the day too; the first call counts.
    pub fn set_day(&self, day: DayBudget) {
        let _ = self.0.day.set(day);
    }

    /// Returns the budget of the day, if it has a limit.
    fn day_limit(&self) -> Option<(&SpendLedger, f64)> {
        let day = self.0.day.get()?;
        day.limit.map(|limit| (&day.ledger, limit))
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct BudgetUse {
    spent: RequestUnits,
    /// The units reserved by requests under way.
    reserved: RequestUnits,
}

/// The limit of tables whose requests are counted: those that were used last.
const TABLES_MAX: usize = 1_000;

/// A service with spending limits; see the module.
pub struct MeteredTransport {
    inner: Arc<dyn Transport>,
    limits: SpendLimits,
    budget: Budget,
    prices: PriceTable,
    since_ms: u64,
    state: Mutex<MeterState>,
    /// Notified when a request ends.
    request_ended: Condvar,
}

opaque_debug!(MeteredTransport);

#[derive(Default)]
struct MeterState {
    buckets: BTreeMap<(CapacityKind, RateScope), TokenBucket>,
    /// The tables as they were last described, each with the time of that.
    described: HashMap<TableName, (Instant, Arc<TableDescription>)>,
    throttles: u64,
    /// Requests name tables that do not exist, too.
    tables: LruMap<TableName, TableUsage, TABLES_MAX>,
}

#[derive(Default)]
struct TableUsage {
    sources: BTreeMap<Option<IndexName>, SumSlots>,
    operations: SumSlots,
}

/// The maximal consumption of a request under way, released on drop.
struct Reservation<'m> {
    meter: &'m MeteredTransport,
    kind: CapacityKind,
    units: RequestUnits,
    limits: Vec<RateLimit>,
    day: DayReservation,
    /// The actual cost. A request that ends by a panic may have cost all that was reserved.
    cost: Option<f64>,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let (meter, most) = (self.meter, self.units);
        // The two locks follow each other and are never nested here, so `begin` may nest them.
        {
            let mut state = meter.state.lock();
            for limit in &self.limits {
                let reserved = &mut state.bucket(self.kind, &limit.scope).reserved;
                *reserved -= most.read + most.write;
                debug_assert!(*reserved > -1e-3, "more released than reserved");
            }
        }
        meter.budget.0.account.lock().reserved.add(RequestUnits {
            read: -most.read,
            write: -most.write,
        });
        meter.settle_day(self);
        meter.request_ended.notify_all();
    }
}

impl MeteredTransport {
    #[must_use]
    pub fn new(inner: Arc<dyn Transport>, limits: SpendLimits, prices: PriceTable) -> Self {
        let since_ms = SystemClock.now_ms();
        Self {
            inner,
            limits,
            budget: Budget::default(),
            prices,
            since_ms,
            state: Mutex::default(),
            request_ended: Condvar::new(),
        }
    }

    /// Shares the spending of other meters.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Returns the spending since the mount began, and its limits.
    #[must_use]
    pub fn spent(&self) -> MountSpending {
        // Copied, and the lock given back: `reserve` takes the two locks in the other order.
        let spent = self.budget.0.account.lock().spent;
        let (money, day) = (self.money(spent), self.budget.0.day.get());
        // A file that cannot be read is told by the requests that need it.
        let today = day.and_then(|day| day.ledger.spent().ok());
        let budget = match (self.limits.money, self.budget.day_limit()) {
            (Some(limit), _) => Some((BudgetPeriod::Run, limit, limit - money)),
            (None, Some((_, limit))) => Some((
                BudgetPeriod::Day,
                limit,
                today.map_or(0.0, |today| limit - today),
            )),
            (None, None) => None,
        };
        let budget = budget.map(|(period, limit, left)| MountBudget {
            period,
            limit,
            left: left.max(0.0),
        });
        MountSpending {
            since_ms: self.since_ms,
            read: spent.read,
            write: spent.write,
            throttles: self.state.lock().throttles + self.inner.throttle_count(),
            money,
            today,
            reads_max: self.limits.reads,
            writes_max: self.limits.writes,
            budget,
        }
    }

    fn money(&self, units: RequestUnits) -> f64 {
        self.prices.read_cost(units.read) + self.prices.write_cost(units.write)
    }

    /// True if money is left beside the reservations.
    fn within_budget(&self, account: BudgetUse) -> Result<bool, Error> {
        let Some(most) = self.limits.money else {
            return Ok(true);
        };
        let BudgetUse {
            spent,
            mut reserved,
        } = account;
        if self.money(spent) < most {
            // Money is left, but requests under way may take it. They mostly take less than they
            // reserved, so this is a reason to wait, not to refuse.
            reserved.add(spent);
            return Ok(self.money(reserved) < most);
        }
        let PriceTable {
            currency,
            region,
            date,
            ..
        } = &self.prices;
        Err(Error::Budget(format!(
            "the budget is used up: {:.4} of {most} {currency} for {} read and {} write units (prices on demand of {region}, {date}); \
             nothing that costs is asked of the service until this is begun again, with a larger --budget if need be",
            self.money(spent),
            spent.read,
            spent.write
        )))
    }

    /// Reserves money of the day; `None` if requests under way may take what is left.
    fn reserve_day(&self, money: f64) -> Result<Option<DayReservation>, Error> {
        let Some((ledger, limit)) = self.budget.day_limit() else {
            return Ok(Some(DayReservation::default()));
        };
        let currency = &self.prices.currency;
        match ledger.reserve(limit, money)? {
            DayAdmission::Admitted(day) => Ok(Some(day)),
            DayAdmission::Later => Ok(None),
            DayAdmission::UsedUp(spent) => Err(Error::Budget(format!(
                "the budget of today is used up: {spent:.4} of {limit} {currency} by all mounts, pulls and pushes of this user; nothing that costs is \
                 asked of the service until 00:00 UTC; --budget '5 {currency}' gives a run a budget of its own, --budget '5 {currency}/day' the day a \
                 larger one, --budget none lifts it"
            ))),
        }
    }

    /// Replaces the reservation in the sum of the day by the cost.
    fn settle_day(&self, reservation: &Reservation<'_>) {
        let Some(day) = self.budget.0.day.get() else {
            return;
        };
        let cost = reservation
            .cost
            .unwrap_or_else(|| self.money(reservation.units));
        // With a limit, the next request is refused with the same error.
        if let Err(error) = day.ledger.settle(&reservation.day, cost) {
            log::debug!("{error}");
        }
    }

    /// Returns the limits of the rate of a request.
    fn rate_limits(&self, caller: &CancelToken, charged: &MeteredRequest) -> Vec<RateLimit> {
        let option = match charged.kind {
            CapacityKind::Read => self.limits.reads,
            CapacityKind::Write => self.limits.writes,
        };
        match option {
            RateOption::Unlimited => Vec::new(),
            RateOption::Units(per_second) => vec![RateLimit {
                scope: RateScope::All,
                per_second,
            }],
            RateOption::Default => {
                let tables = charged.tables();
                let of_table = |table| match self.describe(caller, table, RATES_AGE) {
                    Ok(Some(described)) => rates::limits(&described.schema, charged),
                    _ => RateLimit::unknown(charged.kind),
                };
                if tables.is_empty() {
                    RateLimit::unknown(charged.kind)
                } else {
                    tables.iter().flat_map(of_table).collect()
                }
            }
        }
    }

    /// Returns the description of a table, no older than `age`; `None` if there is no such table.
    fn describe(
        &self,
        caller: &CancelToken,
        table: &TableName,
        age: Duration,
    ) -> Result<Option<Arc<TableDescription>>, Error> {
        if let Some((at, described)) = self.state.lock().described.get(table)
            && at.elapsed() < age
        {
            return Ok(Some(Arc::clone(described)));
        }
        let body = serde_json::json!({ "TableName": table.as_str() }).to_string();
        let answer = self.inner.call(caller, DESCRIBE_TABLE, body.as_bytes());
        let answer = found(answer)?;
        Ok(answer.and_then(|mut answer| self.learn(DESCRIBE_TABLE, &mut answer)))
    }

    /// Keeps the table in the answer of DescribeTable. Other operations on tables may change them.
    fn learn(&self, operation: &str, answer: &mut AnswerBody) -> Option<Arc<TableDescription>> {
        if operation != DESCRIBE_TABLE {
            if operation.ends_with("Table") {
                self.state.lock().described.clear();
            }
            return None;
        }
        let members = response::members(answer.json().ok()?).ok()?;
        let described = response::structure(members, "Table").ok()?;
        let described = Arc::new(table_description::read(described).ok()?);
        let (now, mut state) = (Instant::now(), self.state.lock());
        // The map stays as small as the set of tables in use.
        let is_in_use = |at: Instant| now.duration_since(at) < RATES_AGE;
        state.described.retain(|_, (at, _)| is_in_use(*at));
        let kept = (now, Arc::clone(&described));
        state.described.insert(described.schema.name.clone(), kept);
        Some(described)
    }

    /// Waits until a request may begin, and reserves its maximal consumption.
    fn reserve(
        &self,
        caller: &CancelToken,
        charged: &MeteredRequest,
    ) -> Result<Reservation<'_>, Error> {
        let (deadline, kind, units) = (
            Instant::now() + self.limits.timeout,
            charged.kind,
            charged.max_units(),
        );
        let limits = self.rate_limits(caller, charged);
        // Lock order: the bucket state, then the shared account.
        let mut state = self.state.lock();
        loop {
            let (now, mut account) = (Instant::now(), self.budget.0.account.lock());
            let mut has_money = self.within_budget(*account)?;
            let waits = limits.iter().filter_map(|limit| {
                let bucket = state.bucket(kind, &limit.scope);
                Some((bucket.wait(limit.per_second, now)?, limit))
            });
            let wait = waits.max_by_key(|(wait, _)| *wait);
            // All limits must admit the request before anything is reserved.
            if let (None, true) = (wait, has_money) {
                if let Some(day) = self.reserve_day(self.money(units))? {
                    for limit in &limits {
                        state.bucket(kind, &limit.scope).reserved += units.read + units.write;
                    }
                    account.reserved.add(units);
                    return Ok(Reservation {
                        meter: self,
                        kind,
                        units,
                        limits,
                        day,
                        cost: None,
                    });
                }
                has_money = false;
            }
            drop(account);
            let (wait, limit) =
                wait.map_or((Duration::ZERO, None), |(wait, limit)| (wait, Some(limit)));
            // Refused at once: a wait beyond the time-out could only end in the same refusal.
            if now + wait > deadline {
                let option = limit
                    .filter(|_| has_money)
                    .map_or_else(|| "--budget".to_owned(), |limit| limit.text(kind));
                return Err(RemoteError::new(
                    "ThrottlingException",
                    400,
                    exhausted_text(&option, kind, wait),
                )
                .into());
            }
            // In slices, so that a caller that stops waiting is noticed. A request that ends wakes
            // all waiters, because it may have consumed less than it reserved.
            self.request_ended.wait_for(
                &mut state,
                if wait.is_zero() {
                    POLL_INTERVAL
                } else {
                    wait.min(POLL_INTERVAL)
                },
            );
            if !caller.is_waiting() {
                return Err(Error::Interrupted);
            }
        }
    }

    /// Counts the consumption of a request.
    fn spend(
        &self,
        charged: &MeteredRequest,
        consumed: &Consumption,
        reservation: &mut Reservation<'_>,
    ) {
        let (now_ms, total) = (SystemClock.now_ms(), consumed.total());
        let mut state = self.state.lock();
        // The locks in the order of `reserve`.
        self.budget.0.account.lock().spent.add(total);
        reservation.cost = Some(self.money(total));
        // The level may become negative here: the consumption is known only afterwards.
        for (limit, units) in reservation
            .limits
            .iter()
            .zip(shares(&reservation.limits, consumed))
        {
            state.bucket(charged.kind, &limit.scope).level -= units;
        }
        for of in &consumed.tables {
            let table = state.table(of.table.clone());
            for (index, units) in &of.sources {
                table.count(index.as_ref(), now_ms, *units);
            }
            // Only answers of Query and Scan have a `Count`.
            if consumed.returned.is_some() {
                table.count_page(charged, now_ms, consumed);
            }
        }
    }

    /// Counts the outcome of a request.
    fn count_outcome(
        &self,
        charged: &MeteredRequest,
        outcome: OperationOutcome,
        latency_ms: f64,
        returned: Option<u64>,
    ) {
        let Some(table) = charged.table() else { return };
        let (now_ms, mut state) = (SystemClock.now_ms(), self.state.lock());
        let is_throttled = outcome == OperationOutcome::Throttled;
        state.throttles += u64::from(is_throttled);
        let of = state.table(table);
        count_operation(
            of.operations.counts(now_ms),
            charged.operation,
            outcome,
            latency_ms,
            returned,
        );
        // The refusal does not name an index, so the table gets the count.
        if is_throttled {
            let usage = &mut of.sources.entry(None).or_default().now(now_ms).usage;
            let throttles = if charged.kind == CapacityKind::Read {
                &mut usage.read_throttles
            } else {
                &mut usage.write_throttles
            };
            *throttles += 1;
        }
    }
}

impl MeterState {
    fn table(&mut self, table: TableName) -> &mut TableUsage {
        self.tables.get_or_insert_mut(table, TableUsage::default)
    }

    fn bucket(&mut self, kind: CapacityKind, scope: &RateScope) -> &mut TokenBucket {
        self.buckets.entry((kind, scope.clone())).or_default()
    }
}

impl TableUsage {
    /// Counts units of the table or an index.
    fn count(&mut self, index: Option<&IndexName>, now_ms: u64, units: RequestUnits) {
        let usage = &mut self
            .sources
            .entry(index.cloned())
            .or_default()
            .now(now_ms)
            .usage;
        if units.read > 0.0 {
            usage.read.add(units.read);
        }
        if units.write > 0.0 {
            usage.write.add(units.write);
        }
    }

    /// Counts a page of Query or Scan.
    fn count_page(&mut self, charged: &MeteredRequest, now_ms: u64, consumed: &Consumption) {
        let usage = &mut self
            .sources
            .entry(charged.index())
            .or_default()
            .now(now_ms)
            .usage;
        let reads = if charged.operation == MeteredOperation::Query {
            &mut usage.queries
        } else {
            &mut usage.scans
        };
        reads.requests += 1;
        reads.evaluated += consumed.evaluated;
        reads.returned += consumed.returned.unwrap_or(0);
        reads.units += consumed.total().read;
    }
}

/// Returns the error text of a request that does not begin: the exhausted option, or the budget,
/// for this time or until other requests end.
fn exhausted_text(option: &str, kind: CapacityKind, wait: Duration) -> String {
    let how = match wait {
        Duration::ZERO => "by requests under way".to_owned(),
        wait => format!("for the next {:.1} seconds", wait.as_secs_f64()),
    };
    let lift = if option.contains("default") {
        format!(", or with {} none", kind.option())
    } else {
        String::new()
    };
    format!(
        "{option} is used up {how}, longer than --timeout: try again then, or with a larger one{lift}"
    )
}

fn outcome(error: &Error) -> OperationOutcome {
    match error {
        Error::Remote(error) if error.cause() == RemoteCause::Throttled => {
            OperationOutcome::Throttled
        }
        Error::Remote(error) if error.cause() == RemoteCause::Failed => {
            OperationOutcome::SystemError
        }
        other => OperationOutcome::of(other),
    }
}

impl Transport for MeteredTransport {
    fn call(
        &self,
        caller: &CancelToken,
        operation: &'static str,
        body: &[u8],
    ) -> Result<AnswerBody, Error> {
        let Some(charged) = MeteredRequest::of(operation, body) else {
            // Control operations consume no units, but some create what is paid for by the hour:
            // they are refused once the budget is spent.
            if !is_free(operation) {
                self.within_budget(*self.budget.0.account.lock())?;
                self.reserve_day(0.0)?;
            }
            let mut answer = self.inner.call(caller, operation, body)?;
            self.learn(operation, &mut answer);
            return Ok(answer);
        };
        let mut reservation = self
            .reserve(caller, &charged)
            .inspect_err(|error| self.count_outcome(&charged, outcome(error), 0.0, None))?;
        let begun = Instant::now();
        let mut answer = self.inner.call(caller, operation, body);
        let consumed = match &mut answer {
            Ok(answer) => charged.consumed(answer),
            Err(error) => charged.consumed_by_failure(error),
        };
        self.spend(&charged, &consumed, &mut reservation);
        // Released after the spending is counted: in between, the units would look free.
        drop(reservation);
        let result = answer
            .as_ref()
            .map_or_else(outcome, |_| OperationOutcome::Success);
        self.count_outcome(
            &charged,
            result,
            begun.elapsed().as_secs_f64() * 1e3,
            consumed.returned,
        );
        answer
    }
}

const DESCRIBE_TABLE: &str = "DescribeTable";
/// The age of the provisioned units of a table: other programs may change them.
const RATES_AGE: Duration = Duration::from_secs(60);
/// The age of its counters, which change every six hours.
const COUNTERS_AGE: Duration = Duration::from_secs(10);

/// The metrics of a remote service: the consumption of this mount itself.
pub struct RemoteLayout {
    meter: Arc<MeteredTransport>,
    caller: CancelToken,
}

opaque_debug!(RemoteLayout);

impl RemoteLayout {
    #[must_use]
    pub fn new(meter: Arc<MeteredTransport>) -> Self {
        let caller = CancelToken::default();
        Self { meter, caller }
    }

    /// Returns the same metrics with cancellable waits.
    pub(super) fn for_caller(&self, caller: &CancelToken) -> Self {
        let (meter, caller) = (Arc::clone(&self.meter), caller.clone());
        Self { meter, caller }
    }

    fn table_metrics(&self, table: &TableName, now_ms: u64) -> Result<Option<TableMetrics>, Error> {
        let described = self.meter.describe(&self.caller, table, COUNTERS_AGE)?;
        let Some(described) = described else {
            return Ok(None);
        };
        let (state, nothing) = (self.meter.state.lock(), TableUsage::default());
        let of = state.tables.peek(table).unwrap_or(&nothing);
        let history = of.operations.history();
        let counts = history.series(now_ms, |sums| {
            sums.counts.as_deref().cloned().unwrap_or_default()
        });
        let sources = all_sources(&described, &of.sources, now_ms);
        Ok(Some(TableMetrics {
            table: table.clone(),
            sources,
            counts,
            requests: history.requests(now_ms),
            since_ms: self.meter.since_ms,
        }))
    }
}

fn all_sources(
    described: &TableDescription,
    counted: &BTreeMap<Option<IndexName>, SumSlots>,
    now_ms: u64,
) -> Vec<SourceMetrics> {
    let schema = &described.schema;
    let source = |index: Option<&IndexSchema>,
                  throughput: Option<ProvisionedThroughput>,
                  entries: u64,
                  billed_bytes: u64| {
        let name = index.map(|index| index.name.clone());
        let history = counted
            .get(&name)
            .map(SumSlots::history)
            .unwrap_or_default();
        let is_local = index.is_some_and(|index| index.kind == IndexKind::Local);
        // A local index consumes its table's units; an index without a throughput of its own is
        // billed with the table too.
        let billing = match (schema.throughput, throughput) {
            (None, _) => Billing::OnDemand,
            (Some(_), Some(units)) if !is_local => Billing::Provisioned(units),
            (Some(_), _) => Billing::WithTable,
        };
        SourceMetrics {
            index: name,
            usage: history.series(now_ms, |sums| sums.usage),
            windows: Period::ALL.map(|window| history.within(window, now_ms).usage),
            kind: index.map(|index| index.kind),
            billing,
            entries,
            billed_bytes,
            backfill: None,
        }
    };
    let indexes = schema.indexes.iter().zip(&described.indexes);
    let indexes = indexes.map(|(index, of)| {
        source(
            Some(index),
            index.throughput,
            of.item_count,
            of.index_size_bytes,
        )
    });
    let (entries, bytes) = (described.item_count, described.table_size_bytes);
    std::iter::once(source(None, schema.throughput, entries, bytes))
        .chain(indexes)
        .collect()
}

impl layout::Layout for RemoteLayout {
    fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error> {
        let now_ms = SystemClock.now_ms();
        let tables = tables
            .iter()
            .map(|table| self.table_metrics(table, now_ms))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?;
        Ok(Metrics {
            now_ms,
            tables,
            ..Metrics::default()
        })
    }

    /// Returns the metrics of the tables that this mount has used: an account may have very many.
    fn all_metrics(&self) -> Result<Metrics, Error> {
        let state = self.meter.state.lock();
        let counted: BTreeSet<TableName> =
            state.tables.iter().map(|(name, _)| name.clone()).collect();
        drop(state);
        self.metrics(&Vec::from_iter(counted))
    }

    fn spent(&self) -> Option<MountSpending> {
        Some(self.meter.spent())
    }

    fn prices(&self) -> &PriceTable {
        &self.meter.prices
    }

    fn time_span(&self, window: Period) -> TimeSpan {
        window.span(SystemClock.now_ms())
    }
}
