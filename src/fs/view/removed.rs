//! `install` removes a file and then creates it anew. When what it writes is refused, the item that the same process removed just before is
//! put back: a bad text never costs the item.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::fs::journal::same_process;
use crate::model::api::{Precondition, PutItemRequest};

/// How long a removal may be taken back: as long as a rename's delete waits.
const AGE_MAX: Duration = Duration::from_secs(2);
/// DynamoDB bytes of the items kept.
const BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug)]
struct Kept {
    item: u64,
    thread: u32,
    at: Instant,
    bytes: usize,
    request: PutItemRequest,
}

#[derive(Debug, Default)]
struct State {
    /// The oldest first.
    kept: VecDeque<Kept>,
    bytes: usize,
}

/// Items that were removed of late. An item is named by its inode number.
#[derive(Debug, Default)]
pub struct Removed {
    state: Mutex<State>,
}

impl Removed {
    /// A thread removed an item; `request` puts it back if there is none.
    pub fn keep(&self, item: u64, thread: u32, mut request: PutItemRequest) {
        request.precondition = Some(Precondition::Absent);
        let bytes = request.item.size();
        let mut state = self.state.lock();
        state.bytes += bytes;
        state.kept.push_back(Kept { item, thread, at: Instant::now(), bytes, request });
        while state.bytes > BYTES_MAX || state.kept.front().is_some_and(|kept| kept.at.elapsed() > AGE_MAX) {
            let Some(oldest) = state.kept.pop_front() else { return };
            state.bytes -= oldest.bytes;
        }
    }

    /// What puts back the item that the process of this thread removed, once.
    pub fn take(&self, item: u64, thread: u32) -> Option<PutItemRequest> {
        let mut state = self.state.lock();
        let is_it = |kept: &Kept| kept.item == item && kept.at.elapsed() <= AGE_MAX && same_process(kept.thread, thread);
        let place = state.kept.iter().rposition(is_it)?;
        let kept = state.kept.remove(place)?;
        state.bytes -= kept.bytes;
        Some(kept.request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AttributeValue, Item, TableName};

    fn request(bytes: usize) -> PutItemRequest {
        let item = Item::from([("k", AttributeValue::S("x".repeat(bytes - 1)))]);
        PutItemRequest::new(TableName::new("Tab").unwrap(), item)
    }

    #[test]
    fn a_removal_is_taken_back_once_by_who_made_it() {
        let (removed, me) = (Removed::default(), std::process::id());
        removed.keep(1, me, request(10));
        assert!(removed.take(2, me).is_none());
        assert!(removed.take(1, 1).is_none());
        assert_eq!(removed.take(1, me).unwrap().precondition, Some(Precondition::Absent));
        assert!(removed.take(1, me).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let (removed, me) = (Removed::default(), std::process::id());
        for item in 0..100 {
            removed.keep(item, me, request(400 * 1024));
        }
        let state = removed.state.lock();
        assert!(state.bytes <= BYTES_MAX && state.kept.len() == BYTES_MAX / (400 * 1024));
    }
}
