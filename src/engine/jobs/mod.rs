//! Background jobs: copies of items and removal of history, piece after piece, gone on with after a restart.
//!
//! A copy reads a source **as of a version** and writes it to another source as it is (a backup, what an export reads) or to a
//! table (a restore). It needs no long read transaction: each piece runs in a write transaction of its own, first over the items,
//! passing over those changed since, then over the history for their old images (see `history`). An item seen twice is the same
//! both times. Where it stands is in its record, written with each piece, so that a restart and even two processes go on right.
//! A job that cannot go on, as on a full disk, has failed (see `fail`): it holds nothing, and what it was to make says why.

mod after_piece;
mod buckets;
mod changes;
mod copy;
mod export;
mod fail;
mod import;
mod run;
mod table_hold;
mod transfer_thread;

pub use buckets::{relative, root};
pub use export::Selected;
pub use import::run as run_import;
pub use run::{resume, start};
pub use table_hold::{add, bound_at, bound_now, hold, trim};
