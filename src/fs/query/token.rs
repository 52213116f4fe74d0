//! Page tokens, positions in a result as text: the `after=` token and the position in a listing,
//! both a `LastEvaluatedKey` as bytes.
//!
//! ```text
//! token   = base64url, no padding, of: version 0x01 · check (4 bytes) · form · body · CRC-32 of all before (4 bytes, big-endian)
//! check   = first bytes of a digest over the table, index, kind, key attributes, key condition, direction, segment
//! form 0  = body: the cursor attributes' values, encoded as keys, those fixed by the partition key left out
//! form 1  = body: digest of form 0's body · in a scan, digest of the partition key · start of the first sort value's encoding
//! ```
//! `after=<token>` is one name of at most 255 bytes, while keys go up to 3 KB and more in an index:
//! form 1 is for those. It finds its entry again by a walk over the entries that share the prefix,
//! and expires when the entry is gone.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{collections::BTreeSet, ops::ControlFlow};

use super::{clause_fault::ClauseFault, context::QueryContext};
use crate::codec::{digest::Digest, key};
use crate::database::EntryRange;
use crate::fs::prelude::*;
use crate::model::error::StoreError;

const VERSION: u8 = 1;
const CHECK_BYTES: usize = 4;
const CRC_BYTES: usize = 4;
/// The longest body with which `after=` and the token fit in a name of 255 bytes: 249 characters of
/// base64 are 186 bytes, 10 of them around the body.
const BODY_BYTES_MAX: usize = 176;

/// The part of a token that ties it to its query.
pub(super) type TokenCheck = [u8; CHECK_BYTES];

/// A token of the right form. Its position can be decoded only with its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageToken {
    check: TokenCheck,
    body: TokenBody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TokenBody {
    Full(Vec<u8>),
    Digest(Vec<u8>),
}

/// The query that a position is in.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenScope<'a> {
    pub context: QueryContext<'a>,
    /// The partition key of a query; `None` for a scan.
    pub partition: Option<&'a [AttributeValue]>,
}

impl PageToken {
    /// Parses the text after `after=`.
    pub fn parse(text: &str) -> Result<Self, ClauseFault> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid_token())?;
        let (content, crc) = bytes
            .split_last_chunk::<CRC_BYTES>()
            .ok_or_else(invalid_token)?;
        if crc32fast::hash(content).to_be_bytes() != *crc {
            return Err(invalid_token());
        }
        let Some((&VERSION, content)) = content.split_first() else {
            return Err(invalid_token());
        };
        let (check, content) = content
            .split_first_chunk::<CHECK_BYTES>()
            .ok_or_else(invalid_token)?;
        let body = match content.split_first() {
            Some((0, body)) => TokenBody::Full(body.to_vec()),
            Some((1, body)) => TokenBody::Digest(body.to_vec()),
            _ => return Err(invalid_token()),
        };
        Ok(Self {
            check: *check,
            body,
        })
    }

    /// Returns the token for the position right after `last`, a `LastEvaluatedKey`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a position without one of its key attributes.
    pub fn new(check: TokenCheck, last: &Item, scope: TokenScope<'_>) -> Result<Self, FsError> {
        let encoded = encode_cursor(last, scope)?;
        let body = if encoded.len() <= BODY_BYTES_MAX {
            TokenBody::Full(encoded)
        } else {
            TokenBody::Digest(shorten(&encoded, last, scope))
        };
        Ok(Self { check, body })
    }

    /// Returns the text after `after=`.
    pub fn text(&self) -> String {
        let (form, body) = match &self.body {
            TokenBody::Full(body) => (0, body),
            TokenBody::Digest(body) => (1, body),
        };
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.check);
        bytes.push(form);
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the `ExclusiveStartKey` that the token stands for.
    ///
    /// # Errors
    /// [`FsError::Clause`] below other clauses; [`FsError::TokenExpired`] when a shortened token's
    /// entry is gone.
    pub fn resolve(
        &self,
        check: TokenCheck,
        db: &dyn Browse,
        scope: TokenScope<'_>,
    ) -> Result<Item, FsError> {
        if self.check != check {
            return Err(foreign_token());
        }
        match &self.body {
            TokenBody::Full(body) => decode_cursor(body, scope).ok_or_else(foreign_token),
            TokenBody::Digest(body) => find_entry(body, db, scope),
        }
    }
}

fn invalid_token() -> ClauseFault {
    ClauseFault::token("this is no position token of ddbfs")
}

fn foreign_token() -> FsError {
    ClauseFault::token("this position token belongs to another query").into()
}

