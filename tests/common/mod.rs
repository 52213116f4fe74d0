//! A mount of its own for a test: a fresh data directory, the mounted view, bash.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, dead_code)]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::fs::View;
use ddbfs::fs::view::ViewOptions;
use ddbfs::fuse::{self, MountOptions, Mounted};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A mount in a temporary directory; ended and removed on drop.
#[derive(Debug)]
pub struct Mount {
    // Fields end in this order.
    mounted: Mounted,
    store: Arc<LmdbStore>,
    directory: tempfile::TempDir,
}

/// What a script did.
#[derive(Debug)]
pub struct Ran {
    pub script: String,
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn expect_success(self) -> Self {
        assert!(self.success, "{}\nstdout {}\nstderr {}", self.script, self.stdout, self.stderr);
        self
    }

    pub fn expect_failure(self, why: &str) -> Self {
        assert!(!self.success, "succeeded although {why}: {}", self.script);
        self
    }
}

impl Mount {
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        let point = directory.path().join("mnt");
        std::fs::create_dir_all(&point).expect("mount point");
        std::fs::create_dir_all(directory.path().join("outside")).expect("directory outside");
        let store = LmdbStore::open(&directory.path().join("data"), LmdbOptions::default()).expect("store");
        let store = Arc::new(store);
        let database = LocalDatabase::open(Arc::clone(&store) as Arc<dyn Store>, EngineOptions::default()).expect("database");
        let view = View::new(Arc::new(database), ViewOptions::default());
        let mounted = fuse::mount(&MountOptions::new(point), view).expect("mount");
        Self { mounted, store, directory }
    }

    /// The mount point.
    pub fn point(&self) -> PathBuf {
        self.directory.path().join("mnt")
    }

    /// A directory that is not in the mount.
    pub fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    /// Runs a bash script in the mount.
    pub fn sh(&self, script: &str) -> Ran {
        let output = Command::new("timeout")
            .args(["--kill-after=1", &PATIENCE.as_secs().to_string(), "bash", "-c", script])
            .current_dir(self.point())
            .stdin(Stdio::null())
            .output()
            .expect("bash");
        Ran {
            script: script.to_owned(),
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
