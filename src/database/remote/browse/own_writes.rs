//! Own writes of the mount: the condition under which they are sent (optimistic locking: the item
//! must still be what was read), and their effect on the `cache`. `operations` sends them.

use super::RemoteDatabase;
use super::cache::{
    CachedRecord, EntryCache, EntryPlace, RemoteCommits, WriteResult, collection_place,
};
use super::source::ReadableSource;
use super::write_queue::{ItemPlace, QueuedRequest};
use crate::codec::record::Record;
use crate::database::prelude::*;
use crate::database::{Completion, EntryKey};
use crate::expr::condition::{Condition, parse_parameter};
use crate::expr::order::Comparator;
use crate::expr::write::ExpressionWriter;
use crate::expr::{PlaceholderScope, Predicate};
use crate::model::api::{
    Call, ConditionParameter, Gathering, ItemAccess, ItemEffect, Placeholders, Precondition,
    Version, WriteListener,
};
use crate::model::error::expression::ExpressionParameter;
use crate::model::{Key, KeySchema};

/// An item that a request writes.
#[derive(Debug)]
pub struct WriteTarget {
    table: ReadableSource,
    key: Key,
    /// The state of the item after success: an item, none, or unknown.
    result: WriteResult<Item>,
}

impl WriteTarget {
    fn place(&self) -> ItemPlace {
        (self.table.source.table.clone(), self.key.clone())
    }

    fn places(&self) -> [EntryPlace; 2] {
        let source = &self.table.source;
        [
            (source.clone(), EntryKey::from(self.key.clone())),
            collection_place(source, &vec![self.key.partition.clone()]),
        ]
    }

    /// Returns the state of the item and of its collection after the write.
    fn results(&self, pages: &EntryCache, is_done: bool) -> [WriteResult<CachedRecord>; 2] {
        match &self.result {
            // A failed write may have been executed.
            _ if !is_done => [WriteResult::Unknown, WriteResult::Unknown],
            WriteResult::Item(item) => [
                WriteResult::Item(pages.written_record(item, &self.table.key_names())),
                WriteResult::Item(Arc::default()),
            ],
            // The deleted item may have been the last of its collection.
            WriteResult::Nothing => [WriteResult::Nothing, WriteResult::Unknown],
            WriteResult::Unknown => [WriteResult::Unknown, WriteResult::Item(Arc::default())],
        }
    }
}

/// The requirements of a write on the present item.
pub(super) struct GuardedWrite<'r> {
    pub access: ItemAccess<'r>,
    pub precondition: Option<Precondition>,
    pub condition: &'r mut ConditionParameter,
    pub placeholders: &'r mut Placeholders,
    pub returns_old: bool,
}

/// Takes the requirements out of a request; all such requests have these members.
macro_rules! guarded_write {
    ($request:expr, $item:expr, $effect:expr) => {
        GuardedWrite {
            access: ItemAccess::new(&$request.table_name, $item, $effect),
            precondition: $request.precondition.take(),
            condition: &mut $request.condition,
            placeholders: &mut $request.placeholders,
            returns_old: $request.return_old_on_condition_failure,
        }
    };
}
pub(super) use guarded_write;

/// Writes under way.
pub struct OwnWrites {
    cache: Arc<EntryCache>,
    commits: Arc<RemoteCommits>,
    listener: Option<Arc<dyn WriteListener>>,
    targets: Vec<WriteTarget>,
    /// The states that are shown, if the writes were acknowledged before their end.
    shown: Option<Vec<(EntryPlace, WriteResult<CachedRecord>)>>,
}

impl OwnWrites {
    /// Registers writes that are about to be sent, so that overlapping ones are detected.
    fn begin(
        database: &RemoteDatabase,
        listener: Option<Arc<dyn WriteListener>>,
        targets: Vec<WriteTarget>,
        is_shown: bool,
    ) -> Self {
        let mut writes = Self {
            cache: Arc::clone(&database.cache),
            commits: Arc::clone(&database.commits),
            listener,
            targets,
            shown: None,
        };
        if is_shown {
            let left = writes.left(true);
            writes.cache.show_write(&left);
            writes.commits.add();
            writes.shown = Some(left);
        } else {
            let places = writes.targets.iter().flat_map(WriteTarget::places);
            writes.cache.begin_write(&places.collect::<Vec<_>>());
        }
        writes
    }

