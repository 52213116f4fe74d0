//! What many files above the running engine name: it, and what the whole engine names: `use crate::engine::runtime::prelude::*`.

pub use super::{Engine, Shared, Transaction, View};
pub use crate::engine::prelude::*;
