//! The listing of a query folder: a numbered symlink for each result, in result order, to the item
//! or index entry.
//!
//! ```text
//! query   000001,<entry>.json            -> …/items/<folder>/<entry>.json     the folder is the query's partition key
//! scan    000001,<folder>,<entry>.json   -> …/items/<folder>/<entry>.json     and a query of shards
//! both    000001,<item>.json             -> …/items/<item>.json               table without sort key
//! ```
//! The name holds all parts of the target, so that a link is resolved without running the query,
//! and stays right when the results before it change. Folder and entry are the names below
//! `items/`. Where both together are too long for one name they are shortened further; their
//! digests resolve to the same entry. No state is kept between calls: a position in the listing is
//! the number and the key of the entry there.

use std::{collections::VecDeque, ops::ControlFlow};

use super::{
    context::{self, QueryKind},
    query_path::{PartitionClause, QueryPath},
    request::{QueryBounds, ResolvedClauses, read_rows},
    row_stream::{IsWanted, QueryPages, RowStream},
    token::{decode_cursor, encode_cursor, entry_cursor},
};
use crate::codec::{
    file_name::{self, ALIAS_MARK, NAME_BYTES_MAX, STEM_BYTES_MAX},
    record::ResultRow,
};
use crate::database::ListPosition;
use crate::expr::SortRange;
use crate::fs::{path::names, prelude::*};

/// Entries read at once for a listing.
const CHUNK_ITEMS: u32 = 512;
/// Approximate bytes of memory of the key of an entry.
const ENTRY_BYTES: usize = 256;
/// Digits of a link's number; more when there are more results.
const NUMBER_DIGITS: usize = 6;
const SUFFIX: &str = ".json";

/// A visitor of a listing, called with the link's name and the position right after it.
pub type VisitLink<'a> = dyn FnMut(String, ListPosition) -> ControlFlow<()> + 'a;

/// The state of a listing that continues where it ended, of a query that has no key to continue
/// from. It is a cache: its loss costs only time.
#[derive(Debug, Default)]
pub struct ListingCache(Option<ListingRun>);

#[derive(Debug)]
struct ListingRun {
    stream: RowStream,
    /// Entries read and not yet returned.
    ready: VecDeque<EntryKey>,
    /// Number of entries returned.
    returned: u64,
}

impl ListingCache {
    /// Returns the bytes of memory of entries that were read and not yet returned.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |run| {
            run.stream.held_bytes() + run.ready.len() * ENTRY_BYTES
        })
    }
}

impl QueryPath {
    /// Lists the directory: `000001,<name>.json` in result order, each a symlink
    /// ([`super::QueryChild::Link`]), strictly after `after`, a position that an earlier call gave.
    /// Lists nothing while the query is incomplete. Uses constant memory.
    ///
    /// # Errors
    /// Errors of the database; [`FsError::Clause`] for a token of another query,
    /// [`FsError::TokenExpired`] for an expired one.
    pub fn listing(
        &self,
        db: &dyn Browse,
        after: Option<&ListPosition>,
        visit: &mut VisitLink<'_>,
    ) -> Result<(), FsError> {
        self.listing_with(&mut ListingCache::default(), db, after, &|| true, visit)
    }

