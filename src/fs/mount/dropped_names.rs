//! Names that a program restored in the place of derived files, and the programs that copy tables: see `special/dropped.rs`.

use crate::fs::node::Kind;
use crate::fs::process::name_of;
use crate::fs::recent::Recent;
use crate::fs::seldom::Seldom;
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
pub struct Copies(Seldom<Vec<(TableName, u32)>>);

impl Copies {
    /// This process made the table's directory.
    pub fn begin(&self, table: &TableName, process: u32) {
        self.0.change(|list| {
            list.retain(|(_, process)| is_copier(*process));
            if list.len() < COPIES_MAX && is_copier(process) {
                list.push((table.clone(), process));
            }
        });
    }

    /// Is a program at work that copies into this table?
    #[must_use]
    pub fn holds(&self, table: &TableName) -> bool {
        self.0.is_any(|list| list.iter().any(|(other, process)| other == table && is_copier(*process)))
    }
}

/// Told by its name; a process in another pid namespace, or gone, is none.
fn is_copier(process: u32) -> bool {
    COPIERS.contains(&name_of(process).as_str())
}
