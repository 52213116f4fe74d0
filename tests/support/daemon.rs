//! A real mount of the `ddbfs` binary for tests, and shells run in it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::elsewhere::Server;
use super::wait::until;

pub const DDBFS: &str = env!("CARGO_BIN_EXE_ddbfs");

/// A mounted data directory; unmounted when dropped.
pub struct Mount {
    /// The mount point is `dir/mnt`, the data directory `dir/data`.
    pub dir: tempfile::TempDir,
    data: PathBuf,
    child: Option<Child>,
    /// The server that is mounted, if it is not the data directory.
    server: Option<Server>,
}

impl Mount {
    /// Mounts an empty data directory.
    pub fn empty() -> Self {
        Self::with_args(&[])
    }

    /// Mounts the sample tables.
    pub fn with_samples() -> Self {
        Self::with_samples_and(&[])
    }

    /// Mounts the sample tables with further arguments of `ddbfs mount`.
    pub fn with_samples_and(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        if let Some(server) = Server::wanted() {
            super::mounted::load_samples(&*server.database());
            return Self::in_dir(dir, args, &[], Some(server));
        }
        let status = Command::new(DDBFS)
            .arg("sample")
            .arg("--data")
            .arg(dir.path().join("data"))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "ddbfs sample failed");
        Self::at(dir, args)
    }

    /// Mounts an empty data directory with further arguments of `ddbfs mount`.
    pub fn with_args(args: &[&str]) -> Self {
        Self::at(tempfile::tempdir().unwrap(), args)
    }

    /// Mounts with further arguments and variables of the environment.
    pub fn with_env(args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::in_dir(
            tempfile::tempdir().unwrap(),
            args,
            variables,
            Server::wanted(),
        )
    }

    fn at(dir: tempfile::TempDir, args: &[&str]) -> Self {
        Self::in_dir(dir, args, &[], Server::wanted())
    }

    fn in_dir(
        dir: tempfile::TempDir,
        args: &[&str],
        variables: &[(&str, &str)],
        server: Option<Server>,
    ) -> Self {
        std::fs::create_dir_all(dir.path().join("mnt")).unwrap();
        let data = dir.path().join("data");
        let mut mount = Self {
            dir,
            data,
            child: None,
            server,
        };
        mount.start_with(args, variables);
        mount
    }

    /// Mounts a data directory once more.
    pub fn beside(data: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("mnt")).unwrap();
        let mut mount = Self {
            dir,
            data: data.to_owned(),
            child: None,
            server: None,
        };
        mount.start(&[]);
        mount
    }

    /// Starts the daemon and waits until the mount answers.
    pub fn start(&mut self, args: &[&str]) {
        self.start_with(args, &[]);
    }

    fn start_with(&mut self, args: &[&str], variables: &[(&str, &str)]) {
        let mut command = Command::new(DDBFS);
        command.arg("mount").arg("--data").arg(self.data());
        if let Some(server) = &self.server {
            server.apply(&mut command);
        }
        let mut child = command
            // What a test spends is not counted for the user that runs it.
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .envs(variables.iter().copied())
            .args(args)
            .arg(self.point())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until("the mount comes up", || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("ddbfs mount ended early: {status}");
            }
            self.point().join("README.md").exists()
        });
        self.child = Some(child);
    }

    pub fn point(&self) -> PathBuf {
        self.dir.path().join("mnt")
    }

    pub fn data(&self) -> PathBuf {
        self.data.clone()
    }

    /// Returns the daemon's process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Kills the daemon with `kill -9`; the mount point is left dead.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Returns the exit status of the daemon, which was told to end.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.take().unwrap().wait().unwrap()
    }

    /// Sends a signal to the daemon.
    pub fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.pid().to_string()])
                .status()
                .unwrap()
                .success(),
            "kill {signal}"
        );
    }

    /// Sends SIGTERM, and returns the daemon's exit status.
    pub fn terminate(&mut self) -> std::process::ExitStatus {
        self.signal("-TERM");
        self.wait()
    }

    /// Returns the anonymous memory of the daemon, in KiB; mapped files, such as the database, do
    /// not count.
    pub fn anonymous_kib(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid())).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("Anonymous:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Runs `ddbfs umount`, and waits for the daemon's end.
    pub fn unmount(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let status = Command::new(DDBFS)
            .arg("umount")
            .arg(self.point())
            .status()
            .unwrap();
        if !status.success() && !self.ends_with_a_copy(&mut child) {
            let _ = child.kill();
            let _ = Command::new("umount").arg("-l").arg(self.point()).status();
        }
        let _ = child.wait();
    }

    /// Waits for the daemon after its mount is gone here: a concurrent test, in a mount namespace
    /// of its own, has a copy of the mount for a moment.
    fn ends_with_a_copy(&self, child: &mut Child) -> bool {
        let point = self.point();
        let is_mounted = || {
            std::fs::read_to_string("/proc/self/mounts")
                .unwrap()
                .contains(point.to_str().unwrap())
        };
        let mut has_ended = false;
        until("the daemon ends, whose mount is gone", || {
            has_ended = child.try_wait().unwrap().is_some();
            has_ended || is_mounted()
        });
        has_ended
    }

    /// Runs a bash script, in a session of its own, in the mount point.
    pub fn bash(&self, script: &str) -> Output {
        bash_in(&self.point(), script)
    }

    /// Runs a script that must end with status 0 and nothing on standard error; returns its output.
    pub fn ok(&self, script: &str) -> String {
        let output = self.bash(script);
        let (out, err) = texts(&output);
        assert!(
            output.status.success() && err.is_empty(),
            "{script}\n{}\nstdout: {out}\nstderr: {err}",
            output.status
        );
        out
    }

    /// Runs a script that must fail; returns its standard error.
    pub fn fails(&self, script: &str) -> String {
        let output = self.bash(script);
        let (out, err) = texts(&output);
        assert!(
            !output.status.success(),
            "{script}\nsucceeded\nstdout: {out}\nstderr: {err}"
        );
        err
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.unmount();
        let _ = Command::new("umount")
            .arg("-l")
            .arg(self.point())
            .stderr(Stdio::null())
            .status();
    }
}

/// Runs a bash script in `dir` in a session of its own, with `ddbfs` on the PATH.
pub fn bash_in(dir: &Path, script: &str) -> Output {
    let bin = Path::new(DDBFS).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("setsid")
        .args(["--wait", "bash", "-c", script])
        .current_dir(dir)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Returns a loopback address that is free, for `--http`.
///
/// The port is below the range from which the kernel takes the ports of clients (ip(7)), so that no connection of another
/// test can have it before it is bound, and a connection to it is refused until then.
pub fn free_address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + std::process::id().wrapping_mul(7919).wrapping_add(step) % 20_000;
        let address = format!("127.0.0.1:{port}");
        if std::net::TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// Makes one call of the API on a connection of its own; returns the whole response, head and body.
/// Fails when the daemon is gone.
pub fn post(address: &str, operation: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let request = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\nContent-Type: application/x-amz-json-1.0\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n\
         X-Amz-Date: 20260101T000000Z\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Returns standard output and standard error as text.
pub fn texts(output: &Output) -> (String, String) {
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Runs `ddbfs check` on a data directory; returns true if it is clean, and its report.
pub fn check(data: &Path) -> (bool, String) {
    let output = Command::new(DDBFS)
        .arg("check")
        .arg("--data")
        .arg(data)
        .output()
        .unwrap();
    let (out, err) = texts(&output);
    (output.status.success(), out + &err)
}
