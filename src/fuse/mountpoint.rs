//! Mount options, the list of mounts from `/proc/self/mountinfo`, and unmounting of dead mounts.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};

/// The type of our mounts in the kernel's list: with the subtype if fusermount3 mounted, bare if we
/// did, as root.
const FILESYSTEM_TYPES: [&str; 2] = ["fuse.ddbfs", "fuse"];
/// The source of all our mounts, alone or before `#` and the data directory, as in fstab.
const FILESYSTEM_SOURCE: &str = "ddbfs";
const NOT_EMPTY: &str = "holds files, which the mount would hide; choose an empty directory, or mount with -o nonempty to hide them for the while";
const MOUNTINFO: &str = "/proc/self/mountinfo";
/// A directory with an entry for each filesystem that the kernel still holds, mounted or detached,
/// live or dead, by its device number.
const BDI_DIRECTORY: &str = "/sys/class/bdi";

/// The limit of symlinks in a path, as in the kernel: path_resolution(7).
const SYMLINKS_MAX: usize = 40;

/// The options of a mount.
#[derive(Debug, Clone)]
pub struct MountOptions {
    pub mountpoint: PathBuf,
    /// The data directory, which must not be below the mountpoint.
    pub data: Option<PathBuf>,
    pub read_only: bool,
    /// True if the mountpoint may hold files, which are hidden while the mount lasts.
    pub nonempty: bool,
    /// True if other users have access; the kernel then enforces the permission bits.
    pub allow_other: bool,
    /// The owner of the files; by default the mounting user and group.
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// The permission bits that no file and no directory has.
    pub umask: u16,
    /// True if extended attributes are unsupported, so that the kernel stops asking for them.
    pub no_xattr: bool,
    /// True if the kernel may cache nothing.
    pub no_cache: bool,
    /// The number of threads that answer the kernel, and so of calls that may wait for a remote
    /// service at a time.
    pub event_threads: usize,
    /// The time that a call that may hold the lock of a file waits for a notification of the
    /// kernel. The notification may wait for that lock, which is rare: a program must remove
    /// `X.patch` while it is written. After this time the call is answered although the kernel is
    /// not notified.
    pub notify_timeout: Duration,
}

/// The default of `notify_timeout`: much longer than a busy machine needs.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// The default number of event threads: two are the best for most loads (with more, a single client
/// was a fifth slower); each has a file descriptor of its own.
const EVENT_THREADS: usize = 2;
/// The number of event threads where each call may wait for a remote service.
pub const EVENT_THREADS_REMOTE: usize = 32;

/// The default umask: `rwxr-xr-x` for directories, `rw-r--r--` for files.
pub const UMASK: u16 = 0o022;

impl MountOptions {
    /// Creates options of a writable mount.
    #[must_use]
    pub fn new(mountpoint: impl Into<PathBuf>) -> Self {
        Self {
            mountpoint: mountpoint.into(),
            data: None,
            read_only: false,
            nonempty: false,
            allow_other: false,
            uid: None,
            gid: None,
            umask: UMASK,
            no_xattr: false,
            no_cache: false,
            event_threads: EVENT_THREADS,
            notify_timeout: NOTIFY_TIMEOUT,
        }
    }
}

/// The state of a path in the list of mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountpointState {
    /// Nothing is mounted there.
    Nothing,
    /// A ddbfs that answers.
    Live,
    /// A ddbfs without a process: "Transport endpoint is not connected".
    Dead,
    /// Another filesystem, with its type.
    Other(String),
}

/// Returns the state of the mount at `mountpoint`.
///
/// # Errors
/// The path, or the list of mounts, cannot be read.
pub fn state(mountpoint: &Path) -> io::Result<MountpointState> {
    let path = absolute_path(mountpoint)?;
    let Some(line) = topmost(&std::fs::read(MOUNTINFO)?, &path) else {
        return Ok(MountpointState::Nothing);
    };
    if !line.is_ours() {
        return Ok(MountpointState::Other(line.kind));
    }
    match std::fs::metadata(&path) {
        // ECONNABORTED: the mount ended during this call.
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::ENOTCONN | libc::ECONNABORTED)
            ) =>
        {
            Ok(MountpointState::Dead)
        }
        _ => Ok(MountpointState::Live),
    }
}

