//! The normal form of requests, from which access patterns are counted: attribute names are in
//! place of placeholders, and `?` in place of values. Legacy parameters and PartiQL statements have
//! the form of the expressions that they stand for.
//!
//! A [`RequestPart`] borrows what a form depends on. Its hash is that of the text as sent, without
//! values, so that a form is made once for each text ([`NormalForm::of`]) and looked up after that.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::condition::{self, Condition, join};
use super::key_condition::{KeyConditionShape, KeySchemaView};
use super::literals::name_text;
use super::order::Comparator;
use super::partiql::{self, SelectStatement, Statement, WriteEffect, keys, plan};
use super::placeholders::PlaceholderScope;
use super::predicate::Predicate;
use super::projection::ProjectionPaths;
use super::read_request::{ReadRange, ReadRequest};
use super::update::{SetTerm, SetValue, Update, UpdateEffect};
use super::write::ExpressionWriter;
use super::{legacy, projection, update};
use crate::model::api::{items::item_operations, statements::statement_operations, *};
use crate::model::metrics::AccessForm;
use crate::model::{AttributeValue, DocumentPath, IndexName, Item, TableName, TableSchema};

/// The most characters of one text of a form.
const TEXT_CHARS_MAX: usize = 300;
/// The most bytes of an entity's name.
const ENTITY_BYTES_MAX: usize = 32;
/// The characters that end the name of an entity in a key.
pub const SEPARATORS: [char; 7] = ['#', '|', ':', '/', '~', '^', '$'];
/// The entity of a key that does not begin with the name of one.
const UNNAMED_ENTITY: &str = "?";

/// A part of a request that its hash leaves out: its values.
#[derive(Debug, Clone, Copy, Default)]
struct Values<T>(T);

impl<T> Hash for Values<T> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

/// A request, or an action of a batch or transaction, as far as its form depends on it. Its hash is
/// that of its texts and names; legacy parameters are hashed with their values.
#[derive(Debug, Clone, Copy, Default, Hash)]
pub struct RequestPart<'r> {
    /// The API's name of the operation on one item or page; empty for a statement.
    operation: &'static str,
    /// `None`: the statement names it.
    table: Option<&'r TableName>,
    index: Option<&'r IndexName>,
    names: Option<&'r BTreeMap<String, String>>,
    placeholders: Values<Option<&'r Placeholders>>,
    /// The keys, or the item with its key.
    keys: Values<&'r [Item]>,
    key_condition: Option<&'r str>,
    key_conditions: &'r [LegacyCondition],
    condition: Option<&'r ConditionParameter>,
    update: Option<&'r str>,
    updates: &'r [AttributeUpdate],
    projection: Option<&'r str>,
    attributes_to_get: Option<&'r [String]>,
    is_count: bool,
    pub statement: Option<&'r str>,
    parameters: Values<&'r [AttributeValue]>,
    resolved: Values<Option<&'r ReadRequest>>,
    partition: Values<Option<&'r AttributeValue>>,
}

impl<'r> RequestPart<'r> {
    fn new(operation: &'static str, table: &'r TableName) -> Self {
        Self {
            operation,
            table: Some(table),
            ..Self::default()
        }
    }

    fn on(operation: &'static str, table: &'r TableName, item: &'r Item) -> Self {
        Self {
            keys: Values(std::slice::from_ref(item)),
            ..Self::new(operation, table)
        }
    }

    fn with(self, placeholders: &'r Placeholders) -> Self {
        Self {
            names: placeholders.names.as_ref(),
            placeholders: Values(Some(placeholders)),
            ..self
        }
    }

    fn guarded(self, condition: &'r ConditionParameter, placeholders: &'r Placeholders) -> Self {
        Self {
            condition: Some(condition),
            ..self.with(placeholders)
        }
    }

    fn statement(text: &'r str, parameters: &'r [AttributeValue]) -> Self {
        Self {
            statement: Some(text),
            parameters: Values(parameters),
            ..Self::default()
        }
    }

    /// Returns the read of an entry of a table or index by its key.
    #[must_use]
    pub fn entry(
        table: &'r TableName,
        index: Option<&'r IndexName>,
        partition: &'r AttributeValue,
    ) -> Self {
        Self {
            index,
            partition: Values(Some(partition)),
            ..Self::new("GetItem", table)
        }
    }

    /// True if the hash is that of the whole form, so that the form may be kept by it.
    #[must_use]
    pub fn is_hashable(&self) -> bool {
        self.resolved.0.is_none()
    }

