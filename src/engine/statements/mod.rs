//! Execution of PartiQL statements: the part that ExecuteStatement, BatchExecuteStatement and
//! ExecuteTransaction share (docs/dynamodb.md 19.3). The operations are in `ops::statements`, the
//! parser is in `expr::partiql`.

pub mod select_statement;
pub mod write_statement;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use super::prelude::*;
use crate::codec::{digest, dynamodb_json, json::document::Document, wire::attribute_value};
use crate::model::error::StatementError;

// `NextToken`: the position at which a SELECT continues, valid for the same statement and
// parameters only.
//
// ```text
// base64 of: digest 16 of statement and parameters · u16 number of the read · the key after which it continues, DynamoDB JSON, or nothing
// ```

/// A position in the reads of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementPosition {
    /// The index of the read, from 0.
    pub read: usize,
    /// The last key evaluated in it; `None` is its beginning.
    pub after: Option<Item>,
}

/// Returns the digest of statements and their parameters, each with its length before it.
#[must_use]
pub fn statement_digest<'s>(
    statements: impl Iterator<Item = (&'s str, &'s [AttributeValue])>,
) -> Digest {
    let mut out = Vec::new();
    for (statement, parameters) in statements {
        append_part(statement.as_bytes(), &mut out);
        append_item(
            &Item::from([("", AttributeValue::L(parameters.to_vec()))]),
            &mut out,
        );
    }
    digest::digest(&out)
}

/// Appends a part of a request to the input of its digest.
pub fn append_part(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends an item to the input of a digest.
pub fn append_item(item: &Item, out: &mut Vec<u8>) {
    let mut text = Vec::new();
    dynamodb_json::write_item(item, &mut text);
    append_part(&text, out);
}

/// Returns the token of a position.
#[must_use]
pub fn encode_token(digest: &Digest, position: &StatementPosition) -> String {
    let mut bytes = digest.to_vec();
    debug_assert!(position.read <= 50, "a statement has at most 50 reads");
    bytes.extend_from_slice(
        &u16::try_from(position.read)
            .unwrap_or(u16::MAX)
            .to_be_bytes(),
    );
    if let Some(key) = &position.after {
        dynamodb_json::write_item(key, &mut bytes);
    }
    BASE64.encode(bytes)
}

/// Returns the position of a token of this statement. Fails with `NextToken` if it is no token, and
/// with `NextTokenMismatch` if it belongs to another statement.
pub fn decode_token(token: &str, digest: &Digest) -> Result<StatementPosition, StatementError> {
    const BAD: StatementError = StatementError::NextToken;
    let bytes = BASE64.decode(token).map_err(|_| BAD)?;
    let (found, rest) = bytes.split_first_chunk::<16>().ok_or(BAD)?;
    let (read, key) = rest.split_first_chunk().ok_or(BAD)?;
    if found != digest {
        return Err(StatementError::NextTokenMismatch);
    }
    let after = match key {
        [] => None,
        text => Some(parse_item(text).ok_or(BAD)?),
    };
    Ok(StatementPosition {
        read: usize::from(u16::from_be_bytes(*read)),
        after,
    })
}

fn parse_item(text: &[u8]) -> Option<Item> {
    attribute_value::item(Document::parse(text.to_vec()).ok()?.root()).ok()
}

#[cfg(test)]
mod next_token_tests {
    use super::*;

    #[test]
    fn positions_come_back() {
        let digest = statement_digest([("SELECT", &[AttributeValue::Null][..])].into_iter());
        for position in [
            StatementPosition::default(),
            StatementPosition {
                read: 7,
                after: Some(Item::from([
                    ("pk", AttributeValue::S("a".into())),
                    ("sk", AttributeValue::B(vec![1])),
                ])),
            },
        ] {
            assert_eq!(
                decode_token(&encode_token(&digest, &position), &digest),
                Ok(position)
            );
        }
        let other = statement_digest([("SELECT", &[][..])].into_iter());
        let token = encode_token(&digest, &StatementPosition::default());
        assert_eq!(
            decode_token(&token, &other),
            Err(StatementError::NextTokenMismatch)
        );
        for bad in ["", "x", "AAAA", &token[..20]] {
            assert_eq!(
                decode_token(bad, &digest),
                Err(StatementError::NextToken),
                "{bad}"
            );
        }
        let broken = BASE64.encode([&digest[..], &[0, 0], b"{\"a\":1}"].concat());
        assert_eq!(
            decode_token(&broken, &digest),
            Err(StatementError::NextToken)
        );
    }
}
