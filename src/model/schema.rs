//! Table and index schemas: key attributes, indexes, projections, billing mode and other settings.
//! A schema of these types was checked when the operation of [`super::api::tables`] built it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::api_enum::api_enums;
use super::attribute_value::AttributeType;
use super::names::{IndexName, TableName};

api_enums! {
    /// HASH or RANGE, as DynamoDB's `KeyType` spells them.
    #[derive(Hash)]
    KeyType {
        Hash = "HASH",
        Range = "RANGE",
    }
}

api_enums! {
    /// The type of a key attribute.
    #[derive(Hash, Serialize, Deserialize)]
    KeyAttributeType { B = "B", N = "N", S = "S" }
}

impl KeyAttributeType {
    /// Returns the type as a value type.
    #[must_use]
    pub fn as_attribute_type(self) -> AttributeType {
        match self {
            Self::S => AttributeType::S,
            Self::N => AttributeType::N,
            Self::B => AttributeType::B,
        }
    }
}

/// A key attribute: its name and declared type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyAttribute {
    pub name: String,
    pub attribute_type: KeyAttributeType,
}

/// The primary key of a table: a partition key and, in a composite table, a sort key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeySchema {
    pub partition: KeyAttribute,
    pub sort: Option<KeyAttribute>,
}

impl KeySchema {
    /// Returns the key attributes in order: partition, then sort.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> + Clone {
        std::iter::once(&self.partition).chain(self.sort.as_ref())
    }

    /// Returns the names of the key attributes, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.attributes()
            .map(|attribute| attribute.name.as_str())
            .collect()
    }

    /// True if `name` is one of the key attributes.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }
}

/// The kind of a secondary index: global, local or of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IndexKind {
    #[default]
    Global,
    Local,
    Vector,
}

impl IndexKind {
    /// Returns `gsi`, `lsi` or `vector`: its name in reports, and of its directory in a mount.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "gsi",
            Self::Local => "lsi",
            Self::Vector => "vector",
        }
    }
}

api_enums! {
    /// The measure of the nearness of two vectors.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    DistanceFunction {
        DotProduct = "DOT_PRODUCT",
        Cosine = "COSINE",
        Euclidean = "EUCLIDEAN",
    }
}

/// The vectors in a vector index: a list of `dimensions` numbers in a top-level attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VectorAttribute {
    pub name: String,
    pub dimensions: u64,
    pub distance: DistanceFunction,
}

/// The attributes in an index entry beside the table's and the index's key attributes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Projection {
    KeysOnly,
    /// Sorted, distinct top-level names.
    Include(Vec<String>),
    All,
}

/// Read and write units a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProvisionedThroughput {
    pub read_capacity_units: u64,
    pub write_capacity_units: u64,
}

impl From<ProvisionedThroughput> for WarmThroughput {
    fn from(units: ProvisionedThroughput) -> Self {
        Self {
            read_units_per_second: Some(units.read_capacity_units.cast_signed()),
            write_units_per_second: Some(units.write_capacity_units.cast_signed()),
        }
    }
}

/// The warm throughput of an on-demand table that requested none (docs/dynamodb.md 11.2).
pub const ON_DEMAND_WARM: ProvisionedThroughput = ProvisionedThroughput {
    read_capacity_units: 12_000,
    write_capacity_units: 4_000,
};

api_enums! {
    /// PROVISIONED or PAY_PER_REQUEST.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    BillingMode {
        Provisioned = "PROVISIONED",
        PayPerRequest = "PAY_PER_REQUEST",
    }
}

/// A secondary index. `partition` has 1 to 4 attributes and `sort` 0 to 4; for a local index, one
/// and at most one. In a vector index `partition` has at most one, and `sort` are its inline filters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IndexSchema {
    pub name: IndexName,
    pub kind: IndexKind,
    pub partition: Vec<KeyAttribute>,
    pub sort: Vec<KeyAttribute>,
    pub projection: Projection,
    /// Only for a global index of a PROVISIONED table.
    pub throughput: Option<ProvisionedThroughput>,
    /// Only for a global index.
    #[serde(default)]
    pub settings: ThroughputSettings,
    /// Only and always for a vector index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<VectorAttribute>,
}

