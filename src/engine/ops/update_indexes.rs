//! UpdateTable's creation and deletion of a global index (docs/dynamodb.md 9.6, 11.3): the
//! definition and its checks. The rest of its life cycle is in `index_life`.

use std::collections::{HashMap, hash_map::Entry};

use super::update_throughput;
use crate::engine::{
    base::{
        item_key,
        table_definition::{build_online_index, check_projected, check_units, check_vectors},
        vector_write_bytes, write_units,
    },
    catalog::entry::{BuildPhase, BuildingIndex, BuiltIndex},
    index::{IndexEntry, IndexView},
    index_life::violations::violation,
    runtime::prelude::*,
};
use crate::model::{
    AttributeType, Projection,
    api::{
        IndexDefinition, UpdateTableRequest,
        tables::{AbsentEntry, AbsentReason, IndexEstimate, IndexUpdate},
    },
    error::{LimitError, NotFoundError, UpdateTableError},
    limits::{ENTRY_OVERHEAD_BYTES, GLOBAL_INDEXES_MAX, VECTOR_INDEXES_MAX},
    schema::{BillingMode, KeyAttribute},
};

/// Checks that every named index is a global index of the table, or is to be created. An index that
/// is being removed still counts.
pub(super) fn check_names(table: &TableEntry, request: &UpdateTableRequest) -> Result<(), Error> {
    for (update, kind) in updates_with_kinds(request) {
        if let Some(creation) = &update.create {
            let is_there = table.index(&creation.name).is_some();
            if is_there && !table.index_life.is_building(&creation.name) {
                return Err(UpdateTableError::IndexExists.into());
            }
        }
        let of_update = update
            .update
            .as_ref()
            .map(|change| (&change.name, "update"));
        let Some((name, action)) =
            of_update.or_else(|| update.delete.as_ref().map(|name| (name, "delete")))
        else {
            continue;
        };
        let index = name.to_string();
        let units = update.update.as_ref().and_then(|change| change.throughput);
        let is_leaving = table
            .index_life
            .leaving
            .as_ref()
            .is_some_and(|leaving| leaving.index.name == *name);
        match table.index(name).map(|(index, _)| index.kind) {
            Some(found) if found == kind => {}
            None if is_leaving => {}
            Some(_) if kind == IndexKind::Global => {
                return Err(UpdateTableError::LocalIndex { action, index }.into());
            }
            // The service reports excessive units before it looks for the index.
            None if units.is_some_and(|units| check_units(units).is_err()) => {
                return Err(UpdateTableError::ActionBlocked.into());
            }
            _ => {
                return Err(NotFoundError::Index {
                    index,
                    table: table.schema.name.to_string(),
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Runs the checks of a creation that need no table.
pub(super) fn check_creation(
    creation: &IndexDefinition,
    request: &UpdateTableRequest,
) -> Result<(), Error> {
    let name = creation.name.as_str();
    // Only the elements of a SearchSchema need definitions.
    if request.attribute_definitions.is_none() && creation.kind != IndexKind::Vector {
        return Err(UpdateTableError::DefinitionsMissing(name.to_owned()).into());
    }
    creation.throughput.map_or(Ok(()), check_units)?;
    update_throughput::check_index_maxima(creation.settings.on_demand, name)?;
    build(creation, request, BillingMode::PayPerRequest).map(drop)
}

fn build(
    creation: &IndexDefinition,
    request: &UpdateTableRequest,
    billing_mode: BillingMode,
) -> Result<IndexSchema, Error> {
    let definitions = request.attribute_definitions.as_deref().unwrap_or_default();
    Ok(build_online_index(creation, definitions, billing_mode)?)
}

/// Returns the updates of indexes with the kind that their member is for.
pub(super) fn updates_with_kinds(
    request: &UpdateTableRequest,
) -> impl Iterator<Item = (&IndexUpdate, IndexKind)> {
    let of_kind = |list, kind| Iterator::zip(Option::iter(list).flatten(), std::iter::repeat(kind));
    of_kind(&request.index_updates, IndexKind::Global)
        .chain(of_kind(&request.vector_index_updates, IndexKind::Vector))
}

/// Defines the index in `new`, the entry after the other changes of the request.
pub(super) fn create(
    transaction: &mut Transaction<'_>,
    new: &mut TableEntry,
    creation: &IndexDefinition,
    request: &UpdateTableRequest,
) -> Result<(), Error> {
    let index = define(Arc::make_mut(&mut new.schema), creation, request)?;
    let name = index.name.as_str();
    let sources = catalog::allocate_sources(transaction.batch, 2)?;
    let [source, violations] = sources[..] else {
        return Err(StoreError::Corrupt("source ids are used up").into());
    };
    new.index_sources.push(source);
    // `since` is set when the index becomes active.
    new.index_life.made.insert(
        name.to_owned(),
        BuiltIndex {
            violations,
            since: 0,
        },
    );
    let until_ms = transaction
        .now_ms()
        .saturating_add(transaction.shared.options.index_allocation_ms);
    new.index_life.building = Some(BuildingIndex {
        index: index.name,
        phase: BuildPhase::Allocation { until_ms },
        is_updated: false,
    });
    Ok(())
}

/// Adds the definition to the table's, and checks it.
pub(super) fn define(
    schema: &mut TableSchema,
    creation: &IndexDefinition,
    request: &UpdateTableRequest,
) -> Result<IndexSchema, Error> {
    let index = build(creation, request, schema.billing_mode)?;
    check_against_table(schema, &index, creation)?;
    schema.indexes.push(index.clone());
    check_vectors(&schema.indexes)?;
    check_projected(&schema.indexes)?;
    if schema.indexes_of(IndexKind::Global).count() > GLOBAL_INDEXES_MAX {
        return Err(LimitError::GlobalIndexes.into());
    }
    if schema.indexes_of(IndexKind::Vector).count() > VECTOR_INDEXES_MAX {
        return Err(LimitError::VectorIndexes.into());
    }
    Ok(index)
}

fn check_against_table(
    table: &TableSchema,
    index: &IndexSchema,
    creation: &IndexDefinition,
) -> Result<(), UpdateTableError> {
    let name = || index.name.to_string();
    match (table.billing_mode, index.throughput) {
        // Refused before.
        _ if index.kind == IndexKind::Vector => {}
        (BillingMode::Provisioned, None) => {
            return Err(UpdateTableError::CreateThroughputMissing(name()));
        }
        (BillingMode::PayPerRequest, Some(_)) => {
            return Err(UpdateTableError::CreateThroughputOnDemand(name()));
        }
        (BillingMode::Provisioned, Some(_)) | (BillingMode::PayPerRequest, None) => {}
    }
    if let (BillingMode::Provisioned, Some(member)) = (
        table.billing_mode,
        update_throughput::first_given_maximum(creation.settings.on_demand),
    ) {
        return Err(UpdateTableError::OnDemandOnProvisioned(member));
    }
    let own = key_roles(
        std::slice::from_ref(&table.key.partition),
        table.key.sort.as_slice(),
    );
    let of_indexes = table.indexes.iter().flat_map(index_roles);
    let known: Vec<TypedAttribute<'_>> = own.chain(of_indexes).collect();
    for attribute in index_roles(index) {
        let clash = known
            .iter()
            .find(|of| of.name == attribute.name && of.kind != attribute.kind);
        if let Some(existing) = clash {
            return Err(UpdateTableError::Redefined {
                existing: existing.text(),
                new: attribute.text(),
            });
        }
    }
    Ok(())
}

/// An attribute that a key, a search schema or a vector gives a type.
struct TypedAttribute<'a> {
    name: &'a str,
    kind: AttributeType,
    /// HASH, RANGE or the dimensions of a vector.
    role: String,
}

impl TypedAttribute<'_> {
    /// Returns the attribute as text, such as `Schema:[SchemaElement: key{pk:S:HASH}]`.
    fn text(&self) -> String {
        let list = match self.kind {
            AttributeType::L => "VectorIndexSchema:[VectorAttribute",
            _ => "Schema:[SchemaElement",
        };
        let (name, kind, role) = (self.name, self.kind.tag(), &self.role);
        format!("{list}: key{{{name}:{kind}:{role}}}]")
    }
}

fn key_roles<'a>(
    partition: &'a [KeyAttribute],
    sort: &'a [KeyAttribute],
) -> impl Iterator<Item = TypedAttribute<'a>> {
    let typed = |role: &'static str| {
        move |attribute: &'a KeyAttribute| TypedAttribute {
            name: &attribute.name,
            kind: attribute.attribute_type.as_attribute_type(),
            role: role.to_owned(),
        }
    };
    partition
        .iter()
        .map(typed("HASH"))
        .chain(sort.iter().map(typed("RANGE")))
}

