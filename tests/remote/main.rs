//! A service elsewhere: its transport through bad networks, credentials, what may be spent of it, and tables copied
//! from it and to it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation
)]

#[path = "../support/mod.rs"]
mod support;

mod account;
mod answers;
mod budget;
mod cloud;
mod copies;
mod credentials;
mod limits;
mod mount;
mod programs;
mod sync;
mod transport;
mod vectors;
mod writes;
