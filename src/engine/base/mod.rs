//! The foundation of the engine, below the catalog: key layout, versioned stored forms, counters,
//! range scans, checks of keys and table definitions, capacity units.

pub mod counters;
pub mod item_key;
pub mod keys;
pub mod stored_form;
pub mod table_definition;
pub mod walks;

use crate::model::limits::{READ_UNIT_BYTES, WRITE_UNIT_BYTES};

// Capacity units (docs/dynamodb.md 10.1), always computed.

/// The factor of a table's units in a transaction; its indexes count once (docs/dynamodb.md 10.2).
pub const TRANSACTION_FACTOR: f64 = 2.0;

/// Returns the units of a write of this many bytes, at least one.
#[must_use]
pub fn write_units(bytes: usize) -> f64 {
    units(bytes, WRITE_UNIT_BYTES)
}

/// Returns `VectorWriteRequestBytes` of an entry of this many bytes (docs/dynamodb.md 28.4).
#[must_use]
pub fn vector_write_bytes(bytes: usize) -> f64 {
    const BYTES_MIN: usize = 1024;
    bytes.max(BYTES_MIN) as f64
}

/// Returns the units of a read of this many bytes, at least one unit or half a unit.
#[must_use]
pub fn read_units(bytes: usize, consistent: bool) -> f64 {
    units(bytes, READ_UNIT_BYTES) * if consistent { 1.0 } else { 0.5 }
}

/// Returns the number of units. Sizes are far below 2^53, where a double is exact.
fn units(bytes: usize, unit_bytes: usize) -> f64 {
    bytes.div_ceil(unit_bytes).max(1) as f64
}

#[cfg(test)]
mod capacity_tests {
    use super::*;

    #[test]
    fn table_of_units() {
        for (bytes, expected) in [
            (0, 1.0),
            (1, 1.0),
            (1024, 1.0),
            (1025, 2.0),
            (3175, 4.0),
            (409_600, 400.0),
        ] {
            assert_eq!(write_units(bytes), expected, "write {bytes}");
        }
        let reads = [
            (0, 1.0),
            (500, 1.0),
            (3584, 1.0),
            (4096, 1.0),
            (4097, 2.0),
            (8295, 3.0),
            (16_000, 4.0),
        ];
        for (bytes, expected) in reads {
            assert_eq!(read_units(bytes, true), expected, "consistent read {bytes}");
            assert_eq!(read_units(bytes, false), expected / 2.0, "read {bytes}");
        }
    }
}
