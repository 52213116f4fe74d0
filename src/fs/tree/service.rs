//! `/.ddb/`: service files, for lookup only; what is below it is listed.

use super::{Caller, Tree, listed};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::directory_stream::Listed;
use crate::fs::journal::session_of;
use crate::fs::node::{Kind, Node, Service};

pub fn resolve(directory: Service, name: &str) -> Result<Node, FsError> {
    let service = match (directory, name) {
        (Service::Root, "errors") => Service::Errors,
        (Service::Root, "errors.ndjson") => Service::ErrorLog,
        (Service::Root, "warnings.ndjson") => Service::Warnings,
        (Service::Root, "version") => Service::Version,
        (Service::Errors, "last") => Service::LastError,
        _ => return Err(FsError::NotFound),
    };
    Ok(Node::Service(service))
}

pub fn list(directory: Service) -> Vec<Listed> {
    let children: &[(&str, Service)] = match directory {
        Service::Root => &[
            ("errors", Service::Errors),
            ("errors.ndjson", Service::ErrorLog),
            ("version", Service::Version),
            ("warnings.ndjson", Service::Warnings),
        ],
        Service::Errors => &[("last", Service::LastError)],
        Service::LastError | Service::ErrorLog | Service::Warnings | Service::Version => &[],
    };
    children.iter().map(|(name, service)| listed(&Node::Service(*service), name)).collect()
}

pub fn path(service: Service) -> &'static str {
    match service {
        Service::Root => ".ddb",
        Service::Errors => ".ddb/errors",
        Service::LastError => ".ddb/errors/last",
        Service::ErrorLog => ".ddb/errors.ndjson",
        Service::Warnings => ".ddb/warnings.ndjson",
        Service::Version => ".ddb/version",
    }
}

pub fn attr(tree: &Tree, service: Service, caller: Caller) -> Attr {
    let node = Node::Service(service);
    match node.kind() {
        Kind::Directory => Attr::directory(node.ino(), tree.started_ms),
        Kind::File | Kind::Symlink => {
            let size = render(tree, service, caller).len() as u64;
            Attr::read_only(node.ino(), size, tree.started_ms)
        }
    }
}

pub fn text(tree: &Tree, service: Service, caller: Caller) -> Result<Vec<u8>, FsError> {
    match service {
        Service::Root | Service::Errors => Err(FsError::IsDirectory),
        Service::LastError | Service::ErrorLog | Service::Warnings | Service::Version => {
            Ok(render(tree, service, caller).into_bytes())
        }
    }
}

fn render(tree: &Tree, service: Service, caller: Caller) -> String {
    match service {
        Service::Root | Service::Errors => String::new(),
        Service::LastError => tree.journal.last(session_of(caller.pid)),
        Service::ErrorLog => tree.journal.all(),
        Service::Warnings => tree.journal.warnings(),
        Service::Version => concat!("ddbfs ", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
    }
}
