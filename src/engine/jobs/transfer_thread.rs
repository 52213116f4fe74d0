//! Threads of exports and imports.

use crate::model::Error;

/// Runs a transfer on a thread of its own: the writer thread, on which it is begun, must not write files. One that stops is still in
/// progress by its record, so that the next open begins it again.
pub(super) fn beside(what: &'static str, arn: String, run: impl FnOnce(&str) -> Result<(), Error> + Send + 'static) {
    let run = move || {
        if let Err(error) = run(&arn) {
            log::warn!("{what} {arn} stopped: {error}");
        }
    };
    if let Err(error) = std::thread::Builder::new().name(what.to_owned()).spawn(run) {
        log::warn!("no thread for an {what}: {error}");
    }
}
