//! The name that a report gives to a stored entry: its key attributes. They are read from the
//! entry's record; if that is damaged, from the stored key and the item collection. A part of
//! `engine::check`.

use super::report::key_text;
use crate::codec::{digest::hex, key};
use crate::engine::{
    base::counters::CollectionRecord, catalog::damage::owner_of, prelude::*, runtime::prelude::*,
};
use crate::expr::KeySchemaView;
use crate::model::KeyAttribute;

/// Returns the key attributes of an entry of a table or of one of its indexes as plain JSON. `key`
/// is its stored key, `bytes` its stored record, if there is one. The text is the stored key in
/// hexadecimal digits if the attributes can be read nowhere.
pub fn entry_text(
    view: &ReadView<'_>,
    table: &TableEntry,
    index: Option<&IndexSchema>,
    key: &[u8],
    bytes: Option<&[u8]>,
) -> String {
    let named = EntryAddress::parse(key).and_then(|address| {
        let mut schema = KeySchemaView::for_index(&table.schema, index);
        schema.sort = index.map_or(schema.sort, IndexSchema::order);
        bytes
            .and_then(|bytes| from_record(schema, &address, bytes))
            .or_else(|| from_address(view, schema, &address))
    });
    named.map_or_else(|| stored_key(key), |item| key_text(&item))
}

/// Returns the partition key attributes of an item collection as plain JSON, or the stored key of
/// the collection if they cannot be read.
pub fn collection_text(
    table: &TableEntry,
    index: Option<&IndexSchema>,
    key: &[u8],
    bytes: &[u8],
) -> String {
    partition_of(KeySchemaView::for_index(&table.schema, index), bytes)
        .map_or_else(|| stored_key(key), |item| key_text(&item))
}

/// Returns the name of what is stored beside the items: with its table or index, if the catalog has
/// it.
pub fn side_text(read: &dyn Read, key: &[u8]) -> String {
    let of = |source: SourceId| {
        owner_of(read, source).unwrap_or_else(|| format!("the source {}", source.0))
    };
    match StoreKey::parse(key) {
        Some(StoreKey::Trash(source, _, name)) => {
            format!("the file {name:?} in the trash of {}", of(source))
        }
        Some(StoreKey::Counted(source, ..)) => format!("the counted units of {}", of(source)),
        Some(StoreKey::Partitions(source)) => format!("the partitions of {}", of(source)),
        Some(StoreKey::Token(token) | StoreKey::TokenExpiry(_, token)) => {
            format!("the client request token {token:?}")
        }
        _ => stored_key(key),
    }
}

/// Returns the text for an entry of which only the stored key is known.
pub fn stored_key(key: &[u8]) -> String {
    format!("the entry with the stored key {}", hex(key))
}

/// Returns the attributes in a record, unless they are those of another address.
fn from_record(schema: KeySchemaView<'_>, address: &EntryAddress, bytes: &[u8]) -> Option<Item> {
    let record = Record::parse(bytes).ok()?;
    let read = |attribute: &KeyAttribute| {
        let value = record.attribute(&attribute.name).ok()??;
        let expected = attribute.attribute_type.as_attribute_type();
        (value.attribute_type() == expected).then(|| (attribute.name.clone(), value))
    };
    let partition: Vec<_> = schema.partition.iter().map(read).collect::<Option<_>>()?;
    let sort: Vec<_> = schema.sort.iter().map(read).collect::<Option<_>>()?;
    let values = |of: &[(String, AttributeValue)]| -> Vec<AttributeValue> {
        of.iter().map(|(_, value)| value.clone()).collect()
    };
    let (partition_values, sort_values) = (values(&partition), values(&sort));
    let found = EntryAddress::new(
        address.source,
        &partition_values.iter().collect::<Vec<_>>(),
        &sort_values,
    );
    let is_same = found.digest == address.digest && address.order.starts_with(&found.order);
    is_same.then(|| Item(partition.into_iter().chain(sort).collect()))
}

/// Returns the attributes by the item collection and the stored key.
fn from_address(
    view: &ReadView<'_>,
    schema: KeySchemaView<'_>,
    address: &EntryAddress,
) -> Option<Item> {
    let collection = view.collection(address.source, address.digest).ok()??;
    let mut item = partition_of(schema, collection)?;
    let mut rest = &address.order[..];
    for attribute in schema.sort {
        let (value, tail) = key::decode(attribute.attribute_type, rest).ok()?;
        item.0.insert(attribute.name.clone(), value);
        rest = tail;
    }
    Some(item)
}

fn partition_of(schema: KeySchemaView<'_>, collection: &[u8]) -> Option<Item> {
    let names: Vec<&str> = schema
        .partition
        .iter()
        .map(|attribute| attribute.name.as_str())
        .collect();
    let values = CollectionRecord::parse(collection)
        .and_then(|record| record.partition(&names))
        .ok()?;
    let names = names.into_iter().map(str::to_owned);
    Some(Item(names.zip(values).collect()))
}
