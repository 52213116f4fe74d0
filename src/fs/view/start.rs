//! The beginning of a view, and what it is told then.

use std::path::PathBuf;

use super::kernel_cache::KernelCache;
use super::notes::Reads;
use super::workers::Workers;
use super::{View, keeper};
use crate::fs::node::inode_table::InodeTable;
use crate::fs::open::handle::Handles;
use crate::fs::open::prelude::*;
use crate::fs::options::ViewOptions;

impl View {
    /// A view of a database. Its keeper thread lives until [`View::shut_down`].
    #[must_use]
    pub fn new(db: Arc<dyn Browse>, options: ViewOptions) -> Arc<Self> {
        let mount = Arc::new(Mount::new(db, options));
        let handles = Arc::new(Handles::new(mount.budget.clone(), mount.options.allow_other));
        let (inodes, reads, workers) = (Arc::<InodeTable>::default(), Arc::<Reads>::default(), Arc::<Workers>::default());
        let files = (Arc::clone(&inodes), Arc::clone(&handles));
        let kernel_cache = KernelCache::new(Arc::clone(&mount), files, Arc::clone(&reads), Arc::clone(&workers));
        // Weak: the cache holds the mount.
        let of_stats = Arc::downgrade(&kernel_cache);
        let stats = move || of_stats.upgrade().map(|cache| cache.stats()).unwrap_or_default();
        let _ = mount.kept.set(Box::new(stats));
        let view = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            mount,
            inodes,
            handles,
            creations: Default::default(),
            reads,
            seen: Default::default(),
            vetoes: Default::default(),
            keeper: Default::default(),
            workers,
            waiting: Default::default(),
            releases: Default::default(),
            kept: Default::default(),
            kernel_cache,
        });
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
