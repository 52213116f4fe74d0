//! State that the API has no place for and the mount keeps in memory: the trash, saved queries, and
//! the partition keys behind shortened names. Also a short-lived cache of example reads.

use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::database::{PartitionKey, Visit};
use crate::expr::read_request::ReadRequest;
use crate::model::api::table_control::{
    SavedQueries, SavedQueryChange, SavedQueryOutcome, TrashChange, TrashKey, TrashStat,
};
use crate::model::error::StoreError;
use std::collections::HashMap;

/// The limit of cached example reads.
const EXAMPLES_MAX: usize = 32;
/// The size limit of the trash, in bytes.
const TRASH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The limit of remembered partition keys.
const KEYS_MAX: usize = 100_000;
/// The key length in bytes below which names are never shortened.
const SHORTENED_BYTES_MIN: usize = 40;

/// The result of an example read.
type ExampleRead = (Vec<Item>, Page);

/// The local state of a remote mount; see the module.
#[derive(Debug, Default)]
pub struct LocalState {
    /// Example reads with the time of their request, in milliseconds since the epoch.
    examples: Mutex<Vec<(ReadRequest, u64, ExampleRead)>>,
    trash: Mutex<Vec<(TrashStat, Arc<[u8]>)>>,
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

    /// Returns an example read that was requested after `since_ms`.
    pub fn example(&self, request: &ReadRequest, since_ms: u64) -> Option<ExampleRead> {
        let mut glances = self.examples.lock();
        glances.retain(|(_, at_ms, _)| *at_ms > since_ms);
        glances
            .iter()
            .find(|(of, ..)| of == request)
            .map(|(_, _, glance)| glance.clone())
    }

    pub fn keep_example(&self, request: &ReadRequest, at_ms: u64, example: ExampleRead) {
        let mut glances = self.examples.lock();
        if glances.len() >= EXAMPLES_MAX {
            glances.remove(0);
        }
        glances.push((request.clone(), at_ms, example));
    }

    /// Puts a file into the trash, in place of one at the same place.
    ///
    /// # Errors
    /// `NoSpace` if the trash has no room for the content.
    pub fn put_in_trash(&self, key: TrashKey, content: &[u8], now_ms: u64) -> Result<(), Error> {
        let mut trash = self.trash.lock();
        trash.retain(|(stat, _)| stat.key != key && now_ms < stat.expires_ms());
        // A file is never evicted for another: the trash may be its only copy.
        if trash
            .iter()
            .map(|(_, content)| content.len())
            .sum::<usize>()
            + content.len()
            > TRASH_BYTES_MAX
        {
            return Err(StoreError::NoSpace.into());
        }
        let stat = TrashStat {
            key,
            bytes: content.len() as u64,
            trashed_ms: now_ms,
            is_in_folder: true,
        };
        trash.push((stat, content.into()));
        trash.sort_by_cached_key(|(stat, _)| trash_order(&stat.key));
        Ok(())
    }

    pub fn trashed_at(&self, key: &TrashKey, now_ms: u64) -> Option<(TrashStat, Vec<u8>)> {
        let trash = self.trash.lock();
        let (stat, content) = trash
            .iter()
            .find(|(stat, _)| stat.key == *key && now_ms < stat.expires_ms())?;
        Some((stat.clone(), content.to_vec()))
    }

    pub fn tables_with_trash(&self) -> Vec<TableName> {
        let mut tables: Vec<TableName> = self
            .trash
            .lock()
            .iter()
            .map(|(stat, _)| stat.key.table.clone())
            .collect();
        tables.sort();
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
        let trash: Vec<TrashStat> = self
            .trash
            .lock()
            .iter()
            .map(|(stat, _)| stat)
            .filter(|stat| is_meant(stat))
            .cloned()
            .collect();
        let _ = trash.into_iter().try_for_each(visit);
    }

    /// Changes the trash; returns true if there was something to change.
    pub fn change_trash(&self, change: TrashChange) -> bool {
        let mut trash = self.trash.lock();
        match change {
            TrashChange::Remove(place) => {
                let before = trash.len();
                trash.retain(|(stat, _)| stat.key != place);
                trash.len() < before
            }
            TrashChange::Move { from, to } => {
                let Some(at) = trash.iter().position(|(stat, _)| stat.key == from) else {
                    return false;
                };
                let (stat, content) = trash.remove(at);
                // As in rename(2), a file at the target is replaced.
                trash.retain(|(stat, _)| stat.key != to);
                trash.push((
                    TrashStat {
                        key: to,
                        is_in_folder: true,
                        ..stat
                    },
                    content,
                ));
                trash.sort_by_cached_key(|(stat, _)| trash_order(&stat.key));
                true
            }
            TrashChange::Detach { table, folder } => {
                let is_meant = |stat: &TrashStat| {
                    stat.key.table == table && stat.key.folder == folder && stat.is_in_folder
                };
                let left = trash
                    .iter_mut()
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
        self.trash
            .lock()
            .retain(|(stat, _)| stat.key.table != *table);
        self.saved_queries.lock().remove(table);
    }
}

/// Returns the sort order of a file: folder, then name.
fn trash_order(key: &TrashKey) -> (Option<Digest>, String) {
    (
        key.folder
            .as_ref()
            .map(|folder| partition_digest(&[folder])),
        key.name.clone(),
    )
}