    /// Sets the result of an update, if there is one target; `None` means that the item is gone.
    pub fn set_result(&mut self, item: Option<Item>) {
        if let [target] = &mut self.targets[..] {
            target.result = item.map_or(WriteResult::Nothing, WriteResult::Item);
        }
    }

    /// Ends the writes, and updates the cache before any waiting reader asks. Returns the version
    /// of the first item with a known state.
    pub fn finish(mut self, is_done: bool) -> Option<Version> {
        let places = match self.shown.take() {
            Some(shown) if is_done => shown,
            shown => {
                self.listener = self.listener.take().filter(|_| shown.is_none());
                self.left(is_done)
            }
        };
        let first = places.iter().find_map(|(_, left)| version_left(left));
        // The cache first: the commit wakes readers, which must find the new state.
        self.cache.end_write(places);
        self.commits.add();
        first
    }

    /// Returns the states that the writes leave, and notifies the listener.
    fn left(&self, is_done: bool) -> Vec<(EntryPlace, WriteResult<CachedRecord>)> {
        let mut places = Vec::new();
        for target in &self.targets {
            let left = target.results(&self.cache, is_done);
            let version = version_left(&left[0]);
            if let (Some(listener), true) = (
                &self.listener,
                version.is_some() || matches!(left[0], WriteResult::Nothing),
            ) {
                listener.on_write(&target.table.source.table, &target.key, version);
            }
            places.extend(target.places().into_iter().zip(left));
        }
        places
    }

    /// Returns the version of the first item that is shown.
    fn shown_version(&self) -> Option<Version> {
        self.shown
            .iter()
            .flatten()
            .find_map(|(_, left)| version_left(left))
    }
}

/// Returns the version of an item that a write leaves.
fn version_left(left: &WriteResult<CachedRecord>) -> Option<Version> {
    match left {
        // The existence of a collection is an empty record.
        WriteResult::Item(record) if !record.is_empty() => {
            let record = Record::parse(record);
            debug_assert!(record.is_ok(), "a record of our own");
            record.ok().map(|record| record.version())
        }
        WriteResult::Item(_) | WriteResult::Nothing | WriteResult::Unknown => None,
    }
}

impl RemoteDatabase {
    /// Checks that the mount is writable; `ReadOnly` otherwise.
    pub(super) fn check_writable(&self) -> Result<(), Error> {
        if self.options.is_writable {
            Ok(())
        } else {
            Err(Error::ReadOnly)
        }
    }

    /// Returns the definition of a table for a write.
    pub(super) fn table_for_write(&self, table: &TableName) -> Result<ReadableSource, Error> {
        let described = self
            .tables
            .table(self.service_handle(), table)?
            .ok_or(Error::ResourceNotFound)?;
        ReadableSource::new(&SourceName::from(table), described)?.ok_or(Error::ResourceNotFound)
    }

    /// Creates the target of a write; `None` if it only checks the item, or if the item's keys are
    /// missing, which the service refuses.
    fn target(table: ReadableSource, access: ItemAccess<'_>) -> Option<WriteTarget> {
        let item = access.item;
        let result = match access.effect {
            ItemEffect::Read => return None,
            ItemEffect::Put => WriteResult::Item(item.clone()),
            ItemEffect::Delete => WriteResult::Nothing,
            ItemEffect::Update => WriteResult::Unknown,
        };
        Some(WriteTarget {
            key: item.key(&table.described.schema.key)?,
            table,
            result,
        })
    }

    /// Creates the targets of writes.
    ///
    /// # Errors
    /// `ResourceNotFound` if a table is missing or hidden; errors of the service.
    pub(super) fn targets(&self, accesses: Vec<ItemAccess<'_>>) -> Result<Vec<WriteTarget>, Error> {
        let target =
            |access: ItemAccess<'_>| Ok(Self::target(self.table_for_write(access.table)?, access));
        accesses
            .into_iter()
            .filter_map(|access| target(access).transpose())
            .collect()
    }

