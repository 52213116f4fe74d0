//! `query/` and `scan/` paths (docs/filesystem.md 6): each directory below them is a clause, each file a result.
//!
//! ```text
//! Orders/query/@pk=u1/@sk.ge=2024/desc/limit=3/items.ndjson
//!              clause clause      …            result
//! ```
//!
//! | difficulty | solved by |
//! |---|---|
//! | clauses come in any order, one path component at a time | [`QueryPath::child`]: each clause is parsed once, checked against those before it; what needs all of them is checked when a result is named |
//! | a lookup must be cheap and without effect | parsing needs only the schema; the database is first asked by [`ResultReader::advance`] or [`QueryPath::listing`] |
//! | a result may be larger than memory | [`ResultReader`] makes a page at a time |
//! | a result is asked for its size, which must cost nothing | its pages are read on account, see [`crate::fs::open::computed`] |
//! | a position in a result must fit in a file name, keys go up to 3 KB | `token`: short keys as they are, long ones by prefix and digest |
//! | a listed link must be resolved without running the query | `listing`: the link's name holds the entry's own name |
//!
//! Nothing here knows fuser; nothing keeps state but [`ResultReader`].
//!
//! ```text
//! path                      the directory: what its clauses say together, what a name in it means; a saved request that it begins with
//! clause key_clause         the table of clauses: parsing, help, suggestions; conditions on the key
//! where_clause filter       the clauses of a filter; filters, as values and as text with placeholders
//! fault operators spelling  parts of clauses: what is wrong with one, the operators' words, how values, names and paths are spelt
//! token                     positions in a result
//! source request explain    what is queried and its rows; what the database is asked; what that costs
//! stream listing            rows in order; links
//! result csv help           files
//! ```

mod clause;
#[cfg(test)]
mod clause_tests;
mod csv;
mod explain;
mod fault;
mod filter;
#[cfg(test)]
mod filter_tests;
mod help;
mod key_clause;
mod listing;
mod operators;
mod path;
mod request;
#[cfg(test)]
mod request_tests;
mod result;
mod source;
pub mod spelling;
mod stream;
#[cfg(test)]
mod test_tables;
mod token;
mod where_clause;

pub use clause::is_word;
pub use help::{all_names, first_entry};
pub use listing::{LiveListing, VisitLink};
pub use path::{CLAUSES_MAX, Child, QueryPath, ResultKind};
pub use result::ResultReader;
pub use source::QueryKind;
pub use stream::Wanted;
