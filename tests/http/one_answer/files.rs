//! The forms that files have for single items and queries, held against HTTP: the outcome, what was stored, and what is said.

use ddbfs::codec::{dynamodb_json, plain_json};
use serde_json::{Value, json};

use super::grammar::expand;
use super::pair::{INDEXED, Pair, is_of, sentence_of, shown};
use crate::support::kernel::Ended;
use crate::support::seeded::Numbers;

/// Sentences of the service that the file forms do not say, and why.
const KNOWN: &[(&str, &str)] = &[
    (
        "contains duplicates.",
        "a reader of files writes the set without the quotes, and says where in the text it is",
    ),
    (
        "Supplied AttributeValue is empty",
        "the reader of item files says what it expected, and where",
    ),
    ("cannot be converted to", "the same"),
    ("Base64 encoded length is expected", "the same"),
    ("Unexpected value type in payload", "the same"),
    ("Start of structure or map found", "the same"),
    ("Unrecognized collection type", "the same"),
];

/// Texts that HTTP takes and item files do not, and why.
const STRICT: &[(&str, &str)] = &[(
    r#"{"BOOL":"true"}"#,
    "a boolean in quotes is a mistake in a file that a person writes",
)];

/// What operations put before the sentences of others; the file forms of items say the sentence alone.
const PREFIX: &str = "1 validation error detected: ";

/// Keys: pk, sk, the item's path without its suffix.
const KEYS: [(&str, &str, &str); 5] = [
    ("a", "1", "Tab/items/a/1"),
    ("a", "2", "Tab/items/a/2"),
    ("a", "-1.5", "Tab/items/a/%2D1.5"),
    ("b", "1", "Tab/items/b/1"),
    ("b", "2", "Tab/items/b/2"),
];

/// What generated changes and reads through the two come to differently.
pub fn differences(seed: u64, cases: u64) -> Vec<String> {
    let pair = Pair::new(INDEXED);
    for folder in ["a", "b"] {
        pair.files.mkdir(&format!("Tab/items/{folder}")).unwrap();
    }
    let mut numbers = Numbers(seed);
    let forms = [put, delete, update, get, query];
    let mut found = Vec::new();
    for _ in 0..cases {
        let form = forms[numbers.below(forms.len() as u64) as usize];
        found.extend(form(&pair, &mut numbers));
    }
    found
}

