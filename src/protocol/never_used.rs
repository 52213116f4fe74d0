//! Features of which there is nothing here; the names are those of [`crate::codec::wire::never_used`].

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::Json;
use crate::codec::wire::never_used;

const COUNT: usize = never_used::OPERATIONS.len();

pub const OPERATIONS: &[Operation] = &NAMED;

const NAMED: [Operation; COUNT] = {
    let mut named = [Operation::read("", answer); COUNT];
    let mut place = 0;
    // A constant has no iterators.
    while place < COUNT {
        named[place].name = never_used::OPERATIONS[place];
        place += 1;
    }
    named
};

fn answer(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let admin = context.administration()?;
    let request = never_used::request(context.operation, json)?;
    admin.never_used(&request)?;
    Ok(body(&never_used::to_json(&request)))
}
