//! What nearly every file of `fs` names, of std, of the layers below, and of what is below all of `fs`: `use crate::fs::prelude::*`.

pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
pub use std::ops::ControlFlow;
pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub use std::sync::{Arc, OnceLock, Weak};
pub use std::time::{Duration, Instant};

pub use parking_lot::Mutex;
pub use serde_json::{Map, Value, json};

pub use super::error::FsError;
pub use super::process::{Caller, process_of, same_process, session_of};
pub use super::recent::{Recent, Weighed};
pub use super::seldom::Seldom;
pub(in crate::fs) use super::{process::has_signal, time::now_ms};
pub use crate::codec::digest::{Digest, digest, hex};
pub use crate::codec::json::document::Document;
pub use crate::codec::key::partition_digest;
pub use crate::codec::row::Row;
pub use crate::codec::{calendar, dynamodb_json, file_name, key, plain_json, shown, wire};
pub(crate) use crate::database::wait;
pub use crate::database::{Bill, Browse, Entries, EntryKey, EntryStat, PartitionKey, Position, Rows, Source, TextForm};
pub use crate::expr::SortRange;
pub use crate::expr::read_request::ReadRequest;
pub use crate::model::api::parked::{ParkedChange, ParkedPlace};
pub use crate::model::api::saved_query::{SavedForm, SavedQueryChange};
pub use crate::model::api::{
    CallContext, ConditionParameter, CreateTableRequest, DeleteItemRequest, DeleteItemResponse, DeleteTableRequest,
    DescribeTimeToLiveRequest, Done, Page, Placeholders, Precondition, PutItemRequest, ReturnConsumedCapacity, Segment,
    UpdateItemRequest, UpdateTableRequest, Version, WaitPolicy, WriteListener,
};
pub use crate::model::error::{StoreError, ValueError};
pub use crate::model::schema::{KeyAttribute, KeyAttributeType, KeyType};
pub use crate::model::{
    AttributeType, AttributeValue, DocumentPath, Error, IndexKind, IndexName, IndexSchema, Item, Key, KeySchema, Number,
    PathElement, TableName, TableSchema, Word,
};
