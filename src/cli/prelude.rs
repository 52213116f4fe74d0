//! What most commands name: `use crate::cli::prelude::*`.

pub use std::io::{BufRead, BufReader, BufWriter, ErrorKind};
pub use std::ops::ControlFlow;
pub use std::path::{Path, PathBuf};
pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use std::sync::mpsc::channel;
pub use std::time::{Duration, Instant};

pub use clap::{Args, Subcommand, ValueEnum};
pub use parking_lot::Mutex;
pub use serde_json::{Value, json};
pub use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

pub(in crate::cli) use super::data_dir::{self, DataArgs};
pub(in crate::cli) use super::outcome::say;
pub use super::outcome::{CliError, Outcome, print, tell, warn};
pub use crate::codec::digest::{digest, hex};
pub use crate::codec::{calendar, plain_json, shown};
pub use crate::database::{Browse, Database};
pub use crate::engine::EngineOptions;
pub use crate::fuse;
pub use crate::model::api::{Call, Done, TableDescription};
pub use crate::model::clock::{Clock, SystemClock};
pub use crate::model::prices::PriceTable;
pub use crate::model::{AttributeValue, Error, IndexKind, IndexName, Item, KeySchema, TableName, Word};
pub use crate::store::Durability;
