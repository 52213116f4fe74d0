//! `ddbfs umount`: ends a mount, or clears a dead one.

use std::path::PathBuf;

use clap::Args;

use super::{CliError, Outcome};
use crate::fuse;

#[derive(Debug, Args)]
pub struct UmountArgs {
    mountpoint: PathBuf,
}

pub fn run(args: &UmountArgs) -> Result<Outcome, CliError> {
    fuse::unmount(&args.mountpoint).map_err(CliError::io(format!("cannot unmount {}", args.mountpoint.display())))?;
    Ok(Outcome::Done)
}