/// Returns the attributes of an index that have a type.
fn index_roles(index: &IndexSchema) -> impl Iterator<Item = TypedAttribute<'_>> {
    let vector = index.vector.iter().map(|vector| TypedAttribute {
        name: &vector.name,
        kind: AttributeType::L,
        role: vector.dimensions.to_string(),
    });
    key_roles(&index.partition, &index.sort).chain(vector)
}

// The forecast of a new index: the table's items compared with its definition. It consumes no
// capacity.

/// The bytes of items, with their overhead, that a forecast reads: a second or two.
const FORECAST_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The greatest number of partition key values that a forecast counts, in some 50 MB.
const VALUES_MAX: usize = 1_000_000;
/// The number of violations that are listed.
const EXAMPLES_MAX: usize = 10;

impl Engine {
    /// Returns the forecast for this index of the request.
    ///
    /// # Errors
    /// Fails with `Schema` or `ResourceNotFound`, or with an error of the store.
    pub fn forecast_index(
        &self,
        request: &UpdateTableRequest,
        definition: &IndexDefinition,
    ) -> Result<IndexEstimate, Error> {
        let view = self.view()?;
        let table = catalog::require_table(view.table(&request.table_name)?, &request.table_name)?;
        let index = build(definition, request, table.schema.billing_mode)?;
        let mut forecast = IndexEstimate {
            index: index.clone(),
            items: view.counters(table.source)?.entries,
            sampled: 0,
            put_units: 0.0,
            entries: 0,
            entry_bytes: 0,
            write_units: 0.0,
            partition_keys: 0,
            largest: None,
            violations: 0,
            examples: Vec::new(),
        };
        let target = IndexView {
            table: &table.schema.key,
            index: &index,
            source: table.source,
        };
        let (mut bytes, mut values) = (0, HashMap::new());
        try_walk(
            view.read(),
            &Space::Entry.range(table.source),
            Direction::Forward,
            |key, value| {
                let record =
                    Record::parse(value).map_err(|error| locate(view.read(), key, error))?;
                bytes += u64::from(record.item_bytes()) + ENTRY_OVERHEAD_BYTES;
                add_item(&record, &target, &mut forecast, &mut values)
                    .map_err(|error| locate(view.read(), key, error))?;
                Ok(continue_if(bytes < FORECAST_BYTES_MAX))
            },
        )?;
        forecast.partition_keys = values.len() as u64;
        Ok(forecast)
    }
}

