//! `ddbfs compact`: free pages of the data file back to the disk.

use super::outcome::say;
use crate::cli::prelude::*;
use crate::model::error::StoreError;
use crate::store::lmdb::Compaction;

/// What the data file has grown by stays in it: deleted items leave free pages, which later writes use again. This gives them back to
/// the disk. Nobody may have the data directory open; a mount that starts meanwhile waits for the end. The used part is copied to a new
/// file beside the old one, which takes its place when it is whole: interrupted at any moment, the data is as it was.
#[derive(Debug, Args)]
pub struct CompactArgs {
    #[command(flatten)]
    data: DataArgs,
}

pub fn run(args: &CompactArgs) -> Result<Outcome, CliError> {
    let dir = data_dir::resolve(&args.data)?;
    let cannot = |why: String| CliError::Message(format!("cannot compact the data directory {}: {why}", dir.display()));
    let store = |error: StoreError| match error {
        StoreError::Io(why) => cannot(why),
        other => cannot(other.to_string()),
    };
    // Not `data_dir::open`: nobody may have the directory open, this process neither.
    let compaction = Compaction::begin(&dir).map_err(store)?;
    let (before, needed, free) = (compaction.before_bytes, compaction.needed_bytes, compaction.free_bytes);
    if free < needed {
        let (needed, free) = (megabytes(needed), megabytes(free));
        return Err(cannot(format!("the copy needs {needed} on its disk, where {free} are free; free some space first")));
    }
    say!("{} before; the copy takes up to {} of the {} free on the disk", megabytes(before), megabytes(needed), megabytes(free))?;
    say!("{} after", megabytes(compaction.run().map_err(store)?))?;
    Ok(Outcome::Done)
}

/// `12.3 MB`, of a million bytes each.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
