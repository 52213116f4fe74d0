//! The definition of a restored table: its source's with the overrides, without tags, stream, policy and protection.

use crate::model::api::backup::RestoreOverrides;
use crate::model::api::create_table::{
    CreateTableRequest, IndexDefinition, KeySchemaElement, ProjectionDefinition, ProjectionType,
};
use crate::model::error::RecoveryError;
use crate::model::schema::{BillingMode, KeyAttribute, KeyType};
use crate::model::settings::OnDemandThroughput;
use crate::model::{IndexKind, IndexSchema, Projection, TableName, TableSchema, TableSettings};

/// The request that creates the table.
///
/// # Errors
/// `OverrideIndex` for an index that the source does not have.
pub fn request(
    source: &TableSchema,
    target: &TableName,
    overrides: &RestoreOverrides,
) -> Result<CreateTableRequest, RecoveryError> {
    let billing_mode = overrides.billing_mode.unwrap_or(source.billing_mode);
    let throughput = overrides.throughput.or(source.throughput.filter(|_| billing_mode == BillingMode::Provisioned));
    let mut global = indexes(source, IndexKind::Global, overrides.global_indexes.as_deref())?;
    if billing_mode == BillingMode::PayPerRequest {
        global.iter_mut().for_each(|index| index.throughput = None);
    }
    let local = indexes(source, IndexKind::Local, overrides.local_indexes.as_deref())?;
    let used = |attribute: &KeyAttribute| {
        let elements = global.iter().chain(&local).flat_map(|index| &index.key_schema);
        source.key.contains(&attribute.name) || elements.clone().any(|element| element.attribute_name == attribute.name)
    };
    let mut throughput_settings = source.settings.throughput;
    throughput_settings.on_demand = match billing_mode {
        BillingMode::Provisioned => OnDemandThroughput::default(),
        BillingMode::PayPerRequest => overrides.on_demand.unwrap_or(throughput_settings.on_demand),
    };
    let encryption = overrides.encryption.as_ref().map(|encryption| encryption.enabled.then(|| encryption.clone()));
    // Tags, stream and policy stay behind.
    let settings = TableSettings {
        encryption: encryption.unwrap_or_else(|| source.settings.encryption.clone()),
        table_class: source.settings.table_class,
        throughput: throughput_settings,
        ..TableSettings::default()
    };
    Ok(CreateTableRequest {
        table_name: target.clone(),
        attribute_definitions: source.attribute_definitions().into_iter().filter(used).collect(),
        key_schema: elements(std::iter::once(&source.key.partition), source.key.sort.as_ref().into_iter()),
        billing_mode: Some(billing_mode),
        throughput,
        local_indexes: (!local.is_empty()).then_some(local),
        global_indexes: (!global.is_empty()).then_some(global),
        deletion_protection: false,
        settings,
    })
}

fn elements<'a>(
    partition: impl Iterator<Item = &'a KeyAttribute>,
    sort: impl Iterator<Item = &'a KeyAttribute>,
) -> Vec<KeySchemaElement> {
    let element =
        |key_type: KeyType| move |attribute: &KeyAttribute| KeySchemaElement { attribute_name: attribute.name.clone(), key_type };
    partition.map(element(KeyType::Hash)).chain(sort.map(element(KeyType::Range))).collect()
}

/// The source's indexes of a kind, or those asked for.
fn indexes(
    source: &TableSchema,
    kind: IndexKind,
    asked: Option<&[IndexDefinition]>,
) -> Result<Vec<IndexDefinition>, RecoveryError> {
    let mut existing = source.indexes_of(kind).map(definition);
    let Some(asked) = asked else { return Ok(existing.collect()) };
    let existing: Vec<IndexDefinition> = existing.by_ref().collect();
    let find = |index: &IndexDefinition| {
        let same = |known: &&IndexDefinition| {
            known.key_schema == index.key_schema && sorted(&known.projection) == sorted(&index.projection)
        };
        let known = existing.iter().find(same).ok_or_else(|| RecoveryError::OverrideIndex(index.name.as_str().to_owned()))?;
        Ok(IndexDefinition { throughput: index.throughput.or(known.throughput), settings: known.settings, ..index.clone() })
    };
    asked.iter().map(find).collect()
}

/// A projection whose order of names does not count.
fn sorted(projection: &ProjectionDefinition) -> ProjectionDefinition {
    let mut sorted = projection.clone();
    sorted.non_key_attributes.iter_mut().for_each(|names| names.sort());
    sorted
}

fn definition(index: &IndexSchema) -> IndexDefinition {
    let (projection_type, names) = match &index.projection {
        Projection::All => (ProjectionType::All, None),
        Projection::KeysOnly => (ProjectionType::KeysOnly, None),
        Projection::Include(names) => (ProjectionType::Include, Some(names.clone())),
    };
    IndexDefinition {
        name: index.name.clone(),
        kind: index.kind,
        key_schema: elements(index.partition.iter(), index.sort.iter()),
        projection: ProjectionDefinition { projection_type: Some(projection_type), non_key_attributes: names },
        throughput: index.throughput,
        settings: index.settings,
    }
}
