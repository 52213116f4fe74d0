//! Reports of metrics: the load and sizes of tables, from the meters (`engine::meter`) and the
//! stored counters, and the reports on partitions.

use std::collections::{BTreeMap, BinaryHeap};

use crate::engine::{
    index_life::backfill::BackfillState,
    meter::{
        access::AccessRecord,
        pyramid::MergeRecord,
        stored::{self, HeatRecord},
        top_keys::ItemCounter,
    },
    partitions::{
        self, Partition, PartitionMap,
        content::{self, SourceContent},
        hot::{self, HotPartition},
    },
    runtime::{EngineOptions, batch::table_bytes, prelude::*},
};
use crate::model::metrics::{
    AccessForm, AccessPattern, Billing, HashRange, HotKey, Load, Metrics, PartitionContent,
    PartitionOrigin, PartitionReport, Period, PeriodLoad, SourceMetrics, SplitCandidate,
    TableMetrics, TimeSpan,
};

impl Engine {
    /// Returns the metrics of these tables; missing tables are left out.
    pub fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error> {
        let _reading = self.shared.meter.read_lock();
        let view = self.view()?;
        let store = self.store_info();
        let mut metrics = Metrics {
            now_ms: view.now_ms(),
            tables: Vec::with_capacity(tables.len()),
            user_errors: stored::user_errors(view.read())? + self.shared.meter.user_errors(),
            log_bytes: store.log_bytes,
            checkpoint_age: store.checkpoint_at.map(|at| at.elapsed().as_secs_f64()),
        };
        for name in tables {
            if let Some(table) = view.table(name)? {
                metrics.tables.push(table_metrics(&view, &table)?);
            }
        }
        Ok(metrics)
    }

    /// Returns the access patterns of a table, by the units of the last day.
    ///
    /// # Errors
    /// Fails with `ResourceNotFound`, or with an error of the store.
    pub fn access_patterns(&self, table: &TableName) -> Result<Vec<AccessPattern>, Error> {
        let _reading = self.shared.meter.read_lock();
        let view = self.view()?;
        let source = view.table(table)?.ok_or(Error::ResourceNotFound)?.source;
        let mut records = stored::since::<AccessRecord>(view.read(), source, 0)?;
        let fresh = self.shared.meter.forms.records(source);
        fresh
            .0
            .iter()
            .for_each(|(time, record)| records.add(*time, record));
        let mut patterns = BTreeMap::<Arc<AccessForm>, AccessPattern>::new();
        for window in Period::ALL {
            let mut record = records.since(window.span(view.now_ms()).from_ms);
            record.trim();
            for (form, counts) in record.0 {
                let pattern = patterns
                    .entry(Arc::clone(&form))
                    .or_insert_with(|| AccessPattern {
                        form: (*form).clone(),
                        ..AccessPattern::default()
                    });
                pattern.windows[window as usize] = counts;
            }
        }
        let mut patterns: Vec<AccessPattern> = patterns.into_values().collect();
        patterns.sort_by(|one, other| other.within(Period::Day).rank(one.within(Period::Day)));
        Ok(patterns)
    }

    /// Counts a request that was refused before it reached the engine.
    pub fn count_user_error(&self) {
        self.shared.meter.count_user_error();
    }

    /// Forgets the counted load of a table and its indexes, so that counting begins now. Another
    /// process on the same data may still add the counts of its last ten seconds.
    ///
    /// # Errors
    /// Fails with `TableNotFound`, or with an error of the store.
    pub fn count_from_now(&self, table: &TableName) -> Result<(), Error> {
        let (name, now_ms) = (table.clone(), self.shared.now_ms());
        let _storing = self.shared.meter.write_lock();
        self.shared.submit_and_wait(move |transaction| {
            let table = transaction.require_table(&name)?;
            for source in table.all_sources() {
                stored::restart(transaction.batch, source, now_ms)?;
            }
            Ok(())
        })?;
        self.shared.meter.forget(table);
        Ok(())
    }

    /// Returns the options that the engine was opened with.
    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.shared.options
    }
}

fn table_metrics(view: &ReadView<'_>, table: &TableEntry) -> Result<TableMetrics, Error> {
    let mut sources = vec![source_metrics(view, table, None, table.source)?];
    for (index, source) in table.indexes() {
        sources.push(source_metrics(view, table, Some(index), source)?);
    }
    let name = table.schema.name.clone();
    let now_ms = view.now_ms();
    let mut history = stored::history(view.read(), table.source)?;
    history.merge(&view.meter().table(&name).lock().history());
    let counts = history.series(now_ms, |sums| {
        sums.counts.as_deref().cloned().unwrap_or_default()
    });
    let since_ms = history
        .total
        .since_ms
        .unwrap_or(view.counted_since_ms(table));
    Ok(TableMetrics {
        table: name,
        sources,
        counts,
        requests: history.requests(now_ms),
        since_ms,
    })
}

