//! The names that most files above the running engine use, with those of the whole engine: `use
//! crate::engine::runtime::prelude::*`.

pub use super::{Engine, EngineShared, ReadView, Transaction};
pub use crate::engine::prelude::*;
