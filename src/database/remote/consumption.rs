//! The capacity that a request consumed: `ConsumedCapacity` of its answer, or an estimate by size
//! if the answer lacks it. `budget` counts and limits it.

use std::collections::{BTreeMap, BTreeSet};

use super::transport::{AnswerBody, is_select, partiql_statements};
use crate::codec::json::document::{Document, Json, JsonKind};
use crate::model::error::RemoteCause;
use crate::model::limits::{
    BATCH_GET_BYTES_MAX, ITEM_BYTES_MAX, PAGE_BYTES_MAX, READ_UNIT_BYTES, TRANSACTION_BYTES_MAX,
    WRITE_UNIT_BYTES,
};
use crate::model::metrics::MeteredOperation;
use crate::model::{Error, IndexName, TableName, arn};

/// Capacity units of both kinds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RequestUnits {
    pub read: f64,
    pub write: f64,
}

impl RequestUnits {
    pub fn add(&mut self, other: Self) {
        self.read += other.read;
        self.write += other.write;
    }
}

/// The kind of units that a request consumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapacityKind {
    Read,
    Write,
}

impl CapacityKind {
    /// Returns the option that limits the rate of these units.
    pub fn option(self) -> &'static str {
        match self {
            Self::Read => "--max-rcu",
            Self::Write => "--max-wcu",
        }
    }

    fn units(self, count: f64) -> RequestUnits {
        match self {
            Self::Read => RequestUnits {
                read: count,
                write: 0.0,
            },
            Self::Write => RequestUnits {
                read: 0.0,
                write: count,
            },
        }
    }
}

/// A request that consumes capacity units.
#[derive(Debug)]
pub struct MeteredRequest {
    pub operation: MeteredOperation,
    pub kind: CapacityKind,
    /// The parsed request; `None` if it is not JSON.
    request: Option<Document>,
    bytes: usize,
}

/// The consumption of one table: of its base (`None`) and of its indexes.
#[derive(Debug, Clone, PartialEq)]
pub struct TableUnits {
    pub table: TableName,
    pub sources: BTreeMap<Option<IndexName>, RequestUnits>,
}

/// The consumption that an answer reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Consumption {
    pub tables: Vec<TableUnits>,
    /// `ScannedCount` of Query and Scan.
    pub evaluated: u64,
    pub returned: Option<u64>,
}

impl Consumption {
    pub fn total(&self) -> RequestUnits {
        let mut sum = RequestUnits::default();
        self.tables
            .iter()
            .flat_map(|of| of.sources.values())
            .for_each(|units| sum.add(*units));
        sum
    }
}

impl MeteredRequest {
    /// Classifies a request; `None` if the operation consumes no units.
    pub fn of(operation: &str, body: &[u8]) -> Option<Self> {
        use MeteredOperation as Of;
        let operation = Of::named(operation)?;
        // A body that is not JSON is sent all the same: the service refuses it, and its length is
        // counted.
        let request = Document::parse(body.to_vec()).ok();
        let kind = match operation {
            Of::GetItem
            | Of::Query
            | Of::Scan
            | Of::SearchVectors
            | Of::BatchGetItem
            | Of::TransactGetItems => CapacityKind::Read,
            Of::PutItem
            | Of::UpdateItem
            | Of::DeleteItem
            | Of::BatchWriteItem
            | Of::TransactWriteItems => CapacityKind::Write,
            Of::ExecuteStatement | Of::BatchExecuteStatement | Of::ExecuteTransaction => {
                // All statements of one request read, or all write.
                let statements = request
                    .as_ref()
                    .map(|request| partiql_statements(request.root()))
                    .unwrap_or_default();
                if statements.into_iter().any(is_select) {
                    CapacityKind::Read
                } else {
                    CapacityKind::Write
                }
            }
        };
        Some(Self {
            operation,
            kind,
            request,
            bytes: body.len(),
        })
    }

