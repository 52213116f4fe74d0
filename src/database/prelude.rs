//! Names that many files of this folder use: `use crate::database::prelude::*`.

pub use std::sync::Arc;
pub use std::time::Duration;

pub use parking_lot::Mutex;

pub use super::{Database, SourceName};
pub use crate::model::api::Page;
pub use crate::model::{AttributeValue, Error, Item, TableName};