/// Returns a file that exists as long as the kernel holds the filesystem at `mountpoint`, also if
/// that is dead, or detached and in use.
#[must_use]
pub fn bdi_path(mountpoint: &Path) -> Option<PathBuf> {
    Some(
        Path::new(BDI_DIRECTORY).join(topmost(&std::fs::read(MOUNTINFO).ok()?, mountpoint)?.device),
    )
}

/// A ddbfs in the list of mounts, live or dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    pub path: PathBuf,
    /// The user that mounted it.
    pub user: Option<u32>,
    /// True if other users have access.
    pub allows_others: bool,
}

/// A mount's connection to the kernel.
#[derive(Debug)]
pub struct FuseConnection {
    /// The absolute path of the mountpoint.
    pub path: PathBuf,
    /// The data directory, if the list of mounts names it.
    pub data: Option<PathBuf>,
    /// Major and minor number of the device, as in `0:40`.
    device: String,
    /// The mount id of mountinfo.
    id: String,
    /// The `abort` file of the connection. Opened at the beginning: the number of a dead connection
    /// may be reused by another mount, and an open file is not.
    abort_file: Option<File>,
}

/// Another mount of the same filesystem: at a second path, or in another mount namespace.
#[derive(Debug)]
pub struct OtherMount {
    /// The mount id of mountinfo.
    pub id: String,
    /// A process that sees it.
    pub process: u32,
    /// The path at which that process sees it.
    pub path: PathBuf,
}

/// Returns the connection of the ddbfs that is mounted at a path. Sends it no request, so this
/// never waits for it.
///
/// # Errors
/// The path, or the list of mounts, cannot be read.
pub fn connection(mountpoint: &Path) -> io::Result<Option<FuseConnection>> {
    let path = absolute_path(mountpoint)?;
    let line = topmost(&std::fs::read(MOUNTINFO)?, &path);
    Ok(line.filter(MountinfoLine::is_ours).map(|line| {
        let data = line
            .source
            .split_once('#')
            .map(|(_, data)| PathBuf::from(data));
        let mut connection = FuseConnection {
            path,
            data,
            device: line.device,
            id: line.id,
            abort_file: None,
        };
        connection.abort_file = connection
            .abort_path()
            .and_then(|file| OpenOptions::new().write(true).open(file).ok());
        connection
    }))
}

impl FuseConnection {
    /// Returns a file that exists as long as the kernel holds the filesystem.
    #[must_use]
    pub fn bdi_path(&self) -> PathBuf {
        Path::new(BDI_DIRECTORY).join(&self.device)
    }

    /// Returns a file that exists as long as the kernel holds the connection, if /sys/fs/fuse has
    /// it.
    #[must_use]
    pub fn abort_path(&self) -> Option<PathBuf> {
        let (_, minor) = self.device.split_once(':')?;
        let file = Path::new("/sys/fs/fuse/connections")
            .join(minor)
            .join("abort");
        file.exists().then_some(file)
    }

    /// Returns the other mounts of the filesystem, in all readable mount namespaces.
    #[must_use]
    pub fn other_mounts(&self) -> Vec<OtherMount> {
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let (mut namespaces, mut copies) = (HashSet::new(), Vec::new());
        for directory in processes.map_while(Result::ok).map(|entry| entry.path()) {
            let process = directory
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok());
            let namespace = std::fs::read_link(directory.join("ns/mnt"));
            if let (Some(process), Ok(namespace)) = (process, namespace)
                && namespaces.insert(namespace)
                && let Ok(mountinfo) = std::fs::read(directory.join("mountinfo"))
            {
                let others = parse_mountinfo(&mountinfo)
                    .filter(|line| line.device == self.device && line.id != self.id);
                copies.extend(others.map(|line| OtherMount {
                    id: line.id,
                    process,
                    path: line.path,
                }));
            }
        }
        copies
    }

    /// Aborts the connection: every waiting call fails, and the mount is dead.
    ///
    /// # Errors
    /// The kernel refuses to abort the connection.
    pub fn abort(&self) -> io::Result<()> {
        if let Some(mut file) = self.abort_file.as_ref()
            && file.write_all(b"1").is_ok()
        {
            return Ok(());
        }
        // Another filesystem may be mounted there now.
        if connection(&self.path)?.is_none_or(|now| now.device != self.device) {
            return Ok(());
        }
        // The open file keeps the mount itself, and O_PATH sends no request to it.
        let held = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(&self.path)?;
        let forced = umount2(&self.path, MntFlags::UMOUNT_NOFOLLOW | MntFlags::MNT_FORCE);
        drop(held);
        match forced {
            Err(Errno::EBUSY) => Ok(()),
            forced => Ok(forced?),
        }
    }
}

