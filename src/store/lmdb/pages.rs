//! A reader of LMDB's B+tree pages without LMDB, which checks them before LMDB relies on them.
//!
//! LMDB has no checksums. It follows whatever numbers a page holds: out of its map, which is a
//! signal, into an assertion, which is an abort, or over its own memory. The walk here visits
//! everything that LMDB follows: both meta pages, the two trees of a snapshot, the place and size
//! of every node, the lists of free pages. Values are not looked at; `ddbfs check` does that above.
//!
//! ```text
//! page      number 8, pad 2, flags 2, lower 2, upper 2 (or of a long value: its pages 4), offsets of nodes 2 each … nodes
//! node      lo 2, hi 2, flags 2, key length 2, key, and in a leaf the value, or the page of a long one
//! meta      a page header, then magic 4, version 4, address 8, map size 8, the free tree 48, the main tree 48, last page 8, commit 8
//! tree      pad 4 (in the free tree: page size), flags 2, depth 2, counts 32, root 8
//! ```
//! Numbers have the machine's byte order. The file may be shorter than its last page, as free pages
//! at its end need not be written.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::file_bytes;

/// LMDB's magic number, at the start of a meta page's content and of the lock file.
pub(super) const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;
/// Bytes of a page's header, of a node's, and of a meta page's content.
pub(super) const PAGE_HEADER: usize = 16;
const NODE_HEADER: usize = 8;
pub(super) const META_BYTES: usize = 152;
/// The number of meta pages, which are the first pages.
const META_PAGES: u64 = 2;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;
/// A flag without meaning on disk.
const DIRTY: u16 = 0x10;

/// A node's flag: the value is on pages of its own.
const LONG_VALUE: u16 = 0x01;
/// The flags of the free tree: its keys are numbers. The main tree has none.
const INTEGER_KEY: u16 = 0x08;
/// The depth of LMDB's page stack (`CURSOR_STACK`), and its longest key.
const DEPTH_MAX: u16 = 32;
const KEY_BYTES_MAX: usize = 511;
/// More than a machine can address.
const MAP_BYTES_MAX: u64 = 1 << 46;

/// A bounded walk reads this many pages whatever the time, and goes on until `TIME_MAX`. It begins
/// at the roots, so that it omits leaves of large stores only.
const PAGES_MIN: u64 = 4096;
const TIME_MAX: Duration = Duration::from_millis(20);

/// The advice that follows a report of damage.
pub(super) const RESTORE_ADVICE: &str = "Restore the data directory from a backup; or move its files away to begin with an empty database.";

/// The way in which a file is damaged. `Display` continues a sentence after its name.
#[derive(Debug, thiserror::Error)]
pub(super) enum Damage {
    #[error("is missing: it was removed, or a process ended before it had made it")]
    Missing,
    #[error("is empty: it has lost its content, or a process ended while it made it")]
    Empty,
    #[error("is not an LMDB file")]
    Foreign,
    #[error("is of another version of LMDB")]
    Version,
    #[error("is damaged: its head says what cannot be")]
    Meta,
    #[error("was truncated: it ends after {file_bytes} bytes, and page {page} is in use")]
    Truncated { file_bytes: u64, page: u64 },
    #[error("is damaged: page {page} {what}")]
    Page { page: u64, what: &'static str },
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// One of the two trees, as a meta page has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeRoot {
    flags: u16,
    pub(super) depth: u16,
    /// `None` if the tree is empty.
    pub(super) root: Option<u64>,
}

/// A meta page: one commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct MetaPage {
    pub(super) page_bytes: usize,
    free: TreeRoot,
    pub(super) main: TreeRoot,
    last_page: u64,
    pub(super) commit: u64,
}

/// The extent of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkReach {
    Bounded,
    Whole,
}

fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_ne_bytes)
}

impl TreeRoot {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let root = u64_at(bytes, 40)?;
        Some(Self {
            flags: u16_at(bytes, 4)?,
            depth: u16_at(bytes, 6)?,
            root: (root != u64::MAX).then_some(root),
        })
    }

    fn is_sound(&self, flags: u16) -> bool {
        self.flags == flags && self.depth <= DEPTH_MAX && (self.depth == 0) == self.root.is_none()
    }
}

