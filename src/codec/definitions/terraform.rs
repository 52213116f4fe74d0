//! Terraform's tables: `aws_dynamodb_table`, `aws_dynamodb_vector_index` and `aws_dynamodb_table_item`
//! of a state, of `terraform show -json` and of a plan's JSON; and of a configuration (`.tf`), whose variables have their
//! defaults or are given. Values that take functions, loops or other resources are named: Terraform
//! itself computes them.

use hcl::eval::{Context, Evaluate};
use hcl::format::Format;
use hcl::structure::{Block, Body, Structure};
use serde_json::{Map, Value, json};

use super::table::{
    DefinitionError, DefinitionForm, Definitions, FoundTables, INDEXES, Parameters,
    TableDefinition, billing_mode, boolean, found, key_element, list, whole,
};

/// A member of a resource, of a block before a slash; and the JSON pointer of CreateTable's.
pub(super) type MemberPath = (&'static str, &'static str);

pub(super) const TABLE_MEMBERS: [MemberPath; 10] = [
    ("name", "/TableName"),
    ("billing_mode", "/BillingMode"),
    ("stream_enabled", "/StreamSpecification/StreamEnabled"),
    ("stream_view_type", "/StreamSpecification/StreamViewType"),
    ("table_class", "/TableClass"),
    ("deletion_protection_enabled", "/DeletionProtectionEnabled"),
    (
        "ttl/attribute_name",
        "/TimeToLiveSpecification/AttributeName",
    ),
    ("ttl/enabled", "/TimeToLiveSpecification/Enabled"),
    (
        "server_side_encryption/enabled",
        "/SSESpecification/Enabled",
    ),
    (
        "server_side_encryption/kms_key_arn",
        "/SSESpecification/KMSMasterKeyId",
    ),
];
pub(super) const INDEX_MEMBERS: [MemberPath; 3] = [
    ("name", "/IndexName"),
    ("projection_type", "/Projection/ProjectionType"),
    ("non_key_attributes", "/Projection/NonKeyAttributes"),
];
pub(super) const PROVISIONED: [MemberPath; 2] = [
    ("read_capacity", "/ProvisionedThroughput/ReadCapacityUnits"),
    (
        "write_capacity",
        "/ProvisionedThroughput/WriteCapacityUnits",
    ),
];
pub(super) const ON_DEMAND: [MemberPath; 2] = [
    (
        "on_demand_throughput/max_read_request_units",
        "/OnDemandThroughput/MaxReadRequestUnits",
    ),
    (
        "on_demand_throughput/max_write_request_units",
        "/OnDemandThroughput/MaxWriteRequestUnits",
    ),
];
/// The members of a vector index, which is a resource of its own.
pub(super) const VECTOR_MEMBERS: [MemberPath; 6] = [
    ("index_name", "/IndexName"),
    (
        "vector_attribute/attribute_name",
        "/VectorAttribute/AttributeName",
    ),
    ("dimensions", "/Dimensions"),
    ("distance_function", "/DistanceFunction"),
    ("projection/projection_type", "/Projection/ProjectionType"),
    (
        "projection/non_key_attributes",
        "/Projection/NonKeyAttributes",
    ),
];
/// The blocks of indexes, in the order of [`INDEXES`].
pub(super) const INDEX_BLOCKS: [&str; 2] = ["local_secondary_index", "global_secondary_index"];

