//! The option `--data`, and the opening of the data directory: the store in it, and the engine on
//! the store, in the modes that commands need (writing, reading only, without writing a byte).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::exit::{CliError, warn};
use crate::database::Browse;
use crate::database::local::LocalDatabase;
use crate::engine::{Engine, EngineOptions};
use crate::model::{Error, TableName, TableSchema};
use crate::store::lmdb::{LmdbOptions, LmdbStore, OfflineStore, holds_store};
use crate::store::{Durability, Store, StoreError};

/// The directory in the data directory that stands for S3.
const BUCKETS: &str = "s3";

/// The option for the data directory.
#[derive(Debug, Clone, Args)]
pub struct DirArgs {
    /// Data directory [default: $XDG_DATA_HOME/ddbfs, else ~/.local/share/ddbfs]
    #[arg(
        long = "data",
        value_name = "DIR",
        env = "DDBFS_DATA",
        hide_env_values = true
    )]
    dir: Option<PathBuf>,
}

/// The options of a command that opens the data directory.
#[derive(Debug, Clone, Args)]
pub struct DataArgs {
    #[command(flatten)]
    pub at: DirArgs,

    /// Open what is undamaged of a damaged data directory, after a copy of its files to damaged-TIME in it
    #[arg(long)]
    salvage: bool,
}

impl DataArgs {
    /// Returns the options for a directory.
    pub fn at(dir: PathBuf) -> Self {
        Self {
            at: DirArgs { dir: Some(dir) },
            salvage: false,
        }
    }
}

/// An open database; closed on drop.
pub struct OpenData {
    pub dir: PathBuf,
    pub database: Arc<LocalDatabase>,
    pub store: Arc<dyn Store>,
}

/// Returns the given directory, or the default one.
pub fn resolve(args: &DirArgs) -> Result<PathBuf, CliError> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    base_dir("XDG_DATA_HOME", ".local/share").ok_or_else(|| {
        CliError::Message("no data directory: set HOME or XDG_DATA_HOME, or give --data DIR".into())
    })
}

/// Returns the directory of what outlives a run and is no data.
#[cfg(feature = "remote")]
pub fn state_dir() -> Option<PathBuf> {
    base_dir("XDG_STATE_HOME", ".local/state")
}

/// Returns this program's directory in one that the XDG specification names.
fn base_dir(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set(variable)
        // The specification says to ignore a relative path.
        .filter(|base| base.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(below_home)))
        .map(|base| base.join("ddbfs"))
}

/// Opens the data directory; creates it if missing.
pub fn open_or_create(args: &DataArgs) -> Result<OpenData, CliError> {
    open_with(args, EngineOptions::default(), Durability::default())
}

/// Opens a data directory that exists.
pub fn open(args: &DataArgs) -> Result<OpenData, CliError> {
    open_existing_with(args, EngineOptions::default(), Durability::default())
}

/// Opens a data directory that exists, with options of the engine.
pub fn open_existing_with(
    args: &DataArgs,
    options: EngineOptions,
    durability: Durability,
) -> Result<OpenData, CliError> {
    require_data(&resolve(&args.at)?)?;
    open_with(args, options, durability)
}

/// Fails if a directory has no data: a mistyped name must not become an empty database.
fn require_data(dir: &Path) -> Result<(), CliError> {
    if holds_store(dir) {
        return Ok(());
    }
    Err(CliError::Message(format!(
        "there is no data.mdb in {}: name the data directory with --data; `ddbfs sample`, `import`, `serve` and `mount` create one",
        dir.display()
    )))
}

/// Opens the data directory for a command that only reads. It does not change the directory, even
/// one of an earlier version.
pub fn open_passive(args: &DataArgs) -> Result<OpenData, CliError> {
    open_passive_with(args, EngineOptions::default())
}

/// Opens the data directory for reading, with options of the engine.
pub fn open_passive_with(args: &DataArgs, options: EngineOptions) -> Result<OpenData, CliError> {
    open_existing_with(
        args,
        EngineOptions {
            passive: true,
            ..options
        },
        Durability::default(),
    )
}

