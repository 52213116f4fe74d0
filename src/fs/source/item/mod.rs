//! Beside an item, for lookup only: ways to change a part of it, and what is known of it (docs/filesystem.md 4).
//!
//! ```text
//! patch.rs       X.patch           a merge patch
//! update.rs      X.update          an UpdateItem
//! cas.rs         X.<etag>.casjson  the item, put if it is of that version
//! attributes.rs  X.d/              its attributes as files; attribute_value.rs is what such a file says and takes
//! facts.rs       X.meta            key, etag, size, capacity, indexes, expiry
//! ```
//! Patch and update make an item that is not there, as UpdateItem does; the others need it.

mod attribute_value;
mod attributes;
mod cas;
pub mod facts;
mod patch;
mod update;

use super::entry;
use crate::fs::node::special::Feature;
use crate::fs::open::prelude::*;
use crate::fs::path::names::{self, Suffix};

/// The file or directory of that suffix: of an entry's text, or beside an item.
///
/// # Errors
/// [`FsError::NotFound`]: there is none of an item, or of an index entry.
pub fn node(source: &Source, key: EntryKey, suffix: Suffix) -> Result<Node, FsError> {
    if let Some(form) = suffix.form() {
        return Ok(entry::node(source, key, form));
    }
    if source.index.is_some() {
        return if matches!(suffix, Suffix::Base) { Ok(Node::Base(source.clone(), Box::new(key))) } else { Err(FsError::NotFound) };
    }
    let path = names::entry_path(&key, TextForm::PlainJson);
    let stem = format!("{}/{ITEMS_NAME}/{}", source.table, path.strip_suffix(".json").unwrap_or(&path));
    let place = EntryNode { source: source.clone(), key, form: TextForm::PlainJson };
    let above = place.directory();
    let file = |end: &str, feature: Feature| Special::file(format!("{stem}{end}"), Some(source.clone()), feature);
    Ok(match suffix {
        Suffix::Patch => file(".patch", patch::PatchFile(place).into()).writable(),
        Suffix::Update => file(".update", update::UpdateFile(place).into()).writable(),
        Suffix::Meta => file(".meta", facts::MetaFile(place).into()),
        Suffix::Replacing(version) => file(&format!(".{version}.casjson"), cas::Replacing(place, version).into()).writable(),
        Suffix::Attributes => {
            Special::directory(format!("{stem}.d"), Some(source.clone()), above.ino(), attributes::Folder { place, of: None })
        }
        Suffix::Json | Suffix::DdbJson | Suffix::Base => return Err(FsError::NotFound),
    }
    .into())
}
