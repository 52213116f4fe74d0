//! A service elsewhere: its transport through bad networks, credentials, and what may be spent of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::cast_possible_truncation)]

#[path = "../support/mod.rs"]
mod support;

mod budget;
mod credentials;
mod transport;
