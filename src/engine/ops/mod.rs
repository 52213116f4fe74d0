//! The operations, one file each: shape checks, then the catalog, then keys, then the effect.

pub mod create_table;
mod create_table_checks;
pub mod delete_item;
pub mod delete_table;
pub mod describe_stream;
pub mod describe_table;
pub mod get_item;
pub mod get_records;
pub mod get_shard_iterator;
pub mod list_streams;
pub mod list_tables;
pub mod put_item;
pub mod query;
pub mod scan;
pub mod time_to_live;
