//! YAML as JSON values: the subset of YAML 1.2 that templates use, with CloudFormation's short tags
//! (`!Ref x` is `{"Ref": "x"}`), anchors, aliases and merge keys (`<<`).

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};
use serde_json::{Map, Number, Value};

/// The deepest nesting of a document.
const DEPTH_MAX: usize = 64;
/// The most values of a document. An alias counts as often as its values are copied: a short text
/// of aliases of aliases stands for billions.
const NODES_MAX: usize = 100_000;

/// Parses the first document of a text.
///
/// # Errors
/// A sentence with the line of the fault.
pub fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
        nodes: 0,
        line: 1,
    };
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) => {}
            Event::StreamEnd => return Ok(Value::Null),
            event => return reader.value(event, DEPTH_MAX),
        }
    }
}

/// A value that an alias may name, and how many values it holds.
struct Anchor {
    value: Value,
    nodes: usize,
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Anchor>,
    nodes: usize,
    line: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Event<'t>, String> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok(event)
            }
            Some(Err(error)) => Err(format!("line {}: {}", error.marker().line(), error.info())),
            None => Ok(Event::StreamEnd),
        }
    }

    fn fault(&self, text: &str) -> String {
        format!("line {}: {text}", self.line)
    }

    fn charge(&mut self, nodes: usize) -> Result<(), String> {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            return Err(self.fault("the document has too many values, aliases counted"));
        }
        Ok(())
    }

    /// Returns the value that begins with an event.
    fn value(&mut self, event: Event<'t>, depth: usize) -> Result<Value, String> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| self.fault("the document is nested too deeply"))?;
        let before = self.nodes;
        self.charge(1)?;
        let (anchor, tag, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain
                    || tag.as_ref().is_some_and(|tag| is_core(tag, "str"));
                let value = if is_text {
                    Value::String(text.into_owned())
                } else {
                    plain_scalar(&text)
                };
                (anchor, tag, value)
            }
            Event::SequenceStart(anchor, tag) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => list.push(self.value(event, depth)?),
                    }
                }
                (anchor, tag, Value::Array(list))
            }
            Event::MappingStart(anchor, tag) => (anchor, tag, self.mapping(depth)?),
            Event::Alias(id) => {
                let Some(anchor) = self.anchors.get(&id) else {
                    return Err(self.fault("an alias inside the value that it names"));
                };
                let (value, nodes) = (anchor.value.clone(), anchor.nodes);
                self.charge(nodes)?;
                return Ok(value);
            }
            _ => return Err(self.fault("expected a value")),
        };
        let value = match tag {
            Some(tag) => tagged(&tag, value),
            None => value,
        };
        if anchor != 0 {
            // The copy is charged like an alias: a long list of anchors holds each of them twice.
            let nodes = self.nodes - before;
            self.charge(nodes)?;
            let value = value.clone();
            self.anchors.insert(anchor, Anchor { value, nodes });
        }
        Ok(value)
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, String> {
        let (mut members, mut merged) = (Map::new(), Vec::new());
        loop {
            let key = match self.next()? {
                Event::MappingEnd => break,
                event => self.value(event, depth)?,
            };
            let event = self.next()?;
            let value = self.value(event, depth)?;
            let key = match key {
                Value::String(key) => key,
                Value::Array(_) | Value::Object(_) => {
                    return Err(self.fault("a key must be a text"));
                }
                other => other.to_string(),
            };
            if key == "<<" {
                merged.push(value);
            } else if members.insert(key.clone(), value).is_some() {
                return Err(self.fault(&format!("the key {key:?} is there twice")));
            }
        }
        // The mapping's own members win over those that it merges.
        let merged = merged.into_iter().flat_map(|value| match value {
            Value::Array(list) => list,
            other => vec![other],
        });
        for value in merged {
            let Value::Object(more) = value else {
                return Err(self.fault("`<<` merges mappings"));
            };
            for (key, value) in more {
                members.entry(key).or_insert(value);
            }
        }
        Ok(Value::Object(members))
    }
}

fn is_core(tag: &Tag, suffix: &str) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == suffix
}

/// Returns the long form of a value with a tag of CloudFormation; other tags say nothing here.
fn tagged(tag: &Tag, value: Value) -> Value {
    if tag.handle != "!" {
        return value;
    }
    let (name, value) = match (tag.suffix.as_str(), value) {
        ("Ref", value) => ("Ref".to_owned(), value),
        // `!GetAtt Table.Arn` is a list in the long form.
        ("GetAtt", Value::String(path)) => {
            let (resource, attribute) = path.split_once('.').unwrap_or((&path, ""));
            (
                "Fn::GetAtt".to_owned(),
                Value::from(vec![resource, attribute]),
            )
        }
        (name, value) => (format!("Fn::{name}"), value),
    };
    Value::Object(Map::from_iter([(name, value)]))
}

