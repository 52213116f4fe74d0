//! Names of folders and entries below `items/`, as links, targets and `keys` spell them.

use crate::codec::digest::Digest;
use crate::codec::file_name;
use crate::database::EntryKey;
use crate::model::AttributeValue;

/// A file name's length (NAME_MAX).
pub(super) const NAME_BYTES_MAX: usize = 255;
/// Stands before the digest in a shortened name; occurs in no other.
const ALIAS_MARK: &str = "%~";

/// The folder of a partition key.
pub(super) fn folder(partition: &[&AttributeValue], bytes_max: usize) -> String {
    file_name::encode_all(partition, bytes_max)
}

/// An entry's own name in its folder, without suffix: of a base item the sort key, or the partition key where there is none; of an
/// index entry the index's sort key and the base key.
pub(super) fn entry(entry: &EntryKey, bytes_max: usize) -> String {
    let base = &entry.base;
    let values: Vec<&AttributeValue> = match (&entry.index, &base.sort) {
        (Some((_, sort)), _) => sort.iter().chain([&base.partition]).chain(&base.sort).collect(),
        (None, Some(sort)) => vec![sort],
        (None, None) => vec![&base.partition],
    };
    file_name::encode_all(&values, bytes_max)
}

/// The digest of a shortened name.
pub(super) fn alias_digest(name: &str) -> Option<Digest> {
    file_name::alias_digest(name)
}

/// Splits `<folder>,<entry>`, the folder being named by `count` values, or fewer when it is shortened.
pub(super) fn split_folder(text: &str, count: usize) -> Option<(&str, &str)> {
    let mut end = 0;
    for part in text.split(',').take(count) {
        end += part.len() + 1;
        if part.contains(ALIAS_MARK) {
            break;
        }
    }
    let folder = text.get(..end.checked_sub(1)?)?;
    let entry = text.get(end..)?;
    (!folder.is_empty() && !entry.is_empty()).then_some((folder, entry))
}