fn source_metrics(
    view: &ReadView<'_>,
    table: &TableEntry,
    index: Option<&IndexSchema>,
    source: SourceId,
) -> Result<SourceMetrics, Error> {
    let counters = view.counters(source)?;
    let now_ms = view.now_ms();
    let mut history = stored::history(view.read(), source)?;
    if let Some(meter) = view.meter().known_source(source) {
        history.merge(&meter.sums());
    }
    let is_local = index.is_some_and(|index| index.kind == IndexKind::Local);
    let billing = match (table.schema.throughput, table.throughput_of(source)) {
        (None, _) => Billing::OnDemand,
        (Some(_), Some(units)) if !is_local => Billing::Provisioned(units),
        (Some(_), _) => Billing::WithTable,
    };
    Ok(SourceMetrics {
        index: index.map(|index| index.name.clone()),
        usage: history.series(now_ms, |sums| sums.usage),
        windows: Period::ALL.map(|window| history.within(window, now_ms).usage),
        kind: index.map(|index| index.kind),
        billing,
        entries: counters.entries,
        billed_bytes: match index {
            Some(_) => counters.size_with_overhead(),
            None => table_bytes(view.read(), table)?,
        },
        backfill: BackfillState::read(view.read(), source)?.map(|progress| progress.counts),
    })
}

/// A table or global index with partitions. Entries of a local index lie in the partitions of its
/// table.
#[derive(Debug, Clone)]
pub struct PartitionedSource {
    pub table: Arc<TableEntry>,
    pub source: SourceId,
    pub map: Arc<PartitionMap>,
}

impl Engine {
    /// Returns the partitions of a table or index.
    ///
    /// # Errors
    /// Fails with `ResourceNotFound`, or with an error of the store.
    pub fn partitioned_source(
        &self,
        table: &TableName,
        index: Option<&IndexName>,
    ) -> Result<PartitionedSource, Error> {
        let view = self.view()?;
        let table = view.table(table)?.ok_or(Error::ResourceNotFound)?;
        let source = match index {
            None => table.source,
            Some(name) => table
                .index(name)
                .map(|(_, source)| source)
                .ok_or(Error::ResourceNotFound)?,
        };
        let source = table.base_of_local_index(source).unwrap_or(source);
        let map = partitions::load(view.read(), &table, source)?;
        Ok(PartitionedSource { table, source, map })
    }

    /// Returns a window as a time span, by the engine's clock.
    #[must_use]
    pub fn span(&self, window: Period) -> TimeSpan {
        window.span(self.shared.now_ms())
    }

    /// Returns the load of the partitions and keys of a table or global index in a window.
    fn heat(&self, source: &PartitionedSource, window: Period) -> Result<HeatRecord, Error> {
        let [heat] = self.heat_of(source, [window])?;
        Ok(heat)
    }

    /// Returns the load in several windows, the longest of which is the last, of one read.
    fn heat_of<const N: usize>(
        &self,
        source: &PartitionedSource,
        windows: [Period; N],
    ) -> Result<[HeatRecord; N], Error> {
        let from_ms = windows.map(|window| self.span(window).from_ms);
        let first_ms = from_ms.last().copied().unwrap_or_default();
        let _reading = self.shared.meter.read_lock();
        let snapshot = self.shared.store.snapshot()?;
        let stored = stored::since::<HeatRecord>(&*snapshot, source.source, first_ms)?;
        let meter = self.shared.meter.known_source(source.source);
        let fresh = meter.map(|meter| meter.heat_records());
        Ok(from_ms.map(|from_ms| {
            let mut heat = stored.since(from_ms);
            if let Some(fresh) = &fresh {
                heat.merge(&fresh.since(from_ms));
            }
            heat
        }))
    }

    /// Returns each partition with its load in a window, in hash order.
    pub fn partition_reports(
        &self,
        source: &PartitionedSource,
        window: Period,
    ) -> Result<Vec<PartitionReport>, Error> {
        let limits = &self.shared.options.partition_limits;
        let heat = self.heat(source, window)?;
        let report = |(position, partition): (usize, &Partition)| {
            let PeriodLoad { load, peak } = heat
                .partitions
                .get(&partition.id)
                .copied()
                .unwrap_or_default();
            PartitionReport {
                id: partition.id,
                range: source.map.range(position),
                since_ms: partition.since_ms,
                origin: partition.origin,
                load,
                peak,
                share: hot::share_over(&load, limits, window.seconds()),
                peak_share: hot::share_over(&peak.load, limits, 1.0),
            }
        };
        Ok(source
            .map
            .partitions()
            .iter()
            .enumerate()
            .map(report)
            .collect())
    }

    fn content_of<'s>(&'s self, source: &'s PartitionedSource) -> SourceContent<'s> {
        self.shared.content(&source.table, source.source)
    }

