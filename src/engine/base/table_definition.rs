//! Validation of table definitions: the checks of a CreateTable request in DynamoDB's order, of
//! which the first that fails is reported (docs/dynamodb.md 11.1, checks 1 to 20; 9.2).

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::prelude::*;
use crate::model::{
    KeySchema, Projection,
    api::{
        CreateTableRequest,
        tables::{IndexDefinition, KeySchemaElement, ProjectionDefinition, ProjectionType},
    },
    error::{LimitError, SchemaError},
    limits::{
        CAPACITY_UNITS_MAX, GLOBAL_INDEXES_MAX, INDEX_KEY_ATTRIBUTES_MAX, INLINE_FILTERS_MAX,
        LOCAL_INDEXES_MAX, PROJECTED_ATTRIBUTES_MAX, TABLE_CAPACITY_UNITS_MAX,
        VECTOR_DIMENSIONS_MAX, VECTOR_INDEXES_MAX,
    },
    schema::{
        BillingMode, IndexKind, KeyAttribute, KeyAttributeType, KeyType, ProvisionedThroughput,
    },
};

/// Checks a request and builds the table's definition from it.
///
/// # Errors
/// Fails with the [`SchemaError`] of the first check that fails.
pub fn build_schema(request: CreateTableRequest) -> Result<TableSchema, SchemaError> {
    let billing_mode = request.billing_mode.unwrap_or(BillingMode::Provisioned);
    check_throughput(billing_mode, request.throughput)?;
    let definitions = DefinedAttributes::new(&request.attribute_definitions)?;
    let key = definitions.table_key(&request.key_schema)?;
    check_all_used(&request)?;

    let mut indexes = Vec::new();
    if let Some(list) = &request.local_indexes {
        indexes.extend(local_indexes(list, &definitions, &key)?);
    }
    if let Some(list) = &request.global_indexes {
        let global = global_indexes(list, &definitions, billing_mode)?;
        indexes.extend(global);
        check_global(&indexes, billing_mode)?;
    }
    if let Some(list) = &request.vector_indexes {
        if list.is_empty() {
            return Err(SchemaError::EmptyIndexList("VectorIndexes"));
        }
        for index in list {
            indexes.push(vector_index(index, &definitions, billing_mode)?);
        }
        check_names(indexes.iter())?;
        if list.len() > VECTOR_INDEXES_MAX {
            return Err(SchemaError::TooManyVector);
        }
        check_vectors(&indexes)?;
    }
    check_projected(&indexes)?;
    Ok(TableSchema {
        name: request.table_name,
        key,
        indexes,
        billing_mode,
        throughput: request.throughput,
        deletion_protection: request.deletion_protection,
        settings: request.settings,
    })
}

/// Checks a definition that was derived from another one: the overrides of the request may not fit
/// the rest.
///
/// # Errors
/// Fails with the [`SchemaError`] of the first check that fails.
pub fn check_schema(schema: &TableSchema) -> Result<(), SchemaError> {
    check_throughput(schema.billing_mode, schema.throughput)?;
    check_local(&schema.indexes)?;
    schema
        .indexes_of(IndexKind::Global)
        .filter_map(|index| index.throughput)
        .try_for_each(check_units)?;
    check_global(&schema.indexes, schema.billing_mode)?;
    if schema.billing_mode == BillingMode::Provisioned
        && schema.indexes_of(IndexKind::Vector).next().is_some()
    {
        return Err(SchemaError::VectorOnProvisioned);
    }
    check_projected(&schema.indexes)
}

/// Builds a definition as [`build_schema`] does, and checks the account's quotas for a table or
/// index, which apply to new requests only.
///
/// # Errors
/// Fails with a [`SchemaError`] first, then with a [`LimitError`].
pub fn build_new_schema(request: CreateTableRequest) -> Result<TableSchema, Error> {
    let schema = build_schema(request)?;
    let units = std::iter::once(schema.throughput)
        .chain(schema.indexes.iter().map(|index| index.throughput));
    units.flatten().try_for_each(check_table_maximum)?;
    Ok(schema)
}