/// Returns every ddbfs in the list of mounts. Sends them no request, so this never waits.
///
/// # Errors
/// The list of mounts cannot be read.
pub fn all() -> io::Result<Vec<MountEntry>> {
    Ok(ddbfs_mounts(&std::fs::read(MOUNTINFO)?))
}

/// Returns the ddbfs that a path leads into, and the path from its root. Symlinks outside are
/// followed. Sends no request to a ddbfs, so this never waits for one; inside a mount, directories
/// are not checked.
///
/// # Errors
/// The list of mounts, or the working directory, cannot be read.
pub fn find_mount(path: &Path) -> io::Result<Option<(MountEntry, PathBuf)>> {
    let ours = all()?;
    let mut rest: Vec<OsString> = Vec::new();
    let push =
        |rest: &mut Vec<OsString>, path: &Path| rest.extend(path.iter().rev().map(OsString::from));
    push(&mut rest, &std::path::absolute(path)?);
    let (mut at, mut links) = (PathBuf::new(), 0);
    let inside = |at: &Path| {
        ours.iter()
            .filter(|mount| at.starts_with(&mount.path))
            .max_by_key(|mount| mount.path.as_os_str().len())
    };
    while let Some(name) = rest.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        if inside(&at).is_none()
            && let Ok(target) = at.read_link()
        {
            links += 1;
            if links > SYMLINKS_MAX {
                return Ok(None);
            }
            at.pop();
            push(&mut rest, &target);
        }
    }
    let found = inside(&at)
        .and_then(|mount| Some((mount.clone(), at.strip_prefix(&mount.path).ok()?.to_owned())));
    Ok(found)
}

impl MountEntry {
    /// True if this user has access.
    #[must_use]
    pub fn allows(&self, user: u32) -> bool {
        self.user == Some(user) || self.allows_others
    }
}

fn ddbfs_mounts(mountinfo: &[u8]) -> Vec<MountEntry> {
    let mut topmost: Vec<MountinfoLine> = Vec::new();
    for line in parse_mountinfo(mountinfo) {
        topmost.retain(|below| below.path != line.path);
        topmost.push(line);
    }
    topmost
        .into_iter()
        .filter(MountinfoLine::is_ours)
        .map(MountEntry::from)
        .collect()
}

impl From<MountinfoLine> for MountEntry {
    fn from(line: MountinfoLine) -> Self {
        let mut options = line.options.split(',');
        let allows_others = options.clone().any(|option| option == "allow_other");
        let user = options
            .find_map(|option| option.strip_prefix("user_id="))
            .and_then(|id| id.parse().ok());
        Self {
            path: line.path,
            user,
            allows_others,
        }
    }
}

/// Returns the source for the list of mounts: `ddbfs#DIR`, so that `mount -a` recognizes the mount
/// of such a line in fstab.
#[must_use]
pub fn source_name(data: Option<&Path>) -> String {
    let data = data
        .and_then(|data| data.canonicalize().ok())
        .and_then(|data| data.to_str().map(str::to_owned));
    match data {
        // The source must be a word in a list of mount options.
        Some(data) if !data.contains([',', '\\']) => format!("{FILESYSTEM_SOURCE}#{data}"),
        _ => FILESYSTEM_SOURCE.to_owned(),
    }
}

