//! Typed requests and responses, a file for each family of operations, named as in the DynamoDB API. `declare` says how they are declared.
//!
//! The HTTP front end, the filesystem and any remote client all speak these. Shape checks (types, enums, ranges, names)
//! are done where a request is built from a wire form, see `codec::wire`; a request of these types is well formed.

pub mod absence;
pub mod backup;
pub mod batches;
pub mod commit;
pub mod common;
pub mod create_table;
pub(crate) mod declare;
pub mod insights;
pub mod items;
pub mod legacy;
pub mod never_used;
pub mod operation;
pub mod pages;
pub mod parked;
pub mod resource;
pub mod saved_query;
pub mod statements;
pub mod streams;
pub mod table_control;
pub mod tables;
pub mod time_to_live;
pub mod transactions;
pub mod transfer;
pub mod update_table;
pub mod verbatim;

pub use batches::*;
pub use commit::*;
pub use common::*;
pub use create_table::*;
pub use items::*;
pub use operation::Call;
pub use pages::*;
pub use statements::*;
pub use streams::*;
pub use table_control::TableControl;
pub use tables::*;
pub use time_to_live::*;
pub use transactions::*;
pub use update_table::*;
pub use verbatim::VerbatimRequest;

pub use super::settings::StreamViewType;
