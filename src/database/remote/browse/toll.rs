//! What listings, scans and samples have cost so far, page after page, in however many portions they are read.

use crate::database::prelude::*;
use crate::expr::read_request::ReadRequest;
use std::collections::VecDeque;

use crate::model::limits::{PAGE_BYTES_MAX, READ_UNIT_BYTES};

/// Units of an eventually consistent read of 4 KB.
pub const UNITS_A_READ: f64 = 0.5;
/// Reads that may go on, and of which it is known what they cost.
const TOLLS_MAX: usize = 256;

/// What a listing or scan has cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Toll {
    pub units: f64,
    pub items: u64,
}

impl Toll {
    /// What a page cost; one that nobody counted is told by its bytes.
    pub fn of(request: &ReadRequest, page: &Page) -> Self {
        let is_full = page.last_evaluated_key.is_some() && request.limit.is_none();
        let bytes = if is_full { page.scanned_bytes.max(PAGE_BYTES_MAX as u64) } else { page.scanned_bytes };
        let guessed = bytes.div_ceil(READ_UNIT_BYTES as u64) as f64 * if request.consistent_read { 1.0 } else { UNITS_A_READ };
        let told = page.consumed_capacity.total();
        Self { units: if told > 0.0 { told } else { guessed }, items: page.count }
    }

    #[must_use]
    pub fn and(self, page: Self) -> Self {
        Self { units: self.units + page.units, items: self.items + page.items }
    }
}

/// What reads that may go on have cost, by where they do; the oldest first.
#[derive(Debug, Default)]
pub struct Tolls {
    reads: Mutex<VecDeque<(ReadRequest, Toll)>>,
    samples: Mutex<VecDeque<(TableName, Toll)>>,
}

impl Tolls {
    /// Before this page.
    pub fn before(&self, request: &ReadRequest) -> Toll {
        let is_first = request.exclusive_start_key.is_none();
        if is_first { Toll::default() } else { find(&self.reads, request) }
    }

    /// It goes on after these keys.
    pub fn keep(&self, request: &ReadRequest, last: &Item, toll: Toll) {
        keep(&self.reads, ReadRequest { exclusive_start_key: Some(last.clone()), ..request.clone() }, toll);
    }

    /// Of the sample that is being taken of a table, in many reads.
    pub fn of_sample(&self, table: &TableName) -> Toll {
        find(&self.samples, table)
    }

    pub fn keep_sample(&self, table: &TableName, toll: Toll) {
        keep(&self.samples, table.clone(), toll);
    }
}

fn find<K: PartialEq>(tolls: &Mutex<VecDeque<(K, Toll)>>, key: &K) -> Toll {
    tolls.lock().iter().find(|(of, _)| of == key).map(|(_, toll)| *toll).unwrap_or_default()
}

fn keep<K: PartialEq>(tolls: &Mutex<VecDeque<(K, Toll)>>, key: K, toll: Toll) {
    let mut tolls = tolls.lock();
    tolls.retain(|(of, _)| *of != key);
    tolls.push_back((key, toll));
    if tolls.len() > TOLLS_MAX {
        tolls.pop_front();
    }
}
