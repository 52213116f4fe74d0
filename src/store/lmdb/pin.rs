//! A pin: a read transaction that is held for its snapshot alone. LMDB overwrites no page of that
//! snapshot, so the pages of a checkpoint stay whole (`journal`).
#![allow(unsafe_code)]

use std::ptr;

use lmdb::{Environment, Error};

/// A held snapshot. Must be dropped before its environment is closed.
#[derive(Debug)]
pub(super) struct Pin {
    transaction: *mut lmdb_sys::MDB_txn,
    /// The number of the commit that it shows.
    pub number: u64,
}

// SAFETY: the environment is opened with NOTLS, where a read transaction belongs to no thread; one
// thread uses it at a time.
unsafe impl Send for Pin {}

impl Pin {
    /// Takes the snapshot of the last commit.
    pub fn begin(environment: &Environment) -> Result<Self, Error> {
        let mut transaction = ptr::null_mut();
        // SAFETY: the environment is open; the transaction is written only after success.
        match unsafe {
            lmdb_sys::mdb_txn_begin(
                environment.env(),
                ptr::null_mut(),
                lmdb_sys::MDB_RDONLY,
                &raw mut transaction,
            )
        } {
            lmdb_sys::MDB_SUCCESS => {
                // SAFETY: it has just begun.
                let number = unsafe { lmdb_sys::mdb_txn_id(transaction) as u64 };
                Ok(Self {
                    transaction,
                    number,
                })
            }
            code => Err(Error::from_err_code(code)),
        }
    }
}

impl Pin {
    /// Returns the number of pages freed by the commits after `number`, up to the one that it
    /// shows.
    pub fn freed_since(&self, number: u64) -> Result<u64, Error> {
        let begin = usize::try_from(number)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        let mut key = lmdb_sys::MDB_val {
            mv_size: size_of::<usize>(),
            mv_data: (&raw const begin).cast_mut().cast(),
        };
        let mut list = lmdb_sys::MDB_val {
            mv_size: 0,
            mv_data: ptr::null_mut(),
        };
        let (mut cursor, mut pages) = (ptr::null_mut(), 0);
        // SAFETY: the transaction is open, and a reader may read the tree of free pages, which is
        // database 0: its keys are commits, its values a count and that many pages. The cursor is
        // closed before its transaction, and its values are used before it moves.
        unsafe {
            check(lmdb_sys::mdb_cursor_open(
                self.transaction,
                0,
                &raw mut cursor,
            ))?;
            let mut code = lmdb_sys::mdb_cursor_get(
                cursor,
                &raw mut key,
                &raw mut list,
                lmdb_sys::MDB_SET_RANGE,
            );
            while code == lmdb_sys::MDB_SUCCESS && list.mv_size >= size_of::<usize>() {
                pages += ptr::read_unaligned(list.mv_data.cast::<usize>()) as u64;
                code = lmdb_sys::mdb_cursor_get(
                    cursor,
                    &raw mut key,
                    &raw mut list,
                    lmdb_sys::MDB_NEXT,
                );
            }
            lmdb_sys::mdb_cursor_close(cursor);
        }
        Ok(pages)
    }
}

fn check(code: libc::c_int) -> Result<(), Error> {
    if code == lmdb_sys::MDB_SUCCESS {
        Ok(())
    } else {
        Err(Error::from_err_code(code))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: it was begun and not ended; its environment is open, see [`Pin`].
        unsafe { lmdb_sys::mdb_txn_abort(self.transaction) };
    }
}
