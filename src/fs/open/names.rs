//! A directory whose names are fixed, as a table.

use super::found::{Listed, listed};
use crate::fs::mount::Mount;
use crate::fs::node::Node;
use crate::fs::prelude::*;

/// Makes what a name means in a directory that is `T`.
pub type Make<T> = fn(&Mount, &T) -> Result<Node, FsError>;

/// Each name, whether it is listed, and what it means.
#[derive(Debug)]
pub struct Names<T: 'static>(pub &'static [(&'static str, bool, Make<T>)]);

impl<T> Names<T> {
    /// All of them, listed or not.
    pub fn all(&self) -> impl Iterator<Item = &'static str> + use<T> {
        self.0.iter().map(|(name, ..)| *name)
    }

    /// What a name means in that directory.
    ///
    /// # Errors
    /// `NotFound`, or of what it means.
    pub fn resolve(&self, mount: &Mount, directory: &T, name: &str) -> Result<Node, FsError> {
        let (_, _, make) = self.0.iter().find(|(known, ..)| *known == name).ok_or(FsError::NotFound)?;
        make(mount, directory)
    }

    /// What that directory lists: what can be there.
    #[must_use]
    pub fn list(&self, mount: &Mount, directory: &T) -> Vec<Listed> {
        let shown = self.0.iter().filter(|(_, is_listed, _)| *is_listed);
        shown.filter_map(|(name, _, make)| Some(listed(&make(mount, directory).ok()?, name))).collect()
    }
}
