//! What nearly every file of `fs/source`, `fs/special` and `fs/tree` names: `use crate::fs::open::prelude::*`.

pub use std::sync::Arc;

pub use super::computed::Producer;
pub use super::directory::{FixedLister, Lister};
pub(in crate::fs) use super::found::listed;
pub use super::found::{Cursor, Entry, Found, Listed, Place};
pub use super::handle::Handle;
pub use super::host::{Host, noted, on_behalf_of};
pub use super::names::Names;
pub use super::room::{Room, open_text, room};
pub use super::special::OpenSpecial;
pub use super::text::{Execute, OpenText, warn};
pub use super::{Bytes, OpenFlags, Outcome, Reply};
pub use crate::database::{EntryKey, EntryStat, PartitionKey, Source, TextForm};
pub use crate::fs::FsError;
pub use crate::fs::mount::Mount;
pub use crate::fs::mount::text::pretty;
pub use crate::fs::node::attr::Attr;
pub use crate::fs::node::special::{Effort, Special, SpecialNode};
pub use crate::fs::node::{EntryNode, Kind, Node, base};
pub use crate::fs::process::{Caller, session_of};
pub(in crate::fs) use crate::fs::time::now_ms;
pub use crate::model::api::Version;
pub use crate::model::{AttributeValue, Error, IndexKind, Item, Key, TableName, TableSchema};
