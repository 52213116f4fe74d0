//! Names that a program restored in the place of derived files, and the programs that copy tables: see `special/dropped.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::fs::node::Kind;
use crate::fs::process::name_of;
use crate::fs::recent::Recent;
use crate::model::TableName;

/// Names that are remembered; the oldest go first.
const NAMES_MAX: usize = 65_536;

/// The names, by their filesystem paths.
pub type DroppedNames = Recent<String, Kind, NAMES_MAX>;

/// Programs that copy directories with all that is in them.
const COPIERS: [&str; 2] = ["cp", "rsync"];
/// Tables that are being copied into; of more the derived files are refused.
const COPIES_MAX: usize = 1_000;

/// Tables whose directories were made by a program that copies, for as long as it runs.
#[derive(Debug, Default)]
pub struct Copies {
    list: Mutex<Vec<(TableName, u32)>>,
    /// Entries of the list, so that nobody locks it while it is empty.
    count: AtomicUsize,
}

impl Copies {
    /// This process made the table's directory.
    pub fn begin(&self, table: &TableName, process: u32) {
        let mut list = self.list.lock();
        list.retain(|(_, process)| is_copier(*process));
        if list.len() < COPIES_MAX && is_copier(process) {
            list.push((table.clone(), process));
        }
        self.count.store(list.len(), Ordering::Release);
    }

    /// Is a program at work that copies into this table?
    #[must_use]
    pub fn holds(&self, table: &TableName) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.list.lock().iter().any(|(other, process)| other == table && is_copier(*process))
    }
}

/// Told by its name; a process in another pid namespace, or gone, is none.
fn is_copier(process: u32) -> bool {
    COPIERS.contains(&name_of(process).as_str())
}
