//! A file system with nothing to do, the ceiling for the mount: two directories of files with one text, all known beforehand.
//!
//! `plain/` is answered as most file systems on fuser answer: what is told may be kept for a second. `kept/` has the same files, and its
//! pages and listings are kept and no flush is asked for.

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
const DIRECTORIES: [&str; 2] = ["plain", "kept"];
const PLAIN: u64 = 2;
const KEPT: u64 = 3;
/// Files of `plain` have even numbers from here on, those of `kept` the odd ones.
const FILES: u64 = 4;

/// `count` files `list<n>.json` of that text in each directory, mounted at `point` until it is unmounted.
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
            time: SystemTime::now(),
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
        let (kind, perm, size) = if ino < FILES {
            (FileType::Directory, 0o755, 0)
        } else {
            (FileType::RegularFile, 0o644, self.text.len() as u64)
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
        if parent == INodeNo::ROOT.0 {
            return DIRECTORIES
                .iter()
                .position(|directory| *directory == name)
                .map(|at| PLAIN + at as u64);
        }
        let n: u64 = name
            .strip_prefix("list")?
            .strip_suffix(".json")?
            .parse()
            .ok()?;
        (n < self.names.len() as u64).then(|| file(parent, n))
    }

    /// The entries of a directory from an offset on, with the offset after each.
    fn entries(&self, directory: u64, offset: u64) -> impl Iterator<Item = (u64, u64, &str)> {
        let root = directory == INodeNo::ROOT.0;
        let roots = DIRECTORIES
            .iter()
            .enumerate()
            .filter(move |_| root)
            .map(|(at, name)| (PLAIN + at as u64, *name));
        let skipped = if root {
            self.names.len()
        } else {
            usize::try_from(offset).unwrap_or(usize::MAX)
        };
        let names = self
            .names
            .iter()
            .enumerate()
            .skip(skipped)
            .map(move |(n, name)| (file(directory, n as u64), name.as_str()));
        let skipped = if root {
            usize::try_from(offset).unwrap_or(usize::MAX)
        } else {
            0
        };
        roots
            .skip(skipped)
            .chain(names)
            .zip(offset + 1..)
            .map(|((ino, name), next)| (ino, next, name))
    }
}

fn file(directory: u64, n: u64) -> u64 {
    FILES + 2 * n + u64::from(directory == KEPT)
}

/// Whether it is of `kept/`, or that itself.
fn is_kept(ino: u64) -> bool {
    ino == KEPT || ino >= FILES && !ino.is_multiple_of(2)
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
            let kind = if ino < FILES {
                FileType::Directory
            } else {
                FileType::RegularFile
            };
            if reply.add(INodeNo(ino), next, kind, name) {
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