/// Counts the entry's partition key value, and keeps the largest. With very many values a new one is
/// not counted: a large one came early, since the walk is in the order of the table's hashes.
fn count_value(
    entry: &IndexEntry<'_>,
    forecast: &mut IndexEstimate,
    values: &mut HashMap<Digest, u64>,
) {
    let is_full = values.len() >= VALUES_MAX;
    let digest = entry.address.digest;
    let count = match values.entry(digest) {
        Entry::Vacant(_) if is_full => return,
        found => found.or_default(),
    };
    *count += 1;
    match &mut forecast.largest {
        Some((value, most)) if value.iter().eq(entry.partition.iter().copied()) => *most = *count,
        Some((_, most)) if *most >= *count => {}
        largest => *largest = Some((entry.partition.iter().copied().cloned().collect(), *count)),
    }
}

/// Adds an item to the forecast. Decodes only the attributes that it needs.
fn add_item(
    record: &Record<'_>,
    target: &IndexView<'_>,
    forecast: &mut IndexEstimate,
    values: &mut HashMap<Digest, u64>,
) -> Result<(), StoreError> {
    let item_bytes = record.item_bytes() as usize;
    forecast.sampled += 1;
    forecast.put_units += write_units(item_bytes);
    let is_key = |name: &str| {
        target.table.contains(name)
            || target
                .index
                .attributes()
                .any(|attribute| attribute.name == name)
    };
    // An entry of a vector index is not of its item's size.
    let is_whole = target.index.projection == Projection::All && target.index.vector.is_none();
    let item: Item = record.attributes(&|name| {
        if is_whole {
            is_key(name)
        } else {
            target.index.projects(target.table, name)
        }
    })?;
    let key = item_key::key_of_stored(target.table, &item)?;
    if let Some(entry) = target.entry_with_key(&item, &key) {
        let bytes = if is_whole { item_bytes } else { entry.bytes };
        forecast.entries += 1;
        forecast.entry_bytes += bytes as u64;
        forecast.write_units += match target.index.vector {
            Some(_) => vector_write_bytes(bytes),
            None => write_units(bytes),
        };
        count_value(&entry, forecast, values);
    } else if let Some(violation) = violation(target.index, &item) {
        forecast.violations += 1;
        if forecast.examples.len() < EXAMPLES_MAX {
            forecast.examples.push(AbsentEntry {
                key,
                reason: AbsentReason::InvalidKey(violation),
            });
        }
    }
    Ok(())
}
