//! The data directory, and the engine on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::outcome::CliError;
use crate::database::Browse as _;
use crate::database::local::LocalDatabase;
use crate::engine::{Engine, EngineOptions};
use crate::model::Error;
use crate::store::lmdb::{LmdbOptions, LmdbStore};
use crate::store::{Durability, Store};

/// The directory in the data directory that stands for S3.
const BUCKETS: &str = "s3";

/// Where the data lives.
#[derive(Debug, Clone, Args)]
pub struct DataArgs {
    /// Data directory [default: $XDG_DATA_HOME/ddbfs, else ~/.local/share/ddbfs]
    #[arg(long = "data", value_name = "DIR", env = "DDBFS_DATA")]
    dir: Option<PathBuf>,
}

impl DataArgs {
    /// That directory.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir: Some(dir) }
    }
}

/// An open database.
pub struct Opened {
    pub dir: PathBuf,
    pub database: Arc<LocalDatabase>,
    pub store: Arc<LmdbStore>,
}

/// The directory named, or the default one.
pub fn resolve(args: &DataArgs) -> Result<PathBuf, CliError> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME")
        // The XDG specification: a relative path is not to be used.
        .filter(|base| base.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("ddbfs"))
        .ok_or_else(|| CliError::Message("no data directory: set HOME or XDG_DATA_HOME, or give --data DIR".into()))
}

/// Opens the data directory, creating it when missing.
pub fn open(args: &DataArgs) -> Result<Opened, CliError> {
    open_with(args, EngineOptions::default(), Durability::default())
}

/// As [`open`], for a command that only looks: the directory stays as it is, of an earlier version too.
pub fn open_to_look(args: &DataArgs) -> Result<Opened, CliError> {
    open_to_look_with(args, EngineOptions::default())
}

/// As [`open_to_look`], with options of the engine.
pub fn open_to_look_with(args: &DataArgs, options: EngineOptions) -> Result<Opened, CliError> {
    open_with(args, EngineOptions { looks_only: true, ..options }, Durability::default())
}

/// As [`open`], with options of the engine.
pub fn open_with(args: &DataArgs, options: EngineOptions, durability: Durability) -> Result<Opened, CliError> {
    let dir = resolve(args)?;
    let store = LmdbOptions { durability, looks_only: options.looks_only, ..LmdbOptions::default() };
    let (database, store) = open_at(&dir, options, store)?;
    Ok(Opened { dir, database, store })
}

fn open_at(dir: &Path, options: EngineOptions, store: LmdbOptions) -> Result<(Arc<LocalDatabase>, Arc<LmdbStore>), CliError> {
    let open = move || -> Result<_, Error> {
        let options = EngineOptions { buckets: Some(dir.join(BUCKETS)), ..options };
        let store = Arc::new(LmdbStore::open(dir, store)?);
        let engine = Engine::open(Arc::clone(&store) as Arc<dyn Store>, options)?;
        Ok((Arc::new(LocalDatabase::new(Arc::new(engine)).of_directory(dir)), store))
    };
    open().map_err(|error| CliError::Message(format!("cannot open the data directory {}: {error}", dir.display())))
}

impl Opened {
    /// Says in the log which tables are not whole.
    pub fn warn_unfinished(&self) -> Result<(), CliError> {
        for table in self.database.table_names()? {
            self.database.unfinished(&table)?.into_iter().for_each(|lacking| log::warn!("{lacking}"));
        }
        Ok(())
    }

    /// Ends the writer: everything acknowledged is on disk.
    pub fn close(self) {
        self.database.engine().close();
    }
}
