//! Text in, text out: the files below `tests/golden` say what is asked and what is answered; `tests/golden/README.md` says how they are written.
//!
//! `UPDATE_GOLDEN=1 cargo test --test golden` writes the answers of today into them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod engine;
mod expressions;
mod query;
mod script;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

#[cfg(feature = "remote")]
use ddbfs::database::remote::{RemoteDatabase, RemoteOptions};

use support::query_paths::open;
#[cfg(feature = "remote")]
use support::through::client;

#[test]
fn expressions_are_parsed_and_evaluated() {
    script::check("expressions", &|| Box::new(expressions::Session::default()));
}

#[test]
fn operations_of_the_engine_answer() {
    script::check("engine", &|| {
        Box::new(engine::Session::of(|database| Arc::new(database.clone())))
    });
}

#[cfg(feature = "remote")]
#[test]
fn operations_answer_through_a_client() {
    // Values without an expression are told of in fewer words there.
    let is_shorter = |asked: &str| asked.ends_with(r#" | | ":v":1"#);
    script::check_but("engine", &is_shorter, &|| {
        Box::new(engine::Session::of(|database| Arc::new(client(database))))
    });
}

#[test]
fn query_paths_list_and_read() {
    script::check("query", &|| Box::new(query::Session(Arc::new(open()))));
}

#[cfg(feature = "remote")]
#[test]
fn query_paths_list_and_read_a_service() {
    let options = || RemoteOptions {
        is_writable: true,
        ..RemoteOptions::default()
    };
    let service = || Arc::new(client(&open()));
    // It is explained by what only a database of one's own counts.
    let is_explained = |asked: &str| asked.ends_with("/explain.json");
    script::check_but("query", &is_explained, &|| {
        Box::new(query::Session(Arc::new(RemoteDatabase::new(
            service(),
            options(),
        ))))
    });
}