    /// Returns the values of placeholders by their aliases, or those of a statement's parameters.
    fn values(&self) -> impl Iterator<Item = &'r AttributeValue> {
        let placeholders = self.placeholders.0.and_then(|given| given.values.as_ref());
        let of_names = placeholders.into_iter().flat_map(BTreeMap::values);
        of_names.chain(self.parameters.0)
    }
}

/// A request with parts. Each row of the operations on items and statements needs one.
pub trait RequestParts {
    /// Returns the request in its parts: one, or each action of a batch or transaction.
    fn parts(&self) -> Vec<RequestPart<'_>>;
}

macro_rules! parts {
    ($($request:ty, $it:ident => $parts:expr;)*) => {
        $(impl RequestParts for $request {
            fn parts(&self) -> Vec<RequestPart<'_>> {
                let $it = self;
                $parts.into_iter().collect()
            }
        })*
    };
}
parts! {
    GetItemRequest, it => [RequestPart {
        projection: it.projection_expression.as_deref(),
        attributes_to_get: it.attributes_to_get.as_deref(),
        ..RequestPart::on("GetItem", &it.table_name, &it.key).with(&it.placeholders)
    }];
    PutItemRequest, it => [
        RequestPart::on("PutItem", &it.table_name, &it.item).guarded(&it.condition, &it.placeholders)
    ];
    DeleteItemRequest, it => [
        RequestPart::on("DeleteItem", &it.table_name, &it.key).guarded(&it.condition, &it.placeholders)
    ];
    UpdateItemRequest, it => [RequestPart {
        update: it.update.expression(),
        updates: match &it.update {
            UpdateParameter::AttributeUpdates(updates) => updates,
            UpdateParameter::None | UpdateParameter::Expression(_) => &[],
        },
        ..RequestPart::on("UpdateItem", &it.table_name, &it.key).guarded(&it.condition, &it.placeholders)
    }];
    QueryRequest, it => [RequestPart {
        index: it.index_name.as_ref(),
        key_condition: it.key_condition_expression.as_deref(),
        key_conditions: it.key_conditions.as_deref().unwrap_or_default(),
        projection: it.projection_expression.as_deref(),
        attributes_to_get: it.attributes_to_get.as_deref(),
        is_count: it.select == Some(Select::Count),
        ..RequestPart::new("Query", &it.table_name).guarded(&it.filter, &it.placeholders)
    }];
    ScanRequest, it => [RequestPart {
        index: it.index_name.as_ref(),
        projection: it.projection_expression.as_deref(),
        attributes_to_get: it.attributes_to_get.as_deref(),
        is_count: it.select == Some(Select::Count),
        ..RequestPart::new("Scan", &it.table_name).guarded(&it.filter, &it.placeholders)
    }];
    ReadRequest, it => [RequestPart {
        index: it.index_name.as_ref(),
        is_count: it.select == Some(Select::Count),
        resolved: Values(Some(it)),
        ..RequestPart::new(shape_of(it).map_or("Scan", |_| "Query"), &it.table_name)
    }];
    SearchVectorsRequest, it => [RequestPart {
        index: Some(&it.index_name),
        key_condition: it.search_condition_expression.as_deref(),
        projection: it.projection_expression.as_deref(),
        ..RequestPart::new("SearchVectors", &it.table_name).with(&it.placeholders)
    }];
    BatchGetItemRequest, it => it.request_items.iter().map(|of| RequestPart {
        keys: Values(&of.keys),
        projection: of.projection_expression.as_deref(),
        attributes_to_get: of.attributes_to_get.as_deref(),
        ..RequestPart::new("GetItem", &of.table_name).with(&of.placeholders)
    });
    BatchWriteItemRequest, it => it.request_items.iter().flat_map(|of| {
        of.requests.iter().map(|write| match write {
            WriteRequest::Put(item) => RequestPart::on("PutItem", &of.table_name, item),
            WriteRequest::Delete(key) => RequestPart::on("DeleteItem", &of.table_name, key),
        })
    });
    TransactGetItemsRequest, it => it.transact_items.iter().map(|get| RequestPart {
        projection: get.projection_expression.as_deref(),
        ..RequestPart::on("GetItem", &get.table_name, &get.key).with(&get.placeholders)
    });
    TransactWriteItemsRequest, it => it.transact_items.iter().map(|write| {
        let (operation, item, update) = match &write.action {
            TransactAction::ConditionCheck { key } => ("ConditionCheck", key, None),
            TransactAction::Put { item } => ("PutItem", item, None),
            TransactAction::Delete { key } => ("DeleteItem", key, None),
            TransactAction::Update { key, update_expression } => ("UpdateItem", key, Some(&**update_expression)),
        };
        let part = RequestPart::on(operation, &write.table_name, item);
        RequestPart { update, ..part.guarded(&write.condition, &write.placeholders) }
    });
    ExecuteStatementRequest, it => [RequestPart::statement(&it.statement, &it.parameters)];
    BatchExecuteStatementRequest, it => it.statements.iter().map(|one| {
        RequestPart::statement(&one.statement, one.parameters.as_deref().unwrap_or_default())
    });
    ExecuteTransactionRequest, it => it.statements.iter().map(|one| {
        RequestPart::statement(&one.statement, &one.parameters)
    });
}

