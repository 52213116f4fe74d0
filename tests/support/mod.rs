//! Shared parts of the tests; each binary uses some of them.

#![allow(dead_code)]

pub mod control;
pub mod daemon;
#[cfg(feature = "remote")]
pub mod differences;
#[cfg_attr(not(feature = "remote"), path = "nowhere.rs")]
pub mod elsewhere;
pub mod engine;
pub mod golden_file;
pub mod http;
pub mod kernel;
pub mod mounted;
pub mod own_process;
pub mod proxy;
pub mod query_paths;
pub mod seeded;
#[cfg(feature = "remote")]
pub mod servers;
pub mod service;
#[cfg(feature = "remote")]
pub mod through;
pub mod vector_file;
pub mod wait;
pub mod watchdog;
