//! Tests of `codec::wire` by round trips: a server reads the requests that a client writes, and a
//! client reads a server's responses.

mod items;
mod malformed;
mod resource;
mod tables;

use std::fmt::Debug;

use super::{Context, Declared, decode_response, encode, encode_request, request};
use crate::codec::json::document::{Document, Json};
use crate::model::api::ReturnConsumedCapacity;
use crate::model::{IndexName, TableName};

pub(super) fn document(write: impl FnOnce(&mut Vec<u8>)) -> Document {
    let mut out = Vec::new();
    write(&mut out);
    Document::parse(out).unwrap()
}

#[track_caller]
pub(super) fn check_request<R: Declared + PartialEq + Debug>(made: &R) {
    assert_eq!(
        &request::<R>(document(|out| encode_request(made, out)).root()).unwrap(),
        made
    );
}

/// Checks responses about the table Orders.
#[track_caller]
pub(super) fn check_response<R: Declared + PartialEq + Debug>(response: &R) {
    let context = Context::of_table("Orders", ReturnConsumedCapacity::Indexes);
    check_response_with(
        response,
        |it, out| encode(it, &context, out),
        decode_response,
    );
}

#[track_caller]
pub(super) fn check_response_with<R: PartialEq + Debug, E: Debug>(
    response: &R,
    write: impl FnOnce(&R, &mut Vec<u8>),
    read: impl FnOnce(Json<'_>) -> Result<R, E>,
) {
    assert_eq!(
        &read(document(|out| write(response, out)).root()).unwrap(),
        response
    );
}

pub(super) fn table(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

pub(super) fn index_name() -> IndexName {
    IndexName::new("by-day").unwrap()
}
