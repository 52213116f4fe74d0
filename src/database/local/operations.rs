//! The DynamoDB operations: the engine has them all. Each data operation is timed here, whatever front end it came from.

use super::LocalDatabase;
use crate::database::admin::Administration;
use crate::database::layout::Layout;
use crate::database::{BatchRows, Database, Done, Rows};
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, BatchWriteItemRequest, BatchWriteItemResponse, CreateTableRequest, CreateTableResponse,
    DeleteItemRequest, DeleteItemResponse, DeleteTableRequest, DeleteTableResponse, DescribeTableRequest, DescribeTableResponse,
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, GetItemRequest, GetItemResponse, ListTablesRequest, ListTablesResponse,
    Page, PutItemRequest, PutItemResponse, QueryRequest, ScanRequest, TransactGetItemsRequest, TransactGetItemsResponse,
    TransactWriteItemsRequest, TransactWriteItemsResponse, UpdateItemRequest, UpdateItemResponse, UpdateTimeToLiveRequest,
    UpdateTimeToLiveResponse,
};
use crate::model::layout::MeteredOperation;
use crate::model::{Error, TableName};

impl Database for LocalDatabase {
    fn administration(&self) -> Option<&dyn Administration> {
        Some(self)
    }

    fn layout(&self) -> Option<&dyn Layout> {
        Some(self)
    }

    fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        self.engine.create_table(request)
    }

    fn describe_table(&self, request: DescribeTableRequest) -> Result<DescribeTableResponse, Error> {
        self.engine.describe_table(&request)
    }

    fn list_tables(&self, request: ListTablesRequest) -> Result<ListTablesResponse, Error> {
        self.engine.list_tables(&request)
    }

    fn delete_table(&self, request: DeleteTableRequest) -> Result<DeleteTableResponse, Error> {
        self.engine.delete_table(request)
    }

    fn update_time_to_live(&self, request: UpdateTimeToLiveRequest) -> Result<UpdateTimeToLiveResponse, Error> {
        self.engine.update_time_to_live(request)
    }

    fn describe_time_to_live(&self, request: DescribeTimeToLiveRequest) -> Result<DescribeTimeToLiveResponse, Error> {
        self.engine.describe_time_to_live(&request)
    }

    fn get_item(&self, request: GetItemRequest) -> Result<GetItemResponse, Error> {
        let timer = self.engine.timer(MeteredOperation::GetItem);
        timer.end([&request.table_name], self.engine.get_item(&request), |_| None)
    }

    fn put_item_then(&self, request: PutItemRequest, done: Done<PutItemResponse>) {
        let timer = self.engine.timer(MeteredOperation::PutItem);
        let tables = vec![request.table_name.clone()];
        self.engine.put_item_then(request, timer.then(tables, done));
    }

    fn delete_item_then(&self, request: DeleteItemRequest, done: Done<DeleteItemResponse>) {
        let timer = self.engine.timer(MeteredOperation::DeleteItem);
        let tables = vec![request.table_name.clone()];
        self.engine.delete_item_then(request, timer.then(tables, done));
    }

    fn batch_get_rows(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        let timer = self.engine.timer(MeteredOperation::BatchGetItem);
        let tables = request.request_items.iter().map(|table| &table.table_name);
        timer.end(tables, self.engine.batch_get_item(request, rows), |_| None)
    }

    fn batch_write_item_then(&self, request: BatchWriteItemRequest, done: Done<BatchWriteItemResponse>) {
        let timer = self.engine.timer(MeteredOperation::BatchWriteItem);
        let tables = request.request_items.iter().map(|table| table.table_name.clone()).collect();
        self.engine.batch_write_item_then(request, timer.then(tables, done));
    }

    fn transact_get_items(&self, request: TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error> {
        {
            let timer = self.engine.timer(MeteredOperation::TransactGetItems);
            let tables = distinct(request.transact_items.iter().map(|get| &get.table_name));
            timer.end(tables, self.engine.transact_get_items(&request), |_| None)
        }
    }

    fn transact_write_items_then(&self, request: TransactWriteItemsRequest, done: Done<TransactWriteItemsResponse>) {
        let timer = self.engine.timer(MeteredOperation::TransactWriteItems);
        let tables = distinct(request.transact_items.iter().map(|write| &write.table_name)).into_iter().cloned().collect();
        self.engine.transact_write_items_then(request, timer.then(tables, done));
    }

    fn update_item_then(&self, request: UpdateItemRequest, done: Done<UpdateItemResponse>) {
        let timer = self.engine.timer(MeteredOperation::UpdateItem);
        let tables = vec![request.table_name.clone()];
        self.engine.update_item_then(request, timer.then(tables, done));
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let timer = self.engine.timer(MeteredOperation::Query);
        timer.end([&request.table_name], self.engine.query(request, rows), |page| Some(page.count))
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let timer = self.engine.timer(MeteredOperation::Scan);
        timer.end([&request.table_name], self.engine.scan(request, rows), |page| Some(page.count))
    }
}

/// Each table once.
fn distinct<'t>(names: impl Iterator<Item = &'t TableName>) -> Vec<&'t TableName> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}
