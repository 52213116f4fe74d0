//! Terraform's tables: `aws_dynamodb_table` and `aws_dynamodb_table_item` of a state, of `terraform
//! show -json` and of a plan's JSON; and of a configuration (`.tf`), whose variables have their
//! defaults or are given. Values that take more than variables, locals, `count` and
//! `for_each` are named: Terraform itself computes them.

use std::collections::HashMap;

use hcl::eval::{Context, Evaluate as _, Func, FuncDef, ParamType};
use hcl::structure::Body;
use hcl::{Expression, Identifier};
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
/// The most rounds in which locals that need other locals get their values.
const LOCAL_ROUNDS_MAX: usize = 32;
/// The most resources that `count` and `for_each` make of a configuration.
const ELEMENTS_MAX: usize = 2_000;
/// The most memory that the expressions of a configuration take, in bytes. Locals of locals could
/// ask for billions.
const WORK_MAX: usize = 64 * 1024 * 1024;
/// The factor by which values in memory are larger than their JSON.
const VALUE_FACTOR: usize = 32;
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
    /// Its place among those that the block makes; null for the only one.
    key: Value,
    values: Map<String, Value>,
}

impl Resource {
    /// Returns the label with the key: `orders["eu"]`.
    fn label(&self) -> String {
        match &self.key {
            Value::Null => self.label.clone(),
            key => format!("{}[{key}]", self.label),
        }
    }
}

fn resource_of(resource: &Value, values: Option<&Value>) -> Option<Resource> {
    let word = |name: &str| resource.get(name)?.as_str().map(str::to_owned);
    let kind = word("type")?;
    ([TABLE, ITEM].contains(&kind.as_str())).then_some(())?;
    Some(Resource {
        label: word("name").unwrap_or_else(|| kind.clone()),
        key: Value::Null,
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
        let label = resource.label();
        let table = table(&label, &resource.values);
        (label, table)
    }));
    for item in items {
        if let Err(why) = add_item(&mut found.tables, &item.values) {
            let fault = format!("{ITEM}.{}: {why}", item.label());
            found.faults.push(fault);
        }
    }
    found
}

/// A key of `for_each` or `count`, and the values of its body.
type RepeatedValues = (Value, Map<String, Value>);

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
        return Err(malformed(
            "it is longer than 1 MB; import `terraform show -json`".to_owned(),
        ));
    }
    let body = hcl::parse(text).map_err(|error| malformed(error.to_string()))?;
    let (mut faults, mut skipped) = (Vec::new(), Vec::new());
    let mut resources = Vec::new();
    let mut named = Map::new();
    let mut scope = Scope::new(&body, parameters);
    for wanted in [TABLE, ITEM] {
        scope.declare(TABLE, &named.into());
        for block in body.blocks() {
            let label = |at: usize| block.labels().get(at).map_or("", |label| label.as_str());
            let label = match block.identifier() {
                "resource" if label(0) == wanted => label(1),
                "module" if wanted == TABLE => {
                    faults.push(format!("{}: a module; {FROM_STATE}", label(0)));
                    continue;
                }
                _ => continue,
            };
            match scope.resources(block.body(), wanted, label) {
                Ok(made) if made.is_empty() => {
                    skipped.push(format!("{label}: its count or for_each makes none"));
                }
                Ok(made) => resources.extend(made),
                Err(why) => faults.push(format!("{label}: {why}")),
            }
        }
        named = names(&resources);
    }
    let mut found = read_resources(resources);
    found.faults.extend(faults);
    found.skipped = skipped;
    Ok(found.of_form(DefinitionForm::TerraformSource))
}

/// Returns what an item names its table by: `aws_dynamodb_table.orders.name`, and
/// `aws_dynamodb_table.orders["eu"].name` of a repeated one.
fn names(tables: &[Resource]) -> Map<String, Value> {
    let mut all = Map::new();
    for table in tables {
        let own = |name: &str| table.values.get(name);
        let names = json!({ "name": own("name"), "id": own("name"), "hash_key": own("hash_key"), "range_key": own("range_key") });
        match (&table.key, all.entry(&table.label).or_insert(Value::Null)) {
            (Value::String(key), Value::Object(same)) => drop(same.insert(key.clone(), names)),
            (Value::String(key), none) => *none = json!({ key: names }),
            (Value::Number(_), Value::Array(same)) => same.push(names),
            (Value::Number(_), none) => *none = json!([names]),
            (_, none) => *none = names,
        }
    }
    all
}

