//! A read transaction that is held for its snapshot alone: LMDB overwrites no page that it shows.
#![allow(unsafe_code)]

use std::ptr;

use lmdb::{Environment, Error};

/// A held snapshot. Must be dropped before its environment is closed.
#[derive(Debug)]
pub(super) struct Pin {
    transaction: *mut lmdb_sys::MDB_txn,
    /// The commit that it shows.
    pub number: u64,
}

// SAFETY: the environment is opened with NOTLS, where a read transaction belongs to no thread; it is used by one at a time.
unsafe impl Send for Pin {}

impl Pin {
    /// Takes the snapshot of the last commit.
    pub fn begin(environment: &Environment) -> Result<Self, Error> {
        let mut transaction = ptr::null_mut();
        // SAFETY: the environment is open; the transaction is written only after success.
        match unsafe { lmdb_sys::mdb_txn_begin(environment.env(), ptr::null_mut(), lmdb_sys::MDB_RDONLY, &raw mut transaction) } {
            lmdb_sys::MDB_SUCCESS => {
                // SAFETY: it has just begun.
                let number = unsafe { lmdb_sys::mdb_txn_id(transaction) as u64 };
                Ok(Self { transaction, number })
            }
            code => Err(Error::from_err_code(code)),
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: it was begun and not ended; its environment is open, see above.
        unsafe { lmdb_sys::mdb_txn_abort(self.transaction) };
    }
}
