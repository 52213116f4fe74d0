//! What can be told of partitions.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::codec::digest::Digest;
use crate::engine::base::keys::SourceId;
use crate::engine::catalog::TableEntry;
use crate::engine::meter::heat;
use crate::engine::meter::pyramid::Merge;
use crate::engine::meter::record::{self, HeatRecord};
use crate::engine::meter::stored;
use crate::engine::meter::top_keys::ItemCounter;
use crate::engine::partitions::hot::HotPartition;
use crate::engine::partitions::{self, Partition, PartitionMap, content};
use crate::engine::runtime::Engine;
use crate::model::layout::{
    Load, PartitionContent, PartitionLimits, PartitionOrigin, PartitionReport, PlaceRange, SplitCandidate, TimeSpan, Window,
    WindowLoad,
};
use crate::model::{Error, IndexName, TableName};

/// A table or global index whose partitions are asked for. Entries of a local index are in those of its table.
#[derive(Debug, Clone)]
pub struct Partitioned {
    pub table: Arc<TableEntry>,
    pub source: SourceId,
    pub map: Arc<PartitionMap>,
}

impl Engine {
    /// The partitions of a table or index.
    ///
    /// # Errors
    /// `ResourceNotFound`; those of the store.
    pub fn partitioned(&self, table: &TableName, index: Option<&IndexName>) -> Result<Partitioned, Error> {
        let view = self.view()?;
        let table = view.table(table)?.ok_or(Error::ResourceNotFound)?;
        let source = match index {
            None => table.source,
            Some(name) => table.index(name).map(|(_, source)| source).ok_or(Error::ResourceNotFound)?,
        };
        let source = table.base_of_local_index(source).unwrap_or(source);
        let map = partitions::load(view.read(), &table, source)?;
        Ok(Partitioned { table, source, map })
    }

    /// What a partition gives.
    #[must_use]
    pub fn partition_limits(&self) -> PartitionLimits {
        self.shared.options.partition_limits
    }

    /// A window in time, by the engine's clock.
    #[must_use]
    pub fn span(&self, window: Window) -> TimeSpan {
        window.span(self.shared.options.clock.now_ms())
    }

    /// What was asked of the partitions and keys of a table or global index in a window.
    fn heat(&self, of: &Partitioned, window: Window) -> Result<HeatRecord, Error> {
        let from_ms = self.span(window).from_ms;
        let _reading = self.shared.meter.reading();
        let mut heat = stored::since::<HeatRecord>(&*self.shared.store.snapshot()?, of.source, from_ms)?.since(from_ms);
        if let Some(meter) = self.shared.meter.known_source(of.source) {
            heat.merge(&meter.heat_records().since(from_ms));
        }
        Ok(heat)
    }

    /// Each partition with its load in a window, in the order of the hash space.
    ///
    /// # Errors
    /// Those of the store.
    pub fn partition_reports(&self, of: &Partitioned, window: Window) -> Result<Vec<PartitionReport>, Error> {
        let limits = &self.shared.options.partition_limits;
        let heat = self.heat(of, window)?;
        let report = |(position, partition): (usize, &Partition)| {
            let WindowLoad { load, busiest } = heat.partitions.get(&partition.id).copied().unwrap_or_default();
            PartitionReport {
                id: partition.id,
                range: of.map.range(position),
                since_ms: partition.since_ms,
                origin: partition.origin,
                load,
                busiest,
                share: heat::share_over(&load, limits, window.seconds()),
                busiest_share: heat::share_over(&busiest.load, limits, 1.0),
            }
        };
        Ok(of.map.partitions().iter().enumerate().map(report).collect())
    }

    /// Counts what lies in a partition.
    ///
    /// # Errors
    /// Those of the store.
    pub fn partition_content(&self, of: &Partitioned, range: &PlaceRange) -> Result<PartitionContent, Error> {
        content::count(&*self.shared.views(), &of.table, of.source, range)
    }

