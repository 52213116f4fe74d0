//! The operations that the client cannot send and decode by their declarations alone (marked `Own`
//! in the table of operations): one function each, under the name of its method in `Database`.

use super::{Client, check_fault};
use crate::codec::json::document::Json;
use crate::codec::json::edit;
use crate::codec::wire::items::RETRIED;
use crate::codec::wire::{self, batches, response, table_description};
use crate::database::prelude::*;
use crate::database::remote::shards::{self, Streams};
use crate::model::api::*;
use crate::model::error::{InUseError, RemoteCause, ValueError};
use crate::model::metrics::MeteredOperation;

/// The error of a request with a precondition.
const PRECONDITION: Error = Error::Unavailable(
    "another service knows no versions of items: a precondition must become a condition",
);

fn check_precondition(precondition: Option<Precondition>) -> Result<(), Error> {
    if precondition.is_some() {
        Err(PRECONDITION)
    } else {
        Ok(())
    }
}

pub fn create_table(
    client: &Client,
    request: CreateTableRequest,
) -> Result<CreateTableResponse, Error> {
    let answer = client.call_table(
        "CreateTable",
        &request,
        &request.table_name,
        "TableDescription",
    );
    answer
        .map(|table_description| CreateTableResponse { table_description })
        .map_err(|error| match error {
            // Each service has its own text for this error.
            Error::Remote(remote) if remote.cause() == RemoteCause::InUse => {
                Error::TableAlreadyExists(request.table_name.to_string())
            }
            error => error,
        })
}

pub fn describe_table(
    client: &Client,
    request: DescribeTableRequest,
) -> Result<DescribeTableResponse, Error> {
    let table = client.call_table("DescribeTable", &request, &request.table_name, "Table")?;
    Ok(DescribeTableResponse { table })
}

pub fn list_tables(
    client: &Client,
    request: ListTablesRequest,
) -> Result<ListTablesResponse, Error> {
    let page: ListTablesResponse = client.call_declared("ListTables", &request)?;
    if let Some(last) = &page.last_evaluated_table_name {
        client.shared.cycles.record_page(
            request.exclusive_start_table_name.map(String::into_bytes),
            last.as_bytes(),
        )?;
    }
    Ok(page)
}

pub fn delete_table(
    client: &Client,
    request: DeleteTableRequest,
) -> Result<DeleteTableResponse, Error> {
    // The answer has neither keys nor indexes, so the table is described first.
    let before = describe_table(
        client,
        DescribeTableRequest {
            table_name: request.table_name.clone(),
        },
    )?
    .table;
    // Not part of the API: the check is a separate read.
    if request.only_if_empty {
        check_empty(client, &request.table_name)?;
    }
    let table_description = client.call(
        "DeleteTable",
        |out| wire::encode_request(&request, out),
        |json| {
            Ok(table_description::read_deleted(
                response::structure(response::members(json)?, "TableDescription")?,
                before,
            ))
        },
    )?;
    Ok(DeleteTableResponse { table_description })
}

pub fn get_item(client: &Client, request: GetItemRequest) -> Result<GetItemResponse, Error> {
    let is_whole = request.projection_expression.is_none() && request.attributes_to_get.is_none();
    let answer: GetItemResponse = client.call_declared("GetItem", &request)?;
    answer
        .item
        .iter()
        .try_for_each(|item| response::check_key(item, &request.key, is_whole))?;
    Ok(answer)
}

pub fn delete_item(
    client: &Client,
    request: DeleteItemRequest,
) -> Result<DeleteItemResponse, Error> {
    check_precondition(request.precondition)?;
    let is_asked = request.return_values == ReturnValues::AllOld;
    // The returned old attributes show if there was an item, and cost nothing.
    let request = DeleteItemRequest {
        return_values: ReturnValues::AllOld,
        ..request
    };
    let answer: DeleteItemResponse = client.call_declared("DeleteItem", &request)?;
    Ok(DeleteItemResponse {
        attributes: answer.attributes.filter(|_| is_asked),
        ..answer
    })
}

