//! Analyses of a table, for `ddbfs` commands and for files of the mount. They read the table
//! through the operations alone.
//!
//! ```text
//! violations/  values that keep items out of an index: found, listed as CSV, corrected (docs/requirements.md S-06)
//! advice/      advice on keys and indexes, derived from the data (docs/requirements.md S-08)
//! expected.rs  expected access patterns: what answers them, their cost, whether they were seen
//! patterns.rs  access patterns against keys: which table or index answers them
//! shapes/      the shapes of the items: patterns of keys, sizes, attributes
//! sampling.rs  free reads, and histograms: sizes of items, entries of values
//! sharding.rs  write-sharded partition keys: their number, their suffixes, and reading them back as one (docs/requirements.md T-08 to T-17)
//! ```

pub mod advice;
pub mod expected;
pub mod patterns;
pub mod sampling;
pub mod shapes;
pub mod sharding;
pub mod violations;
