//! Listings: page after page, whoever asks in whatever portions. What a page has beyond a portion waits for the next one, and the page after
//! it is asked for while the reader reads.

use super::RemoteDatabase;
use super::source::{Readable, keys_at};
use super::walks::{Fetcher, Listed, Next, Row, Waiting, Walk};
use crate::database::prelude::*;
use crate::database::{Entries, Position};
use crate::expr::read_request::ReadRequest;
use std::ops::ControlFlow;

impl RemoteDatabase {
    /// Gives the rows of what `request` reads, strictly after `after`; `Break` ends it.
    pub(super) fn walk(
        &self,
        (source, listed): (Readable, &Listed),
        request: ReadRequest,
        after: Option<&Position>,
        visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let waiting = self.going_on(&source.source, listed, after);
        let is_going_on = after.is_some() && waiting.is_some();
        let fetcher = Fetcher { service: Arc::clone(&self.service), pages: Arc::clone(&self.pages), source, request };
        let mut walk = match waiting {
            Some(walk) => walk,
            None => self.begin_walk(&fetcher, listed, after)?,
        };
        let (mut last, mut is_at_end) = (after.map(|after| after.0.clone()), false);
        while !is_at_end {
            let may_go_on = self.go_on(&fetcher.source, walk.toll);
            if self.options.reads_ahead && may_go_on.is_ok() && (is_going_on || walk.pages > 1) {
                walk.look_ahead(&fetcher, &self.walks.ahead);
            }
            while let Some(row) = walk.rows.pop_front() {
                if *listed == Listed::Collections && !walk.is_new(&row.key) {
                    continue;
                }
                let next = visit(&row);
                last = Some(row.place);
                if next.is_break() {
                    return self.wait_for_reader(fetcher, listed, last, walk);
                }
            }
            if let (Err(error), false) = (may_go_on, matches!(walk.next, Next::Done)) {
                // Who shows what was given and goes on after it pays for no more.
                return self.wait_for_reader(fetcher, listed, last, walk).and(Err(error));
            }
            is_at_end = !walk.turn(&fetcher)?;
        }
        // Who has a last place asks once more.
        self.wait_for_reader(fetcher, listed, last, walk)
    }

    fn wait_for_reader(&self, fetcher: Fetcher, listed: &Listed, after: Option<Box<[u8]>>, walk: Walk) -> Result<(), Error> {
        if let Some(after) = after {
            let at_ms = self.options.clock.now_ms();
            // Who comes too late for the walk goes on with what it cost.
            self.tolls.keep(&fetcher.request, &keys_at(&Position(after.clone()))?, walk.toll);
            let (source, own_writes) = (fetcher.source.source, self.commits.own());
            self.walks.put(Waiting { source, listed: listed.clone(), after: Some(after), at_ms, own_writes, walk });
        }
        Ok(())
    }

    /// The listing that waits there. One that nobody has begun is as good as what is held: for a while, and until something is written.
    fn going_on(&self, source: &Source, listed: &Listed, after: Option<&Position>) -> Option<Walk> {
        let now_ms = self.options.clock.now_ms();
        let waiting = self.walks.take(source, listed, after, now_ms)?;
        let is_good = now_ms < waiting.at_ms.saturating_add(self.pages.ttl_ms()) && waiting.own_writes == self.commits.own();
        if after.is_none() && !is_good {
            self.siblings.give_up(source);
            return None;
        }
        Some(waiting.walk)
    }

    fn begin_walk(&self, fetcher: &Fetcher, listed: &Listed, after: Option<&Position>) -> Result<Walk, Error> {
        let source = &fetcher.source;
        if !matches!(listed, Listed::Entries(Entries::Collection { .. })) {
            self.admit(source, None)?;
        }
        let start = after.map(keys_at).transpose()?;
        let toll = self.tolls.before(&ReadRequest { exclusive_start_key: start.clone(), ..fetcher.request.clone() });
        let mut walk = Walk { toll, ..Walk::default() };
        if let (Listed::Collections, Some(start)) = (listed, &start) {
            // The rest of that collection was listed.
            walk.is_new(&source.key_of(start)?);
        }
        walk.next = Next::From(start);
        Ok(walk)
    }
}
