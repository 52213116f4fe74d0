//! LMDB
