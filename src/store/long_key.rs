//! Ordered keys of up to [`KEY_BYTES_MAX`] bytes over a raw store with keys of 1 to 511 bytes, as
//! LMDB has them: a long key becomes a chain of chunks, linked by hashes. A raw store implements
//! `RawRead` and `RawWrite` (`lmdb::transaction`, `memory`).
//!
//! Two difficulties: byte order must hold across long keys that share any prefix, and thousands of
//! keys that share their first 500 bytes must not cost a scan of each other. `KeyContext` solves
//! both: a part of the raw key space with its own prefix and its own length budget.
//!
//! ```text
//! context      raw prefix                 chunk bytes
//! root         (none)                     510
//! overflow     0xFF ++ digest[16]         493
//!
//! rest of the key fits a chunk:  prefix ++ rest                           -> value        (1 to 510 bytes)
//! it does not:                   prefix ++ first chunk ++ 0x00            -> (empty)      (511 bytes, a pointer)
//!                                and the rest goes on in the overflow context whose digest is
//!                                codec::digest(prefix ++ first chunk)
//! ```
//!
//! A raw key of 511 bytes is always a pointer, since entries have at most 510. A pointer sorts
//! right after the entry `prefix ++ chunk` and before every greater key, which is the position of
//! the long keys that begin with the chunk: a walk meets the pointer and visits the overflow
//! context in its place. Contexts follow from the key alone, so `get` and `put` go straight to the
//! entry. The input of a digest is always 510 bytes and begins with 0xFF only below an overflow
//! context, so no two contexts share it.
//!
//! Logical keys must not begin with [`OVERFLOW`]. Never change this layout: data files hold it.

use std::borrow::Cow;
use std::ops::{Bound, ControlFlow};

use super::writer::WriteTransaction;
use super::{Direction, KEY_BYTES_MAX, KeyRange, Read, StoreError, StoreVisit, Write, prefix_end};
use crate::codec::digest::{Digest, digest};

/// The longest key of the raw store, LMDB's default.
pub(super) const RAW_KEY_BYTES_MAX: usize = 511;

/// The first byte of every raw key outside the root context. No logical key begins with it.
pub const OVERFLOW: u8 = 0xFF;

/// The longest raw key of an entry. A key that is one byte longer is a pointer.
const ENTRY_BYTES_MAX: usize = RAW_KEY_BYTES_MAX - 1;

/// The memory that a changed entry takes besides its own bytes: its page.
const PAGE_BYTES: usize = 4096;

/// Bytes of the marker and the digest.
const PREFIX_BYTES: usize = 1 + size_of::<Digest>();

/// The most nested contexts, as the longest key needs.
const DEPTH_MAX: usize = KEY_BYTES_MAX / (ENTRY_BYTES_MAX - PREFIX_BYTES) + 1;

/// A callback for each raw key and value. An error ends the walk too.
pub(super) type RawVisit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError> + 'a;

/// A view of a raw store. Calls may nest.
pub(super) trait RawRead {
    /// Returns the value of a key of 1 to 511 bytes.
    fn raw_get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError>;

    /// Returns the number of the commit that a snapshot shows.
    fn raw_commit_id(&self) -> u64;

    /// Visits the entries between the bounds. Bounds in the wrong order have no entries between
    /// them.
    fn raw_walk(
        &self,
        range: RawRange<'_>,
        direction: Direction,
        visit: &mut RawVisit<'_>,
    ) -> Result<ControlFlow<()>, StoreError>;
}

/// A write transaction of a raw store.
pub(super) trait RawWrite: RawRead {
    fn raw_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes a key; returns true if it was there.
    fn raw_delete(&mut self, key: &[u8]) -> Result<bool, StoreError>;
}

/// The bounds of a raw walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawRange<'a> {
    pub lower: Bound<&'a [u8]>,
    pub upper: Bound<&'a [u8]>,
}

impl RawRange<'_> {
    /// True if no key can be between the bounds.
    pub fn is_empty(&self) -> bool {
        match (self.lower, self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Excluded(upper) | Bound::Included(upper),
            ) => lower >= upper,
        }
    }
}

