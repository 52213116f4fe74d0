//! `/.ddb/`: service files, for lookup only; what is below it is listed, save what blocks or has parameters.

use super::api;
use super::derived::OF_SERVICE;
use super::room::Room;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::special::{ApiFile, Feature, ServiceDirectory, Special, SpecialNode};
use crate::fs::node::{Node, ROOT_INO};
use crate::fs::open::directory::{FixedLister, Lister, listed};
use crate::fs::path::{HELP_NAME, SERVICE_NAME};

const ACCESS_NAME: &str = "accesslog";

/// Makes what a directory is.
type Make = fn() -> Feature;

/// Directories in `.ddb/`.
const DIRECTORIES: [(&str, Make); 5] = [
    ("api", || Feature::Api(ApiFile::Directory)),
    ("errors", || Feature::Service(ServiceDirectory::Errors)),
    (HELP_NAME, || Feature::HelpTopics),
    ("last", || Feature::Service(ServiceDirectory::Last)),
    ("scratch", || Feature::Scratch),
];

/// `.ddb/`
#[must_use]
pub fn node() -> Node {
    Special::directory(SERVICE_NAME.to_owned(), None, ROOT_INO, Feature::Service(ServiceDirectory::Root)).into()
}

impl Room for ServiceDirectory {
    fn resolve(&self, at: &SpecialNode, _mount: &Mount, name: &str) -> Result<Node, FsError> {
        if *self == Self::Root && name == ACCESS_NAME {
            return Ok(at.child(name, Feature::AccessLog).into());
        }
        self.names(at).into_iter().find(|(known, _)| *known == name).map(|(_, node)| node).ok_or(FsError::NotFound)
    }

    fn lister(&self, at: &SpecialNode, _mount: &Mount) -> Result<Box<dyn Lister>, FsError> {
        Ok(Box::new(FixedLister::new(self.names(at).iter().map(|(name, node)| listed(node, name)).collect())))
    }
}

impl ServiceDirectory {
    /// What it lists, by name.
    fn names(self, at: &Special) -> Vec<(&'static str, Node)> {
        let name_of =
            |path: &'static str| path.strip_prefix(at.path.as_str())?.strip_prefix('/').filter(|name| !name.contains('/'));
        let files = OF_SERVICE.iter().filter_map(|file| {
            let name = name_of(file.name)?;
            Some((name, file.node(at.child(name, file.feature()))))
        });
        let mut names: Vec<(&str, Node)> = files.collect();
        if self == Self::Root {
            names.push((api::TRANSACT_NAME, api::transact_node(at)));
            names.extend(DIRECTORIES.iter().map(|(name, feature)| (*name, at.child_directory(name, feature()).into())));
        }
        names.sort_unstable_by_key(|(name, _)| *name);
        names
    }
}
