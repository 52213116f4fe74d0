//! Terraform's tables: `aws_dynamodb_table` and `aws_dynamodb_table_item` of a state, of `terraform
//! show -json` and of a plan's JSON; and of a configuration (`.tf`), whose variables have their
//! defaults or are given. The module `terraform-aws-modules/dynamodb-table/aws` is read too.

use std::collections::HashMap;

use hcl::eval::{Context, Evaluate as _, Func, FuncArgs, FuncDef, ParamType};
use hcl::structure::{Block, Body};
use hcl::{Expression, Identifier};
use serde_json::{Map, Value, json};

use super::table::{
    DefinitionError, DefinitionForm, Definitions, FoundTables, INDEXES, Parameters,
    TableDefinition, billing_mode, boolean, found, key_element, list, whole,
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
/// The most resources and blocks that `count`, `for_each` and `dynamic` make of a configuration.
const ELEMENTS_MAX: usize = 2_000;
/// The most memory that the expressions of a configuration take, in bytes. Locals of locals, and
/// `for` in `for`, could ask for billions.
const WORK_MAX: usize = 64 * 1024 * 1024;
/// The longest text that a function makes of a few short ones.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The keys of a repeated body's elements, with its values for each.
type Repetitions = Vec<(Value, Map<String, Value>)>;
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

    /// True unless it is a module that is told to make no table.
    fn is_made(&self) -> bool {
        let is_false =
            |name| member(&self.values, name).is_some_and(|value| boolean(value) == false);
        !["create_table", "create"].into_iter().any(is_false)
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
        member(values, "billing_mode").and_then(Value::as_str) == Some(billing_mode(true));
    let mut request = json!({ "TableName": name });
    let definitions = blocks(values, "attribute").chain(blocks(values, "attributes"));
    let definition = |attribute: &Map<String, Value>| json!({ "AttributeName": attribute.get("name"), "AttributeType": attribute.get("type") });
    request["AttributeDefinitions"] = definitions.map(definition).collect();
    request["KeySchema"] = key_schema(values, None)?;
    let table_hash = member(values, "hash_key");
    let kinds = ["local_secondary_index", "global_secondary_index"];
    for (own, out) in kinds.into_iter().zip(INDEXES) {
        let is_global = out == "GlobalSecondaryIndexes";
        let mut indexes = Vec::new();
        for index in blocks(values, own).chain(blocks(values, &format!("{own}es"))) {
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
            request[out] = indexes.into();
        }
    }
    request["BillingMode"] = billing_mode(on_demand).into();
    capacity(values, on_demand, &mut request);
    settings(values, &mut request);
    let mut table = TableDefinition::new(label, request);
    let is_set = |name: &&str| {
        member(values, name)
            .is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()))
    };
    table.notes = LEFT_OUT
        .iter()
        .filter(|name| is_set(name))
        .map(|name| format!("{name} is left out"))
        .collect();
    Ok(table)
}

