//! Filesystem names of key values, K(value) of FILESYSTEM 2. (to be written)