pub(super) const TABLE: &str = "aws_dynamodb_table";
pub(super) const VECTOR_INDEX: &str = "aws_dynamodb_vector_index";
const ITEM: &str = "aws_dynamodb_table_item";
/// An index by itself, which is named and not read.
const GLOBAL_INDEX: &str = "aws_dynamodb_global_secondary_index";
/// The resources that are looked at, a table's before those that name it.
const KINDS: [&str; 4] = [TABLE, VECTOR_INDEX, ITEM, GLOBAL_INDEX];
/// The deepest nesting of modules in a state.
const MODULES_MAX: usize = 32;
/// The longest configuration. Its parser recurses, so it is for a command that reads a person's own
/// file and not for a mount.
const SOURCE_BYTES_MAX: usize = 256 * 1024;
/// The longest chain of locals that refer to locals.
const LOCALS_DEPTH_MAX: usize = 8;
/// The longest text of all variables or all locals. Each reference takes a copy of them.
const VALUES_BYTES_MAX: usize = 16 * 1024;
/// The way for what a configuration does not tell.
const FROM_STATE: &str = "import the output of `terraform show -json`";
/// Blocks and members that are not kept here.
const LEFT_OUT: &[&str] = &[
    "replica",
    "import_table",
    "restore_source_name",
    "point_in_time_recovery",
];
/// Members that make no difference to what a table is.
const OPTIONAL: &[&str] = &[
    "tags",
    "tags_all",
    "depends_on",
    "provider",
    "kms_key_arn",
    "region",
    "lifecycle",
    "provisioner",
    "timeouts",
];

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
    for resource in list(state, "resources") {
        for instance in list(resource, "instances") {
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
    (KINDS.contains(&kind.as_str())).then_some(())?;
    Some(Resource {
        label: word("name").unwrap_or_else(|| kind.clone()),
        values: values?.as_object()?.clone(),
        kind,
    })
}

fn module_resources(module: &Value, depth: usize, found: &mut Vec<Resource>) {
    let resources = list(module, "resources");
    found.extend(resources.filter_map(|resource| resource_of(resource, resource.get("values"))));
    if depth > 0 {
        list(module, "child_modules").for_each(|child| module_resources(child, depth - 1, found));
    }
}

fn read_resources(resources: Vec<Resource>) -> FoundTables {
    let (tables, parts): (Vec<_>, Vec<_>) = resources
        .into_iter()
        .partition(|resource| resource.kind == TABLE);
    let mut found = found(tables.into_iter().map(|resource| {
        let table = table(&resource.label, &resource.values);
        (resource.label, table)
    }));
    for Resource {
        kind,
        label,
        values,
    } in parts
    {
        let added = table_of(&mut found.tables, &values).and_then(|table| match kind.as_str() {
            ITEM => add_item(table, &values),
            VECTOR_INDEX => {
                add_vector_index(table, &values);
                Ok(())
            }
            _ => Err(format!(
                "its table is made without this index: write it as a block {} of the table",
                INDEX_BLOCKS[1]
            )),
        });
        if let Err(why) = added {
            found.faults.push(format!("{kind}.{label}: {why}"));
        }
    }
    found
}

/// Returns the table that a resource names.
fn table_of<'t>(
    tables: &'t mut [TableDefinition],
    values: &Map<String, Value>,
) -> Result<&'t mut TableDefinition, String> {
    let name = values.get("table_name").and_then(Value::as_str);
    let name = name.ok_or("its table_name is no text")?;
    let mut tables = tables.iter_mut();
    let table = tables.find(|table| table.name() == Some(name));
    table.ok_or_else(|| format!("the table {name} is not among the tables of this file"))
}

fn add_item(table: &mut TableDefinition, values: &Map<String, Value>) -> Result<(), String> {
    let text = values.get("item").and_then(Value::as_str);
    let item = serde_json::from_str(text.ok_or("its item is no text")?);
    let item = item.map_err(|error| format!("its item is no JSON: {error}"))?;
    table.items.push(item);
    Ok(())
}

/// Adds a vector index, and the attributes of its SearchSchema, which its table does not declare.
fn add_vector_index(table: &mut TableDefinition, values: &Map<String, Value>) {
    let (mut index, mut schema) = (json!({}), Vec::new());
    copy(values, &VECTOR_MEMBERS, &mut index);
    let mut definitions: Vec<_> = list(&table.request, "AttributeDefinitions")
        .cloned()
        .collect();
    for element in blocks(values, "search_schema") {
        let name = element.get("attribute_name");
        schema
            .push(json!({ "AttributeName": name, "SearchSchemaElementType": element.get("type") }));
        if !definitions
            .iter()
            .any(|known| known.get("AttributeName") == name)
        {
            definitions.push(
                json!({ "AttributeName": name, "AttributeType": element.get("attribute_type") }),
            );
        }
    }
    definitions.sort_by(|a, b| {
        a["AttributeName"]
            .as_str()
            .cmp(&b["AttributeName"].as_str())
    });
    if !schema.is_empty() {
        index["SearchSchema"] = schema.into();
    }
    table.request["AttributeDefinitions"] = definitions.into();
    let indexes = &mut table.request["VectorIndexes"];
    match indexes.as_array_mut() {
        Some(indexes) => indexes.push(index),
        None => *indexes = json!([index]),
    }
}

