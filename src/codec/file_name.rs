//! Filesystem names of key values, K(value) of docs/filesystem.md 2: the encoder of names and their
//! decoder.
//!
//! ```text
//! K(v)         the value's text or bytes in tokens: a kept character, or %XX for one byte
//! directory    K(pk), or K(pk1),K(pk2) of an index with several partition key attributes
//! item stem    K(sk) in a composite table's collection, K(pk) in a hash-only table
//! entry stem   K(ixsk),K(pk),K(sk)
//! ```
//! A stem is a name without its suffix. A comma inside a value is `%2C`, so raw commas separate
//! components.
//!
//! Names longer than [`STEM_BYTES_MAX`] become aliases: the longest prefix of whole tokens, `%~`,
//! and the 26 characters of a 128-bit digest in lower-case base32 (RFC 4648, no padding). `%~`
//! occurs nowhere else, so an alias is never the name of another key. The digest is one that the
//! store can look up:
//!
//! ```text
//! directory, hash-only item stem   `key::partition_digest` of the partition key values
//! item stem in a collection        digest of the sort key's ordered encoding
//! entry stem                       digest of the bytes of the whole, unshortened stem
//! ```
//! Encoder and decoder agree on strict names. [`decode`] also takes the spellings that people type:
//! raw spaces, `#`, `=` and so on, lower-case `%xx`, `042` for 42. Creation goes through the value,
//! so a lenient spelling never makes a second item.
//!
//! ```text
//! kept always         A-Z a-z 0-9 _ :
//! kept but at first   . @ + -          at the start of a value they could hide a name or make it an option
//! kept in S and N     printable non-ASCII
//! ```
//! Every other byte is `%XX` with upper-case digits: blanks, `/`, NUL, `%`, `#`, `,`, `=`, `~`,
//! quotes, globs and brackets; of non-ASCII characters those that show nothing or change the text
//! around them (control, format, bidi, zero-width, white space, private use, unassigned).

use super::digest::{BASE32_BYTES, Digest, base32, digest, parse_base32};
use super::key;
use super::sanitize::is_printable_non_ascii;
use crate::model::error::NumberError;
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, Number};

/// The longest file name of Linux (`NAME_MAX`).
pub const NAME_BYTES_MAX: usize = 255;
/// The bytes reserved for the text around a stem: `.ddbjson`, `.<etag>.casjson`, and the `NNNNNN,`
/// and `.json` of query folders. All names share one limit, directories too, so that a key has the
/// same stem wherever it appears.
pub const SUFFIX_BYTES_MAX: usize = 32;
/// The length of the longest stem.
pub const STEM_BYTES_MAX: usize = NAME_BYTES_MAX - SUFFIX_BYTES_MAX;

/// The mark before the digest of an alias.
pub const ALIAS_MARK: &str = "%~";
/// The length of the mark and the digest of an alias.
const ALIAS_END_BYTES: usize = ALIAS_MARK.len() + BASE32_BYTES;
/// The character between the components of a stem.
const SEPARATOR: char = ',';

/// The meaning of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodedName {
    /// One value per expected type.
    Values(Vec<AttributeValue>),
    /// A shortened name: the tokens before `%~`, and the digest of the key.
    Alias { prefix: String, digest: Digest },
}

/// Returns K(value), not shortened. The value is S, N or B.
#[must_use]
pub fn encode(value: &AttributeValue) -> String {
    join(std::iter::once(value), STEM_BYTES_MAX).text
}

/// True if all characters of `text` stand in names as they are; a shell gives none of them a
/// meaning.
#[must_use]
pub fn is_plain_name(text: &str) -> bool {
    text.chars().all(is_kept)
}

/// Returns the directory name of an item collection or of an index partition; takes the partition
/// key values in schema order.
#[must_use]
pub fn collection_name(partition: &[&AttributeValue]) -> String {
    collection_name_within(partition, STEM_BYTES_MAX)
}

/// Returns the item stem in a composite table's collection.
#[must_use]
pub fn item_stem(sort: &AttributeValue) -> String {
    item_stem_within(sort, STEM_BYTES_MAX)
}

/// Returns the item stem in a hash-only table.
#[must_use]
pub fn hash_item_stem(partition: &AttributeValue) -> String {
    collection_name(&[partition])
}

/// Returns [`collection_name`] in at most `bytes_max`, at least 28. A tighter limit shortens the
/// prefix of the alias; the digest stays.
#[must_use]
pub fn collection_name_within(partition: &[&AttributeValue], bytes_max: usize) -> String {
    alias_if_long(
        join(partition.iter().copied(), bytes_max),
        bytes_max,
        |_| key::partition_digest(partition),
    )
}

