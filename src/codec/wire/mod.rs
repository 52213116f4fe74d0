//! The DynamoDB API's JSON, a file for each family of operations. [`request`] makes a typed request of a body, with the service's own type
//! and constraint errors in its order; [`write()`] writes a typed answer as a body. The other way, for a client of another service, [`ask`]
//! writes the body of a typed request, and [`answer()`] makes a typed answer of a body. Most of it follows from the declarations in
//! [`crate::model::api`].
//!
//! ```text
//! declared, field the wire form of what is declared                  shape                   members, types and constraints as data
//! attribute_value values from JSON                                  json_type, constraint   the two walks over a request
//! error          WireError                                          names                   TableName, ARNs, IndexName
//! echo           values of requests as errors show them             write                   JSON text into bytes
//! members        members that several operations share              capacity                ConsumedCapacity, ItemCollectionMetrics
//! legacy         parameters from before expressions                 pages                   Query and Scan, and their rows
//! table_*        table definitions and descriptions as JSON         answer, fault           reading answers, and errors
//! ```

pub mod answer;
pub mod attribute_value;
pub mod backup;
pub mod batches;
pub mod capacity;
pub mod constraint;
pub mod create_table;
pub mod declared;
pub mod echo;
pub mod error;
pub mod fault;
pub mod field;
pub mod insights;
pub mod items;
pub mod json_type;
pub mod legacy;
pub mod members;
pub mod names;
pub mod never_used;
pub mod pages;
pub mod resource;
pub mod shape;
pub mod statements;
pub mod streams;
pub mod table_answer;
pub mod table_description;
mod table_members;
pub mod table_settings;
mod tables;
mod time_to_live;
pub mod transactions;
pub mod transfer;
pub mod update_table;
pub mod write;

pub use declared::{Declared, answer, ask, request, write};
pub use error::WireError;
pub use write::Context;

#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod tests;
