//! Shard iterators: opaque cursor tokens that encode a position in a stream; a client holds one for
//! up to 15 minutes.
//!
//! ```text
//! base64, URL alphabet, of: u8 form 1 · u64 position · u64 time given, ms · u8 length, table name · label · digest 8 of all before
//! ```
//! Numbers are big-endian. The digest detects damage and is no secret: a forged iterator reads
//! nothing that its author may not read anyway.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::codec::digest::digest;
use crate::engine::{
    base::stored_form::{Part, encode_parts},
    prelude::*,
};
use crate::model::{api::StreamName, error::StreamError, limits::SHARD_ITERATOR_MS};

const FORM: u8 = 1;
const DIGEST_BYTES: usize = 8;

/// A position in a stream: the next record is the first with this sequence number or a higher one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardIterator {
    pub stream: StreamName,
    /// 0 is the oldest kept record, whatever was removed.
    pub position: Version,
    /// Milliseconds since the epoch.
    pub given_ms: u64,
}

impl ShardIterator {
    /// Returns the text for the client: at most 400 characters.
    #[must_use]
    pub fn encode(&self) -> String {
        let name = self.stream.table_name.as_str();
        debug_assert!(name.len() <= 255, "a table name has at most 255 characters");
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        let mut bytes = encode_parts(&(FORM, self.position, self.given_ms, length));
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(self.stream.label.as_bytes());
        let digest = digest(&bytes);
        bytes.extend_from_slice(&digest[..DIGEST_BYTES]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Parses the text of a client. Fails with `Iterator` if it is no iterator, and with
    /// `ExpiredIterator` after 15 minutes.
    pub fn decode(text: &str, now_ms: u64) -> Result<Self, StreamError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| StreamError::Iterator)?;
        let iterator = Self::parse(&bytes).ok_or(StreamError::Iterator)?;
        if now_ms.saturating_sub(iterator.given_ms) > SHARD_ITERATOR_MS {
            return Err(StreamError::ExpiredIterator);
        }
        Ok(iterator)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (body, found) = bytes.split_last_chunk::<DIGEST_BYTES>()?;
        if !digest(body).starts_with(found) {
            return None;
        }
        let (FORM, position, given_ms, length, rest): (u8, _, _, u8, &[u8]) =
            Part::take(&mut &*body)?
        else {
            return None;
        };
        let (name, label) = rest.split_at_checked(usize::from(length))?;
        let table_name = TableName::new(std::str::from_utf8(name).ok()?).ok()?;
        let label = std::str::from_utf8(label).ok()?.to_owned();
        let stream = StreamName { table_name, label };
        Some(Self {
            stream,
            position,
            given_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> ShardIterator {
        let stream = StreamName {
            table_name: TableName::new(name).unwrap(),
            label: "2026-01-02T03:04:05.678".into(),
        };
        ShardIterator {
            stream,
            position: 7,
            given_ms: 1_000,
        }
    }

    #[test]
    fn texts_come_back_until_they_expire() {
        for name in ["abc", &"x".repeat(255)] {
            let text = example(name).encode();
            assert!(text.len() <= 2048, "the longest ShardIterator of the API");
            assert_eq!(ShardIterator::decode(&text, 1_000), Ok(example(name)));
            assert_eq!(ShardIterator::decode(&text, 500), Ok(example(name)));
            assert_eq!(
                ShardIterator::decode(&text, 1_000 + SHARD_ITERATOR_MS),
                Ok(example(name))
            );
            assert_eq!(
                ShardIterator::decode(&text, 1_001 + SHARD_ITERATOR_MS),
                Err(StreamError::ExpiredIterator)
            );
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        let good = example("abc").encode();
        let other = good.replacen(['A', 'B'], "C", 1);
        for text in [
            "",
            "x",
            "=",
            "AAAA",
            &good[1..],
            &good[..good.len() - 2],
            &other,
        ] {
            assert_eq!(
                ShardIterator::decode(text, 1_000),
                Err(StreamError::Iterator),
                "{text}"
            );
        }
    }
}
