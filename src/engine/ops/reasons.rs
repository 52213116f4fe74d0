//! Why single actions cancel their transaction (docs/dynamodb.md 15.1).

use crate::engine::catalog::TableEntry;
use crate::model::error::{Cancellation, CancellationReason, KeyError, TransactionError, UpdateError};
use crate::model::{Error, Key};

/// A reason for each action, as far as one has any.
pub struct Reasons(Vec<CancellationReason>);

impl Reasons {
    pub fn of(actions: usize) -> Self {
        Self(vec![CancellationReason::None; actions])
    }

    /// Takes what an action comes to; `None` where it fails for a reason of its own.
    ///
    /// # Errors
    /// What is an objection to the whole.
    pub fn take<T>(&mut self, place: usize, outcome: Result<T, Error>) -> Result<Option<T>, Error> {
        let reason = match outcome {
            Ok(value) => return Ok(Some(value)),
            Err(Error::ConditionalCheckFailed { item }) => CancellationReason::ConditionalCheckFailed { item },
            Err(Error::ItemCollectionSizeLimitExceeded) => CancellationReason::ItemCollectionSizeLimitExceeded,
            Err(Error::Throttled(throttled)) => CancellationReason::Throttled(throttled),
            Err(error) => return Err(error),
        };
        self.put(place, reason);
        Ok(None)
    }

    /// Takes an action that cannot be carried out whatever is there.
    ///
    /// # Errors
    /// What is an objection to the whole.
    pub fn invalid(&mut self, place: usize, error: Error) -> Result<(), Error> {
        if concerns_whole_transaction(&error) {
            return Err(error);
        }
        self.put(place, CancellationReason::ValidationError(Box::new(error)));
        Ok(())
    }

    fn put(&mut self, place: usize, reason: CancellationReason) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = reason;
        }
    }

    /// # Errors
    /// `TransactionCanceled`, if there is any reason.
    pub fn finish(self) -> Result<(), Error> {
        if self.0.iter().all(|reason| *reason == CancellationReason::None) { Ok(()) } else { Err(Cancellation(self.0).into()) }
    }
}

/// The keys of all actions, each with its table; they are of different items.
///
/// # Errors
/// An error that concerns the whole transaction; `SeveralOperations` on one item; a cancellation by the first key that is not legal.
pub fn keys<'t>(actions: usize, checked: impl Iterator<Item = (&'t TableEntry, Result<Key, Error>)>) -> Result<Vec<Key>, Error> {
    let (mut keys, mut invalid) = (Vec::with_capacity(actions), None);
    for (place, (table, key)) in checked.enumerate() {
        match key {
            Ok(key) => keys.push((table, key)),
            Err(error) if concerns_whole_transaction(&error) => return Err(error),
            Err(error) => invalid = invalid.or(Some((place, error))),
        }
    }
    if !super::are_different(keys.iter().map(|(table, key)| (*table, key))) {
        return Err(TransactionError::SeveralOperations.into());
    }
    match invalid {
        Some((place, error)) => Err(Cancellation::invalid(actions, place, error).into()),
        None => Ok(keys.into_iter().map(|(_, key)| key).collect()),
    }
}

/// True for an error that is the answer for the whole transaction, and no reason of one action.
pub fn concerns_whole_transaction(error: &Error) -> bool {
    matches!(
        error,
        Error::Key(
            KeyError::EmptyString(_)
                | KeyError::EmptyBinary(_)
                | KeyError::IndexEmptyString { .. }
                | KeyError::IndexEmptyBinary { .. }
        ) | Error::Update(UpdateError::IndexEmptyString | UpdateError::IndexEmptyBinary)
            | Error::Store(_)
    )
}
