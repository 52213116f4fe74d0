//! `X.meta`: what is known of an item beside its attributes, a line of JSON.

use super::super::{Special, SpecialNode};
use super::Place;
use super::facts::Facts;
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::tree::{Caller, Tree};
use crate::model::TableName;

#[derive(Debug)]
struct Meta {
    place: Place,
    path: String,
}

pub fn node(place: Place) -> Node {
    let path = place.path(".meta");
    SpecialNode::node(Meta { place, path })
}

impl Special for Meta {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        self.place.parent()
    }

    fn table(&self) -> Option<&TableName> {
        Some(self.place.table())
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        Ok(self.place.stat(tree)?.modified_ms)
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(Facts::of(tree, &self.place)?.to_json().into_bytes())
    }
}
