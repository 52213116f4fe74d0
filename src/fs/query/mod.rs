//! `query/`, `scan/` and `near/` paths (docs/filesystem.md 6): each directory below them is a clause, each
//! file a result.
//!
//! ```text
//! Orders/query/@pk=u1/@sk.ge=2024/desc/limit=3/items.ndjson
//!              clause clause      …            result
//! ```
//!
//! | difficulty | solved by |
//! |---|---|
//! | clauses come in any order, one path component at a time | [`QueryPath::child`]: each clause is parsed once and checked against those before it; a check that needs all clauses runs when a result is named |
//! | a lookup must be cheap and without effect | parsing needs only the schema; the first access to the database is in [`ResultReader::advance`] or [`QueryPath::listing`] |
//! | a result may be larger than memory | [`ResultReader`] makes a page at a time |
//! | a stat of a result needs its size, but must cost nothing | its pages are read without being charged, and charged when they are given to a reader, see [`crate::fs::open::computed`] |
//! | a position in a result must fit in a file name, keys go up to 3 KB | `token`: short keys as they are, long ones by prefix and digest |
//! | a listed link must be resolved without running the query | `listing`: the link's name holds the entry's own name |
//!
//! This module does not depend on fuser. Only [`ResultReader`] keeps state.
//!
//! ```text
//! query_path                the directory: its clauses so far, the meaning of a name in it; the saved request that it begins with
//! clause key_clause         the table of clauses: parsing, help, suggestions; conditions on the key
//! where_clause filter       the clauses of a filter; filters, as values and as text with placeholders
//! clause_fault operators    parts of clauses: errors, the operators' words,
//!   spelling                the spelling of values, names and document paths
//! token                     positions in a result
//! context request explain   the table or index that is read, and its rows; the requests to the database; their cost
//! row_stream listing        rows in order; links
//! near near_clause          searches of a vector index
//! result_file csv help      files
//! ```

mod clause;
mod clause_fault;
#[cfg(test)]
mod clause_tests;
mod context;
mod csv;
mod explain;
mod filter;
#[cfg(test)]
mod filter_tests;
mod help;
mod key_clause;
mod listing;
mod near;
mod near_clause;
mod operators;
mod query_path;
mod request;
#[cfg(test)]
mod request_tests;
mod result_file;
mod row_stream;
pub mod spelling;
#[cfg(test)]
mod tables_of_tests;
mod token;
mod where_clause;

pub use clause::is_word;
pub use context::QueryKind;
pub use help::{all_names, first_entry};
pub use listing::{ListingCache, VisitLink};
pub use query_path::{CLAUSES_MAX, QueryChild, QueryPath, ResultKind};
pub use result_file::ResultReader;
pub use row_stream::IsWanted;