/// Returns the value of a scalar without quotes. A number that JSON writes differently stays a
/// text: an account's id may begin with a zero.
fn plain_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Value::from(number),
            Ok(_) => Value::from(text),
            Err(_) => {
                let number = text
                    .contains(['.', 'e', 'E'])
                    .then(|| text.parse::<f64>().ok().and_then(Number::from_f64))
                    .flatten()
                    .filter(|_| {
                        !text.contains(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E')
                    });
                number.map_or_else(|| Value::from(text), Value::Number)
            }
        },
    }
}

/// Returns a value as YAML in block style. Texts stand in quotes, as JSON writes them, unless they
/// are plain words.
#[must_use]
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, 0);
    out
}

fn write_value(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 || indent == 0 || out.ends_with('\n') {
                    pad(out, indent);
                }
                out.push_str(&word(key));
                out.push(':');
                write_member(out, value, indent + 2);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for value in list {
                pad(out, indent);
                out.push_str("- ");
                match value {
                    Value::Object(members) if !members.is_empty() => {
                        write_value(out, value, indent + 2);
                    }
                    other => {
                        out.push_str(&scalar(other));
                        out.push('\n');
                    }
                }
            }
        }
        other => {
            out.push_str(&scalar(other));
            out.push('\n');
        }
    }
}

fn write_member(out: &mut String, value: &Value, indent: usize) {
    let is_block = match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    out.push(if is_block { '\n' } else { ' ' });
    write_value(out, value, indent);
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        // Numbers, booleans, empty lists and lists of lists, which no definition has: JSON is YAML.
        other => other.to_string(),
    }
}

/// Returns a text without quotes if YAML takes it for the same text.
fn word(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && plain_scalar(text).is_string()
        // YAML 1.1, which CloudFormation reads, has more words for booleans.
        && !["y", "n", "yes", "no", "on", "off"].contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates_are_read_as_json() {
        let check = |text: &str, expected: Value| assert_eq!(parse(text), Ok(expected), "{text}");
        check("", Value::Null);
        check(
            "a: 1\nb: [x, 'y', \"z\", 2.5, true, ~]\n",
            json!({"a": 1, "b": ["x", "y", "z", 2.5, true, null]}),
        );
        check(
            "v: 2010-09-09\nid: 012\nn: \"5\"\nwhen: 1:30",
            json!({"v": "2010-09-09", "id": "012", "n": "5", "when": "1:30"}),
        );
        check("n: !Ref Stage", json!({"n": {"Ref": "Stage"}}));
        check(
            "n: !Sub '${Stage}-x'",
            json!({"n": {"Fn::Sub": "${Stage}-x"}}),
        );
        check(
            "n: !GetAtt T.Arn",
            json!({"n": {"Fn::GetAtt": ["T", "Arn"]}}),
        );
        check(
            "n: !Join ['-', [!Ref A, b]]",
            json!({"n": {"Fn::Join": ["-", [{"Ref": "A"}, "b"]]}}),
        );
        check(
            "n: !If [P, !Ref AWS::NoValue, 1]",
            json!({"n": {"Fn::If": ["P", {"Ref": "AWS::NoValue"}, 1]}}),
        );
        check(
            "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\n",
            json!({"a": {"k": 1, "l": 2}, "b": {"l": 3, "k": 1}}),
        );
        check("1: a\ntrue: b", json!({"1": "a", "true": "b"}));
        check("t: |\n  a\n  b\n", json!({"t": "a\nb\n"}));
        check("t: !!str 5", json!({"t": "5"}));
    }

    #[test]
    fn faults_name_the_line() {
        let check = |text: &str, expected: &str| {
            let fault = parse(text).unwrap_err();
            assert!(fault.contains(expected), "{text}: {fault}");
        };
        check("a: 1\na: 2", "line 2: the key \"a\" is there twice");
        check("a: [1", "line");
        check("a: *none", "line");
        check("a: &x [*x]", "inside the value that it names");
        check(
            &format!("{}{}", "[".repeat(100), "]".repeat(100)),
            "too deeply",
        );
        let bomb: String = (1..12).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let before = format!("*a{},", n - 1).repeat(9);
            format!("{text}a{n}: &a{n} [{before}]\n")
        });
        check(&bomb, "too many values");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let check = |value: Value| {
            assert_eq!(
                parse(&to_text(&value)),
                Ok(value.clone()),
                "{}",
                to_text(&value)
            )
        };
        check(
            json!({"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"A": [{"N": "pk", "T": "S"}, {"N": "no"}], "B": [], "C": {}, "D": 5, "E": true, "F": ["a b", "${x}", "012", "", "- x", "a: b", "#c", "\u{1}", "é\n"]}}}}),
        );
        check(json!({"a": {"b": {"c": [{"d": {"e": ["f"]}}]}}}));
    }
}
