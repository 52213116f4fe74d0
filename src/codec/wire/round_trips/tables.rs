//! Round trips of requests and responses of tables and times to live.

use super::super::shape::Members;
use super::super::{encode_request, table_description};
use super::{check_request, check_response, document, index_name, table};
use crate::model::api::table_control::{RestoreSummary, ThroughputHistory};
use crate::model::api::tables::{IndexChange, IndexUpdate, ProjectionType, StreamSpecification};
use crate::model::api::*;
use crate::model::schema::{
    BillingMode, DistanceFunction, Encryption, IndexKind, KeyAttribute, KeyAttributeType, KeyType,
    OnDemandThroughput, ProvisionedThroughput, TableClass, ThroughputSettings, VectorAttribute,
    WarmThroughput,
};
use crate::model::{IndexName, IndexSchema, KeySchema, Projection, TableSchema, TableSettings};

fn attribute(name: &str) -> KeyAttribute {
    KeyAttribute {
        name: name.to_owned(),
        attribute_type: KeyAttributeType::N,
    }
}

const UNITS: ProvisionedThroughput = ProvisionedThroughput {
    read_capacity_units: 5,
    write_capacity_units: 6,
};

fn throughput_settings(read: i64) -> ThroughputSettings {
    ThroughputSettings {
        on_demand: OnDemandThroughput {
            max_read_request_units: Some(read),
            max_write_request_units: None,
        },
        warm: WarmThroughput {
            read_units_per_second: Some(30_000),
            write_units_per_second: Some(20_000),
        },
    }
}

fn settings() -> TableSettings {
    TableSettings {
        stream: Some(StreamViewType::KeysOnly),
        encryption: Some(Encryption {
            enabled: true,
            kms_master_key_id: Some("arn:aws:kms:us-east-1:1:key/1".to_owned()),
        }),
        table_class: Some(TableClass::StandardInfrequentAccess),
        tags: vec![("a".to_owned(), "b".to_owned())],
        resource_policy: Some("{}".to_owned()),
        throughput: throughput_settings(7),
    }
}

fn definition(kind: IndexKind, projection: ProjectionDefinition) -> IndexDefinition {
    let element = |name: &str, key_type| KeySchemaElement {
        attribute_name: name.to_owned(),
        key_type,
    };
    IndexDefinition {
        name: index_name(),
        kind,
        key_schema: vec![element("pk", KeyType::Hash), element("sk", KeyType::Range)],
        projection,
        throughput: None,
        settings: if kind == IndexKind::Global {
            throughput_settings(8)
        } else {
            ThroughputSettings::default()
        },
        vector: None,
    }
}

fn vector() -> VectorAttribute {
    VectorAttribute {
        name: "embedding".to_owned(),
        dimensions: 1024,
        distance: DistanceFunction::Euclidean,
    }
}

fn vector_definition() -> IndexDefinition {
    let projection = ProjectionDefinition {
        projection_type: Some(ProjectionType::KeysOnly),
        non_key_attributes: None,
    };
    IndexDefinition {
        vector: Some(vector()),
        ..definition(IndexKind::Vector, projection)
    }
}

