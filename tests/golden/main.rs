//! Text in, text out: the files below `tests/golden` say what is asked and what is answered; `tests/golden/README.md` says how they are written.
//!
//! `UPDATE_GOLDEN=1 cargo test --test golden` writes the answers of today into them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod engine;
mod expressions;
mod query;
mod script;
#[path = "../support/mod.rs"]
mod support;

#[test]
fn expressions_are_parsed_and_evaluated() {
    script::check("expressions", &|| Box::new(expressions::Session::default()));
}

#[test]
fn operations_of_the_engine_answer() {
    script::check("engine", &|| Box::new(engine::Session::default()));
}

#[test]
fn query_paths_list_and_read() {
    script::check("query", &|| Box::new(query::Session::default()));
}
