//! The command line, and what README.md says of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod commands;
mod diff;
mod imports;
mod load;
mod one_liners;
mod packages;
mod readme_tour;
#[path = "../support/mod.rs"]
mod support;
mod violations;
mod what_if;
