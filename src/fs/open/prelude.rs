//! What nearly every file of `fs/source`, `fs/special`, `fs/tree` and `fs/view` names: `use crate::fs::open::prelude::*`.

pub use super::computed::Producer;
pub use super::directory::{FixedLister, Lister};
pub(in crate::fs) use super::found::listed;
pub use super::found::{Cursor, Entry, Found, Listed, Place};
pub use super::handle::Handle;
pub use super::host::{Host, Work, noted, on_behalf_of};
pub use super::names::Names;
pub use super::room::{Room, open_text, parked, room};
pub use super::special::OpenSpecial;
pub use super::text::{Execute, OpenText, run, warn};
pub use super::{Bytes, OpenFlags, Outcome, Reply};
pub use crate::fs::mount::text::{Text, pretty};
pub use crate::fs::mount::{Mount, last};
pub use crate::fs::node::attr::Attr;
pub use crate::fs::node::special::{Effort, Special, SpecialNode};
pub use crate::fs::node::{AliasFolder, AliasNode, EntryNode, Kind, Node, base};
pub use crate::fs::path::*;
pub use crate::fs::prelude::*;
pub use crate::fs::query::{QueryKind, QueryPath, Wanted};
pub use crate::fs::write::{Commit, Failure, FileId, ItemTarget, ItemWriter, KeyPart, Opener, Target, TargetKey};
