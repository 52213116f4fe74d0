//! The content of data nodes: the names below a directory, attributes, texts. One file for each
//! kind.
//!
//! ```text
//! schema.rs    schema.json and stats.json of a table or an index; drafts (made by mkdir, not yet by CreateTable)
//! items.rs     items/ and items/K(pk)/
//! entry.rs     X.json, X.ddbjson, X.base
//! item/        files beside an item: X.patch, X.update, X.meta, X.d/
//! scratch.rs   files that are no items, in memory and in the trash
//! query.rs     query/, scan/ and the paths below them
//! ```

pub mod entry;
pub mod item;
pub mod items;
pub mod query;
pub mod schema;
pub mod scratch;
