//! Counts the requests that the kernel sends to a FUSE mount, by the kernel's own tracepoint: any build and any file system can be
//! measured, and nothing in it counts. FORGET is not among them: nothing waits for it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Fallible;

const TRACEPOINT: &str = "events/fuse/fuse_request_send";
/// Requests by their number in `linux/fuse.h`; all others are counted together.
const OPCODES: [(u32, &str); 10] = [
    (1, "LOOKUP"),
    (3, "GETATTR"),
    (14, "OPEN"),
    (15, "READ"),
    (25, "FLUSH"),
    (18, "RELEASE"),
    (27, "OPENDIR"),
    (28, "READDIR"),
    (44, "READDIRPLUS"),
    (29, "RELEASEDIR"),
];
const OTHERS: &str = "other";

/// Returns the names under which requests are counted.
pub fn request_names() -> impl Iterator<Item = &'static str> {
    OPCODES.iter().map(|(_, name)| *name).chain([OTHERS])
}

/// How many requests of each name.
pub type Requests = Vec<(&'static str, u64)>;

/// A buffer of tracefs for each opcode, and one for all. What it counts is what its filter lets in, whether or not the buffer overflows.
pub struct Counter {
    mounted: Option<PathBuf>,
    all: Instance,
    opcodes: Vec<(&'static str, Instance)>,
}

impl Counter {
    /// Makes the buffers; mounts tracefs at `dir` if it is mounted nowhere.
    pub fn new(dir: &Path) -> Fallible<Self> {
        let usual = PathBuf::from("/sys/kernel/tracing");
        let is_there = usual.join(TRACEPOINT).exists();
        let (root, mounted) = if is_there {
            (usual, None)
        } else {
            fs::create_dir_all(dir)?;
            let status = Command::new("mount")
                .args(["-t", "tracefs", "nodev"])
                .arg(dir)
                .status()?;
            if !status.success() {
                return Err("tracefs cannot be mounted (root can)".into());
            }
            (dir.to_owned(), Some(dir.to_owned()))
        };
        let made = Self::instances(&root);
        if made.is_err()
            && let Some(dir) = &mounted
        {
            unmount(dir);
        }
        let (all, opcodes) = made?;
        Ok(Self {
            mounted,
            all,
            opcodes,
        })
    }

    fn instances(root: &Path) -> Fallible<(Instance, Vec<(&'static str, Instance)>)> {
        if !root.join(TRACEPOINT).exists() {
            return Err(
                "this kernel has no tracepoint for requests of FUSE (Linux 6.13 has)".into(),
            );
        }
        let opcodes = OPCODES
            .iter()
            .map(|(opcode, name)| Ok((*name, Instance::new(root, Some(*opcode))?)));
        Ok((
            Instance::new(root, None)?,
            opcodes.collect::<Fallible<_>>()?,
        ))
    }

    /// Counts from now on what is sent to the mount at `point`.
    pub fn begin(&self, point: &Path) -> Fallible<()> {
        // Minor numbers of more than a byte are not in one place in a `dev_t` of this library; no mount has another major.
        let device = fs::metadata(point)?.dev();
        let connection = device & 0xff | device >> 12 & 0xf_ff00;
        self.all.begin(connection)?;
        self.opcodes
            .iter()
            .try_for_each(|(_, instance)| instance.begin(connection))
    }

    pub fn end(&self) -> Fallible<Requests> {
        let mut all = self.all.end()?;
        let mut counts = Requests::new();
        for (name, instance) in &self.opcodes {
            let count = instance.end()?;
            all = all.saturating_sub(count);
            counts.push((name, count));
        }
        counts.push((OTHERS, all));
        counts.retain(|(_, count)| *count > 0);
        Ok(counts)
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.opcodes.clear();
        self.all.remove();
        if let Some(dir) = &self.mounted {
            unmount(dir);
        }
    }
}

fn unmount(dir: &Path) {
    let _ = Command::new("umount").arg(dir).status();
}

struct Instance {
    dir: PathBuf,
    opcode: Option<u32>,
}

impl Instance {
    fn new(root: &Path, opcode: Option<u32>) -> Fallible<Self> {
        let name = opcode.map_or("all".to_owned(), |opcode| opcode.to_string());
        let dir = root
            .join("instances")
            .join(format!("bench_look.{}.{name}", std::process::id()));
        fs::create_dir(&dir)?;
        let instance = Self { dir, opcode };
        fs::write(instance.dir.join("buffer_size_kb"), "4")?;
        Ok(instance)
    }

    fn begin(&self, connection: u64) -> Fallible<()> {
        let of_opcode = self
            .opcode
            .map_or(String::new(), |opcode| format!(" && opcode == {opcode}"));
        let event = self.dir.join(TRACEPOINT);
        fs::write(
            event.join("filter"),
            format!("connection == {connection}{of_opcode}"),
        )?;
        // Empties the buffer.
        fs::write(self.dir.join("trace"), "")?;
        fs::write(event.join("enable"), "1")?;
        Ok(())
    }

    fn end(&self) -> Fallible<u64> {
        fs::write(self.dir.join(TRACEPOINT).join("enable"), "0")?;
        let mut count = 0;
        for cpu in fs::read_dir(self.dir.join("per_cpu"))? {
            let stats = fs::read_to_string(cpu?.path().join("stats"))?;
            for line in stats.lines() {
                if let Some((name, value)) = line.split_once(": ")
                    && ["entries", "overrun"].contains(&name)
                {
                    count += value.trim().parse::<u64>()?;
                }
            }
        }
        Ok(count)
    }

    fn remove(&self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.remove();
    }
}
