//! The embedded engine: catalog, operations (one file each), index maintenance, counters. (to be written)

pub mod ops;
