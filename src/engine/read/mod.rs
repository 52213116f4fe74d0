//! Query and Scan: what a request selects, where its page begins and ends, and the walk.

pub mod filter;
pub mod page;
pub mod projected;
pub mod range;
pub mod select;
pub mod source;
pub mod start_key;
