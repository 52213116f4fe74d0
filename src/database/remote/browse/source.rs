//! The keys of a table or an index, and its reads (a collection, an entry, everything) as Query and
//! Scan requests of the API.

use super::cache::{CachedRecord, EntryCache, ReadStart};
use super::tables::DescribedTable;
use crate::codec::record::{Record, encode};
use crate::database::prelude::*;
use crate::database::{EntryKey, ListPosition, PartitionKey, RowSink};
use crate::engine::base::item_key::{KeyRole, is_empty_key, key_bytes, key_of_parameter};
use crate::engine::index::leading_names;
use crate::expr::read_request::{ReadFilter, ReadRange, ReadRequest};
use crate::expr::write::ExpressionWriter;
use crate::expr::{KeyConditionShape, ProjectionPaths, SortRange};
use crate::model::api::{
    ConditionParameter, QueryRequest, ReturnConsumedCapacity, ScanRequest, TableStatus,
};
use crate::model::error::StoreError;
use crate::model::{DocumentPath, IndexKind, IndexSchema, KeyAttribute};

/// The most items that are taken for few.
const ITEMS_AHEAD_MAX: u64 = 1000;

/// A source that can be read, with its definition.
#[derive(Debug, Clone)]
pub struct ReadableSource {
    pub source: SourceName,
    pub described: Arc<DescribedTable>,
    /// The position of the index in the schema.
    index: Option<usize>,
}

impl ReadableSource {
    /// Finds a source in its table; `None` while the table or the index is being created or
    /// deleted: it exists and shows nothing.
    ///
    /// # Errors
    /// `ResourceNotFound` if the table has no such index.
    pub fn new(source: &SourceName, described: Arc<DescribedTable>) -> Result<Option<Self>, Error> {
        let index = match &source.index {
            None => None,
            Some(name) => {
                let index = described
                    .schema
                    .indexes
                    .iter()
                    .position(|index| index.name == *name);
                Some(index.ok_or(Error::ResourceNotFound)?)
            }
        };
        let status_of = |place: usize| described.table.indexes.get(place).map(|index| index.status);
        // The service refuses reads of a source in these states, so it is not asked.
        let comes_or_goes =
            |status| matches!(status, TableStatus::Creating | TableStatus::Deleting);
        let is_unready = comes_or_goes(described.table.status)
            || index.and_then(status_of).is_some_and(comes_or_goes);
        Ok((!is_unready).then(|| Self {
            source: source.clone(),
            described,
            index,
        }))
    }

    pub fn index(&self) -> Option<&IndexSchema> {
        self.described.schema.indexes.get(self.index?)
    }

    /// Returns the number of items and their billed bytes, up to six hours old.
    pub fn counters(&self) -> (u64, u64) {
        let of_index = self
            .index
            .and_then(|place| self.described.table.indexes.get(place));
        of_index.map_or(
            (
                self.described.table.item_count,
                self.described.table.table_size_bytes,
            ),
            |index| (index.item_count, index.index_size_bytes),
        )
    }

    /// Returns the number of items that are so many bytes long, by their mean size; `None` if the
    /// service has not counted them.
    pub fn items_in(&self, bytes: u64) -> Option<u32> {
        let (count, of_all) = self.counters();
        let few = bytes.saturating_mul(count).checked_div(of_all)?;
        u32::try_from(few.clamp(1, ITEMS_AHEAD_MAX)).ok()
    }

    /// True if the source has consistent reads.
    pub fn is_consistent(&self) -> bool {
        self.index()
            .is_none_or(|index| index.kind == IndexKind::Local)
    }

    /// True if its entries are in collections. In a table without sort key each item is its own
    /// collection.
    pub fn has_collections(&self) -> bool {
        self.index.is_some() || self.described.schema.key.sort.is_some()
    }

    pub fn partition(&self) -> &[KeyAttribute] {
        self.index().map_or(
            std::slice::from_ref(&self.described.schema.key.partition),
            |index| &index.partition,
        )
    }

    pub fn sort(&self) -> &[KeyAttribute] {
        self.index()
            .map_or(self.described.schema.key.sort.as_slice(), |index| {
                &index.sort
            })
    }