impl MetaPage {
    /// Parses the content of a meta page, as far as LMDB checks it or relies on it at once.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Damage> {
        let is_head = u16_at(bytes, 10).is_some_and(|flags| flags & META != 0)
            && u32_at(bytes, 16) == Some(MAGIC);
        if !is_head {
            return Err(Damage::Foreign);
        }
        if u32_at(bytes, 20) != Some(VERSION) {
            return Err(Damage::Version);
        }
        Self::read(bytes).filter(Self::is_sound).ok_or(Damage::Meta)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            page_bytes: usize::try_from(u32_at(bytes, 40)?).ok()?,
            free: TreeRoot::parse(bytes.get(40..88)?)?,
            main: TreeRoot::parse(bytes.get(88..136)?)?,
            last_page: u64_at(bytes, 136)?,
            commit: u64_at(bytes, 144)?,
        })
    }

    fn is_sound(&self) -> bool {
        self.page_bytes.is_power_of_two()
            // LMDB makes no larger pages.
            && (512..=0x8000).contains(&self.page_bytes)
            && self.last_page >= META_PAGES - 1
            && self.last_page < MAP_BYTES_MAX / self.page_bytes as u64
            && self.free.is_sound(INTEGER_KEY)
            && self.main.is_sound(0)
    }
}

/// Reads and checks both meta pages.
///
/// # Errors
/// [`Damage`] that LMDB would refuse or fail on.
pub(super) fn meta_pages(file: &File) -> Result<[MetaPage; 2], Damage> {
    let file_bytes = file.metadata()?.len();
    if file_bytes == 0 {
        return Err(Damage::Empty);
    }
    let first = MetaPage::parse(&read_up_to(file, 0, META_BYTES)?)?;
    if file_bytes < META_PAGES * first.page_bytes as u64 {
        return Err(Damage::Truncated {
            file_bytes,
            page: 1,
        });
    }
    let second = MetaPage::parse(&read_up_to(file, first.page_bytes as u64, META_BYTES)?)?;
    if first.page_bytes == second.page_bytes {
        Ok([first, second])
    } else {
        Err(Damage::Meta)
    }
}

/// Returns the number of the last commit.
///
/// # Errors
/// As for [`meta_pages`].
pub(super) fn last_commit(file: &File) -> Result<u64, Damage> {
    let [first, second] = meta_pages(file)?;
    Ok(first.commit.max(second.commit))
}

/// Returns the content of the meta page of the last commit, `commit`, while no other is made.
///
/// # Errors
/// [`Damage`], also if the meta page is another commit's.
pub(super) fn meta_page_of(file: &File, commit: u64) -> Result<[u8; META_BYTES], Damage> {
    let heads = meta_pages(file)?;
    // Both may show it; LMDB goes by the parity.
    let page = usize::from(!commit.is_multiple_of(2));
    let page = if heads[page].commit == commit {
        page
    } else {
        1 - page
    };
    let bytes = read_up_to(file, (page * heads[0].page_bytes) as u64, META_BYTES)?;
    bytes
        .try_into()
        .ok()
        .filter(|_| heads[page].commit == commit)
        .ok_or(Damage::Meta)
}

/// Makes a commit the last one: writes its meta page to both places.
///
/// # Errors
/// [`Damage`] if `head` is not a meta page.
pub(super) fn restore_meta(file: &File, head: &[u8; META_BYTES]) -> Result<u64, Damage> {
    let parsed = MetaPage::parse(head)?;
    for page in 0..META_PAGES {
        let mut bytes = *head;
        // It begins with the page's own number.
        bytes[..8].copy_from_slice(&page.to_ne_bytes());
        file.write_all_at(&bytes, page * parsed.page_bytes as u64)?;
    }
    Ok(parsed.commit)
}

/// Gives the last commit a later number. No process has the file open in LMDB.
///
/// # Errors
/// [`Damage`] of the meta pages.
pub(super) fn renumber(file: &File, number: u64) -> Result<(), Damage> {
    let last = last_commit(file)?;
    // LMDB takes the meta page of the higher number.
    assert!(number >= last, "commit {last} cannot become {number}");
    let mut head = meta_page_of(file, last)?;
    head[META_BYTES - 8..].copy_from_slice(&number.to_ne_bytes());
    restore_meta(file, &head).map(drop)
}

/// Reads `bytes` bytes, or fewer at the end of the file.
fn read_up_to(file: &File, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; bytes];
    let filled = file_bytes::read_up_to(file, &mut buffer, offset)?;
    buffer.truncate(filled);
    Ok(buffer)
}

/// Walks the snapshot of a commit. A read transaction of it keeps writers off its pages. Returns
/// `None` if the meta pages no longer have that commit: the caller tries again with a newer
/// snapshot.
///
/// # Errors
/// The first [`Damage`] found.
pub(super) fn walk(file: &File, commit: u64, reach: WalkReach) -> Result<Option<()>, Damage> {
    // LMDB goes by the parity.
    let [first, second] = meta_pages(file)?;
    let head = if commit.is_multiple_of(2) {
        first
    } else {
        second
    };
    if head.commit == commit {
        walk_from(file, head, reach).map(Some)
    } else {
        Ok(None)
    }
}