    /// Counts the content of a partition.
    pub fn partition_content(
        &self,
        source: &PartitionedSource,
        range: &HashRange,
    ) -> Result<PartitionContent, Error> {
        Ok(self.content_of(source).count(range)?)
    }

    /// Returns whether a partition of this content and load would be split, and why.
    pub fn split_candidate(
        &self,
        source: &PartitionedSource,
        partition: &PartitionReport,
        content: &PartitionContent,
    ) -> Result<SplitCandidate, Error> {
        Ok(match content {
            _ if content.items < 2 => SplitCandidate::Single,
            _ if content.collections < 2 && self.content_of(source).has_local() => {
                SplitCandidate::HeldByLocalIndex
            }
            _ if content.billed_bytes > self.shared.options.partition_limits.bytes_max => {
                SplitCandidate::Due(PartitionOrigin::Size)
            }
            _ => self.hot_candidate(source, partition)?,
        })
    }

    /// Decides by the load of the last minute, whatever window was asked for.
    fn hot_candidate(
        &self,
        partitioned: &PartitionedSource,
        partition: &PartitionReport,
    ) -> Result<SplitCandidate, Error> {
        let now_ms = self.shared.now_ms();
        let Some(meter) = self.shared.meter.known_source(partitioned.source) else {
            return Ok(SplitCandidate::NotNeeded);
        };
        let load = meter.last_minute(partition.id, now_ms);
        if hot::share(&load, &self.shared.options.partition_limits) < hot::HEAT_SPLIT_SHARE {
            return Ok(SplitCandidate::NotNeeded);
        }
        let samples = meter.samples(partition.id, now_ms);
        let range = &partition.range;
        let hot = HotPartition {
            content: self.content_of(partitioned),
            map: &partitioned.map,
            range,
        };
        Ok(hot
            .split_points(&samples)?
            .err()
            .unwrap_or(SplitCandidate::Due(PartitionOrigin::Heat)))
    }

    /// Returns the most accessed keys of a table or global index in a window, the hottest first,
    /// with their load of the day. The partition of a key that is cut into several is the one with
    /// the most load in the last minute, or else in the window.
    pub fn hot_keys(
        &self,
        source: &PartitionedSource,
        window: Period,
        count: usize,
    ) -> Result<Vec<HotKey<()>>, Error> {
        let windows = [Period::Minute, window, Period::Day];
        let [now, heat, day] = self.heat_of(source, windows)?;
        let weight = |of: &HeatRecord, id: u32| {
            let load = of.partitions.get(&id).map(|of| of.load).unwrap_or_default();
            load.weight() + load.throttles() as f64
        };
        let rank = |part: &Partition| (weight(&now, part.id), weight(&heat, part.id));
        // The first of equals.
        let hottest_part = |digest: &Digest| {
            let parts = source.map.parts_of(digest);
            parts.reduce(|best, part| if rank(part) > rank(best) { part } else { best })
        };
        let hottest = stored::hottest(&heat.keys).into_iter().take(count);
        Ok(hottest
            .map(|(digest, PeriodLoad { load, peak })| HotKey {
                digest,
                key: None,
                partition: hottest_part(&digest).map_or(0, |part| part.id),
                load,
                peak,
                total: day.keys.get(&digest).map_or(load, |day| day.load),
            })
            .collect())
    }

    /// Returns the counted single items of a table or global index with their places, the hottest
    /// first; `None` while they are not counted.
    #[must_use]
    pub fn hot_items(
        &self,
        source: &PartitionedSource,
        count: usize,
    ) -> Option<Vec<(ItemCounter, Load)>> {
        let now_ms = self.shared.now_ms();
        let items = self
            .shared
            .meter
            .known_source(source.source)?
            .top_items(count)?
            .into_iter();
        Some(
            items
                .map(|counter| {
                    let load = counter.last_minute.sum(now_ms);
                    (counter, load)
                })
                .collect(),
        )
    }

    /// Returns the largest item collections, the largest first: bytes with overhead and local index
    /// entries, entries, digest.
    pub fn largest_collections(
        &self,
        source: &PartitionedSource,
        count: usize,
    ) -> Result<Vec<(u64, u64, Digest)>, Error> {
        let whole = HashRange {
            from: Vec::new(),
            to: None,
        };
        let walked = self.content_of(source);
        // The heap's top is the smallest of the collections kept.
        let mut kept = BinaryHeap::new();
        walked.walk(&whole, &mut |read, group| {
            let local = if walked.has_local() {
                content::local_bytes(read, &source.table, &group.digest)?
            } else {
                0
            };
            kept.push(std::cmp::Reverse((
                group.billed_bytes + local,
                group.entries,
                group.digest,
            )));
            if kept.len() > count {
                kept.pop();
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(kept
            .into_sorted_vec()
            .into_iter()
            .map(|std::cmp::Reverse(found)| found)
            .collect())
    }
}
