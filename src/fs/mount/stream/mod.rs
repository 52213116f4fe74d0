//! A table's stream, read through the operations of the API.
//!
//! ```text
//! records.rs  a place in it, page by page
//! line.rs     a change as a line
//! log.rs      today's changes as a file that only grows
//! ```

pub mod line;
pub mod log;
pub mod records;
