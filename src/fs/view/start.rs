//! The beginning of a view, and what it is told then.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::{View, keeper};
use crate::database::Browse;
use crate::fs::mount::Mount;
use crate::fs::open::handle::Handles;
use crate::fs::options::ViewOptions;

impl View {
    /// A view of a database. Its keeper thread lives until [`View::shut_down`].
    #[must_use]
    pub fn new(db: Arc<dyn Browse>, options: ViewOptions) -> Arc<Self> {
        let mount = Arc::new(Mount::new(db, options));
        let handles = Handles::new(mount.budget.clone(), mount.options.allow_other);
        let view = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            mount,
            inodes: Default::default(),
            handles,
            creations: Default::default(),
            reads: Default::default(),
            seen: Default::default(),
            vetoes: Default::default(),
            keeper: Default::default(),
            workers: Default::default(),
            waiting: Default::default(),
            releases: Default::default(),
            kept: Default::default(),
            keeping: Default::default(),
            lookers: Default::default(),
        });
        let weak = Arc::downgrade(&view);
        let _ = view.mount.kept.set(Box::new(move || weak.upgrade().map(|view| view.kept_now()).unwrap_or_default()));
        keeper::start(&view);
        view
    }

    /// What the program that mounts tells of itself, for `.ddb/config.json`: a JSON object, once.
    pub fn tell(&self, config: Value) {
        let _ = self.mount.config.set(config);
    }

    /// Where results are kept that are too long for memory, once: a directory.
    pub fn keep_results_in(&self, directory: PathBuf) {
        self.kept.spools.set_directory(directory);
    }

    /// Ends every read that waits, now and from now on, as at the end of a file, and what now waits for a service elsewhere: the mount is
    /// to go.
    pub fn end_waiting(&self) {
        self.waiting.end();
        self.releases.release();
    }
}