pub fn update_item(
    client: &Client,
    request: UpdateItemRequest,
) -> Result<UpdateItemResponse, Error> {
    check_precondition(request.precondition)?;
    let is_whole = request.return_values == UpdateReturnValues::AllNew;
    let answer: UpdateItemResponse = client.call_declared("UpdateItem", &request)?;
    answer
        .attributes
        .iter()
        .try_for_each(|item| response::check_key(item, &request.key, is_whole))?;
    Ok(answer)
}

pub fn batch_write_item(
    client: &Client,
    request: BatchWriteItemRequest,
) -> Result<BatchWriteItemResponse, Error> {
    client.call(
        "BatchWriteItem",
        |out| wire::encode_request(&request, out),
        |json| batches::read_write_response(json, &request),
    )
}

pub fn transact_get_items(
    client: &Client,
    request: TransactGetItemsRequest,
) -> Result<TransactGetItemsResponse, Error> {
    check_fault(request.fault.clone())?;
    let answer: TransactGetItemsResponse = client.call_declared("TransactGetItems", &request)?;
    // Responses have no keys of their own when an item is missing: only their order relates them to
    // the request.
    if answer.responses.len() != request.transact_items.len() {
        return Err(response::unreadable(
            "it has not one response for each item",
        ));
    }
    for (get, item) in request.transact_items.iter().zip(&answer.responses) {
        item.iter().try_for_each(|item| {
            response::check_key(item, &get.key, get.projection_expression.is_none())
        })?;
    }
    Ok(answer)
}

pub fn transact_write_items(
    client: &Client,
    request: TransactWriteItemsRequest,
) -> Result<TransactWriteItemsResponse, Error> {
    check_fault(request.fault.clone())?;
    request
        .transact_items
        .iter()
        .try_for_each(|write| check_precondition(write.precondition))?;
    client.call_declared("TransactWriteItems", &request)
}

pub fn update_table(
    client: &Client,
    request: UpdateTableRequest,
) -> Result<UpdateTableResponse, Error> {
    if request.has_replicas {
        return Err(Error::Unavailable(
            "replicas are not changed through a remote mount; use the service's own tools for them",
        ));
    }
    let table_description = client.call_table(
        "UpdateTable",
        &request,
        &request.table_name,
        "TableDescription",
    )?;
    Ok(UpdateTableResponse { table_description })
}

pub fn list_streams(
    client: &Client,
    request: ListStreamsRequest,
) -> Result<ListStreamsResponse, Error> {
    // A start ARN must name the service's own partition, region and account.
    let home = request
        .exclusive_start
        .as_ref()
        .map(|stream| client.arn_prefix(&stream.table_name))
        .transpose()?
        .unwrap_or_default();
    client.call(
        "ListStreams",
        |out| {
            wire::encode(
                &request,
                &wire::Context {
                    home,
                    ..wire::Context::PLAIN
                },
                out,
            )
        },
        |json| {
            let first = json
                .get("Streams")
                .and_then(Json::as_list)
                .and_then(|mut streams| streams.next());
            first
                .into_iter()
                .for_each(|stream| client.learn_arn_prefix(stream, "StreamArn"));
            wire::decode_response(json)
        },
    )
}

pub fn batch_execute_statement(
    client: &Client,
    request: BatchExecuteStatementRequest,
) -> Result<BatchExecuteStatementResponse, Error> {
    let faults: Vec<_> = request
        .statements
        .iter()
        .map(|one| one.parameters.as_ref().err().cloned())
        .collect();
    // A statement with bad parameters fails by itself, and cannot be sent.
    let statements: Vec<_> = request
        .statements
        .into_iter()
        .filter(|one| one.parameters.is_ok())
        .collect();
    let request = BatchExecuteStatementRequest {
        statements,
        ..request
    };
    let answer = match request.statements.len() {
        // The service refuses an empty list of statements, so nothing is sent.
        0 => BatchExecuteStatementResponse {
            responses: Vec::new(),
            consumed_capacity: Vec::new(),
        },
        _ => client.call_declared("BatchExecuteStatement", &request)?,
    };
    if answer.responses.len() != request.statements.len() {
        return Err(response::unreadable(
            "it has not one response for each statement",
        ));
    }
    let mut sent = answer.responses.into_iter();
    let of = |fault: Option<ValueError>| match fault {
        Some(fault) => Some(BatchStatementResponse {
            table_name: None,
            outcome: Err(fault.into()),
        }),
        None => sent.next(),
    };
    Ok(BatchExecuteStatementResponse {
        responses: faults.into_iter().filter_map(of).collect(),
        ..answer
    })
}

