//! The types of definitions: a table's, those of a text, the reasons why there are none; and the
//! values that several forms write alike.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The longest text of definitions. Models have sample items; a table of more is for `ddbfs load`.
pub const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A member of CloudFormation, not of CreateTable: UpdateTimeToLive follows the creation.
pub const TIME_TO_LIVE: &str = "TimeToLiveSpecification";

/// Values that a template leaves to its user, by name: parameters, variables, options.
pub type Parameters = BTreeMap<String, String>;

/// A table's definition.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDefinition {
    /// The name in its file: a logical id, a resource's label, else the table's.
    pub label: String,
    /// CreateTable's members, with `TimeToLiveSpecification` as `schema.json` has it.
    pub request: Value,
    /// Items in DynamoDB JSON.
    pub items: Vec<Value>,
    /// Access patterns of a model: facets of NoSQL Workbench, or elements of `access_patterns`.
    pub patterns: Vec<Value>,
    /// Parts of the definition that are left out or assumed, a sentence each.
    pub notes: Vec<String>,
}

impl TableDefinition {
    pub(super) fn new(label: &str, request: impl Into<Value>) -> Self {
        Self {
            label: label.to_owned(),
            request: request.into(),
            items: Vec::new(),
            patterns: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the table's name, if the definition has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.request["TableName"].as_str()
    }
}

/// The form of a text of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionForm {
    CreateTable,
    DescribeTable,
    CloudFormation,
    Serverless,
    TerraformJson,
    TerraformSource,
    Workbench,
    DataModel,
}

impl DefinitionForm {
    /// Returns the form's name in a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CreateTable => "a CreateTable request",
            Self::DescribeTable => "the output of describe-table",
            Self::CloudFormation => "a CloudFormation template",
            Self::Serverless => "a serverless.yml",
            Self::TerraformJson => "Terraform's JSON",
            Self::TerraformSource => "a Terraform configuration",
            Self::Workbench => "a model of NoSQL Workbench",
            Self::DataModel => "a dynamodb_data_model.json",
        }
    }
}

/// The tables of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Definitions {
    pub form: DefinitionForm,
    pub tables: Vec<TableDefinition>,
    /// Tables that could not be read, each with its reason.
    pub faults: Vec<String>,
    /// Tables that the text itself leaves out, each with its reason.
    pub skipped: Vec<String>,
}

impl Definitions {
    /// Returns the table of this name, else the only one; and true if there are others.
    ///
    /// # Errors
    /// A sentence: there is no table, or several and none of this name.
    pub fn into_table(self, name: &str) -> Result<(TableDefinition, bool), String> {
        let (form, mut tables) = (self.form.name(), self.tables);
        let is_it = |table: &TableDefinition| table.label == name || table.name() == Some(name);
        let only = (tables.len() == 1).then_some(0);
        match (tables.iter().position(is_it).or(only), &*self.faults) {
            (Some(at), _) => Ok((tables.swap_remove(at), !tables.is_empty())),
            (None, []) if tables.is_empty() => Err(format!("this is {form} without a table")),
            (None, faults) if tables.is_empty() => Err(faults.join("; ")),
            (None, _) => Err(format!(
                "this is {form} with {} tables ({}), and none is called {name}; `ddbfs import FILE` creates all of them",
                tables.len(),
                named(&tables)
            )),
        }
    }
}

/// Returns the names of tables, at most a few.
fn named(tables: &[TableDefinition]) -> String {
    const NAMES_MAX: usize = 6;
    let names: Vec<&str> = tables
        .iter()
        .take(NAMES_MAX)
        .map(|table| table.name().unwrap_or(&table.label))
        .collect();
    let more = if tables.len() > NAMES_MAX {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", names.join(", "))
}

/// The reason why a text has no definitions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    #[error("definitions have at most {} MB", TEXT_BYTES_MAX / 1024 / 1024)]
    TooLong,
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// A text of none of the forms.
    #[error(
        "this is no definition of a table: expected CreateTable or describe-table JSON, a template of CloudFormation, SAM, CDK or \
         Serverless, Terraform, or a model of NoSQL Workbench ({0})"
    )]
    Unknown(String),
    /// A text of one of the forms that is not well formed.
    #[error("{form} that cannot be read: {why}", form = .0.name(), why = .1)]
    Malformed(DefinitionForm, String),
}

/// The tables of a text before its form is named, as in [`Definitions`].
#[derive(Debug, Default)]
pub(super) struct FoundTables {
    pub tables: Vec<TableDefinition>,
    pub faults: Vec<String>,
    pub skipped: Vec<String>,
}

impl FoundTables {
    pub(super) fn of_form(self, form: DefinitionForm) -> Definitions {
        let Self {
            tables,
            faults,
            skipped,
        } = self;
        Definitions {
            form,
            tables,
            faults,
            skipped,
        }
    }
}

/// Collects tables by their labels, and the faults of those that could not be read.
pub(super) fn found(
    read: impl Iterator<Item = (String, Result<TableDefinition, String>)>,
) -> FoundTables {
    let mut found = FoundTables::default();
    for (label, table) in read {
        match table {
            Ok(table) => found.tables.push(table),
            Err(why) => found.faults.push(format!("{label}: {why}")),
        }
    }
    found
}

/// Returns the elements of a list; none if there is no list of this name.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}

/// The members of a table's indexes.
pub(super) const INDEXES: [&str; 2] = ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"];

pub(super) fn billing_mode(on_demand: bool) -> &'static str {
    if on_demand {
        "PAY_PER_REQUEST"
    } else {
        "PROVISIONED"
    }
}

pub(super) fn is_on_demand(table: &Value) -> bool {
    table["BillingMode"] == billing_mode(true)
}

/// Returns an element of a key schema.
pub(super) fn key_element(name: &str, key_type: &str) -> Value {
    serde_json::json!({ "AttributeName": name, "KeyType": key_type })
}

/// Returns a whole number, which templates also write as a text.
pub(super) fn whole(value: &Value) -> Value {
    let number = value
        .as_str()
        .and_then(|text| text.trim().parse::<i64>().ok());
    match (number, value.as_f64()) {
        (Some(number), _) => number.into(),
        (None, Some(float)) if !value.is_i64() && float.fract() == 0.0 && float.abs() < 1e15 => {
            #[allow(clippy::cast_possible_truncation)]
            let number = float as i64;
            number.into()
        }
        _ => value.clone(),
    }
}

/// Returns a boolean, which templates also write as a text.
pub(super) fn boolean(value: &Value) -> Value {
    match value.as_str() {
        Some("true" | "True") => true.into(),
        Some("false" | "False") => false.into(),
        _ => value.clone(),
    }
}

/// Returns a throughput with its units as numbers.
pub(super) fn throughput(value: &Value) -> Value {
    let Value::Object(members) = value else {
        return value.clone();
    };
    members
        .iter()
        .map(|(name, units)| (name.clone(), whole(units)))
        .collect::<Map<_, _>>()
        .into()
}
