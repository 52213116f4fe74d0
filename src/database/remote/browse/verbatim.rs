//! Requests in their caller's words. The service judges them; what they write is known here as well: nothing where nothing may be
//! written, and seen at once.

use super::RemoteDatabase;
use super::hand_on::Changed;
use super::writes::Target;
use crate::codec::json::document::{Document, Json};
use crate::codec::json::edit;
use crate::codec::wire::{self, answer};
use crate::database::Done;
use crate::database::item_writes::item_writes;
use crate::database::prelude::*;
use crate::database::remote::service::{is_read, statements};
use crate::model::api::{Call, VerbatimRequest};

impl RemoteDatabase {
    pub(super) fn pass(&self, request: VerbatimRequest, done: Done<Vec<u8>>) {
        if is_read(request.operation) {
            return self.service.start(Call::Verbatim(request, done));
        }
        let document = match Document::parse(request.body.clone()) {
            Ok(document) => document,
            Err(error) => return done.tell(Err(answer::unreadable(error))),
        };
        let statements = statements(document.root());
        if !statements.is_empty() {
            // Refused where they write and nothing may be written.
            let changed = self.statements(statements.into_iter()).map(Changed::Tables);
            return self.end_with(Call::Verbatim(request, done), changed);
        }
        if let Err(error) = self.may_write() {
            return done.tell(Err(error));
        }
        let written = as_write(request.operation, document.root()).map(|call| self.targets(item_writes(&call)));
        match written {
            Some(Ok(targets)) => self.pass_writes(request, targets, done),
            // Of tables, or of what nobody here knows.
            _ => self.end_with(Call::Verbatim(request, done), Ok(Changed::Anything)),
        }
    }

    fn pass_writes(&self, mut request: VerbatimRequest, targets: Vec<Target>, done: Done<Vec<u8>>) {
        self.write(done, Ok(targets), |mut writes, done| {
            // What became of an updated item costs nothing to know.
            let is_update = request.operation == "UpdateItem";
            let asking = if is_update { edit::asking(&request.body, "ReturnValues", "ALL_NEW") } else { None };
            let is_asking = asking.is_some();
            request.body = asking.unwrap_or(request.body);
            let ended = done.after(move |outcome: Result<Vec<u8>, Error>| {
                let told = outcome.as_ref().ok().and_then(|answer| Document::parse(answer.clone()).ok());
                let member = |name: &str| told.as_ref()?.root().get(name);
                if let Some(item) = member("Attributes").filter(|_| is_asking).and_then(|item| answer::item_of(item).ok()) {
                    writes.came_to(Some(item));
                }
                if member("UnprocessedItems").and_then(Json::as_object).is_some_and(|left| !left.is_empty()) {
                    writes.leave(|_, _| true);
                }
                writes.end(outcome.is_ok());
                outcome.map(|answer| if is_asking { edit::without(&answer, "Attributes") } else { answer })
            });
            self.service.start(Call::Verbatim(request, ended));
        });
    }
}

/// The request as it is known here, if it writes items.
fn as_write(operation: &str, json: Json<'_>) -> Option<Call> {
    macro_rules! read {
        ($($name:ident),*) => {
            match operation {
                $(stringify!($name) => Call::$name(wire::request(json).ok()?, Done::of(|_| ())),)*
                _ => return None,
            }
        };
    }
    Some(read!(PutItem, DeleteItem, UpdateItem, BatchWriteItem, TransactWriteItems))
}
