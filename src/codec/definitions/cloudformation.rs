//! Templates of CloudFormation, SAM and CDK: their tables, and the functions that give a value
//! (`Ref`, `Fn::Sub`, `Fn::Join`, `Fn::If`, …), as far as the template itself says it. Parameters
//! have their defaults, or are given; the stack's name, its region and account are assumed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::table::{
    FoundTables, Parameters, TIME_TO_LIVE, TableDefinition, boolean, found, key_element,
    throughput, whole,
};

const TABLE: &str = "AWS::DynamoDB::Table";
const GLOBAL_TABLE: &str = "AWS::DynamoDB::GlobalTable";
const SIMPLE_TABLE: &str = "AWS::Serverless::SimpleTable";

/// The deepest nesting of functions and of references among conditions.
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
    let has_types = |value: &'_ Value| {
        value.as_object().is_some_and(|members| {
            members.values().any(|resource| {
                resource
                    .get("Type")
                    .is_some_and(|kind| kind.as_str().is_some_and(|kind| kind.contains("::")))
            })
        })
    };
    [value.get("Resources"), Some(value)]
        .into_iter()
        .flatten()
        .find(|value| has_types(value))
        .and_then(Value::as_object)
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
        let kind = resource.get("Type")?.as_str()?;
        let is_table = [TABLE, GLOBAL_TABLE, SIMPLE_TABLE].contains(&kind);
        is_table.then_some(())?;
        resolver.assumed.clear();
        if let Some(condition) = resource.get("Condition").and_then(Value::as_str) {
            match resolver.condition(condition, DEPTH_MAX) {
                Ok(true) => {}
                Ok(false) => {
                    skipped.push(format!("{label}: its condition {condition} is false"));
                    return None;
                }
                Err(why) => return Some((label.clone(), Err(why))),
            }
        }
        let table = match kind {
            SIMPLE_TABLE => resolver.simple_table(label, resource),
            _ => resolver.table(label, resource),
        };
        let table = table.map(|mut table| {
            let assumed = |name: &String| {
                format!(
                    "{name} is taken as {}; --parameter {name}=VALUE gives another",
                    pseudo(name)
                )
            };
            table.notes.extend(resolver.assumed.iter().map(assumed));
            table
        });
        Some((label.clone(), table))
    });
    let found = found(read);
    FoundTables { skipped, ..found }
}

fn pseudo(name: &str) -> &'static str {
    PSEUDO_PARAMETERS
        .iter()
        .find(|(known, _)| *known == name)
        .map_or("", |(_, value)| value)
}