fn key(numbers: &mut Numbers) -> (Value, String, String) {
    let (pk, sk, path) = KEYS[numbers.below(KEYS.len() as u64) as usize];
    let members = format!(r#""pk":{{"S":"{pk}"}},"sk":{{"N":"{sk}"}}"#);
    (
        json!({"pk": {"S": pk}, "sk": {"N": sk}}),
        members,
        path.to_owned(),
    )
}

/// PutItem: an item written as DynamoDB's JSON, or as plain JSON where it has that.
fn put(pair: &Pair, numbers: &mut Numbers) -> Option<String> {
    let (_, key, path) = key(numbers);
    let attributes = expand(
        ["", r#""a":@value"#, r#""a":@value,"b":@value,"g":@group"#][numbers.below(3) as usize],
        numbers,
    );
    let attributes = if attributes.is_empty() {
        String::new()
    } else {
        format!(",{attributes}")
    };
    if STRICT.iter().any(|(part, _)| attributes.contains(part)) {
        return None;
    }
    let request = format!(r#"{{"TableName":"Tab","Item":{{{key}{attributes}}}}}"#);
    let text = format!("{{{key}{attributes}}}");
    let plain = if numbers.percent(50) {
        plain(&text)
    } else {
        None
    };
    let (path, text) = plain.map_or((format!("{path}.ddbjson"), text), |plain| {
        (format!("{path}.json"), plain)
    });
    compare(
        pair,
        ("PutItem", &request),
        &format!("{path}: {text}"),
        || pair.files.write(&path, &text),
    )
}

/// The plain JSON of an item that is written as DynamoDB's.
fn plain(typed: &str) -> Option<String> {
    let item = dynamodb_json::parse(typed.as_bytes()).ok()?;
    let mut line = Vec::new();
    plain_json::write_line(&item, &[], &mut line);
    String::from_utf8(line).ok()
}

/// DeleteItem: unlink, which finds nothing where DeleteItem has nothing to do.
fn delete(pair: &Pair, numbers: &mut Numbers) -> Option<String> {
    let (_, key, path) = key(numbers);
    let path = format!("{path}.json");
    let is_there = pair.files.stat(&path).is_ok();
    let request = format!(r#"{{"TableName":"Tab","Key":{{{key}}}}}"#);
    compare(
        pair,
        ("DeleteItem", &request),
        &format!("rm {path}"),
        || match pair.files.unlink(&path) {
            Err("ENOENT") if !is_there => Ok(()),
            ended => ended,
        },
    )
}

/// UpdateItem: a request without table and key, written to X.update.
fn update(pair: &Pair, numbers: &mut Numbers) -> Option<String> {
    let (_, key, path) = key(numbers);
    let members = expand("@update", numbers);
    let members = if numbers.percent(30) {
        format!("{members},{}", expand("@updateReturns", numbers))
    } else {
        members
    };
    let request = format!(r#"{{"TableName":"Tab","Key":{{{key}}},{members}}}"#);
    let (path, text) = (format!("{path}.update"), format!("{{{members}}}"));
    compare(
        pair,
        ("UpdateItem", &request),
        &format!("{path}: {text}"),
        || pair.files.write(&path, &text),
    )
}

/// Changes both; what is different afterwards, in words.
fn compare(
    pair: &Pair,
    (operation, request): (&str, &str),
    form: &str,
    change: impl FnOnce() -> Ended<()>,
) -> Option<String> {
    let answer = pair.http(operation, request);
    let ended = change();
    let of_http = answer.json();
    let told = |what: &str| {
        Some(format!(
            "{operation} {request}\n  HTTP: {}\n  {form}\n  file: {ended:?} {what}",
            shown(&answer.text())
        ))
    };
    let sentence = sentence_of(&of_http).trim_start_matches(PREFIX);
    let is_known = |said: &str| KNOWN.iter().any(|(part, _)| said.contains(part));
    match ended {
        Ok(()) if answer.status != 200 => return told("is stored"),
        Err(errno) if answer.status == 200 || !is_of(errno, &of_http) => {
            return told(&pair.last().to_string());
        }
        Err(_) if !is_known(sentence) => {
            if let Some(errors) = pair.untold(sentence) {
                return told(&errors);
            }
        }
        _ => {}
    }
    pair.different_items().and_then(|items| told(&items))
}

/// GetItem: the file is there when the item is, with what is in it.
fn get(pair: &Pair, numbers: &mut Numbers) -> Option<String> {
    let (key, _, path) = key(numbers);
    let request = json!({"TableName": "Tab", "Key": key, "ConsistentRead": true}).to_string();
    let of_http = pair.http("GetItem", &request).json()["Item"].take();
    let read = pair.files.read(&format!("{path}.ddbjson"));
    let of_file = match &read {
        Ok(text) => serde_json::from_str(text).unwrap(),
        Err("ENOENT") => Value::Null,
        Err(_) => return Some(format!("{request}\n  {path}.ddbjson: {read:?}")),
    };
    (of_http != of_file)
        .then(|| format!("{request}\n  HTTP: {of_http}\n  {path}.ddbjson: {read:?}"))
}

/// Conditions on the sort key: of the API, of a path; `$1` and `$2` are values.
const SORTS: [(&str, &str); 8] = [
    ("", ""),
    (" AND sk = $1", "/sk=$1"),
    (" AND sk < $1", "/@sk.lt=$1"),
    (" AND sk <= $1", "/sk.le=$1"),
    (" AND sk > $1", "/@sk.gt=$1"),
    (" AND sk >= $1", "/sk.ge=$1"),
    (" AND sk BETWEEN $1 AND $2", "/@sk.between=$1,$2"),
    (" AND begins_with(sk, $1)", "/sk.begins=$1"),
];

/// More of a request and of a path.
const MORE: [(&str, &str); 6] = [
    ("", ""),
    (r#","ScanIndexForward":false"#, "/desc"),
    (r#","Limit":1"#, "/eval=1"),
    (r#","ConsistentRead":true"#, "/consistent"),
    (
        r#","FilterExpression":"attribute_exists(a)""#,
        "/where=attribute_exists(a)",
    ),
    (r#","ProjectionExpression":"a,b""#, "/select=a,b"),
];

/// Query: a path of its clauses.
fn query(pair: &Pair, numbers: &mut Numbers) -> Option<String> {
    let pk = numbers.one(&["a", "b", "none"]);
    let (condition, clause) = SORTS[numbers.below(SORTS.len() as u64) as usize];
    let (member, more) = MORE[numbers.below(MORE.len() as u64) as usize];
    let [low, high] = [(); 2].map(|()| ["1", "2", "-1.5", "0", "1.50"][numbers.below(5) as usize]);
    let mut values = json!({":p": {"S": pk}});
    for (name, value) in [("$1", low), ("$2", high)] {
        if condition.contains(name) {
            values[name.replace('$', ":s")] = json!({ "N": value });
        }
    }
    let condition = condition.replace('$', ":s");
    let request = format!(
        r#"{{"TableName":"Tab","KeyConditionExpression":"pk = :p{condition}","ExpressionAttributeValues":{values}{member}}}"#
    );
    let path = format!(
        "Tab/query/@pk={pk}{}{more}/items.ddbjson",
        clause.replace("$1", low).replace("$2", high)
    );
    let answer = pair.http("Query", &request).json();
    let read = pair.files.read(&path);
    let is_alike = match (&read, answer["Items"].as_array()) {
        (Ok(text), Some(items)) => text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .eq(items.iter().cloned()),
        (Err(errno), None) => is_of(errno, &answer),
        _ => false,
    };
    (!is_alike).then(|| format!("Query {request}\n  HTTP: {answer}\n  {path}: {read:?}"))
}
