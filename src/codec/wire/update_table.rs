//! UpdateTable: what it has beside its declaration (docs/dynamodb.md 11.3).

use super::create_table::CreateIndex;
use super::declared::*;
use super::table_settings::KnownClass;
use super::{members, names};
use crate::model::IndexName;
use crate::model::api::update_table::*;
use crate::model::api::{IndexDefinition, StreamViewType, TableDescription};
use crate::model::error::UpdateTableError;
use crate::model::schema::{BillingMode, KeyAttribute, ProvisionedThroughput};
use crate::model::settings::{Encryption, OnDemandThroughput, TableClass, WarmThroughput};

update_table!(wire);

/// Refused when present, whatever it holds.
static ANY: Element = Element { shape: Shape::Structure(&Structure { name: "Update", members: &[] }), rules: &[] };

/// Members of which this version has nothing.
const REGIONS: &[Member] =
    &[Member::new("MultiRegionConsistency", Shape::String), Member::new("GlobalTableWitnessUpdates", Shape::List(&ANY))];
const REFUSED: &[Member] =
    &[Member::new("GlobalTableSettingsReplicationMode", Shape::String), Member::new("VectorIndexUpdates", Shape::List(&ANY))];

fn check_update(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::control_table(members)?;
    members::constrained(json, structure)?;
    members::refuse(members, REGIONS)?;
    members::refuse(members, REFUSED)?;
    Ok(Some(table))
}

/// What is said of replicas is not kept, only that something is.
#[derive(Debug)]
pub struct Replicas;

impl Group<bool> for Replicas {
    const MEMBERS: &'static [Member] = &[Member::new("ReplicaUpdates", Shape::List(&ANY)).rules(&[Rule::LengthMin(1)])];

    fn read(members: Members<'_>, _: Sender) -> Result<bool, WireError> {
        Ok(members.has("ReplicaUpdates"))
    }
}

forms! {
    /// A stream with a view type exactly when it is enabled.
    WholeStream of StreamSpecification, StreamSpecification::SHAPE, &[], |json, sender| {
        let stream = StreamSpecification::read(json, sender)?;
        match stream.as_ref().map(|stream| (stream.enabled, stream.view_type)) {
            Some((true, None)) => Err(UpdateTableError::StreamViewTypeMissing.into()),
            Some((false, Some(_))) => Err(UpdateTableError::StreamViewTypeUnwanted.into()),
            _ => Ok(stream),
        }
    };
}

/// A large value in a box.
#[derive(Debug)]
pub struct Boxed<F>(F);

impl<T, F: Form<T>> Form<Box<T>> for Boxed<F> {
    const SHAPE: Shape = F::SHAPE;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Box<T>>, WireError> {
        Ok(F::read(json, sender)?.map(Box::new))
    }

    fn write(value: &Box<T>, out: &mut Vec<u8>) {
        F::write(value, out);
    }
}

/// The index that goes.
#[derive(Debug)]
pub struct DeleteIndex;

impl Form<IndexName> for DeleteIndex {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "DeleteGlobalSecondaryIndexAction",
        members: &[Member::new("IndexName", Shape::String).required().rules(names::NAME_RULES)],
    });

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<IndexName>, WireError> {
        Members::of(json).map_or(Ok(None), |members| optional::<_, Plain>(members, "IndexName", sender))
    }

    fn write(value: &IndexName, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        object.text("IndexName", value.as_str());
        object.end();
    }
}
