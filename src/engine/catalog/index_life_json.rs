//! The stored form of [`IndexLife`]: a JSON object of the members that are there.
//!
//! ```text
//! {"building":{"index":…,"allocated_ms":1,"updated":true},        allocated_ms is null in the backfill
//!  "leaving":{"index":{…},"violations":3},                        the index as in the catalog entry
//!  "made":{"name":[violations,since]},
//!  "lag":{"paused":true}}
//! ```

use serde_json::{Map, Value, json};

use super::entry_json::{index_of, index_value, source_of};
use super::index_life::{Building, IndexLife, Lag, Leaving, Made, Phase};
use crate::engine::base::keys::SourceId;
use crate::model::IndexName;

impl IndexLife {
    /// `None` when there is nothing to keep.
    pub(super) fn to_value(&self) -> Option<Value> {
        let mut out = Map::new();
        if let Some(building) = &self.building {
            let until = match building.phase {
                Phase::Allocation { until_ms } => Some(until_ms),
                Phase::Backfill => None,
            };
            let value = json!({ "index": building.index.as_str(), "allocated_ms": until, "updated": building.is_updated });
            out.insert("building".to_owned(), value);
        }
        if let Some(leaving) = &self.leaving {
            let index = index_value(&leaving.index, leaving.source);
            let violations = leaving.violations.map(|list| list.0);
            out.insert("leaving".to_owned(), json!({ "index": index, "violations": violations }));
        }
        if !self.made.is_empty() {
            let made = self.made.iter().map(|(name, made)| (name.clone(), json!([made.violations.0, made.since])));
            out.insert("made".to_owned(), Value::Object(made.collect()));
        }
        if let Some(lag) = self.lag {
            out.insert("lag".to_owned(), json!({ "paused": lag.is_paused }));
        }
        (!out.is_empty()).then_some(Value::Object(out))
    }

    /// `None` when the value is none of [`Self::to_value`]'s.
    pub(super) fn of_value(value: &Value) -> Option<Self> {
        let made = value.get("made").and_then(Value::as_object).into_iter().flatten();
        let made =
            made.map(|(name, made)| Some((name.clone(), Made { violations: id(made.get(0)?)?, since: made.get(1)?.as_u64()? })));
        Some(Self {
            building: value.get("building").map(building).map_or(Some(None), |found| found.map(Some))?,
            leaving: value.get("leaving").map(leaving).map_or(Some(None), |found| found.map(Some))?,
            made: made.collect::<Option<_>>()?,
            lag: value.get("lag").map(lag).map_or(Some(None), |found| found.map(Some))?,
        })
    }
}

fn building(value: &Value) -> Option<Building> {
    let until = value.get("allocated_ms")?;
    let phase = if until.is_null() { Phase::Backfill } else { Phase::Allocation { until_ms: until.as_u64()? } };
    let index = IndexName::new(value.get("index")?.as_str()?).ok()?;
    Some(Building { index, phase, is_updated: value.get("updated")?.as_bool()? })
}

fn leaving(value: &Value) -> Option<Leaving> {
    let index = value.get("index")?;
    let violations = value.get("violations")?;
    let violations = if violations.is_null() { None } else { Some(id(violations)?) };
    Some(Leaving { index: index_of(index)?, source: source_of(index)?, violations })
}

fn lag(value: &Value) -> Option<Lag> {
    Some(Lag { is_paused: value.get("paused")?.as_bool()? })
}

fn id(value: &Value) -> Option<SourceId> {
    Some(SourceId(u32::try_from(value.as_u64()?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::{IndexKind, KeyAttribute, KeyAttributeType, Projection};
    use crate::model::{IndexSchema, schema::ProvisionedThroughput};

    #[test]
    fn it_round_trips() {
        let name = IndexName::new("abc").unwrap();
        let index = IndexSchema {
            name: name.clone(),
            kind: IndexKind::Global,
            partition: vec![KeyAttribute { name: "a".into(), attribute_type: KeyAttributeType::N }],
            sort: Vec::new(),
            projection: Projection::All,
            throughput: Some(ProvisionedThroughput { read_capacity_units: 1, write_capacity_units: 2 }),
            settings: Default::default(),
        };
        let made = [("abc".to_owned(), Made { violations: SourceId(4), since: 9 })].into();
        for phase in [Phase::Backfill, Phase::Allocation { until_ms: 0 }] {
            let building = Some(Building { index: name.clone(), phase, is_updated: true });
            let leaving = Some(Leaving { index: index.clone(), source: SourceId(5), violations: Some(SourceId(6)) });
            let life =
                IndexLife { building, leaving, made: std::collections::BTreeMap::clone(&made), lag: Some(Lag { is_paused: true }) };
            assert_eq!(life.to_value().as_ref().and_then(IndexLife::of_value), Some(life));
        }
        assert_eq!(IndexLife::default().to_value(), None);
        assert_eq!(IndexLife::of_value(&json!({})), Some(IndexLife::default()));
        assert_eq!(IndexLife::of_value(&json!({ "building": {} })), None);
    }
}
