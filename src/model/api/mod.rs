//! Typed requests and responses, one file for each family of operations, named as in the DynamoDB
//! API. `declare` describes the form of the declarations.
//!
//! The HTTP front end, the filesystem and remote clients all use these types. Shape checks (types,
//! enums, ranges, names) take place where a request is built from a wire form, see `codec::wire`; a
//! request of these types is well formed.

pub mod backup;
pub mod common;
pub(crate) mod declare;
pub mod items;
pub mod operation;
pub mod pages;
pub mod resource;
pub mod statements;
pub mod streams;
pub mod table_control;
pub mod tables;
pub mod transfer;

pub use common::*;
pub use items::*;
pub use operation::{
    AfterCommit, Call, CallContext, CommitEvent, CommitInline, CommitObserver, Completion,
    EndedSource, Gathering, OnWriteEnd, VerbatimRequest, WaitPolicy, WriteListener, WrittenItem,
};
pub use pages::*;
pub use statements::*;
pub use streams::*;
pub use table_control::TableControl;
pub use tables::*;

pub use super::schema::StreamViewType;
