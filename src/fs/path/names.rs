//! File names of items: how a name is made of a key and parsed to one, with its suffix
//! (docs/filesystem.md 1 and 2). [`file_name`] encodes a single value, K(value).

use super::ITEMS_NAME;
use crate::codec::{
    digest::Digest,
    file_name::{self, DecodedName, STEM_BYTES_MAX},
    key,
};
use crate::database::{EntryKey, TextForm};
use crate::fs::FsError;
use crate::model::{AttributeValue, Key, api::Version, schema::KeyAttributeType};

/// The final suffix of an item's file, or of a file beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    Json,
    DdbJson,
    Base,
    /// A merge patch of the item.
    Patch,
    /// An UpdateItem expression of the item.
    Update,
    /// Metadata of the item.
    Meta,
    /// The item's attributes as files.
    Attributes,
    /// The item, replaced if it is of this version.
    CasJson(Version),
}

impl Suffix {
    /// Returns the text form of an item that this suffix names.
    #[must_use]
    pub fn form(self) -> Option<TextForm> {
        match self {
            Self::Json => Some(TextForm::PlainJson),
            Self::DdbJson => Some(TextForm::DynamoDbJson),
            Self::Base
            | Self::Patch
            | Self::Update
            | Self::Meta
            | Self::Attributes
            | Self::CasJson(_) => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Json => ".json",
            Self::DdbJson => ".ddbjson",
            Self::Base => ".base",
            Self::Patch => ".patch",
            Self::Update => ".update",
            Self::Meta => ".meta",
            Self::Attributes => ".d",
            Self::CasJson(_) => ".casjson",
        }
    }
}

/// The suffixes without a parameter.
const PLAIN_SUFFIXES: [Suffix; 7] = [
    Suffix::Json,
    Suffix::DdbJson,
    Suffix::Base,
    Suffix::Patch,
    Suffix::Update,
    Suffix::Meta,
    Suffix::Attributes,
];

/// True if `name` is a scratch file's, kept in memory and never an item. It starts with `.` or has
/// no known suffix (docs/filesystem.md 1).
#[must_use]
pub fn is_scratch_name(name: &str) -> bool {
    let mut all = PLAIN_SUFFIXES
        .into_iter()
        .chain([Suffix::CasJson(0)])
        .map(Suffix::text);
    name.starts_with('.') || !all.any(|suffix| name.len() > suffix.len() && name.ends_with(suffix))
}

/// A parsed stem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedStem {
    /// The values, one for each expected type.
    Values(Vec<AttributeValue>),
    /// A shortened name: the full one is too long for a file name.
    Alias(AliasName),
}

/// A shortened name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasName {
    pub digest: Digest,
    /// A prefix of the first value, for types that are ordered by their bytes.
    pub prefix: Option<Vec<u8>>,
}

/// Strips the one mandatory suffix. Returns `None` for names that are no item's: they begin with a
/// dot or have no known suffix.
#[must_use]
pub fn split_suffix(name: &str) -> Option<(&str, Suffix)> {
    if name.starts_with('.') {
        return None;
    }
    if let Some(rest) = name.strip_suffix(Suffix::CasJson(0).text()) {
        let (stem, etag) = rest.rsplit_once('.')?;
        let version = etag.parse().ok()?;
        return (!stem.is_empty()).then_some((stem, Suffix::CasJson(version)));
    }
    PLAIN_SUFFIXES.into_iter().find_map(|suffix| {
        let stem = name.strip_suffix(suffix.text())?;
        (!stem.is_empty()).then_some((stem, suffix))
    })
}

/// Parses a stem, or a collection's name, where keys of `types` are expected.
///
/// # Errors
/// [`FsError::NotFound`] when no key has such a name.
pub fn parse(stem: &str, types: &[KeyAttributeType]) -> Result<ParsedStem, FsError> {
    match file_name::decode(stem.as_bytes(), types).map_err(|_| FsError::NotFound)? {
        DecodedName::Values(values) => Ok(ParsedStem::Values(values)),
        DecodedName::Alias { prefix, digest } => {
            let prefix = match file_name::alias_scan_prefix(&prefix, types) {
                Some(AttributeValue::S(text)) => Some(text.into_bytes()),
                Some(AttributeValue::B(bytes)) => Some(bytes),
                _ => None,
            };
            Ok(ParsedStem::Alias(AliasName { digest, prefix }))
        }
    }
}