macro_rules! parts_of_call {
    ($($kind:ident $remote:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        /// Returns an operation on items or statements in its parts; another has none.
        #[must_use]
        pub fn parts(call: &Call) -> Vec<RequestPart<'_>> {
            match call {
                $(Call::$name(request, _) => request.parts(),)*
                _ => Vec::new(),
            }
        }
    };
}
item_operations! { [[statement_operations] [parts_of_call]] }

/// Returns the items that parts name.
#[must_use]
pub fn accesses<'r>(parts: &[RequestPart<'r>]) -> Vec<ItemAccess<'r>> {
    let of_part = |part: &RequestPart<'r>| {
        let effect = match part.operation {
            "PutItem" => ItemEffect::Put,
            "DeleteItem" => ItemEffect::Delete,
            "UpdateItem" => ItemEffect::Update,
            _ => ItemEffect::Read,
        };
        let items = part.table.into_iter().zip(std::iter::repeat(part.keys.0));
        items.flat_map(move |(table, items)| {
            items
                .iter()
                .map(move |item| ItemAccess::new(table, item, effect))
        })
    };
    parts.iter().flat_map(of_part).collect()
}

/// The normal form of a part, and the place of the partition key's value in parts of that form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalForm {
    pub table: TableName,
    pub form: Arc<AccessForm>,
    /// One, several values of an IN, or none if it is not known.
    partition: Vec<PartitionSource>,
    /// False if a value of the partition key may be elsewhere in the next part of this text.
    pub is_cacheable: bool,
}

/// The place of the partition key's value in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PartitionSource {
    /// The key attribute, or the condition on it.
    Attribute(String),
    /// The number of the value.
    Value(usize),
    /// The entity of a value in the text.
    Literal(String),
}

/// Returns the name of the entity that a partition key begins with: the letters before the first
/// separator, or a key that is one word in capitals; `?` for another key.
#[must_use]
pub fn entity_of(key: &AttributeValue) -> &str {
    let AttributeValue::S(text) = key else {
        return UNNAMED_ENTITY;
    };
    let head: &str = text.get(..ENTITY_BYTES_MAX + 1).unwrap_or(text);
    let is_word = |word: &str, is_letter: fn(char) -> bool| {
        !word.is_empty()
            && word.len() <= ENTITY_BYTES_MAX
            && word
                .chars()
                .all(|letter| is_letter(letter) || matches!(letter, '_' | '-'))
    };
    match head.split_once(SEPARATORS) {
        Some((word, _)) if is_word(word, char::is_alphabetic) => word,
        None if is_word(head, |letter| letter.is_ascii_uppercase()) => head,
        _ => UNNAMED_ENTITY,
    }
}

impl NormalForm {
    /// Makes the form of a part; `schema_of` gives the definition of a table. Returns `None` for a
    /// request that the operation refuses.
    pub fn of<S: AsRef<TableSchema>>(
        part: &RequestPart<'_>,
        schema_of: impl FnOnce(&TableName) -> Option<S>,
    ) -> Option<Self> {
        if let Some(text) = part.statement {
            let statement = partiql::read(text, part.parameters.0).ok()?;
            let table = match &statement {
                Statement::Select(select) => &select.table,
                Statement::Write(write) => &write.table,
            };
            let schema = schema_of(table)?;
            return FormMaker::new(schema.as_ref(), None)?.of_statement(part, &statement);
        }
        let schema = schema_of(part.table?)?;
        let maker = FormMaker::new(schema.as_ref(), part.index.map(IndexName::as_str))?;
        match part.resolved.0 {
            Some(request) => maker.of_resolved(part, request),
            None => maker.of_parameters(part),
        }
    }

