//! Round trips of requests and responses of items, batches, transactions, statements, streams.

use proptest::prelude::*;

use super::super::{Body, Context, batches, decode_response, pages};
use super::{check_request, check_response, check_response_with, document, index_name, table};
use crate::codec::items_of_tests::{item, value};
use crate::codec::json::document::Document;
use crate::codec::record::ResultRow;
use crate::model::api::common::*;
use crate::model::api::*;
use crate::model::error::{Error, RemoteError, StatementError};
use crate::model::schema::KeyType;
use crate::model::{AttributeValue, IndexName, Item};

const DETAIL: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

fn context() -> Context {
    Context::of_table("Orders", DETAIL)
}

fn consumed() -> ConsumedCapacity {
    let arm = |name: &str, units| [(name.to_owned(), units)].into();
    ConsumedCapacity {
        table: 1.5,
        global_indexes: arm("gsi", 2.0),
        local_indexes: arm("lsi", 0.5),
        vector_indexes: arm("vec", 4111.0),
    }
}

fn metrics(key: &Item) -> ItemCollectionMetrics {
    ItemCollectionMetrics {
        key: key.clone(),
        size_estimate_range_gb: [0.5, 1.5],
    }
}

fn placeholders(value: &AttributeValue) -> Placeholders {
    let names = Some([("#n".to_owned(), "a \"name\"".to_owned())].into());
    Placeholders {
        names,
        values: Some([(":v".to_owned(), value.clone())].into()),
    }
}

