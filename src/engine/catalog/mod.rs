//! The catalog: every table's definition and state as plain data, the stored form, and a cache.

pub mod cache;
mod earlier_forms;
pub mod entry;
pub mod index_life;
pub mod tables;
pub mod watched;

pub use entry::{ExpiryList, TableEntry, TableStream, TimeToLive};
pub use index_life::IndexLife;
pub use tables::{
    active, all_tables, generation, known, next_source, raise_generation, read_table, table_names, take_source, take_sources,
    write_table,
};