    /// Returns the names of all key attributes, each once, those of the index first.
    pub fn key_names(&self) -> Vec<&str> {
        let key = &self.described.schema.key;
        match self.index() {
            Some(index) => leading_names(key, index),
            None => key.names(),
        }
    }

    /// True if an entry can have this key.
    pub fn fits(&self, key: &EntryKey) -> bool {
        let schema = &self.described.schema.key;
        // The service would refuse a key of other types or lengths, so it is not asked for one.
        let is_base = key_of_parameter(schema, &key.base.to_item(schema)).is_ok()
            && key.base.sort.is_some() == schema.sort.is_some();
        let fits = |attributes: &[KeyAttribute], values: &[AttributeValue]| {
            let is_of = |(attribute, value): (&KeyAttribute, &AttributeValue)| {
                value.attribute_type() == attribute.attribute_type.as_attribute_type()
            };
            attributes.len() == values.len() && attributes.iter().zip(values).all(is_of)
        };
        is_base
            && match (self.index(), &key.index) {
                (None, None) => true,
                (Some(index), Some((partition, sort))) => {
                    fits(&index.partition, partition) && fits(&index.sort, sort)
                }
                (None, Some(_)) | (Some(_), None) => false,
            }
    }

    /// True if `values` can be this source's partition key.
    pub fn fits_partition(&self, values: &PartitionKey) -> bool {
        let fits = |(attribute, value): (&KeyAttribute, &AttributeValue)| {
            value.attribute_type() == attribute.attribute_type.as_attribute_type()
                && !is_empty_key(value)
                && key_bytes(value) <= KeyRole::Partition.bytes_max()
        };
        values.len() == self.partition().len() && self.partition().iter().zip(values).all(fits)
    }

    /// Returns the entry key of an item of the source.
    ///
    /// # Errors
    /// `Corrupt` if the item lacks a key attribute.
    pub fn key_of(&self, item: &Item) -> Result<EntryKey, Error> {
        let missing = || Error::Store(StoreError::Corrupt("an item came without its keys"));
        let base = item.key(&self.described.schema.key).ok_or_else(missing)?;
        let values = |attributes: &[KeyAttribute]| {
            attributes
                .iter()
                .map(|attribute| item.get(&attribute.name).cloned().ok_or_else(missing))
                .collect::<Result<_, _>>()
        };
        let index = self
            .index()
            .map(|index| Ok::<_, Error>((values(&index.partition)?, values(&index.sort)?)))
            .transpose()?;
        Ok(EntryKey { index, base })
    }

    /// Caches an item of the source that a read returned.
    ///
    /// # Errors
    /// `Corrupt` if the item lacks a key attribute.
    pub fn keep_item(
        &self,
        cache: &EntryCache,
        began: ReadStart,
        item: &Item,
        is_consistent: bool,
    ) -> Result<(EntryKey, CachedRecord), Error> {
        let key = self.key_of(item)?;
        let record = cache.record(item, &self.key_names());
        let place = (self.source.clone(), key.clone());
        cache.insert(began, place, Some(Arc::clone(&record)), is_consistent);
        Ok((key, record))
    }

