//! What a process of the product may cost in memory, one test at a time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod burst;
mod http_costs;
mod mount_memory;
#[path = "../support/mod.rs"]
mod support;