/// Checks a directory before a mount; returns its absolute path.
pub fn prepare(mountpoint: &Path, data: Option<&Path>, nonempty: bool) -> io::Result<PathBuf> {
    let refuse = |why: String| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{}: {why}", mountpoint.display()),
        )
    };
    match state(mountpoint)? {
        MountpointState::Nothing => {}
        MountpointState::Dead => {
            log::info!("{}: clearing a dead mount", mountpoint.display());
            detach(&absolute_path(mountpoint)?)?;
        }
        MountpointState::Live => {
            return Err(refuse(
                "a ddbfs is mounted here already; end it with: ddbfs umount".to_owned(),
            ));
        }
        MountpointState::Other(kind) => {
            return Err(refuse(format!(
                "a filesystem of type {kind} is mounted here"
            )));
        }
    }
    let path = mountpoint.canonicalize().map_err(|error| {
        io::Error::new(error.kind(), format!("{}: {error}", mountpoint.display()))
    })?;
    if !path.is_dir() {
        return Err(refuse("is not a directory".to_owned()));
    }
    // The daemon would wait for itself.
    if let Some(data) = data
        && absolute_path(data)?.starts_with(&path)
    {
        return Err(refuse(
            "the data directory is below it; choose another mountpoint".to_owned(),
        ));
    }
    if !nonempty && holds_files(&path) {
        return Err(refuse(NOT_EMPTY.to_owned()));
    }
    Ok(path)
}

/// True if the directory holds files; an unreadable directory counts as empty.
fn holds_files(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut names| names.next().is_some())
}

/// Unmounts a ddbfs that is not in use. Sends it no request, so this never waits for it.
///
/// # Errors
/// No ddbfs is mounted there, it is in use, or the kernel refuses.
pub fn unmount(mountpoint: &Path) -> io::Result<()> {
    let path = absolute_path(mountpoint)?;
    match topmost(&std::fs::read(MOUNTINFO)?, &path) {
        Some(line) if line.is_ours() => umount(&path, false),
        Some(line) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("this is a mount of type {}, not ddbfs", line.kind),
        )),
        None => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "nothing is mounted here",
        )),
    }
}

/// Detaches a mount from the tree even if it is in use.
pub fn detach(mountpoint: &Path) -> io::Result<()> {
    umount(mountpoint, true)
}

fn umount(path: &Path, lazy: bool) -> io::Result<()> {
    let flags = if lazy {
        MntFlags::MNT_DETACH
    } else {
        MntFlags::empty()
    };
    // The path is canonical: a symlink there was made since.
    match umount2(path, MntFlags::UMOUNT_NOFOLLOW | flags) {
        // umount2(2) is for root; the setuid helper unmounts a user's own mounts.
        Err(Errno::EPERM) => fusermount(path, lazy),
        ended => Ok(ended?),
    }
}

fn fusermount(path: &Path, lazy: bool) -> io::Result<()> {
    let flags = if lazy { "-uz" } else { "-u" };
    let output = Command::new("fusermount3")
        .arg(flags)
        .arg("--")
        .arg(path)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

/// Returns the absolute path without symlinks. Sends no request to a mount at that path, because it
/// may be dead or hang.
fn absolute_path(path: &Path) -> io::Result<PathBuf> {
    let why =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let plain = std::path::absolute(path)?;
    if let (Some(parent), Some(name)) = (plain.parent(), plain.file_name())
        && let Ok(parent) = parent.canonicalize()
        && topmost(&std::fs::read(MOUNTINFO)?, &parent.join(name)).is_some()
    {
        return Ok(parent.join(name));
    }
    path.canonicalize().map_err(why)
}

/// Returns the topmost mount at exactly this path.
fn topmost(mountinfo: &[u8], path: &Path) -> Option<MountinfoLine> {
    parse_mountinfo(mountinfo)
        .filter(|line| line.path == path)
        .last()
}

/// A mount in the text of mountinfo.
struct MountinfoLine {
    id: String,
    /// Major and minor number of the device.
    device: String,
    path: PathBuf,
    kind: String,
    source: String,
    /// The options of the filesystem, such as `user_id=0,allow_other`.
    options: String,
}

impl MountinfoLine {
    fn is_ours(&self) -> bool {
        let rest = self.source.strip_prefix(FILESYSTEM_SOURCE);
        FILESYSTEM_TYPES.contains(&self.kind.as_str())
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    }
}

/// Parses the text of mountinfo; a later mount lies above an earlier one at the same path: proc(5).
fn parse_mountinfo(mountinfo: &[u8]) -> impl Iterator<Item = MountinfoLine> {
    mountinfo.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let id = String::from_utf8_lossy(fields.next()?).into_owned();
        let device = String::from_utf8_lossy(fields.nth(1)?).into_owned();
        let path = unescape(fields.nth(1)?);
        // Any number of optional fields precedes the dash.
        let mut after = fields.skip_while(|field| *field != b"-").skip(1);
        let text = |field: &[u8]| unescape(field).to_string_lossy().into_owned();
        Some(MountinfoLine {
            id,
            device,
            path,
            kind: text(after.next()?),
            source: text(after.next()?),
            options: text(after.next()?),
        })
    })
}

