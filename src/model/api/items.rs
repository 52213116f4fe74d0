//! Requests and responses of operations on single items, in batches and in transactions
//! (docs/dynamodb.md 12, 14, 15). `declare` describes the lines of the declarations, `operation`
//! the rows. `codec/wire/items.rs`, `batches.rs` and `transactions.rs` complete their JSON form.

use super::common::{
    AttributeUpdate, ConditionParameter, ConsumedCapacity, Consumption, ItemCollectionMetrics,
    MeasuredResponse, Placeholders, Precondition, ReturnConsumedCapacity, ReturnValues,
    UpdateReturnValues, Version, measured,
};
use super::declare::{declare, operation_rows};
use crate::model::{AttributeValue, Error, IndexName, Item, TableName};

operation_rows! { $ item_operations
    Read Completed GetItem get_item(GetItemRequest) -> GetItemResponse [parsed_by(RequestParser::Read)];
    Write Completed PutItem put_item(PutItemRequest) -> PutItemResponse [parsed_by(RequestParser::Write)];
    Write Completed UpdateItem update_item(UpdateItemRequest) -> UpdateItemResponse [parsed_by(RequestParser::Write)];
    Write Completed DeleteItem delete_item(DeleteItemRequest) -> DeleteItemResponse [parsed_by(RequestParser::Write)];
    Read Charged SearchVectors search_vectors(SearchVectorsRequest) -> SearchVectorsResponse [long()];
    Write Completed BatchWriteItem batch_write_item(BatchWriteItemRequest) -> BatchWriteItemResponse;
    Read Completed TransactGetItems transact_get_items(TransactGetItemsRequest) -> TransactGetItemsResponse
        [parsed_by(RequestParser::Transaction), long()];
    Write Completed TransactWriteItems transact_write_items(TransactWriteItemsRequest) -> TransactWriteItemsResponse
        [parsed_by(RequestParser::Transaction)];
}

/// The changes of an update.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum UpdateParameter {
    /// No change: an item that does not exist is made of its key alone.
    #[default]
    None,
    /// `UpdateExpression`.
    Expression(String),
    /// In the order of the request.
    AttributeUpdates(Vec<AttributeUpdate>),
}

impl UpdateParameter {
    /// Returns the text of the expression, or `None` for other changes.
    #[must_use]
    pub fn expression(&self) -> Option<&str> {
        match self {
            Self::Expression(text) => Some(text),
            Self::None | Self::AttributeUpdates(_) => None,
        }
    }
}

declare! { $ items
    GetItemRequest = "GetItemInput" by check_get fn new(table_name: TableName, key: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        ..&[ATTRIBUTES_TO_GET],
        data table_name: TableName,
        /// The key attributes by name, as sent; the operation checks them against the table's
        /// schema.
        required key: Item,
        default consistent_read: bool,
        optional projection_expression: String,
        /// Whole top-level attributes by name; not beside a ProjectionExpression.
        later attributes_to_get: Option<Vec<String>> as AttributesToGet,
        group placeholders: Placeholders as Names,
    }

    GetItemResponse {
        /// `None` if there is no such item; an empty item if the projection selects nothing.
        optional item: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
    }

    PutItemRequest = "PutItemInput" by check_write fn new(table_name: TableName, item: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        data table_name: TableName,
        required item: Item,
        // After the item: a bad value in it is reported before a ReturnValues that only UpdateItem
        // takes.
        group return_values: ReturnValues as OldValues,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
        group condition: ConditionParameter as Condition,
        group placeholders: Placeholders as NamesAndValues,
        // Not on the wire: a client of another service sends it as a condition.
        local precondition: Option<Precondition>,
    }

    PutItemResponse {
        /// The old item, for ALL_OLD, if there was one.
        optional attributes: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
        optional item_collection_metrics: ItemCollectionMetrics,
        /// The version that is now stored; the old one if the put changed nothing.
        local version: Version,
    }

    DeleteItemRequest = "DeleteItemInput" by check_write fn new(table_name: TableName, key: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        data table_name: TableName,
        ..<OldValues as Group<ReturnValues>>::MEMBERS,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
        /// The key attributes by name, as sent.
        required key: Item,
        later return_values: ReturnValues as OldValues,
        group condition: ConditionParameter as Condition,
        group placeholders: Placeholders as NamesAndValues,
        local precondition: Option<Precondition>,
    }

    DeleteItemResponse {
        /// The old item, for ALL_OLD, if there was one.
        optional attributes: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
        optional item_collection_metrics: ItemCollectionMetrics,
        /// True if there was an item.
        later existed: bool as HadAttributes,
    }

    UpdateItemRequest = "UpdateItemInput" by check_update fn plain(table_name: TableName, key: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        data table_name: TableName,
        default return_values: UpdateReturnValues as LenientEnum,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
        /// The key attributes by name, as sent.
        required key: Item,
        later update: UpdateParameter as Update,
        group condition: ConditionParameter as Condition,
        ..&[Member::new("UpdateExpression", Shape::String)],
        group placeholders: Placeholders as NamesAndValues,
        ..&[ATTRIBUTE_UPDATES],
        local precondition: Option<Precondition>,
    }

    UpdateItemResponse {
        /// The attributes that `ReturnValues` asked for, if there are any.
        optional attributes: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
        optional item_collection_metrics: ItemCollectionMetrics,
        /// The version that is now stored, the old one if nothing changed; `None` if there is no
        /// item.
        local version: Option<Version>,
    }
}

