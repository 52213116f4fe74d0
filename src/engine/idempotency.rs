//! Idempotency tokens: a transaction with a client request token runs once, and a repetition within
//! ten minutes gets the result of the first (docs/dynamodb.md 15.1). The caller is
//! `ops::transactions`.
//!
//! ```text
//! token          expires u64 · digest 16 of the transaction's actions · u32 for each of its tables: read units of a replay
//! token expiry   nothing; its key is in order of time
//! ```
//! Numbers are big-endian, times are milliseconds since the epoch. Each new token removes some that
//! have expired, and so does the opening of the store: there are never more than those of ten
//! minutes and of the last busy time.

use super::{
    base::stored_form::{decode_parts, encode_parts},
    runtime::prelude::*,
};
use crate::model::{api::Completion, limits::CLIENT_TOKEN_VALID_MS};

/// The number of expired tokens removed at once.
const REMOVED_MAX: usize = 64;
const UNIT_BYTES: usize = 4;

/// Removes expired tokens in the background, batch after batch.
pub fn resume(shared: &Arc<EngineShared>) -> Result<(), StoreError> {
    let now_ms = shared.now_ms();
    if expired(&*shared.store.snapshot()?, now_ms)?.is_empty() {
        return Ok(());
    }
    let shared_clone = Arc::clone(shared);
    let next = Completion::detached(move |outcome: Result<(), Error>| {
        // The next tokens remove the rest.
        if let Err(error) = outcome.and_then(|()| Ok(resume(&shared_clone)?)) {
            log::debug!("removal of expired client request tokens stopped: {error}");
        }
    });
    let sweep_some = move |transaction: &mut Transaction<'_>| {
        transaction.mark_removal();
        Ok(remove_expired(transaction.batch, now_ms)?)
    };
    shared.submit(sweep_some, next);
    Ok(())
}

/// The stored result of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenResult {
    pub expires_ms: u64,
    /// The digest of the actions that ran.
    pub digest: Digest,
    /// The read units that a replay consumes, for each table in the order of first use.
    pub read_units: Vec<u32>,
}

impl TokenResult {
    /// Creates the result of a transaction that ran at `now_ms`.
    #[must_use]
    pub fn new(now_ms: u64, digest: Digest, read_units: Vec<u32>) -> Self {
        Self {
            expires_ms: now_ms.saturating_add(CLIENT_TOKEN_VALID_MS),
            digest,
            read_units,
        }
    }

    /// Decodes the stored bytes.
    ///
    /// # Errors
    /// Fails with `Corrupt` if the bytes are not of this format.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (expires_ms, digest, units): (_, &Digest, &[u8]) =
            decode_parts(bytes, "client request token")?;
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

    /// Encodes the result.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = encode_parts(&(self.expires_ms, &self.digest));
        out.extend(self.read_units.iter().flat_map(|unit| unit.to_be_bytes()));
        out
    }
}

/// Returns the result of a token that has not expired.
pub fn find(read: &dyn Read, token: &str, now_ms: u64) -> Result<Option<TokenResult>, StoreError> {
    let found = read
        .get(&StoreKey::Token(token).encode())?
        .map(TokenResult::decode)
        .transpose()?;
    Ok(found.filter(|remembered| now_ms < remembered.expires_ms))
}

/// Stores the result of a token, and replaces an expired one.
pub fn store(
    batch: &mut dyn Write,
    token: &str,
    remembered: &TokenResult,
    now_ms: u64,
) -> Result<(), StoreError> {
    // Each new token removes more than it adds, so no thread is needed.
    remove_expired(batch, now_ms)?;
    let key = StoreKey::Token(token).encode();
    if let Some(old) = batch.get(&key)?.map(TokenResult::decode).transpose()? {
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

/// Removes some expired tokens.
fn remove_expired(batch: &mut dyn Write, now_ms: u64) -> Result<(), StoreError> {
    let expired = expired(batch.as_read(), now_ms)?;
    for (expires_ms, token) in &expired {
        batch.delete(&StoreKey::Token(token).encode())?;
        batch.delete(&StoreKey::TokenExpiry(*expires_ms, token).encode())?;
    }
    Ok(())
}

/// Returns the first expired tokens, at most as many as are removed at once.
fn expired(read: &dyn Read, now_ms: u64) -> Result<Vec<(u64, String)>, StoreError> {
    walks::take_while(
        read,
        &Space::TokenExpiry.all(),
        REMOVED_MAX,
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
        let remembered = TokenResult {
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
        assert_eq!(TokenResult::decode(&bytes), Ok(remembered));
        for cut in [0, 7, 23, 25, 31] {
            assert!(TokenResult::decode(&bytes[..cut]).is_err(), "{cut}");
        }
    }
}
