//! The engine: its operations on a store in memory, features, models, rules of the requirements.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod access;
mod advice;
mod advice_corpus;
mod advice_faults;
mod batches;
mod browse;
mod cached;
mod check;
#[cfg(feature = "remote")]
mod client;
mod conditions;
mod copies;
mod counted;
mod damage;
mod fuzz_seeds;
mod hot_partitions;
mod index_life;
mod index_life_rules;
mod index_model;
mod index_rules;
mod items;
mod legacy;
mod model;
mod never_used;
mod pages;
mod partitions;
mod patterns;
mod reads;
mod recovery;
#[cfg(feature = "remote")]
mod remote;
mod resources;
mod rules;
mod samples;
mod shapes;
mod statements;
mod statements_model;
mod stored_bytes;
mod stored_forms;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod throttling;
mod time_to_live;
mod transactions;
mod transfer;
mod update_table;
mod updates;
mod vectors;
mod what_if;