declare! { $ searches
    /// A search of the vectors nearest to one.
    #[derive(Eq)]
    SearchVectorsRequest = "SearchVectorsInput" by check_search
        fn new(table_name: TableName, index_name: IndexName, search_vector: Vec<AttributeValue>, top_k: u32) {
        data table_name: TableName,
        required index_name: IndexName,
        /// As many numbers as the index has dimensions.
        required search_vector: Vec<AttributeValue> [LengthMin(1), LengthMax(SEARCH_NUMBERS_MAX)],
        /// 1 to 100.
        required top_k: u32 [ValueMin(1)],
        default return_consumed_capacity: ReturnConsumedCapacity,
        /// Equalities on attributes of the search schema, joined by AND.
        optional search_condition_expression: String,
        optional projection_expression: String,
        group placeholders: Placeholders as NamesAndValues,
    }

    SearchVectorsResponse {
        /// The nearest first.
        always search_results: Vec<SearchResult>,
        /// `VectorSearchRequestBytes`.
        always consumed_bytes: u64 as SearchBytes = "ConsumedCapacity",
    }

    SearchResult = "SearchResultItem" {
        required item: FoundItem,
        /// Distance or product, a 32-bit number.
        required score: f64,
    }
}

/// The projected attributes of a result; the vector only if the projection names it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FoundItem {
    pub attributes: Item,
    /// The attribute with numbers of 32 bits, which are written as such; `None` in a response that was read.
    pub vector: Option<String>,
}

impl UpdateItemRequest {
    /// Returns a plain update: no condition, no returned values.
    #[must_use]
    pub fn new(
        table_name: TableName,
        key: Item,
        update: UpdateParameter,
        placeholders: Placeholders,
    ) -> Self {
        Self {
            update,
            placeholders,
            ..Self::plain(table_name, key)
        }
    }
}

/// The items to read from one table: `KeysAndAttributes`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableKeys {
    pub table_name: TableName,
    /// The key attributes by name, as sent; no two are spelled the same.
    pub keys: Vec<Item>,
    pub consistent_read: bool,
    pub projection_expression: Option<String>,
    /// Whole top-level attributes by name; not beside a ProjectionExpression.
    pub attributes_to_get: Option<Vec<String>>,
    pub placeholders: Placeholders,
}

impl TableKeys {
    /// Returns a read of whole items.
    #[must_use]
    pub fn new(table_name: TableName, keys: Vec<Item>) -> Self {
        Self {
            table_name,
            keys,
            consistent_read: false,
            projection_expression: None,
            attributes_to_get: None,
            placeholders: Placeholders::default(),
        }
    }
}

declare! { $ batches
    #[derive(Default)]
    BatchGetItemRequest = "BatchGetItemInput" by check_get {
        /// By table, in the order sent; at most 100 keys in all.
        group request_items: Vec<TableKeys> as GetsByTable,
        /// The fault of the keys, if any: reported after the expressions were checked.
        later fault: Option<Box<Error>> as Duplicates,
        default return_consumed_capacity: ReturnConsumedCapacity,
    }

    #[derive(Default)]
    BatchWriteItemRequest = "BatchWriteItemInput" by check_write {
        default return_consumed_capacity: ReturnConsumedCapacity,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// By table, in the order sent; at most 25 requests in all.
        group request_items: Vec<TableWrites> as WritesByTable,
    }
}

/// The response of a batch beside its items. Each list has one element for each of `request_items`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchGetItemPage {
    /// Keys that were not read.
    pub unprocessed_keys: Vec<Vec<Item>>,
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BatchGetItemResponse {
    /// The items that were found, a list for each of `request_items`.
    pub responses: Vec<Vec<Item>>,
    pub page: BatchGetItemPage,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WriteRequest {
    /// The item to put.
    Put(Item),
    /// The key attributes by name, as sent.
    Delete(Item),
}

/// The writes to one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableWrites {
    pub table_name: TableName,
    pub requests: Vec<WriteRequest>,
}

/// The response of BatchWriteItem. Each list has one element for each of `request_items`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchWriteItemResponse {
    pub consumed_capacity: Vec<ConsumedCapacity>,
    /// The requests for which there was no capacity; only if throttling is simulated.
    pub unprocessed_items: Vec<Vec<WriteRequest>>,
    /// One for each item collection written to, if the request asks for them.
    pub item_collection_metrics: Vec<Vec<ItemCollectionMetrics>>,
}