/// Checks units against the account's quota for one table or index.
///
/// # Errors
/// Fails with `TableMaximum`, naming the member above the quota.
pub fn check_table_maximum(units: ProvisionedThroughput) -> Result<(), LimitError> {
    match throughput_members(units)
        .into_iter()
        .find(|(_, value)| *value > TABLE_CAPACITY_UNITS_MAX)
    {
        Some((member, value)) => Err(LimitError::TableMaximum {
            member,
            value,
            maximum: TABLE_CAPACITY_UNITS_MAX,
        }),
        None => Ok(()),
    }
}

/// Returns the members of a throughput with their names.
#[must_use]
pub fn throughput_members(units: ProvisionedThroughput) -> [(&'static str, u64); 2] {
    [
        ("ReadCapacityUnits", units.read_capacity_units),
        ("WriteCapacityUnits", units.write_capacity_units),
    ]
}

/// Checks the definition of one global or vector index and builds it: checks 4, 6, 14 and 18.
///
/// # Errors
/// Fails with the [`SchemaError`] of the first check that fails.
pub fn build_online_index(
    definition: &IndexDefinition,
    attributes: &[KeyAttribute],
    billing_mode: BillingMode,
) -> Result<IndexSchema, SchemaError> {
    let attributes = DefinedAttributes::new(attributes)?;
    match definition.kind {
        IndexKind::Vector => vector_index(definition, &attributes, billing_mode),
        IndexKind::Global | IndexKind::Local => global_index(definition, &attributes),
    }
}

/// Runs checks 1 to 3.
fn check_throughput(
    billing_mode: BillingMode,
    throughput: Option<ProvisionedThroughput>,
) -> Result<(), SchemaError> {
    match (billing_mode, throughput) {
        (BillingMode::PayPerRequest, Some(_)) => Err(SchemaError::ThroughputOnDemand),
        (BillingMode::Provisioned, None) => Err(SchemaError::ThroughputMissing),
        (BillingMode::PayPerRequest, None) => Ok(()),
        (BillingMode::Provisioned, Some(throughput)) => check_units(throughput),
    }
}

/// Checks the units of a table or index against the greatest number that a request can have.
///
/// # Errors
/// Fails with `ThroughputRange`, naming the member out of range.
pub fn check_units(throughput: ProvisionedThroughput) -> Result<(), SchemaError> {
    match throughput_members(throughput)
        .into_iter()
        .find(|(_, value)| *value > CAPACITY_UNITS_MAX)
    {
        Some((member, value)) => Err(SchemaError::ThroughputRange { member, value }),
        None => Ok(()),
    }
}

/// The attributes of `AttributeDefinitions`, each name once.
struct DefinedAttributes<'r> {
    types: BTreeMap<&'r str, KeyAttributeType>,
    /// The names in the order of the request, joined by `, `.
    text: String,
}

impl<'r> DefinedAttributes<'r> {
    /// Runs check 4.
    fn new(list: &'r [KeyAttribute]) -> Result<Self, SchemaError> {
        let mut types = BTreeMap::new();
        for definition in list {
            if types
                .insert(definition.name.as_str(), definition.attribute_type)
                .is_some()
            {
                return Err(SchemaError::DuplicateDefinition(definition.name.clone()));
            }
        }
        Ok(Self {
            types,
            text: join_names(list.iter().map(|definition| definition.name.as_str())),
        })
    }

    /// Runs check 6: returns the elements with their types, in order.
    fn resolve_types(
        &self,
        elements: &[KeySchemaElement],
    ) -> Result<Vec<(KeyAttribute, KeyType)>, SchemaError> {
        let names = elements
            .iter()
            .map(|element| element.attribute_name.as_str());
        let undefined: Vec<&str> = names
            .filter(|name| !self.types.contains_key(name))
            .collect();
        if !undefined.is_empty() {
            return Err(SchemaError::UndefinedKeys {
                keys: join_names(undefined.into_iter()),
                definitions: self.text.clone(),
            });
        }
        let typed = |element: &KeySchemaElement| {
            let attribute_type = *self.types.get(element.attribute_name.as_str())?;
            Some((
                KeyAttribute {
                    name: element.attribute_name.clone(),
                    attribute_type,
                },
                element.key_type,
            ))
        };
        let typed: Vec<_> = elements.iter().filter_map(typed).collect();
        debug_assert_eq!(typed.len(), elements.len(), "every element is defined");
        Ok(typed)
    }

