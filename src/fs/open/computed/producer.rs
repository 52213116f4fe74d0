//! What makes the bytes of a computed file.

use std::fmt;

use crate::fs::mount::Mount;
use crate::fs::prelude::*;

/// Makes the bytes of a file, from the first to the last.
pub trait Producer: fmt::Debug + Send {
    /// Appends the bytes of one step, and its bills; false at the end. A failed step leaves no trace and may be tried again.
    ///
    /// # Errors
    /// What it is made of is gone, or says no.
    fn advance(&mut self, mount: &Mount, bills: &mut Vec<Bill>, out: &mut Vec<u8>) -> Result<bool, FsError>;

    /// What all of it consumed, as `capacity.json` says it, once after the end.
    fn take_consumed(&mut self) -> Option<Vec<u8>> {
        None
    }
}

/// Makes the producer of a file, as the file is then.
pub type MakeProducer = Box<dyn Fn(&Mount) -> Result<Box<dyn Producer>, FsError> + Send + Sync>;