/// Returns a member that is set: Terraform writes null for one that is not.
fn member<'v>(values: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    values
        .get(name)
        .filter(|value| !value.is_null() && **value != "" && **value != json!([]))
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
    let mut request = json!({});
    copy(values, &TABLE_MEMBERS, &mut request);
    if request.get("TableName").is_none() {
        return Err("it has no name".to_owned());
    }
    let on_demand = request["BillingMode"] == billing_mode(true);
    request["BillingMode"] = billing_mode(on_demand).into();
    let definition = |attribute: &Map<String, Value>| json!({ "AttributeName": attribute.get("name"), "AttributeType": attribute.get("type") });
    request["AttributeDefinitions"] = blocks(values, "attribute").map(definition).collect();
    request["KeySchema"] = key_schema(values, None)?;
    let table_hash = member(values, "hash_key");
    for (own, out) in INDEX_BLOCKS.into_iter().zip(INDEXES) {
        let is_global = out == "GlobalSecondaryIndexes";
        let mut indexes = Vec::new();
        for index in blocks(values, own) {
            let schema = key_schema(index, table_hash.filter(|_| !is_global))?;
            let mut element =
                json!({ "KeySchema": schema, "Projection": { "ProjectionType": "ALL" } });
            copy(index, &INDEX_MEMBERS, &mut element);
            if is_global {
                capacity(index, on_demand, &mut element);
            }
            indexes.push(element);
        }
        if !indexes.is_empty() {
            request[out] = indexes.into();
        }
    }
    capacity(values, on_demand, &mut request);
    switched(
        &mut request,
        "StreamSpecification",
        "StreamEnabled",
        "StreamViewType",
        "NEW_AND_OLD_IMAGES",
    );
    switched(
        &mut request,
        "SSESpecification",
        "Enabled",
        "SSEType",
        "KMS",
    );
    let expiry = &mut request["TimeToLiveSpecification"];
    if expiry["AttributeName"].is_string() && expiry["Enabled"].is_null() {
        expiry["Enabled"] = true.into();
    }
    switched(
        &mut request,
        "TimeToLiveSpecification",
        "Enabled",
        "AttributeName",
        "",
    );
    let tags = member(values, "tags").and_then(Value::as_object);
    if let Some(tags) = tags.filter(|tags| !tags.is_empty()) {
        let tag = |(key, value): (&String, &Value)| json!({ "Key": key, "Value": value });
        request["Tags"] = tags.iter().map(tag).collect();
    }
    let mut table = TableDefinition::new(label, request);
    let is_set = |name: &&&str| member(values, name).is_some();
    let left_out = LEFT_OUT.iter().filter(is_set);
    table.notes = left_out.map(|name| format!("{name} is left out")).collect();
    Ok(table)
}

/// Copies the members that are set.
fn copy(values: &Map<String, Value>, members: &[MemberPath], out: &mut Value) {
    for (own, path) in members {
        let value = match own.split_once('/') {
            Some((block, own)) => blocks(values, block).find_map(|block| member(block, own)),
            None => member(values, own),
        };
        let Some(value) = value else { continue };
        let mut place = &mut *out;
        for name in path.split('/').skip(1) {
            place = &mut place[name];
        }
        *place = match path {
            path if path.ends_with("Enabled") => boolean(value),
            path if path.ends_with("Units") || path.ends_with("Dimensions") => whole(value),
            _ => value.clone(),
        };
    }
}

/// Removes a specification that is not switched on; one that is has a value for this member.
fn switched(request: &mut Value, name: &str, switch: &str, member: &str, usual: &str) {
    if request[name][switch] != true {
        request
            .as_object_mut()
            .and_then(|members| members.remove(name));
    } else if request[name][member].is_null() {
        request[name][member] = usual.into();
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
    if on_demand {
        return copy(values, &ON_DEMAND, out);
    }
    out["ProvisionedThroughput"] = json!({ "ReadCapacityUnits": 0, "WriteCapacityUnits": 0 });
    copy(values, &PROVISIONED, out);
}

/// Reads the tables of a configuration.
pub(super) fn read_source(
    text: &str,
    parameters: &Parameters,
) -> Result<Definitions, DefinitionError> {
    let malformed = |why: String| DefinitionError::Malformed(DefinitionForm::TerraformSource, why);
    if text.len() > SOURCE_BYTES_MAX {
        return Err(malformed(format!(
            "it is longer than 256 KiB; {FROM_STATE}"
        )));
    }
    let body = hcl::parse(text).map_err(|error| malformed(error.to_string()))?;
    let (mut context, missing) = declared(&body, parameters);
    let (mut faults, mut resources) = (Vec::new(), Vec::new());
    for kind in KINDS {
        let mut known = hcl::Map::new();
        let is_wanted = |block: &&Block| label(block, 0) == kind;
        for block in blocks_of(&body, "resource").filter(is_wanted) {
            let label = label(block, 1).to_owned();
            match values(block.body(), &context) {
                Ok(mut values) => {
                    let members = serde_json::to_value(&values)
                        .map_err(|error| malformed(error.to_string()))?;
                    resources.extend(resource_of(
                        &json!({ "type": kind, "name": label }),
                        Some(&members),
                    ));
                    values.insert(
                        "id".to_owned(),
                        values.get("name").cloned().unwrap_or_default(),
                    );
                    known.insert(label, values.into());
                }
                Err(why) => faults.push(format!("{label}: {why}")),
            }
        }
        context.declare_var(kind, known);
    }
    if let ([_, ..], [first, ..]) = (&faults[..], &missing[..]) {
        faults.push(format!(
            "no value for the variables {}: import their files too (*.tf, *.tfvars), or give --parameter {first}=VALUE",
            missing.join(", ")
        ));
    }
    let modules = blocks_of(&body, "module");
    faults.extend(modules.map(|block| format!("{}: a module; {FROM_STATE}", label(block, 0))));
    let mut found = read_resources(resources);
    found.faults.extend(faults);
    Ok(found.of_form(DefinitionForm::TerraformSource))
}

fn blocks_of<'b>(body: &'b Body, kind: &str) -> impl Iterator<Item = &'b Block> {
    body.blocks()
        .filter(move |block| block.identifier() == kind)
}