    /// Runs checks 5 to 8.
    fn table_key(&self, elements: &[KeySchemaElement]) -> Result<KeySchema, SchemaError> {
        if elements.len() > self.types.len() {
            return Err(SchemaError::KeysWithoutDefinition);
        }
        self.hash_and_range(elements)
    }

    /// Runs checks 6 to 8: a HASH attribute and an optional RANGE attribute.
    fn hash_and_range(&self, elements: &[KeySchemaElement]) -> Result<KeySchema, SchemaError> {
        let mut typed = self.resolve_types(elements)?.into_iter();
        let Some((partition, first_type)) = typed.next() else {
            return Err(SchemaError::FirstNotHash);
        };
        let second = typed.next();
        if second
            .as_ref()
            .is_some_and(|(sort, _)| sort.name == partition.name)
        {
            return Err(SchemaError::SameKeyTwice);
        }
        if first_type != KeyType::Hash {
            return Err(SchemaError::FirstNotHash);
        }
        match second {
            Some((_, KeyType::Hash)) => Err(SchemaError::SecondNotRange),
            Some((sort, KeyType::Range)) => Ok(KeySchema {
                partition,
                sort: Some(sort),
            }),
            None => Ok(KeySchema {
                partition,
                sort: None,
            }),
        }
    }
}

fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Runs checks 9 and 10: some key schema uses every definition.
fn check_all_used(request: &CreateTableRequest) -> Result<(), SchemaError> {
    let indexes = request
        .local_indexes
        .iter()
        .chain(&request.global_indexes)
        .chain(&request.vector_indexes)
        .flatten();
    let elements = request
        .key_schema
        .iter()
        .chain(indexes.flat_map(|index| &index.key_schema));
    let used: BTreeSet<&str> = elements
        .map(|element| element.attribute_name.as_str())
        .collect();
    let mut definitions = request
        .attribute_definitions
        .iter()
        .map(|definition| definition.name.as_str());
    if definitions.clone().all(|name| used.contains(name)) {
        return Ok(());
    }
    if request.local_indexes.is_none() && request.global_indexes.is_none() {
        return Err(SchemaError::UnusedDefinitions);
    }
    Err(SchemaError::UnusedDefinitionsWithIndexes {
        definitions: join_names(&mut definitions),
        used: join_names(used.into_iter()),
    })
}

/// Runs checks 11 to 16.
fn local_indexes(
    list: &[IndexDefinition],
    definitions: &DefinedAttributes<'_>,
    table: &KeySchema,
) -> Result<Vec<IndexSchema>, SchemaError> {
    if list.is_empty() {
        return Err(SchemaError::EmptyIndexList("LocalSecondaryIndexes"));
    }
    if table.sort.is_none() {
        return Err(SchemaError::LocalOnHashOnly);
    }
    let build = |index: &IndexDefinition| {
        let key = definitions.hash_and_range(&index.key_schema)?;
        let name = index.name.as_str();
        let sort = key
            .sort
            .ok_or_else(|| SchemaError::LocalWithoutRange(name.to_owned()))?;
        if key.partition.name != table.partition.name {
            return Err(SchemaError::LocalOtherHash {
                index: name.to_owned(),
                index_key: key.partition.name,
                table_key: table.partition.name.clone(),
            });
        }
        Ok(IndexSchema {
            name: index.name.clone(),
            kind: IndexKind::Local,
            partition: vec![key.partition],
            sort: vec![sort],
            projection: projection(&index.projection)?,
            throughput: None,
            settings: index.settings,
            vector: None,
        })
    };
    let indexes: Vec<IndexSchema> = list.iter().map(build).collect::<Result<_, _>>()?;
    check_local(&indexes)?;
    Ok(indexes)
}

/// Runs checks 15 and 16.
fn check_local(indexes: &[IndexSchema]) -> Result<(), SchemaError> {
    let local = || {
        indexes
            .iter()
            .filter(|index| index.kind == IndexKind::Local)
    };
    check_names(local())?;
    if local().count() > LOCAL_INDEXES_MAX {
        Err(SchemaError::TooManyLocal)
    } else {
        Ok(())
    }
}

