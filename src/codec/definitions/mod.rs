//! Definitions of tables as people keep them, told by their content: CreateTable and DescribeTable
//! as JSON, templates of CloudFormation, SAM, CDK and the Serverless framework, Terraform (its JSON
//! and its source), models of NoSQL Workbench and of AWS's `dynamodb_data_model.json`.
//!
//! Each form is read into CreateTable's members (`TableDefinition`), so that the wire's reader
//! checks them with DynamoDB's own sentences. `export` writes three of the forms.
//!
//! ```text
//! yaml            YAML as JSON values, and back          cloudformation   templates, and their functions
//! serverless      the variables of serverless.yml        terraform        resources of its JSON and of its source
//! models          Workbench, dynamodb_data_model.json    described        DescribeTable's response
//! ```

mod cloudformation;
mod described;
pub mod export;
mod models;
mod serverless;
mod terraform;
mod yaml;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The longest text of definitions. Models have sample items; a table of more is for `ddbfs load`.
pub const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Values that a template leaves to its user, by name: parameters, variables, options.
pub type Parameters = BTreeMap<String, String>;

/// A table's definition.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDefinition {
    /// The name in its file: a logical id, a resource's label, else the table's.
    pub label: String,
    /// CreateTable's members, with `TimeToLiveSpecification` as `schema.json` has it.
    pub request: Map<String, Value>,
    /// Items in DynamoDB JSON.
    pub items: Vec<Value>,
    /// Parts of the definition that are left out or assumed, a sentence each.
    pub notes: Vec<String>,
}

impl TableDefinition {
    fn new(label: &str, request: Map<String, Value>) -> Self {
        Self {
            label: label.to_owned(),
            request,
            items: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the table's name, if the definition has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.request.get("TableName").and_then(Value::as_str)
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
struct FoundTables {
    tables: Vec<TableDefinition>,
    faults: Vec<String>,
    skipped: Vec<String>,
}

impl FoundTables {
    fn of_form(self, form: DefinitionForm) -> Definitions {
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
fn found(read: impl Iterator<Item = (String, Result<TableDefinition, String>)>) -> FoundTables {
    let mut found = FoundTables::default();
    for (label, table) in read {
        match table {
            Ok(table) => found.tables.push(table),
            Err(why) => found.faults.push(format!("{label}: {why}")),
        }
    }
    found
}

/// Reads the tables of a text.
///
/// # Errors
/// A text that is too long, of no known form, or not well formed. A table that cannot be read is
/// among the faults of the result.
pub fn read(text: &[u8], parameters: &Parameters) -> Result<Definitions, DefinitionError> {
    let text = checked(text)?;
    if terraform::is_source(text) {
        return terraform::read_source(text, parameters);
    }
    read_data(text, parameters)
}

/// Reads the tables of a text as [`read`] does, but for a Terraform configuration, whose parser
/// recurses as deeply as the text is nested: a process that serves others does not read one.
///
/// # Errors
/// As [`read`]; `Malformed` for a configuration.
pub fn read_bounded(text: &[u8], parameters: &Parameters) -> Result<Definitions, DefinitionError> {
    let text = checked(text)?;
    if terraform::is_source(text) {
        let why =
            "`ddbfs import FILE` reads it, and the output of `terraform show -json` is read here";
        return Err(DefinitionError::Malformed(
            DefinitionForm::TerraformSource,
            why.to_owned(),
        ));
    }
    read_data(text, parameters)
}

fn checked(text: &[u8]) -> Result<&str, DefinitionError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(DefinitionError::TooLong);
    }
    let text = std::str::from_utf8(text).map_err(|_| DefinitionError::NotUtf8)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn read_data(text: &str, parameters: &Parameters) -> Result<Definitions, DefinitionError> {
    let value = if text.trim_start().starts_with(['{', '[']) {
        serde_json::from_str(text).map_err(|error| error.to_string())
    } else {
        yaml::parse(text)
    };
    let value: Value = value.map_err(DefinitionError::Unknown)?;
    let form = form(&value).ok_or_else(|| DefinitionError::Unknown(appearance(&value)))?;
    let found = match form {
        DefinitionForm::CreateTable | DefinitionForm::DescribeTable => described::tables(&value),
        DefinitionForm::CloudFormation => cloudformation::tables(&value, parameters),
        DefinitionForm::Serverless => serverless::tables(&value, parameters),
        DefinitionForm::TerraformJson | DefinitionForm::TerraformSource => {
            terraform::tables(&value)
        }
        DefinitionForm::Workbench => models::workbench_tables(&value),
        DefinitionForm::DataModel => models::data_model_tables(&value),
    };
    Ok(found.of_form(form))
}

/// Returns the form of a value by the members that only this form has.
fn form(value: &Value) -> Option<DefinitionForm> {
    let has = |name: &str| value.get(name).is_some();
    let any = |list: &Value, is_it: &dyn Fn(&Value) -> bool| {
        list.as_array().is_some_and(|list| list.iter().any(is_it))
    };
    let is_table = |table: &Value| table.get("KeySchema").is_some();
    if cloudformation::resources(value).is_some() {
        Some(DefinitionForm::CloudFormation)
    } else if has("service") && (has("resources") || has("provider")) {
        Some(DefinitionForm::Serverless)
    } else if has("values") || has("planned_values") || has("terraform_version") {
        Some(DefinitionForm::TerraformJson)
    } else if has("DataModel") {
        Some(DefinitionForm::Workbench)
    } else if value
        .get("tables")
        .is_some_and(|tables| any(tables, &is_table))
    {
        Some(DefinitionForm::DataModel)
    } else if let Some(table) = described::described(value) {
        Some(if described::is_description(table) {
            DefinitionForm::DescribeTable
        } else {
            DefinitionForm::CreateTable
        })
    } else {
        any(value, &|element| described::described(element).is_some())
            .then_some(DefinitionForm::CreateTable)
    }
}

/// Returns a few words that tell a reader which text it was.
fn appearance(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let names: Vec<&str> = members.keys().take(4).map(String::as_str).collect();
            format!("its members are {}", names.join(", "))
        }
        Value::Array(list) => format!("a list of {}", list.len()),
        _ => "a text without structure".to_owned(),
    }
}

/// Returns an element of a key schema.
fn key_element(name: &str, key_type: &str) -> Value {
    serde_json::json!({ "AttributeName": name, "KeyType": key_type })
}

/// Returns a whole number, which templates also write as a text.
fn whole(value: &Value) -> Value {
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
fn boolean(value: &Value) -> Value {
    match value.as_str() {
        Some("true" | "True") => true.into(),
        Some("false" | "False") => false.into(),
        _ => value.clone(),
    }
}

/// Returns a throughput with its units as numbers.
fn throughput(value: &Value) -> Value {
    let Value::Object(members) = value else {
        return value.clone();
    };
    members
        .iter()
        .map(|(name, units)| (name.clone(), whole(units)))
        .collect::<Map<_, _>>()
        .into()
}
