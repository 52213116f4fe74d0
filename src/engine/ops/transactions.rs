//! TransactWriteItems (docs/dynamodb.md 15.1): everything is decided on the state before, then all
//! is written or nothing. TransactGetItems (docs/dynamodb.md 15.2): one view, so the items are of
//! one moment.

use std::collections::{HashMap, HashSet};

use super::items::parse_projection;
use crate::codec::digest::digest;
use crate::engine::{
    base::{TRANSACTION_FACTOR, item_key, read_units, write_units},
    idempotency::{self, TokenResult},
    read::select::{self, RequestedProjection},
    runtime::{Completion, ValueMemory, prelude::*},
    statements::{append_item, append_part},
    write::{
        self,
        action::{WriteAction, WriteOutcome, WritePlan},
        condition::{StoredItem, WriteCondition},
        update::UpdatePlan,
    },
};
use crate::expr::ProjectionPaths;
use crate::model::{
    api::{
        ConditionParameter, ItemCollectionMetrics, TransactAction, TransactGet,
        TransactGetItemsRequest, TransactGetItemsResponse, TransactWrite,
        TransactWriteItemsRequest, TransactWriteItemsResponse, UpdateParameter,
    },
    error::{Cancellation, CancellationReason, KeyError, TransactionError, UpdateError},
    limits::TRANSACTION_BYTES_MAX,
};

impl Engine {
    /// Starts a transaction; `done` gets the result after the commit.
    pub fn transact_write_items(
        &self,
        request: TransactWriteItemsRequest,
        done: Completion<TransactWriteItemsResponse>,
    ) {
        let checked = check_shape(&request).map(|checked| {
            let token = request
                .client_request_token
                .clone()
                .map(|token| (token, digest_of(&request.transact_items)));
            (checked, token)
        });
        let run =
            move |transaction: &mut Transaction<'_>,
                  (plans, token): &(Vec<WritePlan>, Option<(String, Digest)>)| {
                let parts = request.transact_items.iter().zip(plans);
                let parts = parts.map(|(write, plan)| TransactionPart {
                    table: &write.table_name,
                    action: action_of(write),
                    plan,
                });
                run(
                    transaction,
                    &parts.collect::<Vec<_>>(),
                    token.as_ref(),
                    request.return_item_collection_metrics,
                )
            };
        self.shared.submit_checked(checked, run, done);
    }
}

fn action_of(write: &TransactWrite) -> WriteAction<'_> {
    match &write.action {
        TransactAction::ConditionCheck { key } => WriteAction::Check(key),
        TransactAction::Put { item } => WriteAction::Put(item),
        TransactAction::Delete { key } => WriteAction::Delete(key),
        TransactAction::Update { key, .. } => WriteAction::Update(key),
    }
}

/// Runs the checks that need no table, action by action.
fn check_shape(request: &TransactWriteItemsRequest) -> Result<Vec<WritePlan>, Error> {
    let mut plans = Vec::with_capacity(request.transact_items.len());
    for write in &request.transact_items {
        action_of(write).check_values()?;
        plans.push(check_expressions(write)?);
    }
    if let Some(fault) = &request.fault {
        return Err(Error::clone(fault));
    }
    check_size(request.transact_items.iter().map(action_of))?;
    Ok(plans)
}

/// Checks the size limit of all items and keys together.
pub(super) fn check_size<'r>(
    actions: impl Iterator<Item = WriteAction<'r>>,
) -> Result<(), TransactionError> {
    let bytes: usize = actions.map(|action| action.item_or_key().size()).sum();
    if bytes > TRANSACTION_BYTES_MAX {
        Err(TransactionError::TooLarge)
    } else {
        Ok(())
    }
}

fn check_expressions(write: &TransactWrite) -> Result<WritePlan, Error> {
    if let TransactAction::Update {
        key: _,
        update_expression,
    } = &write.action
    {
        let update = UpdateParameter::Expression(update_expression.clone());
        let plan = UpdatePlan::parse(&update, &write.condition, &write.placeholders)?;
        return Ok(WritePlan::Update(
            plan.with_precondition(write.precondition, write.return_old_on_condition_failure)
                .in_transaction(),
        ));
    }
    let guard = WriteCondition::of_request(&write.condition, &write.placeholders)?;
    Ok(WritePlan::Condition(guard.with_precondition(
        write.precondition,
        write.return_old_on_condition_failure,
    )))
}

/// One write of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransactionPart<'r> {
    pub table: &'r TableName,
    pub action: WriteAction<'r>,
    pub plan: &'r WritePlan,
}