/// Walks the snapshot of a commit, by its meta page.
///
/// # Errors
/// The first [`Damage`] found.
pub(super) fn walk_from(file: &File, head: MetaPage, reach: WalkReach) -> Result<(), Damage> {
    let file_bytes = file.metadata()?.len();
    let pages = (file_bytes / head.page_bytes as u64).min(head.last_page + 1);
    // A file that lost its end is walked as a whole.
    let whole = reach == WalkReach::Whole || pages <= head.last_page;
    let words = usize::try_from(pages / 64 + 1).map_err(|_| Damage::Meta)?;
    let seen = vec![0; words];
    let started = Instant::now();
    let mut walk = PageChecker {
        file,
        head,
        file_bytes,
        pages,
        whole,
        seen,
        looked_at: 0,
        started,
    };
    // A tree that leads to a meta page is damaged.
    (0..META_PAGES).try_for_each(|page| walk.mark(page))?;
    walk.tree(head.free, true)?;
    walk.tree(head.main, false)
}

struct PageChecker<'f> {
    file: &'f File,
    head: MetaPage,
    file_bytes: u64,
    /// The number of whole pages of the file, up to the last one in use.
    pages: u64,
    whole: bool,
    /// A bit for each page that something holds.
    seen: Vec<u64>,
    looked_at: u64,
    started: Instant,
}

/// The target of a node.
pub(super) enum NodeTarget {
    Child(u64),
    /// The first page of a long value, and its length in bytes.
    Long(u64, usize),
    /// A short value.
    Value(std::ops::Range<usize>),
}

impl PageChecker<'_> {
    fn tree(&mut self, tree: TreeRoot, is_free: bool) -> Result<(), Damage> {
        let mut waiting: VecDeque<(u64, u16)> =
            tree.root.map(|root| (root, 1)).into_iter().collect();
        // Depth first needs less memory, breadth first finds more in less time.
        while let Some((page, level)) = if self.whole {
            waiting.pop_back()
        } else {
            waiting.pop_front()
        } {
            if !self.whole && self.looked_at >= PAGES_MIN && self.started.elapsed() >= TIME_MAX {
                return Ok(());
            }
            let bytes = self.page(page)?;
            let is_leaf = level == tree.depth;
            let nodes =
                nodes(&bytes, is_leaf, is_free).map_err(|what| Damage::Page { page, what })?;
            for (_, link) in nodes {
                match link {
                    // Marked before it is read.
                    NodeTarget::Child(child) => {
                        self.mark(child)?;
                        waiting.push_back((child, level + 1));
                    }
                    NodeTarget::Long(first, length) => self.long_value(first, length, is_free)?,
                    NodeTarget::Value(place) if is_free => {
                        let list = bytes.get(place).ok_or(Damage::Page {
                            page,
                            what: "has an entry out of its bounds",
                        })?;
                        self.free_pages(page, list)?;
                    }
                    NodeTarget::Value(_) => {}
                }
            }
            // All other pages are marked where they are found; no node leads to a root.
            if level == 1 {
                self.mark(page)?;
            }
        }
        Ok(())
    }

    /// Notes that a page is held; two holders are damage.
    fn mark(&mut self, page: u64) -> Result<(), Damage> {
        if page > self.head.last_page {
            return Err(Damage::Page {
                page,
                what: "is in use and beyond the last one",
            });
        }
        if page >= self.pages {
            return Err(Damage::Truncated {
                file_bytes: self.file_bytes,
                page,
            });
        }
        let word = usize::try_from(page / 64)
            .ok()
            .and_then(|at| self.seen.get_mut(at));
        let (Some(word), bit) = (word, 1 << (page % 64)) else {
            return Err(Damage::Meta);
        };
        if *word & bit != 0 {
            return Err(Damage::Page {
                page,
                what: "is held twice",
            });
        }
        *word |= bit;
        Ok(())
    }

    /// Reads a page and checks that its header has its number.
    fn page(&mut self, page: u64) -> Result<Vec<u8>, Damage> {
        self.looked_at += 1;
        if page >= self.pages {
            return Err(Damage::Truncated {
                file_bytes: self.file_bytes,
                page,
            });
        }
        let bytes = read_up_to(
            self.file,
            page * self.head.page_bytes as u64,
            self.head.page_bytes,
        )?;
        match u64_at(&bytes, 0) {
            Some(number) if number == page && bytes.len() == self.head.page_bytes => Ok(bytes),
            _ => Err(Damage::Page {
                page,
                what: "has another page's header",
            }),
        }
    }

    fn long_value(&mut self, first: u64, length: usize, is_free: bool) -> Result<(), Damage> {
        let bytes = self.page(first)?;
        let held = u64::from(u32_at(&bytes, 12).unwrap_or(0));
        let needed = (PAGE_HEADER + length).div_ceil(self.head.page_bytes) as u64;
        // Compared with the last page first: a damaged count would make the loop below endless.
        if u16_at(&bytes, 10).map(|flags| flags & !DIRTY) != Some(OVERFLOW)
            || held < needed
            || held > self.head.last_page
        {
            return Err(Damage::Page {
                page: first,
                what: "is not the beginning of the long value that it should be",
            });
        }
        (first..first + held).try_for_each(|page| self.mark(page))?;
        if !is_free {
            return Ok(());
        }
        let list = read_up_to(
            self.file,
            first * self.head.page_bytes as u64 + PAGE_HEADER as u64,
            length,
        )?;
        self.free_pages(first, &list)
    }

    /// Checks a list of free pages: their count, then their numbers in descending order.
    fn free_pages(&mut self, page: u64, list: &[u8]) -> Result<(), Damage> {
        let wrong = || Damage::Page {
            page,
            what: "has a list of free pages that cannot be",
        };
        let words: Vec<u64> = list
            .chunks_exact(8)
            .filter_map(|word| u64_at(word, 0))
            .collect();
        let (count, free) = words.split_first().ok_or_else(wrong)?;
        let free = usize::try_from(*count)
            .ok()
            .and_then(|count| free.get(..count))
            .ok_or_else(wrong)?;
        if !free.is_sorted_by(|one, next| one > next)
            || free
                .iter()
                .any(|page| !(META_PAGES..=self.head.last_page).contains(page))
        {
            return Err(wrong());
        }
        // Free pages at the end of the file need not be there.
        let pages = self.pages;
        free.iter()
            .filter(|free| **free < pages)
            .try_for_each(|free| self.mark(*free))
    }
}