    /// True if its units are those of reads.
    #[must_use]
    pub fn reads(&self) -> bool {
        matches!(&*self.form.operation, "GetItem" | "Query" | "Scan")
    }

    /// Returns the entities that a part of this form names; one may come twice.
    #[must_use]
    pub fn entities<'p>(&'p self, part: &RequestPart<'p>) -> Vec<&'p str> {
        let of_source = |source: &'p PartitionSource| match source {
            PartitionSource::Literal(entity) => vec![&**entity],
            PartitionSource::Value(place) => {
                let value = part.values().nth(*place);
                value.map(entity_of).into_iter().collect()
            }
            PartitionSource::Attribute(name) => {
                let of_keys = part.keys.0.iter().filter_map(|key| key.get(name));
                let mut conditions = part.key_conditions.iter();
                let of_condition = conditions
                    .find(|condition| condition.attribute == *name)
                    .and_then(|condition| condition.attribute_value_list.as_ref()?.first())
                    .or_else(|| shape_of(part.resolved.0?)?.equality(name));
                let all = of_keys.chain(of_condition).chain(part.partition.0);
                all.map(entity_of).collect()
            }
        };
        self.partition.iter().flat_map(of_source).collect()
    }

    /// Returns the form as an action of a batch or transaction.
    #[must_use]
    pub fn action(&self) -> String {
        let form = &self.form;
        let parts = [
            (" ", &form.actions),
            (" if ", &form.condition),
            (" of ", &form.projection),
        ];
        // A SELECT in a batch reads one item.
        let action = form.operation.replace("Query", "Get");
        let mut action = action.trim_end_matches("Item").to_owned();
        for (word, text) in parts {
            if let Some(text) = text {
                action.push_str(word);
                action.push_str(text);
            }
        }
        action
    }
}

fn shape_of(request: &ReadRequest) -> Option<&KeyConditionShape> {
    match &request.range {
        ReadRange::Query { condition, .. } => Some(condition),
        ReadRange::Scan { .. } => None,
    }
}

/// Cuts a text of a form.
#[must_use]
pub fn cut(text: String) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

struct FormMaker<'s> {
    table: &'s TableSchema,
    index: Option<String>,
    key: KeySchemaView<'s>,
}

impl<'s> FormMaker<'s> {
    fn new(table: &'s TableSchema, index: Option<&str>) -> Option<Self> {
        let of_index = index.map(|name| table.index(name).ok_or(()));
        let of_index = of_index.transpose().ok()?;
        Some(Self {
            table,
            index: index.map(ToOwned::to_owned),
            key: KeySchemaView::for_index(table, of_index),
        })
    }

