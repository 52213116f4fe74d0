//! What goes next.

use std::ops::ControlFlow;

use super::sweep::item_that_expires;
use crate::engine::Engine;
use crate::engine::keys;
use crate::model::{Error, Key, TableName};
use crate::store::Direction;

impl Engine {
    /// The items of a table whose time is over first: milliseconds since the epoch and key, at most `count`. None when time to
    /// live is disabled.
    ///
    /// # Errors
    /// `TableNotFound`; those of the store.
    pub fn expiring(&self, name: &TableName, count: usize) -> Result<Vec<(u64, Key)>, Error> {
        let view = self.view()?;
        let Some(table) = view.table(name)? else { return Err(Error::TableNotFound(name.as_str().to_owned())) };
        let Some(list) = table.time_to_live.as_ref().and_then(|time_to_live| time_to_live.list) else { return Ok(Vec::new()) };
        let mut places = Vec::new();
        view.read().walk(&keys::expiries_between(list.id, 0, u64::MAX), Direction::Forward, &mut |key, _| {
            places.extend(keys::parse_expiry(key).map(|(ms, place)| (ms, place.to_vec())));
            if places.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut found = Vec::new();
        for (ms, place) in places {
            found.extend(item_that_expires(view.read(), &table, (ms, &place))?.map(|key| (ms, key)));
        }
        Ok(found)
    }
}
