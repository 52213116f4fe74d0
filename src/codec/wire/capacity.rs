//! `ConsumedCapacity` and `ItemCollectionMetrics` of responses (SEMANTICS 9.7, 10.4).

use std::collections::BTreeMap;

use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::model::TableName;
use crate::model::api::{
    ConsumedCapacity, DeleteItemRequest, GetItemRequest, ItemCollectionMetrics, PutItemRequest, QueryRequest,
    ReturnConsumedCapacity, ScanRequest,
};

/// What of a request decides how its response reports capacity. Kept aside, as an operation takes its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reporting {
    pub table_name: TableName,
    pub detail: ReturnConsumedCapacity,
}

macro_rules! reporting_of {
    ($($request:ty),*) => {$(
        impl From<&$request> for Reporting {
            fn from(request: &$request) -> Self {
                Self { table_name: request.table_name.clone(), detail: request.return_consumed_capacity }
            }
        }
    )*};
}

reporting_of!(GetItemRequest, PutItemRequest, DeleteItemRequest, QueryRequest, ScanRequest);

impl Reporting {
    /// The member `ConsumedCapacity`, if it was asked for.
    pub fn write(&self, consumed: &ConsumedCapacity, response: &mut ObjectWriter<'_>) {
        let indexes = match self.detail {
            ReturnConsumedCapacity::None => return,
            ReturnConsumedCapacity::Total => false,
            ReturnConsumedCapacity::Indexes => true,
        };
        let mut object = ObjectWriter::start(response.member("ConsumedCapacity"));
        write::string(self.table_name.as_str(), object.member("TableName"));
        write::double(consumed.total(), object.member("CapacityUnits"));
        if indexes {
            units(consumed.table, object.member("Table"));
            arms("GlobalSecondaryIndexes", &consumed.global_indexes, &mut object);
            arms("LocalSecondaryIndexes", &consumed.local_indexes, &mut object);
        }
        object.end();
    }
}

fn units(value: f64, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::double(value, object.member("CapacityUnits"));
    object.end();
}

fn arms(name: &str, arms: &BTreeMap<String, f64>, object: &mut ObjectWriter<'_>) {
    if arms.is_empty() {
        return;
    }
    let mut indexes = ObjectWriter::start(object.member(name));
    for (index, value) in arms {
        units(*value, indexes.member(index));
    }
    indexes.end();
}

/// The member `ItemCollectionMetrics`, where the operation gave any.
pub fn write_metrics(metrics: Option<&ItemCollectionMetrics>, response: &mut ObjectWriter<'_>) {
    let Some(metrics) = metrics else { return };
    let mut object = ObjectWriter::start(response.member("ItemCollectionMetrics"));
    dynamodb_json::write_item(&metrics.key, object.member("ItemCollectionKey"));
    let out = object.member("SizeEstimateRangeGB");
    let [lower, upper] = metrics.size_estimate_range_gb;
    out.push(b'[');
    write::double(lower, out);
    out.push(b',');
    write::double(upper, out);
    out.push(b']');
    object.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(detail: ReturnConsumedCapacity, expected: &str) {
        let Ok(table_name) = TableName::new("Orders") else { return };
        let consumed = ConsumedCapacity { table: 1.0, global_indexes: [("gsi".to_owned(), 2.5)].into(), ..Default::default() };
        let mut out = Vec::new();
        let mut object = ObjectWriter::start(&mut out);
        Reporting { table_name, detail }.write(&consumed, &mut object);
        object.end();
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn capacity_by_the_detail_asked_for() {
        check(ReturnConsumedCapacity::None, "{}");
        check(ReturnConsumedCapacity::Total, r#"{"ConsumedCapacity":{"TableName":"Orders","CapacityUnits":3.5}}"#);
        check(
            ReturnConsumedCapacity::Indexes,
            r#"{"ConsumedCapacity":{"TableName":"Orders","CapacityUnits":3.5,"Table":{"CapacityUnits":1.0},"GlobalSecondaryIndexes":{"gsi":{"CapacityUnits":2.5}}}}"#,
        );
    }
}
