//! A database with a settable clock, and reports of its layout.

use std::sync::Arc;

use ddbfs::codec::key::partition_digest;
use ddbfs::database::layout::Layout;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Database, SourceName};
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::*;
use ddbfs::model::metrics::{
    Metrics, PartitionContent, PartitionLimits, PartitionReport, Period, TableMetrics,
};
use ddbfs::model::schema::{BillingMode, ProvisionedThroughput};
use ddbfs::model::{AttributeValue, IndexName, Item};

use super::*;

/// Returns the number of the partition of the table `Tab` where the item collection of a partition
/// key begins, whether or not it has items.
pub fn partition_of(database: &LocalDatabase, key: &[AttributeValue]) -> u32 {
    let (begin, layout) = (partition_digest(key), database.layout().unwrap());
    let partitions = layout.partitions(&source(""), Period::Minute).unwrap();
    let of_key = partitions
        .iter()
        .rfind(|partition| partition.range.from.as_slice() <= &begin[..]);
    of_key.unwrap().id
}

/// A database with a settable clock and the table `Tab`.
pub struct Bed {
    pub database: LocalDatabase,
    pub clock: Arc<ManualClock>,
}

impl Bed {
    pub fn new(key: &str, indexes: &[&str]) -> Self {
        Self::with(definition("Tab", key, indexes), |options| options)
    }

    pub fn with(
        table: CreateTableRequest,
        change: impl Fn(EngineOptions) -> EngineOptions,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(NOW_MS));
        let options = EngineOptions {
            clock: Arc::clone(&clock) as Arc<_>,
            ..options()
        };
        let database = database_with(change(options));
        database.create_table(table).unwrap();
        Self { database, clock }
    }

    pub fn metrics(&self) -> Metrics {
        self.database
            .layout()
            .unwrap()
            .metrics(&[table("Tab"), table("Absent")])
            .unwrap()
    }

    pub fn table_metrics(&self) -> TableMetrics {
        self.metrics().tables.remove(0)
    }

    /// Returns the consumed read and write units of the table's base (`""`) or an index.
    pub fn consumed(&self, index: &str) -> (f64, f64) {
        let metrics = self.table_metrics();
        let name = |source: &&ddbfs::model::metrics::SourceMetrics| {
            source.index.as_ref().map_or("", |name| name.as_str()) == index
        };
        let source = metrics.sources.iter().find(name).unwrap();
        (source.usage.total.read.sum, source.usage.total.write.sum)
    }
}

pub fn provisioned(mut request: CreateTableRequest, read: u64, write: u64) -> CreateTableRequest {
    let throughput = ProvisionedThroughput {
        read_capacity_units: read,
        write_capacity_units: write,
    };
    request.billing_mode = Some(BillingMode::Provisioned);
    request.throughput = Some(throughput);
    request
        .global_indexes
        .iter_mut()
        .flatten()
        .for_each(|index| index.throughput = Some(throughput));
    request
}

pub fn item(pk: &str, sk: &str, bytes: usize) -> Item {
    Item::from([
        ("pk", s(pk)),
        ("sk", n(sk)),
        ("a", s("A")),
        ("b", n(sk)),
        ("fill", x(bytes)),
    ])
}

impl Bed {
    pub fn layout(&self) -> &dyn Layout {
        self.database.layout().unwrap()
    }

    pub fn partitions(&self, index: &str) -> Vec<PartitionReport> {
        self.layout()
            .partitions(&source(index), Period::Minute)
            .unwrap()
    }

    /// Returns the number of the partition where the item collection of a key begins.
    pub fn partition_of(&self, key: &str) -> u32 {
        partition_of(&self.database, &[s(key)])
    }

    /// Returns the numbers of the partitions, and the reason for each.
    pub fn origins(&self, index: &str) -> Vec<(u32, &'static str)> {
        self.partitions(index)
            .iter()
            .map(|partition| (partition.id, partition.origin.name()))
            .collect()
    }

    pub fn background(&self) {
        self.database.engine().run_background_work().unwrap();
    }

    /// Returns the contents of all partitions together; each item must be there once, and no
    /// partition above `bytes_max`.
    pub fn contents(&self, index: &str) -> Vec<PartitionContent> {
        let partitions = self.partitions(index);
        partitions
            .iter()
            .map(|partition| {
                self.layout()
                    .partition_content(&source(index), partition)
                    .unwrap()
                    .0
            })
            .collect()
    }

    pub fn items_in_partitions(&self, index: &str) -> u64 {
        self.contents(index)
            .iter()
            .map(|content| content.items)
            .sum()
    }
}

pub fn source(index: &str) -> SourceName {
    SourceName {
        table: table("Tab"),
        index: (!index.is_empty()).then(|| IndexName::new(index).unwrap()),
    }
}

pub fn small_partitions(bytes_max: u64) -> impl Fn(EngineOptions) -> EngineOptions {
    move |options| EngineOptions {
        partition_limits: PartitionLimits {
            bytes_max,
            ..PartitionLimits::default()
        },
        ..options
    }
}