/// Sends a request verbatim. It asks for the consumed capacity, which is removed from the answer if
/// the caller did not ask.
pub fn pass(client: &Client, request: VerbatimRequest) -> Result<Vec<u8>, Error> {
    let VerbatimRequest { operation, body } = &request;
    // Other operations have no such member, and would be refused with it.
    let asking = if MeteredOperation::named(operation).is_some() {
        edit::with_member(body, "ReturnConsumedCapacity", "INDEXES")
    } else {
        None
    };
    let answer = client.shared.transport.call(
        &client.caller,
        operation,
        asking.as_deref().unwrap_or(body),
    )?;
    // Some operations answer with an empty body.
    if answer.bytes() > 0 && !answer.is_json() {
        return Err(response::unreadable("it is no JSON"));
    }
    let mut text = answer.into_text();
    if asking.is_some() {
        text = edit::without_member(&text, "ConsumedCapacity");
    }
    // The mark of the retry policy is for the typed client; a verbatim answer must not show it.
    let is_marked =
        *operation == "DeleteItem" && memchr::memmem::find(&text, RETRIED.as_bytes()).is_some();
    Ok(if is_marked {
        edit::without_member(&text, RETRIED)
    } else {
        text
    })
}

/// Refuses to delete a table that has an item. An item that is put meanwhile is deleted with the
/// table: the service has no such condition.
fn check_empty(client: &Client, table: &TableName) -> Result<(), Error> {
    let look = ScanRequest {
        limit: Some(1),
        consistent_read: true,
        ..ScanRequest::new(table.clone())
    };
    let page = client.scan_rows(&look, &mut |_| {})?;
    // An empty page with a continuation does not prove that the table is empty.
    let is_empty = page.scanned_count == 0 && page.last_evaluated_key.is_none();
    if is_empty {
        Ok(())
    } else {
        Err(InUseError::HasItems(table.to_string()).into())
    }
}

pub fn put_item(client: &Client, request: PutItemRequest) -> Result<PutItemResponse, Error> {
    check_precondition(request.precondition)?;
    client.call_declared("PutItem", &request)
}

pub fn get_records(
    client: &Client,
    request: GetRecordsRequest,
) -> Result<GetRecordsResponse, Error> {
    shards::combined_records(&ServiceStreams(client), request)
}

pub fn get_shard_iterator(
    client: &Client,
    request: GetShardIteratorRequest,
) -> Result<GetShardIteratorResponse, Error> {
    shards::combined_iterator(&ServiceStreams(client), request)
}

pub fn describe_stream(
    client: &Client,
    request: DescribeStreamRequest,
) -> Result<DescribeStreamResponse, Error> {
    shards::describe(&ServiceStreams(client), &request)
}

/// Streams with the real shards of the service.
struct ServiceStreams<'c>(&'c Client);

impl Streams for ServiceStreams<'_> {
    fn describe_stream(
        &self,
        request: DescribeStreamRequest,
    ) -> Result<DescribeStreamResponse, Error> {
        self.0
            .call_of_stream("DescribeStream", &request.stream, &request)
    }

    fn get_shard_iterator(
        &self,
        request: GetShardIteratorRequest,
    ) -> Result<GetShardIteratorResponse, Error> {
        self.0
            .call_of_stream("GetShardIterator", &request.stream, &request)
    }

    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        self.0.call_declared("GetRecords", &request)
    }
}
