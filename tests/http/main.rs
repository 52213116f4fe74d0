//! The HTTP front end, its vectors and clients, and that both front ends give one answer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod clients;
mod coherence;
mod front_ends;
mod one_answer;
mod server;
mod slow_commits;
#[path = "../support/mod.rs"]
mod support;
mod vectors;
mod wire;