/// Runs all actions or none; `token` is the client's token and the digest of its request.
pub(super) fn run(
    transaction: &mut Transaction<'_>,
    parts: &[TransactionPart<'_>],
    token: Option<&(String, Digest)>,
    with_metrics: bool,
) -> Result<TransactWriteItemsResponse, Error> {
    let now_ms = transaction.now_ms();
    // Before anything else is checked: the answer to a used token is the same, even if tables and
    // items have changed since.
    if let Some((token, digest)) = token
        && let Some(remembered) = idempotency::find(transaction.read(), token, now_ms)?
    {
        return replay(parts, digest, &remembered);
    }
    transaction.charges.table_factor = Some(TRANSACTION_FACTOR);
    let tables = parts
        .iter()
        .map(|part| transaction.active_table(part.table))
        .collect::<Result<Vec<_>, Error>>()?;
    let keys = parts
        .iter()
        .zip(&tables)
        .map(|(part, table)| (&**table, part.plan.key(part.action, table)));
    let keys = keys_of_all(parts.len(), keys)?;
    let planned = plan(transaction, parts, tables, keys)?;
    check_collections(transaction, &planned)?;
    check_indexes(transaction, &planned)?;

    // Everything is decided on the state before, and nothing can refuse any more.
    let consumed_capacity = apply(transaction, &planned)?;
    if let Some((token, digest)) = token {
        let remembered = TokenResult::new(now_ms, *digest, replay_units(&planned)?);
        idempotency::store(transaction.batch, token, &remembered, now_ms)?;
    }
    let item_collection_metrics = if with_metrics {
        metrics_by_table(transaction, &planned)?
    } else {
        Vec::new()
    };
    Ok(TransactWriteItemsResponse {
        consumed_capacity,
        item_collection_metrics,
        is_replay: false,
    })
}

/// Answers a used token.
fn replay(
    parts: &[TransactionPart<'_>],
    digest: &Digest,
    remembered: &TokenResult,
) -> Result<TransactWriteItemsResponse, Error> {
    if remembered.digest != *digest {
        return Err(Error::IdempotentParameterMismatch);
    }
    let mut names: Vec<&TableName> = Vec::new();
    for TransactionPart { table, .. } in parts {
        if !names.contains(table) {
            names.push(table);
        }
    }
    if remembered.read_units.len() != names.len() {
        return Err(StoreError::Corrupt("client request token").into());
    }
    let units = remembered
        .read_units
        .iter()
        .map(|units| ConsumedCapacity::of_table(f64::from(*units)));
    let consumed_capacity = names.into_iter().cloned().zip(units).collect();
    Ok(TransactWriteItemsResponse {
        consumed_capacity,
        item_collection_metrics: Vec::new(),
        is_replay: true,
    })
}

/// One decided action.
struct DecidedAction<'r> {
    stored: StoredItem,
    outcome: WriteOutcome<'r>,
}

/// Decides every action on the state before the transaction. Reports all conditions that fail, or
/// else the first action that is invalid on its own.
fn plan<'r>(
    transaction: &mut Transaction<'_>,
    parts: &[TransactionPart<'r>],
    tables: Vec<Arc<TableEntry>>,
    keys: Vec<Key>,
) -> Result<Vec<DecidedAction<'r>>, Error> {
    let mut planned = Vec::with_capacity(parts.len());
    let mut reasons = ReasonList::new(parts.len());
    for (place, ((part, table), key)) in parts.iter().zip(&tables).zip(keys).enumerate() {
        let Some(stored) = reasons.accept(place, StoredItem::load(transaction, table, key))? else {
            continue;
        };
        transaction.value_memory.reserve_change(stored.record()?)?;
        match part.plan.decide(part.action, &stored) {
            Ok(outcome) => planned.push(DecidedAction { stored, outcome }),
            Err(failed @ Error::ConditionalCheckFailed { .. }) => {
                reasons.accept::<()>(place, Err(failed))?;
            }
            Err(error) if concerns_whole_transaction(&error) => return Err(error),
            Err(error) => return Err(Cancellation::invalid(parts.len(), place, error).into()),
        }
    }
    reasons.finish()?;
    Ok(planned)
}

