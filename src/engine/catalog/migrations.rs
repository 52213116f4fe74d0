//! Schema migration of the catalog: converts entries that earlier versions stored to the members of
//! today.
//!
//! Version 1 had arrays where the form of today has objects, which deserialize alike; it also
//! differs in:
//! ```text
//! "indexes":[{…,"source":5,"projection":"ALL" or names}]   an index's source with its definition
//! "opaque":{"Tags":"[…]","GlobalSecondaryIndexes":"{…}"}   settings as JSON texts of CreateTable's members, of indexes by name
//! "time_to_live":{…,"list":4 or null,"built":true}
//! "control":{"restored":[…,code,message],"queries":{name:["link" or "request",text,modified]}}
//! "index_life":{"building":{…,"allocated_ms":1 or null},"leaving":{"index":{…,"source":5}}}
//! ```

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::codec::{
    json::document::Document,
    wire::{Declared, shape::Members, table_settings},
};
use crate::model::schema::{TableSettings, ThroughputSettings};

/// Converts an entry of version 1; returns `None` if it is not one.
pub(super) fn from_version_1(mut entry: Value) -> Option<Value> {
    let members = entry.as_object_mut()?;
    let texts = members.remove("opaque")?;
    let kept = |(name, text): (&String, &Value)| {
        Some((name.clone(), serde_json::from_str(text.as_str()?).ok()?))
    };
    let kept: Value = texts
        .as_object()?
        .iter()
        .map(kept)
        .collect::<Option<Map<_, _>>>()?
        .into();
    members.insert("settings".to_owned(), settings::<TableSettings>(&kept)?);
    let mut sources = Vec::new();
    for index in members
        .get_mut("indexes")?
        .as_array_mut()?
        .iter_mut()
        .filter_map(Value::as_object_mut)
    {
        sources.extend(index_of_version_1(index));
        let of_index = index
            .get("name")
            .and_then(Value::as_str)
            .and_then(|name| kept.get("GlobalSecondaryIndexes")?.get(name));
        if let Some(kept) = of_index {
            index.insert("settings".to_owned(), settings::<ThroughputSettings>(kept)?);
        }
    }
    members.insert("index_sources".to_owned(), sources.into());
    let mut change = |member: &str, change: &dyn Fn(&mut Map<String, Value>)| {
        members
            .get_mut(member)
            .and_then(Value::as_object_mut)
            .into_iter()
            .for_each(change);
    };
    change("time_to_live", &time_to_live);
    change("control", &control);
    change("index_life", &index_life);
    Some(entry)
}

/// Converts settings that version 1 kept as members of requests; returns `None` if they are
/// malformed, as the requests were checked.
fn settings<T: Declared + Serialize>(kept: &Value) -> Option<Value> {
    let document = Document::from_value(kept);
    let settings: T = table_settings::settings(Members::of(document.root())?).ok()?;
    serde_json::to_value(settings).ok()
}

/// Converts an index in place and returns its source.
fn index_of_version_1(index: &mut Map<String, Value>) -> Option<Value> {
    if let Some(projection @ Value::Array(_)) = index.get_mut("projection") {
        *projection = json!({ "INCLUDE": projection.take() });
    }
    index.remove("source")
}

fn time_to_live(of: &mut Map<String, Value>) {
    let list = of.remove("list").filter(|id| !id.is_null());
    if let (Some(id), Some(is_built)) = (list, of.get("built")) {
        of.insert("list".to_owned(), json!([id, is_built]));
    }
}

fn control(record: &mut Map<String, Value>) {
    if let Some(Value::Array(restored)) = record.get_mut("restored") {
        let failure = restored.split_off(restored.len().min(4));
        restored.push(if failure.iter().all(Value::is_null) {
            Value::Null
        } else {
            failure.into()
        });
    }
    for query in record
        .get_mut("queries")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(Map::values_mut)
    {
        if let Some([kind, text, modified_ms]) = query.as_array().map(Vec::as_slice) {
            *query = json!([{ (kind.as_str().unwrap_or_default()): text }, modified_ms]);
        }
    }
}