declare! { $ transactions
    /// One item to read.
    TransactGet = "Get" fn new(table_name: TableName, key: Item) {
        required table_name: TableName,
        /// The key attributes by name, as sent.
        required key: Item,
        optional projection_expression: String,
        group placeholders: Placeholders as Names,
    }

    TransactGetItemsResponse {
        /// By table, in the order of first use.
        always consumed_capacity: Vec<(TableName, ConsumedCapacity)> as ReadCapacityByTable,
        /// One for each of `transact_items`; `None` if there is no such item or the projection
        /// selects nothing of it.
        always responses: Vec<Option<Item>> as List<ItemResponse>,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactGetItemsRequest {
    /// 1 to 100.
    pub transact_items: Vec<TransactGet>,
    /// The fault in the values of the read after the last of `transact_items`: reported after those
    /// were checked.
    pub fault: Option<Box<Error>>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

/// An action on one item. A key is the key attributes by name, as sent.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactAction {
    ConditionCheck {
        key: Item,
    },
    Put {
        item: Item,
    },
    Delete {
        key: Item,
    },
    Update {
        key: Item,
        update_expression: String,
    },
}

/// One action of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactWrite {
    pub table_name: TableName,
    pub action: TransactAction,
    pub precondition: Option<Precondition>,
    /// Evaluated against the item before the transaction; a ConditionCheck has one.
    pub condition: ConditionParameter,
    pub placeholders: Placeholders,
    /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
    pub return_old_on_condition_failure: bool,
}

impl TransactWrite {
    /// Returns an action without a condition.
    #[must_use]
    pub fn new(table_name: TableName, action: TransactAction) -> Self {
        Self {
            table_name,
            action,
            precondition: None,
            condition: ConditionParameter::None,
            placeholders: Placeholders::default(),
            return_old_on_condition_failure: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactWriteItemsRequest {
    /// 1 to 100.
    pub transact_items: Vec<TransactWrite>,
    /// The fault in the values of the action after the last of `transact_items`: reported after
    /// those were checked.
    pub fault: Option<Box<Error>>,
    /// A token: the same items with the same token are written once within ten minutes.
    pub client_request_token: Option<String>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// `ReturnItemCollectionMetrics` is SIZE.
    pub return_item_collection_metrics: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactWriteItemsResponse {
    /// By table, in the order of first use.
    pub consumed_capacity: Vec<(TableName, ConsumedCapacity)>,
    /// By table, one for each item collection written to, if the request asks for them.
    pub item_collection_metrics: Vec<(TableName, Vec<ItemCollectionMetrics>)>,
    /// True if the token had been used: nothing was written, and the units are those of reads.
    pub is_replay: bool,
}

/// The effect of an operation on an item that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemEffect {
    /// The item is read, or only checked.
    Read,
    /// The item becomes the one in the request.
    Put,
    Delete,
    /// The item changes in a way that the request alone does not determine.
    Update,
}

/// An item that a request names.
#[derive(Debug, Clone, Copy)]
pub struct ItemAccess<'r> {
    pub table: &'r TableName,
    /// The item, or its key alone.
    pub item: &'r Item,
    /// The effect if the operation succeeds.
    pub effect: ItemEffect,
}

impl<'r> ItemAccess<'r> {
    #[must_use]
    pub fn new(table: &'r TableName, item: &'r Item, effect: ItemEffect) -> Self {
        Self {
            table,
            item,
            effect,
        }
    }
}

impl TransactAction {
    /// Returns the item or the key of the action, and the action's effect.
    #[must_use]
    pub fn item(&self) -> (&Item, ItemEffect) {
        match self {
            Self::ConditionCheck { key } => (key, ItemEffect::Read),
            Self::Put { item } => (item, ItemEffect::Put),
            Self::Delete { key } => (key, ItemEffect::Delete),
            Self::Update { key, .. } => (key, ItemEffect::Update),
        }
    }
}

measured! {
    GetItemResponse, it => Consumption::of_table(&it.consumed_capacity, it.item.is_some().into());
    PutItemResponse, it => Consumption::of_table(&it.consumed_capacity, it.attributes.is_some().into());
    UpdateItemResponse, it => Consumption::of_table(&it.consumed_capacity, it.attributes.is_some().into());
    DeleteItemResponse, it => Consumption::of_table(&it.consumed_capacity, it.attributes.is_some().into());
    SearchVectorsResponse, it => Consumption {
        returned: vec![it.search_results.len() as u64],
        ..Consumption::default()
    };
    BatchWriteItemResponse, it => Consumption::in_order(&it.consumed_capacity, Vec::new());
    TransactGetItemsResponse, it => {
        Consumption::named(&it.consumed_capacity, it.responses.iter().map(Option::is_some))
    };
    TransactWriteItemsResponse, it => Consumption {
        is_read: it.is_replay,
        ..Consumption::named(&it.consumed_capacity, std::iter::empty())
    };
}