fn attribute<'b>(body: &'b Body, name: &str) -> Option<&'b Expression> {
    let mut attributes = body.attributes();
    let found = attributes.find(|attribute| attribute.key() == name);
    found.map(hcl::Attribute::expr)
}

/// Returns a context with the functions of lists and of items.
fn functions() -> Context<'static> {
    let all: [(&str, Func); 2] = [
        ("toset", |args| {
            let list = args.first().cloned();
            list.ok_or_else(|| "it has no list".to_owned())
        }),
        ("jsonencode", |args| {
            let text = serde_json::to_string(&args.first()).unwrap_or_default();
            Ok(text.into())
        }),
    ];
    let mut context = Context::new();
    for (name, function) in all {
        let one = FuncDef::builder().param(ParamType::Any);
        context.declare_func(name, one.build(function));
    }
    context
}

/// The values that the expressions of a configuration can use.
struct Scope {
    context: Context<'static>,
    /// The bytes of their JSON, by name.
    sizes: HashMap<String, usize>,
    /// The rest of [`ELEMENTS_MAX`].
    elements_left: usize,
    /// The rest of [`WORK_MAX`].
    work_left: usize,
    /// True if an expression was refused as it takes more.
    is_short: bool,
}

impl Scope {
    /// Returns a scope with the variables and locals that are known.
    fn new(body: &Body, parameters: &Parameters) -> Self {
        let mut scope = Self {
            context: functions(),
            sizes: HashMap::new(),
            elements_left: ELEMENTS_MAX,
            work_left: WORK_MAX,
            is_short: false,
        };
        scope.declare("terraform", &json!({ "workspace": "default" }));
        let variables = scope.variables(body, parameters);
        scope.declare("var", &variables.into());
        // A local may need others, in any order.
        let mut locals = Map::new();
        for _ in 0..LOCAL_ROUNDS_MAX {
            scope.declare("local", &locals.clone().into());
            let before = locals.len();
            let blocks = body.blocks().filter(|block| block.identifier() == "locals");
            for local in blocks.flat_map(|block| block.body().attributes()) {
                if !locals.contains_key(local.key())
                    && let Ok(value) = scope.evaluate(local.expr())
                {
                    locals.insert(local.key().to_owned(), value);
                }
            }
            if locals.len() == before {
                break;
            }
        }
        scope
    }

