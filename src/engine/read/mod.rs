//! Query and Scan: what a request selects, where its page begins and ends, and the walk.

pub mod page;
pub mod select;
pub mod source;