    fn member(&self, name: &str) -> Option<Json<'_>> {
        self.request.as_ref()?.root().get(name)
    }

    /// Returns the maximal consumption: of a read by the limit of its answer, of a write by its own
    /// length; writes to indexes come on top.
    pub fn max_units(&self) -> RequestUnits {
        use MeteredOperation as Of;
        let (bytes, has_one_table) = match self.operation {
            Of::GetItem => (ITEM_BYTES_MAX, true),
            Of::Query | Of::Scan | Of::ExecuteStatement => (PAGE_BYTES_MAX, true),
            // A transaction prepares and commits, which consumes twice the units.
            Of::TransactGetItems | Of::ExecuteTransaction => (2 * TRANSACTION_BYTES_MAX, false),
            // A batch may mix consistent and eventually consistent reads, so the larger amount is
            // reserved.
            _ => (BATCH_GET_BYTES_MAX, false),
        };
        let is_asked = |json: Json<'_>| matches!(json.kind(), JsonKind::Bool(true));
        // An unreadable request is reserved as a consistent one, which is the larger amount.
        let is_consistent =
            self.request.is_none() || self.member("ConsistentRead").is_some_and(is_asked);
        let part = if has_one_table && !is_consistent {
            0.5
        } else {
            1.0
        };
        self.kind.units(match self.kind {
            CapacityKind::Read => bytes.div_ceil(READ_UNIT_BYTES) as f64 * part,
            CapacityKind::Write => self.bytes.div_ceil(WRITE_UNIT_BYTES) as f64,
        })
    }

    /// Returns the table, if the request names exactly one.
    pub fn table(&self) -> Option<TableName> {
        table(self.request.as_ref()?.root())
    }

    /// Returns the tables that the request names, each once; none of a statement.
    pub fn tables(&self) -> BTreeSet<TableName> {
        let batch = self.member("RequestItems").and_then(Json::as_object);
        let of_batch = batch.into_iter().flat_map(|tables| tables.keys());
        let parts = self.member("TransactItems").and_then(Json::as_list);
        let of_parts = parts.into_iter().flatten().filter_map(first_table);
        let of_batch = of_batch.filter_map(|name| arn::parse_table(name).ok());
        of_batch.chain(of_parts).chain(self.table()).collect()
    }

    /// Returns the index that the request reads.
    pub fn index(&self) -> Option<IndexName> {
        IndexName::new(self.member("IndexName")?.as_str()?).ok()
    }

    /// Returns the consumption that the answer reports, or an estimate.
    pub fn consumed(&self, answer: &mut AnswerBody) -> Consumption {
        let bytes = answer.bytes();
        let json = answer.json().ok();
        let count = |name: &str| json?.get(name)?.as_number()?.as_u64();
        let consumed = json.and_then(|json| json.get("ConsumedCapacity"));
        // One unreadable entry voids all: the budget must not count too little.
        let consumed: Option<Vec<TableUnits>> =
            match consumed.map(|consumed| (consumed, consumed.as_list())) {
                None => None,
                Some((_, Some(mut tables))) => tables.try_fold(Vec::new(), |mut all, of| {
                    all.push(self.parse_table(of)?);
                    Some(all)
                }),
                Some((of, None)) => self.parse_table(of).map(|of| vec![of]),
            };
        // An emulator may leave out the capacity although it was requested.
        let tables = consumed
            .filter(|consumed| !consumed.is_empty())
            .unwrap_or_else(|| self.estimated(bytes));
        Consumption {
            tables,
            evaluated: count("ScannedCount").unwrap_or(0),
            returned: count("Count"),
        }
    }

    /// Returns the consumption of a failed request: a condition that does not hold costs as much as
    /// the write.
    pub fn consumed_by_failure(&self, error: &Error) -> Consumption {
        let may_have_written = match error {
            // An interrupted caller does not know the outcome, and the service may have executed
            // the write.
            Error::ConditionalCheckFailed { .. }
            | Error::TransactionCanceled(_)
            | Error::Interrupted => true,
            Error::Remote(remote) => remote.cause() == RemoteCause::Failed,
            _ => false,
        };
        let is_charged = may_have_written && self.kind == CapacityKind::Write;
        Consumption {
            tables: if is_charged {
                self.estimated(0)
            } else {
                Vec::new()
            },
            ..Consumption::default()
        }
    }

    fn parse_table(&self, consumed: Json<'_>) -> Option<TableUnits> {
        let mut sources = BTreeMap::new();
        for indexes in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"]
            .into_iter()
            .filter_map(|name| consumed.get(name)?.as_object())
        {
            for (name, units) in indexes.iter() {
                sources.insert(Some(IndexName::new(name).ok()?), self.parse_units(units)?);
            }
        }
        // Without the detail by index, the object itself has the table's units.
        let base = consumed
            .get("Table")
            .or_else(|| sources.is_empty().then_some(consumed));
        if let Some(base) = base {
            sources.insert(None, self.parse_units(base)?);
        }
        Some(TableUnits {
            table: table(consumed)?,
            sources,
        })
    }

    /// Returns the units of a table or index; `None` if they are missing or no amount.
    fn parse_units(&self, entry: Json<'_>) -> Option<RequestUnits> {
        let count = |name: &str| {
            entry
                .get(name)
                .and_then(Json::as_f64)
                .filter(|count| count.is_finite() && *count >= 0.0)
        };
        match (count("ReadCapacityUnits"), count("WriteCapacityUnits")) {
            // `CapacityUnits` does not say which kind of units it counts; the operation does.
            (None, None) => Some(self.kind.units(count("CapacityUnits")?)),
            (read, write) => Some(RequestUnits {
                read: read.unwrap_or(0.0),
                write: write.unwrap_or(0.0),
            }),
        }
    }

    /// Estimates the consumption by the bytes of the answer, or of the request.
    fn estimated(&self, answer_bytes: usize) -> Vec<TableUnits> {
        let units = match self.kind {
            // As an eventually consistent read, which is the default.
            CapacityKind::Read => answer_bytes.div_ceil(READ_UNIT_BYTES).max(1) as f64 / 2.0,
            CapacityKind::Write => self.bytes.div_ceil(WRITE_UNIT_BYTES).max(1) as f64,
        };
        // The shares of several tables are unknown; all of it counts for the first.
        let of_batch =
            || arn::parse_table(self.member("RequestItems")?.as_object()?.keys().next()?).ok();
        let table = self
            .table()
            .or_else(of_batch)
            .or_else(|| first_table(self.request.as_ref()?.root()));
        table
            .map(|table| TableUnits {
                table,
                sources: [(None, self.kind.units(units))].into(),
            })
            .into_iter()
            .collect()
    }
}

