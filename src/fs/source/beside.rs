//! What is beside an item, by the suffix of its name: see `fs::special::item`.

use crate::database::{EntryKey, Source, TextForm};
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::node::special::{Feature, ItemFile, ItemPart, Special};
use crate::fs::path::ITEMS_NAME;
use crate::fs::path::names::{self, Suffix};

/// The file or directory of that suffix beside an item.
///
/// # Errors
/// [`FsError::NotFound`]: there is none beside an index entry, or the suffix is an item's own.
pub fn node(source: &Source, key: EntryKey, suffix: Suffix) -> Result<Node, FsError> {
    if source.index.is_some() {
        return Err(FsError::NotFound);
    }
    let (of, suffix) = match suffix {
        Suffix::Patch => (ItemPart::Patch, ".patch".to_owned()),
        Suffix::Update => (ItemPart::Update, ".update".to_owned()),
        Suffix::Meta => (ItemPart::Meta, ".meta".to_owned()),
        Suffix::Attributes => (ItemPart::Attributes(None), ".d".to_owned()),
        Suffix::Replacing(version) => (ItemPart::Replacing(version), format!(".{version}.casjson")),
        Suffix::Json | Suffix::DdbJson | Suffix::Base => return Err(FsError::NotFound),
    };
    let path = names::entry_path(&key, TextForm::PlainJson);
    let path = format!("{}/{ITEMS_NAME}/{}{suffix}", source.table, path.strip_suffix(".json").unwrap_or(&path));
    let (source, above) = (Some(source.clone()), directory_of(source, &key).ino());
    let is_writable = !matches!(of, ItemPart::Meta);
    let is_directory = matches!(of, ItemPart::Attributes(_));
    let feature = Feature::Item(Box::new(ItemFile { key, of }));
    Ok(match (is_directory, is_writable) {
        (true, _) => Special::directory(path, source, above, feature).into(),
        (false, true) => Special::file(path, source, feature).writable().into(),
        (false, false) => Special::file(path, source, feature).into(),
    })
}

/// The directory that an item's file is in.
fn directory_of(source: &Source, key: &EntryKey) -> Node {
    match &key.base.sort {
        Some(_) => Node::Collection(source.clone(), vec![key.base.partition.clone()]),
        None => Node::Items(source.clone()),
    }
}