/// Adds a stream, time to live, encryption, class, protection and tags.
fn settings(values: &Map<String, Value>, request: &mut Value) {
    let is_true = |value: Option<&Value>| value.map(boolean) == Some(true.into());
    if is_true(member(values, "stream_enabled")) {
        let view = member(values, "stream_view_type")
            .cloned()
            .unwrap_or_else(|| "NEW_AND_OLD_IMAGES".into());
        request["StreamSpecification"] = json!({ "StreamEnabled": true, "StreamViewType": view });
    }
    let ttl = blocks(values, "ttl")
        .find(|ttl| is_true(member(ttl, "enabled")) || member(ttl, "enabled").is_none());
    let attribute = ttl
        .and_then(|ttl| member(ttl, "attribute_name"))
        .or_else(|| {
            member(values, "ttl_attribute_name").filter(|_| is_true(member(values, "ttl_enabled")))
        });
    if let Some(attribute) = attribute {
        request["TimeToLiveSpecification"] = json!({ "Enabled": true, "AttributeName": attribute });
    }
    if let Some(encryption) = blocks(values, "server_side_encryption")
        .find(|encryption| is_true(member(encryption, "enabled")))
    {
        let mut specification = json!({ "Enabled": true, "SSEType": "KMS" });
        if let Some(key) = member(encryption, "kms_key_arn") {
            specification["KMSMasterKeyId"] = key.clone();
        }
        request["SSESpecification"] = specification;
    }
    if let Some(class) = member(values, "table_class") {
        request["TableClass"] = class.clone();
    }
    if let Some(protection) = member(values, "deletion_protection_enabled") {
        request["DeletionProtectionEnabled"] = boolean(protection);
    }
    let tags = member(values, "tags")
        .and_then(Value::as_object)
        .filter(|tags| !tags.is_empty());
    if let Some(tags) = tags {
        let tag = |(key, value): (&String, &Value)| json!({ "Key": key, "Value": value });
        request["Tags"] = tags.iter().map(tag).collect();
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
    let (mut faults, mut skipped) = (Vec::new(), Vec::new());
    let mut resources = Vec::new();
    let mut named = Map::new();
    let mut scope = Scope::new(&body, parameters);
    for wanted in [TABLE, ITEM] {
        scope.declare(TABLE, &named.into());
        for block in body.blocks() {
            let label = |at: usize| block.labels().get(at).map_or("", |label| label.as_str());
            let is_table = attribute(block.body(), "hash_key").is_some() || is_module(block.body());
            let label = match block.identifier() {
                "resource" if label(0) == wanted => label(1),
                "module" if wanted == TABLE && is_table => label(0),
                _ => continue,
            };
            match scope.resources(block.body(), wanted, label) {
                Ok(made) if made.is_empty() => {
                    skipped.push(format!(
                        "{label}: its count, for_each or create_table makes none"
                    ));
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

/// True if a body is that of the module whose members are known here.
fn is_module(body: &Body) -> bool {
    attribute(body, "source").is_some_and(|source| source.to_string().contains("dynamodb-table"))
}

/// Returns a value as a text, a text without quotes.
fn plain(value: &hcl::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a context with the functions that definitions commonly use.
fn functions() -> Context<'static> {
    fn text(args: &FuncArgs, at: usize) -> String {
        args.get(at).map(plain).unwrap_or_default()
    }
    /// Refuses to repeat a text too often.
    fn made(times: usize, text: &str) -> Result<(), String> {
        let is_short = times.saturating_mul(text.len()) <= TEXT_BYTES_MAX;
        is_short
            .then_some(())
            .ok_or("its text is too long".to_owned())
    }
    fn first(args: FuncArgs) -> Result<hcl::Value, String> {
        args.first().cloned().ok_or("it has no value".to_owned())
    }
    let all: &[(&str, Func)] = &[
        ("lower", |args| Ok(text(&args, 0).to_lowercase().into())),
        ("upper", |args| Ok(text(&args, 0).to_uppercase().into())),
        ("tostring", |args| Ok(text(&args, 0).into())),
        ("toset", first),
        ("format", |args| {
            let form = text(&args, 0).replace("%d", "%s");
            let parts: Vec<&str> = form.split("%s").collect();
            if parts.len() != args.len() || parts.iter().any(|part| part.contains('%')) {
                return Err("format takes a value for each %s and %d".to_owned());
            }
            let given = (1..parts.len()).map(|at| text(&args, at) + parts[at]);
            Ok((parts[0].to_owned() + &given.collect::<String>()).into())
        }),
        ("replace", |args| {
            let (all, from, to) = (text(&args, 0), text(&args, 1), text(&args, 2));
            made(all.matches(&from).count(), &to)?;
            Ok(all.replace(&from, &to).into())
        }),
        ("join", |args| {
            let list = args.get(1).and_then(hcl::Value::as_array);
            let parts: Vec<String> = list.into_iter().flatten().map(plain).collect();
            made(parts.len(), &text(&args, 0))?;
            Ok(parts.join(&text(&args, 0)).into())
        }),
        ("jsonencode", |args| {
            let text = serde_json::to_string(&first(args)?).unwrap_or_default();
            Ok(text.into())
        }),
        ("merge", |args| {
            let maps = args.iter().filter_map(|map| map.as_object()).flatten();
            Ok(hcl::Value::Object(
                maps.map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            ))
        }),
        ("lookup", |args| {
            let map = args.first().and_then(hcl::Value::as_object);
            let found = map.and_then(|map| map.get(&text(&args, 1)));
            let found = found.or(args.get(2)).cloned();
            found.ok_or("it has no such key".to_owned())
        }),
        ("length", |args| {
            Ok(match args.first() {
                Some(hcl::Value::Array(list)) => list.len().into(),
                Some(hcl::Value::Object(map)) => map.len().into(),
                _ => text(&args, 0).len().into(),
            })
        }),
    ];
    let mut context = Context::new();
    for (name, function) in all {
        let any = FuncDef::builder().variadic_param(ParamType::Any);
        context.declare_func(*name, any.build(*function));
    }
    context
}

/// Returns the memory that the values of a text take at most, and their number.
fn measure(text: &str) -> (usize, usize) {
    let values = 1 + text.matches([',', ':', '=', '[', '{', '(', '\n']).count();
    (text.len() + 32 * values, values)
}

/// The values that the expressions of a configuration can use.
struct Scope {
    context: Context<'static>,
    /// Their sizes by [`measure`], by name.
    sizes: HashMap<String, (usize, usize)>,
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
        // The arguments of `try` may fail.
        match expression {
            Expression::FuncCall(call) if call.name.name.as_str() == "try" => {
                let value = call.args.iter().find_map(|value| self.evaluate(value).ok());
                return value.ok_or("no argument of try has a value".to_owned());
            }
            Expression::Conditional(choice) => {
                let is_true = self.evaluate(&choice.cond_expr)? == Value::Bool(true);
                return self.evaluate(if is_true {
                    &choice.true_expr
                } else {
                    &choice.false_expr
                });
            }
            _ => {}
        }
        let value = expression
            .evaluate(&self.context)
            .map_err(|error| error.kind().to_string())?;
        serde_json::to_value(value).map_err(|error| error.to_string())
    }

    /// Takes the memory that an expression needs at most, before it is evaluated. Each name in it
    /// stands for a copy of all its values, and each `for` for a round over all values.
    fn spend(&mut self, source: &str) -> Result<(), String> {
        // The formatter writes a line's end in a template as an escape.
        let source = source
            .replace("\\n", "\n")
            .replace("\\r", "\n")
            .replace("\\t", " ");
        let (mut work, mut values) = measure(&source);
        let (mut factor, mut rounds) = (1_usize, 0);
        for word in source.split(|at: char| !at.is_alphanumeric() && !"_-".contains(at)) {
            let (size, number) = self.sizes.get(word).copied().unwrap_or_default();
            work = work.saturating_add(size);
            values = values.saturating_add(number);
            match word {
                "for" => rounds += 1,
                // An escape in JSON has up to six bytes.
                "jsonencode" => factor = factor.saturating_mul(6),
                "replace" | "join" => work = work.saturating_add(TEXT_BYTES_MAX),
                _ => {}
            }
        }
        work = work
            .saturating_mul(factor)
            .saturating_mul(values.saturating_pow(rounds));
        self.work_left = self.work_left.saturating_sub(source.len());
        let left = self.work_left.checked_sub(work);
        self.is_short |= left.is_none();
        self.work_left = left.ok_or("it takes too much memory")?;
        Ok(())
    }

    /// Returns the resources of a block: one, or those that its `count` or `for_each` makes.
    fn resources(&mut self, body: &Body, kind: &str, label: &str) -> Result<Vec<Resource>, String> {
        if attribute(body, "source").is_some() && !is_module(body) {
            return Err(
                "its module is not known here; import the output of `terraform show -json`"
                    .to_owned(),
            );
        }
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
        Ok(made
            .into_iter()
            .map(resource)
            .filter(Resource::is_made)
            .collect())
    }

    fn declare(&mut self, name: &str, value: &Value) {
        let size = measure(&value.to_string());
        self.work_left = self.work_left.saturating_sub(size.0);
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
                "import the files of its variables with it (*.tf, *.tfvars), give --parameter VARIABLE=VALUE, or "
            } else {
                ""
            };
            format!(
                "{name} = {} is not known from this file ({why}); {more}import the output of `terraform show -json`",
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
    ) -> Result<Repetitions, String> {
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
            .ok_or_else(|| format!("{name} makes more than {ELEMENTS_MAX} resources and blocks"))?;
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
            "create_table",
            "read_capacity",
            "write_capacity",
        ];
        let mut out = Map::new();
        for attribute in body.attributes() {
            let name = attribute.key();
            match self.known(name, attribute.expr()) {
                Ok(value) => {
                    out.insert(name.to_owned(), value);
                }
                Err(_) if !REQUIRED.contains(&name) => {}
                Err(why) => return Err(why),
            }
        }
        for block in body.blocks() {
            let is_dynamic = block.identifier() == "dynamic";
            let name = match block.labels().first() {
                Some(label) if is_dynamic => label.as_str(),
                _ => block.identifier(),
            };
            if ["lifecycle", "provisioner", "timeouts"].contains(&name) {
                continue;
            }
            let made = match self.blocks(block, name, is_dynamic) {
                Err(_) if LEFT_OUT.contains(&name) => vec![json!({})],
                made => made?,
            };
            if let Value::Array(list) = out.entry(name).or_insert_with(|| json!([])) {
                list.extend(made);
            }
        }
        Ok(out)
    }

    /// Evaluates a block, or the blocks that a dynamic block stands for.
    fn blocks(
        &mut self,
        block: &Block,
        name: &str,
        is_dynamic: bool,
    ) -> Result<Vec<Value>, String> {
        let body = block.body();
        if !is_dynamic {
            return Ok(vec![self.values(body)?.into()]);
        }
        let content = body.blocks().find(|block| block.identifier() == "content");
        let (content, repeat) = content
            .zip(attribute(body, "for_each"))
            .ok_or_else(|| format!("its dynamic {name} has no for_each or content"))?;
        let iterator = attribute(body, "iterator").map_or(name.to_owned(), ToString::to_string);
        let made = self.repeated(
            &format!("for_each of {name}"),
            repeat,
            &iterator,
            content.body(),
        )?;
        let made = made.into_iter().map(|(_, values)| values.into()).collect();
        Ok(made)
    }
}
