//! Requests in their caller's words. The service judges them; what they write is known here as well: nothing where nothing may be
//! written, and seen at once.

use super::RemoteDatabase;
use super::writes::{Effect, Target};
use crate::codec::json::document::{Document, Json};
use crate::codec::json::edit;
use crate::codec::wire::answer;
use crate::database::Verbatim;
use crate::database::remote::service::is_read;
use crate::model::{Error, Item, arn};

const NO_SERVICE: Error = Error::Unavailable("this service is not asked in its callers' own words");

impl Verbatim for RemoteDatabase {
    fn pass(&self, operation: &'static str, body: &[u8]) -> Result<Vec<u8>, Error> {
        let service = self.service.verbatim().ok_or(NO_SERVICE)?;
        if is_read(operation) {
            return service.pass(operation, body);
        }
        let document = Document::parse(body.to_vec()).map_err(answer::unreadable)?;
        let statements = statements(document.root());
        if !statements.is_empty() {
            // Refused where they write and nothing may be written.
            let tables = self.statements(statements.into_iter())?;
            let outcome = service.pass(operation, body);
            tables.iter().for_each(|table| self.pages.forget_table(table));
            self.commits.add();
            return outcome;
        }
        self.may_write()?;
        match self.written(operation, document.root()) {
            Some(targets) => self.pass_writes(operation, body, targets),
            // Of tables, or of what nobody here knows.
            None => {
                let outcome = service.pass(operation, body);
                self.pages.forget_all();
                self.changed(outcome)
            }
        }
    }
}

impl RemoteDatabase {
    fn pass_writes(&self, operation: &'static str, body: &[u8], targets: Vec<Target>) -> Result<Vec<u8>, Error> {
        let service = self.service.verbatim().ok_or(NO_SERVICE)?;
        // What became of an updated item costs nothing to know.
        let asking = if operation == "UpdateItem" { edit::asking(body, "ReturnValues", "ALL_NEW") } else { None };
        let mut outcome = Err(NO_SERVICE);
        self.write(targets, |mut writes| {
            outcome = service.pass(operation, asking.as_deref().unwrap_or(body));
            let told = outcome.as_ref().ok().and_then(|answer| Document::parse(answer.clone()).ok());
            let member = |name: &str| told.as_ref()?.root().get(name);
            if let Some(item) = member("Attributes").filter(|_| asking.is_some()).and_then(|item| answer::item_of(item).ok()) {
                writes.came_to(Some(item));
            }
            if member("UnprocessedItems").and_then(Json::as_object).is_some_and(|left| !left.is_empty()) {
                writes.leave(|_, _| true);
            }
            writes.end(outcome.is_ok());
        });
        outcome.map(|answer| if asking.is_some() { edit::without(&answer, "Attributes") } else { answer })
    }

    /// The items that a request names, with what becomes of each if it succeeds; `None` where it writes no items.
    fn written(&self, operation: &str, json: Json<'_>) -> Option<Vec<Target>> {
        let named = |of: Json<'_>, member: &str, effect: fn(Item) -> Effect| {
            self.named(of.get("TableName")?.as_str()?, of.get(member)?, effect)
        };
        let put = |of: Json<'_>| named(of, "Item", Effect::Put);
        let delete = |of: Json<'_>| named(of, "Key", |_| Effect::Delete);
        let update = |of: Json<'_>| named(of, "Key", |_| Effect::Update);
        let of_action = |action: Json<'_>| {
            let (puts, deletes, updates) = (action.get("Put"), action.get("Delete"), action.get("Update"));
            puts.and_then(put).or_else(|| deletes.and_then(delete)).or_else(|| updates.and_then(update))
        };
        let of_write = |table: &str, write: Json<'_>| match (write.get("PutRequest"), write.get("DeleteRequest")) {
            (Some(put), _) => self.named(table, put.get("Item")?, Effect::Put),
            (None, Some(delete)) => self.named(table, delete.get("Key")?, |_| Effect::Delete),
            (None, None) => None,
        };
        Some(match operation {
            "PutItem" => put(json).into_iter().collect(),
            "DeleteItem" => delete(json).into_iter().collect(),
            "UpdateItem" => update(json).into_iter().collect(),
            "TransactWriteItems" => list(json, "TransactItems").filter_map(of_action).collect(),
            "BatchWriteItem" => {
                let tables = json.get("RequestItems").and_then(Json::as_object)?;
                let of_table = |(table, writes): (_, Json<'_>)| {
                    writes.as_list().unwrap_or_default().filter_map(move |write| of_write(table, write)).collect::<Vec<_>>()
                };
                tables.iter().flat_map(of_table).collect()
            }
            _ => return None,
        })
    }

    fn named(&self, table: &str, item: Json<'_>, effect: fn(Item) -> Effect) -> Option<Target> {
        let table = self.table_of(&arn::table_named(table).ok()?).ok()?;
        let item = answer::item_of(item).ok()?;
        Self::target(&table, &item, effect(item.clone()))
    }
}

fn list<'j>(json: Json<'j>, member: &str) -> impl Iterator<Item = Json<'j>> {
    json.get(member).and_then(Json::as_list).unwrap_or_default()
}

/// The statements of PartiQL that a request has.
fn statements(json: Json<'_>) -> Vec<&str> {
    fn of(json: Json<'_>) -> Option<&str> {
        json.get("Statement").and_then(Json::as_str)
    }
    let many = list(json, "Statements").chain(list(json, "TransactStatements"));
    std::iter::once(json).chain(many).filter_map(of).collect()
}
