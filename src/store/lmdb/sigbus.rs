//! The end of the process on damage found while a data file is in use: a sentence and exit code 1,
//! where LMDB would abort the process or the system would kill it. The process cannot go on: LMDB
//! does not return from an assertion, and a page that cannot be read has no content.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use lmdb::Environment;

use super::directory::DATA_FILE;
use super::pages::RESTORE_ADVICE;

/// The exit code of a failed command.
const EXIT_CODE: libc::c_int = 1;

/// The message for SIGBUS, about the store opened last.
static MESSAGE: AtomicPtr<Vec<u8>> = AtomicPtr::new(ptr::null_mut());

/// Installs the handler of LMDB's failed assertions.
pub(super) fn handle_assertions(environment: &Environment) {
    // SAFETY: the environment is open; the function has the signature that LMDB calls.
    unsafe { lmdb_sys::mdb_env_set_assert(environment.env(), Some(assertion_failed)) };
}

unsafe extern "C" fn assertion_failed(env: *mut lmdb_sys::MDB_env, message: *const c_char) {
    let mut path = ptr::null();
    // SAFETY: LMDB passes its environment, which keeps its path as long as it lives, and a terminated text.
    let (dir, message) = unsafe {
        lmdb_sys::mdb_env_get_path(env, &raw mut path);
        let text = |text: *const c_char| {
            if text.is_null() {
                "".into()
            } else {
                CStr::from_ptr(text).to_string_lossy()
            }
        };
        (text(path), text(message))
    };
    exit_with(format!("ddbfs: \"{dir}/{DATA_FILE}\" is damaged: LMDB found what cannot be ({message}). {RESTORE_ADVICE}\n").as_bytes());
}

/// Writes the message to standard error and ends the process at once; no other thread may go on
/// with a store in this state.
fn exit_with(words: &[u8]) -> ! {
    // SAFETY: write(2) and _exit(2) are safe in a signal handler and below C, where nothing may panic; the words are whole.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(EXIT_CODE)
    }
}

/// Installs the handler of SIGBUS: a page of the map that the file has lost or that the disk cannot
/// read.
pub(super) fn install(data_file: &Path) {
    let words = format!(
        "ddbfs: a page of {data_file:?} cannot be read: the file was truncated while it was in use, or its disk fails. {RESTORE_ADVICE}\n"
    );
    // Never freed: a signal may come at any time. One message for each opened store.
    MESSAGE.store(
        Box::into_raw(Box::new(words.into_bytes())),
        Ordering::Release,
    );
    let handler: extern "C" fn(libc::c_int) = on_sigbus;
    // SAFETY: the action is whole, and its handler calls only what a signal handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
    }
}

extern "C" fn on_sigbus(_: libc::c_int) {
    // SAFETY: the message is never freed.
    let words = unsafe { MESSAGE.load(Ordering::Acquire).as_ref() };
    exit_with(words.map_or(&[], Vec::as_slice));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::OpenOptions;
    use std::process::{Command, Stdio};

    use super::*;

    const CHILD: &str = "DDBFS_TEST_ASSERTION";

    #[test]
    fn a_failed_assertion_ends_the_process_also_when_nobody_can_be_told() {
        if std::env::var_os(CHILD).is_some() {
            // SAFETY: a terminated text; LMDB returns no path for a null environment.
            unsafe { assertion_failed(ptr::null_mut(), c"it holds".as_ptr()) };
        }
        let name = "store::lmdb::sigbus::tests::a_failed_assertion_ends_the_process_also_when_nobody_can_be_told";
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        let ended = child
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .stderr(full)
            .status()
            .unwrap();
        assert_eq!(ended.code(), Some(EXIT_CODE));
    }
}