fn label(block: &Block, at: usize) -> &str {
    block.labels().get(at).map_or("", |label| label.as_str())
}

/// Returns the context of expressions, variables and locals, and the names of the variables without a
/// value. All those that would take more than [`VALUES_BYTES_MAX`] are not in it.
fn declared(body: &Body, parameters: &Parameters) -> (Context<'static>, Vec<String>) {
    let mut context = Context::new();
    let workspace = [("workspace".to_owned(), hcl::Value::from("default"))];
    context.declare_var("terraform", hcl::Map::from(workspace));
    let defaults = blocks_of(body, "variable").flat_map(|block| {
        let attributes = block.body().attributes();
        let default = attributes.filter(|attribute| attribute.key() == "default");
        default.map(|attribute| (label(block, 0), attribute))
    });
    // Outside of a block stand the values of `.tfvars`.
    let of_files = body
        .attributes()
        .map(|attribute| (attribute.key(), attribute));
    let mut variables = hcl::Map::new();
    for (name, attribute) in defaults.chain(of_files) {
        if let Ok(value) = evaluated(attribute.expr(), &context) {
            variables.insert(name.to_owned(), value);
        }
    }
    for (name, value) in parameters {
        variables.insert(name.clone(), value.as_str().into());
    }
    declare(&mut context, "var", &variables);
    let names = blocks_of(body, "variable").map(|block| label(block, 0).to_owned());
    let missing = names.filter(|name| !variables.contains_key(name)).collect();
    let mut locals = hcl::Map::new();
    for _ in 0..LOCALS_DEPTH_MAX {
        for attribute in blocks_of(body, "locals").flat_map(|block| block.body().attributes()) {
            if let Ok(value) = evaluated(attribute.expr(), &context) {
                locals.insert(attribute.key().to_owned(), value);
            }
        }
        declare(&mut context, "local", &locals);
    }
    (context, missing)
}

fn declare(context: &mut Context<'_>, name: &str, values: &hcl::Map<String, hcl::Value>) {
    let values = hcl::Value::from(values.clone());
    if values.to_string().len() <= VALUES_BYTES_MAX {
        context.declare_var(name, values);
    }
}

/// Evaluates what has no loops: loops in loops take any time.
fn evaluated<T: Evaluate + Format>(of: &T, context: &Context<'_>) -> Result<T::Output, String> {
    let source = hcl::format::to_string(of).unwrap_or_default();
    // `%%{` is `%{` in a text.
    let source = source.replace("%%{", "");
    if ["[for ", "{for ", "%{"]
        .iter()
        .any(|start| source.contains(start))
    {
        return Err("it has a loop".to_owned());
    }
    of.evaluate(context).map_err(|error| error.to_string())
}

/// Returns the values of a resource's attributes and blocks.
fn values(body: &Body, context: &Context<'_>) -> Result<hcl::Map<String, hcl::Value>, String> {
    let mut known = Vec::new();
    for structure in body {
        let name = match structure {
            Structure::Attribute(attribute) => attribute.key(),
            Structure::Block(block) if blocks_of(block.body(), "dynamic").next().is_some() => {
                "dynamic"
            }
            Structure::Block(block) => block.identifier(),
        };
        if ["count", "for_each", "dynamic"].contains(&name) {
            return Err(format!("it has {name}; {FROM_STATE}"));
        }
        match evaluated(structure, context) {
            Ok(structure) => known.push(structure),
            Err(_) if LEFT_OUT.contains(&name) => known.push(Block::new(name).into()),
            Err(_) if OPTIONAL.contains(&name) => {}
            Err(why) => {
                return Err(format!(
                    "{name} is not known from this file ({why}); {FROM_STATE}"
                ));
            }
        }
    }
    match hcl::Value::from(Body::from(known)) {
        hcl::Value::Object(values) => Ok(values),
        _ => Err("it has no members".to_owned()),
    }
}
