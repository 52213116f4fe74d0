//! The names that most commands use: `use crate::cli::prelude::*`.

pub use std::path::{Path, PathBuf};
pub use std::sync::Arc;
pub use std::time::Duration;

pub use clap::Args;

pub(in crate::cli) use super::data_dir;
pub use super::data_dir::{DataArgs, DirArgs};
pub use super::exit::{CliError, CommandResult};
pub use crate::codec::count::plural;
pub use crate::database::Browse;