/// A raw view or transaction, used through logical keys.
#[derive(Debug)]
pub(super) struct LongKeys<T> {
    raw: T,
    written_bytes: usize,
    /// The number of entries put and deleted so far.
    entries: usize,
    is_removal: bool,
}

impl<T> LongKeys<T> {
    pub fn new(raw: T) -> Self {
        Self {
            raw,
            written_bytes: 0,
            entries: 0,
            is_removal: false,
        }
    }

    /// True if the last call of [`Self::set_removal`] said so.
    pub fn is_removal(&self) -> bool {
        self.is_removal
    }

    /// Returns the bytes of keys and values put so far.
    pub fn written_bytes(&self) -> usize {
        self.written_bytes
    }

    pub fn raw(&self) -> &T {
        &self.raw
    }

    pub fn into_raw(self) -> T {
        self.raw
    }
}

impl<T: RawRead> Read for LongKeys<T> {
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        if !is_key(key) {
            // No error: a key that cannot be put is absent.
            return Ok(None);
        }
        self.raw.raw_get(&locate(key, |_| ()))
    }

    fn commit_id(&self) -> u64 {
        self.raw.raw_commit_id()
    }

    fn walk(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut StoreVisit<'_>,
    ) -> Result<(), StoreError> {
        let mut walk = KeyWalk {
            raw: &self.raw,
            direction,
            depth: 0,
            prefix: Vec::new(),
            visit,
        };
        let range = RawRange {
            lower: as_slice(&range.lower),
            upper: as_slice(&range.upper),
        };
        // A visitor that breaks off and the end of the range are the same to the caller.
        walk.walk(KeyContext::ROOT, range).map(drop)
    }
}

impl<T: RawWrite> WriteTransaction for LongKeys<T> {
    fn set_removal(&mut self, is_removal: bool) {
        self.is_removal = is_removal;
    }
}

impl<T: RawWrite> Write for LongKeys<T> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if !is_key(key) {
            return Err(StoreError::Io(format!(
                "a key of {} bytes does not fit the store",
                key.len()
            )));
        }
        self.written_bytes += key.len() + value.len();
        self.entries += 1;
        let mut pointers = Vec::new();
        let entry = locate(key, |pointer| pointers.push(pointer));
        self.raw.raw_put(&entry, value)?;
        for pointer in pointers.iter().rev() {
            // If a pointer exists, so do those above it.
            if self.raw.raw_get(pointer)?.is_some() {
                break;
            }
            self.raw.raw_put(pointer, &[])?;
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, StoreError> {
        if !is_key(key) {
            return Ok(false);
        }
        let mut pointers = Vec::new();
        let entry = locate(key, |pointer| pointers.push(pointer));
        if !self.raw.raw_delete(&entry)? {
            return Ok(false);
        }
        self.entries += 1;
        for pointer in pointers.iter().rev() {
            // Innermost first: a context that holds only the pointer to the next one is empty once
            // that is removed.
            if !KeyContext::of_pointer(pointer).is_empty(&self.raw)? {
                break;
            }
            self.raw.raw_delete(pointer)?;
        }
        Ok(true)
    }

    fn held_bytes(&self) -> usize {
        self.written_bytes + self.entries * PAGE_BYTES
    }

    fn as_read(&self) -> &dyn Read {
        self
    }
}

/// True if the store can hold the key.
fn is_key(key: &[u8]) -> bool {
    key.len() <= KEY_BYTES_MAX && key.first().is_some_and(|&first| first != OVERFLOW)
}

/// Returns the raw key of a logical key's entry; calls `on_pointer` with the pointers to it,
/// outermost first.
fn locate(key: &[u8], mut on_pointer: impl FnMut(Vec<u8>)) -> Cow<'_, [u8]> {
    let mut context = KeyContext::ROOT;
    let mut rest = key;
    while rest.len() > context.chunk_bytes() {
        let (chunk, tail) = rest.split_at(context.chunk_bytes());
        let pointer = context.pointer(chunk);
        context = KeyContext::of_pointer(&pointer);
        rest = tail;
        on_pointer(pointer);
    }
    // Borrowed if the key is short, as most are.
    context.entry(rest)
}