fn index_life(of: &mut Map<String, Value>) {
    if let Some(building) = of.get_mut("building").and_then(Value::as_object_mut) {
        let until = building
            .remove("allocated_ms")
            .filter(|until| !until.is_null());
        let phase = until.map_or_else(
            || json!("backfill"),
            |until_ms| json!({ "allocation": { "until_ms": until_ms } }),
        );
        building.insert("phase".to_owned(), phase);
    }
    if let Some(leaving) = of.get_mut("leaving").and_then(Value::as_object_mut) {
        let source = leaving
            .get_mut("index")
            .and_then(Value::as_object_mut)
            .and_then(index_of_version_1);
        leaving.extend(source.map(|source| ("source".to_owned(), source)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::entry::{
        BuildPhase, BuildingIndex, BuiltIndex, IndexLife, LagState, LeavingIndex,
    };
    use super::super::entry::{ExpiryList, TableEntry, TableStream, TimeToLive};
    use crate::engine::base::keys::SourceId;
    use crate::engine::base::stored_form::{decode, encode};
    use crate::model::api::common::JobFailure;
    use crate::model::api::table_control::{
        PointInTimeRecovery, RestoreSummary, ThroughputHistory,
    };
    use crate::model::api::table_control::{SavedForm, SavedQuery};
    use crate::model::api::{TableControl, TableStatus};
    use crate::model::error::StoreError;
    use crate::model::schema::{BillingMode, KeyAttributeType, ProvisionedThroughput};
    use crate::model::schema::{
        Encryption, OnDemandThroughput, StreamViewType, TableClass, ThroughputSettings,
        WarmThroughput,
    };
    use crate::model::{
        IndexKind, IndexName, IndexSchema, KeyAttribute, KeySchema, Projection, TableName,
        TableSchema, TableSettings,
    };

    fn attribute(name: &str, attribute_type: KeyAttributeType) -> KeyAttribute {
        KeyAttribute {
            name: name.into(),
            attribute_type,
        }
    }

    fn example() -> TableEntry {
        let index = |name: &str, kind, projection, throughput| IndexSchema {
            name: IndexName::new(name).unwrap(),
            kind,
            partition: vec![attribute("pk", KeyAttributeType::S)],
            sort: vec![attribute("b", KeyAttributeType::B)],
            projection,
            throughput,
            settings: ThroughputSettings::default(),
            vector: None,
        };
        let units = Some(ProvisionedThroughput {
            read_capacity_units: 1,
            write_capacity_units: 2,
        });
        TableEntry {
            schema: Arc::new(TableSchema {
                name: TableName::new("abc").unwrap(),
                key: KeySchema {
                    partition: attribute("pk", KeyAttributeType::S),
                    sort: Some(attribute("sk", KeyAttributeType::N)),
                },
                indexes: vec![
                    index(
                        "lll",
                        IndexKind::Local,
                        Projection::Include(vec!["x".into()]),
                        None,
                    ),
                    index("ggg", IndexKind::Global, Projection::KeysOnly, units),
                    index("hhh", IndexKind::Global, Projection::All, units),
                ],
                billing_mode: BillingMode::Provisioned,
                throughput: units,
                deletion_protection: true,
                settings: TableSettings::default(),
            }),
            source: SourceId(4),
            index_sources: vec![SourceId(5), SourceId(6), SourceId(7)],
            status: TableStatus::Active,
            table_id: "id".into(),
            created_ms: 17,
            stream: None,
            time_to_live: None,
            control: TableControl::default(),
            index_life: IndexLife::default(),
            status_ends_ms: None,
        }
    }

    /// Returns an entry with every member of version 1.
    fn with_past() -> TableEntry {
        let mut entry = example();
        let leaving = entry.schema.indexes[0].clone();
        let schema = Arc::make_mut(&mut entry.schema);
        let of = |max_read_request_units, read_units_per_second| ThroughputSettings {
            on_demand: OnDemandThroughput {
                max_read_request_units,
                max_write_request_units: None,
            },
            warm: WarmThroughput {
                read_units_per_second,
                write_units_per_second: None,
            },
        };
        schema.settings = TableSettings {
            stream: Some(StreamViewType::NewImage),
            encryption: Some(Encryption {
                enabled: true,
                kms_master_key_id: Some("k".into()),
            }),
            table_class: Some(TableClass::StandardInfrequentAccess),
            tags: vec![("a".into(), "b".into())],
            resource_policy: Some("{}".into()),
            throughput: of(Some(5), None),
        };
        schema.indexes[1].settings = of(None, Some(6));
        entry.stream = Some(TableStream {
            id: SourceId(8),
            label: "l".into(),
            view_type: StreamViewType::NewImage,
            is_enabled: true,
        });
        let list = Some(ExpiryList {
            id: SourceId(9),
            is_built: false,
        });
        entry.time_to_live = Some(TimeToLive {
            attribute: "t".into(),
            list,
            changed_ms: 18,
        });
        entry.status_ends_ms = Some(19);
        let history = ThroughputHistory {
            last_increase_ms: Some(1),
            last_decrease_ms: None,
            decreases: 2,
        };
        entry.control = TableControl {
            throughput: history,
            indexes: [("ggg".to_owned(), history)].into(),
            on_demand_since_ms: Some(3),
            class_changed_ms: Some(4),
            changed_ms: Some(8),
            policy_revision: Some(7),
            recovery: Some(PointInTimeRecovery {
                since_ms: 5,
                period_days: 35,
            }),
            restored: Some(RestoreSummary {
                source_backup_arn: None,
                source_table_arn: "arn".to_owned(),
                restore_ms: 6,
                is_in_progress: true,
                failure: Some(JobFailure {
                    code: "c".into(),
                    message: "m".into(),
                }),
            }),
            readers: 2,
            saved_queries: Arc::new(
                [
                    ("l", SavedForm::Link("../query/@pk=é".to_owned())),
                    ("r", SavedForm::Request("{}".to_owned())),
                ]
                .map(|(name, form)| {
                    (
                        name.to_owned(),
                        SavedQuery {
                            form,
                            modified_ms: 9,
                        },
                    )
                })
                .into(),
            ),
        };
        entry.index_life = IndexLife {
            building: Some(BuildingIndex {
                index: IndexName::new("hhh").unwrap(),
                phase: BuildPhase::Allocation { until_ms: 10 },
                is_updated: true,
            }),
            leaving: Some(LeavingIndex {
                index: leaving,
                source: SourceId(11),
                violations: None,
            }),
            made: [(
                "hhh".to_owned(),
                BuiltIndex {
                    violations: SourceId(12),
                    since: 13,
                },
            )]
            .into(),
            lag: Some(LagState { is_paused: true }),
        };
        entry
    }

    /// The form of [`with_past`] as a program of version 1 wrote it.
    const FIRST: &str = concat!(
        r#"{"v":1,"name":"abc","table_id":"id","created_ms":17,"status":"ACTIVE","source":4,"#,
        r#""key":{"partition":["pk","S"],"sort":["sk","N"]},"billing_mode":"PROVISIONED","throughput":[1,2],"#,
        r#""deletion_protection":true,"#,
        r#""opaque":{"GlobalSecondaryIndexes":"{\"ggg\":{\"WarmThroughput\":{\"ReadUnitsPerSecond\":6}}}","#,
        r#""OnDemandThroughput":"{\"MaxReadRequestUnits\":5.0}","ResourcePolicy":"\"{}\"","#,
        r#""SSESpecification":"{\"Enabled\":true,\"SSEType\":\"KMS\",\"KMSMasterKeyId\":\"k\"}","#,
        r#""StreamSpecification":"{\"StreamEnabled\":\"yes\",\"StreamViewType\":\"NEW_IMAGE\"}","#,
        r#""TableClass":"\"STANDARD_INFREQUENT_ACCESS\"","Tags":"[{\"Key\":\"a\",\"Value\":\"b\"}]"},"#,
        r#""indexes":[{"name":"lll","kind":"LOCAL","source":5,"partition":[["pk","S"]],"sort":[["b","B"]],"#,
        r#""projection":["x"],"throughput":null},{"name":"ggg","kind":"GLOBAL","source":6,"partition":[["pk","S"]],"#,
        r#""sort":[["b","B"]],"projection":"KEYS_ONLY","throughput":[1,2]},{"name":"hhh","kind":"GLOBAL","#,
        r#""source":7,"partition":[["pk","S"]],"sort":[["b","B"]],"projection":"ALL","throughput":[1,2]}],"#,
        r#""stream":{"id":8,"label":"l","view_type":"NEW_IMAGE","enabled":true},"time_to_live":{"attribute":"t","#,
        r#""list":9,"built":false,"changed_ms":18},"control":{"throughput":[1,null,2],"indexes":{"ggg":[1,null,2]},"#,
        r#""on_demand_since_ms":3,"class_changed_ms":4,"changed_ms":8,"policy_revision":7,"recovery":[5,35],"#,
        r#""restored":[null,"arn",6,true,"c","m"],"readers":2,"queries":{"l":["link","../query/@pk=é",9],"#,
        r#""r":["request","{}",9]}},"index_life":{"building":{"index":"hhh","allocated_ms":10,"updated":true},"#,
        r#""leaving":{"index":{"name":"lll","kind":"LOCAL","source":11,"partition":[["pk","S"]],"sort":[["b","B"]],"#,
        r#""projection":["x"],"throughput":null},"violations":null},"made":{"hhh":[12,13]},"lag":{"paused":true}},"#,
        r#""status_ends_ms":19}"#,
    );

    #[test]
    fn version_1_is_read_and_today_s_form_comes_back() {
        assert_eq!(decode(FIRST.as_bytes()), Ok(with_past()));
        for entry in [example(), with_past()] {
            assert_eq!(decode(&encode(&entry).unwrap()), Ok(entry));
        }
        let in_backfill = FIRST.replace(r#""allocated_ms":10"#, r#""allocated_ms":null"#);
        let entry: TableEntry = decode(in_backfill.as_bytes()).unwrap();
        assert_eq!(
            entry.index_life.building.unwrap().phase,
            BuildPhase::Backfill
        );
        let disabled = FIRST.replace(r#""list":9"#, r#""list":null"#);
        assert_eq!(
            decode::<TableEntry>(disabled.as_bytes())
                .unwrap()
                .time_to_live
                .unwrap()
                .list,
            None
        );
        let succeeded = FIRST.replace(r#"true,"c","m"]"#, "false,null,null]");
        assert_eq!(
            decode::<TableEntry>(succeeded.as_bytes())
                .unwrap()
                .control
                .restored
                .unwrap()
                .failure,
            None
        );
    }

    #[test]
    fn the_stored_form_is_fixed() {
        let mut entry = example();
        entry.index_sources.truncate(1);
        let schema = Arc::make_mut(&mut entry.schema);
        schema.indexes.truncate(1);
        schema.throughput = None;
        schema.billing_mode = BillingMode::PayPerRequest;
        schema.settings.tags = vec![("a".into(), "b".into())];
        let none = r#"{"on_demand":{"max_read_request_units":null,"max_write_request_units":null},"warm":{"read_units_per_second":null,"write_units_per_second":null}}"#;
        let text = [
            r#"{"v":2,"name":"abc","key":{"partition":{"name":"pk","attribute_type":"S"},"sort":{"name":"sk","attribute_type":"N"}},"#,
            r#""indexes":[{"name":"lll","kind":"LOCAL","partition":[{"name":"pk","attribute_type":"S"}],"#,
            r#""sort":[{"name":"b","attribute_type":"B"}],"projection":{"INCLUDE":["x"]},"throughput":null,"settings":"#,
            none,
            r#"}],"billing_mode":"PAY_PER_REQUEST","throughput":null,"deletion_protection":true,"settings":{"stream":null,"#,
            r#""encryption":null,"table_class":null,"tags":[["a","b"]],"resource_policy":null,"throughput":"#,
            none,
            r#"},"source":4,"index_sources":[5],"status":"ACTIVE","table_id":"id","created_ms":17}"#,
        ];
        assert_eq!(
            String::from_utf8(encode(&entry).unwrap()).unwrap(),
            text.concat()
        );
    }

    #[test]
    fn damage_and_newer_versions_are_told_apart() {
        let damaged = || StoreError::Corrupt("a catalog entry");
        let malformed_tags = FIRST.replace(r#""Tags":"[{"#, r#""Tags":"[7,{"#);
        let cases: &[(&[u8], StoreError)] = &[
            (b"", damaged()),
            (b"{}", damaged()),
            (br#"{"v":1}"#, damaged()),
            (malformed_tags.as_bytes(), damaged()),
            (br#"{"v":3}"#, StoreError::Format(3)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(decode::<TableEntry>(bytes), Err(expected.clone()));
        }
    }
}
