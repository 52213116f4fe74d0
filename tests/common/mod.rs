//! A mount of its own for a test: a fresh data directory, the real binary, bash.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// `ddbfs mount` running in a temporary directory; ended and removed on drop.
#[derive(Debug)]
pub struct Mount {
    directory: tempfile::TempDir,
    process: Child,
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
        let process = Command::new(env!("CARGO_BIN_EXE_ddbfs"))
            .arg("mount")
            .arg("--data")
            .arg(directory.path().join("data"))
            .arg(&point)
            .stdin(Stdio::null())
            .spawn()
            .expect("ddbfs");
        let mut mount = Self { directory, process };
        mount.wait_until_mounted();
        mount
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

    fn wait_until_mounted(&mut self) {
        let start = Instant::now();
        while !is_mounted(&self.point()) {
            if let Some(status) = self.process.try_wait().expect("wait") {
                panic!("ddbfs mount ended: {status}");
            }
            assert!(start.elapsed() < PATIENCE, "ddbfs mount does not mount");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let point = self.point();
        let unmounted = Command::new("fusermount3").arg("-u").arg(&point).status().is_ok_and(|status| status.success());
        if !unmounted {
            let _ = Command::new("fusermount3").arg("-uz").arg(&point).status();
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

fn is_mounted(point: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(4) == point.to_str())
}
