//! The command line, and what README.md says of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commands;
mod one_liners;
mod packages;
mod readme_tour;
#[path = "../support/mod.rs"]
mod support;
mod violations;
