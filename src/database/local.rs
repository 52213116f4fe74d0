//! The local engine as a `Database` and `Browse`. (to be written)