    fn partition(&self) -> &'s str {
        let first = self.key.partition.first();
        first.map_or("", |attribute| &attribute.name)
    }

    fn form(
        self,
        operation: &str,
        form: AccessForm,
        partition: Vec<PartitionSource>,
    ) -> NormalForm {
        let text = |text: Option<String>| text.filter(|text| !text.is_empty()).map(cut);
        NormalForm {
            table: self.table.name.clone(),
            form: Arc::new(AccessForm {
                operation: operation.to_owned(),
                index: self.index,
                key_condition: text(form.key_condition),
                condition: text(form.condition),
                actions: text(form.actions),
                projection: text(form.projection),
            }),
            partition,
            is_cacheable: true,
        }
    }

    /// Writes the whole key as a condition, unless the request has none, or none beside its item.
    fn whole_key(&self, operation: &str) -> Option<String> {
        let names = self
            .key
            .attributes()
            .map(|key| format!("{} = ?", name_text(&key.name)));
        (!["PutItem", "Scan"].contains(&operation)).then(|| names.collect::<Vec<_>>().join(" AND "))
    }

    /// Writes a key condition in the order of the key.
    fn key_condition(&self, shape: &KeyConditionShape) -> Option<String> {
        let mut parts: Vec<_> = shape.conditions().collect();
        let place = |name: &str| self.key.attributes().position(|key| key.name == name);
        parts.sort_by_key(|(name, _)| place(name));
        let parts = parts
            .into_iter()
            .map(|(name, range)| written(&range?.condition(name)));
        Some(parts.collect::<Option<Vec<_>>>()?.join(" AND "))
    }

    /// Writes the resolved expressions of a part.
    fn texts(
        &self,
        part: &RequestPart<'_>,
        shape: Option<&KeyConditionShape>,
        condition: Option<&Condition>,
        update: Option<&Update>,
        paths: Option<&ProjectionPaths>,
    ) -> Option<AccessForm> {
        Some(AccessForm {
            key_condition: match part.operation {
                "Query" => Some(self.key_condition(shape?)?),
                operation => self.whole_key(operation),
            },
            condition: condition.and_then(written),
            actions: update.map(update_text),
            projection: match paths {
                _ if part.is_count => Some(COUNT.to_owned()),
                Some(paths) => Some(ExpressionWriter::normal().projection(paths)),
                None => part.attributes_to_get.map(|names| {
                    let names: Vec<_> = names.iter().map(|name| name_text(name)).collect();
                    names.join(", ")
                }),
            },
            ..AccessForm::default()
        })
    }

    fn of_resolved(self, part: &RequestPart<'_>, request: &ReadRequest) -> Option<NormalForm> {
        let filter = request.filter.as_ref().map(|filter| &filter.condition);
        let paths = request.projection.as_ref();
        let form = self.texts(part, shape_of(request), filter, None, paths)?;
        let partition = PartitionSource::Attribute(self.partition().to_owned());
        Some(self.form(part.operation, form, vec![partition]))
    }

    fn of_parameters(self, part: &RequestPart<'_>) -> Option<NormalForm> {
        let none = Placeholders::default();
        let scope = &mut PlaceholderScope::new(part.placeholders.0.unwrap_or(&none));
        let shape = match (part.operation, part.key_condition) {
            ("Query", Some(text)) => Some(KeyConditionShape::parse(text, scope).ok()?),
            ("Query", None) => Some(KeyConditionShape::from_legacy(part.key_conditions).ok()?),
            _ => None,
        };
        let condition = match part.condition {
            Some(ConditionParameter::Expression(text)) => Some(condition::parse(text, scope).ok()?),
            Some(ConditionParameter::Legacy(legacy)) => legacy::condition(legacy).ok()?,
            Some(ConditionParameter::None) | None => None,
        };
        let changes = match part.update {
            Some(text) => Some(update::parse(text, scope).ok()?),
            None if part.updates.is_empty() => None,
            None => Some(legacy::update(part.updates).ok()?),
        };
        let paths = part.projection.map(|text| projection::parse(text, scope));
        let paths = paths.transpose().ok()?;
        let (shape, condition) = (shape.as_ref(), condition.as_ref());
        let form = self.texts(part, shape, condition, changes.as_ref(), paths.as_ref())?;
        let name = self.partition();
        let value = shape.filter(|_| part.key_condition.is_some());
        if let Some(value) = value.and_then(|shape| shape.equality(name)) {
            return Some(self.of_values(part, form, &[value]));
        }
        let partition = match part.operation {
            "Scan" => Vec::new(),
            _ => vec![PartitionSource::Attribute(name.to_owned())],
        };
        Some(self.form(part.operation, form, partition))
    }

    fn of_statement(self, part: &RequestPart<'_>, statement: &Statement) -> Option<NormalForm> {
        let write = match statement {
            Statement::Select(select) => {
                return Self::new(self.table, select.index.as_deref())?.of_select(part, select);
            }
            Statement::Write(write) => &write.effect,
        };
        let key = &self.table.key;
        let name = self.partition();
        let (operation, condition, update) = match write {
            WriteEffect::Insert(item) => {
                let form = AccessForm {
                    condition: Some(format!("attribute_not_exists({})", name_text(name))),
                    ..AccessForm::default()
                };
                let part = RequestPart {
                    operation: "PutItem",
                    ..*part
                };
                return Some(self.of_values(&part, form, item.get(name).as_slice()));
            }
            WriteEffect::Update {
                update, condition, ..
            } => ("UpdateItem", condition, Some(update)),
            WriteEffect::Delete { condition, .. } => ("DeleteItem", condition, None),
            WriteEffect::Exists { condition } => ("ConditionCheck", condition, None),
        };
        let named = match operation {
            "ConditionCheck" => keys::of_exists(condition.as_ref(), key),
            _ => keys::of_write(condition.as_ref(), key),
        };
        let named = named.ok()?;
        let part = RequestPart { operation, ..*part };
        let form = self.texts(&part, None, named.residual.as_ref(), update, None)?;
        Some(self.of_values(&part, form, named.key.get(name).as_slice()))
    }

    fn of_select(self, part: &RequestPart<'_>, select: &SelectStatement) -> Option<NormalForm> {
        let columns = select.columns().ok()?.map(|columns| {
            let paths = columns.iter().map(|column| path_text(&column.path));
            paths.collect::<Vec<_>>().join(", ")
        });
        let plan = plan::plan(select.condition.as_ref(), self.key).ok()?;
        let (operation, residual) = match &plan {
            Some(plan) => ("Query", plan.residual.as_ref()),
            None => ("Scan", select.condition.as_ref()),
        };
        let all = select.condition.iter().flat_map(Condition::conjuncts);
        let filters = residual.into_iter().flat_map(Condition::conjuncts);
        let (mut all, filters): (Vec<_>, Vec<_>) = (all.collect(), filters.collect());
        all.retain(|part| !filters.contains(part));
        let name = self.partition();
        let place = |part: &Condition| {
            let (name, ..) = part.as_attribute_test()?;
            self.key.attributes().position(|key| key.name == name)
        };
        all.sort_by_key(|part| place(part));
        let tests = all.iter().filter_map(|part| part.as_attribute_test());
        let mut values = tests.filter_map(|(of, predicate, values)| {
            let is_value = matches!(
                predicate,
                Predicate::In | Predicate::Compare(Comparator::Equal)
            );
            (of == name && is_value).then_some(values)
        });
        let values = values.next().unwrap_or_default();
        let text = |parts: &[&Condition]| {
            let parts = parts.iter().map(|part| (*part).clone()).collect();
            join(parts, Condition::And).as_ref().and_then(written)
        };
        let form = AccessForm {
            key_condition: text(&all),
            condition: text(&filters),
            projection: columns,
            ..AccessForm::default()
        };
        let part = RequestPart { operation, ..*part };
        Some(self.of_values(&part, form, &values))
    }

    /// Makes the form of a part with these values of the partition key.
    fn of_values(
        self,
        part: &RequestPart<'_>,
        form: AccessForm,
        values: &[&AttributeValue],
    ) -> NormalForm {
        let mut is_cacheable = true;
        let sources = values.iter().map(|value| {
            let given = part.values().enumerate();
            let mut equal = given.filter_map(|(at, other)| (other == *value).then_some(at));
            let Some(place) = equal.next() else {
                return PartitionSource::Literal(entity_of(value).to_owned());
            };
            is_cacheable &= equal.next().is_none();
            PartitionSource::Value(place)
        });
        let partition = sources.collect();
        NormalForm {
            is_cacheable,
            ..self.form(part.operation, form, partition)
        }
    }
}

