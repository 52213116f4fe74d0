//! The result of a command, from which its exit code is made, the error of a command, and the
//! output functions of all commands.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::codec::sanitize::{self, TEXT_CHARS_MAX};

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandResult {
    Done,
    /// The command ran and found a problem, which it has reported.
    Failed,
    /// A failure of `diff`, for which exit code 1 means that there are differences. It has been
    /// reported.
    Trouble,
}

impl CommandResult {
    /// Returns `Done` if all went well.
    pub fn done_if(is_well: bool) -> Self {
        if is_well { Self::Done } else { Self::Failed }
    }
}

/// The error of a command: one sentence.
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
    /// Wrong usage of the command: exit code 2.
    #[error("{0}")]
    Usage(String),
}

impl CliError {
    /// Converts an I/O error; `doing` names the failed action.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// Converts an I/O error of a file.
    pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        Self::io(path.display().to_string())
    }
}

/// Writes a line to standard output, as [`print_text`] does.
macro_rules! print_line {
    ($($text:tt)*) => { $crate::cli::exit::print_text(&format!("{}\n", format_args!($($text)*))) };
}
pub(super) use print_line;

/// Writes text for people to standard output, without characters that control a terminal.
pub fn print_text(text: &str) -> Result<(), CliError> {
    print_bytes(sanitize::lines(text, usize::MAX).as_bytes())
}

/// Writes lines for people to standard error, without characters that control a terminal. A failure
/// to write is ignored.
pub fn warn(text: impl Display) {
    let _ = writeln!(
        std::io::stderr(),
        "{}",
        sanitize::lines(&text.to_string(), TEXT_CHARS_MAX)
    );
}

/// Writes data for programs to standard output, unchanged. A reader that ends early, as `head`
/// does, is no failure; `println!` would panic.
pub fn print_bytes(text: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(CliError::io("cannot write to standard output")),
    }
}
