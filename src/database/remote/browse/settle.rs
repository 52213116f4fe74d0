//! A service takes a while to make a table, to change it and to remove it. Who does so through the mount goes on when it is done, as
//! programs do that make a directory and write into it at once.

use super::RemoteDatabase;
use crate::database::prelude::*;
use std::thread::sleep;
use std::time::Instant;

use crate::database::caller;
use crate::model::api::TableStatus;

/// How often is looked at the table.
const LOOK_MIN: Duration = Duration::from_millis(10);
const LOOK_MAX: Duration = Duration::from_millis(500);
/// Whoever still waits then goes on without.
const PATIENCE: Duration = Duration::from_secs(120);

impl RemoteDatabase {
    /// Waits while the table has that status, which is CREATING, UPDATING or DELETING; not for longer than the caller does.
    pub(super) fn settle(&self, table: &TableName, status: TableStatus) {
        let (begun, mut pause) = (Instant::now(), LOOK_MIN);
        while self.has(table, status) && begun.elapsed() < PATIENCE && caller::is_waiting() {
            sleep(pause);
            pause = (pause * 2).min(LOOK_MAX);
        }
    }

    /// One that was made a moment ago may not be told of yet.
    fn has(&self, table: &TableName, status: TableStatus) -> bool {
        match self.service.described(table) {
            Ok(Some(table)) => table.status == status,
            Ok(None) => status == TableStatus::Creating,
            Err(_) => false,
        }
    }
}
