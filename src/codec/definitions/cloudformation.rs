//! Templates of CloudFormation, SAM and CDK: their tables, and the functions that give a value
//! (`Ref`, `Fn::Sub`, `Fn::Join`, `Fn::If`, …), as far as the template itself says it. Parameters
//! have their defaults, or are given; the stack's name, its region and account are assumed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::table::{
    FoundTables, Parameters, TableDefinition, billing_mode, boolean, found, is_on_demand,
    key_element, throughput, whole,
};

const TABLE: &str = "AWS::DynamoDB::Table";
const GLOBAL_TABLE: &str = "AWS::DynamoDB::GlobalTable";
const SIMPLE_TABLE: &str = "AWS::Serverless::SimpleTable";
const GLOBAL_INDEXES: &str = "GlobalSecondaryIndexes";

/// The deepest nesting of functions.
const DEPTH_MAX: usize = 64;
/// The most values that are looked at, and bytes of texts that are made, for all tables of a
/// template. Functions of functions, and texts of texts, could ask for billions.
const WORK_MAX: usize = 8 * 1024 * 1024;
/// The longest text that functions make.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The values of the pseudo parameters, unless they are given.
const PSEUDO_PARAMETERS: &[(&str, &str)] = &[
    ("AWS::AccountId", "000000000000"),
    ("AWS::Partition", "aws"),
    ("AWS::Region", "us-east-1"),
    ("AWS::StackName", "stack"),
    ("AWS::URLSuffix", "amazonaws.com"),
];

/// Properties that make no difference to what a table is, and those that are not kept here.
const LEFT_OUT: &[&str] = &[
    "PointInTimeRecoverySpecification",
    "KinesisStreamSpecification",
    "ContributorInsightsSpecification",
    "ImportSourceSpecification",
    "Replicas",
];

/// Returns a template's resources: its `Resources`, or the members of a part of a template.
pub(super) fn resources(value: &Value) -> Option<&Map<String, Value>> {
    let has_types = |members: &&Map<String, Value>| {
        let mut kinds = members.values().filter_map(|of| of["Type"].as_str());
        kinds.any(|kind| kind.contains("::"))
    };
    let mut all = [&value["Resources"], value]
        .into_iter()
        .filter_map(Value::as_object);
    all.find(has_types)
}

pub(super) fn tables(template: &Value, parameters: &Parameters) -> FoundTables {
    let Some(resources) = resources(template) else {
        return FoundTables::default();
    };
    let mut skipped = Vec::new();
    let mut resolver = Resolver {
        template,
        parameters,
        assumed: BTreeSet::new(),
        work_left: WORK_MAX,
    };
    let read = resources.iter().filter_map(|(label, resource)| {
        let kind = resource["Type"].as_str()?;
        let is_table = [TABLE, GLOBAL_TABLE, SIMPLE_TABLE].contains(&kind);
        is_table.then_some(())?;
        resolver.assumed.clear();
        let condition = resource["Condition"].as_str();
        let table = match condition.map(|name| (name, resolver.condition(name))) {
            Some((name, Ok(false))) => {
                skipped.push(format!("{label}: its condition {name} is false"));
                return None;
            }
            Some((_, Err(why))) => Err(why),
            _ if kind == SIMPLE_TABLE => resolver.simple_table(label, resource),
            _ => resolver.table(label, resource),
        };
        let table = table.map(|mut table| {
            let assumed = resolver.assumed.iter().map(|(name, value)| {
                format!("{name} is taken as {value}; --parameter {name}=VALUE gives another")
            });
            table.notes.extend(assumed);
            table
        });
        Some((label.clone(), table))
    });
    let found = found(read);
    FoundTables { skipped, ..found }
}

/// The values of one template.
struct Resolver<'t> {
    template: &'t Value,
    parameters: &'t Parameters,
    /// The pseudo parameters that were used and not given, with their values.
    assumed: BTreeSet<(&'static str, &'static str)>,
    /// The rest of [`WORK_MAX`].
    work_left: usize,
}

/// A resolved value; `None` for `AWS::NoValue`, which stands for no member at all.
type Resolved = Result<Option<Value>, String>;

fn unresolved<T>(why: impl Into<String>) -> Result<T, String> {
    Err(why.into())
}

