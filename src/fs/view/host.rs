//! The view as the host of what is open in it.

use super::View;
use crate::fs::open::host::Awaited;
use crate::fs::open::prelude::*;
use crate::fs::tree;
use crate::fs::{
    open::host::{Work, noted},
    process::process_of,
    write::Failure,
};
use crate::model::api::{DeleteTableRequest, PutItemRequest, WriteListener, saved_query::SavedForm};

impl Host for View {
    fn mount(&self) -> &Mount {
        &self.mount
    }

    fn resolve(&self, directory: &Node, name: &[u8]) -> Result<Node, FsError> {
        tree::resolve(&self.mount, directory, name)
    }

    fn run_elsewhere(&self, work: Work) {
        self.workers.run(work);
    }

    fn run_long(&self, work: Work) {
        self.workers.run_long(work);
    }

    fn wait(self: Arc<Self>, caller: Caller, awaited: Awaited, reply: Reply<Bytes>) {
        // Only this refusal is kept for errors/last: the others are a file's own, and noted by it.
        if let Some(reply) = self.waiting.wait(&self.mount, caller, awaited, reply) {
            let refused = Err(FsError::Busy("64 readers wait already; end one of them"));
            reply(noted(&*self, caller, "read", String::new, refused));
        }
    }

    fn record(&self, caller: Caller, operation: &'static str, path: String, failure: Failure) -> FsError {
        self.note_failure(caller, operation, path, failure)
    }

    fn listener(&self, thread: u32) -> Arc<dyn WriteListener> {
        self.renewing(thread)
    }

    fn put(self: Arc<Self>, request: PutItemRequest, thread: u32, done: Outcome) {
        self.put_item(request, thread, done);
    }

    fn revive_item(&self, table: &TableName, key: &Key) {
        self.revive(table, key, None);
    }

    fn item_stored(&self, table: &TableName, key: &Key) {
        self.item_is_stored(table, key);
    }

    fn may_delete(&self, table: &TableName, caller: Caller) -> Result<(), FsError> {
        if self.vetoes.any() && self.vetoes.holds(table, process_of(caller.pid), now_ms()) {
            return Err(FsError::NotPermitted("this process tried to delete the whole table; what is in it stays"));
        }
        Ok(())
    }

    fn drop_table(&self, request: DeleteTableRequest) -> Result<(), FsError> {
        // Asked for by a write, during which the kernel holds the lock of a file.
        self.drop_table_of(request, WaitPolicy::Short)
    }

    fn removed_saved(&self, caller: Caller, table: &TableName, name: &str, form: SavedForm) {
        self.vetoes.removed(table, process_of(caller.pid), now_ms(), name, form);
    }

    fn flush_deletes(self: Arc<Self>) {
        self.delete_those(|_, _| true);
    }

    fn release_waiting(&self) {
        self.waiting.release();
        self.releases.release();
    }
}