/// Runs check 14 (the projection of an index) and returns the projection.
pub fn projection(definition: &ProjectionDefinition) -> Result<Projection, SchemaError> {
    match (definition.projection_type, &definition.non_key_attributes) {
        (None, _) => Err(SchemaError::ProjectionTypeMissing),
        (Some(ProjectionType::All), None) => Ok(Projection::All),
        (Some(ProjectionType::All), Some(_)) => Err(SchemaError::NonKeyAttributesUnwanted("ALL")),
        (Some(ProjectionType::KeysOnly), None) => Ok(Projection::KeysOnly),
        (Some(ProjectionType::KeysOnly), Some(_)) => {
            Err(SchemaError::NonKeyAttributesUnwanted("KEYS_ONLY"))
        }
        (Some(ProjectionType::Include), None) => Err(SchemaError::NonKeyAttributesMissing),
        (Some(ProjectionType::Include), Some(names)) => {
            let mut sorted = BTreeSet::new();
            for name in names {
                if !sorted.insert(name.clone()) {
                    return Err(SchemaError::DuplicateNonKeyAttribute(name.clone()));
                }
            }
            Ok(Projection::Include(sorted.into_iter().collect()))
        }
    }
}

/// Runs check 15.
fn check_names<'i>(indexes: impl Iterator<Item = &'i IndexSchema>) -> Result<(), SchemaError> {
    let mut seen = BTreeSet::new();
    for index in indexes {
        if !seen.insert(&index.name) {
            return Err(SchemaError::DuplicateIndexName(
                index.name.as_str().to_owned(),
            ));
        }
    }
    Ok(())
}

/// Runs checks 17 and 18, and 14 for global indexes.
fn global_indexes(
    list: &[IndexDefinition],
    definitions: &DefinedAttributes<'_>,
    billing_mode: BillingMode,
) -> Result<Vec<IndexSchema>, SchemaError> {
    if list.is_empty() {
        return Err(SchemaError::EmptyIndexList("GlobalSecondaryIndexes"));
    }
    let build = |index: &IndexDefinition| {
        let built = global_index(index, definitions)?;
        if let (BillingMode::Provisioned, Some(throughput)) = (billing_mode, index.throughput) {
            check_units(throughput)?;
        }
        Ok(built)
    };
    list.iter().map(build).collect()
}

fn global_index(
    index: &IndexDefinition,
    definitions: &DefinedAttributes<'_>,
) -> Result<IndexSchema, SchemaError> {
    let (partition, sort) = global_key(&index.key_schema, definitions)?;
    Ok(IndexSchema {
        name: index.name.clone(),
        kind: IndexKind::Global,
        partition,
        sort,
        projection: projection(&index.projection)?,
        throughput: index.throughput,
        settings: index.settings,
        vector: None,
    })
}

/// Checks the definition of a vector index and builds it.
fn vector_index(
    index: &IndexDefinition,
    definitions: &DefinedAttributes<'_>,
    billing_mode: BillingMode,
) -> Result<IndexSchema, SchemaError> {
    if billing_mode == BillingMode::Provisioned {
        return Err(SchemaError::VectorOnProvisioned);
    }
    let typed = definitions
        .resolve_types(&index.key_schema)
        .map_err(|_| SchemaError::SearchSchemaUndefined)?;
    let dimensions = index.vector.as_ref().map_or(0, |vector| vector.dimensions);
    if !(1..=VECTOR_DIMENSIONS_MAX).contains(&dimensions) {
        return Err(SchemaError::VectorDimensions);
    }
    let name = index.vector.as_ref().map_or("", |vector| &vector.name);
    if definitions.types.contains_key(name) {
        return Err(SchemaError::VectorDefined(name.to_owned()));
    }
    let names: BTreeSet<&str> = typed.iter().map(|(element, _)| &*element.name).collect();
    let is_repeated = names.len() < typed.len();
    let (partition, sort): (Vec<_>, Vec<_>) = typed
        .into_iter()
        .partition(|(_, key_type)| *key_type == KeyType::Hash);
    for (count, role, maximum) in [
        (partition.len(), "HASH", 1),
        (sort.len(), "INLINE_FILTER", INLINE_FILTERS_MAX),
    ] {
        if count > maximum {
            return Err(SchemaError::SearchSchemaCount {
                count,
                role,
                maximum,
            });
        }
    }
    if is_repeated {
        return Err(SchemaError::SearchSchemaTwice);
    }
    let attributes = |list: Vec<(KeyAttribute, KeyType)>| {
        list.into_iter().map(|(attribute, _)| attribute).collect()
    };
    Ok(IndexSchema {
        name: index.name.clone(),
        kind: IndexKind::Vector,
        partition: attributes(partition),
        sort: attributes(sort),
        projection: projection(&index.projection)?,
        throughput: None,
        settings: index.settings,
        vector: index.vector.clone(),
    })
}

