//! `rm -r Orders` meets `schema.json` first. Its unlink is refused, and so are this process's further deletes in that table for a
//! while, before it has destroyed what nobody asked it to.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::model::TableName;

/// How long a process that tried to unlink `schema.json` may not delete in that table (FILESYSTEM 3).
pub const VETO: Duration = Duration::from_secs(5);
const VETOES_MAX: usize = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Vetoes {
    list: Mutex<Vec<(TableName, u32, Instant)>>,
}

impl Vetoes {
    /// Has any process tried of late? Then the caller's must be found out.
    pub fn any(&self) -> bool {
        !self.list.lock().is_empty()
    }

    /// This process tried.
    pub fn add(&self, table: &TableName, pid: u32, now: Instant) {
        let mut list = self.list.lock();
        list.retain(|(_, _, until)| *until > now);
        if list.len() < VETOES_MAX {
            list.push((table.clone(), pid, now + VETO));
        }
    }

    /// May this process not delete in that table?
    pub fn holds(&self, table: &TableName, pid: u32, now: Instant) -> bool {
        let mut list = self.list.lock();
        list.retain(|(_, _, until)| *until > now);
        list.iter().any(|(vetoed, process, _)| vetoed == table && *process == pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_veto_is_for_one_table_one_process_and_a_while() {
        let (vetoes, now) = (Vetoes::default(), Instant::now());
        let (orders, pets) = (TableName::new("Orders").unwrap(), TableName::new("Pets").unwrap());
        vetoes.add(&orders, 7, now);
        assert!(vetoes.holds(&orders, 7, now));
        assert!(!vetoes.holds(&pets, 7, now));
        assert!(!vetoes.holds(&orders, 8, now));
        assert!(!vetoes.holds(&orders, 7, now + VETO));
    }
}
