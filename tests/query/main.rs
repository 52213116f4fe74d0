//! Query paths and what they list and read.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod matrix;
mod paths;
mod result_files;
mod results;
mod saved_queries;
#[path = "../support/mod.rs"]
mod support;
