//! The Serverless framework's `serverless.yml`: a CloudFormation template below `resources`, with
//! variables `${…}` of the framework in its texts.

use std::cell::Cell;

use serde_json::{Map, Value, json};

use super::cloudformation;
use super::table::{FoundTables, Parameters};

/// The most variables of one text.
const VARIABLES_MAX: usize = 64;
/// The most variables that are replaced in all texts, those in their values counted.
const REPLACED_MAX: usize = 100_000;
/// The deepest nesting of values in which variables are looked for.
const DEPTH_MAX: usize = 64;
/// The longest text with its variables replaced.
const TEXT_BYTES_MAX: usize = 64 * 1024;

pub(super) fn tables(service: &Value, parameters: &Parameters) -> FoundTables {
    let reader = Variables {
        service,
        parameters,
        left: Cell::new(REPLACED_MAX),
    };
    let mut faults = Vec::new();
    let mut template = Map::new();
    let parts = match service.get("resources") {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    for part in parts {
        match part {
            Value::Object(members) => merge(&mut template, members),
            other => faults.push(format!(
                "resources: {} is another file; import that file itself",
                other.as_str().unwrap_or("this")
            )),
        }
    }
    let template = reader.replace_all(&Value::Object(template), DEPTH_MAX);
    let mut found = cloudformation::tables(&template, parameters);
    found.faults.extend(faults);
    found
}

/// Adds a part's members, and the members of `Resources` and the like one by one.
fn merge(template: &mut Map<String, Value>, part: &Map<String, Value>) {
    for (name, value) in part {
        match (template.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(more)) => {
                known.extend(more.clone());
            }
            _ => {
                template.insert(name.clone(), value.clone());
            }
        }
    }
}

struct Variables<'s> {
    service: &'s Value,
    parameters: &'s Parameters,
    /// The rest of [`REPLACED_MAX`].
    left: Cell<usize>,
}

impl Variables<'_> {
    /// Replaces the variables in all texts below a value.
    fn replace_all(&self, value: &Value, depth: usize) -> Value {
        let Some(depth) = depth.checked_sub(1) else {
            return value.clone();
        };
        match value {
            Value::String(text) => self.replace(text, VARIABLES_MAX),
            Value::Array(list) => list
                .iter()
                .map(|value| self.replace_all(value, depth))
                .collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), self.replace_all(value, depth)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }

    /// Replaces the variables of a text, the innermost first. One that is not known here becomes a
    /// Ref of its own words: a member that needs it is refused with the option that gives it.
    fn replace(&self, text: &str, budget: usize) -> Value {
        let mut text = text.to_owned();
        // Texts before this are done: CloudFormation's own `${AWS::Region}` stays.
        let mut end = text.len();
        for _ in 0..budget {
            let Some(start) = text[..end].rfind("${") else {
                return text.into();
            };
            let Some(length) = text[start..].find('}') else {
                end = start;
                continue;
            };
            let inner = text[start + 2..start + length].trim().to_owned();
            if !inner.contains(':') || inner.contains("::") {
                end = start;
                continue;
            }
            let left = self.left.get().saturating_sub(1);
            self.left.set(left);
            if left == 0 {
                break;
            }
            let is_whole = start == 0 && start + length + 1 == text.len();
            match self.variable(&inner, budget / 2) {
                Some(value) if is_whole => return value,
                Some(Value::String(part)) => text.replace_range(start..=start + length, &part),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                    text.replace_range(start..=start + length, &value.to_string());
                }
                _ => return json!({ "Ref": inner }),
            }
            if text.len() > TEXT_BYTES_MAX {
                break;
            }
            end = text.len();
        }
        json!({ "Ref": text })
    }

    /// Returns the first of a variable's alternatives that is known: `opt:stage, 'dev'`.
    fn variable(&self, inner: &str, budget: usize) -> Option<Value> {
        let mut alternatives = inner.split(',').map(str::trim);
        self.given(inner)
            .or_else(|| alternatives.find_map(|one| self.alternative(one, budget)))
    }

    fn given(&self, name: &str) -> Option<Value> {
        self.parameters.get(name).map(|given| given.as_str().into())
    }

    fn alternative(&self, alternative: &str, budget: usize) -> Option<Value> {
        let quoted = |quote: char| alternative.strip_prefix(quote)?.strip_suffix(quote);
        if let Some(literal) = quoted('\'').or_else(|| quoted('"')) {
            return Some(literal.into());
        }
        let Some((source, name)) = alternative.split_once(':') else {
            let value: Value = serde_json::from_str(alternative).ok()?;
            return (value.is_number() || value.is_boolean()).then_some(value);
        };
        self.given(alternative).or_else(|| match source {
            "self" => {
                let mut names = name.split('.');
                match names.try_fold(self.service, |value, name| value.get(name))? {
                    Value::String(text) => Some(self.replace(text, budget)),
                    other => Some(other.clone()),
                }
            }
            "opt" | "env" | "param" => self.given(name),
            _ => None,
        })
    }
}
