//! A read-only walk of LMDB's B+tree in the data file's pages, without LMDB: takes no lock, writes
//! nothing, and can read a commit that neither meta page shows. `pages` has the page format,
//! `offline_store` reads by it.

use std::ops::{Bound, ControlFlow};

use super::pages::{MetaPage, NodeTarget, PAGE_HEADER, nodes};
use crate::store::long_key::RawRange;
use crate::store::{Direction, StoreError};

/// The B+tree of one commit, in the bytes of a data file that no process writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageTree<'m> {
    pub bytes: &'m [u8],
    pub meta_page: MetaPage,
}

/// A callback for each entry.
pub(super) type PageVisit<'v, 'm> =
    dyn FnMut(&'m [u8], &'m [u8]) -> Result<ControlFlow<()>, StoreError> + 'v;

impl<'m> PageTree<'m> {
    pub fn get(&self, key: &[u8]) -> Result<Option<&'m [u8]>, StoreError> {
        let mut found = None;
        let only = RawRange {
            lower: Bound::Included(key),
            upper: Bound::Included(key),
        };
        let _ = self.walk(only, Direction::Forward, &mut |_, value| {
            found = Some(value);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Visits the entries between the bounds.
    pub fn walk(
        &self,
        range: RawRange<'_>,
        direction: Direction,
        visit: &mut PageVisit<'_, 'm>,
    ) -> Result<ControlFlow<()>, StoreError> {
        self.meta_page
            .main
            .root
            .map_or(Ok(ControlFlow::Continue(())), |root| {
                self.walk_page(root, 1, range, direction, visit)
            })
    }

    fn page(&self, page: u64) -> Result<&'m [u8], StoreError> {
        self.part(page, 0, self.meta_page.page_bytes)
    }

    fn part(&self, page: u64, offset: usize, bytes: usize) -> Result<&'m [u8], StoreError> {
        // Checked, as the page number comes from the file.
        let begin = usize::try_from(page).ok().and_then(|page| {
            page.checked_mul(self.meta_page.page_bytes)?
                .checked_add(offset)
        });
        let part = begin.and_then(|begin| self.bytes.get(begin..begin.checked_add(bytes)?));
        part.ok_or(StoreError::Corrupt("a page is missing"))
    }

    fn walk_page(
        &self,
        page: u64,
        level: u16,
        range: RawRange<'_>,
        direction: Direction,
        visit: &mut PageVisit<'_, 'm>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let (bytes, is_leaf) = (self.page(page)?, level == self.meta_page.main.depth);
        let nodes = nodes(bytes, is_leaf, false).map_err(StoreError::Corrupt)?;
        // An entry of a leaf has its own key. An entry of a branch covers the keys from its own
        // (the first has none) up to the next entry's.
        let begins = |at: usize| {
            if is_leaf || at > 0 {
                nodes.get(at).map(|(key, _)| *key)
            } else {
                None
            }
        };
        let is_before = |at: usize| match (range.lower, begins(if is_leaf { at } else { at + 1 })) {
            (Bound::Included(lower), Some(key)) => {
                if is_leaf {
                    key < lower
                } else {
                    key <= lower
                }
            }
            (Bound::Excluded(lower), Some(key)) => key <= lower,
            (Bound::Unbounded, _) | (_, None) => false,
        };
        let is_after = |at: usize| match (range.upper, begins(at)) {
            (Bound::Included(upper), Some(key)) => key > upper,
            (Bound::Excluded(upper), Some(key)) => key >= upper,
            (Bound::Unbounded, _) | (_, None) => false,
        };
        let positions: Vec<usize> = (0..nodes.len())
            .filter(|at| !is_before(*at) && !is_after(*at))
            .collect();
        for nth in 0..positions.len() {
            let at = positions[if direction == Direction::Forward {
                nth
            } else {
                positions.len() - 1 - nth
            }];
            let (key, link) = &nodes[at];
            let flow = match link {
                NodeTarget::Child(child) if level < self.meta_page.main.depth => {
                    self.walk_page(*child, level + 1, range, direction, visit)?
                }
                NodeTarget::Child(_) => {
                    return Err(StoreError::Corrupt("a tree that is deeper than it says"));
                }
                NodeTarget::Long(first, length) => {
                    visit(key, self.part(*first, PAGE_HEADER, *length)?)?
                }
                NodeTarget::Value(place) => {
                    let value = bytes.get(place.clone());
                    visit(
                        key,
                        value.ok_or(StoreError::Corrupt("an entry out of its page"))?,
                    )?
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
