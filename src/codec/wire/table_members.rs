//! Members that tables and indexes have in requests as in descriptions.

use super::shape::Members;
use crate::codec::json::document::Json;
use crate::model::api::{KeySchemaElement, ProjectionDefinition};
use crate::model::schema::ProvisionedThroughput;

/// The structures in the list `name`; their types and constraints were checked.
pub fn structures<'a>(members: Members<'a>, name: &str) -> impl Iterator<Item = Members<'a>> {
    members.list(name).unwrap_or_default().filter_map(Members::of)
}

/// `KeySchema`.
pub fn key_schema(members: Members<'_>) -> Vec<KeySchemaElement> {
    let element = |members: Members<'_>| {
        Some(KeySchemaElement { attribute_name: members.owned("AttributeName")?, key_type: members.word("KeyType")? })
    };
    structures(members, "KeySchema").filter_map(element).collect()
}

/// `ProvisionedThroughput`.
pub fn throughput(members: Members<'_>) -> Option<ProvisionedThroughput> {
    let throughput = members.structure("ProvisionedThroughput")?;
    let units = |name: &str| throughput.integer(name).and_then(|value| u64::try_from(value).ok());
    Some(ProvisionedThroughput {
        read_capacity_units: units("ReadCapacityUnits")?,
        write_capacity_units: units("WriteCapacityUnits")?,
    })
}

/// The members of `Projection`.
pub fn projection(members: Members<'_>) -> ProjectionDefinition {
    let names = members.list("NonKeyAttributes");
    let non_key_attributes = names.map(|names| names.filter_map(Json::as_str).map(str::to_owned).collect());
    ProjectionDefinition { projection_type: members.word("ProjectionType"), non_key_attributes }
}