#[test]
fn changes_of_tables() {
    let names = ProjectionDefinition {
        projection_type: Some(ProjectionType::Include),
        non_key_attributes: Some(vec!["a".to_owned(), "b".to_owned()]),
    };
    let local = definition(
        IndexKind::Local,
        ProjectionDefinition {
            projection_type: Some(ProjectionType::All),
            ..Default::default()
        },
    );
    let global = definition(IndexKind::Global, names);
    let create = CreateTableRequest {
        table_name: table("Orders"),
        attribute_definitions: vec![attribute("sk"), attribute("pk")],
        key_schema: local.key_schema.clone(),
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: Some(vec![local]),
        global_indexes: Some(vec![global.clone()]),
        deletion_protection: true,
        settings: settings(),
        vector_indexes: Some(vec![vector_definition()]),
    };
    check_request(&create);
    let plain = CreateTableRequest {
        billing_mode: None,
        throughput: Some(UNITS),
        local_indexes: None,
        global_indexes: None,
        vector_indexes: None,
        deletion_protection: false,
        settings: TableSettings::default(),
        ..create
    };
    check_request(&plain);

    let change = IndexChange {
        name: index_name(),
        throughput: Some(UNITS),
        on_demand: None,
        warm: Some(settings().throughput.warm),
    };
    let updates = vec![
        IndexUpdate {
            create: Some(Box::new(global)),
            ..IndexUpdate::default()
        },
        IndexUpdate {
            update: Some(change),
            ..IndexUpdate::default()
        },
        IndexUpdate {
            delete: Some(index_name()),
            ..IndexUpdate::default()
        },
    ];
    let update = UpdateTableRequest {
        attribute_definitions: Some(vec![attribute("pk")]),
        billing_mode: Some(BillingMode::Provisioned),
        throughput: Some(UNITS),
        index_updates: Some(updates),
        vector_index_updates: Some(vec![
            IndexUpdate {
                create: Some(Box::new(vector_definition())),
                ..IndexUpdate::default()
            },
            IndexUpdate {
                delete: Some(index_name()),
                ..IndexUpdate::default()
            },
        ]),
        stream: Some(StreamSpecification {
            enabled: false,
            view_type: None,
        }),
        encryption: Some(Encryption {
            enabled: false,
            kms_master_key_id: None,
        }),
        table_class: Some(TableClass::Standard),
        deletion_protection: Some(false),
        on_demand: Some(throughput_settings(9).on_demand),
        warm: Some(throughput_settings(9).warm),
        ..UpdateTableRequest::new(table("Orders"))
    };
    check_request(&update);
    let update = UpdateTableRequest {
        stream: Some(StreamSpecification {
            enabled: true,
            view_type: Some(StreamViewType::NewImage),
        }),
        encryption: Some(Encryption {
            enabled: true,
            kms_master_key_id: None,
        }),
        ..UpdateTableRequest::new(table("Orders"))
    };
    check_request(&update);
    let delete = DeleteTableRequest::new(table("Orders"));
    check_request(&delete);
    let describe = DescribeTableRequest {
        table_name: table("Orders"),
    };
    check_request(&describe);
    let list = ListTablesRequest {
        exclusive_start_table_name: Some("Orders".to_owned()),
        limit: Some(4),
    };
    check_request(&list);
    let list = ListTablesResponse {
        table_names: vec!["Orders".to_owned()],
        last_evaluated_table_name: Some("Orders".to_owned()),
    };
    check_response(&list);
}