/// Returns the name of a collection's folder.
#[must_use]
pub fn collection_name(partition: &[AttributeValue]) -> String {
    file_name::collection_name(&partition.iter().collect::<Vec<_>>())
}

/// Returns an entry's name without its suffix.
fn entry_stem(key: &EntryKey) -> String {
    entry_stem_within(key, STEM_BYTES_MAX)
}

/// Returns an entry's name without its suffix, in at most `bytes_max` bytes, which is at least 28.
pub fn entry_stem_within(key: &EntryKey, bytes_max: usize) -> String {
    match (values_of_stem(key), &key.base.sort) {
        (Some(values), _) => file_name::entry_stem_within(&values, bytes_max),
        (None, Some(sort)) => file_name::item_stem_within(sort, bytes_max),
        (None, None) => file_name::collection_name_within(&[&key.base.partition], bytes_max),
    }
}

/// Returns the values in the stem of an index's entry: the index's sort key and the base key.
fn values_of_stem(key: &EntryKey) -> Option<Vec<&AttributeValue>> {
    let (_, sort) = key.index.as_ref()?;
    Some(
        sort.iter()
            .chain([&key.base.partition])
            .chain(&key.base.sort)
            .collect(),
    )
}

/// Returns the digest in a shortened name of an entry, however short.
#[must_use]
pub fn entry_digest(entry: &EntryKey) -> Digest {
    match (values_of_stem(entry), &entry.base.sort) {
        (Some(values), _) => file_name::entry_digest(&values),
        (None, Some(sort)) => file_name::sort_digest(sort),
        (None, None) => key::partition_digest(&[&entry.base.partition]),
    }
}

/// Returns `X.json` or `X.ddbjson`.
#[must_use]
pub fn entry_name(key: &EntryKey, form: TextForm) -> String {
    let suffix = match form {
        TextForm::PlainJson => Suffix::Json,
        TextForm::DynamoDbJson => Suffix::DdbJson,
    };
    let mut name = entry_stem(key);
    name.push_str(suffix.text());
    name
}

/// Returns an entry's path below `items/`.
#[must_use]
pub fn entry_path(key: &EntryKey, form: TextForm) -> String {
    in_collection(key, entry_name(key, form))
}

/// Returns the path of a base item in its table's directory.
#[must_use]
pub fn item_path(key: &Key) -> String {
    format!(
        "{ITEMS_NAME}/{}",
        entry_path(&EntryKey::from(key.clone()), TextForm::PlainJson)
    )
}

/// Returns the path of `X.base` below an index's `items/`.
#[must_use]
pub fn base_path(key: &EntryKey) -> String {
    in_collection(key, format!("{}{}", entry_stem(key), Suffix::Base.text()))
}

fn in_collection(key: &EntryKey, name: String) -> String {
    match (&key.index, &key.base.sort) {
        (Some((partition, _)), _) if !partition.is_empty() => {
            format!("{}/{name}", collection_name(partition))
        }
        (None, Some(_)) => format!(
            "{}/{name}",
            file_name::collection_name(&[&key.base.partition])
        ),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_suffix_is_stripped_once() {
        let cases = [
            ("config.json.json", Some(("config.json", Suffix::Json))),
            ("foo.patch.json", Some(("foo.patch", Suffix::Json))),
            ("x.ddbjson", Some(("x", Suffix::DdbJson))),
            ("x.base", Some(("x", Suffix::Base))),
            ("x.patch", Some(("x", Suffix::Patch))),
            ("x.update", Some(("x", Suffix::Update))),
            ("x.meta", Some(("x", Suffix::Meta))),
            ("x.d", Some(("x", Suffix::Attributes))),
            ("a.b.17.casjson", Some(("a.b", Suffix::CasJson(17)))),
            ("a.b.casjson", None),
            ("17.casjson", None),
            (".d", None),
            (".json", None),
            (".x.json", None),
            ("x", None),
        ];
        for (name, expected) in cases {
            assert_eq!(split_suffix(name), expected, "{name}");
        }
    }
}
