//! How a command ends, and what it says when it cannot go on.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::codec::shown::{self, TEXT_CHARS_MAX};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The command ran and found or met something wrong; it has said what.
    Failed,
    /// Of `diff`, whose 1 says that there are differences: it could not tell, and has said why.
    Trouble,
}

/// Why a command could not go on: one sentence for a person.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("{0}")]
    Database(#[from] crate::model::Error),
    #[error(transparent)]
    Copy(#[from] crate::database::copies::CopyError),
    #[error("{doing}: {source}")]
    Io {
        doing: String,
        source: std::io::Error,
    },
    #[error("{0}")]
    Message(String),
    /// The command was called wrongly: exit code 2.
    #[error("{0}")]
    Usage(String),
}

impl CliError {
    /// An I/O error with what was being done.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// An I/O error of a file.
    pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        Self::io(path.display().to_string())
    }
}

/// A line for people to standard output, as [`tell`] writes.
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::outcome::tell(&format!("{}\n", format_args!($($text)*))) };
}
pub(super) use say;

/// Writes text for people to standard output, whole, but nothing that a terminal obeys.
pub fn tell(text: &str) -> Result<(), CliError> {
    print(shown::lines(text, usize::MAX).as_bytes())
}

/// Writes a line or several for people to standard error, and nothing that a terminal obeys; nobody hears when that cannot be written.
pub fn warn(text: impl Display) {
    let _ = writeln!(
        std::io::stderr(),
        "{}",
        shown::lines(&text.to_string(), TEXT_CHARS_MAX)
    );
}

/// Writes to standard output what programs read, as it is. A reader that has seen enough, as `head` has, is no failure; `println!` would
/// panic.
pub fn print(text: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(CliError::io("cannot write to standard output")),
    }
}