    /// Lists as [`Self::listing`]. A caller that lists the directory in pieces keeps `live` between
    /// them. `is_wanted` is called between pages.
    ///
    /// # Errors
    /// The same, and [`FsError::Interrupted`] when `is_wanted` returns false.
    pub fn listing_with(
        &self,
        live: &mut ListingCache,
        db: &dyn Browse,
        after: Option<&ListPosition>,
        is_wanted: &IsWanted<'_>,
        visit: &mut VisitLink<'_>,
    ) -> Result<(), FsError> {
        if self.clauses.check_complete(self.context()).is_err()
            || (after.is_some() && self.is_single_row())
        {
            return Ok(());
        }
        let (mut run, resolved) = match self.uses_numbers() {
            true => (self.numbered_run(live, db, after)?, None),
            false => match self.resolve_one(db, "a listing") {
                Ok(resolved) => (self.run_from(&resolved, db, after)?, Some(resolved)),
                // A shortened partition key without entries.
                Err(FsError::NotFound) => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        let before = number_of(after)?;
        let (mut charges, mut asks) = (Vec::new(), false);
        loop {
            while let Some(entry) = run.ready.pop_front() {
                run.returned += 1;
                let cursor = match &resolved {
                    Some(resolved) => {
                        let scope = self.scope(resolved);
                        encode_cursor(&entry_cursor(&entry, scope), scope)?
                    }
                    None => Vec::new(),
                };
                let position = encode_position(run.returned, &cursor);
                if run.returned > before
                    && visit(self.link_name(run.returned, &entry), position).is_break()
                {
                    live.0 = resolved.is_none().then_some(run);
                    return Ok(());
                }
            }
            if run.stream.is_done() {
                break;
            }
            if asks && !is_wanted() {
                live.0 = resolved.is_none().then_some(run);
                return Err(FsError::Interrupted);
            }
            let ListingRun { stream, ready, .. } = &mut run;
            let mut take = |row: &ResultRow<'_>| {
                ready.push_back(context::entry_key(row, self.context())?);
                Ok(())
            };
            let step = read_rows(&mut take, |rows| stream.next(db, &mut charges, rows))?;
            apply_charges(&mut charges)?;
            if step.is_none() {
                break;
            }
            asks = resolved.is_some() || run.ready.is_empty();
        }
        // A program that reads on after the last entry does not run the query again.
        live.0 = (resolved.is_none() && run.returned > 0).then_some(run);
        Ok(())
    }

    /// Starts a query that continues after a key.
    fn run_from(
        &self,
        resolved: &ResolvedClauses,
        db: &dyn Browse,
        after: Option<&ListPosition>,
    ) -> Result<ListingRun, FsError> {
        let scope = self.scope(resolved);
        let mut request = self.build_request(resolved, self.start(resolved, db)?)?;
        request.projection = None;
        let mut returned = 0;
        if let Some(after) = after {
            let (before, start) = decode_position(after, |bytes| decode_cursor(bytes, scope))?;
            returned = before;
            request.exclusive_start_key = Some(start);
        }
        let left = |items: Option<u64>| items.map(|items| items.saturating_sub(returned));
        let bounds = self.bounds();
        let bounds = QueryBounds {
            limit: left(bounds.limit),
            eval: left(bounds.eval),
        };
        let pages = QueryPages::new(request, bounds, Some(CHUNK_ITEMS));
        Ok(ListingRun {
            stream: RowStream::Chain {
                rest: [pages].into(),
                left: bounds.limit,
            },
            ready: VecDeque::new(),
            returned,
        })
    }

    /// True if a position in the listing is a mere number. That is so where no key says where to
    /// continue: in several merged queries, and where a filter with `eval=` hides the number of
    /// evaluated items.
    fn uses_numbers(&self) -> bool {
        self.kind == QueryKind::Near
            || matches!(self.clauses.partition, PartitionClause::Shards(_))
            || (self.clauses.is_filtered() && self.clauses.eval.is_some())
    }

    /// Continues the query of `live` if it stands at the position, else runs it again and skips the
    /// entries before.
    fn numbered_run(
        &self,
        live: &mut ListingCache,
        db: &dyn Browse,
        after: Option<&ListPosition>,
    ) -> Result<ListingRun, FsError> {
        let before = number_of(after)?;
        match live.0.take() {
            Some(run) if run.returned == before => Ok(run),
            _ => Ok(ListingRun {
                stream: self.stream(db, &|request| request.projection = None)?,
                ready: VecDeque::new(),
                returned: 0,
            }),
        }
    }

    /// True if the query gives all of a base item's key.
    fn is_single_row(&self) -> bool {
        let keys = self.context().keys();
        self.kind == QueryKind::Query
            && self.index.is_none()
            && !matches!(self.clauses.partition, PartitionClause::Shards(_))
            && self
                .clauses
                .sort
                .values()
                .filter(|c| matches!(c, SortRange::Equal(_)))
                .count()
                == keys.sort.len()
    }

    /// Returns the name of the link to the `number`th result.
    fn link_name(&self, number: u64, entry: &EntryKey) -> String {
        let number = format!("{number:0NUMBER_DIGITS$},");
        let room = NAME_BYTES_MAX - number.len() - SUFFIX.len();
        format!("{number}{}{SUFFIX}", self.link_stem(entry, room))
    }

    /// Returns the name of a result in a link, in at most `room` bytes: as a search takes an item's.
    pub(super) fn link_stem(&self, entry: &EntryKey, room: usize) -> String {
        match (self.has_several_folders(), self.has_folders()) {
            (true, true) => {
                let (folder, stem) = link_parts(entry, room - 1);
                format!("{folder},{stem}")
            }
            _ => names::entry_stem_within(entry, STEM_BYTES_MAX.min(room)),
        }
    }

    /// True if the links lead to entries of an index; a search finds items of the table.
    fn lists_entries(&self) -> bool {
        self.index.is_some() && self.kind != QueryKind::Near
    }

    /// True if the source's entries lie in folders by partition key.
    fn has_folders(&self) -> bool {
        self.lists_entries() || self.schema.key.sort.is_some()
    }

    /// True if the results may have more than one partition key.
    fn has_several_folders(&self) -> bool {
        self.kind != QueryKind::Query
            || matches!(self.clauses.partition, PartitionClause::Shards(_))
    }

    /// Returns the target of a link called `link`, relative to this directory; `None` when the name
    /// is no link's.
    pub(super) fn link_target(&self, link: &str) -> Option<String> {
        let (number, rest) = link.split_once(',')?;
        let numbered =
            number.len() >= NUMBER_DIGITS && number.bytes().all(|byte| byte.is_ascii_digit());
        let stem = rest
            .strip_suffix(SUFFIX)
            .filter(|stem| numbered && !stem.is_empty())?;
        let up = "../".repeat(self.names.len() + 1);
        // From `queries/<name>/` it is one more step up, and down to the index.
        let up = match (&self.saved, self.index_schema()) {
            // From `vector/<index>/` to the table.
            (None, Some(_)) if !self.lists_entries() => format!("../../{up}"),
            (None, _) => up,
            (Some(_), None) => format!("../{up}"),
            (Some(_), Some(index)) => format!("../{up}{}/{}/", index.kind.name(), index.name),
        };
        if !self.has_folders() {
            return Some(format!("{up}items/{stem}{SUFFIX}"));
        }
        let (folder, stem) = match self.has_several_folders() {
            false => (self.partition_folder()?, stem),
            true => {
                let values = match self.lists_entries() {
                    true => self.context().keys().partition.len(),
                    false => 1,
                };
                let (folder, stem) = split_folder(stem, values)?;
                (folder.to_owned(), stem)
            }
        };
        Some(format!("{up}items/{folder}/{stem}{SUFFIX}"))
    }

    /// Returns the folder below `items/` of the query's partition key.
    fn partition_folder(&self) -> Option<String> {
        match &self.clauses.partition {
            PartitionClause::Alias(alias) => Some(alias.name.clone()),
            PartitionClause::Shards(_) => None,
            PartitionClause::Values(values) if values.is_empty() => None,
            PartitionClause::Values(values) => {
                let values: Vec<&AttributeValue> = values.values().collect();
                Some(file_name::collection_name_within(&values, STEM_BYTES_MAX))
            }
        }
    }
}

/// Returns folder and entry, shortened to half of `bytes_max` each where they do not fit together.
fn link_parts(entry: &EntryKey, bytes_max: usize) -> (String, String) {
    let parts = |bytes_max: usize| {
        (
            file_name::collection_name_within(&partition_of(entry), bytes_max),
            names::entry_stem_within(entry, bytes_max),
        )
    };
    let (folder, stem) = parts(STEM_BYTES_MAX);
    if folder.len() + stem.len() <= bytes_max {
        (folder, stem)
    } else {
        parts(bytes_max / 2)
    }
}

/// Returns the values that name the entry's folder.
fn partition_of(entry: &EntryKey) -> Vec<&AttributeValue> {
    match &entry.index {
        Some((partition, _)) => partition.iter().collect(),
        None => vec![&entry.base.partition],
    }
}

fn encode_position(number: u64, cursor: &[u8]) -> ListPosition {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend_from_slice(cursor);
    ListPosition(bytes.into())
}

fn decode_position(
    position: &ListPosition,
    cursor: impl Fn(&[u8]) -> Option<Item>,
) -> Result<(u64, Item), FsError> {
    let decoded = position
        .0
        .split_first_chunk()
        .and_then(|(number, rest)| Some((u64::from_be_bytes(*number), cursor(rest)?)));
    decoded.ok_or(FsError::Invalid("directory position"))
}

/// Returns the number of links before this position; the rest of the position is not decoded.
fn number_of(after: Option<&ListPosition>) -> Result<u64, FsError> {
    after.map_or(Ok(0), |after| {
        Ok(decode_position(after, |_| Some(Item::default()))?.0)
    })
}

/// Applies the charges of a page: a listing consumes each page once it has read it.
fn apply_charges(charges: &mut Vec<DeferredCharge>) -> Result<(), FsError> {
    charges.drain(..).try_for_each(|charge| Ok(charge.spend()?))
}

/// Splits `<folder>,<entry>`. The folder is named by `count` values, or fewer when it is shortened.
fn split_folder(text: &str, count: usize) -> Option<(&str, &str)> {
    let mut end = 0;
    for part in text.split(',').take(count) {
        end += part.len() + 1;
        if part.contains(ALIAS_MARK) {
            break;
        }
    }
    let folder = text.get(..end.checked_sub(1)?)?;
    let entry = text.get(end..)?;
    (!folder.is_empty() && !entry.is_empty()).then_some((folder, entry))
}
