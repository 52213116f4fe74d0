//! Client request tokens of transactions: a transaction is carried out once for its token (docs/dynamodb.md 15.1).
//!
//! ```text
//! token          expires u64 · digest 16 of the transaction's actions · u32 for each of its tables: read units of a replay
//! token expiry   nothing; its key is in order of time
//! ```
//! Numbers are big-endian, times are milliseconds since the epoch. Each remembered token removes some that have expired, and so
//! does opening the store: there are never more than those of ten minutes and of the last busy time.

use super::{
    base::stored::{bytes_of, parts_of},
    runtime::prelude::*,
};
use crate::model::{api::Done, limits::CLIENT_TOKEN_VALID_MS};

/// Expired tokens removed at once.
const SWEPT_MAX: usize = 64;
const UNIT_BYTES: usize = 4;

/// Removes expired tokens in the background, piece after piece.
///
/// # Errors
/// Those of the store.
pub fn resume(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let now_ms = shared.now_ms();
    if expired(&*shared.store.snapshot()?, now_ms)?.is_empty() {
        return Ok(());
    }
    let again = Arc::clone(shared);
    let next = Done::of(move |outcome: Result<(), Error>| {
        // What is left goes with the next tokens.
        if let Err(error) = outcome.and_then(|()| Ok(resume(&again)?)) {
            log::debug!("removal of expired client request tokens stopped: {error}");
        }
    });
    let sweep_some = move |transaction: &mut Transaction<'_>| {
        transaction.removes();
        Ok(sweep(transaction.batch, now_ms)?)
    };
    shared.submit(sweep_some, next);
    Ok(())
}

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub expires_ms: u64,
    /// Of the actions carried out.
    pub digest: Digest,
    /// What a replay consumes, for each table in the order of first use.
    pub read_units: Vec<u32>,
}

impl Remembered {
    /// A transaction carried out at `now_ms`.
    #[must_use]
    pub fn at(now_ms: u64, digest: Digest, read_units: Vec<u32>) -> Self {
        Self {
            expires_ms: now_ms.saturating_add(CLIENT_TOKEN_VALID_MS),
            digest,
            read_units,
        }
    }

    /// # Errors
    /// `Corrupt` when the bytes are not of this format.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (expires_ms, digest, units): (_, &Digest, &[u8]) =
            parts_of(bytes, "client request token")?;
        let (units, []) = units.as_chunks::<UNIT_BYTES>() else {
            return Err(StoreError::Corrupt("client request token"));
        };
        let read_units = units.iter().map(|unit| u32::from_be_bytes(*unit)).collect();
        Ok(Self {
            expires_ms,
            digest: *digest,
            read_units,
        })
    }

    /// The stored bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = bytes_of(&(self.expires_ms, &self.digest));
        out.extend(self.read_units.iter().flat_map(|unit| unit.to_be_bytes()));
        out
    }
}

/// What is known of a token that has not expired.
///
/// # Errors
/// Those of the store.
pub fn find(read: &dyn Read, token: &str, now_ms: u64) -> Result<Option<Remembered>, StoreError> {
    let found = read
        .get(&StoreKey::Token(token).encode())?
        .map(Remembered::decode)
        .transpose()?;
    Ok(found.filter(|remembered| now_ms < remembered.expires_ms))
}

/// Remembers a token; one that it had before, expired, is forgotten.
///
/// # Errors
/// Those of the store.
pub fn remember(
    batch: &mut dyn Write,
    token: &str,
    remembered: &Remembered,
    now_ms: u64,
) -> Result<(), StoreError> {
    // Each that comes takes more away than it adds, so there is no thread for them.
    sweep(batch, now_ms)?;
    let key = StoreKey::Token(token).encode();
    if let Some(old) = batch.get(&key)?.map(Remembered::decode).transpose()? {
        batch.delete(&StoreKey::TokenExpiry(old.expires_ms, token).encode())?;
    }
    batch.put(&key, &remembered.encode())?;
    // The store has no empty values.
    batch.put(
        &StoreKey::TokenExpiry(remembered.expires_ms, token).encode(),
        EXPIRY_MARK,
    )
}

/// The value of a token's expiry.
const EXPIRY_MARK: &[u8] = &[1];

/// Removes some tokens that have expired.
fn sweep(batch: &mut dyn Write, now_ms: u64) -> Result<(), StoreError> {
    let expired = expired(batch.as_read(), now_ms)?;
    for (expires_ms, token) in &expired {
        batch.delete(&StoreKey::Token(token).encode())?;
        batch.delete(&StoreKey::TokenExpiry(*expires_ms, token).encode())?;
    }
    Ok(())
}

/// The first tokens that have expired, at most as many as are removed at once.
fn expired(read: &dyn Read, now_ms: u64) -> Result<Vec<(u64, String)>, StoreError> {
    walks::take_while(
        read,
        &Space::TokenExpiry.all(),
        SWEPT_MAX,
        |key, _| match StoreKey::parse(key) {
            Some(StoreKey::TokenExpiry(expires_ms, token)) if expires_ms <= now_ms => {
                Some((expires_ms, token.to_owned()))
            }
            _ => None,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let remembered = Remembered {
            expires_ms: 258,
            digest: [7; 16],
            read_units: vec![2, 515],
        };
        let bytes = [
            &[0, 0, 0, 0, 0, 0, 1, 2][..],
            &[7; 16],
            &[0, 0, 0, 2, 0, 0, 2, 3],
        ]
        .concat();
        assert_eq!(remembered.encode(), bytes);
        assert_eq!(Remembered::decode(&bytes), Ok(remembered));
        for cut in [0, 7, 23, 25, 31] {
            assert!(Remembered::decode(&bytes[..cut]).is_err(), "{cut}");
        }
    }
}