/// Returns the cursor attributes that the query does not fix.
fn free_attributes<'a>(scope: TokenScope<'a>) -> Vec<&'a KeyAttribute> {
    let mut all = scope.context.cursor_attributes();
    if scope.partition.is_some() {
        let fixed: BTreeSet<&str> = scope
            .context
            .keys()
            .partition
            .iter()
            .map(|attribute| attribute.name.as_str())
            .collect();
        all.retain(|attribute| !fixed.contains(attribute.name.as_str()));
    }
    all
}

/// Encodes a `LastEvaluatedKey`, without the attributes that the query fixes.
///
/// # Errors
/// [`StoreError::Corrupt`] for a position without one of its key attributes.
pub(super) fn encode_cursor(last: &Item, scope: TokenScope<'_>) -> Result<Vec<u8>, FsError> {
    let mut out = Vec::new();
    for attribute in free_attributes(scope) {
        let value = last.get(&attribute.name).ok_or_else(|| {
            FsError::Database(StoreError::Corrupt("a position lacks a key attribute").into())
        })?;
        key::encode(value, &mut out);
    }
    Ok(out)
}

/// Decodes the bytes of [`encode_cursor`]; returns `None` for any other bytes.
pub(super) fn decode_cursor(mut bytes: &[u8], scope: TokenScope<'_>) -> Option<Item> {
    let mut item = Item::default();
    for attribute in free_attributes(scope) {
        let (value, rest) = key::decode(attribute.attribute_type, bytes).ok()?;
        item.0.insert(attribute.name.clone(), value);
        bytes = rest;
    }
    let fixed = scope
        .context
        .keys()
        .partition
        .iter()
        .zip(scope.partition.unwrap_or_default());
    item.0
        .extend(fixed.map(|(attribute, value)| (attribute.name.clone(), value.clone())));
    bytes.is_empty().then_some(item)
}

fn shorten(encoded: &[u8], last: &Item, scope: TokenScope<'_>) -> Vec<u8> {
    let mut body = digest(encoded).to_vec();
    if scope.partition.is_none() {
        let values: Vec<&AttributeValue> = scope
            .context
            .keys()
            .partition
            .iter()
            .filter_map(|a| last.get(&a.name))
            .collect();
        body.extend_from_slice(&key::partition_digest(&values));
    }
    let prefix = match scope
        .context
        .keys()
        .sort
        .first()
        .and_then(|attribute| last.get(&attribute.name))
    {
        Some(AttributeValue::S(text)) => text.as_bytes(),
        Some(AttributeValue::B(bytes)) => bytes,
        _ => &[],
    };
    let room = BODY_BYTES_MAX.saturating_sub(body.len());
    body.extend(prefix.iter().take(room));
    body
}

/// Finds the entry of a shortened token among those with its partition key and sort prefix.
fn find_entry(body: &[u8], db: &dyn Browse, scope: TokenScope<'_>) -> Result<Item, FsError> {
    let source = scope.context.source();
    let (wanted, rest) = body
        .split_first_chunk::<{ size_of::<Digest>() }>()
        .ok_or_else(foreign_token)?;
    let (partition, prefix): (PartitionKey, &[u8]) = match scope.partition {
        Some(values) => (values.to_vec(), rest),
        None => {
            let (place, prefix) = rest
                .split_first_chunk::<{ size_of::<Digest>() }>()
                .ok_or_else(foreign_token)?;
            (
                db.partition_by_digest(&source, *place)?
                    .ok_or(FsError::TokenExpired)?,
                prefix,
            )
        }
    };
    let by_bytes = scope
        .context
        .keys()
        .sort
        .first()
        .is_some_and(|first| first.attribute_type != KeyAttributeType::N);
    let sort_prefix = (by_bytes && !prefix.is_empty()).then(|| prefix.to_vec());
    let mut found = None;
    db.entries(
        &source,
        &EntryRange::Collection {
            partition,
            sort_prefix,
        },
        None,
        &mut |entry, _, _| {
            let cursor = entry_cursor(entry, scope);
            match encode_cursor(&cursor, scope) {
                Ok(bytes) if digest(&bytes) != *wanted => return ControlFlow::Continue(()),
                Ok(_) => found = Some(Ok(cursor)),
                Err(error) => found = Some(Err(error)),
            }
            ControlFlow::Break(())
        },
    )?;
    found.unwrap_or(Err(FsError::TokenExpired))
}

/// Returns an entry's key as a `LastEvaluatedKey`.
pub(super) fn entry_cursor(entry: &EntryKey, scope: TokenScope<'_>) -> Item {
    let mut item = entry.base.to_item(&scope.context.schema.key);
    if let (Some((partition, sort)), Some(_)) = (&entry.index, scope.context.index) {
        let values = partition.iter().chain(sort);
        item.0.extend(
            scope
                .context
                .keys()
                .attributes()
                .zip(values)
                .map(|(a, value)| (a.name.clone(), value.clone())),
        );
    }
    item
}
