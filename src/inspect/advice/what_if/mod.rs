//! Trials of another key, index or billing mode on a table's items and kept load, side by side with
//! the table as it is. Nothing is written and no capacity used.
//!
//! ```text
//! key.rs       key expressions of attributes
//! distinct.rs  a count of different values in bounded memory
//! patterns.rs  the access patterns of the last day, and what answers them
//! spread.rs    the kept load, spread over the items
//! report.rs    the result as Markdown
//! ```

mod distinct;
mod key;
mod patterns;
mod report;
mod spread;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

pub use key::KeyExpression;
pub use report::markdown;

use super::cost;
use super::facts::{self, Traffic};
use super::format::item_stem;
use super::load::{Access, DAY_SECONDS, month_of_daily};
use crate::codec::digest::{Digest, digest};
use crate::codec::item_files::rows::cell;
use crate::codec::record::Record;
use crate::database::{Browse, EntryKey, SourceName};
use crate::engine::base::write_units;
use crate::engine::meter::top_keys::TopKeys;
use crate::engine::partitions::required_count;
use crate::expr::key_condition::KeySchemaView;
use crate::inspect::patterns::SourceKey;
use crate::inspect::sampling;
use crate::model::api::TableDescription;
use crate::model::error::StoreError;
use crate::model::limits::{ENTRY_OVERHEAD_BYTES, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::metrics::{Billing, Load, PartitionLimits, Period};
use crate::model::schema::ProvisionedThroughput;
use crate::model::{
    AttributeType, Error, IndexName, KeyAttribute, KeySchema, TableName, TableSchema,
};
use distinct::Distinct;
use spread::Spread;

/// The items by which the type of an attribute is told.
const TYPE_SAMPLES: u32 = 1_000;
/// The characters kept of a value.
const NAME_CHARS_MAX: usize = 60;

/// The change that is tried; what is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct WhatIf {
    pub partition: Option<KeyExpression>,
    pub sort: Option<KeyExpression>,
    pub index: Option<IndexPlan>,
    /// Provisioned units of the table; `Some(None)` is on demand.
    pub billing: Option<Option<ProvisionedThroughput>>,
}

/// A new global index of all attributes.
#[derive(Debug, Clone)]
pub struct IndexPlan {
    pub name: IndexName,
    pub partition: KeyExpression,
    pub sort: Option<KeyExpression>,
}

/// The result.
#[derive(Debug)]
pub struct Trial {
    description: TableDescription,
    items: u64,
    /// The table as it is, then what is tried.
    designs: Vec<Design>,
    traffic: Option<Traffic>,
    /// A month of the table with all indexes, as it is and as tried.
    month: Option<[f64; 2]>,
    /// Rows of access patterns, by units.
    patterns: Vec<[String; 4]>,
}

/// A table or index, as it is or as tried.
#[derive(Debug, Default)]
struct Design {
    title: String,
    partition: KeyExpression,
    sort: Option<KeyExpression>,
    /// The new index; `None` for the table.
    index: Option<IndexName>,
    /// `None` is on demand.
    provisioned: Option<ProvisionedThroughput>,
    partitions: u64,
    /// Items that have the key.
    items: u64,
    /// Bytes with the overhead of each item.
    bytes: u64,
    /// Write units to put all items.
    put_units: f64,
    /// The other items by reason: their number, and one of them.
    unfit: BTreeMap<String, (u64, String)>,
    /// Different values of the partition key.
    values: Distinct,
    /// The values with the most items, counted as read units, and those with the most load.
    by_items: TopKeys<Box<str>>,
    by_load: TopKeys<Box<str>>,
    /// Different keys: a table keeps one item of each.
    keys: Distinct,
}

