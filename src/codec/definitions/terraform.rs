//! Terraform's tables: `aws_dynamodb_table` and `aws_dynamodb_table_item` of a state, of `terraform
//! show -json` and of a plan's JSON; and of a configuration (`.tf`), whose variables have their
//! defaults or are given. The module `terraform-aws-modules/dynamodb-table/aws` is read too.

use hcl::eval::{Context, Evaluate as _, FuncArgs, FuncDef, ParamType};
use hcl::structure::{Block, Body};
use serde_json::{Map, Value, json};

use super::table::{
    DefinitionError, DefinitionForm, Definitions, FoundTables, Parameters, TableDefinition,
    boolean, found, key_element, whole,
};

const TABLE: &str = "aws_dynamodb_table";
const ITEM: &str = "aws_dynamodb_table_item";
/// The deepest nesting of modules in a state.
const MODULES_MAX: usize = 32;
/// The longest configuration. Its parser recurses, so it is for a command that reads a person's own
/// file and not for a mount.
const SOURCE_BYTES_MAX: usize = 1024 * 1024;
/// The most rounds in which locals that need other locals get their values.
const LOCAL_ROUNDS_MAX: usize = 32;
/// The longest local, as JSON: locals that repeat others double with each of them.
const LOCAL_BYTES_MAX: usize = 64 * 1024;

/// True if a text looks like a configuration in Terraform's language.
pub(super) fn is_source(text: &str) -> bool {
    let openings = [
        "resource \"",
        "module \"",
        "variable \"",
        "locals {",
        "terraform {",
        "provider \"",
        "data \"",
        "output \"",
    ];
    !text.trim_start().starts_with(['{', '['])
        && text
            .lines()
            .any(|line| openings.iter().any(|opening| line.starts_with(opening)))
}

/// Reads the resources of a state or plan.
pub(super) fn tables(state: &Value) -> FoundTables {
    let root = ["values", "planned_values"]
        .iter()
        .find_map(|name| state.get(name)?.get("root_module"));
    let mut found = Vec::new();
    if let Some(root) = root {
        module_resources(root, MODULES_MAX, &mut found);
    }
    // The state's own file.
    for resource in state
        .get("resources")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let instances = resource.get("instances").and_then(Value::as_array);
        for instance in instances.into_iter().flatten() {
            found.extend(resource_of(resource, instance.get("attributes")));
        }
    }
    read_resources(found)
}

/// A resource's type, its label and its values.
struct Resource {
    kind: String,
    label: String,
    values: Map<String, Value>,
}

fn resource_of(resource: &Value, values: Option<&Value>) -> Option<Resource> {
    let word = |name: &str| resource.get(name)?.as_str().map(str::to_owned);
    let kind = word("type")?;
    ([TABLE, ITEM].contains(&kind.as_str())).then_some(())?;
    Some(Resource {
        label: word("name").unwrap_or_else(|| kind.clone()),
        values: values?.as_object()?.clone(),
        kind,
    })
}

fn module_resources(module: &Value, depth: usize, found: &mut Vec<Resource>) {
    let list = |name: &str| {
        module
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    found.extend(
        list("resources").filter_map(|resource| resource_of(resource, resource.get("values"))),
    );
    if depth > 0 {
        list("child_modules").for_each(|child| module_resources(child, depth - 1, found));
    }
}

fn read_resources(resources: Vec<Resource>) -> FoundTables {
    let (tables, items): (Vec<_>, Vec<_>) = resources
        .into_iter()
        .partition(|resource| resource.kind == TABLE);
    let mut found = found(tables.into_iter().map(|resource| {
        let table = table(&resource.label, &resource.values);
        (resource.label, table)
    }));
    for item in items {
        if let Err(why) = add_item(&mut found.tables, &item.values) {
            let fault = format!("{ITEM}.{}: {why}", item.label);
            found.faults.push(fault);
        }
    }
    found
}

fn add_item(tables: &mut [TableDefinition], values: &Map<String, Value>) -> Result<(), String> {
    let name = values.get("table_name").and_then(Value::as_str);
    let text = values.get("item").and_then(Value::as_str);
    let (Some(name), Some(text)) = (name, text) else {
        return Err("its table_name and item are texts".to_owned());
    };
    let item =
        serde_json::from_str(text).map_err(|error| format!("its item is no JSON: {error}"))?;
    let Some(table) = tables.iter_mut().find(|table| table.name() == Some(name)) else {
        return Err(format!(
            "the table {name} is not among the tables of this file"
        ));
    };
    table.items.push(item);
    Ok(())
}

/// Returns a member that is set: Terraform writes null for one that is not.
fn member<'v>(values: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    values
        .get(name)
        .filter(|value| !value.is_null() && value.as_str() != Some(""))
}

