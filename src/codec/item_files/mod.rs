//! Items in the files that other programs write, read in bounded memory whatever a file's length.
//!
//! ```text
//! compression   gzip and Zstandard, told by their first bytes      text_reader   JSON values of a text, one by one
//! form          the form of a file, told by its beginning        items         items in lists, requests, exports, lines
//! rows          CSV
//! ```

pub mod compression;
pub mod form;
pub mod items;
pub mod rows;
pub mod text_reader;

use std::fmt;
use std::io;

use crate::model::Item;

/// An item, a request or a fault in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileEntry {
    Put(Item),
    /// The key of an item to delete.
    Delete(Item),
    /// A fault; the rest of the file can be read.
    Bad(String),
    /// The name of another table, whose items or requests are passed over.
    OtherTable(String),
}

/// The place of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPlace {
    /// The number of the line, from 1.
    pub line: u64,
    /// The number of the element in its list, from 1.
    pub element: Option<u64>,
}

impl fmt::Display for EntryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line)?;
        self.element
            .map_or(Ok(()), |element| write!(f, " (element {element})"))
    }
}

/// The receiver of entries, with their places and the length of their texts.
pub type EntrySink<'s> = dyn FnMut(EntryPlace, usize, FileEntry) -> Result<(), FileError> + 's;

/// The reason why the rest of a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("expected {0}")]
    Expected(&'static str),
    #[error("the file ends within a list or an object")]
    Cut,
    #[error("the header: {0}")]
    Header(String),
    #[error("stopped")]
    Stopped,
}
