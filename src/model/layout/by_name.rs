//! The counts of operations in the store: those that there are, by the operations' names.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MeteredOperation, OperationCounts};

type Operations = [OperationCounts; MeteredOperation::ALL.len()];

pub fn serialize<S: Serializer>(counts: &Operations, to: S) -> Result<S::Ok, S::Error> {
    let named = MeteredOperation::ALL.into_iter().map(MeteredOperation::name).zip(counts);
    named.filter(|(_, counts)| **counts != OperationCounts::default()).collect::<BTreeMap<_, _>>().serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Operations, D::Error> {
    let named = BTreeMap::<String, OperationCounts>::deserialize(from)?;
    Ok(MeteredOperation::ALL.map(|operation| named.get(operation.name()).copied().unwrap_or_default()))
}