    /// Sends writes to the service, unless the targets failed. `call` makes the call; `end` gets
    /// its outcome with the writes, and ends them.
    pub(super) fn write<R: Send + 'static>(
        &self,
        mut done: Completion<R>,
        targets: Result<impl IntoIterator<Item = WriteTarget>, Error>,
        end: impl FnOnce(OwnWrites, Result<R, Error>) -> Result<R, Error> + Send + 'static,
        call: impl FnOnce(Completion<R>) -> Call,
    ) {
        let targets: Vec<WriteTarget> = match targets {
            Ok(targets) => targets.into_iter().collect(),
            Err(error) => return done.complete(Err(error)),
        };
        // The writes of one item are sent in their order.
        if self.writes.has_any(targets.iter().map(WriteTarget::place))
            && let Err(error) = self.settle()
        {
            return done.complete(Err(error));
        }
        // The listener is notified here, not by the service as well.
        let writes = OwnWrites::begin(self, done.context.listener.take(), targets, false);
        self.service
            .start(call(done.after(move |outcome| end(writes, outcome))));
    }

    /// Adds a write to those that are sent in batches; `response` makes the response.
    pub(super) fn gather<R: Send + 'static>(
        &self,
        mut done: Completion<R>,
        gathering: Gathering,
        target: WriteTarget,
        request: QueuedRequest,
        response: impl FnOnce(Option<Version>) -> R + Send + 'static,
    ) {
        let (place, listener) = (target.place(), done.context.listener.take());
        let targets = vec![target];
        match gathering {
            Gathering::Behind(on_end) if !self.writes.is_full() => {
                let writes = OwnWrites::begin(self, listener, targets, true);
                let version = writes.shown_version();
                self.writes.push(place, request, move |outcome| {
                    writes.finish(outcome.is_ok());
                    on_end(outcome);
                });
                done.complete(Ok(response(version)));
            }
            Gathering::Awaited | Gathering::Behind(_) => {
                let writes = OwnWrites::begin(self, listener, targets, false);
                self.writes.push(place, request, move |outcome| {
                    let version = writes.finish(outcome.is_ok());
                    done.complete(outcome.map(|()| response(version)));
                });
            }
        }
    }

    /// True if the item is known to exist.
    pub(super) fn is_known(&self, target: &WriteTarget) -> bool {
        let [place, _] = target.places();
        matches!(self.cache.get_valid(&place), Some(Some(_)))
    }

    /// Turns the precondition of a write into a condition; returns its target.
    ///
    /// # Errors
    /// `ReadOnly`; `ConditionalCheckFailed` if the precondition fails already; errors of a read.
    pub(super) fn apply_precondition(
        &self,
        guarded: GuardedWrite<'_>,
    ) -> Result<Option<WriteTarget>, Error> {
        self.check_writable()?;
        let access = guarded.access;
        let table = self.table_for_write(access.table)?;
        if let Some(precondition) = guarded.precondition {
            self.add_condition(&table, precondition, guarded)?;
        }
        Ok(Self::target(table, access))
    }

    /// Adds a precondition to a condition.
    fn add_condition(
        &self,
        table: &ReadableSource,
        precondition: Precondition,
        guarded: GuardedWrite<'_>,
    ) -> Result<(), Error> {
        let GuardedWrite {
            access: ItemAccess { item: key, .. },
            condition,
            placeholders,
            returns_old,
            ..
        } = guarded;
        let schema = &table.described.schema.key;
        let failed = |item: Option<Item>| Error::ConditionalCheckFailed {
            item: item.filter(|_| returns_old).map(Box::new),
        };
        let present = match precondition {
            Precondition::Absent => None,
            Precondition::Version(version) | Precondition::VersionOrAbsent(version) => {
                self.item_at_version(table, key, version)?
            }
        };
        let may_be_absent = !matches!(precondition, Precondition::Version(_));
        let ours = match present {
            Some((item, false)) => return Err(failed(Some(item))),
            Some((item, true)) if may_be_absent => {
                Condition::Or(vec![is_absent(schema), is_unchanged(&item, schema)])
            }
            Some((item, true)) => is_unchanged(&item, schema),
            // There is no item now; the condition makes sure that none was made in between.
            None if may_be_absent => is_absent(schema),
            None => return Err(failed(None)),
        };
        let all = match condition {
            ConditionParameter::None => ours,
            ConditionParameter::Expression(theirs) => {
                let parameter = ExpressionParameter::Condition;
                let theirs =
                    parse_parameter(theirs, parameter, &mut PlaceholderScope::new(placeholders))?;
                Condition::And(vec![ours, theirs])
            }
            ConditionParameter::Legacy(_) => {
                return Err(Error::Unavailable(
                    "a version is not asked for beside Expected",
                ));
            }
        };
        // The marker keeps these placeholders apart from those of an update expression.
        let mut writer = ExpressionWriter::with_mark("_");
        let written = writer.condition(&all)?;
        let of_ours = writer.placeholders();
        // Without a condition of the caller, its placeholders belong to an update expression, and
        // stay.
        if matches!(condition, ConditionParameter::None) {
            placeholders
                .names
                .get_or_insert_default()
                .extend(of_ours.names.unwrap_or_default());
            placeholders
                .values
                .get_or_insert_default()
                .extend(of_ours.values.unwrap_or_default());
            // DynamoDB refuses an empty ExpressionAttributeValues.
            placeholders.values.take_if(|values| values.is_empty());
        } else {
            *placeholders = of_ours;
        }
        *condition = ConditionParameter::Expression(written);
        Ok(())
    }

    /// Returns the present item, and true if it has this version: as it was read here, or read again
    /// if it is not cached, or if it has too many attributes for a condition.
    fn item_at_version(
        &self,
        table: &ReadableSource,
        key: &Item,
        version: Version,
    ) -> Result<Option<(Item, bool)>, Error> {
        let key_values = key
            .key(&table.described.schema.key)
            .ok_or(Error::ResourceNotFound)?;
        let place = (table.source.clone(), EntryKey::from(key_values.clone()));
        let of = |record: &[u8]| -> Result<(Item, bool), Error> {
            let record = Record::parse(record)?;
            Ok((record.to_item()?, record.version() == version))
        };
        // The version that a reader saw may be cached, which saves a read.
        if let Some(record) = self.cache.last_known(&place)
            && let (item, true) = of(&record)?
            && item.0.len() <= COMPARED_MAX
        {
            return Ok(Some((item, true)));
        }
        // Begun before the request: an own write meanwhile keeps this record out of the cache.
        let began = self.cache.begin();
        let Some(item) = self.item(table, &key_values)? else {
            self.cache.insert(began, place, None, true);
            return Ok(None);
        };
        let (_, record) = table.keep_item(&self.cache, began, &item, true)?;
        of(&record).map(Some)
    }
}

/// The limit of attributes that a condition compares: an expression has 300 operators, each
/// attribute takes two, and others need some.
const COMPARED_MAX: usize = 100;

/// Returns the condition that there is no item.
#[must_use]
fn is_absent(key: &KeySchema) -> Condition {
    Condition::on_attribute(&key.partition.name, Predicate::AttributeNotExists, [])
}

/// Returns the condition that the item has these attributes, its keys first, up to the limit. An
/// added attribute is not detected, because a condition cannot name it.
#[must_use]
fn is_unchanged(item: &Item, key: &KeySchema) -> Condition {
    let of_key = item.0.iter().filter(|(name, _)| key.contains(name));
    let others = item.0.iter().filter(|(name, _)| !key.contains(name));
    let equal = Predicate::Compare(Comparator::Equal);
    let equal = of_key
        .chain(others)
        .take(COMPARED_MAX)
        .map(|(name, value)| Condition::on_attribute(name, equal, [value.clone()]));
    Condition::And(equal.collect())
}
