//! The example tables with their data, for `ddbfs sample` and the tests.
//!
//! GameScores, Thread, Pets and the invoices are the examples of DynamoDB's developer guide and of
//! its articles on partition keys. Impossible dates such as 2015-02-31 are in the originals: a date
//! is plain text.

use crate::codec::json::document::Document;
use crate::codec::plain_json;
use crate::codec::wire;
use crate::model::Item;
use crate::model::api::CreateTableRequest;

/// One line for each definition, followed by its items, each indented by a space.
const TABLES: &str = include_str!("samples.ndjson");

/// A table's definition and its items.
type SampleTable = (CreateTableRequest, Vec<Item>);

/// Returns every example table.
#[must_use]
pub fn sample_tables() -> Vec<SampleTable> {
    let mut tables: Vec<SampleTable> = Vec::new();
    for line in TABLES.lines().filter(|line| !line.starts_with('#')) {
        // A test checks that every line parses.
        match line.strip_prefix(' ') {
            None => tables.extend(parse_definition(line).map(|request| (request, Vec::new()))),
            Some(item) => {
                if let Some((_, items)) = tables.last_mut() {
                    items.extend(plain_json::parse_line(item.as_bytes()));
                }
            }
        }
    }
    tables
}

fn parse_definition(line: &str) -> Option<CreateTableRequest> {
    wire::request(Document::parse(line.as_bytes().to_vec()).ok()?.root()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let tables = sample_tables();
        let names: Vec<&str> = tables
            .iter()
            .map(|(request, _)| request.table_name.as_str())
            .collect();
        let expected = [
            "GameScores",
            "Thread",
            "Pets",
            "PetsByType",
            "Invoices",
            "InvoiceTransactions",
            "OrdersBySequence",
            "Orders",
            "ProductCatalog",
        ];
        assert_eq!(names, expected);
        assert!(tables.iter().all(|(_, items)| items.len() >= 3));
        let read: usize = tables.iter().map(|(_, items)| 1 + items.len()).sum();
        assert_eq!(
            read,
            TABLES.lines().filter(|line| !line.starts_with('#')).count()
        );
    }
}
