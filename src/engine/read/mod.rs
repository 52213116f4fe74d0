//! Query and Scan below their operations (`ops::pages`): `source` finds the table or index and the
//! key range, `select` the filter and projection, `page` walks the range up to the end of a page.

pub mod page;
pub mod select;
pub mod source;
