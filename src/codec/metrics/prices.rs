//! The price table as a JSON object with exactly the members of `prices.json`, which is the
//! default.

use serde_json::Value;

use crate::model::prices::PriceTable;

const DEFAULT: &str = include_str!("prices.json");

/// Returns the built-in prices.
#[must_use]
pub fn built_in() -> PriceTable {
    let parsed = parse(DEFAULT);
    debug_assert!(parsed.is_ok(), "prices.json: {parsed:?}");
    // A test parses it; were it broken, everything would be free and without a date.
    parsed.unwrap_or_else(|_| PriceTable {
        date: String::new(),
        region: String::new(),
        currency: String::new(),
        million_reads: 0.0,
        million_writes: 0.0,
        read_hour: 0.0,
        write_hour: 0.0,
        gigabyte_month: 0.0,
    })
}

/// Parses a price table.
///
/// # Errors
/// A sentence that says which member is missing or wrong.
pub fn parse(text: &str) -> Result<PriceTable, String> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| format!("the price table is not JSON: {error}"))?;
    let word = |name: &str| {
        let value = json.get(name).and_then(Value::as_str).map(str::to_owned);
        value.ok_or_else(|| format!("the price table needs the string {name:?}"))
    };
    let price = |name: &str| {
        let value = json
            .get(name)
            .and_then(Value::as_f64)
            .filter(|price| *price >= 0.0);
        value.ok_or_else(|| format!("the price table needs {name:?}, a number of at least 0"))
    };
    Ok(PriceTable {
        date: word("date")?,
        region: word("region")?,
        currency: word("currency")?,
        million_reads: price("million_reads")?,
        million_writes: price("million_writes")?,
        read_hour: price("read_hour")?,
        write_hour: price("write_hour")?,
        gigabyte_month: price("gigabyte_month")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_whole_and_a_broken_one_is_refused() {
        assert_eq!(parse(DEFAULT).unwrap(), built_in());
        assert_eq!(built_in().date.len(), 10);
        for (text, expected) in [
            ("{", "not JSON"),
            ("{}", "the string \"date\""),
            (&DEFAULT.replace("0.25", "-1"), "\"gigabyte_month\""),
            (&DEFAULT.replace("0.125", "\"x\""), "\"million_reads\""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
