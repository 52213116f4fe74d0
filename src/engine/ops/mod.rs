//! One operation, one file, read top-down: shape before effect.
