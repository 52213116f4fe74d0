//! A file system with nothing to do, the ceiling for the mount: directories of files with one text, all known beforehand.
//!
//! `plain/` is answered as most file systems on fuser answer: what is told may be kept for a second. `kept/` has the same files, and its
//! pages and listings are kept and no flush is asked for. `tree/` is answered as `plain/`, and has a directory for each file.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, Request,
};

const TTL: Duration = Duration::from_secs(1);
const GENERATION: Generation = Generation(0);
/// The same as the mount's own.
const EVENT_THREADS: usize = 2;
const DIRECTORIES: [&str; 3] = ["plain", "kept", "tree"];
const PLAIN: u64 = 2;
const KEPT: u64 = 3;
const TREE: u64 = 4;
/// Numbers from here on are of the entries with the number `n`: four of each, those below and one that is not used.
const ENTRIES: u64 = 8;
/// A file of `plain/`, a file of `kept/`, a directory in `tree/`, the file in it: the rest of a number divided by [`KINDS`].
const KINDS: u64 = 4;
const PLAIN_FILE: u64 = 0;
const KEPT_FILE: u64 = 1;
const BRANCH: u64 = 2;
const LEAF: u64 = 3;
const LEAF_NAME: &str = "a.json";
const SUFFIX: &str = ".json";
const ROOT: u64 = INodeNo::ROOT.0;

/// `count` files `list<n>.json` of that text in each directory, or directories `list<n>` with a file, mounted at `point` until it is
/// unmounted.
pub fn serve(point: &Path, count: u64, text: String) -> io::Result<()> {
    let names = (0..count).map(|n| format!("list{n}.json")).collect();
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("in-memory".to_owned()),
        MountOption::NoAtime,
    ];
    config.n_threads = Some(EVENT_THREADS);
    config.clone_fd = true;
    fuser::mount(
        InMemory {
            names,
            text,
            // The same at each mount, as an index of git needs.
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        },
        point,
        &config,
    )
}

struct InMemory {
    names: Vec<String>,
    text: String,
    time: SystemTime,
}

impl InMemory {
    fn attr(&self, ino: u64) -> FileAttr {
        let (kind, perm, size) = match kind(ino) {
            FileType::Directory => (FileType::Directory, 0o755, 0),
            file => (file, 0o644, self.text.len() as u64),
        };
        FileAttr {
            ino: INodeNo(ino),
            size,
            blocks: size.div_ceil(512),
            atime: self.time,
            mtime: self.time,
            ctime: self.time,
            crtime: self.time,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn find(&self, parent: u64, name: &str) -> Option<u64> {
        if parent == ROOT {
            return DIRECTORIES
                .iter()
                .position(|directory| *directory == name)
                .map(|at| PLAIN + at as u64);
        }
        if parent >= ENTRIES {
            return (name == LEAF_NAME).then_some(parent - BRANCH + LEAF);
        }
        let end = if parent == TREE { "" } else { SUFFIX };
        let n: u64 = name.strip_prefix("list")?.strip_suffix(end)?.parse().ok()?;
        (n < self.names.len() as u64).then(|| entry(parent, n))
    }

    /// The entries of a directory from an offset on, with the offset after each.
    fn entries(&self, directory: u64, offset: u64) -> impl Iterator<Item = (u64, u64, &str)> {
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let (mut roots, mut names, mut leaf) = (&DIRECTORIES[..0], &self.names[..0], None);
        match directory {
            ROOT => roots = &DIRECTORIES,
            ENTRIES.. => leaf = Some((directory - BRANCH + LEAF, LEAF_NAME)),
            _ => names = &self.names,
        }
        let roots = roots.iter().enumerate();
        let names = names.iter().enumerate().skip(skipped);
        let end = if directory == TREE { SUFFIX.len() } else { 0 };
        roots
            .map(|(at, name)| (PLAIN + at as u64, *name))
            .chain(leaf)
            .skip(skipped)
            .chain(
                names.map(move |(n, name)| (entry(directory, n as u64), &name[..name.len() - end])),
            )
            .zip(offset + 1..)
            .map(|((ino, name), next)| (ino, next, name))
    }
}

fn entry(directory: u64, n: u64) -> u64 {
    let kind = match directory {
        KEPT => KEPT_FILE,
        TREE => BRANCH,
        _ => PLAIN_FILE,
    };
    ENTRIES + KINDS * n + kind
}

fn kind(ino: u64) -> FileType {
    if ino < ENTRIES || ino % KINDS == BRANCH {
        FileType::Directory
    } else {
        FileType::RegularFile
    }
}

/// Whether it is of `kept/`, or that itself.
fn is_kept(ino: u64) -> bool {
    ino == KEPT || ino >= ENTRIES && ino % KINDS == KEPT_FILE
}

impl Filesystem for InMemory {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = [
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
        ];
        for capability in wanted {
            config
                .add_capabilities(capability)
                .map_err(|_| io::Error::other("the kernel is too old"))?;
        }
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str().and_then(|name| self.find(parent.0, name)) {
            Some(ino) => reply.entry(&TTL, &self.attr(ino), GENERATION),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        reply.attr(&TTL, &self.attr(ino.0));
    }

    fn open(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let kept = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(
            FileHandle(0),
            if is_kept(ino.0) {
                kept
            } else {
                FopenFlags::empty()
            },
        );
    }

    fn read(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let from = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.text.len());
        let to = from.saturating_add(size as usize).min(self.text.len());
        reply.data(&self.text.as_bytes()[from..to]);
    }

    fn flush(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn opendir(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let kept = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR;
        reply.opened(
            FileHandle(0),
            if is_kept(ino.0) {
                kept
            } else {
                FopenFlags::empty()
            },
        );
    }

    fn readdir(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        for (ino, next, name) in self.entries(ino.0, offset) {
            if reply.add(INodeNo(ino), next, kind(ino), name) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        for (ino, next, name) in self.entries(ino.0, offset) {
            if reply.add(INodeNo(ino), next, name, &TTL, &self.attr(ino), GENERATION) {
                break;
            }
        }
        reply.ok();
    }
}