/// A part of the raw key space: the root or one overflow context.
#[derive(Debug, Clone, Copy)]
struct KeyContext {
    prefix: [u8; PREFIX_BYTES],
    /// 0 in the root, else the length of `prefix`.
    prefix_bytes: usize,
}

impl KeyContext {
    const ROOT: Self = Self {
        prefix: [OVERFLOW; PREFIX_BYTES],
        prefix_bytes: 0,
    };

    /// Returns the context of the keys behind a pointer.
    fn of_pointer(pointer: &[u8]) -> Self {
        let mut prefix = [OVERFLOW; PREFIX_BYTES];
        prefix[1..].copy_from_slice(&digest(&pointer[..ENTRY_BYTES_MAX.min(pointer.len())]));
        Self {
            prefix,
            prefix_bytes: PREFIX_BYTES,
        }
    }

    fn prefix(&self) -> &[u8] {
        &self.prefix[..self.prefix_bytes]
    }

    /// Returns the most bytes of a key that fit an entry here.
    fn chunk_bytes(&self) -> usize {
        ENTRY_BYTES_MAX - self.prefix_bytes
    }

    fn entry<'a>(&self, rest: &'a [u8]) -> Cow<'a, [u8]> {
        if self.prefix_bytes == 0 {
            Cow::Borrowed(rest)
        } else {
            Cow::Owned([self.prefix(), rest].concat())
        }
    }

    fn pointer(&self, chunk: &[u8]) -> Vec<u8> {
        [self.prefix(), chunk, &[0]].concat()
    }

    /// Converts a bound of this context to a raw key. A long bound becomes the pointer, included:
    /// the keys behind it are compared with the rest of the bound.
    fn raw_bound<'a>(&self, bound: Bound<&'a [u8]>) -> Bound<Cow<'a, [u8]>> {
        match bound {
            Bound::Included(key) | Bound::Excluded(key) if key.len() > self.chunk_bytes() => {
                Bound::Included(Cow::Owned(self.pointer(&key[..self.chunk_bytes()])))
            }
            Bound::Included(key) => Bound::Included(self.entry(key)),
            Bound::Excluded(key) => Bound::Excluded(self.entry(key)),
            Bound::Unbounded => Bound::Unbounded,
        }
    }

    fn raw_lower<'a>(&self, bound: Bound<&'a [u8]>) -> Bound<Cow<'a, [u8]>> {
        match bound {
            Bound::Unbounded => Bound::Included(Cow::Owned(self.prefix().to_vec())),
            bound => self.raw_bound(bound),
        }
    }

    fn raw_upper<'a>(&self, bound: Bound<&'a [u8]>) -> Bound<Cow<'a, [u8]>> {
        match bound {
            Bound::Unbounded if self.prefix_bytes == 0 => {
                Bound::Excluded(Cow::Borrowed(&[OVERFLOW]))
            }
            // Such a bound is above all logical keys; raw keys from the marker on are overflow
            // contexts.
            Bound::Included(key) | Bound::Excluded(key)
                if self.prefix_bytes == 0 && key.first() == Some(&OVERFLOW) =>
            {
                Bound::Excluded(Cow::Borrowed(&[OVERFLOW]))
            }
            Bound::Unbounded => prefix_end(self.prefix())
                .map_or(Bound::Unbounded, |end| Bound::Excluded(Cow::Owned(end))),
            bound => self.raw_bound(bound),
        }
    }

    /// True if an overflow context has no entry.
    fn is_empty<R: RawRead>(&self, raw: &R) -> Result<bool, StoreError> {
        let (lower, upper) = (
            self.raw_lower(Bound::Unbounded),
            self.raw_upper(Bound::Unbounded),
        );
        let range = RawRange {
            lower: as_slice(&lower),
            upper: as_slice(&upper),
        };
        let flow = raw.raw_walk(range, Direction::Forward, &mut |_, _| {
            Ok(ControlFlow::Break(()))
        })?;
        Ok(flow.is_continue())
    }
}

fn as_slice<T: AsRef<[u8]>>(bound: &Bound<T>) -> Bound<&[u8]> {
    bound.as_ref().map(AsRef::as_ref)
}

