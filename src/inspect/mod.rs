//! What can be told of a table by reading it through the operations alone: for `ddbfs` commands and files of the mount.
//!
//! ```text
//! violations/  values that keep items out of an index: found, listed as CSV, corrected (docs/requirements.md S-06)
//! advice/      what its data says about its keys and indexes (docs/requirements.md S-08)
//! look.rs      reading that costs nothing, and how many have how much: sizes of items, entries of values
//! shapes/      what its items look like: patterns of keys, sizes, attributes
//! auto_scaling.rs  what a scaling policy would have done with a recorded load (docs/requirements.md S-02)
//! sharding.rs  write-sharded partition keys: how many, which, and reading them back as one (docs/requirements.md T-08 to T-17)
//! ```

pub mod advice;
pub mod auto_scaling;
pub mod look;
pub mod shapes;
pub mod sharding;
pub mod violations;
