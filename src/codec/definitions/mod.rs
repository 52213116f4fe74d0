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
//! table           a definition, and what reading a text gives
//! models          Workbench, dynamodb_data_model.json    described        DescribeTable's response
//! ```

mod cloudformation;
mod described;
pub mod export;
mod models;
mod serverless;
mod table;
mod terraform;
mod yaml;

use serde_json::Value;

pub use table::{
    DefinitionError, DefinitionForm, Definitions, Parameters, TEXT_BYTES_MAX, TIME_TO_LIVE,
    TableDefinition,
};

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
    if cloudformation::resources(value).is_some() {
        Some(DefinitionForm::CloudFormation)
    } else if has("service") && (has("resources") || has("provider")) {
        Some(DefinitionForm::Serverless)
    } else if has("values") || has("planned_values") || has("terraform_version") {
        Some(DefinitionForm::TerraformJson)
    } else if has("DataModel") {
        Some(DefinitionForm::Workbench)
    } else if any(&value["tables"], &|table| table.get("KeySchema").is_some()) {
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