/// Returns the objects of a nested block, which is a list also where there is one.
fn blocks<'v>(
    values: &'v Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'v Map<String, Value>> {
    let list = match member(values, name) {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    list.into_iter().filter_map(Value::as_object)
}

/// Makes CreateTable's members of a resource's values.
fn table(label: &str, values: &Map<String, Value>) -> Result<TableDefinition, String> {
    let name = member(values, "name").ok_or_else(|| "it has no name".to_owned())?;
    let on_demand =
        member(values, "billing_mode").and_then(Value::as_str) == Some("PAY_PER_REQUEST");
    let mut request = Map::from_iter([("TableName".to_owned(), name.clone())]);
    let definitions = blocks(values, "attribute").chain(blocks(values, "attributes"));
    let definition = |attribute: &Map<String, Value>| json!({ "AttributeName": attribute.get("name"), "AttributeType": attribute.get("type") });
    request.insert(
        "AttributeDefinitions".to_owned(),
        definitions.map(definition).collect(),
    );
    request.insert("KeySchema".to_owned(), key_schema(values, None)?);
    let table_hash = member(values, "hash_key");
    for (own, of_module, out) in [
        (
            "local_secondary_index",
            "local_secondary_indexes",
            "LocalSecondaryIndexes",
        ),
        (
            "global_secondary_index",
            "global_secondary_indexes",
            "GlobalSecondaryIndexes",
        ),
    ] {
        let is_global = out == "GlobalSecondaryIndexes";
        let mut indexes = Vec::new();
        for index in blocks(values, own).chain(blocks(values, of_module)) {
            let schema = key_schema(index, table_hash.filter(|_| !is_global))?;
            let mut element = json!({ "IndexName": index.get("name"), "KeySchema": schema });
            let kind = member(index, "projection_type")
                .cloned()
                .unwrap_or_else(|| "ALL".into());
            element["Projection"] = json!({ "ProjectionType": kind });
            let more = member(index, "non_key_attributes")
                .filter(|more| more.as_array().is_none_or(|list| !list.is_empty()));
            if let Some(more) = more {
                element["Projection"]["NonKeyAttributes"] = more.clone();
            }
            if is_global {
                capacity(index, on_demand, &mut element);
            }
            indexes.push(element);
        }
        if !indexes.is_empty() {
            request.insert(out.to_owned(), indexes.into());
        }
    }
    let mode = if on_demand {
        "PAY_PER_REQUEST"
    } else {
        "PROVISIONED"
    };
    request.insert("BillingMode".to_owned(), mode.into());
    let mut throughput = json!({});
    capacity(values, on_demand, &mut throughput);
    request.extend(throughput.as_object().cloned().unwrap_or_default());
    settings(values, &mut request);
    let mut table = TableDefinition::new(label, request);
    let left_out = [
        "replica",
        "import_table",
        "restore_source_name",
        "point_in_time_recovery",
    ];
    let is_set = |name: &&str| {
        member(values, name)
            .is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()))
    };
    table.notes = left_out
        .iter()
        .filter(|name| is_set(name))
        .map(|name| format!("{name} is left out"))
        .collect();
    Ok(table)
}