/// Opens the data directory for reading without writing a byte, whatever its state. If a process
/// has it open, it is opened beside that process.
pub fn open_offline(args: &DirArgs) -> Result<OpenData, CliError> {
    let dir = resolve(args)?;
    require_data(&dir)?;
    match OfflineStore::open(&dir, StoreError::ReadOnly)
        .map_err(|error| cannot_open(&dir, &error.into()))?
    {
        Some(store) => open_engine(
            dir,
            Arc::new(store),
            EngineOptions {
                passive: true,
                ..EngineOptions::default()
            },
        ),
        None => open_passive(&DataArgs::at(dir)),
    }
}

/// Opens the data directory with options of the engine; creates it if missing.
pub fn open_with(
    args: &DataArgs,
    options: EngineOptions,
    durability: Durability,
) -> Result<OpenData, CliError> {
    let dir = resolve(&args.at)?;
    let store = LmdbOptions {
        durability,
        passive: options.passive,
        salvage: args.salvage,
        ..LmdbOptions::default()
    };
    let failed = |error: StoreError| cannot_open(&dir, &error.into());
    match LmdbStore::open(&dir, store) {
        // No room even for the recovery: its writes are kept in memory, and the store can be read.
        Err(StoreError::NoSpace) => {
            match OfflineStore::open(&dir, StoreError::NoSpace).map_err(failed)? {
                Some(store) => {
                    log::warn!(
                        "the disk is full: the data directory {} is read-only until there is space and ddbfs is restarted",
                        dir.display()
                    );
                    open_engine(
                        dir,
                        Arc::new(store),
                        EngineOptions {
                            passive: true,
                            ..options
                        },
                    )
                }
                None => Err(failed(StoreError::NoSpace)),
            }
        }
        store => {
            let store = Arc::new(store.map_err(failed)?);
            open_engine(dir, store, options)
        }
    }
}

fn open_engine(
    dir: PathBuf,
    store: Arc<dyn Store>,
    options: EngineOptions,
) -> Result<OpenData, CliError> {
    let options = EngineOptions {
        buckets: Some(dir.join(BUCKETS)),
        ..options
    };
    let engine =
        Engine::open(Arc::clone(&store), options).map_err(|error| cannot_open(&dir, &error))?;
    let database = LocalDatabase::new(Arc::new(engine)).with_data_dir(&dir);
    Ok(OpenData {
        dir,
        database: Arc::new(database),
        store,
    })
}

fn cannot_open(dir: &Path, error: &Error) -> CliError {
    CliError::Message(format!(
        "cannot open the data directory {}: {error}",
        dir.display()
    ))
}

impl OpenData {
    /// Logs the tables that are incomplete.
    pub fn warn_unfinished(&self) -> Result<(), CliError> {
        for table in self.database.table_names()? {
            self.database
                .incomplete_pull(&table)?
                .into_iter()
                .for_each(|lacking| log::warn!("{lacking}"));
        }
        Ok(())
    }
}

impl Drop for OpenData {
    /// Ends the writer: everything acknowledged is on disk.
    fn drop(&mut self) {
        self.database.engine().close();
    }
}

/// Returns the table of that name, with a warning if it is incomplete.
pub fn existing_table(database: &dyn Browse, name: &str) -> Result<TableName, CliError> {
    let table = find_table(database, name)?;
    warn_unfinished(database, &table)?;
    Ok(table)
}

/// Returns the definition of a table.
pub fn existing_schema(
    database: &dyn Browse,
    table: &TableName,
) -> Result<Arc<TableSchema>, CliError> {
    let schema = database.schema(table)?;
    Ok(schema.ok_or_else(|| Error::TableNotFound(table.to_string()))?)
}

/// Warns if a table is incomplete.
pub fn warn_unfinished(database: &dyn Browse, table: &TableName) -> Result<(), CliError> {
    database.incomplete_pull(table)?.into_iter().for_each(warn);
    Ok(())
}

/// Returns the table of that name; the error lists the existing ones.
pub fn find_table(database: &dyn Browse, name: &str) -> Result<TableName, CliError> {
    if let Ok(table) = TableName::new(name)
        && database.schema(&table)?.is_some()
    {
        return Ok(table);
    }
    let names: Vec<String> = database
        .table_names()?
        .iter()
        .map(ToString::to_string)
        .collect();
    let existing = if names.is_empty() {
        "there are no tables".to_owned()
    } else {
        format!("the tables are {}", names.join(", "))
    };
    Err(CliError::Message(format!("no table {name:?}; {existing}")))
}