/// The values of one template.
struct Resolver<'t> {
    template: &'t Value,
    parameters: &'t Parameters,
    /// The pseudo parameters that were used and not given.
    assumed: BTreeSet<String>,
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
        let is_global = resource.get("Type").and_then(Value::as_str) == Some(GLOBAL_TABLE);
        let mut request =
            Map::from_iter([("TableName".to_owned(), self.table_name(label, properties)?)]);
        // CloudFormation's own default.
        request.insert("BillingMode".to_owned(), "PROVISIONED".into());
        let mut notes = Vec::new();
        for (name, value) in properties {
            let required = |value: Resolved| value.map_err(|why| format!("{name}: {why}"));
            let resolved = match name.as_str() {
                "TableName" => continue,
                "AttributeDefinitions"
                | "KeySchema"
                | "GlobalSecondaryIndexes"
                | "LocalSecondaryIndexes"
                | "BillingMode"
                | "ProvisionedThroughput"
                | "OnDemandThroughput"
                | "WarmThroughput" => required(self.resolve(value, DEPTH_MAX))?,
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
                request.insert(name.clone(), value);
            }
        }
        if is_global {
            self.global_capacity(properties, &mut request, &mut notes);
        }
        adapt(&mut request);
        Ok(TableDefinition {
            notes,
            ..TableDefinition::new(label, request)
        })
    }

    fn properties(resource: &Value) -> Result<&Map<String, Value>, String> {
        let properties = resource.get("Properties").and_then(Value::as_object);
        properties.ok_or_else(|| "it has no Properties".to_owned())
    }

    /// Returns the table's name; without one CloudFormation makes one of the logical id.
    fn table_name(
        &mut self,
        label: &str,
        properties: &Map<String, Value>,
    ) -> Result<Value, String> {
        let given = properties
            .get("TableName")
            .map(|name| self.resolve(name, DEPTH_MAX));
        match given.transpose() {
            Ok(name) => Ok(name.flatten().unwrap_or_else(|| label.into())),
            Err(why) => unresolved(format!("TableName: {why}")),
        }
    }

    fn simple_table(&mut self, label: &str, resource: &Value) -> Result<TableDefinition, String> {
        let empty = Map::new();
        let properties = match resource.get("Properties") {
            Some(_) => Self::properties(resource)?,
            None => &empty,
        };
        let key = match properties.get("PrimaryKey") {
            Some(key) => self.resolve(key, DEPTH_MAX)?,
            None => None,
        };
        let member = |name: &str| {
            key.as_ref()
                .and_then(|key| key.get(name)?.as_str())
                .map(str::to_owned)
        };
        let name = member("Name").unwrap_or_else(|| "id".to_owned());
        let kind = match member("Type").as_deref() {
            None | Some("String") => "S",
            Some("Number") => "N",
            Some("Binary") => "B",
            Some(other) => return unresolved(format!("PrimaryKey has the type {other}")),
        };
        let mut request = Map::from_iter([
            ("TableName".to_owned(), self.table_name(label, properties)?),
            (
                "AttributeDefinitions".to_owned(),
                json!([{ "AttributeName": name, "AttributeType": kind }]),
            ),
            ("KeySchema".to_owned(), json!([key_element(&name, "HASH")])),
        ]);
        let units = match properties.get("ProvisionedThroughput") {
            Some(units) => self.resolve(units, DEPTH_MAX)?,
            None => None,
        };
        let mode = if units.is_some() {
            "PROVISIONED"
        } else {
            "PAY_PER_REQUEST"
        };
        request.insert("BillingMode".to_owned(), mode.into());
        request.extend(units.map(|units| ("ProvisionedThroughput".to_owned(), throughput(&units))));
        Ok(TableDefinition::new(label, request))
    }

    /// Sets the throughput of a global table, which says it for its replicas and as limits of
    /// scaling: the least of these.
    fn global_capacity(
        &mut self,
        properties: &Map<String, Value>,
        request: &mut Map<String, Value>,
        notes: &mut Vec<String>,
    ) {
        if request.get("BillingMode").and_then(Value::as_str) != Some("PROVISIONED") {
            return;
        }
        let least = |settings: Option<Value>, fixed: &str, scaled: &str| {
            let settings = settings?;
            let scaling = settings.get(scaled);
            let units = settings
                .get(fixed)
                .or_else(|| scaling?.get("SeedCapacity"))
                .or_else(|| scaling?.get("MinCapacity"))?;
            Some(whole(units))
        };
        let mut resolved = |value: Option<&Value>| {
            value.and_then(|value| self.resolve(value, DEPTH_MAX).ok().flatten())
        };
        let write = resolved(properties.get("WriteProvisionedThroughputSettings"));
        let replica = properties
            .get("Replicas")
            .and_then(|replicas| replicas.get(0));
        let read =
            resolved(replica.and_then(|replica| replica.get("ReadProvisionedThroughputSettings")));
        let write = least(
            write,
            "WriteCapacityUnits",
            "WriteCapacityAutoScalingSettings",
        );
        let read = least(read, "ReadCapacityUnits", "ReadCapacityAutoScalingSettings");
        if write.is_none() || read.is_none() {
            notes.push("a part of its throughput is taken as 5 units".to_owned());
        }
        let units = json!({
            "ReadCapacityUnits": read.unwrap_or_else(|| 5.into()),
            "WriteCapacityUnits": write.unwrap_or_else(|| 5.into()),
        });
        if let Some(Value::Array(indexes)) = request.get_mut("GlobalSecondaryIndexes") {
            for index in indexes.iter_mut().filter_map(Value::as_object_mut) {
                let own = index.remove("WriteProvisionedThroughputSettings");
                let own = least(
                    own,
                    "WriteCapacityUnits",
                    "WriteCapacityAutoScalingSettings",
                );
                let mut units = units.clone();
                if let Some(own) = own {
                    units["WriteCapacityUnits"] = own;
                }
                index.insert("ProvisionedThroughput".to_owned(), units);
            }
        }
        request.insert("ProvisionedThroughput".to_owned(), units);
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
                let chosen = if self.condition(&text_of(condition, name)?, depth)? {
                    yes
                } else {
                    no
                };
                self.resolve(chosen, depth)
            }
            "Fn::FindInMap" => {
                let path: [Value; 3] = self.arguments(name, argument, depth)?;
                let path = path
                    .iter()
                    .map(|key| text_of(key, name))
                    .collect::<Result<Vec<_>, _>>()?;
                let found = path
                    .iter()
                    .try_fold(self.template.get("Mappings"), |map, key| {
                        Some(map?.get(key))
                    });
                match found.flatten() {
                    Some(value) => self.resolve(value, depth),
                    None => unresolved(format!("Mappings have no {}", path.join("."))),
                }
            }
            "Fn::Select" => {
                let [at, list] = self.arguments(name, argument, depth)?;
                let at = whole(&at).as_u64().and_then(|at| usize::try_from(at).ok());
                match at.and_then(|at| list.get(at)) {
                    Some(value) => Ok(Some(value.clone())),
                    None => unresolved("Fn::Select selects no element"),
                }
            }
            "Fn::Split" => {
                let [separator, text] = self.arguments(name, argument, depth)?;
                let (separator, text) = (text_of(&separator, name)?, text_of(&text, name)?);
                if separator.is_empty() {
                    return unresolved("Fn::Split without a separator");
                }
                // Each part is a value of its own.
                self.spend(text.len().saturating_mul(16))?;
                Ok(Some(text.split(&separator).collect()))
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
        let declared = self
            .template
            .get("Parameters")
            .and_then(|parameters| parameters.get(name));
        let kind = declared
            .and_then(|declared| declared.get("Type"))
            .and_then(Value::as_str);
        let is_list =
            kind.is_some_and(|kind| kind == "CommaDelimitedList" || kind.starts_with("List<"));
        let listed = |value: &str| match is_list {
            true => value
                .split(',')
                .map(|part| Value::from(part.trim()))
                .collect(),
            false => Value::from(value),
        };
        if let Some(given) = self.parameters.get(name) {
            self.spend(given.len())?;
            return Ok(listed(given));
        }
        if let Some(declared) = declared {
            return match declared.get("Default") {
                Some(Value::String(default)) => {
                    self.spend(default.len())?;
                    Ok(listed(default))
                }
                Some(default) => self
                    .resolve(default, depth)
                    .map(|value| value.unwrap_or_default()),
                None => unresolved(format!(
                    "the parameter {name} has no default; give --parameter {name}=VALUE"
                )),
            };
        }
        if PSEUDO_PARAMETERS.iter().any(|(known, _)| *known == name) {
            self.assumed.insert(name.to_owned());
            return Ok(pseudo(name).into());
        }
        let is_resource = resources(self.template).is_some_and(|all| all.contains_key(name));
        unresolved(if is_resource {
            format!("{name} is another resource; give --parameter {name}=VALUE")
        } else {
            format!("the template has no parameter {name}; give --parameter {name}=VALUE")
        })
    }

    /// Carries out `Fn::Sub`: `${Name}` is a parameter, or a member of the second argument; `${!x}`
    /// stands for `${x}`.
    fn substitute(&mut self, argument: &Value, depth: usize) -> Result<Value, String> {
        let (text, own) = match argument {
            Value::String(text) => (text.as_str(), None),
            Value::Array(list) => match list.as_slice() {
                [Value::String(text), Value::Object(own)] => (text.as_str(), Some(own)),
                _ => return unresolved("Fn::Sub has a text and its variables"),
            },
            _ => return unresolved("Fn::Sub has a text"),
        };
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                return unresolved("Fn::Sub has a ${ without its }");
            };
            out.push_str(before);
            match (name.strip_prefix('!'), own.and_then(|own| own.get(name))) {
                (Some(literal), _) => out.push_str(&format!("${{{literal}}}")),
                (None, Some(value)) => {
                    let value = self.resolve(value, depth)?.unwrap_or_default();
                    out.push_str(&text_of(&value, "Fn::Sub")?);
                }
                (None, None) if name.contains('.') => {
                    return unresolved(format!("{name} is an attribute of another resource"));
                }
                (None, None) => out.push_str(&text_of(&self.reference(name, depth)?, "Fn::Sub")?),
            }
            rest = after;
            if out.len() > TEXT_BYTES_MAX {
                break;
            }
        }
        out.push_str(rest);
        bounded(out)
    }

    /// Returns the value of a named condition.
    fn condition(&mut self, name: &str, depth: usize) -> Result<bool, String> {
        let declared = self
            .template
            .get("Conditions")
            .and_then(|all| all.get(name));
        match declared {
            Some(declared) => self.test(declared, depth),
            None => unresolved(format!("the template has no condition {name}")),
        }
    }

    fn test(&mut self, condition: &Value, depth: usize) -> Result<bool, String> {
        self.spend(1)?;
        let Some(depth) = depth.checked_sub(1) else {
            return unresolved("its conditions are nested too deeply");
        };
        let (name, argument) = match condition
            .as_object()
            .and_then(|members| members.iter().next())
        {
            Some((name, argument)) => (name.as_str(), argument),
            None => return unresolved("a condition without a function"),
        };
        let all = |argument: &Value| argument.as_array().cloned().unwrap_or_default();
        match name {
            "Condition" => self.condition(&text_of(argument, name)?, depth),
            "Fn::Equals" => {
                let [a, b] = self.arguments(name, argument, depth)?;
                Ok(text_of(&a, name)? == text_of(&b, name)?)
            }
            "Fn::Not" => match all(argument).as_slice() {
                [one] => Ok(!self.test(one, depth)?),
                _ => unresolved("Fn::Not has one condition"),
            },
            "Fn::And" => all(argument)
                .iter()
                .try_fold(true, |so_far, one| Ok(so_far && self.test(one, depth)?)),
            "Fn::Or" => all(argument)
                .iter()
                .try_fold(false, |so_far, one| Ok(so_far || self.test(one, depth)?)),
            other => unresolved(format!("the function {other} is not known here")),
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

/// Makes CreateTable's members of CloudFormation's, which are nearly the same.
fn adapt(request: &mut Map<String, Value>) {
    let on_demand = request.get("BillingMode").and_then(Value::as_str) == Some("PAY_PER_REQUEST");
    adapt_capacity(request, on_demand);
    if let Some(Value::Array(indexes)) = request.get_mut("GlobalSecondaryIndexes") {
        for index in indexes.iter_mut().filter_map(Value::as_object_mut) {
            index.remove("ContributorInsightsSpecification");
            adapt_capacity(index, on_demand);
        }
    }
    if let Some(Value::Object(stream)) = request.get_mut("StreamSpecification") {
        stream.remove("ResourcePolicy");
        stream.entry("StreamEnabled").or_insert(true.into());
    }
    if let Some(Value::Object(encryption)) = request.get_mut("SSESpecification")
        && let Some(enabled) = encryption.remove("SSEEnabled")
    {
        encryption.insert("Enabled".to_owned(), boolean(&enabled));
    }
    if let Some(Value::Object(expiry)) = request.get_mut(TIME_TO_LIVE)
        && let Some(enabled) = expiry.get_mut("Enabled")
    {
        *enabled = boolean(enabled);
    }
    // CreateTable has the policy as a text.
    if let Some(policy) = request.get_mut("ResourcePolicy")
        && let Some(document) = policy
            .get("PolicyDocument")
            .filter(|document| document.is_object())
    {
        *policy = document.to_string().into();
    }
    if let Some(protection) = request.get_mut("DeletionProtectionEnabled") {
        *protection = boolean(protection);
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
        let more = "Parameters: {P: {Type: CommaDelimitedList, Default: 'a, b'}, N: {Type: Number, Default: 5}}
Mappings: {M: {us-east-1: {x: mapped}}}
Conditions: {Yes: !And [!Equals [!Ref N, '5'], !Or [!Equals [a, b], !Not [!Equals [a, b]]]]}";
        check("!Select [1, !Ref P]", more, "b");
        check("!Join ['-', !Split ['.', 'x.y']]", more, "x-y");
        check("!FindInMap [M, !Ref 'AWS::Region', x]", more, "mapped");
        check("!If [Yes, was, not]", more, "was");
        check(
            "!Sub ['${v}-${N}-${!v}', {v: !Select [0, !Ref P]}]",
            more,
            "a-5-${v}",
        );
        check(
            "!GetAtt Other.Arn",
            more,
            "is an attribute of another resource",
        );
        check("!ImportValue x", more, "is exported by another stack");
        check("!Ref T", more, "T is another resource");
        check("!Cidr [a]", more, "Fn::Cidr is not known here");
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
        let doubled: String = (0..28)
            .map(|at| format!("  C{at}: !Or [!Condition C{0}, !Condition C{0}]\n", at + 1))
            .collect();
        let last = "  C28: !Equals [a, b]\n";
        check(
            "!If [C0, a, b]",
            &format!("Conditions:\n{doubled}{last}"),
            "too much work",
        );
        let circle = "Conditions: {C0: !Condition C1, C1: !Condition C0}";
        check("!If [C0, a, b]", circle, "nested too deeply");
        let map = "Mappings: {M: {a: {b: !FindInMap [M, a, b]}}}";
        check("!FindInMap [M, a, b]", map, "nested too deeply");
    }
}
