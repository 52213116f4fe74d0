//! The DynamoDB operations: the engine has them all.

use super::LocalDatabase;
use crate::database::admin::Administration;
use crate::database::{BatchRows, Database, Done, Rows};
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, BatchGetItemResponse, BatchWriteItemRequest, BatchWriteItemResponse, CreateTableRequest,
    CreateTableResponse, DeleteItemRequest, DeleteItemResponse, DeleteTableRequest, DeleteTableResponse, DescribeTableRequest,
    DescribeTableResponse, DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, GetItemRequest, GetItemResponse,
    ListTablesRequest, ListTablesResponse, Page, PutItemRequest, PutItemResponse, QueryRequest, QueryResponse, ScanRequest,
    ScanResponse, Select, TransactGetItemsRequest, TransactGetItemsResponse, TransactWriteItemsRequest, TransactWriteItemsResponse,
    UpdateItemRequest, UpdateItemResponse, UpdateTimeToLiveRequest, UpdateTimeToLiveResponse,
};
use crate::model::error::StoreError;
use crate::model::{Error, Item};

impl Database for LocalDatabase {
    fn administration(&self) -> Option<&dyn Administration> {
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
        self.engine.get_item(&request)
    }

    fn put_item_then(&self, request: PutItemRequest, done: Done<PutItemResponse>) {
        self.engine.put_item_then(request, done);
    }

    fn delete_item_then(&self, request: DeleteItemRequest, done: Done<DeleteItemResponse>) {
        self.engine.delete_item_then(request, done);
    }

    fn batch_get_rows(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        self.engine.batch_get_item(request, rows)
    }

    fn batch_write_item_then(&self, request: BatchWriteItemRequest, done: Done<BatchWriteItemResponse>) {
        self.engine.batch_write_item_then(request, done);
    }

    fn transact_get_items(&self, request: TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error> {
        self.engine.transact_get_items(&request)
    }

    fn transact_write_items_then(&self, request: TransactWriteItemsRequest, done: Done<TransactWriteItemsResponse>) {
        self.engine.transact_write_items_then(request, done);
    }

    fn update_item_then(&self, request: UpdateItemRequest, done: Done<UpdateItemResponse>) {
        self.engine.update_item_then(request, done);
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.engine.query(request, rows)
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.engine.scan(request, rows)
    }

    fn batch_get_item(&self, request: &BatchGetItemRequest) -> Result<BatchGetItemResponse, Error> {
        let mut responses = vec![Vec::new(); request.request_items.len()];
        let mut failed = None;
        let page = self.engine.batch_get_item(request, &mut |place, row| match row.to_item() {
            Ok(item) => responses[place].push(item),
            Err(error) => failed = Some(error),
        })?;
        failed.map_or(Ok(BatchGetItemResponse { responses, page }), |error| Err(error.into()))
    }

    fn query(&self, request: &QueryRequest) -> Result<QueryResponse, Error> {
        let (items, page) = gather(|rows| self.engine.query(request, rows))?;
        Ok(QueryResponse { items: unless_counted(request.select, items), page })
    }

    fn scan(&self, request: &ScanRequest) -> Result<ScanResponse, Error> {
        let (items, page) = gather(|rows| self.engine.scan(request, rows))?;
        Ok(ScanResponse { items: unless_counted(request.select, items), page })
    }
}

/// Collects the rows of a page as items.
fn gather(read: impl FnOnce(&mut Rows<'_>) -> Result<Page, Error>) -> Result<(Vec<Item>, Page), Error> {
    let mut items: Result<Vec<Item>, StoreError> = Ok(Vec::new());
    let page = read(&mut |row| {
        if let Ok(list) = &mut items {
            match row.to_item() {
                Ok(item) => list.push(item),
                Err(error) => items = Err(error),
            }
        }
    })?;
    Ok((items?, page))
}

fn unless_counted(select: Option<Select>, items: Vec<Item>) -> Option<Vec<Item>> {
    (select != Some(Select::Count)).then_some(items)
}
