//! State that the API has no place for and the mount keeps in memory: the trash, saved queries, and
//! the partition keys behind shortened names. Also a short-lived cache of example reads.

use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::database::ttl_map::TtlMap;
use crate::database::{PartitionKey, Visit};
use crate::expr::read_request::ReadRequest;
use crate::model::api::table_control::{
    SavedQueries, SavedQueryChange, SavedQueryOutcome, TrashChange, TrashKey, TrashStat,
};
use crate::model::error::StoreError;
use std::collections::{BTreeMap, HashMap};

/// The limit of cached example reads.
const EXAMPLES_MAX: usize = 32;
/// Their time to live in milliseconds: texts with examples are made again at every look.
const EXAMPLE_MS: u64 = 10_000;
/// The size limit of the trash, in bytes.
const TRASH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The limit of remembered partition keys.
const KEYS_MAX: usize = 100_000;
/// The key length in bytes below which names are never shortened.
const SHORTENED_BYTES_MIN: usize = 40;

/// The result of an example read.
type ExampleRead = (Vec<Item>, Page);

/// The place of a file in the order of the trash: table, folder, name.
type TrashPlace = (TableName, Option<Digest>, String);
/// A file in the trash, with its content.
type TrashedFile = (TrashStat, Arc<[u8]>);

/// The local state of a remote mount; see the module.
#[derive(Debug, Default)]
pub struct LocalState {
    pub examples: Mutex<TtlMap<ReadRequest, ExampleRead, EXAMPLES_MAX, EXAMPLE_MS>>,
    trash: Mutex<BTreeMap<TrashPlace, TrashedFile>>,
    saved_queries: Mutex<HashMap<TableName, Arc<SavedQueries>>>,
    keys: Mutex<LruMap<(SourceName, Digest), PartitionKey, KEYS_MAX>>,
}

impl LocalState {
    /// Remembers a partition key that a shortened name may stand for.
    pub fn learn_key(&self, source: &SourceName, partition: &PartitionKey) {
        if partition.iter().map(AttributeValue::size).sum::<usize>() < SHORTENED_BYTES_MIN {
            return;
        }
        self.keys.lock().put(
            (source.clone(), partition_digest(partition)),
            partition.clone(),
        );
    }

    pub fn partition(&self, source: &SourceName, digest: Digest) -> Option<PartitionKey> {
        self.keys.lock().get(&(source.clone(), digest)).cloned()
    }

    /// Puts a file into the trash, in place of one at the same place.
    ///
    /// # Errors
    /// `NoSpace` if the trash has no room for the content.
    pub fn put_in_trash(&self, key: TrashKey, content: &[u8], now_ms: u64) -> Result<(), Error> {
        let mut trash = self.trash.lock();
        trash.retain(|_, (stat, _)| stat.key != key && now_ms < stat.expires_ms());
        // A file is never evicted for another: the trash may be its only copy.
        let held: usize = trash.values().map(|(_, content)| content.len()).sum();
        if held + content.len() > TRASH_BYTES_MAX {
            return Err(StoreError::NoSpace.into());
        }
        let place = trash_place(&key);
        let stat = TrashStat {
            key,
            bytes: content.len() as u64,
            trashed_ms: now_ms,
            is_in_folder: true,
        };
        trash.insert(place, (stat, content.into()));
        Ok(())
    }

    pub fn trashed_at(&self, key: &TrashKey, now_ms: u64) -> Option<(TrashStat, Vec<u8>)> {
        let trash = self.trash.lock();
        let (stat, content) = trash.get(&trash_place(key))?;
        (now_ms < stat.expires_ms()).then(|| (stat.clone(), content.to_vec()))
    }

    pub fn tables_with_trash(&self) -> Vec<TableName> {
        let trash = self.trash.lock();
        let mut tables: Vec<TableName> = trash.keys().map(|(table, ..)| table.clone()).collect();
        tables.dedup();
        tables
    }

    pub fn each_trashed(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        now_ms: u64,
        visit: &mut Visit<'_, TrashStat>,
    ) {
        let is_meant = |stat: &TrashStat| {
            stat.key.table == *table
                && folder.is_none_or(|folder| stat.key.folder.as_ref() == folder)
                && now_ms < stat.expires_ms()
        };
        // Copied, so that `visit` runs without the lock.
        let trash = self.trash.lock();
        let stats = trash.values().map(|(stat, _)| stat);
        let meant: Vec<TrashStat> = stats.filter(|stat| is_meant(stat)).cloned().collect();
        drop(trash);
        let _ = meant.into_iter().try_for_each(visit);
    }

    /// Changes the trash; returns true if there was something to change.
    pub fn change_trash(&self, change: TrashChange) -> bool {
        let mut trash = self.trash.lock();
        match change {
            TrashChange::Remove(key) => trash.remove(&trash_place(&key)).is_some(),
            TrashChange::Move { from, to } => {
                let Some((stat, content)) = trash.remove(&trash_place(&from)) else {
                    return false;
                };
                let place = trash_place(&to);
                let stat = TrashStat {
                    key: to,
                    is_in_folder: true,
                    ..stat
                };
                // As in rename(2), a file at the target is replaced.
                trash.insert(place, (stat, content));
                true
            }
            TrashChange::Detach { table, folder } => {
                let is_meant = |stat: &TrashStat| {
                    stat.key.table == table && stat.key.folder == folder && stat.is_in_folder
                };
                let left = trash
                    .values_mut()
                    .filter(|(stat, _)| is_meant(stat))
                    .map(|(stat, _)| stat.is_in_folder = false);
                left.count() > 0
            }
        }
    }

    pub fn saved_queries(&self, table: &TableName) -> Arc<SavedQueries> {
        self.saved_queries
            .lock()
            .get(table)
            .cloned()
            .unwrap_or_default()
    }

    pub fn change_saved_queries(
        &self,
        table: &TableName,
        change: &SavedQueryChange,
        now_ms: u64,
    ) -> SavedQueryOutcome {
        let mut saved = self.saved_queries.lock();
        change.apply(
            Arc::make_mut(saved.entry(table.clone()).or_default()),
            now_ms,
        )
    }

    /// Removes the state of a deleted table.
    pub fn remove_table(&self, table: &TableName) {
        self.trash.lock().retain(|(of, ..), _| of != table);
        self.saved_queries.lock().remove(table);
    }
}

fn trash_place(key: &TrashKey) -> TrashPlace {
    let folder = key.folder.as_ref();
    let folder = folder.map(|folder| partition_digest(&[folder]));
    (key.table.clone(), folder, key.name.clone())
}
