//! Filesystem names of key values, K(value) of docs/filesystem.md 2: which names there are, and what a name means.
//!
//! ```text
//! K(v)         the value's text or bytes in tokens: a kept character, or %XX for one byte (see `token`)
//! directory    K(pk), or K(pk1),K(pk2) of an index with several partition key attributes
//! item stem    K(sk) in a composite table's collection, K(pk) in a hash-only table
//! entry stem   K(ixsk),K(pk),K(sk)
//! ```
//! A stem is a name without its suffix. A comma inside a value is `%2C`, so raw commas separate components.
//!
//! Names longer than [`STEM_BYTES_MAX`] become aliases: the longest prefix of whole tokens, `%~`, and the 26 characters of a 128-bit
//! digest in lower-case base32 (RFC 4648, no padding). `%~` occurs nowhere else, so an alias never is another key's name. What
//! is digested is what the store can find:
//!
//! ```text
//! directory, hash-only item stem   `key::partition_digest` of the partition key values
//! item stem in a collection        digest of the sort key's ordered encoding
//! entry stem                       digest of the bytes of the whole, unshortened stem
//! ```
//! Encoder and decoder agree on strict names; [`decode`] also takes what people type: raw spaces, `#`, `=` and so on, lower-case
//! `%xx`, `042` for 42. Whoever creates something goes through the value, so a lenient spelling never makes a second item.

mod base32;
mod fault;
mod token;

use super::digest::{Digest, digest};
use super::key;
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, Number};
use token::Tokens;

pub use fault::NameFault;

/// Longest file name of Linux (`NAME_MAX`).
pub const NAME_BYTES_MAX: usize = 255;
/// Room for what stands around a stem: `.ddbjson`, `.<etag>.casjson`, and the `NNNNNN,` and `.json` of query folders. One budget for
/// all of them, directories too, so that a key has the same stem wherever it appears.
pub const SUFFIX_BYTES_MAX: usize = 32;
/// Longest stem.
pub const STEM_BYTES_MAX: usize = NAME_BYTES_MAX - SUFFIX_BYTES_MAX;

/// What begins the digest of an alias.
pub const ALIAS_MARK: &str = "%~";
/// What an alias has after its prefix: mark and digest.
const ALIAS_END_BYTES: usize = ALIAS_MARK.len() + base32::TEXT_BYTES;
/// Between the components of a stem.
const SEPARATOR: char = ',';

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// One value per expected type.
    Values(Vec<AttributeValue>),
    /// A shortened name: the tokens before `%~`, and the digest of the key.
    Alias { prefix: String, digest: Digest },
}

/// K(value), not shortened. Only S, N and B are keys; other types give the empty text.
#[must_use]
pub fn encode(value: &AttributeValue) -> String {
    join(std::iter::once(value), STEM_BYTES_MAX).text
}

/// Is a text of characters that stand in names as they are, all of which are nothing but letters to a shell?
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.chars().all(token::is_kept)
}

/// The folder of an item collection or of an index partition: the partition key values in schema order.
#[must_use]
pub fn collection_name(partition: &[&AttributeValue]) -> String {
    collection_name_within(partition, STEM_BYTES_MAX)
}

/// The item stem in a composite table's collection.
#[must_use]
pub fn item_stem(sort: &AttributeValue) -> String {
    item_stem_within(sort, STEM_BYTES_MAX)
}

/// The item stem in a hash-only table.
#[must_use]
pub fn hash_item_stem(partition: &AttributeValue) -> String {
    collection_name(&[partition])
}

/// [`collection_name`] in at most `bytes_max`, at least 28: where less room is, an alias with a shorter prefix and the same digest.
#[must_use]
pub fn collection_name_within(partition: &[&AttributeValue], bytes_max: usize) -> String {
    shorten(join(partition.iter().copied(), bytes_max), bytes_max, |_| key::partition_digest(partition))
}

/// [`item_stem`] in at most `bytes_max`, at least 28.
#[must_use]
pub fn item_stem_within(sort: &AttributeValue, bytes_max: usize) -> String {
    shorten(join(std::iter::once(sort), bytes_max), bytes_max, |_| sort_digest(sort))
}

/// The stem of an index entry, index sort key values and then the table's key values, in at most `bytes_max`, at least 28.
#[must_use]
pub fn entry_stem_within(values: &[&AttributeValue], bytes_max: usize) -> String {
    shorten(join(values.iter().copied(), bytes_max), bytes_max, stem_digest)
}

