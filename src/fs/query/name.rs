//! Names of folders and entries below `items/`, as links, targets and `keys` spell them.

use crate::codec::file_name::ALIAS_MARK;

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
