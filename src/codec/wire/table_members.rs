//! Members that tables and indexes have in requests as in descriptions.

use super::field::{Field, Sender};
use super::shape::Members;
use crate::model::api::KeySchemaElement;
use crate::model::schema::ProvisionedThroughput;

/// The member `name`, if it is there and as it should be.
pub fn told<T: Field>(members: Members<'_>, name: &str) -> Option<T> {
    members.get(name).and_then(|json| T::read(json, Sender::Service).ok().flatten())
}

/// `KeySchema`.
pub fn key_schema(members: Members<'_>) -> Vec<KeySchemaElement> {
    told(members, "KeySchema").unwrap_or_default()
}

/// `ProvisionedThroughput`.
pub fn throughput(members: Members<'_>) -> Option<ProvisionedThroughput> {
    told(members, "ProvisionedThroughput")
}
