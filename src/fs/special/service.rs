//! `/.ddb/`: service files, for lookup only; what is below it is listed, save what blocks or has parameters.

use super::api;
use super::derived::OF_SERVICE;
use super::room::Room;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::special::{ApiFile, Feature, ServiceDirectory, Special, SpecialNode};
use crate::fs::node::{Node, ROOT_INO};
use crate::fs::open::directory::{FixedLister, Lister};
use crate::fs::open::found::listed;
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
        let path = format!("{}/{name}", at.path);
        match (OF_SERVICE.iter().find(|file| file.name == path), self) {
            (Some(file), _) => Ok(file.node(at.child(name, file.feature()))),
            (None, Self::Root) => in_root(at, name),
            (None, Self::Errors | Self::Last) => Err(FsError::NotFound),
        }
    }

    fn lister(&self, at: &SpecialNode, mount: &Mount) -> Result<Box<dyn Lister>, FsError> {
        let mut names: Vec<&str> = OF_SERVICE.iter().filter_map(|file| name_in(at, file.name)).collect();
        if *self == Self::Root {
            names.extend(DIRECTORIES.iter().map(|(name, _)| *name).chain([api::TRANSACT_NAME]));
        }
        // Three tables, one listing: by name, as `ls` would show it.
        names.sort_unstable();
        let found = names.into_iter().map(|name| Ok(listed(&self.resolve(at, mount, name)?, name)));
        Ok(Box::new(FixedLister::new(found.collect::<Result<_, FsError>>()?)))
    }
}

/// The name of what has this path, if it is in that directory.
fn name_in<'p>(directory: &Special, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(directory.path.as_str())?.strip_prefix('/').filter(|name| !name.contains('/'))
}

/// What is in `.ddb/` and no row of [`OF_SERVICE`].
fn in_root(at: &Special, name: &str) -> Result<Node, FsError> {
    match DIRECTORIES.iter().find(|(known, _)| *known == name) {
        Some((_, feature)) => Ok(at.child_directory(name, feature()).into()),
        None if name == api::TRANSACT_NAME => Ok(api::transact_node(at)),
        None if name == ACCESS_NAME => Ok(at.child(name, Feature::AccessLog).into()),
        None => Err(FsError::NotFound),
    }
}