/// Returns [`item_stem`] in at most `bytes_max`, at least 28.
#[must_use]
pub fn item_stem_within(sort: &AttributeValue, bytes_max: usize) -> String {
    alias_if_long(join(std::iter::once(sort), bytes_max), bytes_max, |_| {
        sort_digest(sort)
    })
}

/// Returns the stem of an index entry in at most `bytes_max`, at least 28. `values` are the index
/// sort key values, then the table's key values.
#[must_use]
pub fn entry_stem_within(values: &[&AttributeValue], bytes_max: usize) -> String {
    alias_if_long(
        join(values.iter().copied(), bytes_max),
        bytes_max,
        stem_digest,
    )
}

/// Returns the digest in the alias of an entry stem.
#[must_use]
pub fn entry_digest(values: &[&AttributeValue]) -> Digest {
    stem_digest(&join(values.iter().copied(), STEM_BYTES_MAX).text)
}

fn stem_digest(stem: &str) -> Digest {
    digest(stem.as_bytes())
}

/// Returns the digest in the alias of an item stem in a collection.
#[must_use]
pub fn sort_digest(sort: &AttributeValue) -> Digest {
    let mut encoded = Vec::new();
    key::encode(sort, &mut encoded);
    digest(&encoded)
}

fn join<'a>(values: impl Iterator<Item = &'a AttributeValue>, bytes_max: usize) -> NameBuilder {
    let mut tokens = NameBuilder::new(bytes_max.saturating_sub(ALIAS_END_BYTES));
    for (position, value) in values.enumerate() {
        if position > 0 {
            tokens.separator(SEPARATOR);
        }
        tokens.value(value);
    }
    tokens
}

fn alias_if_long(
    tokens: NameBuilder,
    bytes_max: usize,
    digest: impl FnOnce(&str) -> Digest,
) -> String {
    if tokens.text.len() <= bytes_max {
        return tokens.text;
    }
    let end = base32(digest(&tokens.text));
    let mut text = tokens.text;
    text.truncate(tokens.cut);
    text.push_str(ALIAS_MARK);
    text.push_str(&end);
    text
}

/// Decodes a name, its suffix taken off, into keys of `types`. With one type a raw comma is data.
///
/// # Errors
/// [`FileNameError`] if no key has such a name.
pub fn decode(name: &[u8], types: &[KeyAttributeType]) -> Result<DecodedName, FileNameError> {
    let name = std::str::from_utf8(name).map_err(|_| FileNameError::NotUtf8)?;
    if let Some((prefix, end)) = name.split_once(ALIAS_MARK) {
        return Ok(DecodedName::Alias {
            prefix: prefix.to_owned(),
            digest: parse_base32(end).ok_or(FileNameError::Alias)?,
        });
    }
    let values = match types {
        [only] => vec![decode_value(name, *only)?],
        _ => {
            let parts: Vec<&str> = name.split(SEPARATOR).collect();
            if parts.len() != types.len() {
                return Err(FileNameError::Components {
                    expected: types.len(),
                    found: parts.len(),
                });
            }
            parts
                .iter()
                .zip(types)
                .map(|(part, attribute_type)| decode_value(part, *attribute_type))
                .collect::<Result<_, _>>()?
        }
    };
    Ok(DecodedName::Values(values))
}

/// Decodes one component.
///
/// # Errors
/// [`FileNameError`]; an alias is an [`FileNameError::Escape`] here.
pub fn decode_value(
    text: &str,
    attribute_type: KeyAttributeType,
) -> Result<AttributeValue, FileNameError> {
    let bytes = unescape(text)?;
    if bytes.is_empty() {
        return Err(FileNameError::Empty);
    }
    if attribute_type == KeyAttributeType::B {
        return Ok(AttributeValue::B(bytes));
    }
    let text = String::from_utf8(bytes).map_err(|_| FileNameError::ValueNotUtf8)?;
    match attribute_type {
        KeyAttributeType::N => Ok(AttributeValue::N(text.parse::<Number>()?)),
        KeyAttributeType::S | KeyAttributeType::B => Ok(AttributeValue::S(text)),
    }
}

/// Returns the digest in a shortened name; `None` for any other name.
#[must_use]
pub fn alias_digest(name: &str) -> Option<Digest> {
    let (_, end) = name.split_once(ALIAS_MARK)?;
    parse_base32(end)
}

