//! The signals that end a server cleanly.

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::prelude::*;

/// SIGINT, SIGTERM and SIGHUP, caught from [`Signals::new`] on.
pub struct Signals(Mutex<signal_hook::iterator::Signals>);

impl Signals {
    /// Starts catching.
    pub fn new() -> Result<Self, CliError> {
        let signals =
            signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CliError::io("cannot catch signals"))?;
        Ok(Self(Mutex::new(signals)))
    }

    /// Blocks until one arrives.
    pub fn wait(&self) {
        self.0.lock().forever().next();
    }
}
