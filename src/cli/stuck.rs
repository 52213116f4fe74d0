//! A mount that does not answer: its process is stopped or busy; or it was killed, and so was its watchdog, while a thread of it waited in
//! the kernel, see `watchdog`. The last is freed here.

use std::io::ErrorKind;

use super::outcome::warn;
use super::reader::{is_dead, read_within};
use super::watchdog::is_alive;
use crate::cli::prelude::*;
use crate::fuse::{self, Connection};
use crate::store::lmdb::user_of;

/// How long a mount may take to answer before it is asked who serves it.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a mount says.
pub enum Answer {
    /// What the file holds; nothing where no ddbfs is mounted, or where the file cannot be read.
    Live(Vec<u8>),
    /// Its process is gone; what waited for it has got an error.
    Dead,
    /// Its process is there, or may be; the words say what to do.
    Silent(String),
}

/// Reads a file of the mount at a path, and ends the connection of one that nobody serves any more.
pub fn ask(mountpoint: &Path, file: &str) -> Result<Answer, CliError> {
    // A path that is none is for who mounts or unmounts there.
    let Ok(Some(connection)) = fuse::connection(mountpoint) else { return Ok(Answer::Live(Vec::new())) };
    match read_within(&connection.path.join(file), PATIENCE) {
        Ok(bytes) => Ok(Answer::Live(bytes)),
        Err(error) if is_dead(&error) => Ok(Answer::Dead),
        Err(error) if error.kind() == ErrorKind::TimedOut => silent(&connection),
        Err(_) => Ok(Answer::Live(Vec::new())),
    }
}

fn silent(connection: &Connection) -> Result<Answer, CliError> {
    let shown = connection.path.display();
    let silence = format!("it has not answered for {} s", PATIENCE.as_secs());
    let user = connection.data.as_deref().map(user_of);
    match user {
        Some(Ok(Some(pid))) if pid != 0 && is_alive(pid) => Ok(Answer::Silent(format!(
            "{silence}: process {pid}, which has its data open, may be stopped or busy; let it go on (`kill -CONT {pid}`) or end it \
             (`kill -9 {pid}`), and run this again"
        ))),
        // Nobody, or what is left of a process.
        Some(Ok(None | Some(1..))) => {
            let failed =
                CliError::io(format!("{shown} is dead, and its connection cannot be ended (`umount -f {shown}` as root may)"));
            connection.abort().map_err(failed)?;
            warn(format_args!(
                "{shown} was dead and did not answer: its connection is ended, and programs that waited for it got an error"
            ));
            Ok(Answer::Dead)
        }
        _ => Ok(Answer::Silent(format!(
            "{silence}, and who serves it cannot be seen: let that process go on, or end all that wait for it with `umount -f {shown}`"
        ))),
    }
}