/// Checks the limits of item collections, with the growth of the writes summed in order, so that no
/// write is refused later.
fn check_collections(
    transaction: &Transaction<'_>,
    planned: &[DecidedAction<'_>],
) -> Result<(), Error> {
    let limit = transaction.shared.options.collection_bytes_max;
    let mut sums: HashMap<_, i64> = HashMap::new();
    let mut reasons = ReasonList::new(planned.len());
    for (place, DecidedAction { stored, outcome }) in writes(planned) {
        let growth = write::collection_growth(stored, outcome.item())?;
        let sum = sums
            .entry((stored.table.source, stored.address.digest))
            .or_default();
        *sum += growth;
        reasons.accept(
            place,
            write::check_collection(transaction.read(), limit, stored, growth, *sum),
        )?;
    }
    reasons.finish()
}

/// Checks that every global index has capacity for its part, so that none refuses later.
fn check_indexes(
    transaction: &mut Transaction<'_>,
    planned: &[DecidedAction<'_>],
) -> Result<(), Error> {
    let mut reasons = ReasonList::new(planned.len());
    for (place, DecidedAction { stored, outcome }) in writes(planned) {
        reasons.accept(
            place,
            write::admit_indexes(transaction, stored, outcome.item()),
        )?;
    }
    transaction.charges.is_admitted = true;
    reasons.finish()
}

/// Returns the actions that write, with their positions.
fn writes<'p, 'r>(
    planned: &'p [DecidedAction<'r>],
) -> impl Iterator<Item = (usize, &'p DecidedAction<'r>)> {
    planned
        .iter()
        .enumerate()
        .filter(|(_, write)| !matches!(write.outcome, WriteOutcome::Unchanged))
}

/// Writes all actions; returns the consumed capacity by table.
fn apply(
    transaction: &mut Transaction<'_>,
    planned: &[DecidedAction<'_>],
) -> Result<Vec<(TableName, ConsumedCapacity)>, Error> {
    let mut consumed = Vec::new();
    for DecidedAction { stored, outcome } in planned {
        let mut units = match outcome {
            WriteOutcome::Unchanged => {
                let units = write_units(stored.item_bytes()?);
                transaction.charge_table(&stored.table, &stored.address, units)?;
                ConsumedCapacity::of_table(units)
            }
            _ => outcome.write(transaction, stored)?.consumed_capacity,
        };
        units.table *= TRANSACTION_FACTOR;
        super::add_capacity(&mut consumed, &stored.table.schema.name, &units);
    }
    Ok(consumed)
}

/// Returns the units that a replay of the same token consumes (docs/dynamodb.md 10.1): reads of the
/// larger image of each item.
fn replay_units(planned: &[DecidedAction<'_>]) -> Result<Vec<u32>, StoreError> {
    let mut consumed = Vec::new();
    for DecidedAction { stored, outcome } in planned {
        let bytes = stored
            .item_bytes()?
            .max(outcome.item().map_or(0, Item::size));
        let units = ConsumedCapacity::of_table(TRANSACTION_FACTOR * read_units(bytes, true));
        super::add_capacity(&mut consumed, &stored.table.schema.name, &units);
    }
    // Whole numbers, at most 200 for each of 100 items.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(consumed
        .into_iter()
        .map(|(_, units)| units.table as u32)
        .collect())
}

/// Returns the metrics of each collection once.
fn metrics_by_table(
    transaction: &Transaction<'_>,
    planned: &[DecidedAction<'_>],
) -> Result<Vec<(TableName, Vec<ItemCollectionMetrics>)>, Error> {
    let mut by_table: Vec<(TableName, Vec<ItemCollectionMetrics>)> = Vec::new();
    let mut seen = HashSet::new();
    for (_, DecidedAction { stored, .. }) in writes(planned) {
        if !seen.insert((stored.table.source, &stored.key.partition)) {
            continue;
        }
        let found = write::collection_metrics(transaction.read(), &stored.table, &stored.key)?;
        let name = &stored.table.schema.name;
        match by_table.iter_mut().find(|(table, _)| table == name) {
            Some((_, list)) => list.extend(found),
            None => by_table.push((name.clone(), found.into_iter().collect())),
        }
    }
    Ok(by_table)
}

/// Returns the digest of these actions.
pub fn digest_of(actions: &[TransactWrite]) -> Digest {
    let mut out = Vec::new();
    for write in actions {
        append_part(write.table_name.as_str().as_bytes(), &mut out);
        match &write.action {
            TransactAction::ConditionCheck { key } => digest_item(b"check", key, &mut out),
            TransactAction::Put { item: new } => digest_item(b"put", new, &mut out),
            TransactAction::Delete { key } => digest_item(b"delete", key, &mut out),
            TransactAction::Update {
                key,
                update_expression,
            } => {
                digest_item(b"update", key, &mut out);
                append_part(update_expression.as_bytes(), &mut out);
            }
        }
        match &write.condition {
            ConditionParameter::None => append_part(b"no condition", &mut out),
            ConditionParameter::Expression(text) => {
                append_part(b"condition", &mut out);
                append_part(text.as_bytes(), &mut out);
            }
            ConditionParameter::Legacy(conditions) => {
                append_part(b"conditions", &mut out);
                append_part(format!("{conditions:?}").as_bytes(), &mut out);
            }
        }
        placeholders(write, &mut out);
        append_part(&[u8::from(write.return_old_on_condition_failure)], &mut out);
    }
    digest(&out)
}

fn placeholders(write: &TransactWrite, out: &mut Vec<u8>) {
    let names = write.placeholders.names.iter().flatten();
    names.for_each(|(alias, name)| {
        [alias, name]
            .into_iter()
            .for_each(|text| append_part(text.as_bytes(), out))
    });
    let values = write.placeholders.values.iter().flatten();
    let value = |value: &AttributeValue| Item::from([("", value.clone())]);
    values.for_each(|(alias, given)| digest_item(alias.as_bytes(), &value(given), out));
}

fn digest_item(action: &[u8], item: &Item, out: &mut Vec<u8>) {
    append_part(action, out);
    append_item(item, out);
}

/// One checked read.
struct PlannedRead {
    table: Arc<TableEntry>,
    key: Key,
    projection: Option<ProjectionPaths>,
}

impl Engine {
    /// Reads items of one moment.
    ///
    /// # Errors
    /// Fails with `Expression`, `ResourceNotFound` or `Transaction`, or with `TransactionCanceled`
    /// for a key that does not fit its table; also errors of the store.
    pub fn transact_get_items(
        &self,
        request: &TransactGetItemsRequest,
    ) -> Result<TransactGetItemsResponse, Error> {
        let mut projections = Vec::with_capacity(request.transact_items.len());
        for get in &request.transact_items {
            get.key.check_nesting()?;
            let requested = RequestedProjection::new(get.projection_expression.as_ref(), None)?;
            projections.push(parse_projection(requested, &get.placeholders)?);
        }
        if let Some(fault) = &request.fault {
            return Err(Error::clone(fault));
        }
        let view = self.view()?;
        let planned = plan_reads(&view, request, projections)?;
        let mut response = TransactGetItemsResponse {
            responses: Vec::new(),
            consumed_capacity: Vec::new(),
        };
        check_capacity(&view, &planned)?;
        let (mut left, mut held) = (TRANSACTION_BYTES_MAX, ValueMemory::default());
        for read in &planned {
            let address = EntryAddress::of_item(read.table.source, &read.key);
            let record = view.entry(&address)?;
            let bytes = record.map_or(0, |record| record.item_bytes() as usize);
            left = left.checked_sub(bytes).ok_or(TransactionError::TooLarge)?;
            record.map_or(Ok(()), |record| held.reserve_read(&record))?;
            response.responses.push(
                record
                    .map(|record| returned_item(record, read))
                    .transpose()?
                    .flatten(),
            );
            let units = TRANSACTION_FACTOR * read_units(bytes, true);
            view.charge_item(&read.table, &address, units)?;
            let units = ConsumedCapacity::of_table(units);
            super::add_capacity(
                &mut response.consumed_capacity,
                &read.table.schema.name,
                &units,
            );
        }
        Ok(response)
    }
}

/// Cancels a transaction if some reads have no capacity left.
fn check_capacity(view: &ReadView<'_>, planned: &[PlannedRead]) -> Result<(), Error> {
    let mut reasons = ReasonList::new(planned.len());
    for (place, read) in planned.iter().enumerate() {
        reasons.accept(
            place,
            view.admit_item(
                &read.table,
                &EntryAddress::of_item(read.table.source, &read.key),
            ),
        )?;
    }
    reasons.finish()
}

/// Plans the reads. Missing tables, empty keys and repeated items fail the whole transaction; other
/// bad keys are reasons of their own read.
fn plan_reads(
    view: &ReadView<'_>,
    request: &TransactGetItemsRequest,
    projections: Vec<Option<ProjectionPaths>>,
) -> Result<Vec<PlannedRead>, Error> {
    let gets = &request.transact_items;
    let tables = gets
        .iter()
        .map(|get| view.active_table(&get.table_name))
        .collect::<Result<Vec<_>, Error>>()?;
    let keys = gets.iter().zip(&tables).zip(&projections);
    let keys = keys
        .map(|((get, table), projection)| (&**table, check_get(get, table, projection.as_ref())));
    let keys = keys_of_all(gets.len(), keys)?;
    let planned = tables.into_iter().zip(keys).zip(projections);
    Ok(planned
        .map(|((table, key), projection)| PlannedRead {
            table,
            key,
            projection,
        })
        .collect())
}

fn check_get(
    get: &TransactGet,
    table: &TableEntry,
    projection: Option<&ProjectionPaths>,
) -> Result<Key, Error> {
    let key = item_key::key_of_parameter(&table.schema.key, &get.key)?;
    select::check_no_path_into_keys(projection, &table.schema)?;
    Ok(key)
}

/// Returns the item of the answer; an empty selection counts as no item.
fn returned_item(record: Record<'_>, read: &PlannedRead) -> Result<Option<Item>, StoreError> {
    let item = record.to_item()?;
    Ok(match &read.projection {
        None => Some(item),
        Some(paths) => Some(paths.apply(&item)).filter(|item| !item.0.is_empty()),
    })
}

// The reasons for which single actions cancel their transaction (docs/dynamodb.md 15.1).

/// The reasons by action; `None` for an action without one.
pub struct ReasonList(Vec<CancellationReason>);

impl ReasonList {
    pub fn new(actions: usize) -> Self {
        Self(vec![CancellationReason::None; actions])
    }

    /// Takes the outcome of an action; returns `None` if it fails for a reason of its own.
    ///
    /// # Errors
    /// Fails with an error that concerns the whole transaction.
    pub fn accept<T>(
        &mut self,
        index: usize,
        outcome: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let reason = match outcome {
            Ok(value) => return Ok(Some(value)),
            Err(Error::ConditionalCheckFailed { item }) => {
                CancellationReason::ConditionalCheckFailed { item }
            }
            Err(Error::ItemCollectionSizeLimitExceeded) => {
                CancellationReason::ItemCollectionSizeLimitExceeded
            }
            Err(Error::Throttled(throttled)) => CancellationReason::Throttled(throttled),
            Err(error) => return Err(error),
        };
        self.set(index, reason);
        Ok(None)
    }

    /// Records the reason of an action that is invalid in any state of its item.
    ///
    /// # Errors
    /// Fails with an error that concerns the whole transaction.
    pub fn reject(&mut self, index: usize, error: Error) -> Result<(), Error> {
        if concerns_whole_transaction(&error) {
            return Err(error);
        }
        self.set(index, CancellationReason::ValidationError(Box::new(error)));
        Ok(())
    }

    fn set(&mut self, index: usize, reason: CancellationReason) {
        // A reason that is lost would let the transaction be written without its action.
        assert!(index < self.0.len(), "an action of the transaction");
        self.0[index] = reason;
    }

    /// Ends the collection of reasons.
    ///
    /// # Errors
    /// Fails with `TransactionCanceled` if there is any reason.
    pub fn finish(self) -> Result<(), Error> {
        if self
            .0
            .iter()
            .all(|reason| *reason == CancellationReason::None)
        {
            Ok(())
        } else {
            Err(Cancellation(self.0).into())
        }
    }
}

/// Returns the keys of all actions, each given with its table; they must be of different items.
///
/// # Errors
/// Fails with an error that concerns the whole transaction, with `SeveralOperations` on one item,
/// or with a cancellation by the first invalid key.
pub fn keys_of_all<'t>(
    actions: usize,
    checked: impl Iterator<Item = (&'t TableEntry, Result<Key, Error>)>,
) -> Result<Vec<Key>, Error> {
    let (mut keys_of_all, mut invalid) = (Vec::with_capacity(actions), None);
    for (place, (table, key)) in checked.enumerate() {
        match key {
            Ok(key) => keys_of_all.push((table, key)),
            Err(error) if concerns_whole_transaction(&error) => return Err(error),
            Err(error) => invalid = invalid.or(Some((place, error))),
        }
    }
    if !super::are_distinct(keys_of_all.iter().map(|(table, key)| (*table, key))) {
        return Err(TransactionError::SeveralOperations.into());
    }
    match invalid {
        Some((place, error)) => Err(Cancellation::invalid(actions, place, error).into()),
        None => Ok(keys_of_all.into_iter().map(|(_, key)| key).collect()),
    }
}

/// True for an error that is the answer for the whole transaction, and not the reason of one
/// action.
pub fn concerns_whole_transaction(error: &Error) -> bool {
    matches!(
        error,
        Error::Key(
            KeyError::EmptyString(_)
                | KeyError::EmptyBinary(_)
                | KeyError::IndexEmptyString { .. }
                | KeyError::IndexEmptyBinary { .. }
        ) | Error::Update(UpdateError::IndexEmptyString | UpdateError::IndexEmptyBinary)
            | Error::Store(_)
    )
}