fn table(json: Json<'_>) -> Option<TableName> {
    arn::parse_table(json.get("TableName")?.as_str()?).ok()
}

/// Returns the first table that is named anywhere in a transaction.
fn first_table(json: Json<'_>) -> Option<TableName> {
    match json.kind() {
        JsonKind::Object(of) => table(json).or_else(|| of.values().find_map(first_table)),
        JsonKind::List(mut list) => list.find_map(first_table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(operation: &str, body: &str, answer: &str, expected: (f64, f64)) {
        let consumed = MeteredRequest::of(operation, body.as_bytes())
            .unwrap()
            .consumed(&mut answer.as_bytes().to_vec().into())
            .total();
        assert_eq!(
            (consumed.read, consumed.write),
            expected,
            "{operation} {answer}"
        );
    }

    #[test]
    fn units_are_those_that_the_answer_says() {
        let one = r#"{"Item":{"ConsumedCapacity":{"N":"9"}},"ConsumedCapacity":{"TableName":"Pets","CapacityUnits":1.5,"Table":{"CapacityUnits":1.5}}}"#;
        check("GetItem", "{}", one, (1.5, 0.0));
        check("PutItem", "{}", one, (0.0, 1.5));
        let indexes = r#"{"ConsumedCapacity":{"TableName":"Pets","CapacityUnits":4,"Table":{"CapacityUnits":1},"GlobalSecondaryIndexes":{"byAge":{"CapacityUnits":2}},"LocalSecondaryIndexes":{"byName":{"CapacityUnits":1}}}}"#;
        check("UpdateItem", "{}", indexes, (0.0, 4.0));
        let list = r#"{"ConsumedCapacity":[{"TableName":"Pets","CapacityUnits":4},{"TableName":"arn:aws:dynamodb:eu-central-1:1:table/Pots","CapacityUnits":1}]}"#;
        check("BatchGetItem", "{}", list, (5.0, 0.0));
        // A transaction that is sent again with its token reads.
        let again = r#"{"ConsumedCapacity":[{"TableName":"Pets","CapacityUnits":2,"ReadCapacityUnits":2,"Table":{"ReadCapacityUnits":2,"CapacityUnits":2}}]}"#;
        check("TransactWriteItems", "{}", again, (2.0, 0.0));
        check(
            "ExecuteStatement",
            r#"{"Statement": " select * from Pets"}"#,
            one,
            (1.5, 0.0),
        );
        check(
            "ExecuteStatement",
            r#"{"Statement":"INSERT INTO Pets VALUE {'p': 'SELECT'}"}"#,
            one,
            (0.0, 1.5),
        );
    }

    #[test]
    fn units_of_answers_that_do_not_say_are_guessed_by_size() {
        check(
            "Query",
            r#"{"TableName":"Pets"}"#,
            &format!(r#"{{"Items":["{}"]}}"#, "x".repeat(9_000)),
            (1.5, 0.0),
        );
        check(
            "PutItem",
            &format!(r#"{{"TableName":"Pets","Item":"{}"}}"#, "x".repeat(3_000)),
            "{}",
            (0.0, 3.0),
        );
        check(
            "BatchWriteItem",
            r#"{"RequestItems":{"Pets":[]}}"#,
            "{}",
            (0.0, 1.0),
        );
        for damaged in [
            r#"{"TableName":"Pets"}"#,
            r#"{"TableName":"Pets","CapacityUnits":-1}"#,
        ] {
            check(
                "PutItem",
                r#"{"TableName":"Pets"}"#,
                &format!(r#"{{"ConsumedCapacity":{damaged}}}"#),
                (0.0, 1.0),
            );
        }
        check(
            "TransactGetItems",
            r#"{"TransactItems":[{"Get":{"TableName":"Pets"}}]}"#,
            "{}",
            (0.5, 0.0),
        );
    }

    #[test]
    fn a_failed_condition_costs_and_a_refused_request_does_not() {
        let failed = |operation: &str, error: Error| {
            MeteredRequest::of(operation, br#"{"TableName":"Pets"}"#)
                .unwrap()
                .consumed_by_failure(&error)
                .total()
        };
        assert_eq!(
            failed("PutItem", Error::ConditionalCheckFailed { item: None }),
            RequestUnits {
                read: 0.0,
                write: 1.0
            }
        );
        assert_eq!(
            failed("PutItem", Error::ResourceNotFound),
            RequestUnits::default()
        );
        assert_eq!(
            failed("GetItem", Error::Interrupted),
            RequestUnits::default()
        );
        assert!(MeteredRequest::of("DescribeTable", b"{}").is_none());
    }
}