    /// Returns the variables that have a default or are given, as in `terraform.tfvars`.
    fn variables(&mut self, body: &Body, parameters: &Parameters) -> Map<String, Value> {
        let as_text = |(name, text): (&String, &String)| (name.clone(), text.as_str().into());
        let mut out: Map<String, Value> = parameters.iter().map(as_text).collect();
        for block in body
            .blocks()
            .filter(|block| block.identifier() == "variable")
        {
            let Some(name) = block.labels().first().map(|label| label.as_str()) else {
                continue;
            };
            let kind = attribute(block.body(), "type").map(ToString::to_string);
            let expression = match parameters.get(name) {
                Some(text) => {
                    let is_text =
                        kind.map_or(!text.starts_with(['[', '{']), |kind| kind == "string");
                    text.parse().ok().filter(|_| !is_text)
                }
                None => attribute(body, name)
                    .or_else(|| attribute(block.body(), "default"))
                    .cloned(),
            };
            let value = expression.and_then(|expression| self.evaluate(&expression).ok());
            out.extend(value.map(|value| (name.to_owned(), value)));
        }
        out
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Value, String> {
        self.spend(&hcl::format::to_string(expression).unwrap_or_default())?;
        let value = expression
            .evaluate(&self.context)
            .map_err(|error| error.kind().to_string())?;
        serde_json::to_value(value).map_err(|error| error.to_string())
    }

    /// Takes the memory that an expression needs at most, before it is evaluated: each name in it
    /// stands for a copy of all its values.
    fn spend(&mut self, source: &str) -> Result<(), String> {
        let is_text = source.starts_with(['"', '<']) && !source.contains(['$', '%']);
        let (mut work, mut factor) = (source.len(), VALUE_FACTOR);
        for word in source.split(|at: char| !at.is_alphanumeric() && !"_-".contains(at)) {
            match word {
                _ if is_text => break,
                // A round for each value.
                "for" => factor = factor.saturating_mul(work),
                // An escape has up to six bytes.
                "jsonencode" => factor = factor.saturating_mul(6),
                name => work += self.sizes.get(name).copied().unwrap_or_default(),
            }
        }
        let left = self.work_left.checked_sub(work.saturating_mul(factor));
        self.is_short |= left.is_none();
        self.work_left = left.ok_or("it takes too much memory")?;
        Ok(())
    }

    /// Returns the resources of a block: one, or those that its `count` or `for_each` makes.
    fn resources(&mut self, body: &Body, kind: &str, label: &str) -> Result<Vec<Resource>, String> {
        let repeat = |name| Some((name, attribute(body, name)?));
        let made = match repeat("count").or_else(|| repeat("for_each")) {
            None => vec![(Value::Null, self.values(body)?)],
            Some((name, repeat)) => {
                let iterator = if name == "count" { name } else { "each" };
                self.repeated(name, repeat, iterator, body)?
            }
        };
        let resource = |(key, values)| Resource {
            kind: kind.to_owned(),
            label: label.to_owned(),
            key,
            values,
        };
        Ok(made.into_iter().map(resource).collect())
    }

    fn declare(&mut self, name: &str, value: &Value) {
        let size = value.to_string().len();
        self.sizes.insert(name.to_owned(), size);
        let value = hcl::to_value(value).unwrap_or_default();
        self.context.declare_var(Identifier::sanitized(name), value);
    }

    fn known(&mut self, name: &str, expression: &Expression) -> Result<Value, String> {
        self.evaluate(expression).map_err(|why| {
            let source = hcl::format::to_string(expression).unwrap_or_default();
            let more = if self.is_short {
                "values before it take too much memory; "
            } else if why.starts_with("no such key") {
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

    /// Evaluates a body for each element of a list or map, or as often as a number says. Returns
    /// the keys with the values.
    fn repeated(
        &mut self,
        name: &str,
        repeat: &Expression,
        iterator: &str,
        body: &Body,
    ) -> Result<Vec<RepeatedValues>, String> {
        let elements: Vec<(Value, Value)> = match self.known(name, repeat)? {
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
            // The key of a set's element is the element.
            Value::Array(list) => list
                .into_iter()
                .enumerate()
                .map(|(at, value)| match value {
                    Value::String(_) => (value.clone(), value),
                    value => (at.into(), value),
                })
                .collect(),
            count => {
                let count = whole(&count)
                    .as_u64()
                    .ok_or_else(|| format!("its {name} is {count}"))?;
                (0..count)
                    .take(ELEMENTS_MAX + 1)
                    .map(|at| (at.into(), at.into()))
                    .collect()
            }
        };
        self.elements_left = self
            .elements_left
            .checked_sub(elements.len())
            .ok_or_else(|| format!("{name} makes more than {ELEMENTS_MAX} resources"))?;
        let mut made = Vec::new();
        for (key, value) in elements {
            self.declare(
                iterator,
                &json!({ "key": key, "value": value, "index": key }),
            );
            made.push((key, self.values(body)?));
        }
        Ok(made)
    }

    /// Evaluates a resource's attributes and blocks.
    fn values(&mut self, body: &Body) -> Result<Map<String, Value>, String> {
        /// Members that make no difference to what a table is.
        const OPTIONAL: [&str; 5] = ["tags", "depends_on", "provider", "kms_key_arn", "tags_all"];
        let mut out = Map::new();
        for attribute in body.attributes() {
            let name = attribute.key();
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
