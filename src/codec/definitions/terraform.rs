//! Terraform's tables: `aws_dynamodb_table` and `aws_dynamodb_table_item` of a state, of `terraform
//! show -json` and of a plan's JSON; and of a configuration (`.tf`), whose variables have their
//! defaults or are given. Values that take more than literals, variables, locals and references
//! are named: Terraform itself computes them.

use hcl::expr::{Expression, ObjectKey, TemplateExpr, Traversal, TraversalOperator};
use hcl::structure::{Block, Body};
use hcl::template::{Element, Template};
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
/// The blocks of indexes, in the order of [`INDEXES`].
pub(super) const INDEX_BLOCKS: [&str; 2] = ["local_secondary_index", "global_secondary_index"];

const TABLE: &str = "aws_dynamodb_table";
const ITEM: &str = "aws_dynamodb_table_item";
/// The deepest nesting of modules in a state.
const MODULES_MAX: usize = 32;
/// The longest configuration. Its parser recurses, so it is for a command that reads a person's own
/// file and not for a mount.
const SOURCE_BYTES_MAX: usize = 1024 * 1024;
/// The deepest nesting of values and of references.
const DEPTH_MAX: usize = 128;
/// The most memory that the values of a configuration take, in bytes. Locals of locals could ask
/// for billions.
const WORK_MAX: usize = 8 * 1024 * 1024;
/// The memory of a value, without its text.
const VALUE_BYTES: usize = 64;
/// The way for what a configuration does not tell.
const FROM_STATE: &str = "import the output of `terraform show -json`";
/// Blocks and members that are not kept here.
const LEFT_OUT: &[&str] = &[
    "replica",
    "import_table",
    "restore_source_name",
    "point_in_time_recovery",
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
    ([TABLE, ITEM].contains(&kind.as_str())).then_some(())?;
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
            path if path.ends_with("Units") => whole(value),
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
        return Err(malformed(format!("it is longer than 1 MB; {FROM_STATE}")));
    }
    let body = hcl::parse(text).map_err(|error| malformed(error.to_string()))?;
    let mut scope = Scope {
        body: &body,
        parameters,
        work_left: WORK_MAX,
    };
    let (mut faults, mut resources) = (Vec::new(), Vec::new());
    for block in body.blocks() {
        let [kind, name] = [0, 1].map(|at| label(block, at));
        match block.identifier() {
            "resource" if [TABLE, ITEM].contains(&kind) => match scope.values(block.body()) {
                Ok(values) => resources.push(Resource {
                    kind: kind.to_owned(),
                    label: name.to_owned(),
                    values,
                }),
                Err(why) => faults.push(format!("{name}: {why}")),
            },
            "module" => faults.push(format!("{kind}: a module; {FROM_STATE}")),
            _ => {}
        }
    }
    let mut found = read_resources(resources);
    found.faults.extend(faults);
    Ok(found.of_form(DefinitionForm::TerraformSource))
}

fn label(block: &Block, at: usize) -> &str {
    block.labels().get(at).map_or("", |label| label.as_str())
}

fn attribute<'b>(body: &'b Body, name: &str) -> Option<&'b Expression> {
    let mut attributes = body.attributes();
    let found = attributes.find(|attribute| attribute.key() == name);
    found.map(hcl::Attribute::expr)
}

/// The values that a configuration says by literals and by references to what it declares.
struct Scope<'b> {
    body: &'b Body,
    parameters: &'b Parameters,
    /// The rest of [`WORK_MAX`].
    work_left: usize,
}