/// Returns a description without tags, policy, distinct partition keys and violations, which are
/// not on the wire.
fn description() -> TableDescription {
    let index = |name: &str, kind, projection| IndexSchema {
        name: IndexName::new(name).unwrap(),
        kind,
        partition: vec![attribute("pk")],
        sort: vec![attribute("day")],
        projection,
        throughput: None,
        settings: if kind == IndexKind::Global {
            throughput_settings(8)
        } else {
            ThroughputSettings::default()
        },
        vector: (kind == IndexKind::Vector).then(vector),
    };
    let state = |status, backfilling| IndexDescription {
        status,
        backfilling,
        progress: None,
        violations: 0,
        item_count: 2,
        index_size_bytes: 300,
        partition_keys: 0,
    };
    let history = ThroughputHistory {
        last_increase_ms: Some(1_700_000_000_500),
        last_decrease_ms: None,
        decreases: 0,
    };
    TableDescription {
        schema: TableSchema {
            name: table("Orders"),
            key: KeySchema {
                partition: attribute("pk"),
                sort: Some(attribute("sk")),
            },
            indexes: vec![
                index("local", IndexKind::Local, Projection::KeysOnly),
                index(
                    "global",
                    IndexKind::Global,
                    Projection::Include(vec!["a".to_owned()]),
                ),
                index("whole", IndexKind::Global, Projection::All),
                index("near", IndexKind::Vector, Projection::All),
            ],
            billing_mode: BillingMode::PayPerRequest,
            throughput: None,
            deletion_protection: true,
            settings: TableSettings {
                tags: Vec::new(),
                resource_policy: None,
                ..settings()
            },
        },
        status: TableStatus::Active,
        table_id: "5d4cbe3e-0000-4000-8000-000000000000".to_owned(),
        created_ms: 1_700_000_000_125,
        item_count: 2,
        table_size_bytes: 250,
        indexes: vec![
            state(TableStatus::Active, None),
            state(TableStatus::Active, None),
            state(TableStatus::Updating, Some(true)),
            state(TableStatus::Creating, Some(false)),
        ],
        latest_stream_label: Some("2026-01-02T03:04:05.678".to_owned()),
        control: TableControl {
            throughput: history,
            indexes: [("global".to_owned(), history)].into(),
            on_demand_since_ms: Some(1_700_000_000_250),
            class_changed_ms: Some(1_700_000_000_375),
            restored: Some(RestoreSummary {
                source_backup_arn: None,
                source_table_arn: "arn".to_owned(),
                restore_ms: 1_700_000_000_000,
                is_in_progress: false,
                failure: None,
            }),
            ..TableControl::default()
        },
        index_lag: None,
        at_ms: 1_700_000_001_000,
    }
}

#[test]
fn descriptions() {
    let on_demand = description();
    let mut provisioned = TableDescription {
        control: TableControl::default(),
        ..on_demand.clone()
    };
    provisioned.schema.billing_mode = BillingMode::Provisioned;
    provisioned.schema.throughput = Some(UNITS);
    provisioned.schema.settings = TableSettings::default();
    for index in &mut provisioned.schema.indexes {
        index.throughput = (index.kind == IndexKind::Global).then_some(UNITS);
        index.settings = ThroughputSettings::default();
    }
    let as_created = TableDescription {
        control: TableControl::default(),
        ..on_demand.clone()
    };
    for table_description in [on_demand, provisioned, as_created] {
        // `at_ms` is not on the wire.
        let table_description = TableDescription {
            at_ms: 0,
            ..table_description
        };
        check_response(&DescribeTableResponse {
            table: table_description.clone(),
        });
        check_response(&CreateTableResponse {
            table_description: table_description.clone(),
        });
        check_response(&UpdateTableResponse {
            table_description: table_description.clone(),
        });
        let going = TableDescription {
            status: TableStatus::Deleting,
            ..table_description.clone()
        };
        let deleted = document(|out| {
            encode_request(
                &DeleteTableResponse {
                    table_description: going.clone(),
                },
                out,
            )
        });
        let members = Members::of(deleted.root())
            .unwrap()
            .structure("TableDescription")
            .unwrap();
        assert_eq!(
            table_description::read_deleted(members, table_description),
            going
        );
    }
}

#[test]
fn times_to_live() {
    let specification = TimeToLiveSpecification {
        enabled: true,
        attribute_name: "ttl".to_owned(),
    };
    let request = UpdateTimeToLiveRequest {
        table_name: table("Orders"),
        specification: specification.clone(),
    };
    check_request(&request);
    let response = UpdateTimeToLiveResponse { specification };
    check_response(&response);
    let request = DescribeTimeToLiveRequest {
        table_name: table("Orders"),
    };
    check_request(&request);
    for (status, name) in [
        (TimeToLiveStatus::Enabled, Some("ttl")),
        (TimeToLiveStatus::Disabled, None),
        (TimeToLiveStatus::Enabling, Some("x")),
    ] {
        let response = DescribeTimeToLiveResponse {
            status,
            attribute_name: name.map(str::to_owned),
        };
        check_response(&response);
    }
}