impl Resolver<'_> {
    fn table(&mut self, label: &str, resource: &Value) -> Result<TableDefinition, String> {
        let properties = Self::properties(resource)?;
        // CloudFormation's own default.
        let mode = billing_mode(false);
        let mut request =
            json!({ "TableName": self.table_name(label, properties)?, "BillingMode": mode });
        let mut notes = Vec::new();
        for (name, value) in properties {
            let resolved = match name.as_str() {
                "TableName" => continue,
                "AttributeDefinitions"
                | "KeySchema"
                | GLOBAL_INDEXES
                | "LocalSecondaryIndexes"
                | "VectorIndexes"
                | "BillingMode"
                | "ProvisionedThroughput"
                | "OnDemandThroughput"
                | "WarmThroughput" => self.member(properties, name)?,
                "WriteProvisionedThroughputSettings" | "WriteOnDemandThroughputSettings" => {
                    continue;
                }
                name if LEFT_OUT.contains(&name) => {
                    notes.push(format!("{name} is left out"));
                    continue;
                }
                // The rest changes nothing about keys and cost: it may depend on other resources.
                _ => match self.resolve(value, DEPTH_MAX) {
                    Ok(resolved) => resolved,
                    Err(why) => {
                        notes.push(format!("{name} is left out: {why}"));
                        continue;
                    }
                },
            };
            if let Some(value) = resolved {
                request[name] = value;
            }
        }
        if resource["Type"] == GLOBAL_TABLE && !is_on_demand(&request) {
            // It says them for each replica, and as limits of scaling.
            notes.push("its throughput is taken as 5 units".to_owned());
            let units = json!({ "ReadCapacityUnits": 5, "WriteCapacityUnits": 5 });
            for index in indexes(&mut request, GLOBAL_INDEXES) {
                index.remove("WriteProvisionedThroughputSettings");
                index.insert("ProvisionedThroughput".to_owned(), units.clone());
            }
            request["ProvisionedThroughput"] = units;
        }
        adapt(&mut request);
        Ok(TableDefinition {
            notes,
            ..TableDefinition::new(label, request)
        })
    }

    fn properties(resource: &Value) -> Result<&Map<String, Value>, String> {
        let properties = resource["Properties"].as_object();
        properties.ok_or_else(|| "it has no Properties".to_owned())
    }

    /// Returns a property with its functions carried out.
    fn member(&mut self, properties: &Map<String, Value>, name: &str) -> Resolved {
        match properties.get(name) {
            Some(value) => self
                .resolve(value, DEPTH_MAX)
                .map_err(|why| format!("{name}: {why}")),
            None => Ok(None),
        }
    }

    /// Returns the table's name; without one CloudFormation makes one of the logical id.
    fn table_name(
        &mut self,
        label: &str,
        properties: &Map<String, Value>,
    ) -> Result<Value, String> {
        let name = self.member(properties, "TableName")?;
        Ok(name.unwrap_or_else(|| label.into()))
    }

    fn simple_table(&mut self, label: &str, resource: &Value) -> Result<TableDefinition, String> {
        let empty = Map::new();
        let properties = match resource.get("Properties") {
            Some(_) => Self::properties(resource)?,
            None => &empty,
        };
        let key = self.member(properties, "PrimaryKey")?.unwrap_or_default();
        let name = key["Name"].as_str().unwrap_or("id");
        let kind = match key["Type"].as_str() {
            None | Some("String") => "S",
            Some("Number") => "N",
            Some("Binary") => "B",
            Some(other) => return unresolved(format!("PrimaryKey has the type {other}")),
        };
        let units = self.member(properties, "ProvisionedThroughput")?;
        let mut request = json!({
            "TableName": self.table_name(label, properties)?,
            "AttributeDefinitions": [{ "AttributeName": name, "AttributeType": kind }],
            "KeySchema": [key_element(name, "HASH")],
            "BillingMode": billing_mode(units.is_none()),
        });
        if let Some(units) = units {
            request["ProvisionedThroughput"] = throughput(&units);
        }
        Ok(TableDefinition::new(label, request))
    }

    fn spend(&mut self, work: usize) -> Result<(), String> {
        self.work_left = self.work_left.saturating_sub(work);
        if self.work_left == 0 {
            return unresolved("the functions of the template take too much work");
        }
        Ok(())
    }

    /// Returns a value with its functions carried out.
    fn resolve(&mut self, value: &Value, depth: usize) -> Resolved {
        self.spend(1)?;
        let Some(depth) = depth.checked_sub(1) else {
            return unresolved("its functions are nested too deeply");
        };
        match value {
            Value::Array(list) => {
                let list: Result<Vec<_>, _> = list
                    .iter()
                    .map(|value| self.resolve(value, depth))
                    .collect();
                Ok(Some(list?.into_iter().flatten().collect()))
            }
            Value::Object(members) => {
                let mut only = members.iter();
                if let (Some((name, argument)), None) = (only.next(), only.next())
                    && (name == "Ref" || name.starts_with("Fn::"))
                {
                    return self.function(name, argument, depth);
                }
                let mut out = Map::new();
                for (name, value) in members {
                    if let Some(value) = self.resolve(value, depth)? {
                        out.insert(name.clone(), value);
                    }
                }
                Ok(Some(out.into()))
            }
            other => {
                self.spend(other.as_str().map_or(0, str::len))?;
                Ok(Some(other.clone()))
            }
        }
    }

    fn function(&mut self, name: &str, argument: &Value, depth: usize) -> Resolved {
        match name {
            "Ref" => match argument.as_str() {
                Some("AWS::NoValue") => Ok(None),
                Some(name) => self.reference(name, depth).map(Some),
                None => unresolved("a Ref without a name"),
            },
            "Fn::Sub" => self.substitute(argument, depth).map(Some),
            "Fn::Join" => {
                let [separator, list] = self.arguments(name, argument, depth)?;
                let list = list.as_array().cloned().unwrap_or_default();
                let parts = list
                    .iter()
                    .map(|part| text_of(part, name))
                    .collect::<Result<Vec<_>, _>>()?;
                bounded(parts.join(&text_of(&separator, name)?)).map(Some)
            }
            "Fn::If" => {
                let list = argument.as_array().map(Vec::as_slice);
                let Some([condition, yes, no]) = list else {
                    return unresolved("Fn::If has a condition and two values");
                };
                let chosen = if self.condition(&text_of(condition, name)?)? {
                    yes
                } else {
                    no
                };
                self.resolve(chosen, depth)
            }
            "Fn::GetAtt" => unresolved(format!("{argument} is an attribute of another resource")),
            "Fn::ImportValue" => unresolved("it is exported by another stack"),
            other => unresolved(format!("the function {other} is not known here")),
        }
    }

    /// Returns a function's arguments, resolved.
    fn arguments<const N: usize>(
        &mut self,
        name: &str,
        argument: &Value,
        depth: usize,
    ) -> Result<[Value; N], String> {
        let list = match self.resolve(argument, depth)? {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        list.try_into()
            .map_err(|_| format!("{name} has {N} arguments"))
    }

    /// Returns the value of a parameter.
    fn reference(&mut self, name: &str, depth: usize) -> Result<Value, String> {
        let declared = self.template["Parameters"].get(name);
        if let Some(given) = self.parameters.get(name) {
            self.spend(given.len())?;
            return Ok(given.as_str().into());
        }
        if let Some(declared) = declared {
            return match declared.get("Default") {
                Some(default) => self
                    .resolve(default, depth)
                    .map(|value| value.unwrap_or_default()),
                None => unresolved(format!(
                    "the parameter {name} has no default; give --parameter {name}=VALUE"
                )),
            };
        }
        let mut pseudo = PSEUDO_PARAMETERS.iter();
        if let Some(assumed) = pseudo.find(|(known, _)| *known == name) {
            self.assumed.insert(*assumed);
            return Ok(assumed.1.into());
        }
        let is_resource = resources(self.template).is_some_and(|all| all.contains_key(name));
        let what = match is_resource {
            true => format!("{name} is another resource"),
            false => format!("the template has no parameter {name}"),
        };
        unresolved(format!("{what}; give --parameter {name}=VALUE"))
    }

    /// Carries out `Fn::Sub`: `${Name}` is a parameter, or a member of the second argument; `${!x}`
    /// stands for `${x}`.
    fn substitute(&mut self, argument: &Value, depth: usize) -> Result<Value, String> {
        let (text, own) = match (argument, argument.as_array().map(Vec::as_slice)) {
            (Value::String(text), _) => (text.as_str(), &Value::Null),
            (_, Some([Value::String(text), own @ Value::Object(_)])) => (text.as_str(), own),
            (_, Some(_)) => return unresolved("Fn::Sub has a text and its variables"),
            _ => return unresolved("Fn::Sub has a text"),
        };
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                return unresolved("Fn::Sub has a ${ without its }");
            };
            out.push_str(before);
            match (name.strip_prefix('!'), own.get(name)) {
                (Some(literal), _) => out.push_str(&format!("${{{literal}}}")),
                (None, None) if name.contains('.') => {
                    return unresolved(format!("{name} is an attribute of another resource"));
                }
                (None, value) => {
                    let value = match value {
                        Some(value) => self.resolve(value, depth)?.unwrap_or_default(),
                        None => self.reference(name, depth)?,
                    };
                    out.push_str(&text_of(&value, "Fn::Sub")?);
                }
            }
            rest = after;
            if out.len() > TEXT_BYTES_MAX {
                break;
            }
        }
        out.push_str(rest);
        bounded(out)
    }

    /// Returns the given value of a named condition. Its functions in the template are not evaluated.
    fn condition(&self, name: &str) -> Result<bool, String> {
        match self.parameters.get(name).map(String::as_str) {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => unresolved(format!(
                "the condition {name} is not decided here; give --parameter {name}=true, or =false"
            )),
        }
    }
}

