//! Analyses of a table that read it through the operations alone: for `ddbfs` commands and files of
//! the mount.
//!
//! ```text
//! violations/  values that keep items out of an index: found, listed as CSV, corrected (docs/requirements.md S-06)
//! advice/      advice on keys and indexes, derived from the data (docs/requirements.md S-08)
//! look.rs      free reads, and distributions: sizes of items, entries of values
//! shapes/      the shapes of the items: patterns of keys, sizes, attributes
//! auto_scaling.rs  a scaling policy simulated on a recorded load (docs/requirements.md S-02)
//! sharding.rs  write-sharded partition keys: their number, their suffixes, and reading them back as one (docs/requirements.md T-08 to T-17)
//! ```

pub mod advice;
pub mod auto_scaling;
pub mod sampling;
pub mod shapes;
pub mod sharding;
pub mod violations;