/// Returns the keys of a page's nodes and their targets. An error says what is wrong with the page.
pub(super) fn nodes(
    page: &[u8],
    is_leaf: bool,
    is_free: bool,
) -> Result<Vec<(&[u8], NodeTarget)>, &'static str> {
    let field = |at: usize| u16_at(page, at).map_or(0, usize::from);
    if u16_at(page, 10).map(|flags| flags & !DIRTY) != Some(if is_leaf { LEAF } else { BRANCH }) {
        return Err("is of the wrong kind");
    }
    let (lower, upper) = (field(12), field(14));
    let count = lower.saturating_sub(PAGE_HEADER) / 2;
    // LMDB asserts two for a branch, except in the free tree.
    let count_min = if is_leaf || is_free { 1 } else { 2 };
    if !lower.is_multiple_of(2) || lower > upper || upper > page.len() || count < count_min {
        return Err("has bounds that cannot be");
    }
    let mut links = Vec::with_capacity(count);
    let (mut used, mut previous): (usize, Option<&[u8]>) = (0, None);
    for position in 0..count {
        let at = field(PAGE_HEADER + 2 * position);
        let node = page
            .get(at..)
            .filter(|_| at >= upper && at.is_multiple_of(2))
            .ok_or("has an entry out of its bounds")?;
        let (link, key, bytes) = node_at(node, at, is_leaf).ok_or("has an entry that cannot be")?;
        used += bytes.next_multiple_of(2);
        // The first key of a branch stands for all lesser keys.
        let has_key = is_leaf || position > 0;
        if has_key && (key.is_empty() || is_free && key.len() != 8) {
            return Err("has a key that cannot be");
        }
        if has_key && !is_free && previous.is_some_and(|previous| previous >= key) {
            return Err("has keys out of order");
        }
        previous = has_key.then_some(key);
        links.push((key, link));
    }
    // Nodes fill the page from `upper` on: another sum means that some overlap.
    if used == page.len() - upper {
        Ok(links)
    } else {
        Err("has entries that overlap")
    }
}

/// Parses the node at the beginning of `node`, which is `offset` in its page: its target, key and
/// length.
fn node_at(node: &[u8], offset: usize, is_leaf: bool) -> Option<(NodeTarget, &[u8], usize)> {
    let (lo, hi, flags) = (u16_at(node, 0)?, u16_at(node, 2)?, u16_at(node, 4)?);
    let key_bytes = usize::from(u16_at(node, 6)?);
    let after_key = NODE_HEADER + key_bytes;
    let key = node
        .get(NODE_HEADER..after_key)
        .filter(|key| key.len() <= KEY_BYTES_MAX)?;
    let low = u64::from(lo) | u64::from(hi) << 16;
    if !is_leaf {
        return Some((
            NodeTarget::Child(low | u64::from(flags) << 32),
            key,
            after_key,
        ));
    }
    let length = usize::try_from(low).ok()?;
    match flags {
        0 => {
            node.get(after_key..after_key + length)?;
            Some((
                NodeTarget::Value(offset + after_key..offset + after_key + length),
                key,
                after_key + length,
            ))
        }
        LONG_VALUE => Some((
            NodeTarget::Long(u64_at(node, after_key)?, length),
            key,
            after_key + 8,
        )),
        _ => None,
    }
}