fn bounded(text: String) -> Result<Value, String> {
    if text.len() > TEXT_BYTES_MAX {
        return unresolved("the text that its functions make is too long");
    }
    Ok(text.into())
}

/// Returns a value as the text that it is inside another one.
fn text_of(value: &Value, function: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => unresolved(format!("{function} has a value that is no text")),
    }
}

/// Makes the capacity of a table or index CreateTable's: units are numbers, and there are none
/// beside PAY_PER_REQUEST, where CloudFormation ignores them and CreateTable refuses them.
fn adapt_capacity(members: &mut Map<String, Value>, on_demand: bool) {
    for name in [
        "ProvisionedThroughput",
        "OnDemandThroughput",
        "WarmThroughput",
    ] {
        if let Some(units) = members.get_mut(name) {
            *units = throughput(units);
        }
    }
    if on_demand {
        members.remove("ProvisionedThroughput");
    }
}

/// Returns the indexes of a request in this member.
fn indexes<'r>(
    request: &'r mut Value,
    member: &str,
) -> impl Iterator<Item = &'r mut Map<String, Value>> + use<'r> {
    let indexes = request.get_mut(member);
    let indexes = indexes.and_then(Value::as_array_mut);
    indexes
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// Makes CreateTable's members of CloudFormation's, which are nearly the same.
fn adapt(request: &mut Value) {
    let on_demand = is_on_demand(request);
    for index in indexes(request, GLOBAL_INDEXES) {
        index.remove("ContributorInsightsSpecification");
        adapt_capacity(index, on_demand);
    }
    if let Some(members) = request.as_object_mut() {
        adapt_capacity(members, on_demand);
    }
    for index in indexes(request, "VectorIndexes") {
        if let Some(dimensions) = index.get_mut("Dimensions") {
            *dimensions = whole(dimensions);
        }
    }
    if let Some(Value::Object(stream)) = request.get_mut("StreamSpecification") {
        stream.remove("ResourcePolicy");
        stream.entry("StreamEnabled").or_insert(true.into());
    }
    if let Some(Value::Object(encryption)) = request.get_mut("SSESpecification")
        && let Some(enabled) = encryption.remove("SSEEnabled")
    {
        encryption.insert("Enabled".to_owned(), enabled);
    }
    for flag in [
        "/SSESpecification/Enabled",
        "/TimeToLiveSpecification/Enabled",
        "/DeletionProtectionEnabled",
    ] {
        if let Some(flag) = request.pointer_mut(flag) {
            *flag = boolean(flag);
        }
    }
    // CreateTable has the policy as a text.
    if let Some(policy) = request.get_mut("ResourcePolicy")
        && policy["PolicyDocument"].is_object()
    {
        *policy = policy["PolicyDocument"].to_string().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::definitions::read;

    /// Checks the first fault of a template whose one table has this name.
    fn check(name: &str, more: &str, expected: &str) {
        let text = format!(
            "Resources: {{T: {{Type: 'AWS::DynamoDB::Table', Properties: {{TableName: {name}}}}}}}\n{more}"
        );
        let found = read(text.as_bytes(), &Parameters::new()).unwrap();
        let made = found.tables.first().and_then(TableDefinition::name);
        let told = found.faults.first().map(String::as_str).or(made);
        assert!(
            told.is_some_and(|told| told.contains(expected)),
            "{name}: {told:?}"
        );
    }

    #[test]
    fn functions_give_what_the_template_says() {
        let more = "Parameters: {N: {Type: Number, Default: 5}}
Conditions: {Yes: !Equals [!Ref N, '5']}";
        check("!Join ['-', [x, !Ref N]]", more, "x-5");
        check("!If [Yes, was, not]", more, "give --parameter Yes=true");
        check(
            "!Sub ['${v}-${N}-${!v}', {v: !Join ['', [a, b]]}]",
            more,
            "ab-5-${v}",
        );
        check(
            "!GetAtt Other.Arn",
            more,
            "is an attribute of another resource",
        );
        check("!ImportValue x", more, "is exported by another stack");
        check("!Ref T", more, "T is another resource");
        check("!Select [0, [a]]", more, "Fn::Select is not known here");
    }

    #[test]
    fn work_is_bounded_whatever_a_template_asks_for() {
        let long = format!(
            "Parameters: {{P: {{Type: String, Default: {}}}}}",
            "x".repeat(60_000)
        );
        let many = "!Ref P,".repeat(1_000);
        check(&format!("!Join ['', [{many}]]"), &long, "too much work");
        check(
            &format!("!Sub '{}'", "${P}".repeat(1_000)),
            &long,
            "too long",
        );
        let deep = format!("{}x{}", "!Join ['', [".repeat(25), "]]".repeat(25));
        check(&deep, "", "nested too deeply");
    }
}
