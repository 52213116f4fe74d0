//! The running engine: the state that operations share ([`EngineShared`]), the path of a change to
//! the writer thread ([`Transaction`]), consistent reads ([`ReadView`]), and the background
//! threads. The operations are above this module.

pub mod batch;
mod charging;
mod engine;
mod observers;
mod options;
pub mod prelude;
mod shared;
mod submit;
pub mod test_hooks;
mod transaction;
mod value_memory;
mod view;
mod warnings;

pub use crate::codec::record::{BatchRowSink, RowSink};
pub use crate::model::api::Completion;
pub use engine::{Background, Engine, Round, Timer};
pub use options::{BACKGROUND_PERIOD, EngineOptions};
pub use shared::EngineShared;
pub use transaction::Transaction;
pub use value_memory::ValueMemory;
pub use view::ReadView;
