//! Section 27.
