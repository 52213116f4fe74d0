//! Operations of the engine on `Tab` of the engine's tests (pk S, sk N; glob on a, loc on b), each on a database of its own with the items
//! given before.

use std::sync::Arc;

use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::check::check;
use ddbfs::model::api::*;
use ddbfs::model::{Error, Item};

use crate::script;
use crate::support::engine::{
    get, json, line, placeholders_of, put, query_request, s, scan_request, tab, table, text,
};
use crate::support::golden_file::parts;

/// The key of the item that is updated.
const KEY: &str = r#""pk":"k","sk":1"#;

/// What stands before a database.
type Front = fn(&LocalDatabase) -> Arc<dyn Database>;

pub struct Session {
    items: Vec<String>,
    front: Front,
}

/// A database, and what is asked for it.
struct Bed {
    itself: LocalDatabase,
    asked: Arc<dyn Database>,
}

impl script::Session for Session {
    fn answer(&mut self, asked: &str) -> String {
        let (word, rest) = asked.split_once(' ').unwrap_or((asked, ""));
        let rest = format!(" {rest}");
        if word == "item" {
            self.items.push(rest);
            return String::new();
        }
        let bed = self.bed();
        let answer = match word {
            "put" => put_if(&bed, &parts(&rest)),
            "delete" => delete_if(&bed, &parts(&rest)),
            "query" => queried(&bed, &parts(&rest)),
            "scan" => scanned(&bed, &parts(&rest)),
            "update" => updated(self.front, &parts(&rest)),
            "returned" => returned(self.front, &parts(&rest)),
            "units" => units(self.front, &parts(&rest)),
            _ => panic!("{word}: item, put, delete, query, scan, update, returned or units"),
        };
        assert!(check(bed.itself.engine()).unwrap().is_clean(), "{asked}");
        answer.unwrap_or_else(|error| format!("error: {}", said(&error)))
    }
}

impl Session {
    pub fn of(front: Front) -> Self {
        Self {
            items: Vec::new(),
            front,
        }
    }

    fn bed(&self) -> Bed {
        let bed = Bed::new(self.front);
        self.items
            .iter()
            .for_each(|item| drop(put(&bed.itself, "Tab", json(item)).unwrap()));
        bed
    }
}

impl Bed {
    fn new(front: Front) -> Self {
        let itself = tab();
        Self {
            asked: front(&itself),
            itself,
        }
    }
}

/// In the same words, whoever says them: a service puts these before some.
fn said(error: &Error) -> String {
    error
        .to_string()
        .trim_start_matches("1 validation error detected: ")
        .to_owned()
}

fn condition(text: &str) -> ConditionParameter {
    if text.is_empty() {
        ConditionParameter::None
    } else {
        ConditionParameter::Expression(text.to_owned())
    }
}

fn put_if(bed: &Bed, [item, text, values]: &[String; 3]) -> Result<String, Error> {
    let mut request = PutItemRequest::new(table("Tab"), json(item));
    request.condition = condition(text);
    request.placeholders = placeholders_of(values);
    bed.asked.put_item(request).map(|_| "ok".to_owned())
}

fn delete_if(bed: &Bed, [key, text, values]: &[String; 3]) -> Result<String, Error> {
    let mut request = DeleteItemRequest::new(table("Tab"), json(key));
    request.condition = condition(text);
    request.placeholders = placeholders_of(values);
    bed.asked.delete_item(request).map(|_| "ok".to_owned())
}

/// The sort keys of the items of a page, how many were looked at, and what the table is charged.
fn page(items: Option<Vec<Item>>, page: &Page) -> String {
    let items = items.unwrap();
    assert_eq!(page.count, items.len() as u64);
    let numbers: String = items
        .iter()
        .map(|item| text(item.get("sk").unwrap()) + " ")
        .collect();
    format!(
        "{numbers}of {}, {} units",
        page.scanned_count, page.consumed_capacity.table
    )
}

/// The partition `pk = k`, of the global index `a = x`.
fn queried(bed: &Bed, [source, filter, values]: &[String; 3]) -> Result<String, Error> {
    let (key, value) = if source.ends_with("glob") {
        ("a", "x")
    } else {
        ("pk", "k")
    };
    let mut request = query_request(source, &format!("{key} = :pk"), &[(":pk", s(value))]);
    let given = placeholders_of(values);
    request.placeholders.names = given.names;
    request
        .placeholders
        .values
        .get_or_insert_default()
        .extend(given.values.unwrap_or_default());
    request.filter = condition(filter);
    bed.asked
        .query(&request)
        .map(|response| page(response.items, &response.page))
}

fn scanned(bed: &Bed, [source, filter, values]: &[String; 3]) -> Result<String, Error> {
    let mut request = scan_request(source);
    request.placeholders = placeholders_of(values);
    request.filter = condition(filter);
    bed.asked
        .scan(&request)
        .map(|response| page(response.items, &response.page))
}

fn update_request(update: &str, values: &str) -> UpdateItemRequest {
    let update = if update.is_empty() {
        UpdateParameter::None
    } else {
        UpdateParameter::Expression(update.to_owned())
    };
    UpdateItemRequest::new(table("Tab"), json(KEY), update, placeholders_of(values))
}

/// A database with an item of these attributes beside its key; with no item for `-`.
fn with_item(front: Front, old: &str) -> Bed {
    let bed = Bed::new(front);
    if old != "-" {
        let attributes = if old.is_empty() {
            String::new()
        } else {
            format!(",{old}")
        };
        put(&bed.itself, "Tab", json(&format!("{KEY}{attributes}"))).unwrap();
    }
    bed
}

/// The attributes of the item beside its key; `-` when there is none.
fn now(database: &LocalDatabase) -> String {
    let Some(mut item) = get(database, "Tab", json(KEY)) else {
        return "-".to_owned();
    };
    item.0.retain(|name, _| name != "pk" && name != "sk");
    line(&item)
}

/// The item afterwards; one that is refused changes nothing.
fn updated(front: Front, [old, update, values]: &[String; 3]) -> Result<String, Error> {
    let bed = with_item(front, old);
    let before = now(&bed.itself);
    let outcome = bed.asked.update_item(update_request(update, values));
    let after = now(&bed.itself);
    assert!(check(bed.itself.engine()).unwrap().is_clean(), "{update}");
    assert!(outcome.is_ok() || before == after, "{update}");
    outcome.map(|_| after)
}

/// What each kind of return values returns; none returns nothing.
fn returned(front: Front, [old, update, values]: &[String; 3]) -> Result<String, Error> {
    use UpdateReturnValues::{AllNew, AllOld, None, UpdatedNew, UpdatedOld};
    let mut lines = Vec::new();
    for return_values in [AllOld, AllNew, UpdatedOld, UpdatedNew, None] {
        let request = UpdateItemRequest {
            return_values,
            ..update_request(update, values)
        };
        let attributes = with_item(front, old).asked.update_item(request)?.attributes;
        lines.push(format!(
            "{return_values:?} {}",
            attributes.map_or("-".to_owned(), |item| line(&item))
        ));
    }
    Ok(lines.join("\n"))
}

fn units(front: Front, [old, update, values]: &[String; 3]) -> Result<String, Error> {
    let consumed = with_item(front, old)
        .asked
        .update_item(update_request(update, values))?
        .consumed_capacity;
    let indexes = consumed
        .global_indexes
        .iter()
        .chain(&consumed.local_indexes)
        .map(|(name, units)| format!(", {name} {units}"));
    Ok(format!(
        "table {}{}",
        consumed.table,
        indexes.collect::<String>()
    ))
}
