//! The replies to READDIRPLUS and CREATE, in bytes of our own. fuser's reply to READDIRPLUS gives
//! each entry a node, whose number is that of the entry. Here an entry may have none, as the kernel
//! allows: it makes no inode of it and returns no FORGET, and gives the program its name, number and
//! kind. fuser's reply to CREATE has one time for the name and the attributes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fuser::{
    Errno, FileAttr, FileType, FopenFlags, Generation, INodeNo, ReplyCreate, ReplyDirectoryPlus,
};

use super::convert::{FailReply, GENERATION, file_type};
use crate::fs::node::attr::CacheTtl;
use crate::fs::open::dirent::Dirent;

/// The bytes of `struct fuse_out_header`, and of `struct fuse_direntplus` without its name.
const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 152;
/// The bytes of `struct fuse_entry_out`, with which an entry begins.
const NODE_BYTES: usize = 128;
/// The bytes of `struct fuse_open_out`.
const OPEN_BYTES: usize = 16;
/// The smallest reply to READDIRPLUS that is asked for: a page (`fuse_readdir_uncached`).
const REPLY_BYTES_MIN: usize = 4096;
/// The largest reply that is asked for: `max_pages` of the kernel, 1 MiB, is 256 pages.
const REPLY_BYTES_MAX: usize = 1 << 20;
/// The alignment of entries.
const ALIGN: usize = 8;

/// The device of the mount, set before the first request is read. Replies are written to the
/// device that their request was read from, so all event threads must read from one.
pub type Device = Arc<OnceLock<File>>;

/// The node of an entry, which counts as looked up.
#[derive(Debug, Clone, Copy)]
pub struct EntryNode {
    /// The kernel's number of the node; `st_ino` is that of `attr`.
    pub node_id: u64,
    pub ttl: CacheTtl,
    pub attr: FileAttr,
}

/// Entries, up to a size.
#[derive(Debug)]
pub struct PlusEntries {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl PlusEntries {
    fn new(bytes_max: usize) -> Self {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + bytes_max);
        bytes.resize(HEADER_BYTES, 0);
        Self {
            bytes,
            bytes_max: HEADER_BYTES + bytes_max,
        }
    }

    /// Appends an entry. Returns true if there is no room for it.
    pub fn add(&mut self, entry: Dirent<'_>, offset: u64, node: Option<EntryNode>) -> bool {
        let start = self.bytes.len();
        let end = start + (ENTRY_BYTES + entry.name.len()).next_multiple_of(ALIGN);
        let Some(name_bytes) = u32::try_from(entry.name.len())
            .ok()
            .filter(|_| end <= self.bytes_max)
        else {
            return true;
        };
        match node {
            Some(node) => self.put_node(&node),
            None => self.bytes.resize(start + NODE_BYTES, 0),
        }
        self.put_u64s([entry.ino, offset]);
        self.put_u32s([name_bytes, mode(file_type(entry.kind)) >> 12]);
        self.bytes.extend_from_slice(entry.name.as_bytes());
        self.bytes.resize(end, 0);
        false
    }

    fn put_node(&mut self, node: &EntryNode) {
        let attr = node.attr;
        let since = |time: std::time::SystemTime| {
            time.duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default()
        };
        let [read, written, changed] = [attr.atime, attr.mtime, attr.ctime].map(since);
        let CacheTtl {
            name: name_ttl,
            attr: attr_ttl,
        } = node.ttl;
        self.put_u64s([
            node.node_id,
            GENERATION.0,
            name_ttl.as_secs(),
            attr_ttl.as_secs(),
        ]);
        self.put_u32s([name_ttl.subsec_nanos(), attr_ttl.subsec_nanos()]);
        self.put_u64s([attr.ino.0, attr.size, attr.blocks]);
        self.put_u64s([read, written, changed].map(|time| time.as_secs()));
        self.put_u32s([read, written, changed].map(|time| time.subsec_nanos()));
        self.put_u32s([
            mode(attr.kind) | u32::from(attr.perm),
            attr.nlink,
            attr.uid,
            attr.gid,
            attr.rdev,
            attr.blksize,
            attr.flags,
        ]);
    }

    fn put_u64s<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers
            .iter()
            .for_each(|number| self.bytes.extend_from_slice(&number.to_ne_bytes()));
    }

    fn put_u32s<const N: usize>(&mut self, numbers: [u32; N]) {
        numbers
            .iter()
            .for_each(|number| self.bytes.extend_from_slice(&number.to_ne_bytes()));
    }

    /// Returns the reply to the request with this id.
    fn reply(mut self, request: u64) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or_default();
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..HEADER_BYTES].copy_from_slice(&request.to_ne_bytes());
        self.bytes
    }
}

fn mode(kind: FileType) -> u32 {
    match kind {
        FileType::Directory => libc::S_IFDIR,
        FileType::Symlink => libc::S_IFLNK,
        _ => libc::S_IFREG,
    }
}

/// A request to be answered in bytes of our own. Dropped without an answer, it is answered by EIO.
#[derive(Debug)]
pub struct RawRequest<R> {
    device: Device,
    request: u64,
    reply: R,
}

impl<R: FailReply> RawRequest<R> {
    pub fn new(device: &Device, request: u64, reply: R) -> Self {
        Self {
            device: Arc::clone(device),
            request,
            reply,
        }
    }

    /// Answers with these bytes. Then fuser's reply is answered too, which the kernel refuses: the
    /// request has ended. If it has not, because the kernel did not take the bytes, that is its
    /// answer.
    fn send(self, bytes: PlusEntries) {
        if let Some(mut device) = self.device.get()
            && let Err(error) = device.write(&bytes.reply(self.request))
        {
            log::debug!("a request was not answered: {error}");
        }
        self.reply.refuse(Errno::EIO);
    }
}