    /// Returns the key attributes of an entry, as the start key of the page after it.
    pub fn start_key(&self, item: &Item) -> Item {
        let names = self.key_names();
        Item(
            item.0
                .iter()
                .filter(|(name, _)| names.contains(&name.as_str()))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// Returns the query of a collection; `sort` restricts the first attribute of the sort key.
    pub fn query(&self, partition: &PartitionKey, sort: Option<SortRange>) -> ReadRequest {
        let of_partition = self.partition().iter().zip(partition);
        let of_partition = of_partition
            .map(|(attribute, value)| (attribute.name.clone(), SortRange::Equal(value.clone())));
        let of_sort = self
            .sort()
            .first()
            .zip(sort)
            .map(|(attribute, range)| (attribute.name.clone(), range));
        let condition = KeyConditionShape::new(of_partition.chain(of_sort));
        ReadRequest {
            range: ReadRange::Query {
                condition,
                forward: true,
            },
            consistent_read: self.is_consistent(),
            ..self.scan()
        }
    }

    /// Returns the query of one entry, by its key in the source.
    pub fn entry_query(&self, partition: &PartitionKey, sort: &[AttributeValue]) -> ReadRequest {
        let keys = self
            .partition()
            .iter()
            .zip(partition)
            .chain(self.sort().iter().zip(sort));
        let condition = KeyConditionShape::new(
            keys.map(|(key, value)| (key.name.clone(), SortRange::Equal(value.clone()))),
        );
        ReadRequest {
            range: ReadRange::Query {
                condition,
                forward: true,
            },
            ..self.scan()
        }
    }

    /// Returns the scan of all entries.
    pub fn scan(&self) -> ReadRequest {
        ReadRequest::scan(self.source.table.clone(), self.source.index.clone())
    }

    /// Returns the projection to key attributes.
    pub fn key_projection(&self) -> ProjectionPaths {
        ProjectionPaths::from_attributes(
            self.key_names()
                .into_iter()
                .map(DocumentPath::top_level)
                .collect(),
        )
    }
}

/// Encodes a position: the keys of the entry there.
pub fn encode_position(keys: &Item) -> Box<[u8]> {
    // A record without version and time: only the attributes count.
    encode(keys, &[], 0, 0).into()
}

/// Decodes the keys of a position.
///
/// # Errors
/// `Corrupt` if the bytes are not a position of this database.
pub fn decode_position(position: &ListPosition) -> Result<Item, Error> {
    Ok(Record::parse(&position.0).and_then(|record| record.to_item())?)
}

/// Reads one page, and passes its items to `each` until that fails.
///
/// # Errors
/// Errors of [`read_page`] and of `each`; `Corrupt` if an item cannot be decoded.
pub fn read_items(
    service: &dyn Database,
    request: &ReadRequest,
    each: &mut dyn FnMut(Item) -> Result<(), Error>,
) -> Result<Page, Error> {
    let mut read = Ok(());
    let page = read_page(service, request, &mut |row| {
        if read.is_ok() {
            read = row.to_item().map_err(Error::from).and_then(&mut *each);
        }
    })?;
    read.map(|()| page)
}

/// Reads one page.
///
/// # Errors
/// Those of the operations; `Unavailable` if the API cannot express the request.
pub fn read_page(
    service: &dyn Database,
    request: &ReadRequest,
    rows: &mut RowSink<'_>,
) -> Result<Page, Error> {
    // One writer for all expressions of the request: they share its placeholders.
    let mut writer = ExpressionWriter::default();
    let filter = match &request.filter {
        Some(ReadFilter { condition, .. }) => {
            ConditionParameter::Expression(writer.condition(condition)?)
        }
        None => ConditionParameter::None,
    };
    let projection = request
        .projection
        .as_ref()
        .map(|paths: &ProjectionPaths| writer.projection(paths));
    // Sets the members that both requests have.
    macro_rules! read_request {
        ($kind:ident { $($member:ident: $value:expr,)* ..$base:expr }) => {
            $kind {
                index_name: request.index_name.clone(),
                filter,
                projection_expression: projection,
                // DynamoDB refuses most values of Select beside a projection.
                select: request.select.filter(|_| request.projection.is_none()),
                limit: request.limit,
                consistent_read: request.consistent_read,
                exclusive_start_key: request.exclusive_start_key.clone(),
                // The scan limit counts the actual cost.
                return_consumed_capacity: ReturnConsumedCapacity::Indexes,
                $($member: $value,)*
                ..$base
            }
        };
    }
    let table = request.table_name.clone();
    match &request.range {
        ReadRange::Query { condition, forward } => {
            let condition = writer.key_condition(condition)?;
            let query = QueryRequest::new(table, condition, writer.placeholders());
            service.query_rows(
                &read_request!(QueryRequest {
                    scan_index_forward: *forward,
                    ..query
                }),
                rows,
            )
        }
        ReadRange::Scan { segment } => {
            let placeholders = writer.placeholders();
            let scan = read_request!(ScanRequest {
                segment: *segment,
                placeholders: placeholders,
                ..ScanRequest::new(table)
            });
            service.scan_rows(&scan, rows)
        }
    }
}
