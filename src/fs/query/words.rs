//! The words of clauses: faults and `help` tell of them, the parsers know them.

/// Of a condition on a key attribute: `attribute.<operator>=`.
pub(super) const KEY_OPERATORS: [&str; 6] = ["lt", "le", "gt", "ge", "between", "begins"];

/// Of a filter: `where.<path>.<operator>`.
pub(super) const FILTER_OPERATORS: [&str; 21] = [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "between",
    "in",
    "begins",
    "contains",
    "ncontains",
    "exists",
    "nexists",
    "type",
    "size-eq",
    "size-ne",
    "size-lt",
    "size-le",
    "size-gt",
    "size-ge",
    "size-between",
];

/// The functions of the condition language.
pub(super) const FUNCTIONS: [&str; 6] =
    ["attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"];
