//! The price model: the costs of capacity and storage, as computed from units and bytes. Backups,
//! streams, transfer and free tiers are left out. `codec::metrics::prices` reads a price table from
//! JSON.

use super::metrics::{Billing, CapacityUsage, SourceMetrics, TableMetrics};

/// The hours of a month on a bill.
pub const MONTH_HOURS: f64 = 730.0;
const MONTH_SECONDS: f64 = MONTH_HOURS * 3600.0;
const MILLION: f64 = 1e6;
const GIGABYTE: f64 = 1024.0 * 1024.0 * 1024.0;

/// The prices of one region and table class.
#[derive(Debug, Clone, PartialEq, Default, serde::Deserialize)]
pub struct PriceTable {
    /// The day of the prices, `YYYY-MM-DD`.
    pub date: String,
    pub region: String,
    pub currency: String,
    /// A million read units on demand.
    pub million_reads: f64,
    /// A million write units on demand.
    pub million_writes: f64,
    /// One provisioned read unit for an hour.
    pub read_hour: f64,
    /// One provisioned write unit for an hour.
    pub write_hour: f64,
    /// A gigabyte stored for a month.
    pub gigabyte_month: f64,
    /// A gigabyte of `VectorSearchRequestBytes`.
    pub vector_search_gigabyte: f64,
    /// A gigabyte of `VectorWriteRequestBytes`.
    pub vector_write_gigabyte: f64,
}

/// The cost of a month.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MonthlyCost {
    pub storage: f64,
    pub reads: f64,
    pub writes: f64,
}

/// The limit of units a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RateOption {
    /// A part of what each table and index provisions, and a constant on demand.
    Default,
    #[default]
    Unlimited,
    /// Of all requests together.
    Units(f64),
}

/// The time in which a budget may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetPeriod {
    /// The life of the process.
    Run,
    /// A day of UTC, by all processes of the user.
    Day,
}

/// The budget of a mount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MountBudget {
    pub period: BudgetPeriod,
    pub limit: f64,
    pub left: f64,
}

/// The spending of a mount on another service, and its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MountSpending {
    /// The time at which the mount began, milliseconds since the epoch.
    pub since_ms: u64,
    /// Read units.
    pub read: f64,
    /// Write units.
    pub write: f64,
    /// Requests that finally were throttled, by the service or by the limits.
    pub throttles: u64,
    /// Computed by the prices of on-demand capacity.
    pub money: f64,
    /// The money spent today by all processes of the user, if it is counted.
    pub today: Option<f64>,
    /// Read units a second.
    pub reads_max: RateOption,
    /// Write units a second.
    pub writes_max: RateOption,
    pub budget: Option<MountBudget>,
}

impl MonthlyCost {
    #[must_use]
    pub fn total(&self) -> f64 {
        self.storage + self.reads + self.writes
    }

    fn add(&mut self, other: &Self) {
        self.storage += other.storage;
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

impl PriceTable {
    /// Returns the cost of a month of a table or index in which it is used as in these seconds.
    /// Provisioned units cost whether they are used or not; a local index and its units are billed
    /// with its table.
    #[must_use]
    pub fn month_of(
        &self,
        source: &SourceMetrics,
        usage: &CapacityUsage,
        seconds: f64,
    ) -> MonthlyCost {
        let times = MONTH_SECONDS / seconds;
        let (reads, writes) = match source.billing {
            Billing::OnDemand => (
                self.read_cost(usage.read.sum * times),
                self.write_cost(usage.write.sum * times),
            ),
            Billing::Provisioned(units) => (
                units.read_capacity_units as f64 * MONTH_HOURS * self.read_hour,
                units.write_capacity_units as f64 * MONTH_HOURS * self.write_hour,
            ),
            Billing::WithTable => (0.0, 0.0),
        };
        MonthlyCost {
            storage: self.month_of_bytes(source.billed_bytes as f64),
            reads: reads + self.search_cost(usage.vector_search_bytes.sum * times),
            writes: writes + self.vector_write_cost(usage.vector_write_bytes.sum * times),
        }
    }

    /// Returns the cost of a month of this many bytes.
    #[must_use]
    pub fn month_of_bytes(&self, bytes: f64) -> f64 {
        bytes / GIGABYTE * self.gigabyte_month
    }

    /// Formats money in hundredths; less than one in millionths.
    #[must_use]
    pub fn text(&self, money: f64) -> String {
        let currency = &self.currency;
        match money {
            0.000_001..0.01 => format!("{money:.6} {currency}"),
            _ if money > 0.0 && money < 0.01 => format!("less than 0.000001 {currency}"),
            _ => format!("{money:.2} {currency}"),
        }
    }

    /// Returns the cost of read units on demand.
    #[must_use]
    pub fn read_cost(&self, units: f64) -> f64 {
        units / MILLION * self.million_reads
    }

    /// Returns the cost of write units on demand.
    #[must_use]
    pub fn write_cost(&self, units: f64) -> f64 {
        units / MILLION * self.million_writes
    }

    /// Returns the cost of searches of a vector index by their bytes.
    #[must_use]
    pub fn search_cost(&self, bytes: f64) -> f64 {
        bytes / GIGABYTE * self.vector_search_gigabyte
    }

    /// Returns the cost of writes to a vector index by their bytes.
    #[must_use]
    pub fn vector_write_cost(&self, bytes: f64) -> f64 {
        bytes / GIGABYTE * self.vector_write_gigabyte
    }

    /// Returns the cost of the bytes of a vector index; 0 for another source.
    #[must_use]
    pub fn vector_cost(&self, usage: &CapacityUsage) -> f64 {
        self.search_cost(usage.vector_search_bytes.sum)
            + self.vector_write_cost(usage.vector_write_bytes.sum)
    }

    /// Returns the cost of a month of a table with all its indexes in which each is used as in these
    /// seconds.
    #[must_use]
    pub fn month_of_table(
        &self,
        table: &TableMetrics,
        seconds: f64,
        usage: impl Fn(&SourceMetrics) -> CapacityUsage,
    ) -> MonthlyCost {
        let mut sum = MonthlyCost::default();
        table
            .sources
            .iter()
            .for_each(|source| sum.add(&self.month_of(source, &usage(source), seconds)));
        sum
    }
}