/// Checks a request without and with conditions of either kind; expressions come with placeholders.
fn conditions(
    value: &AttributeValue,
    is_expected: bool,
) -> Vec<(ConditionParameter, Placeholders)> {
    let listed = LegacyCondition {
        attribute: "a".to_owned(),
        comparison_operator: Some(ComparisonOperator::In),
        attribute_value_list: Some(vec![value.clone(), AttributeValue::Null]),
        ..LegacyCondition::default()
    };
    let single = LegacyCondition {
        attribute: "b".to_owned(),
        value: Some(value.clone()),
        exists: Some(true),
        ..LegacyCondition::default()
    };
    let conditions = if is_expected {
        vec![listed, single]
    } else {
        vec![listed]
    };
    let legacy = LegacyConditions {
        conditions,
        operator: Some(ConditionalOperator::Or),
    };
    vec![
        (ConditionParameter::None, Placeholders::default()),
        (
            ConditionParameter::Expression("#n = :v".to_owned()),
            placeholders(value),
        ),
        (ConditionParameter::Legacy(legacy), Placeholders::default()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn writes_of_one_item(item in item(), value in value(), flag: bool) {
        for (condition, placeholders) in conditions(&value, true) {
            let put = PutItemRequest {
                condition: condition.clone(),
                placeholders: placeholders.clone(),
                return_old_on_condition_failure: flag,
                return_values: if flag { ReturnValues::AllOld } else { ReturnValues::None },
                return_consumed_capacity: DETAIL,
                return_item_collection_metrics: flag,
                ..PutItemRequest::new(table("Orders"), item.clone())
            };
            check_request(&put);
            let delete = DeleteItemRequest {
                condition: condition.clone(),
                placeholders: placeholders.clone(),
                return_old_on_condition_failure: flag,
                return_values: put.return_values,
                ..DeleteItemRequest::new(table("Orders"), item.clone())
            };
            check_request(&delete);
            let by_attributes = matches!(condition, ConditionParameter::Legacy(_)).then(|| {
                let add = AttributeUpdate { attribute: "a".to_owned(), action: AttributeAction::Add, value: Some(value.clone()) };
                let delete = AttributeUpdate { attribute: "b".to_owned(), action: AttributeAction::Delete, value: None };
                UpdateParameter::AttributeUpdates(vec![add, delete])
            });
            let expression = placeholders.values.is_some().then(|| UpdateParameter::Expression("SET #n = :v".to_owned()));
            let update = UpdateItemRequest {
                condition,
                return_values: if flag { UpdateReturnValues::UpdatedNew } else { UpdateReturnValues::AllOld },
                ..UpdateItemRequest::new(
                    table("Orders"),
                    item.clone(),
                    by_attributes.or(expression).unwrap_or_default(),
                    placeholders,
                )
            };
            check_request(&update);
        }
    }

    /// Drops the version stored now, which is not on the wire.
    #[test]
    fn answers_to_writes_of_one_item(item in item(), has_item: bool) {
        let attributes = has_item.then(|| item.clone());
        let item_collection_metrics = has_item.then(|| metrics(&item));
        let put = PutItemResponse {
            attributes: attributes.clone(),
            consumed_capacity: consumed(),
            item_collection_metrics: item_collection_metrics.clone(),
            version: 0,
        };
        check_response(&put);
        let delete = DeleteItemResponse {
            attributes: attributes.clone(),
            consumed_capacity: consumed(),
            item_collection_metrics: item_collection_metrics.clone(),
            existed: has_item,
        };
        check_response(&delete);
        let update = UpdateItemResponse { attributes: attributes.clone(), consumed_capacity: consumed(), item_collection_metrics, version: None };
        check_response(&update);
        let get = GetItemResponse { item: attributes, consumed_capacity: consumed() };
        check_response(&get);
    }

    #[test]
    fn reads(item in item(), value in value(), flag: bool) {
        let attributes_to_get = Some(vec!["a".to_owned(), "é".to_owned()]);
        let search = SearchVectorsRequest {
            search_condition_expression: flag.then(|| "#n = :v".to_owned()),
            projection_expression: Some("#n".to_owned()),
            placeholders: placeholders(&value),
            return_consumed_capacity: DETAIL,
            ..SearchVectorsRequest::new(table("Orders"), IndexName::new("near").unwrap(), vec![value.clone()], 7)
        };
        if flag {
            check_request(&search);
        }
        check_response(&SearchVectorsResponse {
            search_results: vec![items::SearchResult { item: items::FoundItem { attributes: item.clone(), vector: None }, score: 0.5 }],
            consumed_bytes: 1024,
        });
        let get = GetItemRequest { consistent_read: flag, return_consumed_capacity: DETAIL, ..GetItemRequest::new(table("Orders"), item.clone()) };
        check_request(&get);
        let get = GetItemRequest { attributes_to_get: attributes_to_get.clone(), ..get };
        check_request(&get);
        for (filter, placeholders) in conditions(&value, false) {
            let is_legacy = placeholders.values.is_none();
            let key = LegacyCondition {
                attribute: "pk".to_owned(),
                comparison_operator: Some(ComparisonOperator::Eq),
                attribute_value_list: Some(vec![value.clone()]),
                ..LegacyCondition::default()
            };
            let query = QueryRequest {
                index_name: flag.then(index_name),
                key_condition_expression: (!is_legacy).then(|| "pk = :v".to_owned()),
                key_conditions: is_legacy.then(|| vec![key]),
                filter,
                projection_expression: (!is_legacy).then(|| "#n, b".to_owned()),
                attributes_to_get: attributes_to_get.clone().filter(|_| is_legacy),
                select: flag.then_some(Select::Count),
                limit: flag.then_some(7),
                consistent_read: flag,
                scan_index_forward: flag,
                exclusive_start_key: flag.then(|| item.clone()),
                return_consumed_capacity: DETAIL,
                ..QueryRequest::new(table("Orders"), "", placeholders.clone())
            };
            check_request(&query);
            let scan = ScanRequest {
                index_name: query.index_name,
                filter: query.filter,
                projection_expression: query.projection_expression,
                attributes_to_get: query.attributes_to_get,
                placeholders,
                select: (!flag).then_some(Select::AllProjectedAttributes),
                limit: query.limit,
                segment: flag.then_some(Segment { index: 0, total: 4 }),
                exclusive_start_key: query.exclusive_start_key,
                ..ScanRequest::new(table("Orders"))
            };
            check_request(&scan);
        }
    }

    /// Reports as scanned the items returned.
    #[test]
    fn pages(items in prop::collection::vec(item(), 0..4), has_more: bool, scanned in 4_u64..9) {
        let page = Page {
            table_name: table("Orders"),
            count: items.len() as u64,
            scanned_count: scanned,
            scanned_bytes: items.iter().map(|item| item.size() as u64).sum(),
            last_evaluated_key: items.first().filter(|_| has_more).cloned(),
            consumed_capacity: consumed(),
        };
        let mut writer = pages::PageWriter::new(None);
        items.iter().for_each(|item| writer.row(ResultRow::Item(item)));
        let body = Document::parse(writer.finish(&page, &context()).unwrap()).unwrap();
        let mut found = Vec::new();
        let read = pages::read(body.root(), &page.table_name, |_| Ok(()), &mut |row| found.push(row.to_item().unwrap()));
        assert_eq!((read.unwrap(), found), (page, items));
    }

    #[test]
    fn batches(one in item(), other in item(), flag: bool) {
        let keys = TableKeys {
            consistent_read: flag,
            projection_expression: (!flag).then(|| "#n".to_owned()),
            placeholders: Placeholders { names: (!flag).then(|| [("#n".to_owned(), "a".to_owned())].into()), values: None },
            ..TableKeys::new(table("Orders"), vec![one.clone()])
        };
        let whole = TableKeys { attributes_to_get: flag.then(|| vec!["a".to_owned()]), ..TableKeys::new(table("Other"), vec![other.clone()]) };
        let get = BatchGetItemRequest { request_items: vec![keys, whole], fault: None, return_consumed_capacity: DETAIL };
        check_request(&get);
        let page = BatchGetItemPage {
            unprocessed_keys: vec![vec![], vec![other.clone()]],
            consumed_capacity: vec![consumed(), ConsumedCapacity::default()],
        };
        let names = vec!["Orders".to_owned(), "Other".to_owned()];
        let context = Context { table_names: names.clone(), ..context() };
        let mut writer = batches::BatchWriter::new(&get, context.clone());
        writer.row(0, ResultRow::Item(&one));
        writer.row(1, ResultRow::Item(&other));
        let body = Document::parse(writer.finish(&page).unwrap()).unwrap();
        let mut found = Vec::new();
        let read = batches::read_get_response(body.root(), &get, &mut |place, row| {
            found.push((place, row.to_item().unwrap()));
            true
        });
        assert_eq!((read.unwrap(), found), (page, vec![(0, one.clone()), (1, other.clone())]));

        let requests = vec![WriteRequest::Put(one.clone()), WriteRequest::Delete(other.clone())];
        let write = BatchWriteItemRequest {
            request_items: names.iter().map(|name| TableWrites { table_name: table(name), requests: requests.clone() }).collect(),
            return_consumed_capacity: DETAIL,
            return_item_collection_metrics: flag,
        };
        check_request(&write);
        let response = BatchWriteItemResponse {
            consumed_capacity: vec![consumed(), consumed()],
            unprocessed_items: vec![vec![], requests],
            item_collection_metrics: vec![vec![metrics(&one)], vec![]],
        };
        check_response_with(
            &response,
            |it, out| it.write_body(&context, out),
            |json| batches::read_write_response(json, &write),
        );
    }

    #[test]
    fn transactions(item in item(), value in value(), flag: bool) {
        let get = TransactGet {
            projection_expression: flag.then(|| "#n".to_owned()),
            placeholders: Placeholders { names: flag.then(|| [("#n".to_owned(), "a".to_owned())].into()), values: None },
            ..TransactGet::new(table("Orders"), item.clone())
        };
        let get = TransactGetItemsRequest { transact_items: vec![get], fault: None, return_consumed_capacity: DETAIL };
        check_request(&get);
        let consumed = vec![(table("Orders"), consumed())];
        let response = TransactGetItemsResponse { responses: vec![Some(item.clone()), None], consumed_capacity: consumed.clone() };
        check_response(&response);

        let key = || item.clone();
        let actions = [
            TransactAction::ConditionCheck { key: key() },
            TransactAction::Put { item: key() },
            TransactAction::Delete { key: key() },
            TransactAction::Update { key: key(), update_expression: "SET #n = :v".to_owned() },
        ];
        let write = |action| TransactWrite {
            condition: ConditionParameter::Expression("#n = :v".to_owned()),
            placeholders: placeholders(&value),
            return_old_on_condition_failure: flag,
            ..TransactWrite::new(table("Orders"), action)
        };
        let write = TransactWriteItemsRequest {
            transact_items: actions.into_iter().map(write).collect(),
            fault: None,
            client_request_token: flag.then(|| "token".to_owned()),
            return_consumed_capacity: DETAIL,
            return_item_collection_metrics: flag,
        };
        check_request(&write);
        let response = TransactWriteItemsResponse {
            consumed_capacity: consumed,
            item_collection_metrics: vec![(table("Orders"), vec![metrics(&item)])],
            is_replay: flag,
        };
        check_response(&response);
    }

    #[test]
    fn statements(item in item(), value in value(), flag: bool) {
        let parameters = if flag { vec![value.clone()] } else { Vec::new() };
        let request = ExecuteStatementRequest {
            parameters: parameters.clone(),
            consistent_read: flag,
            limit: flag.then_some(3),
            next_token: flag.then(|| "token".to_owned()),
            return_consumed_capacity: DETAIL,
            return_old_on_condition_failure: flag,
            ..ExecuteStatementRequest::new("SELECT * FROM \"Orders\"")
        };
        check_request(&request);
        let response = ExecuteStatementResponse {
            items: vec![item.clone()],
            next_token: flag.then(|| "next".to_owned()),
            last_evaluated_key: flag.then(|| item.clone()),
            table_name: table("Orders"),
            evaluated: 0,
            consumed_capacity: consumed(),
        };
        check_response(&response);

        let one = TransactStatement { statement: "x".to_owned(), parameters: parameters.clone(), return_old_on_condition_failure: flag };
        let request =
            ExecuteTransactionRequest { statements: vec![one], client_request_token: flag.then(|| "t".to_owned()), return_consumed_capacity: DETAIL };
        check_request(&request);
        let consumed_capacity = vec![(table("Orders"), consumed())];
        let response = ExecuteTransactionResponse {
            responses: vec![None, Some(item.clone())],
            consumed_capacity: consumed_capacity.clone(),
            is_read: flag,
        };
        check_response(&response);

        let one = BatchStatement {
            statement: "x".to_owned(),
            parameters: Ok(parameters),
            consistent_read: flag,
            return_old_on_condition_failure: flag,
        };
        let request = BatchExecuteStatementRequest { statements: vec![one], return_consumed_capacity: DETAIL };
        check_request(&request);
        let outcomes = [
            Ok(Some(item.clone())),
            Ok(None),
            Err(Error::ConditionalCheckFailed { item: Some(Box::new(item)) }),
            Err(StatementError::Duplicate.into()),
            Err(Error::ResourceNotFound),
            Err(RemoteError::new("ValidationException", 400, "bad").into()),
        ];
        let member = |outcome| BatchStatementResponse { table_name: flag.then(|| table("Orders")), outcome };
        let response = BatchExecuteStatementResponse { responses: outcomes.into_iter().map(member).collect(), consumed_capacity };
        check_response(&response);
    }

    /// Rounds times of records to whole seconds.
    #[test]
    fn records(keys in item(), new_image in prop::option::of(item()), version: u64, of_service: bool) {
        let record = StreamRecord {
            event_id: "0123456789abcdef0123456789abcdef".to_owned(),
            event: if new_image.is_some() { StreamEvent::Insert } else { StreamEvent::Remove },
            origin: if of_service { ChangeOrigin::TimeToLive } else { ChangeOrigin::Client },
            sequence_number: SequenceNumber::from_version(version),
            created_ms: 1_700_000_000_000,
            view_type: StreamViewType::NewImage,
            keys,
            old_image: None,
            size_bytes: 26,
            new_image,
        };
        let response = GetRecordsResponse { records: vec![record], next_shard_iterator: of_service.then(|| "next".to_owned()) };
        check_response(&response);
    }
}

#[test]
fn streams() {
    const LABEL: &str = "2026-01-02T03:04:05.678";
    let stream = StreamName {
        table_name: table("Orders"),
        label: LABEL.to_owned(),
    };
    let shard_id = "shardId-00000001700000000000-abcdef00".to_owned();
    for position in [
        ShardPosition::TrimHorizon,
        ShardPosition::Latest,
        ShardPosition::AtSequenceNumber(SequenceNumber::from_version(7)),
        ShardPosition::AfterSequenceNumber(SequenceNumber::from_version(8)),
        ShardPosition::AtTimestamp(1_700_000_000_125),
    ] {
        let request = GetShardIteratorRequest {
            stream: stream.clone(),
            shard_id: shard_id.clone(),
            position,
        };
        check_request(&request);
    }
    let response = GetShardIteratorResponse {
        shard_iterator: "iterator".to_owned(),
    };
    check_response(&response);
    let request = GetRecordsRequest {
        shard_iterator: "iterator".to_owned(),
        limit: Some(3),
    };
    check_request(&request);

    let request = DescribeStreamRequest {
        stream: stream.clone(),
        limit: Some(2),
        exclusive_start_shard_id: Some(shard_id.clone()),
        children_of: Some(shard_id.clone()),
    };
    check_request(&request);
    let elsewhere = Context {
        home: "arn:aws:dynamodb:eu-west-1:1:".to_owned(),
        ..context()
    };
    let body = document(|out| super::super::encode(&request, &elsewhere, out));
    assert!(
        body.text()
            .starts_with(r#"{"StreamArn":"arn:aws:dynamodb:eu-west-1:1:table/Orders/stream/"#),
        "{}",
        body.text()
    );
    let shard = |parent_shard_id, ending| Shard {
        shard_id: shard_id.clone(),
        parent_shard_id,
        range: ShardRange {
            starting: Some(SequenceNumber::from_version(1)),
            ending,
        },
    };
    let response = DescribeStreamResponse {
        stream: stream.clone(),
        status: StreamStatus::Disabled,
        view_type: StreamViewType::NewAndOldImages,
        created_ms: 1_700_000_000_125,
        key_schema: vec![KeySchemaElement {
            attribute_name: "pk".to_owned(),
            key_type: KeyType::Hash,
        }],
        shards: vec![
            shard(None, Some(SequenceNumber::from_version(9))),
            shard(Some(shard_id.clone()), None),
        ],
        last_evaluated_shard_id: Some(shard_id.clone()),
    };
    check_response(&response);

    let request = ListStreamsRequest {
        table_name: Some(table("Orders")),
        limit: Some(1),
        exclusive_start: Some(stream.clone()),
    };
    check_request(&request);
    let response = ListStreamsResponse {
        streams: vec![stream.clone()],
        last_evaluated: Some(stream),
    };
    check_response(&response);
}

#[test]
fn what_is_no_answer_is_told() {
    let unreadable = |body: &str| {
        let body = Document::parse(body.as_bytes().to_vec()).unwrap();
        let decoded = decode_response::<GetItemResponse>(body.root())
            .map(|response| response.item)
            .unwrap_err();
        assert!(
            decoded
                .to_string()
                .starts_with("the answer of the service cannot be read: "),
            "{decoded}"
        );
    };
    unreadable("[]");
    unreadable(r#"{"Item":{"a":{"S":5}}}"#);
    unreadable(r#"{"Item":{"a":{"N":"x"}}}"#);
    unreadable(r#"{"Item":{"a":{}}}"#);
    unreadable(r#"{"Item":["a"]}"#);
}
