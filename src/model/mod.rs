//! The domain types, plain data that all layers share: values, items, keys, schemas, limits,
//! requests and responses, errors.
//!
//! Nothing here depends on JSON, on-disk bytes, HTTP or FUSE. Every other layer imports from here,
//! and this layer imports from none of them. `codec` has the encodings of these types.

pub mod api;
pub mod api_enum;
pub mod arn;
pub mod attribute_value;
pub mod clock;
pub mod error;
pub mod item;
pub mod limits;
pub mod metrics;
pub mod names;
pub mod number;
pub mod prices;
pub mod schema;

pub use api_enum::ApiEnum;
pub use attribute_value::{AttributeType, AttributeValue};
pub use error::Error;
pub use item::{DocumentPath, Item, Key, PathElement};
pub use names::{IndexName, TableName};
pub use number::Number;
pub use schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection, TableSchema,
    TableSettings,
};