/// The projection of a request for the number of items alone.
const COUNT: &str = "COUNT";

/// Writes a condition without its values.
fn written(condition: &Condition) -> Option<String> {
    ExpressionWriter::normal().condition(condition).ok()
}

fn path_text(path: &DocumentPath) -> String {
    ExpressionWriter::normal().path(path)
}

/// Writes an update without its values, in the order of the clauses.
fn update_text(update: &Update) -> String {
    let mut clauses = ["SET", "REMOVE", "ADD", "DELETE"].map(|word| (word, Vec::new()));
    for action in update.actions() {
        let path = path_text(&action.path);
        let (clause, text) = match &action.effect {
            UpdateEffect::Set(value) => (0, format!("{path} = {}", set_text(value))),
            UpdateEffect::Remove => (1, path),
            UpdateEffect::Add(_) => (2, format!("{path} ?")),
            UpdateEffect::Delete(_) => (3, format!("{path} ?")),
        };
        clauses[clause].1.push(text);
    }
    let clauses = clauses.iter().filter(|(_, texts)| !texts.is_empty());
    let clauses = clauses.map(|(word, texts)| format!("{word} {}", texts.join(", ")));
    clauses.collect::<Vec<_>>().join(" ")
}

fn set_text(value: &SetValue) -> String {
    match value {
        SetValue::Term(term) => term_text(term),
        SetValue::Plus(left, right) => format!("{} + {}", term_text(left), term_text(right)),
        SetValue::Minus(left, right) => format!("{} - {}", term_text(left), term_text(right)),
    }
}

fn term_text(term: &SetTerm) -> String {
    match term {
        SetTerm::Path(path) => path_text(path),
        SetTerm::Value(_) => "?".to_owned(),
        SetTerm::IfNotExists(path, term) => {
            format!("if_not_exists({}, {})", path_text(path), term_text(term))
        }
        SetTerm::ListAppend(left, right) => {
            format!("list_append({}, {})", term_text(left), term_text(right))
        }
    }
}
