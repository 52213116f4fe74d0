//! `/.ddb/`: service files, for lookup only; what is below it is listed, save what blocks or has parameters.

use super::{Special, SpecialNode, about, api, calls, heat, help, last, metrics, mount_control, scratch};
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::journal::session_of;
use crate::fs::node::{Kind, Node};
use crate::fs::tree::{Caller, Tree, listed};

/// The name in the root.
pub const NAME: &str = ".ddb";

/// A name and what it makes.
type Child = (&'static str, fn() -> Node);

/// A directory of service files.
#[derive(Debug)]
struct Directory {
    path: &'static str,
    parent: fn() -> Node,
    /// Names and what they make.
    listed: &'static [Child],
    /// The same, for lookup only.
    hidden: &'static [Child],
}

impl Special for Directory {
    fn path(&self) -> &str {
        self.path
    }

    fn parent(&self) -> Node {
        (self.parent)()
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn resolve(&self, _tree: &Tree, name: &str) -> Result<Node, FsError> {
        let mut children = self.listed.iter().chain(self.hidden);
        children.find(|(known, _)| *known == name).map(|(_, make)| make()).ok_or(FsError::NotFound)
    }

    fn lister(&self, _tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        Ok(Box::new(FixedLister::new(self.listed.iter().map(|(name, make)| listed(&make(), name)).collect())))
    }
}

/// A file that is a function of the mount's state and the caller.
#[derive(Debug)]
struct File {
    path: &'static str,
    parent: fn() -> Node,
    render: fn(&Tree, Caller) -> String,
}

impl Special for File {
    fn path(&self) -> &str {
        self.path
    }

    fn parent(&self) -> Node {
        (self.parent)()
    }

    fn text(&self, tree: &Tree, caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok((self.render)(tree, caller).into_bytes())
    }
}

/// `.ddb/`
#[must_use]
pub fn node() -> Node {
    SpecialNode::node(Directory {
        path: NAME,
        parent: || Node::Root,
        listed: &[
            (api::NAME, api::node),
            (about::CONFIG_NAME, about::config_node),
            (mount_control::NAME, mount_control::node),
            ("errors", errors),
            ("errors.ndjson", error_log),
            (help::NAME, help::topics_node),
            (last::NAME, last::node),
            (calls::SLOW_NAME, calls::slow_node),
            (scratch::NAME, scratch::node),
            (scratch::LINES_NAME, scratch::lines_node),
            (about::STATS_NAME, about::stats_node),
            (metrics::PROMETHEUS_NAME, metrics::prometheus_node),
            (api::TRANSACT_NAME, api::transact_node),
            ("version", version),
            ("warnings.ndjson", warnings),
        ],
        hidden: &[(calls::ACCESS_NAME, calls::access_node)],
    })
}

fn errors() -> Node {
    SpecialNode::node(Directory { path: ".ddb/errors", parent: node, listed: &[("last", last_error)], hidden: &[] })
}

/// Of the reader's own session.
fn last_error() -> Node {
    let render = |tree: &Tree, caller: Caller| tree.last_failure(session_of(caller.pid));
    SpecialNode::node(File { path: ".ddb/errors/last", parent: errors, render })
}

fn error_log() -> Node {
    SpecialNode::node(File { path: ".ddb/errors.ndjson", parent: node, render: |tree, _| tree.journal.all() })
}

fn warnings() -> Node {
    SpecialNode::node(File {
        path: ".ddb/warnings.ndjson",
        parent: node,
        render: |tree, _| tree.journal.warnings() + &scratch::warnings(tree) + &heat::warnings(tree),
    })
}

fn version() -> Node {
    let render = |_: &Tree, _: Caller| concat!("ddbfs ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    SpecialNode::node(File { path: ".ddb/version", parent: node, render })
}