impl IndexSchema {
    /// Returns the index key attributes in order: partition, then sort.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> + Clone {
        self.partition.iter().chain(self.sort.iter())
    }

    /// Returns the names of the key attributes, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.attributes()
            .map(|attribute| attribute.name.as_str())
            .collect()
    }

    /// Returns the attributes that order the entries of a partition: inline filters do not.
    #[must_use]
    pub fn order(&self) -> &[KeyAttribute] {
        if self.vector.is_some() {
            &[]
        } else {
            &self.sort
        }
    }

    /// Returns the names of the attributes without which an item has no entry.
    pub fn required_names(&self) -> impl Iterator<Item = &str> {
        let keys = self.partition.iter().chain(self.order());
        keys.map(|attribute| attribute.name.as_str())
            .chain(self.vector.iter().map(|vector| vector.name.as_str()))
    }

    /// True if the top-level attribute `name` is the index's vector.
    #[must_use]
    pub fn is_vector(&self, name: &str) -> bool {
        self.vector
            .as_ref()
            .is_some_and(|vector| vector.name == name)
    }

    /// True if an entry of this index holds the top-level attribute `name`.
    #[must_use]
    pub fn projects(&self, table: &KeySchema, name: &str) -> bool {
        let included = match &self.projection {
            Projection::All => return true,
            Projection::KeysOnly => &[][..],
            Projection::Include(names) => names,
        };
        included.iter().any(|included| included == name)
            || table.contains(name)
            || self.attributes().any(|attribute| attribute.name == name)
            || self.is_vector(name)
    }
}

/// The definition of a table, as set by CreateTable and UpdateTable. No state, no counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSchema {
    pub name: TableName,
    pub key: KeySchema,
    /// In submitted order, within the local and within the global indexes.
    pub indexes: Vec<IndexSchema>,
    pub billing_mode: BillingMode,
    /// `None` for PAY_PER_REQUEST.
    pub throughput: Option<ProvisionedThroughput>,
    pub deletion_protection: bool,
    #[serde(default)]
    pub settings: TableSettings,
}