/// Tries the change; returns `None` if there is no such table.
///
/// # Errors
/// Fails if the database fails.
pub fn try_on(
    database: &dyn Browse,
    table: &TableName,
    change: &WhatIf,
) -> Result<Option<Trial>, Error> {
    let Some(description) = database.describe(table)? else {
        return Ok(None);
    };
    let source = SourceName::from(table);
    let traffic = facts::read_traffic(database, &description)?;
    let spread = Spread::read(database, &source, traffic.as_ref(), description.at_ms)?;
    let mut designs = designs(&description.schema, change);
    set_types(database, &source, &description.schema, &mut designs)?;
    let mut items = 0;
    let key = &description.schema.key;
    sampling::each_record(database, &source, None, u64::MAX, &mut |record| {
        items += 1;
        let keys = key_text(record, key)?;
        let hash = u128::from_be_bytes(key_digest(&keys));
        let load = spread.load(&keys[0], record.modified_ms());
        for design in &mut designs {
            let reason = match design.key_of(record, hash)? {
                Ok(keys) => {
                    design.add(&keys, record.item_bytes(), &load);
                    continue;
                }
                Err(reason) => reason,
            };
            let (count, example) = design.unfit.entry(reason).or_default();
            *count += 1;
            if example.is_empty() {
                let stem = |base| item_stem(table, &EntryKey::from(base));
                let item = record.attributes(&|name| key.contains(name))?;
                *example = item.key(key).map(stem).unwrap_or_default();
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let limits = database
        .layout()
        .map_or_else(PartitionLimits::default, |layout| layout.partition_limits());
    for design in &mut designs {
        let by_size = design.bytes.div_ceil(limits.bytes_max.max(1));
        design.partitions = by_size.max(required_count(design.provisioned) as u64);
    }
    if let (Some(now), Some(layout)) = (designs.first_mut(), database.layout()) {
        now.partitions = layout.partitions(&source, Period::Day)?.len() as u64;
    }
    let month = traffic
        .as_ref()
        .map(|traffic| months(traffic, change, &designs));
    let keys = designs.iter().map(Design::source_key).collect();
    let patterns = patterns::read(database, &description.schema, keys)?;
    Ok(Some(Trial {
        description,
        items,
        designs,
        traffic,
        month,
        patterns,
    }))
}

fn designs(schema: &TableSchema, change: &WhatIf) -> Vec<Design> {
    let partition = KeyExpression::of_attribute(&schema.key.partition.name);
    let sort = schema.key.sort.as_ref();
    let sort = sort.map(|sort| KeyExpression::of_attribute(&sort.name));
    let provisioned = change.billing.unwrap_or(schema.throughput);
    let mut all = vec![Design {
        title: "as it is".to_owned(),
        partition: partition.clone(),
        sort: sort.clone(),
        provisioned: schema.throughput,
        ..Design::default()
    }];
    if change.partition.is_some() || change.sort.is_some() || change.billing.is_some() {
        all.push(Design {
            title: "what if".to_owned(),
            partition: change.partition.clone().unwrap_or(partition),
            sort: change.sort.clone().or(sort),
            provisioned,
            ..Design::default()
        });
    }
    all.extend(change.index.as_ref().map(|plan| Design {
        title: format!("index {}", plan.name),
        partition: plan.partition.clone(),
        sort: plan.sort.clone(),
        index: Some(plan.name.clone()),
        provisioned,
        ..Design::default()
    }));
    all
}

/// Gives each tried key of one attribute its type: that of a key that the table has, or the one that
/// most items of a sample have.
fn set_types(
    database: &dyn Browse,
    source: &SourceName,
    schema: &TableSchema,
    designs: &mut [Design],
) -> Result<(), Error> {
    let items = sampling::sample(database, source, TYPE_SAMPLES)?;
    let type_of = |name: &str| {
        let sources = std::iter::once(None).chain(schema.indexes.iter().map(Some));
        let mut keys =
            sources.flat_map(|index| KeySchemaView::for_index(schema, index).attributes());
        let known = keys.find(|key| key.name == name);
        let count = |kind: &AttributeType| {
            let values = items.iter().filter_map(|item| item.get(name));
            values
                .filter(|value| value.attribute_type() == *kind)
                .count()
        };
        let kinds = [AttributeType::B, AttributeType::N, AttributeType::S];
        known
            .map(|key| key.attribute_type.as_attribute_type())
            .or_else(|| kinds.into_iter().max_by_key(count))
    };
    for design in designs {
        for key in std::iter::once(&mut design.partition).chain(&mut design.sort) {
            if let Some(key_type) = key.attribute().and_then(type_of) {
                key.set_type(key_type);
            }
        }
    }
    Ok(())
}

/// Returns an item's key as text.
fn key_text(record: &Record<'_>, key: &KeySchema) -> Result<[String; 2], StoreError> {
    let text = |attribute: &KeyAttribute| -> Result<String, StoreError> {
        let value = record.attribute(&attribute.name)?;
        Ok(value.as_ref().map(cell).unwrap_or_default())
    };
    let sort = key.sort.as_ref().map(text).transpose()?;
    Ok([text(&key.partition)?, sort.unwrap_or_default()])
}

/// Returns a digest of a key.
fn key_digest([partition, sort]: &[String; 2]) -> Digest {
    digest(format!("{partition}\0{sort}").as_bytes())
}

impl Design {
    fn source_key(&self) -> SourceKey {
        let names = |key: &KeyExpression| key.attributes().map(ToOwned::to_owned).collect();
        SourceKey {
            index: self.index.as_ref().map(ToString::to_string),
            partition: names(&self.partition),
            sort: self.sort.as_ref().map(names).unwrap_or_default(),
            suffixes: self.partition.suffixes(),
        }
    }

    /// Returns the key of an item as text, or the reason for which it has none.
    fn key_of(
        &self,
        record: &Record<'_>,
        hash: u128,
    ) -> Result<Result<[String; 2], String>, StoreError> {
        let key = self.partition.of(record, hash, PARTITION_KEY_BYTES_MAX)?;
        let sort = self.sort.as_ref();
        let sort = sort.map(|sort| sort.of(record, hash, SORT_KEY_BYTES_MAX));
        let sort = sort.transpose()?.unwrap_or(Ok(String::new()));
        Ok(key.and_then(|key| Ok([key, sort?])))
    }

    /// Adds an item with this key, and with its part of the units a second of its present key.
    fn add(&mut self, keys: &[String; 2], item_bytes: u32, load: &Load) {
        self.items += 1;
        self.bytes += u64::from(item_bytes) + ENTRY_OVERHEAD_BYTES;
        self.put_units += write_units(item_bytes as usize);
        let [partition, _] = keys;
        let name = || partition.chars().take(NAME_CHARS_MAX).collect();
        let partition = digest(partition.as_bytes());
        self.values.add(partition);
        self.keys.add(key_digest(keys));
        let one = Load {
            read: 1.0,
            ..Load::default()
        };
        self.by_items.count_named(&partition, name, 0, &one);
        self.by_load.count_named(&partition, name, 0, load);
    }

    /// Returns the values with the most load and their units a second. The reads of an index are
    /// not known.
    fn rates(&self, access: Access) -> impl Iterator<Item = (&str, f64)> {
        let is_known = self.index.is_none() || access == Access::Write;
        let keys = self.by_load.all().filter(move |_| is_known);
        keys.map(move |key| (&*key.name, access.of(&key.total)))
    }

    /// Returns the value with the most items, and its share.
    fn largest(&self) -> Option<(Box<str>, f64)> {
        let most = self.by_items.hottest(1).into_iter().next()?;
        Some((most.name, most.total.read / self.items as f64))
    }
}

impl Trial {
    /// Returns the units a second that a partition gives.
    fn limit(&self, access: Access) -> f64 {
        let traffic = self.traffic.as_ref();
        traffic.map_or(0.0, |traffic| access.of(&traffic.partition))
    }

    /// Returns the units a second beyond what a partition gives, of all values.
    fn over_partitions(&self, of: &Design, access: Access) -> f64 {
        let limit = self.limit(access);
        let rates = of.rates(access);
        rates.map(|(_, rate)| (rate - limit).max(0.0)).sum()
    }

    /// True if the rates follow from the load kept by key, not from shares of items.
    fn is_measured(&self, of: &Design) -> bool {
        let base = &self.description.schema.key.partition.name;
        of.partition.attributes().all(|name| name == base)
    }

    /// Returns the units of the kept minutes beyond what is provisioned, without its burst.
    fn over_provisioned(&self, of: &Design, access: Access) -> Option<f64> {
        let units = access.provisioned(billing(of.provisioned))? * 60.0;
        let base = self.traffic.as_ref()?.metrics.sources.first()?;
        let minutes = base.usage.minutes.iter();
        let over = minutes.map(|(_, usage)| (access.of(&usage.load()) - units).max(0.0));
        Some(over.sum())
    }
}

fn billing(provisioned: Option<ProvisionedThroughput>) -> Billing {
    provisioned.map_or(Billing::OnDemand, Billing::Provisioned)
}

/// Returns the price of a month of the table with all indexes, as it is and as tried.
fn months(traffic: &Traffic, change: &WhatIf, designs: &[Design]) -> [f64; 2] {
    let mut tried = cost::month(traffic, change.billing.map(billing));
    if let (Some(_), [base, .., index]) = (&change.index, designs) {
        let part = index.put_units / base.put_units.max(1.0);
        let writes = traffic.source(None).map_or(0.0, |base| base.load().write);
        let units = writes * part / traffic.seconds() * DAY_SECONDS;
        tried += traffic.prices.month_of_bytes(index.bytes as f64)
            + month_of_daily(traffic, billing(index.provisioned), Access::Write, units);
    }
    [cost::month(traffic, None), tried]
}