/// The digest that the alias of an entry stem holds.
#[must_use]
pub fn entry_digest(values: &[&AttributeValue]) -> Digest {
    stem_digest(&join(values.iter().copied(), STEM_BYTES_MAX).text)
}

fn stem_digest(stem: &str) -> Digest {
    digest(stem.as_bytes())
}

/// The digest that the alias of an item stem in a collection holds.
#[must_use]
pub fn sort_digest(sort: &AttributeValue) -> Digest {
    let mut encoded = Vec::new();
    key::encode(sort, &mut encoded);
    digest(&encoded)
}

fn join<'a>(values: impl Iterator<Item = &'a AttributeValue>, bytes_max: usize) -> Tokens {
    let mut tokens = Tokens::new(bytes_max.saturating_sub(ALIAS_END_BYTES));
    for (position, value) in values.enumerate() {
        if position > 0 {
            tokens.separate(SEPARATOR);
        }
        tokens.value(value);
    }
    tokens
}

fn shorten(tokens: Tokens, bytes_max: usize, digest: impl FnOnce(&str) -> Digest) -> String {
    if tokens.text.len() <= bytes_max {
        return tokens.text;
    }
    let end = base32::encode(digest(&tokens.text));
    let mut text = tokens.text;
    text.truncate(tokens.cut);
    text.push_str(ALIAS_MARK);
    text.push_str(&end);
    text
}

/// What a name (suffix taken off) means where keys of `types` are expected. With one type a raw comma is data.
///
/// # Errors
/// [`NameFault`]: no key has such a name.
pub fn decode(name: &[u8], types: &[KeyAttributeType]) -> Result<Decoded, NameFault> {
    let name = std::str::from_utf8(name).map_err(|_| NameFault::NotUtf8)?;
    if let Some(digest) = alias_digest(name) {
        let prefix = name.split(ALIAS_MARK).next().unwrap_or_default().to_owned();
        return Ok(Decoded::Alias { prefix, digest });
    }
    if name.contains(ALIAS_MARK) {
        return Err(NameFault::Alias);
    }
    let values = match types {
        [only] => vec![decode_value(name, *only)?],
        _ => {
            let parts: Vec<&str> = name.split(SEPARATOR).collect();
            if parts.len() != types.len() {
                return Err(NameFault::Components { expected: types.len(), found: parts.len() });
            }
            parts.iter().zip(types).map(|(part, attribute_type)| decode_value(part, *attribute_type)).collect::<Result<_, _>>()?
        }
    };
    Ok(Decoded::Values(values))
}

/// The value of one component.
///
/// # Errors
/// [`NameFault`]; an alias is an [`NameFault::Escape`] here.
pub fn decode_value(text: &str, attribute_type: KeyAttributeType) -> Result<AttributeValue, NameFault> {
    let bytes = token::bytes(text)?;
    if bytes.is_empty() {
        return Err(NameFault::Empty);
    }
    if attribute_type == KeyAttributeType::B {
        return Ok(AttributeValue::B(bytes));
    }
    let text = String::from_utf8(bytes).map_err(|_| NameFault::ValueNotUtf8)?;
    match attribute_type {
        KeyAttributeType::N => Ok(AttributeValue::N(text.parse::<Number>()?)),
        KeyAttributeType::S | KeyAttributeType::B => Ok(AttributeValue::S(text)),
    }
}

/// The digest in a shortened name, if `name` is one.
#[must_use]
pub fn alias_digest(name: &str) -> Option<Digest> {
    let (_, end) = name.split_once(ALIAS_MARK)?;
    base32::decode(end)
}

/// Where to search for the key behind an alias: what the value of the first component begins with (S, B), or is (N, which is never
/// cut). `None` when not even one character is left, and for a broken prefix.
#[must_use]
pub fn alias_scan_prefix(prefix: &str, types: &[KeyAttributeType]) -> Option<AttributeValue> {
    let first = if types.len() > 1 { prefix.split(SEPARATOR).next()? } else { prefix };
    let bytes = token::bytes(first).ok()?;
    match types.first()? {
        KeyAttributeType::N => decode_value(first, KeyAttributeType::N).ok(),
        KeyAttributeType::B => (!bytes.is_empty()).then_some(AttributeValue::B(bytes)),
        KeyAttributeType::S => {
            // The cut may go through the bytes of one character.
            let whole = bytes.utf8_chunks().next()?.valid();
            (!whole.is_empty()).then(|| AttributeValue::S(whole.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests;
