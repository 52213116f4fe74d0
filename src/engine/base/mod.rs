//! What every other room of the engine builds on, and what needs no catalog: keys, counters, units.

pub mod capacity;
pub mod counters;
pub mod item_key;
pub mod keys;
pub mod parts;
pub mod segment;
pub mod stored;
pub mod table_definition;
pub mod walks;
