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
//! clause key_clause                        the table of clauses: parsing, help, suggestions; conditions on the key
//! clauses operators                        what all clauses of a path say; the operators' words
//! nearest name show source result_kind     what is suggested, how names, paths and ranges are shown; what is queried
//! fault value select shards token live     parts of clauses, and what is wrong with one
//! expression filter where_literal where_dotted    filters, as values and as text with placeholders
//! path saved                               the directory; a saved request that it begins with
//! request request_json explain             what the database is asked: values; the text that people see of them
//! row pages stream csv page                rows in order, and how they are written
//! listing child result                     links, what a name means, files
//! ```

mod child;
mod clause;
#[cfg(test)]
mod clause_tests;
mod clauses;
mod csv;
mod explain;
mod expression;
mod fault;
mod filter;
#[cfg(test)]
mod filter_tests;
mod help;
mod key_clause;
mod listing;
mod live;
mod name;
pub mod nearest;
mod operators;
mod page;
mod pages;
mod path;
mod request;
mod request_json;
#[cfg(test)]
mod request_tests;
mod result;
mod result_kind;
mod row;
mod saved;
mod select;
mod shards;
mod show;
mod source;
mod stream;
#[cfg(test)]
mod test_tables;
mod token;
mod value;
mod where_dotted;
mod where_literal;

pub use child::{CLAUSES_MAX, Child};
pub use clause::is_word;
pub use fault::{ClauseFault, ValueFault};
pub use help::first_entry;
pub use listing::{LiveListing, VisitLink};
pub use path::QueryPath;
pub use result::ResultReader;
pub use result_kind::ResultKind;
pub use source::QueryKind;
pub use stream::Wanted;