/// Decodes a field of mountinfo, where blank, tab, newline, backslash and `#` are `\ooo`.
fn unescape(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match (byte, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = tail;
            }
            _ => out.push(byte),
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
        40 22 0:40 / /mnt/a\\040b rw,nosuid shared:7 master:2 - fuse.ddbfs ddbfs rw,user_id=0\n\
        41 22 0:41 / /mnt/c rw - tmpfs tmpfs rw\n\
        42 41 0:42 / /mnt/c rw - fuse ddbfs rw\n\
        43 41 0:43 / /mnt/d rw - fuse ddbfs\\043/data rw\n";

    #[test]
    fn mountinfo_is_read_by_path_and_the_last_mount_wins() {
        let cases = [
            ("/", Some(("ext4", "/dev/sda1"))),
            ("/mnt/a b", Some(("fuse.ddbfs", "ddbfs"))),
            ("/mnt/c", Some(("fuse", "ddbfs"))),
            ("/mnt/d", Some(("fuse", "ddbfs#/data"))),
            ("/mnt", None),
        ];
        for (path, expected) in cases {
            let expected = expected.map(|(kind, source)| (kind.to_owned(), source.to_owned()));
            let found = topmost(MOUNTS, Path::new(path)).map(|line| (line.kind, line.source));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn devices_are_read() {
        let devices: Vec<_> = parse_mountinfo(MOUNTS).map(|line| line.device).collect();
        assert_eq!(devices, ["8:1", "0:40", "0:41", "0:42", "0:43"]);
    }

    #[test]
    fn ours_are_listed_with_their_users_and_what_is_mounted_over_is_not() {
        let over = b"44 22 0:44 / /mnt/d rw - tmpfs tmpfs rw\n45 22 0:45 / /mnt/e rw - fuse.ddbfs ddbfs rw,user_id=7,allow_other\n\
            46 22 0:46 / /mnt/f rw - fuse.sshfs ddbfs rw\n";
        let found = ddbfs_mounts(&[MOUNTS, over].concat());
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.path.to_str().unwrap(), one.user, one.allows_others))
            .collect();
        assert_eq!(
            told,
            [
                ("/mnt/a b", Some(0), false),
                ("/mnt/c", None, false),
                ("/mnt/e", Some(7), true)
            ]
        );
    }

    #[test]
    fn a_directory_can_be_mounted_on_when_it_is_empty_or_that_is_allowed_and_the_data_is_not_below()
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let data = path.join("data");
        std::fs::create_dir(&data).unwrap();
        assert_eq!(state(&path).unwrap(), MountpointState::Nothing);
        assert_eq!(prepare(&path, None, true).unwrap(), path);
        assert!(
            prepare(&path, None, false)
                .unwrap_err()
                .to_string()
                .contains("-o nonempty")
        );
        assert!(prepare(&path, Some(&data), true).is_err());
        assert!(prepare(&data, Some(&path), false).is_ok());
        assert!(prepare(&path.join("none"), None, false).is_err());
        assert!(unmount(&path).is_err());
    }
}