impl<R: FailReply> FailReply for RawRequest<R> {
    fn refuse(self, errno: Errno) {
        self.reply.refuse(errno);
    }
}

impl RawRequest<ReplyDirectoryPlus> {
    /// Returns the space for the entries of an answer, of the size that is always asked for.
    pub fn entries() -> PlusEntries {
        PlusEntries::new(REPLY_BYTES_MIN)
    }

    /// Appends an entry. Returns true if there is no room for it. The size that the kernel asks for
    /// is measured only when an answer needs it: that fills a buffer, and most folders are small.
    pub fn add(
        &mut self,
        entries: &mut PlusEntries,
        entry: Dirent<'_>,
        offset: u64,
        node: Option<EntryNode>,
    ) -> bool {
        if !entries.add(entry, offset, node) {
            return false;
        }
        if entries.bytes_max == HEADER_BYTES + REPLY_BYTES_MIN {
            entries.bytes_max = HEADER_BYTES + self.bytes_max().max(REPLY_BYTES_MIN);
            return entries.add(entry, offset, node);
        }
        true
    }

    /// Returns the size that the kernel asks for, or a little less. fuser does not tell it, so it
    /// is filled with names: a few too long ones that it refuses, and one of the right length.
    fn bytes_max(&mut self) -> usize {
        static NAME: [u8; REPLY_BYTES_MAX] = [0; REPLY_BYTES_MAX];
        let time = std::time::UNIX_EPOCH;
        let attr = FileAttr {
            ino: INodeNo(0),
            size: 0,
            blocks: 0,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: FileType::RegularFile,
            perm: 0,
            nlink: 0,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 0,
            flags: 0,
        };
        let (mut found, mut next) = (0, REPLY_BYTES_MAX);
        while next >= 2 * ENTRY_BYTES {
            let name = OsStr::from_bytes(&NAME[..next - ENTRY_BYTES]);
            if !self
                .reply
                .add(attr.ino, 0, name, &Duration::ZERO, &attr, Generation(0))
            {
                found += next;
            }
            next /= 2;
        }
        found
    }

    pub fn answer(self, entries: PlusEntries) {
        self.send(entries);
    }
}

impl RawRequest<ReplyCreate> {
    pub fn answer(self, node: &EntryNode, handle: u64, flags: FopenFlags) {
        let mut bytes = PlusEntries::new(NODE_BYTES + OPEN_BYTES);
        bytes.put_node(node);
        bytes.put_u64s([handle]);
        bytes.put_u32s([flags.bits(), 0]);
        self.send(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::node::NodeKind;

    const NAME: Dirent<'static> = Dirent {
        ino: 0x11,
        kind: NodeKind::File,
        name: "a.json",
    };

    /// Returns the words of the bytes after `struct fuse_out_header`.
    fn words(entries: &PlusEntries) -> Vec<u32> {
        let (words, rest) = entries.bytes[HEADER_BYTES..].as_chunks::<4>();
        assert!(rest.is_empty());
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn an_entry_has_the_form_of_the_kernel_with_and_without_a_node() {
        let at = |ms| std::time::UNIX_EPOCH + Duration::from_millis(ms);
        let node = EntryNode {
            node_id: 0x2_0000_0003,
            ttl: CacheTtl {
                name: Duration::from_millis(4_005),
                attr: Duration::from_millis(6_007),
            },
            attr: FileAttr {
                ino: INodeNo(0x11),
                size: 8,
                blocks: 9,
                atime: at(10_001),
                mtime: at(11_002),
                ctime: at(12_003),
                crtime: at(0),
                kind: FileType::RegularFile,
                perm: 0o644,
                nlink: 13,
                uid: 14,
                gid: 15,
                rdev: 16,
                blksize: 17,
                flags: 0,
            },
        };
        let dirent = [
            0x11,
            0,
            0x77,
            0,
            6,
            8,
            u32::from_le_bytes(*b"a.js"),
            u32::from_le_bytes(*b"on\0\0"),
        ];
        let mut entry = vec![
            3, 2, 0, 0, 4, 0, 6, 0, 5_000_000, 7_000_000, 0x11, 0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0,
            1_000_000, 2_000_000, 3_000_000, 0o100_644, 13, 14, 15, 16, 17, 0,
        ];
        entry.extend(dirent);
        let mut entries = PlusEntries::new(1_000);
        assert!(!entries.add(NAME, 0x77, Some(node)));
        assert_eq!(words(&entries), entry);
        let mut entries = PlusEntries::new(1_000);
        let folder = Dirent {
            kind: NodeKind::Directory,
            ..NAME
        };
        assert!(!entries.add(folder, 0x77, None));
        let mut name_only = vec![0; 32];
        name_only.extend(dirent);
        name_only[37] = 4;
        assert_eq!(words(&entries), name_only);
    }

    #[test]
    fn a_reply_has_the_entries_that_have_room() {
        let mut entries = PlusEntries::new(2 * 160);
        let full = [0; 3].map(|_| entries.add(NAME, 1, None));
        assert_eq!(full, [false, false, true]);
        let reply = entries.reply(0x1_0000_0002);
        assert_eq!(reply.len(), 16 + 320);
        assert_eq!(
            reply[..16],
            [0x50, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]
        );
        assert_eq!(
            PlusEntries::new(9).reply(3)[..4],
            [16, 0, 0, 0],
            "the end of a directory"
        );
    }
}