    /// Would a partition of this content and load be split?
    ///
    /// # Errors
    /// Those of the store.
    pub fn split_candidate(
        &self,
        of: &Partitioned,
        partition: &PartitionReport,
        content: &PartitionContent,
    ) -> Result<SplitCandidate, Error> {
        let is_base = of.source == of.table.source;
        Ok(match content {
            _ if content.items < 2 => SplitCandidate::Single,
            _ if content.collections < 2 && is_base && of.table.has_local_index() => SplitCandidate::HeldByLocalIndex,
            _ if content.billed_bytes > self.shared.options.partition_limits.bytes_max => {
                SplitCandidate::Because(PartitionOrigin::Size)
            }
            _ => self.hot_candidate(of, partition)?,
        })
    }

    /// By the load of the last minute, whatever window was asked for.
    fn hot_candidate(&self, of: &Partitioned, partition: &PartitionReport) -> Result<SplitCandidate, Error> {
        let now_ms = self.shared.options.clock.now_ms();
        let Some(meter) = self.shared.meter.known_source(of.source) else { return Ok(SplitCandidate::NotNeeded) };
        let load = meter.heat_of(partition.id).last_minute.sum(now_ms);
        if heat::share(&load, &self.shared.options.partition_limits) < heat::HEAT_SPLIT_SHARE {
            return Ok(SplitCandidate::NotNeeded);
        }
        let samples = meter.samples(partition.id, now_ms);
        let (views, range) = (self.shared.views(), &partition.range);
        let hot = HotPartition { views: &*views, table: &of.table, source: of.source, map: &of.map, range };
        Ok(hot.cuts(&samples)?.err().unwrap_or(SplitCandidate::Because(PartitionOrigin::Heat)))
    }

    /// The keys of a table or global index that were asked for most in a window, the hottest first, with their load of the day.
    ///
    /// # Errors
    /// Those of the store.
    pub fn hot_keys(&self, of: &Partitioned, window: Window, count: usize) -> Result<Vec<(Digest, WindowLoad, Load)>, Error> {
        let (heat, day) = (self.heat(of, window)?, self.heat(of, Window::Day)?);
        let hottest = record::hottest(&heat.keys).into_iter().take(count);
        Ok(hottest.map(|(digest, heat)| (digest, heat, day.keys.get(&digest).map_or(heat.load, |day| day.load))).collect())
    }

    /// The counted single items of a table or global index with their places, the hottest first; `None` while they are not counted.
    #[must_use]
    pub fn hot_items(&self, of: &Partitioned, count: usize) -> Option<Vec<(ItemCounter, Load)>> {
        let now_ms = self.shared.options.clock.now_ms();
        let items = self.shared.meter.known_source(of.source)?.top_items(count)?.into_iter();
        Some(
            items
                .map(|counter| {
                    let load = counter.last_minute.sum(now_ms);
                    (counter, load)
                })
                .collect(),
        )
    }

    /// The largest item collections, the largest first: bytes with overhead and local index entries, entries, digest.
    ///
    /// # Errors
    /// Those of the store.
    pub fn largest_collections(&self, of: &Partitioned, count: usize) -> Result<Vec<(u64, u64, Digest)>, Error> {
        let whole = PlaceRange { from: Vec::new(), to: None };
        let has_local = of.source == of.table.source && of.table.has_local_index();
        // The least of those kept is on top.
        let mut kept = BinaryHeap::new();
        let mut failed = Ok(());
        content::walk(&*self.shared.views(), &of.table, of.source, &whole, &mut |read, group| {
            let local = if has_local { content::local_bytes(read, &of.table, &group.digest) } else { Ok(0) };
            match local {
                Ok(local) => kept.push(std::cmp::Reverse((group.billed_bytes + local, group.entries, group.digest))),
                Err(error) => {
                    failed = Err(error);
                    return ControlFlow::Break(());
                }
            }
            if kept.len() > count {
                kept.pop();
            }
            ControlFlow::Continue(())
        })?;
        failed?;
        Ok(kept.into_sorted_vec().into_iter().map(|std::cmp::Reverse(found)| found).collect())
    }
}
