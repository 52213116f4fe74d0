//! The running engine: the state that operations share ([`Shared`]), the path of a change to the
//! writer thread ([`Transaction`]), consistent reads ([`View`]), and the background threads. The
//! operations are above this module.

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
