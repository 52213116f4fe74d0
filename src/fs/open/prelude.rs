//! The names that nearly every file of `fs/source`, `fs/special`, `fs/tree` and `fs/view` uses:
//! `use crate::fs::open::prelude::*`.

pub(in crate::fs) use super::found::listed;
pub use super::{
    Bytes, OpenFlags, Outcome, Reply, found::Listed, handle::Handle, host::Host, node_ops::NodeOps,
    open_text::OpenText,
};
pub use crate::fs::{
    mount::Mount,
    node::{
        EntryNode, Kind, Node,
        attr::Attr,
        base,
        special::{Special, SpecialNode},
    },
    path::*,
    prelude::*,
};
