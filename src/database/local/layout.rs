//! Metrics and layout (`impl Layout`) of the local engine, which counts requests and models
//! partitions.

use crate::database::prelude::*;

use super::LocalDatabase;
use super::browse::{address, collection_at, entry_key, find, find_readable};
use crate::codec::digest::Digest;
use crate::codec::key;
use crate::codec::record::Record;
use crate::database::layout::Layout;
use crate::database::{Browse, EntryKey, PartitionKey};
use crate::engine::base::keys::Space;
use crate::engine::ops::metrics::PartitionedSource;
use crate::model::error::StoreError;
use crate::model::metrics::{
    AccessPattern, BoundKey, CollectionWarning, HotKey, LargeCollection, Metrics, PartitionContent,
    PartitionLimits, PartitionReport, PeakSecond, Period, SplitCandidate, ThrottleWarning,
    TimeSpan,
};
use crate::model::prices::PriceTable;
use crate::model::schema::KeyAttributeType;

impl Layout for LocalDatabase {
    fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error> {
        self.engine.metrics(tables)
    }

    fn all_metrics(&self) -> Result<Metrics, Error> {
        self.engine.metrics(&self.table_names()?)
    }

    fn prices(&self) -> &PriceTable {
        &self.engine.options().prices
    }

    fn count_user_error(&self) {
        self.engine.count_user_error();
    }

    fn partition_limits(&self) -> PartitionLimits {
        self.engine.options().partition_limits
    }

    fn collection_bytes_max(&self) -> u64 {
        self.engine.options().collection_bytes_max
    }

    fn collection_warnings(&self) -> Vec<CollectionWarning> {
        self.engine.collection_warnings()
    }

    fn throttle_warnings(&self) -> Vec<ThrottleWarning> {
        self.engine.throttle_warnings()
    }

    fn time_span(&self, window: Period) -> TimeSpan {
        self.engine.span(window)
    }

    fn partitions(
        &self,
        source: &SourceName,
        window: Period,
    ) -> Result<Vec<PartitionReport>, Error> {
        self.engine
            .partition_reports(&self.partitioned(source)?, window)
    }

    fn partition_of_entry(&self, source: &SourceName, key: &EntryKey) -> Result<u32, Error> {
        let partitioned = self.partitioned(source)?;
        let view = self.engine.view()?;
        let address = address(&find(&view, source)?, key).ok_or(Error::ResourceNotFound)?;
        let place = [&address.digest[..], &address.order].concat();
        Ok(partition_of(&partitioned, &place))
    }

    fn partition_content(
        &self,
        source: &SourceName,
        partition: &PartitionReport,
    ) -> Result<(PartitionContent, SplitCandidate), Error> {
        let of = self.partitioned(source)?;
        let content = self.engine.partition_content(&of, &partition.range)?;
        let candidate = self.engine.split_candidate(&of, partition, &content)?;
        Ok((content, candidate))
    }

    fn bound_key(&self, source: &SourceName, place: &[u8]) -> Result<Option<BoundKey>, Error> {
        let Some((digest, order)) = place.split_first_chunk::<{ size_of::<Digest>() }>() else {
            return Ok(None);
        };
        let view = self.engine.view()?;
        let Some(found) = find_readable(&view, source)? else {
            return Ok(None);
        };
        // A local index shares its table's partitions.
        let found = match found.table.base_of_local_index(found.id()) {
            Some(_) => find(&view, &SourceName::from(&source.table))?,
            None => found,
        };
        let partition_of = |digest: u128| -> Result<Option<PartitionKey>, StoreError> {
            Ok(collection_at(&view, &found, digest.to_be_bytes())?
                .map(|collection| collection.partition))
        };
        let digest = u128::from_be_bytes(*digest);
        if let Some(partition) = partition_of(digest)? {
            let types = found
                .key_schema()
                .sort
                .iter()
                .map(|attribute| attribute.attribute_type);
            return Ok(Some(BoundKey {
                partition,
                sort: decode_sort_values(types, order),
                is_after: false,
            }));
        }
        let before = digest
            .checked_sub(1)
            .map(partition_of)
            .transpose()?
            .flatten();
        Ok(before.map(|partition| BoundKey {
            partition,
            sort: Vec::new(),
            is_after: true,
        }))
    }

    fn hot_keys(
        &self,
        source: &SourceName,
        window: Period,
        count: usize,
    ) -> Result<Vec<HotKey>, Error> {
        let of = self.partitioned(source)?;
        let hot = self.engine.hot_keys(&of, window, count)?.into_iter();
        hot.map(|hot| {
            Ok(HotKey {
                digest: hot.digest,
                key: self.partition_by_digest(source, hot.digest)?,
                partition: hot.partition,
                load: hot.load,
                peak: hot.peak,
                total: hot.total,
            })
        })
        .collect()
    }

    fn hot_items(
        &self,
        source: &SourceName,
        count: usize,
    ) -> Result<Option<Vec<HotKey<EntryKey>>>, Error> {
        let of = self.partitioned(source)?;
        let Some(hot) = self.engine.hot_items(&of, count) else {
            return Ok(None);
        };
        let hot = hot.into_iter().map(|(counter, last_minute)| {
            Ok(HotKey {
                digest: counter.digest,
                key: self.entry_at(source, &counter.name)?,
                partition: partition_of(&of, &counter.name),
                load: last_minute,
                peak: PeakSecond::default(),
                total: counter.total,
            })
        });
        hot.collect::<Result<_, _>>().map(Some)
    }

    fn access_patterns(&self, table: &TableName) -> Result<Vec<AccessPattern>, Error> {
        self.engine.access_patterns(table)
    }

    fn big_collections(
        &self,
        source: &SourceName,
        count: usize,
    ) -> Result<Vec<LargeCollection>, Error> {
        let of = self.partitioned(source)?;
        let big = self.engine.largest_collections(&of, count)?.into_iter();
        big.map(|(billed_bytes, items, digest)| {
            let key = self.partition_by_digest(source, digest)?;
            Ok(LargeCollection {
                key,
                partition: partition_of(&of, &digest),
                items,
                billed_bytes,
            })
        })
        .collect()
    }
}

impl LocalDatabase {
    fn partitioned(&self, source: &SourceName) -> Result<PartitionedSource, Error> {
        self.engine
            .partitioned_source(&source.table, source.index.as_ref())
    }

    fn entry_at(&self, source: &SourceName, place: &[u8]) -> Result<Option<EntryKey>, Error> {
        self.read(source, |view, source| {
            let record = view
                .read()
                .get(&Space::Entry.key(source.id(), place))?
                .map(Record::parse)
                .transpose()?;
            Ok(record
                .map(|record| entry_key(source, &record))
                .transpose()?)
        })
    }
}

fn partition_of(source: &PartitionedSource, place: &[u8]) -> u32 {
    source.map.partitions()[source.map.position_of(place)].id
}

/// Decodes the sort key values at the beginning of an order inside an item collection, as far as it
/// has whole values.
fn decode_sort_values(
    types: impl Iterator<Item = KeyAttributeType>,
    mut order: &[u8],
) -> Vec<AttributeValue> {
    let mut values = Vec::new();
    for of in types {
        let Ok((value, rest)) = key::decode(of, order) else {
            break;
        };
        values.push(value);
        order = rest;
    }
    values
}