/// Returns the place to search for the key behind an alias: a prefix of the first component's value
/// (S, B), or that value (N, which is never cut). `None` if not even one character is left, or for
/// a broken prefix.
#[must_use]
pub fn alias_scan_prefix(prefix: &str, types: &[KeyAttributeType]) -> Option<AttributeValue> {
    let first = if types.len() > 1 {
        prefix.split(SEPARATOR).next()?
    } else {
        prefix
    };
    let bytes = unescape(first).ok()?;
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

/// The capacity for most names with a suffix.
const USUAL_BYTES: usize = 64;
const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// A name under construction.
struct NameBuilder {
    text: String,
    /// The end of the last whole token within the limit.
    cut: usize,
    limit: usize,
}

impl NameBuilder {
    /// Creates an empty name; a shortened name keeps at most `limit` bytes.
    fn new(limit: usize) -> Self {
        Self {
            text: String::with_capacity(USUAL_BYTES),
            cut: 0,
            limit,
        }
    }

    fn character(&mut self, character: char) {
        self.text.push(character);
        self.end_token();
    }

    fn byte(&mut self, byte: u8) {
        self.text.push('%');
        self.text
            .push(char::from(HEX_DIGITS[usize::from(byte >> 4)]));
        self.text
            .push(char::from(HEX_DIGITS[usize::from(byte & 15)]));
        self.end_token();
    }

    /// Appends characters of one byte each that all stand as they are.
    fn run(&mut self, run: &str) {
        if self.text.len() <= self.limit {
            self.cut = (self.text.len() + run.len()).min(self.limit);
        }
        self.text.push_str(run);
    }

    fn end_token(&mut self) {
        if self.text.len() <= self.limit {
            self.cut = self.text.len();
        }
    }

    /// Appends the separator between two values.
    fn separator(&mut self, separator: char) {
        self.character(separator);
    }

    /// Appends K(value).
    fn value(&mut self, value: &AttributeValue) {
        match value {
            AttributeValue::S(text) => self.characters(text),
            AttributeValue::N(number) => self.characters(&number.to_string()),
            AttributeValue::B(bytes) => {
                for (position, &byte) in bytes.iter().enumerate() {
                    let character = char::from(byte);
                    if is_kept_ascii(character, position == 0) {
                        self.character(character)
                    } else {
                        self.byte(byte)
                    }
                }
            }
            _ => debug_assert!(false, "a key value of type {}", value.attribute_type()),
        }
    }

    fn characters(&mut self, text: &str) {
        // The fast path: most names are nothing else.
        let (run, rest) = text.split_at(text.bytes().take_while(|byte| is_plain(*byte)).count());
        self.run(run);
        for (position, character) in rest.char_indices() {
            if is_kept_ascii(character, position + run.len() == 0)
                || is_printable_non_ascii(character)
            {
                self.character(character);
            } else {
                character
                    .encode_utf8(&mut [0; 4])
                    .bytes()
                    .for_each(|byte| self.byte(byte));
            }
        }
    }
}

/// True if a name may contain the character, though perhaps not at its start.
fn is_kept(character: char) -> bool {
    is_kept_ascii(character, false) || is_printable_non_ascii(character)
}

/// True if the byte is kept at every place.
fn is_plain(byte: u8) -> bool {
    is_kept_ascii(char::from(byte), true)
}

fn is_kept_ascii(character: char, first: bool) -> bool {
    match character {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | ':' => true,
        '.' | '@' | '+' | '-' => !first,
        _ => false,
    }
}

/// Decodes a text of tokens; leniently, any character but `%` stands for itself.
fn unescape(text: &str) -> Result<Vec<u8>, FileNameError> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let [high, low, tail @ ..] = tail else {
            return Err(FileNameError::Escape);
        };
        out.push(hex_digit(*high)? << 4 | hex_digit(*low)?);
        rest = tail;
    }
    Ok(out)
}

fn hex_digit(byte: u8) -> Result<u8, FileNameError> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(FileNameError::Escape),
    }
}

/// The reason why a name denotes no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileNameError {
    #[error("a name is UTF-8; write other bytes as %XX")]
    NotUtf8,
    #[error("two hexadecimal digits must follow '%'; write '%25' for the character itself")]
    Escape,
    #[error("a shortened name ends in '%~' and 26 characters a-z, 2-7")]
    Alias,
    #[error("a key value cannot be empty")]
    Empty,
    #[error(
        "the name has {found} parts separated by ',', expected are {expected}; a comma inside a value is '%2C'"
    )]
    Components { expected: usize, found: usize },
    #[error("the bytes of a string key are not UTF-8")]
    ValueNotUtf8,
    #[error(transparent)]
    Number(#[from] NumberError),
}

#[cfg(test)]
#[path = "file_name_tests.rs"]
mod tests;
