//! The byte before a value, which tells its type.

pub const S: u8 = 1;
pub const N: u8 = 2;
pub const B: u8 = 3;
pub const FALSE: u8 = 4;
pub const TRUE: u8 = 5;
pub const NULL: u8 = 6;
pub const SS: u8 = 7;
pub const NS: u8 = 8;
pub const BS: u8 = 9;
pub const L: u8 = 10;
pub const M: u8 = 11;
