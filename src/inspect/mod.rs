//! What can be told of a table by reading it through the operations alone: for `ddbfs` commands and files of the mount.
//!
//! ```text
//! violations/  values that keep items out of an index: found, listed as CSV, corrected (REQUIREMENTS S-06)
//! advice/      what its data says about its keys and indexes (REQUIREMENTS S-08)
//! auto_scaling.rs  what a scaling policy would have done with a recorded load (REQUIREMENTS S-02)
//! sharding.rs  write-sharded partition keys: how many, which, and reading them back as one (REQUIREMENTS T-08 to T-17)
//! ```

pub mod advice;
pub mod auto_scaling;
pub mod sharding;
pub mod violations;
