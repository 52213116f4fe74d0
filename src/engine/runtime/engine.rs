//! The engine on one store.

use std::sync::Arc;

use super::shared::Shared;
use super::threads::Background;
use super::view::View;
use crate::engine::catalog::TableEntry;
use crate::model::api::CommitObserver;
use crate::model::layout::{CollectionWarning, ThrottleWarning};
use crate::model::{Error, TableName};
use crate::store::StoreInfo;

/// The engine on one store.
#[derive(Debug)]
pub struct Engine {
    /// Before `shared`: it ends first.
    pub(in crate::engine) background: Option<Background>,
    pub(in crate::engine) shared: Arc<Shared>,
}

impl Engine {
    /// A consistent view of the last commit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view(&self) -> Result<View<'_>, Error> {
        Ok(self.shared.view()?)
    }

    /// Changes whenever any content may have changed, through any front end or process.
    #[must_use]
    pub fn commit_id(&self) -> u64 {
        self.shared.store.commit_id()
    }

    /// Sleeps until [`Engine::commit_id`] is another than `after`, at most for `timeout`; the id then.
    ///
    /// # Errors
    /// Those of the store.
    pub fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, Error> {
        Ok(self.shared.store.wait_for_commit(after, timeout)?)
    }

    /// Lets an observer hear of everything that is written from now on. On return, whatever it did not hear of is seen by who reads.
    ///
    /// # Errors
    /// Those of the store; then it hears of nothing.
    pub fn observe(&self, observer: &Arc<dyn CommitObserver>) -> Result<(), Error> {
        self.shared.observers.add(observer);
        // Jobs run in order: those before this one may have begun when there was nobody to hear of them.
        self.shared.submit_and_wait(|_| Ok(())).inspect_err(|_| self.unobserve(observer))
    }

    /// The observer hears of nothing more but what is being told already.
    pub fn unobserve(&self, observer: &Arc<dyn CommitObserver>) {
        self.shared.observers.remove(observer);
    }

    #[must_use]
    pub fn store_info(&self) -> StoreInfo {
        self.shared.store.info()
    }

    /// A table's entry as of the last commit, without a view while the catalog is known not to have changed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn table(&self, name: &TableName) -> Result<Option<Arc<TableEntry>>, Error> {
        let commit = self.commit_id();
        if let Some(entry) = self.shared.catalog.table_at(commit, name) {
            return Ok(entry);
        }
        self.view()?.table(name)
    }

    /// The last warnings of item collections near their limit, oldest first.
    #[must_use]
    pub fn collection_warnings(&self) -> Vec<CollectionWarning> {
        self.shared.collection_warnings.all()
    }

    /// The last warnings of throttled requests, oldest first.
    #[must_use]
    pub fn throttle_warnings(&self) -> Vec<ThrottleWarning> {
        self.shared.throttle_warnings.all()
    }
}
