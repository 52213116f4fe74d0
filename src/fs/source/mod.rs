//! The content of data nodes: the names below a directory, attributes, texts. One file for each
//! kind.
//!
//! ```text
//! schema.rs    schema.json of a table or an index; drafts (made by mkdir, not yet by CreateTable)
//! stats.rs     stats.json
//! draft.rs     folders of a draft
//! items.rs     items/, and the names and listings of items/K(pk)/
//! collection.rs  items/K(pk)/
//! entry.rs     X.json, X.ddbjson, X.base
//! alias.rs     files and folders by a shortened name that are not stored yet
//! sidecar/     files beside an item: X.patch, X.update, X.meta, X.d/
//! scratch.rs   files that are no items, in memory and in the trash
//! query.rs     query/, scan/ and the paths below them
//! ```

pub mod alias;
pub mod collection;
pub mod draft;
pub mod entry;
pub mod items;
pub mod query;
pub mod schema;
pub mod scratch;
pub mod sidecar;
pub mod stats;
