//! A helper process that reads a mount's files in place of the caller, so that the caller can
//! abandon a read that hangs. If the mount's process is stopped or was killed, a read cannot be
//! killed once its request was sent to the mount, and no process ends before all its threads.
//! `shell`, `top` and `watchdog` read mounts with it.

#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io::{self, BufRead as _, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::{CommandExt as _, parent_id};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use crate::cli::prelude::*;

/// The internal command of such a process.
pub const COMMAND: &str = "read-mount";

/// A file of every mount that is read at once.
pub const VERSION: &str = ".ddb/version";

/// The most names in a listing.
pub const NAMES_MAX: usize = 1_000;

const READ: u8 = b'r';
const LIST: u8 = b'l';
const RESOLVE: u8 = b'f';

/// A handle of the process. The process ends when this value is dropped; an abandoned one ends by
/// itself once the mount answers.
pub struct MountReader {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<io::Result<Vec<u8>>>,
    /// True if the process goes on without this value.
    is_abandoned: bool,
}

impl MountReader {
    /// Starts the process.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        // The process works outside the mount, which it would keep busy when it is abandoned. It is
        // not in the process group that a terminal's signals end.
        command
            .arg(COMMAND)
            .args([std::process::id().to_string(), parent_id().to_string()])
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (Some(stdin), Some(mut from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a process without pipes"));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            // Until the process has ended, or the receiver is gone.
            while read_answer(&mut from).is_some_and(|answer| sender.send(answer).is_ok()) {}
        });
        Ok(Self {
            child,
            stdin,
            answers,
            is_abandoned: false,
        })
    }

    /// Requests the content of a file, or, for a directory, the names of the directories in it, a
    /// line each. The path is absolute.
    ///
    /// # Errors
    /// The process is gone.
    pub fn request(&mut self, path: &Path) -> io::Result<()> {
        self.send(READ, path)
    }

    /// Reads a file; waits at most `timeout`.
    ///
    /// # Errors
    /// As for [`Self::receive`].
    pub fn read(&mut self, path: &Path, timeout: Duration) -> io::Result<Vec<u8>> {
        self.request(path)?;
        self.receive(timeout)
    }

    /// Lists the first names in a directory, each followed by a NUL; waits at most `timeout`.
    ///
    /// # Errors
    /// As for [`Self::receive`].
    pub fn list(&mut self, path: &Path, timeout: Duration) -> io::Result<Vec<u8>> {
        self.send(LIST, path)?;
        self.receive(timeout)
    }

    /// Abandons the process while it waits for an answer; returns its id.
    pub fn abandon(mut self) -> u32 {
        self.is_abandoned = true;
        self.child.id()
    }

    /// Resolves the symlinks of a path; waits at most `timeout`.
    ///
    /// # Errors
    /// As for [`Self::receive`], and any error of realpath(3).
    pub fn resolve(&mut self, path: &Path, timeout: Duration) -> io::Result<PathBuf> {
        self.send(RESOLVE, path)?;
        self.receive(timeout)
            .map(|path| PathBuf::from(OsStr::from_bytes(&path)))
    }

    fn send(&mut self, kind: u8, path: &Path) -> io::Result<()> {
        self.stdin
            .write_all(&[&[kind], path.as_os_str().as_bytes(), &[0]].concat())
    }

    /// Returns the answer to the last request.
    ///
    /// # Errors
    /// `TimedOut` if there is no answer yet; any error of the read.
    pub fn receive(&self, timeout: Duration) -> io::Result<Vec<u8>> {
        match self.answers.recv_timeout(timeout) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => Err(ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for MountReader {
    fn drop(&mut self) {
        if self.is_abandoned {
            return;
        }
        // It may not end, and this thread does not wait for it.
        let _ = self.child.kill();
        let _ = self.child.try_wait();
    }
}

/// Reads one file in a process of its own.
///
/// # Errors
/// As for [`MountReader::receive`].
pub fn read_within(path: &Path, timeout: Duration) -> io::Result<Vec<u8>> {
    MountReader::start()?.read(path, timeout)
}

/// True if that process is an abandoned reader that still waits.
pub fn is_waiting(id: u32) -> bool {
    let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(COMMAND.as_bytes())
}

/// Returns the user of this process (proc(5)).
pub fn current_user() -> io::Result<u32> {
    Ok(std::fs::metadata("/proc/self")?.uid())
}

/// True if the error says that the mount's process is gone.
pub fn is_dead(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotConnected || error.raw_os_error() == Some(libc::ECONNABORTED)
}

/// The time between two checks of an abandoned process that its shell still exists.
const PARENT_POLL: Duration = Duration::from_secs(1);

/// Ends this process when neither its parent nor the shell that started the parent exists any more.
/// Both are given as process ids, since a process gets another parent when its own ends.
fn exit_after_ancestors(began: [u32; 2]) {
    // A parent that had ended before it was asked for is 1, which always exists.
    let is_there = |id: u32| id != 1 && Path::new("/proc").join(id.to_string()).exists();
    std::thread::spawn(move || {
        while began.into_iter().any(is_there) {
            std::thread::sleep(PARENT_POLL);
        }
        std::process::exit(0);
    });
}

/// Runs the process: answers requests until the input ends, or the processes that started it are
/// gone.
pub fn run(began: [u32; 2]) -> Result<CommandResult, CliError> {
    exit_after_ancestors(began);
    // It may outlive its parent, and then must not hold the parent's open files: for instance a
    // pipe with a reader that waits for its end.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    let mut out = io::stdout().lock();
    for asked in io::stdin().lock().split(0) {
        let answer = asked.and_then(|asked| respond(&asked));
        let (errno, bytes) = match answer {
            Ok(bytes) => (0, bytes),
            Err(error) => (error.raw_os_error().unwrap_or(libc::EIO), Vec::new()),
        };
        let head = [
            &errno.to_ne_bytes()[..],
            &(bytes.len() as u64).to_ne_bytes(),
        ]
        .concat();
        let sent = out
            .write_all(&head)
            .and_then(|()| out.write_all(&bytes))
            .and_then(|()| out.flush());
        sent.map_err(CliError::io("cannot answer"))?;
    }
    Ok(CommandResult::Done)
}

fn respond(request: &[u8]) -> io::Result<Vec<u8>> {
    let Some((kind, path)) = request.split_first() else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let path = Path::new(OsStr::from_bytes(path));
    match *kind {
        RESOLVE => {
            return path
                .canonicalize()
                .map(|path| path.into_os_string().into_vec());
        }
        LIST => return list_names(path, NAMES_MAX, 0, |_| true),
        _ => {}
    }
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            list_names(path, usize::MAX, b'\n', |entry| {
                entry.file_type().is_ok_and(|kind| kind.is_dir())
            })
        }
        read => read,
    }
}

/// Lists the names of the first `most` directory entries that match, each followed by the byte
/// `end`.
fn list_names(
    path: &Path,
    most: usize,
    end: u8,
    is_meant: fn(&DirEntry) -> bool,
) -> io::Result<Vec<u8>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)?.take(most) {
        let entry = entry?;
        if is_meant(&entry) {
            names.extend_from_slice(entry.file_name().as_bytes());
            names.push(end);
        }
    }
    Ok(names)
}

/// Receives an answer of [`run`].
fn read_answer(from: &mut ChildStdout) -> Option<io::Result<Vec<u8>>> {
    let (mut errno, mut length) = ([0; size_of::<i32>()], [0; size_of::<u64>()]);
    from.read_exact(&mut errno)
        .and_then(|()| from.read_exact(&mut length))
        .ok()?;
    // Grows as bytes arrive: a length is trusted only with its bytes.
    let (length, mut bytes) = (u64::from_ne_bytes(length), Vec::new());
    let came = from.take(length).read_to_end(&mut bytes).ok()?;
    (came as u64 == length).then(|| match i32::from_ne_bytes(errno) {
        0 => Ok(bytes),
        errno => Err(io::Error::from_raw_os_error(errno)),
    })
}
