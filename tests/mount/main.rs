//! The mount: files, directories and the programs that people use on them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod access;
mod basics;
mod batch;
mod coherence;
mod dead;
mod editors;
mod help;
mod hostile;
mod indexes;
mod items;
mod kept;
mod layout;
mod listing;
mod long_reads;
mod looking;
mod matrix;
mod multi_attribute_keys;
mod names;
mod nodes;
mod options;
#[cfg(feature = "remote")]
mod over_servers;
mod pairs;
mod programs;
mod proofs;
mod remedies;
#[cfg(feature = "remote")]
mod remote;
mod scratch_files;
mod service;
mod shells;
mod streams;
mod stress;
mod structure;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod top;
mod vectors;
mod view;
