//! Names of folders and entries below `items/`, as links, targets and `keys` spell them.

use crate::codec::file_name::{self, ALIAS_MARK};
use crate::fs::prelude::*;

/// The folder of a partition key.
pub(super) fn folder(partition: &[&AttributeValue], bytes_max: usize) -> String {
    file_name::collection_name_within(partition, bytes_max)
}

/// An entry's own name in its folder, without suffix: of a base item the sort key, or the partition key where there is none; of an
/// index entry the index's sort key and the base key.
pub(super) fn entry(entry: &EntryKey, bytes_max: usize) -> String {
    let base = &entry.base;
    match (&entry.index, &base.sort) {
        (Some((_, sort)), _) => {
            let values: Vec<&AttributeValue> = sort.iter().chain([&base.partition]).chain(&base.sort).collect();
            file_name::entry_stem_within(&values, bytes_max)
        }
        (None, Some(sort)) => file_name::item_stem_within(sort, bytes_max),
        (None, None) => file_name::collection_name_within(&[&base.partition], bytes_max),
    }
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
