//! What a client writes a server reads, and the other way.

mod items;
mod tables;

use std::fmt::Debug;

use super::WireError;
use crate::codec::json::document::{Document, Json};
use crate::model::{IndexName, TableName};

pub(super) fn document(write: impl FnOnce(&mut Vec<u8>)) -> Document {
    let mut out = Vec::new();
    write(&mut out);
    Document::parse(out).unwrap()
}

#[track_caller]
pub(super) fn asked<R: PartialEq + Debug>(request: &R, write: fn(&R, &mut Vec<u8>), read: fn(Json<'_>) -> Result<R, WireError>) {
    assert_eq!(&read(document(|out| write(request, out)).root()).unwrap(), request);
}

#[track_caller]
pub(super) fn answered<R: PartialEq + Debug, E: Debug>(
    response: &R,
    write: impl FnOnce(&R, &mut Vec<u8>),
    read: impl FnOnce(Json<'_>) -> Result<R, E>,
) {
    assert_eq!(&read(document(|out| write(response, out)).root()).unwrap(), response);
}

pub(super) fn table(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

pub(super) fn index_name() -> IndexName {
    IndexName::new("by-day").unwrap()
}
