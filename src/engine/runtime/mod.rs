//! The running engine: what operations share ([`Shared`]), how a change gets to the writer thread ([`Transaction`]), how a moment is
//! read ([`View`]), and the threads beside them. What is done in these is above.

pub mod batch;
mod charge;
mod engine;
mod held_values;
pub mod hold;
mod observers;
mod options;
pub mod prelude;
mod shared;
mod submit;
mod transaction;
mod view;
mod warnings;

pub use crate::codec::record::{BatchRows, Rows};
pub use crate::model::api::Done;
pub use engine::{Background, Engine, Round};
pub use held_values::HeldValues;
pub use options::{BACKGROUND_PERIOD, EngineOptions};
pub use shared::Shared;
pub use transaction::Transaction;
pub use view::View;