/// Adds a stream, time to live, encryption, class, protection and tags.
fn settings(values: &Map<String, Value>, request: &mut Map<String, Value>) {
    let is_true = |value: Option<&Value>| value.map(boolean) == Some(true.into());
    if is_true(member(values, "stream_enabled")) {
        let view = member(values, "stream_view_type")
            .cloned()
            .unwrap_or_else(|| "NEW_AND_OLD_IMAGES".into());
        request.insert(
            "StreamSpecification".to_owned(),
            json!({ "StreamEnabled": true, "StreamViewType": view }),
        );
    }
    let ttl = blocks(values, "ttl")
        .find(|ttl| is_true(member(ttl, "enabled")) || member(ttl, "enabled").is_none());
    let attribute = ttl
        .and_then(|ttl| member(ttl, "attribute_name"))
        .or_else(|| {
            member(values, "ttl_attribute_name").filter(|_| is_true(member(values, "ttl_enabled")))
        });
    if let Some(attribute) = attribute {
        request.insert(
            "TimeToLiveSpecification".to_owned(),
            json!({ "Enabled": true, "AttributeName": attribute }),
        );
    }
    if let Some(encryption) = blocks(values, "server_side_encryption")
        .find(|encryption| is_true(member(encryption, "enabled")))
    {
        let mut specification = json!({ "Enabled": true, "SSEType": "KMS" });
        if let Some(key) = member(encryption, "kms_key_arn") {
            specification["KMSMasterKeyId"] = key.clone();
        }
        request.insert("SSESpecification".to_owned(), specification);
    }
    if let Some(class) = member(values, "table_class") {
        request.insert("TableClass".to_owned(), class.clone());
    }
    if let Some(protection) = member(values, "deletion_protection_enabled") {
        request.insert("DeletionProtectionEnabled".to_owned(), boolean(protection));
    }
    let tags = member(values, "tags")
        .and_then(Value::as_object)
        .filter(|tags| !tags.is_empty());
    if let Some(tags) = tags {
        let tag = |(key, value): (&String, &Value)| json!({ "Key": key, "Value": value });
        request.insert("Tags".to_owned(), tags.iter().map(tag).collect());
    }
}

/// Returns a key schema: of `hash_key` and `range_key`, else of `key_schema` blocks. A local index
/// has the partition key of its table.
fn key_schema(values: &Map<String, Value>, table_hash: Option<&Value>) -> Result<Value, String> {
    let mut schema = Vec::new();
    for (key, key_type) in [
        (member(values, "hash_key").or(table_hash), "HASH"),
        (member(values, "range_key"), "RANGE"),
    ] {
        schema.extend(
            key.and_then(Value::as_str)
                .map(|name| key_element(name, key_type)),
        );
    }
    if schema.is_empty() {
        let element = |key: &Map<String, Value>| json!({ "AttributeName": key.get("attribute_name"), "KeyType": key.get("key_type") });
        schema.extend(blocks(values, "key_schema").map(element));
    }
    if schema.is_empty() {
        return Err("it has no hash_key".to_owned());
    }
    Ok(schema.into())
}

/// Adds the throughput that fits the billing mode.
fn capacity(values: &Map<String, Value>, on_demand: bool, out: &mut Value) {
    let units = |values: &Map<String, Value>, name: &str| member(values, name).map(whole);
    if on_demand {
        if let Some(limits) = blocks(values, "on_demand_throughput").next() {
            out["OnDemandThroughput"] = [
                ("MaxReadRequestUnits", "max_read_request_units"),
                ("MaxWriteRequestUnits", "max_write_request_units"),
            ]
            .into_iter()
            .filter_map(|(out, own)| Some((out.to_owned(), units(limits, own)?)))
            .collect::<Map<_, _>>()
            .into();
        }
        return;
    }
    let units = |name: &str| units(values, name).unwrap_or_default();
    out["ProvisionedThroughput"] = json!({ "ReadCapacityUnits": units("read_capacity"), "WriteCapacityUnits": units("write_capacity") });
}