impl TableSchema {
    /// Returns the index with this name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<&IndexSchema> {
        self.indexes
            .iter()
            .find(|index| index.name.as_str() == name)
    }

    /// Returns the indexes of one kind, in submitted order.
    pub fn indexes_of(&self, kind: IndexKind) -> impl Iterator<Item = &IndexSchema> + Clone {
        self.indexes.iter().filter(move |index| index.kind == kind)
    }

    /// Returns the attributes of LastEvaluatedKey and ExclusiveStartKey of the table or an index of
    /// it, each once: index keys, then the table's others.
    #[must_use]
    pub fn cursor_attributes<'a>(
        &'a self,
        index: Option<&'a IndexSchema>,
    ) -> Vec<&'a KeyAttribute> {
        let mut all: Vec<&KeyAttribute> = Vec::new();
        for attribute in index
            .into_iter()
            .flat_map(IndexSchema::attributes)
            .chain(self.key.attributes())
        {
            if all.iter().all(|known| known.name != attribute.name) {
                all.push(attribute);
            }
        }
        all
    }

    /// Returns on-demand maxima and warm throughput of the table, or of one of its indexes.
    #[must_use]
    pub fn throughput_settings(&self, index: Option<&str>) -> ThroughputSettings {
        index.map_or(self.settings.throughput, |name| {
            self.index(name)
                .map(|index| index.settings)
                .unwrap_or_default()
        })
    }

    /// Returns the settings of [`Self::throughput_settings`] mutably; `None` if there is no such
    /// index.
    pub fn throughput_settings_mut(
        &mut self,
        index: Option<&str>,
    ) -> Option<&mut ThroughputSettings> {
        let Some(name) = index else {
            return Some(&mut self.settings.throughput);
        };
        self.indexes
            .iter_mut()
            .find(|index| index.name.as_str() == name)
            .map(|index| &mut index.settings)
    }

    /// Returns the warm throughput in effect: the requested or reached one, at least the
    /// provisioned throughput of the table or index.
    #[must_use]
    pub fn effective_warm(&self, index: Option<&str>) -> ProvisionedThroughput {
        let provisioned = index.map_or(self.throughput, |name| {
            self.index(name).and_then(|index| index.throughput)
        });
        let base = if self.billing_mode == BillingMode::PayPerRequest {
            Some(ON_DEMAND_WARM)
        } else {
            provisioned
        };
        let (read, write) = base.map_or((0, 0), |units| {
            (units.read_capacity_units, units.write_capacity_units)
        });
        let kept = self.throughput_settings(index).warm;
        let at_least = |asked: Option<i64>, base: u64| {
            asked
                .and_then(|units| u64::try_from(units).ok())
                .unwrap_or(0)
                .max(base)
        };
        ProvisionedThroughput {
            read_capacity_units: at_least(kept.read_units_per_second, read),
            write_capacity_units: at_least(kept.write_units_per_second, write),
        }
    }

    /// Returns every key attribute of the table and its indexes once, sorted by name:
    /// `AttributeDefinitions`.
    #[must_use]
    pub fn attribute_definitions(&self) -> Vec<KeyAttribute> {
        let mut all: BTreeMap<&str, &KeyAttribute> = BTreeMap::new();
        let index_keys = self.indexes.iter().flat_map(IndexSchema::attributes);
        for attribute in self.key.attributes().chain(index_keys) {
            all.insert(&attribute.name, attribute);
        }
        all.into_values().cloned().collect()
    }
}

/// The settings of a table; empty by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableSettings {
    /// The view type of the enabled stream.
    pub stream: Option<StreamViewType>,
    /// Encryption with a key of KMS; `None` is the service's own key.
    pub encryption: Option<Encryption>,
    /// `None` is not shown, and means STANDARD.
    pub table_class: Option<TableClass>,
    /// Key and value, in the order in which they were added.
    pub tags: Vec<(String, String)>,
    /// JSON text; stored, not enforced.
    pub resource_policy: Option<String>,
    /// The settings of the table; an index has its own in its schema.
    pub throughput: ThroughputSettings,
}

/// The throughput settings of a table or global index beside provisioned throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ThroughputSettings {
    pub on_demand: OnDemandThroughput,
    /// The requested or reached value; the one in effect is
    /// [`effective_warm`](super::TableSchema::effective_warm).
    pub warm: WarmThroughput,
}

/// The maxima on demand; each member may be absent. In UpdateTable -1 clears a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct OnDemandThroughput {
    pub max_read_request_units: Option<i64>,
    pub max_write_request_units: Option<i64>,
}

/// The units a second for which a table or index is warmed; each member may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct WarmThroughput {
    pub read_units_per_second: Option<i64>,
    pub write_units_per_second: Option<i64>,
}

/// `SSESpecification`, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    pub enabled: bool,
    pub kms_master_key_id: Option<String>,
}

api_enums! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    TableClass {
        Standard = "STANDARD",
        StandardInfrequentAccess = "STANDARD_INFREQUENT_ACCESS",
    }

    /// The images of an item in its stream records.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    StreamViewType {
        NewImage = "NEW_IMAGE",
        OldImage = "OLD_IMAGE",
        NewAndOldImages = "NEW_AND_OLD_IMAGES",
        KeysOnly = "KEYS_ONLY",
    }
}

impl StreamViewType {
    #[must_use]
    pub fn has_new_image(self) -> bool {
        matches!(self, Self::NewImage | Self::NewAndOldImages)
    }

    #[must_use]
    pub fn has_old_image(self) -> bool {
        matches!(self, Self::OldImage | Self::NewAndOldImages)
    }
}
