//! The store and the data file: several processes, kills, damage, full disks, compaction.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod compact;
mod crash;
mod crash_indexes;
mod damage_matrix;
mod damaged_file;
mod faults;
mod full_disk;
mod lease;
mod lmdb;
mod power_cut;
mod processes;
#[path = "../support/mod.rs"]
mod support;
mod table_processes;
mod transaction_processes;