/// Reads the tables of a configuration.
pub(super) fn read_source(
    text: &str,
    parameters: &Parameters,
) -> Result<Definitions, DefinitionError> {
    let malformed = |why: String| DefinitionError::Malformed(DefinitionForm::TerraformSource, why);
    if text.len() > SOURCE_BYTES_MAX {
        return Err(malformed(
            "it is longer than 1 MB; import `terraform show -json`".to_owned(),
        ));
    }
    let body = hcl::parse(text).map_err(|error| malformed(error.to_string()))?;
    let mut faults = Vec::new();
    let variables = variables(&body, parameters);
    let locals = locals(&body, &variables);
    let mut resources = Vec::new();
    let mut named = Map::new();
    let is_module = |block: &Block| {
        let source = block
            .body()
            .attributes()
            .find(|attribute| attribute.key() == "source");
        block.identifier() == "module"
            && source.is_some_and(|source| source.expr().to_string().contains("dynamodb-table"))
    };
    for wanted in [TABLE, ITEM] {
        let context = context(&variables, &locals, &named);
        for block in body.blocks() {
            let label = |at: usize| block.labels().get(at).map_or("", |label| label.as_str());
            let (kind, label) = match block.identifier() {
                "resource" if label(0) == wanted => (wanted, label(1)),
                "module" if wanted == TABLE && is_module(block) => (TABLE, label(0)),
                _ => continue,
            };
            match values(block.body(), &context) {
                Ok(values) => resources.push(Resource {
                    kind: kind.to_owned(),
                    label: label.to_owned(),
                    values,
                }),
                Err(why) => faults.push(format!("{label}: {why}")),
            }
        }
        // An item names its table by the resource: `aws_dynamodb_table.orders.name`.
        named = resources
            .iter()
            .map(|resource| {
                let of_table = ["name", "hash_key", "range_key"].map(|name| {
                    (
                        name.to_owned(),
                        resource.values.get(name).cloned().unwrap_or_default(),
                    )
                });
                let mut of_table = Map::from_iter(of_table);
                let name = of_table.get("name").cloned().unwrap_or_default();
                of_table.insert("id".to_owned(), name);
                (resource.label.clone(), of_table.into())
            })
            .collect();
    }
    let mut found = read_resources(resources);
    found.faults.extend(faults);
    Ok(found.of_form(DefinitionForm::TerraformSource))
}

/// Returns the variables that have a default or are given.
fn variables(body: &Body, parameters: &Parameters) -> Map<String, Value> {
    let mut out = Map::new();
    for block in body
        .blocks()
        .filter(|block| block.identifier() == "variable")
    {
        let Some(name) = block.labels().first().map(|label| label.as_str()) else {
            continue;
        };
        let default = block
            .body()
            .attributes()
            .find(|attribute| attribute.key() == "default");
        let default = default.and_then(|default| evaluate(default.expr(), &functions()).ok());
        out.extend(default.map(|default| (name.to_owned(), default)));
    }
    out.extend(
        parameters
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into())),
    );
    out
}

/// Returns the locals that can be computed. A local may need others, in any order.
fn locals(body: &Body, variables: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for _ in 0..LOCAL_ROUNDS_MAX {
        let context = context(variables, &out, &Map::new());
        let blocks = body.blocks().filter(|block| block.identifier() == "locals");
        let all = blocks.flat_map(|block| block.body().attributes());
        let more: Vec<(String, Value)> = all
            .filter(|local| !out.contains_key(local.key()))
            .filter_map(|local| {
                let value = evaluate(local.expr(), &context).ok()?;
                let is_short = value.to_string().len() <= LOCAL_BYTES_MAX;
                is_short.then(|| (local.key().to_owned(), value))
            })
            .collect();
        if more.is_empty() {
            break;
        }
        out.extend(more);
    }
    out
}

fn context(
    variables: &Map<String, Value>,
    locals: &Map<String, Value>,
    tables: &Map<String, Value>,
) -> Context<'static> {
    let mut context = functions();
    let to_hcl = |values: &Map<String, Value>| hcl::to_value(values).unwrap_or_default();
    context.declare_var("var", to_hcl(variables));
    context.declare_var("local", to_hcl(locals));
    context.declare_var(TABLE, to_hcl(tables));
    context.declare_var("terraform", hcl::value!({ "workspace" = "default" }));
    context
}

