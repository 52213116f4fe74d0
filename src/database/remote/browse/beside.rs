//! State that the API has no place for and the mount keeps in memory: the trash, saved queries, and
//! the partition keys behind shortened names. Also a short-lived cache of example reads.

use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::database::bounded::OfEntries;
use crate::database::prelude::*;
use crate::database::{PartitionKey, Visit};
use crate::expr::read_request::ReadRequest;
use crate::model::api::table_control::{
    ParkedChange, ParkedPlace, ParkedStat, SavedQueries, SavedQueryChange, SavedQueryOutcome,
};
use crate::model::error::StoreError;
use std::collections::HashMap;

/// The limit of cached example reads.
const GLANCES_MAX: usize = 32;
/// The size limit of the trash, in bytes.
const PARKED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The limit of remembered partition keys.
const KEYS_MAX: usize = 100_000;
/// The key length in bytes below which names are never shortened.
const SHORTENED_BYTES_MIN: usize = 40;

/// The result of an example read.
type Glance = (Vec<Item>, Page);

/// The local state of a remote mount; see the module.
#[derive(Debug, Default)]
pub struct Beside {
    /// Example reads with the time of their request, in milliseconds since the epoch.
    glances: Mutex<Vec<(ReadRequest, u64, Glance)>>,
    parked: Mutex<Vec<(ParkedStat, Arc<[u8]>)>>,
    saved: Mutex<HashMap<TableName, Arc<SavedQueries>>>,
    keys: Mutex<OfEntries<(Source, Digest), PartitionKey, KEYS_MAX>>,
}

impl Beside {
    /// Remembers a partition key that a shortened name may stand for.
    pub fn learn(&self, source: &Source, partition: &PartitionKey) {
        if partition.iter().map(AttributeValue::size).sum::<usize>() < SHORTENED_BYTES_MIN {
            return;
        }
        self.keys.lock().put(
            (source.clone(), partition_digest(partition)),
            partition.clone(),
        );
    }

    pub fn partition(&self, source: &Source, digest: Digest) -> Option<PartitionKey> {
        self.keys.lock().get(&(source.clone(), digest)).cloned()
    }

    /// Returns an example read of after `since_ms`.
    pub fn glance(&self, request: &ReadRequest, since_ms: u64) -> Option<Glance> {
        let mut glances = self.glances.lock();
        glances.retain(|(_, at_ms, _)| *at_ms > since_ms);
        glances
            .iter()
            .find(|(of, ..)| of == request)
            .map(|(_, _, glance)| glance.clone())
    }

    pub fn keep_glance(&self, request: &ReadRequest, at_ms: u64, glance: Glance) {
        let mut glances = self.glances.lock();
        if glances.len() >= GLANCES_MAX {
            glances.remove(0);
        }
        glances.push((request.clone(), at_ms, glance));
    }

    /// Puts a file into the trash, in place of one at the same place.
    ///
    /// # Errors
    /// `NoSpace` if the trash has no room for the content.
    pub fn park(&self, place: ParkedPlace, content: &[u8], now_ms: u64) -> Result<(), Error> {
        let mut parked = self.parked.lock();
        parked.retain(|(stat, _)| stat.place != place && now_ms < stat.until_ms());
        // A file is never evicted for another: the trash may be its only copy.
        if parked
            .iter()
            .map(|(_, content)| content.len())
            .sum::<usize>()
            + content.len()
            > PARKED_BYTES_MAX
        {
            return Err(StoreError::NoSpace.into());
        }
        let stat = ParkedStat {
            place,
            bytes: content.len() as u64,
            parked_ms: now_ms,
            is_placed: true,
        };
        parked.push((stat, content.into()));
        parked.sort_by_cached_key(|(stat, _)| order(&stat.place));
        Ok(())
    }

    pub fn parked_at(&self, place: &ParkedPlace, now_ms: u64) -> Option<(ParkedStat, Vec<u8>)> {
        let parked = self.parked.lock();
        let (stat, content) = parked
            .iter()
            .find(|(stat, _)| stat.place == *place && now_ms < stat.until_ms())?;
        Some((stat.clone(), content.to_vec()))
    }

    pub fn tables_with_parked(&self) -> Vec<TableName> {
        let mut tables: Vec<TableName> = self
            .parked
            .lock()
            .iter()
            .map(|(stat, _)| stat.place.table.clone())
            .collect();
        tables.sort();
        tables.dedup();
        tables
    }

    pub fn each_parked(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        now_ms: u64,
        visit: &mut Visit<'_, ParkedStat>,
    ) {
        let is_meant = |stat: &ParkedStat| {
            stat.place.table == *table
                && folder.is_none_or(|folder| stat.place.folder.as_ref() == folder)
                && now_ms < stat.until_ms()
        };
        // Copied, so that `visit` runs without the lock.
        let parked: Vec<ParkedStat> = self
            .parked
            .lock()
            .iter()
            .map(|(stat, _)| stat)
            .filter(|stat| is_meant(stat))
            .cloned()
            .collect();
        let _ = parked.into_iter().try_for_each(visit);
    }

    /// Changes the trash; returns true if there was something to change.
    pub fn change_parked(&self, change: ParkedChange) -> bool {
        let mut parked = self.parked.lock();
        match change {
            ParkedChange::Remove(place) => {
                let before = parked.len();
                parked.retain(|(stat, _)| stat.place != place);
                parked.len() < before
            }
            ParkedChange::Move { from, to } => {
                let Some(at) = parked.iter().position(|(stat, _)| stat.place == from) else {
                    return false;
                };
                let (stat, content) = parked.remove(at);
                // As in rename(2), a file at the target is replaced.
                parked.retain(|(stat, _)| stat.place != to);
                parked.push((
                    ParkedStat {
                        place: to,
                        is_placed: true,
                        ..stat
                    },
                    content,
                ));
                parked.sort_by_cached_key(|(stat, _)| order(&stat.place));
                true
            }
            ParkedChange::Leave { table, folder } => {
                let is_meant = |stat: &ParkedStat| {
                    stat.place.table == table && stat.place.folder == folder && stat.is_placed
                };
                let left = parked
                    .iter_mut()
                    .filter(|(stat, _)| is_meant(stat))
                    .map(|(stat, _)| stat.is_placed = false);
                left.count() > 0
            }
        }
    }

    pub fn saved_queries(&self, table: &TableName) -> Arc<SavedQueries> {
        self.saved.lock().get(table).cloned().unwrap_or_default()
    }

    pub fn change_saved_queries(
        &self,
        table: &TableName,
        change: &SavedQueryChange,
        now_ms: u64,
    ) -> SavedQueryOutcome {
        let mut saved = self.saved.lock();
        change.apply(
            Arc::make_mut(saved.entry(table.clone()).or_default()),
            now_ms,
        )
    }

    /// Removes the state of a deleted table.
    pub fn forget_table(&self, table: &TableName) {
        self.parked
            .lock()
            .retain(|(stat, _)| stat.place.table != *table);
        self.saved.lock().remove(table);
    }
}

/// Returns the sort order of a file: folder, then name.
fn order(place: &ParkedPlace) -> (Option<Digest>, String) {
    (
        place
            .folder
            .as_ref()
            .map(|folder| partition_digest(&[folder])),
        place.name.clone(),
    )
}
