//! The price table as a JSON object with exactly the members of `prices.json`, which is the
//! default.

use crate::model::prices::PriceTable;

const DEFAULT: &str = include_str!("prices.json");

/// Returns the built-in prices.
#[must_use]
pub fn built_in() -> PriceTable {
    let parsed = parse(DEFAULT);
    debug_assert!(parsed.is_ok(), "prices.json: {parsed:?}");
    // A test parses it; were it broken, everything would be free and without a date.
    parsed.unwrap_or_default()
}

/// Parses a price table.
///
/// # Errors
/// A sentence that says which member is missing or wrong.
pub fn parse(text: &str) -> Result<PriceTable, String> {
    let table: PriceTable =
        serde_json::from_str(text).map_err(|error| format!("the price table: {error}"))?;
    let prices = [
        table.million_reads,
        table.million_writes,
        table.read_hour,
        table.write_hour,
        table.gigabyte_month,
        table.vector_search_gigabyte,
        table.vector_write_gigabyte,
    ];
    match prices.iter().find(|price| **price < 0.0) {
        Some(price) => Err(format!("the price table: {price} is a price below 0")),
        None => Ok(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_whole_and_a_broken_one_is_refused() {
        assert_eq!(parse(DEFAULT).unwrap(), built_in());
        assert_eq!(built_in().date.len(), 10);
        for (text, expected) in [
            ("{", "EOF while parsing"),
            ("{}", "missing field `date`"),
            (&DEFAULT.replace("0.25", "-1"), "-1 is a price below 0"),
            (
                &DEFAULT.replace("0.125", "\"x\""),
                "invalid type: string \"x\", expected f64 at line 5",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
