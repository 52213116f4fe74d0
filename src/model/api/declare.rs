//! The macros that declare the API's structures, a small schema language with one line for each
//! member. This module makes the Rust type from the lines; `codec::wire::declared` makes its JSON
//! serializer and deserializer from the same lines.
//!
//! ```text
//! declare! { $ list_streams                       // the name by which `codec::wire` finds the declarations of this file
//!     #[derive(Eq, Default)]                      // beside Debug, Clone and PartialEq
//!     ListStreamsRequest = "ListStreamsInput" {   // the service's name of the request or structure, for errors
//!         /// 1 to 100; default 100.
//!         optional limit: u32 [ValueMin(1)],      // `Limit`; its constraints
//!         optional start: StreamName as Arn = "ExclusiveStartStreamArn",   // a wire form that is not the type's own; another name
//!     }
//!     ListTablesResponse in "Outer" { … }         // the body has one member, which has these
//! }
//! ```
//!
//! A member's name on the wire is its own in PascalCase, unless another is given. The lines stand
//! in the order in which the service checks members, and responses are written in that order. The
//! first word of a line says how a member is present:
//!
//! ```text
//! required  is present         optional  may be absent: an `Option`        default  absent if it is the type's default, and the reverse
//! always    as default, but it is written too            control, data    the table, checked before all else, by the text of that family
//! early     optional, and checked before all else        group            made of several members, which its form lists
//! later     a group with members that stand elsewhere    local            not on the wire
//! ```
//!
//! After a member, `..MEMBERS` are members that are checked at this place and have no field of
//! their own, and `+ "TableArn" = |it| Some(…)` is a member of responses that follows from others.
//! `by check` names the function in `codec::wire` that checks a request between its types and its
//! values, if the request has an order of its own. `fn new(…)` makes a constructor: it takes the
//! required members, the others are set as if they were absent.

/// Declares the operations of a family, one row each, as a macro with the family's name. The macro
/// passes its rows, with those before them, to the macro of the next family; the last one passes
/// all rows to the macro that uses them. [`operation`](super::operation) describes a row.
macro_rules! operation_rows {
    ($sign:tt $family:ident $($row:tt)*) => {
        macro_rules! $family {
            ([[$sign($sign with:tt)+]] $sign($sign before:tt)*) => { $sign($sign with)+! { $sign($sign before)* $($row)* } };
            ([[$sign($sign next:tt)+] $sign($sign rest:tt)+] $sign($sign before:tt)*) => {
                $sign($sign next)+! { [$sign($sign rest)+] $sign($sign before)* $($row)* }
            };
        }
        pub(crate) use $family;
    };
}
pub(crate) use operation_rows;

macro_rules! declare {
    // The sign is what a macro needs for its own parameter in a macro.
    ($sign:tt $file:ident $($declared:tt)*) => {
        $crate::model::api::declare::structures! { $($declared)* }

        macro_rules! $file {
            ($sign with:ident) => { $sign with! { $($declared)* } };
        }
        pub(crate) use $file;
    };
}
pub(crate) use declare;

macro_rules! structures {
    ($(
        $(#[$attribute:meta])*
        $name:ident $(= $wire:literal)? $(by $check:ident)? $(in $outer:literal)? $(fn $constructor:ident $given:tt)? {
            $($members:tt)*
        }
    )*) => {
        $(
            $crate::model::api::declare::structure! { $(#[$attribute])* $name { $($members)* } }
            $crate::model::api::declare::constructor! { $name ($($constructor $given)?) { $($members)* } }
        )*
    };
}
pub(crate) use structures;

macro_rules! structure {
    ($(#[$attribute:meta])* $name:ident { $(
        $(#[$doc:meta])*
        $presence:ident $field:ident: $kind:ty $(as $form:ty)? $(= $member:literal)? $([$($rule:expr),+])?,
        $(..$extra:expr,)*
        $(+ $derived_name:literal = $derived:expr,)*
    )* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $crate::model::api::declare::field_type!($presence $kind),)*
        }
    };
}
pub(crate) use structure;

/// The type of a member.
macro_rules! field_type {
    (optional $kind:ty) => { Option<$kind> };
    (early $kind:ty) => { Option<$kind> };
    ($presence:ident $kind:ty) => { $kind };
}
pub(crate) use field_type;

macro_rules! constructor {
    ($name:ident () $members:tt) => {};
    ($name:ident ($constructor:ident ($($given:ident: $type:ty),*)) { $(
        $(#[$doc:meta])*
        $presence:ident $field:ident: $kind:ty $(as $form:ty)? $(= $member:literal)? $([$($rule:expr),+])?,
        $(..$extra:expr,)*
        $(+ $derived_name:literal = $derived:expr,)*
    )* }) => {
        impl $name {
            /// Returns a value with these members; the others are set as if they were absent.
            #[must_use]
            pub fn $constructor($($given: $type),*) -> Self {
                Self { $($field: $crate::model::api::declare::new_member!($presence $field)),* }
            }
        }
    };
}
pub(crate) use constructor;

macro_rules! new_member {
    (required $field:ident) => {
        $field
    };
    (control $field:ident) => {
        $field
    };
    (data $field:ident) => {
        $field
    };
    ($presence:ident $field:ident) => {
        Default::default()
    };
}
pub(crate) use new_member;
