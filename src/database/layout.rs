//! What only a database can tell that stores the data itself: metrics, capacity, partitions and heat.

use crate::model::layout::Metrics;
use crate::model::prices::PriceTable;
use crate::model::{Error, TableName};

/// Metrics and the physical layout, as far as it is real, and the model of DynamoDB's where it is not.
pub trait Layout: Send + Sync {
    /// The metrics of these tables, in this order; those that are not there are left out.
    fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error>;

    /// The metrics of all tables.
    fn all_metrics(&self) -> Result<Metrics, Error>;

    /// The prices to tell costs by.
    fn prices(&self) -> &PriceTable;

    /// Counts a request that was refused before it came to the database.
    fn count_user_error(&self);
}