/// Checks that the vector indexes of one attribute agree on its dimensions.
///
/// # Errors
/// Fails with `VectorConflict`.
pub fn check_vectors(indexes: &[IndexSchema]) -> Result<(), SchemaError> {
    let vectors = indexes.iter().filter_map(|index| index.vector.as_ref());
    let mut dimensions = BTreeMap::new();
    for vector in vectors {
        let known = dimensions.entry(&vector.name).or_insert(vector.dimensions);
        if *known != vector.dimensions {
            return Err(SchemaError::VectorConflict(vector.name.clone()));
        }
    }
    Ok(())
}

/// Returns the key of a global index: 1 to 4 HASH attributes, then 0 to 4 RANGE attributes
/// (docs/dynamodb.md 9.2).
fn global_key(
    elements: &[KeySchemaElement],
    definitions: &DefinedAttributes<'_>,
) -> Result<(Vec<KeyAttribute>, Vec<KeyAttribute>), SchemaError> {
    let typed = definitions.resolve_types(elements)?;
    if typed
        .first()
        .is_none_or(|(_, key_type)| *key_type != KeyType::Hash)
    {
        return Err(SchemaError::FirstNotHash);
    }
    let names: BTreeSet<&str> = typed
        .iter()
        .map(|(attribute, _)| attribute.name.as_str())
        .collect();
    if names.len() < typed.len() {
        return Err(SchemaError::RepeatedKeyAttribute);
    }
    if !typed.is_sorted_by_key(|(_, key_type)| *key_type == KeyType::Range) {
        return Err(SchemaError::HashAfterRange);
    }
    let (partition, sort): (Vec<_>, Vec<_>) = typed
        .into_iter()
        .partition(|(_, key_type)| *key_type == KeyType::Hash);
    if partition.len() > INDEX_KEY_ATTRIBUTES_MAX {
        return Err(SchemaError::TooManyKeyAttributes("HASH"));
    }
    if sort.len() > INDEX_KEY_ATTRIBUTES_MAX {
        return Err(SchemaError::TooManyKeyAttributes("RANGE"));
    }
    let attributes = |list: Vec<(KeyAttribute, KeyType)>| {
        list.into_iter().map(|(attribute, _)| attribute).collect()
    };
    Ok((attributes(partition), attributes(sort)))
}

/// Runs check 15 for all indexes, then 19 and the limit on global indexes.
fn check_global(indexes: &[IndexSchema], billing_mode: BillingMode) -> Result<(), SchemaError> {
    check_names(indexes.iter())?;
    let global = || {
        indexes
            .iter()
            .filter(|index| index.kind == IndexKind::Global)
    };
    for index in global() {
        let name = || index.name.as_str().to_owned();
        match (billing_mode, index.throughput) {
            (BillingMode::PayPerRequest, Some(_)) => {
                return Err(SchemaError::IndexThroughputOnDemand(name()));
            }
            (BillingMode::Provisioned, None) => {
                return Err(SchemaError::IndexThroughputMissing(name()));
            }
            (BillingMode::PayPerRequest, None) | (BillingMode::Provisioned, Some(_)) => {}
        }
    }
    if global().count() > GLOBAL_INDEXES_MAX {
        Err(SchemaError::TooManyGlobal)
    } else {
        Ok(())
    }
}

/// Checks the number of `NonKeyAttributes` of all indexes; a name in two indexes counts twice
/// (docs/dynamodb.md 9.5).
///
/// # Errors
/// Fails with `TooManyProjected` above the limit of all indexes.
pub fn check_projected(indexes: &[IndexSchema]) -> Result<(), SchemaError> {
    let count = |index: &IndexSchema| match &index.projection {
        Projection::Include(names) => names.len(),
        Projection::All | Projection::KeysOnly => 0,
    };
    if indexes.iter().map(count).sum::<usize>() > PROJECTED_ATTRIBUTES_MAX {
        return Err(SchemaError::TooManyProjected);
    }
    Ok(())
}
