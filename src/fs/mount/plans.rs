//! What each session planned last: see `schema.plan`.

use std::collections::HashMap;

use crate::model::TableName;

/// Plans that are remembered.
const PLANS_MAX: usize = 256;

/// The last plan of each session for each table.
#[derive(Debug, Default)]
pub struct Plans {
    by_place: HashMap<(TableName, u32), Vec<u8>>,
}

impl Plans {
    /// Remembers a plan; when there are too many, only it.
    pub fn keep(&mut self, table: &TableName, session: u32, text: Vec<u8>) {
        if self.by_place.len() >= PLANS_MAX {
            self.by_place.clear();
        }
        self.by_place.insert((table.clone(), session), text);
    }

    #[must_use]
    pub fn get(&self, table: &TableName, session: u32) -> Option<Vec<u8>> {
        self.by_place.get(&(table.clone(), session)).cloned()
    }
}
