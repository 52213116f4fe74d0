//! A watcher that notices commits of other processes by their writes to the data file: within 0.2
//! ms, and without polling while there are none.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::directory::DATA_FILE;
use super::environment::LmdbEnvironment;
use crate::store::StoreError;
use crate::store::worker::Worker;

/// The time until a second look: a commit writes its pages before it is visible, so its first event
/// may come too early.
const RECHECK_DELAY: Duration = Duration::from_millis(5);

/// A callback after commits of any process, including this one, on a thread of its own. Several
/// commits may cause one call, and one commit two; [`crate::store::Store::commit_id`] is
/// authoritative.
type OnCommit = Box<dyn Fn() + Send + Sync>;

/// The watcher of a store; ends when dropped.
#[derive(Debug)]
pub(super) struct Watcher {
    /// Dropped first: it holds the sender of the thread's channel.
    _files: RecommendedWatcher,
    _thread: Worker,
}

impl Watcher {
    pub fn start(
        environment: Arc<LmdbEnvironment>,
        on_commit: OnCommit,
    ) -> Result<Self, StoreError> {
        // One queued event is enough: it says "look", not what changed.
        let (sender, receiver) = sync_channel(1);
        // The file, not its directory: each commit writes to the log there too.
        let data_file = environment.directory.data_file();
        let mut files = notify::recommended_watcher(move |event| on_event(&sender, event))
            .map_err(watch_error)?;
        files
            .watch(&data_file, RecursiveMode::NonRecursive)
            .map_err(watch_error)?;
        // After the watch has begun: every later commit causes an event.
        let last = environment.commit_id();
        let thread = Worker::start("store-watch", move || {
            run(&environment, &receiver, last, &on_commit)
        })?;
        Ok(Self {
            _files: files,
            _thread: thread,
        })
    }
}

fn on_event(sender: &SyncSender<()>, event: notify::Result<Event>) {
    let relevant = match event {
        Ok(event) => {
            !matches!(event.kind, EventKind::Access(_))
                && event.paths.iter().any(|path| path.ends_with(DATA_FILE))
                || event.need_rescan()
        }
        // Events may be lost: look.
        Err(_) => true,
    };
    if relevant {
        match sender.try_send(()) {
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }
}

fn run(environment: &LmdbEnvironment, marks: &Receiver<()>, mut last: u64, on_commit: &OnCommit) {
    let mut look = || {
        let current = environment.commit_id();
        if current != last {
            last = current;
            on_commit();
        }
    };
    while marks.recv().is_ok() {
        look();
        loop {
            match marks.recv_timeout(RECHECK_DELAY) {
                Ok(()) => look(),
                Err(RecvTimeoutError::Timeout) => {
                    look();
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn watch_error(error: notify::Error) -> StoreError {
    StoreError::Io(format!("the data file cannot be watched: {error}"))
}
