//! The names that nearly every file of `fs/source`, `fs/special`, `fs/tree` and `fs/view` uses:
//! `use crate::fs::open::prelude::*`.

pub(in crate::fs) use super::dirent::to_dirent;
pub use super::{
    OpenFlags, ReadBytes, Reply, VersionReply,
    dirent::OwnedDirent,
    handle::Handle,
    host::Host,
    node_ops::{At, HostAt, NodeOps},
    open_text::OpenText,
};
pub use crate::fs::{
    mount::Mount,
    node::{
        EntryNode, Node, NodeKind,
        attr::Attr,
        special::{Special, SpecialNode},
    },
    path::*,
    prelude::*,
};