/// Returns the bound for the rests of keys that begin with `chunk`, at least one of which is
/// between the bounds.
fn rest_bound<'a>(bound: Bound<&'a [u8]>, chunk: &[u8]) -> Bound<&'a [u8]> {
    let rest = |key: &'a [u8]| key.strip_prefix(chunk).filter(|rest| !rest.is_empty());
    match bound {
        Bound::Included(key) => rest(key).map_or(Bound::Unbounded, Bound::Included),
        Bound::Excluded(key) => rest(key).map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// A walk in progress.
struct KeyWalk<'w, 'v, R> {
    raw: &'w R,
    direction: Direction,
    depth: usize,
    /// The logical key up to the current context.
    prefix: Vec<u8>,
    visit: &'w mut StoreVisit<'v>,
}

impl<R: RawRead> KeyWalk<'_, '_, R> {
    /// Visits the entries of a context. The bounds are rests of logical keys.
    fn walk(
        &mut self,
        context: KeyContext,
        range: RawRange<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let (lower, upper) = (
            context.raw_lower(range.lower),
            context.raw_upper(range.upper),
        );
        let raw_range = RawRange {
            lower: as_slice(&lower),
            upper: as_slice(&upper),
        };
        let (raw, direction) = (self.raw, self.direction);
        raw.raw_walk(raw_range, direction, &mut |key, value| {
            let Some(rest) = key.get(context.prefix_bytes..) else {
                return Err(StoreError::Corrupt("a key shorter than its context"));
            };
            if key.len() > ENTRY_BYTES_MAX {
                return self.walk_pointer(key, &rest[..context.chunk_bytes()], range);
            }
            if self.prefix.is_empty() {
                return Ok((self.visit)(rest, value));
            }
            let begun_bytes = self.prefix.len();
            self.prefix.extend_from_slice(rest);
            let flow = (self.visit)(&self.prefix, value);
            self.prefix.truncate(begun_bytes);
            Ok(flow)
        })
    }

    /// Visits the keys behind a pointer.
    fn walk_pointer(
        &mut self,
        pointer: &[u8],
        chunk: &[u8],
        range: RawRange<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        if self.depth >= DEPTH_MAX {
            return Err(StoreError::Corrupt("a chain of keys longer than any key"));
        }
        let begun_bytes = self.prefix.len();
        self.prefix.extend_from_slice(chunk);
        self.depth += 1;
        let range = RawRange {
            lower: rest_bound(range.lower, chunk),
            upper: rest_bound(range.upper, chunk),
        };
        let flow = self.walk(KeyContext::of_pointer(pointer), range);
        self.depth -= 1;
        self.prefix.truncate(begun_bytes);
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the raw keys of a logical key: its pointers, then its entry.
    fn check(key: &[u8], expected: &[Vec<u8>]) {
        let mut found = Vec::new();
        let entry = locate(key, |pointer| found.push(pointer)).into_owned();
        found.push(entry);
        assert_eq!(found, expected);
    }

    #[test]
    fn raw_keys_have_these_exact_bytes() {
        // The first 16 bytes of the BLAKE3 of 510 times "k"; then of 0xFF, that digest and 493
        // times "k".
        let first = 0x7ddc_f400_7e5f_f818_0809_b95e_a69f_222c_u128.to_be_bytes();
        let second = 0x322c_0739_6737_39fd_e224_8d0c_784f_16d8_u128.to_be_bytes();
        let k = |count: usize| vec![b'k'; count];
        check(&k(1), &[k(1)]);
        check(&k(510), &[k(510)]);
        let pointer = [&k(510)[..], &[0]].concat();
        check(
            &k(511),
            &[pointer.clone(), [&[0xFF], &first[..], &k(1)].concat()],
        );
        check(
            &k(1003),
            &[pointer.clone(), [&[0xFF], &first[..], &k(493)].concat()],
        );
        let further = [&[0xFF], &first[..], &k(493), &[0]].concat();
        assert_eq!(further.len(), RAW_KEY_BYTES_MAX);
        check(
            &k(1004),
            &[pointer, further, [&[0xFF], &second[..], &k(1)].concat()],
        );
    }
}
