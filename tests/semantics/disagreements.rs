//! Section 26.
