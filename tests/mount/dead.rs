//! Mounts with a process that is gone or stopped while calls wait for it. In any case an
//! independent process ends the mount's connection: a call that waits in the kernel cannot be
//! killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use crate::kept::cost;
use crate::support::daemon::{DDBFS, Mount, free_address, post, texts};
use crate::support::wait::until;
use crate::support::watchdog::mount_connections;

/// The process name of a watchdog, once it watches.
const NAME: &str = "mount-watchdog";

/// A process that ends the connection of a mount when this test has not ended in time; it ends with
/// its input.
struct Rescue(Child);

impl Rescue {
    fn of(mount: &Mount) -> Self {
        mount_connections().unwrap();
        let script = "n=$(stat -c %Hd:%Ld \"$1\"); read -t 90; [ $? -gt 128 ] && echo 1 > /sys/fs/fuse/connections/${n#*:}/abort";
        let mut command = Command::new("bash");
        Self(
            command
                .args(["-c", script, "bash"])
                .arg(mount.point())
                .stdin(Stdio::piped())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Rescue {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A script that stops the two threads of the mount that answer the kernel, until the end of its
/// input.
const STOPPER: &str = "
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
tasks = f'/proc/{sys.argv[1]}/task'
names = [t for t in os.listdir(tasks) if open(f'{tasks}/{t}/comm').read().startswith('fuser-')]
for task in map(int, names):
    if libc.ptrace(16, task, None, None): sys.exit(os.strerror(ctypes.get_errno()))
    os.waitpid(task, 0x40000000)
print(len(names), flush=True)
sys.stdin.read()
";

/// A script that holds a descriptor of the mount's connection, like a thread that waits in the
/// kernel; it closes it at the end of its input.
const HOLDER: &str = "
import ctypes, os, sys
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
names = os.listdir(f'/proc/{pid}/fd')
held = [int(n) for n in names if os.readlink(f'/proc/{pid}/fd/{n}') == '/dev/fuse']
process = libc.syscall(434, pid, 0)
held = [libc.syscall(438, process, n, 0) for n in held]
print(len(held) if min(held) >= 0 else os.strerror(ctypes.get_errno()), flush=True)
sys.stdin.read()
";

/// Starts Python; returns it with its input, and the first line of its output.
fn python(script: &str, argument: &str) -> (Child, Option<ChildStdin>, String) {
    let mut command = Command::new("python3");
    let mut child = command
        .args(["-c", script, argument])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, mut line) = (child.stdin.take(), String::new());
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, input, line.trim().to_owned())
}

/// Runs ddbfs, which must end by itself.
fn bounded(arguments: &[&str], path: &Path) -> Output {
    Command::new("timeout")
        .args(["-s", "KILL", "60", DDBFS])
        .args(arguments)
        .arg(path)
        .output()
        .unwrap()
}

/// Returns the watchdog of a mount: its process, name and process group.
fn watchdog(daemon: u32) -> Option<(u32, String, String)> {
    let children = fs::read_to_string(format!("/proc/{daemon}/task/{daemon}/children")).ok()?;
    children.split_whitespace().find_map(|child| {
        let arguments = fs::read(format!("/proc/{child}/cmdline")).ok()?;
        let name = fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        let group = stat.rsplit_once(") ")?.1.split(' ').nth(2)?.to_owned();
        let is_one = arguments
            .split(|byte| *byte == 0)
            .any(|word| word == b"watch-mount");
        is_one.then(|| (child.parse().unwrap(), name.trim().to_owned(), group))
    })
}

/// Kills a mount together with its watchdog while a notification waits for a directory, which waits
/// for a reply; returns the waiting process.
fn stuck(mount: &mut Mount, address: &str) -> Child {
    mount.ok("mkdir Orders@id:S");
    let (item, pid) = (mount.point().join("Orders/items/i.json"), mount.pid());
    post(
        address,
        "PutItem",
        r#"{"TableName":"Orders","Item":{"id":{"S":"i"}}}"#,
    )
    .unwrap();
    until("it is not kept", || cost(&mount.point(), &item) < 60);
    // In the directory from before, as its own name may have to be looked up again.
    let mut sh = Command::new("sh");
    sh.args(["-c", "read go; test -e none.json"])
        .current_dir(item.parent().unwrap());
    let mut waiting = sh.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stopper, input, stopped) = python(STOPPER, &pid.to_string());
    assert_eq!(stopped, "2", "threads that answer");
    waiting.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let at = format!("/proc/{}/wchan", waiting.id());
    until("nobody waits", || {
        fs::read_to_string(&at).is_ok_and(|at| at == "request_wait_answer")
    });
    let to = address.to_owned();
    std::thread::spawn(move || {
        post(
            &to,
            "DeleteItem",
            r#"{"TableName":"Orders","Key":{"id":{"S":"i"}}}"#,
        )
    });
    let is_stuck = |task: fs::DirEntry| {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        read("comm").starts_with("ddbfs-names") && read("wchan").contains("fuse_reverse_inval")
    };
    until("no notification waits", || {
        fs::read_dir(format!("/proc/{pid}/task"))
            .unwrap()
            .any(|task| task.is_ok_and(is_stuck))
    });
    let (watchdog, ..) = watchdog(pid).unwrap();
    // One by one, as there is no other way, but so that neither acts in between.
    mount.signal("-STOP");
    for (signal, process) in [("-STOP", watchdog), ("-9", watchdog), ("-9", pid)] {
        assert!(
            Command::new("kill")
                .args([signal, &process.to_string()])
                .status()
                .unwrap()
                .success()
        );
    }
    drop(input);
    stopper.wait().unwrap();
    until("the process ends", || {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    });
    waiting
}

#[test]
fn nobody_waits_for_a_mount_that_was_killed_while_a_thread_of_it_is_in_the_kernel() {
    let mut mount = Mount::empty();
    until("no watchdog", || {
        watchdog(mount.pid()).is_some_and(|(_, name, _)| name == NAME)
    });
    let (mut holder, input, held) = python(HOLDER, &mount.pid().to_string());
    assert!(held.parse::<u32>().is_ok_and(|held| held > 0), "{held}");
    mount.kill();
    let looked = Command::new("timeout")
        .args(["-s", "KILL", "60", "stat"])
        .arg(mount.point())
        .output()
        .unwrap();
    // ENOTCONN, or ECONNABORTED for a call that came a moment before the end.
    assert!(
        ["not connected", "connection abort"]
            .iter()
            .any(|why| texts(&looked).1.contains(why)),
        "{looked:?}"
    );
    drop(input);
    holder.wait().unwrap();
}

#[test]
fn umount_frees_a_mount_that_was_killed_with_its_watchdog_while_the_kernel_was_told() {
    let address = free_address();
    let mut mount = Mount::with_args(&["--http", &address]);
    let rescue = Rescue::of(&mount);
    let mut waiting = stuck(&mut mount, &address);
    assert!(waiting.try_wait().unwrap().is_none(), "nothing waits");
    let ended = bounded(&["umount"], &mount.point());
    assert!(
        ended.status.success() && texts(&ended).1.contains("was dead and did not answer"),
        "{ended:?}"
    );
    assert!(!waiting.wait().unwrap().success());
    mount.kill();
    mount.start(&[]);
    mount.ok("test ! -e Orders/items/i.json");
    drop(rescue);
}

#[test]
fn mounting_where_such_a_mount_is_frees_it() {
    let address = free_address();
    let mut mount = Mount::with_args(&["--http", &address]);
    let rescue = Rescue::of(&mount);
    let mut waiting = stuck(&mut mount, &address);
    let data = mount.data();
    let again = bounded(
        &["mount", "--background", "--data", data.to_str().unwrap()],
        &mount.point(),
    );
    assert!(again.status.success(), "{again:?}");
    assert!(!waiting.wait().unwrap().success());
    mount.kill();
    mount.ok("test ! -e Orders/items/i.json");
    assert!(bounded(&["umount"], &mount.point()).status.success());
    drop(rescue);
}

#[test]
fn a_watchdog_that_is_killed_is_replaced_and_is_not_killed_by_the_name_or_group_of_the_mount() {
    let mount = Mount::empty();
    let is_apart =
        |(id, name, group): &(u32, String, String)| name == NAME && *group == id.to_string();
    until("no watchdog", || {
        watchdog(mount.pid()).as_ref().is_some_and(is_apart)
    });
    let (first, ..) = watchdog(mount.pid()).unwrap();
    assert!(
        Command::new("kill")
            .args(["-9", &first.to_string()])
            .status()
            .unwrap()
            .success()
    );
    until("no other", || {
        watchdog(mount.pid()).is_some_and(|second| second.0 != first && is_apart(&second))
    });
}

#[test]
fn where_a_mount_is_stopped_nothing_is_mounted_or_unmounted_that_is_used_and_its_process_is_named()
{
    let mut mount = Mount::empty();
    let rescue = Rescue::of(&mount);
    let pid = mount.pid().to_string();
    let mut user = Command::new("sleep")
        .arg("600")
        .current_dir(mount.point())
        .spawn()
        .unwrap();
    mount.signal("-STOP");
    let refused = [
        bounded(&["umount"], &mount.point()),
        bounded(&["mount", "--data", "/nowhere"], &mount.point()),
    ];
    mount.signal("-CONT");
    user.kill().unwrap();
    user.wait().unwrap();
    for output in refused {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            texts(&output).1.contains(&format!(
                "process {pid}, which has its data open, may be stopped"
            )),
            "{output:?}"
        );
    }
    let ended = bounded(&["umount"], &mount.point());
    assert!(ended.status.success(), "{ended:?}");
    assert!(mount.wait().success());
    drop(rescue);
}