/// Returns a context with the functions that definitions commonly use.
fn functions() -> Context<'static> {
    fn text(args: &FuncArgs, at: usize) -> String {
        args.get(at)
            .map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
            .unwrap_or_default()
    }
    fn lower(args: FuncArgs) -> Result<hcl::Value, String> {
        Ok(text(&args, 0).to_lowercase().into())
    }
    fn upper(args: FuncArgs) -> Result<hcl::Value, String> {
        Ok(text(&args, 0).to_uppercase().into())
    }
    fn replace(args: FuncArgs) -> Result<hcl::Value, String> {
        Ok(text(&args, 0)
            .replace(&text(&args, 1), &text(&args, 2))
            .into())
    }
    fn join(args: FuncArgs) -> Result<hcl::Value, String> {
        let list = args
            .get(1)
            .and_then(|list| list.as_array())
            .cloned()
            .unwrap_or_default();
        let parts: Vec<String> = list
            .iter()
            .map(|part| {
                part.as_str()
                    .map_or_else(|| part.to_string(), str::to_owned)
            })
            .collect();
        Ok(parts.join(&text(&args, 0)).into())
    }
    fn jsonencode(args: FuncArgs) -> Result<hcl::Value, String> {
        let value = args.first().ok_or("jsonencode has a value")?;
        serde_json::to_string(value)
            .map(hcl::Value::from)
            .map_err(|error| error.to_string())
    }
    fn merge(args: FuncArgs) -> Result<hcl::Value, String> {
        let maps = args.iter().filter_map(|map| map.as_object()).flatten();
        Ok(hcl::Value::Object(
            maps.map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        ))
    }
    fn tostring(args: FuncArgs) -> Result<hcl::Value, String> {
        Ok(text(&args, 0).into())
    }
    let mut context = Context::new();
    let any = || ParamType::Any;
    context.declare_func("lower", FuncDef::new(lower, [any()]));
    context.declare_func("upper", FuncDef::new(upper, [any()]));
    context.declare_func("tostring", FuncDef::new(tostring, [any()]));
    context.declare_func("replace", FuncDef::new(replace, [any(), any(), any()]));
    context.declare_func("join", FuncDef::new(join, [any(), any()]));
    context.declare_func("jsonencode", FuncDef::new(jsonencode, [any()]));
    context.declare_func(
        "merge",
        FuncDef::builder().variadic_param(any()).build(merge),
    );
    context
}

fn evaluate(expression: &hcl::Expression, context: &Context<'_>) -> Result<Value, String> {
    let value = expression
        .evaluate(context)
        .map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Evaluates a resource's attributes and blocks.
fn values(body: &Body, context: &Context<'_>) -> Result<Map<String, Value>, String> {
    /// Members that decide what a table is.
    const REQUIRED: &[&str] = &[
        "name",
        "hash_key",
        "range_key",
        "billing_mode",
        "attribute",
        "attributes",
        "type",
        "projection_type",
        "non_key_attributes",
        "global_secondary_indexes",
        "local_secondary_indexes",
        "attribute_name",
        "enabled",
        "table_name",
        "item",
        "read_capacity",
        "write_capacity",
    ];
    let mut out = Map::new();
    for attribute in body.attributes() {
        let name = attribute.key();
        match evaluate(attribute.expr(), context) {
            Ok(value) => {
                out.insert(name.to_owned(), value);
            }
            Err(_) if !REQUIRED.contains(&name) => {}
            Err(_) => {
                let source = hcl::format::to_string(attribute.expr()).unwrap_or_default();
                return Err(format!(
                    "{name} = {} is not known from this file; give --parameter VARIABLE=VALUE, or import the output of `terraform show -json`",
                    source.trim()
                ));
            }
        }
    }
    for block in body.blocks() {
        let name = block.identifier();
        if name == "dynamic" {
            let label = block.labels().first().map_or("", |label| label.as_str());
            return Err(format!(
                "its dynamic block {label} needs Terraform; import the output of `terraform show -json`"
            ));
        }
        if ["lifecycle", "provisioner", "timeouts"].contains(&name) {
            continue;
        }
        let inner = values(block.body(), context)?;
        let list = out.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(inner.into());
        }
    }
    Ok(out)
}
