//! Ignored tests as processes of their own: started by name with a directory in the environment, they do nothing without it.

use std::io::BufReader;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// Returns a test's name as its binary knows it: `module` is `module_path!()`, which begins with
/// the binary's own name.
pub fn test_name(module: &str, test: &str) -> String {
    let (_, inside) = module.split_once("::").unwrap();
    format!("{inside}::{test}")
}

/// Returns the command that runs an ignored test of this binary with `dir` in the variable `key`.
pub fn own_process(module: &str, test: &str, (key, dir): (&str, &Path)) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--ignored",
            "--exact",
            &test_name(module, test),
            "--nocapture",
        ])
        .env(key, dir);
    command
}

/// Runs such a command under strace with these options; returns its status and output. Prints a
/// notice and returns `None` where there is no strace or it may not trace.
pub fn straced(
    module: &str,
    test: &str,
    given: (&str, &Path),
    options: &[&str],
) -> Option<(ExitStatus, String)> {
    let own = own_process(module, test, given);
    let mut traced = Command::new("strace");
    traced
        .args(options)
        .arg(own.get_program())
        .args(own.get_args())
        .env(given.0, given.1);
    let Ok(output) = traced.output() else {
        eprintln!("strace is not installed: not checked: {options:?}");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if text.contains("PTRACE") {
        eprintln!("strace is not allowed here: not checked: {options:?}");
        return None;
    }
    Some((output.status, text))
}

/// Starts such a command; returns it with its output, to be read while it runs.
pub fn start(module: &str, test: &str, given: (&str, &Path)) -> (Child, BufReader<ChildStdout>) {
    let mut child = own_process(module, test, given)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

/// Runs a command in a process group of its own until it ends or standard input does. Then the
/// group is killed, since a program that it left behind would hold its output open. Its mounts are
/// ended, since a killed process that waits for its own mount would serve no calls and block every
/// process that accesses the mount. `set -m` makes the group, and leaves SIGINT as it is: otherwise
/// a shell ignores it for background commands.
const BOUND: &str = r#"
set -m
exec 3<&0
"$@" < /dev/null 3<&- & own=$!
end() {
  kill -KILL -$own
  grep -F " $TMPDIR/" /proc/self/mounts | cut -d' ' -f2 | xargs -r -n1 umount -fl
}
{ cat <&3; end; } > /dev/null 2>&1 & watch=$!
wait $own; status=$?
end > /dev/null 2>&1
kill -KILL -$watch
exit $status"#;

/// Starts a command that does not outlive this process, however that ends, nor the input that comes
/// with it; its temporary files, and mounts with them, are in `dir`.
pub fn bound(command: &Command, dir: &Path) -> (Child, ChildStdin) {
    let mut bound = Command::new("setsid");
    bound
        .args(["bash", "-c", BOUND, "bash"])
        .arg(command.get_program())
        .args(command.get_args());
    bound
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("TMPDIR", dir);
    let mut child = bound
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take().unwrap();
    (child, input)
}

/// Limits the size of files that this process writes; writes beyond it fail with EFBIG, which the
/// store treats as ENOSPC.
#[allow(unsafe_code)]
pub fn limit_file_size(bytes: libc::rlim_t) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: plain system calls on this process; the limit lives through the call.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}
