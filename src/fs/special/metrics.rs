//! `<Table>/capacity.json` and `<Table>/metrics.ndjson`, `.ddb/stats.prom`: what was consumed, by whom, and what it would cost. Counted
//! since this process began, from every front end in it.

use super::{Special, SpecialNode, service};
use crate::codec::metrics::{capacity, points, prometheus};
use crate::database::layout::Layout;
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree, pretty};
use crate::model::TableName;
use crate::model::layout::{Metrics, TableMetrics};

pub const CAPACITY_NAME: &str = "capacity.json";
pub const POINTS_NAME: &str = "metrics.ndjson";
pub const PROMETHEUS_NAME: &str = "stats.prom";

/// Renders a table's metrics.
type Render = fn(&Metrics, &TableMetrics, &dyn Layout) -> Vec<u8>;

#[derive(Debug)]
struct OfTable {
    table: TableName,
    path: String,
    render: Render,
}

/// `capacity.json` of that table.
#[must_use]
pub fn capacity_node(table: &TableName) -> Node {
    of_table(table, CAPACITY_NAME, |metrics, table, layout| pretty(&capacity::render(metrics, table, layout.prices())))
}

/// `metrics.ndjson` of that table.
#[must_use]
pub fn points_node(table: &TableName) -> Node {
    of_table(table, POINTS_NAME, |metrics, table, _| points::render(table, metrics.now_ms).into_bytes())
}

fn of_table(table: &TableName, name: &str, render: Render) -> Node {
    SpecialNode::node(OfTable { table: table.clone(), path: format!("{}/{name}", table_name(table)), render })
}

impl Special for OfTable {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Table(self.table.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    /// It changes with what is asked, not with the table.
    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        Ok(tree.started_ms)
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let layout = tree.db.layout().ok_or(FsError::NotFound)?;
        let metrics = layout.metrics(std::slice::from_ref(&self.table))?;
        let table = metrics.tables.first().ok_or(FsError::NotFound)?;
        Ok((self.render)(&metrics, table, layout))
    }
}

#[derive(Debug)]
struct Prometheus;

/// `.ddb/stats.prom`
#[must_use]
pub fn prometheus_node() -> Node {
    SpecialNode::node(Prometheus)
}

impl Special for Prometheus {
    fn path(&self) -> &'static str {
        ".ddb/stats.prom"
    }

    fn parent(&self) -> Node {
        service::node()
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let layout = tree.db.layout().ok_or(FsError::NotFound)?;
        Ok(prometheus::render(&layout.all_metrics()?).into_bytes())
    }
}
