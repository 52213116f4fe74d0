//! Metrics and layout: the engine counts and models them.

use super::LocalDatabase;
use crate::database::Browse;
use crate::database::layout::Layout;
use crate::model::layout::Metrics;
use crate::model::prices::PriceTable;
use crate::model::{Error, TableName};

impl Layout for LocalDatabase {
    fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error> {
        self.engine.metrics(tables)
    }

    fn all_metrics(&self) -> Result<Metrics, Error> {
        self.engine.metrics(&self.table_names()?)
    }

    fn prices(&self) -> &PriceTable {
        self.engine.prices()
    }

    fn count_user_error(&self) {
        self.engine.count_user_error();
    }
}
