//! The life of a global index that UpdateTable makes or drops while its table is in use (docs/dynamodb.md 9.6).
//!
//! ```text
//! (absent) -> Allocation -> Backfill -> active -> leaving -> (absent)
//!                               \-------------------/
//! ```
//! The catalog entry of the table says the phase; a table has one index at most that is not simply there. Difficulties, and what
//! solves each:
//!
//! - **Writes go on.** From the commit that defines the index every change of an item maintains it too ([`tracked`]). An item that
//!   the backfill has not reached yet has no entry; whether the old one has is looked up, not guessed from how far the backfill is.
//! - **An entry must not be older than its item.** A step of the backfill ([`backfill`]) reads the items in the write transaction that
//!   writes their entries, and leaves alone what is there.
//! - **Writers must not wait.** Steps are short; the worker (`background::indexes`) submits the next when the last is durable, so that every
//!   waiting write gets into the transactions between.
//! - **The process may end at any moment, and several may be at it.** How far the backfill is ([`progress`]) is written with each
//!   step; whoever comes next goes on from there, and decides inside the transaction what is to be done.
//! - **Items with values that cannot be its key** are passed over and put on a list ([`violations`]) that later writes keep true.
//! - **A leaving index** is out of the schema at once; its entries are removed behind it ([`removal`]).

pub mod absence;
pub mod admission;
pub mod backfill;
pub mod progress;
pub mod removal;
pub mod violations;

use super::index::{IndexView, Transition};
use crate::model::error::StoreError;
use crate::model::{Item, Key};
use crate::store::Read;

/// What a change of an item does in an index that is being made, which may not have the entry of the old item yet.
///
/// # Errors
/// Those of the store.
pub fn tracked<'i>(
    read: &dyn Read,
    view: &IndexView<'_>,
    key: &Key,
    old: Option<&'i Item>,
    new: Option<&'i Item>,
) -> Result<Transition<'i>, StoreError> {
    let entry = old.and_then(|item| view.entry_with_key(item, key));
    // Looked up: how far the backfill is says nothing of an item that was written meanwhile.
    let is_there = match entry {
        Some(entry) => read.get(&entry.address.encode())?.is_some(),
        None => false,
    };
    Ok(Transition::of(view, key, old.filter(|_| is_there), new))
}
