//! The DynamoDB API's JSON, one file per operation: `request` makes a typed request of a body, with the service's own type and
//! constraint errors in its order; `response` writes a typed response as a body. The other way, for a client of another service:
//! `write_request` writes the body of a typed request, `read_response` makes a typed response of a body.
//!
//! ```text
//! shape          members, types and constraints as data            json_type, constraint   the two walks over a request
//! attribute_value values from JSON                                  names                   TableName, ARNs, IndexName
//! error          WireError                                         write                   JSON text into bytes
//! echo           values of requests as errors show them            transaction             what transactions share
//! members        shapes that several operations share              capacity                ConsumedCapacity, ItemCollectionMetrics
//! legacy         parameters from before expressions                  statements              members of the PartiQL operations
//! table_*        table definitions and descriptions as JSON         page                    Query's and Scan's rows
//! ask            writing requests: what several share               answer, fault           reading answers, and errors
//! ```

pub mod answer;
mod ask;
pub mod attribute_value;
pub mod backup;
pub mod batch_execute_statement;
pub mod batch_get_item;
pub mod batch_write_item;
pub mod capacity;
pub mod constraint;
pub mod create_table;
pub mod delete_item;
pub mod delete_table;
pub mod describe_stream;
pub mod describe_table;
pub mod echo;
pub mod error;
pub mod execute_statement;
pub mod execute_transaction;
pub mod fault;
pub mod get_item;
pub mod get_records;
pub mod get_shard_iterator;
pub mod insights;
mod item_write;
pub mod json_type;
pub mod legacy;
pub mod list_streams;
pub mod list_tables;
pub mod members;
pub mod names;
pub mod never_used;
pub mod page;
pub mod put_item;
pub mod query;
pub mod resource;
pub mod scan;
pub mod shape;
pub mod statements;
pub mod stream_arn;
pub mod table_answer;
pub mod table_description;
mod table_members;
pub mod table_settings;
pub mod time_to_live;
pub mod transact_get_items;
pub mod transact_write_items;
pub mod transaction;
pub mod transfer;
pub mod update_item;
pub mod update_table;
pub mod write;

pub use capacity::Reporting;
pub use error::WireError;

#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod tests;