impl Scope<'_> {
    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.work_left = self.work_left.saturating_sub(bytes);
        match self.work_left {
            0 => Err("its values take too much memory".to_owned()),
            _ => Ok(()),
        }
    }

    fn value(&mut self, expression: &Expression, depth: usize) -> Result<Value, String> {
        self.spend(VALUE_BYTES)?;
        let depth = depth
            .checked_sub(1)
            .ok_or("its references are nested too deeply")?;
        match expression {
            Expression::Null => Ok(Value::Null),
            Expression::Bool(is) => Ok((*is).into()),
            Expression::Number(number) => {
                serde_json::to_value(number).map_err(|error| error.to_string())
            }
            Expression::String(text) => {
                self.spend(text.len())?;
                Ok(text.as_str().into())
            }
            Expression::Parenthesis(inner) => self.value(inner, depth),
            Expression::Array(list) => list.iter().map(|one| self.value(one, depth)).collect(),
            Expression::Object(members) => {
                let mut out = Map::new();
                for (key, value) in members {
                    let key = match key {
                        ObjectKey::Expression(key) => text_of(&self.value(key, depth)?)?,
                        other => other.to_string(),
                    };
                    out.insert(key, self.value(value, depth)?);
                }
                Ok(out.into())
            }
            Expression::TemplateExpr(template) => self.template(template, depth),
            Expression::Traversal(traversal) => self.reference(traversal, depth),
            Expression::FuncCall(call) if call.name.name.as_str() == "jsonencode" => {
                let [argument] = &call.args[..] else {
                    return Err("jsonencode has one argument".to_owned());
                };
                let text = self.value(argument, depth)?.to_string();
                self.spend(text.len())?;
                Ok(text.into())
            }
            _ => Err("an expression or a function".to_owned()),
        }
    }

    /// Returns a text with the values of its `${…}`; one that is nothing else is the value itself.
    fn template(&mut self, template: &TemplateExpr, depth: usize) -> Result<Value, String> {
        self.spend(template.to_string().len())?;
        let template = Template::from_expr(template).map_err(|error| error.to_string())?;
        if let [Element::Interpolation(only)] = template.elements() {
            return self.value(&only.expr, depth);
        }
        let mut out = String::new();
        for element in template.elements() {
            match element {
                Element::Literal(text) => out += text,
                Element::Interpolation(part) => out += &text_of(&self.value(&part.expr, depth)?)?,
                Element::Directive(_) => return Err("an expression in a text".to_owned()),
            }
        }
        Ok(out.into())
    }

    /// Returns what a variable, a local or a table's attribute is declared as, or a member of it.
    fn reference(&mut self, traversal: &Traversal, depth: usize) -> Result<Value, String> {
        let mut path = match &traversal.expr {
            Expression::Variable(root) => vec![root.to_string()],
            _ => return Err("an expression".to_owned()),
        };
        for operator in &traversal.operators {
            path.push(match operator {
                TraversalOperator::GetAttr(name) => name.to_string(),
                TraversalOperator::Index(at) => text_of(&self.value(at, depth)?)?,
                TraversalOperator::LegacyIndex(at) => at.to_string(),
                _ => return Err("an expression".to_owned()),
            });
        }
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let body = self.body;
        let mut blocks = body.blocks();
        let (declared, members) = match path[..] {
            ["var", name, ref members @ ..] => {
                if let Some(given) = self.parameters.get(name) {
                    self.spend(given.len())?;
                    return Ok(given.as_str().into());
                }
                let mut of_name = blocks
                    .filter(|block| block.identifier() == "variable" && label(block, 0) == name);
                // Outside of a block stand the values of `.tfvars`.
                let value = attribute(body, name);
                let default = || of_name.find_map(|block| attribute(block.body(), "default"));
                (value.or_else(default), members)
            }
            ["local", name, ref members @ ..] => {
                let mut locals = blocks.filter(|block| block.identifier() == "locals");
                let value = locals.find_map(|block| attribute(block.body(), name));
                (value, members)
            }
            [TABLE, name, member] => {
                let table =
                    blocks.find(|block| [label(block, 0), label(block, 1)] == [TABLE, name]);
                let member = if member == "id" { "name" } else { member };
                (
                    table.and_then(|table| attribute(table.body(), member)),
                    &[][..],
                )
            }
            ["terraform", "workspace"] => return Ok("default".into()),
            _ => (None, &[][..]),
        };
        let unknown = || format!("no value for {}", path.join("."));
        let value = self.value(declared.ok_or_else(unknown)?, depth)?;
        let pointer: String = members.iter().map(|name| format!("/{name}")).collect();
        value.pointer(&pointer).cloned().ok_or_else(unknown)
    }

    fn known(&mut self, name: &str, expression: &Expression) -> Result<Value, String> {
        self.value(expression, DEPTH_MAX).map_err(|why| {
            let source = hcl::format::to_string(expression).unwrap_or_default();
            let more = if why.starts_with("no value") {
                "import the files of its variables with it (*.tf, *.tfvars), give --parameter VARIABLE=VALUE; "
            } else {
                ""
            };
            format!(
                "{name} = {} is not known from this file ({why}); {more}{FROM_STATE}",
                source.trim()
            )
        })
    }

    /// Returns the values of a resource's attributes and blocks.
    fn values(&mut self, body: &Body) -> Result<Map<String, Value>, String> {
        /// Members that make no difference to what a table is.
        const OPTIONAL: [&str; 5] = ["tags", "depends_on", "provider", "kms_key_arn", "tags_all"];
        let mut out = Map::new();
        for attribute in body.attributes() {
            let name = attribute.key();
            if ["count", "for_each"].contains(&name) {
                return Err(format!("it has {name}; {FROM_STATE}"));
            }
            match self.known(name, attribute.expr()) {
                Ok(value) => {
                    out.insert(name.to_owned(), value);
                }
                Err(_) if OPTIONAL.contains(&name) => {}
                Err(why) => return Err(why),
            }
        }
        for block in body.blocks() {
            let name = block.identifier();
            let made = match name {
                "lifecycle" | "provisioner" | "timeouts" => continue,
                "dynamic" => return Err(format!("it has dynamic blocks; {FROM_STATE}")),
                _ => self.values(block.body()),
            };
            let made = match made {
                Err(_) if LEFT_OUT.contains(&name) => Map::new(),
                made => made?,
            };
            if let Value::Array(list) = out.entry(name).or_insert_with(|| json!([])) {
                list.push(made.into());
            }
        }
        Ok(out)
    }
}

/// Returns a value as it stands in a text or as a key.
fn text_of(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err("a value in a text is none".to_owned()),
    }
}
