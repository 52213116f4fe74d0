//! One daemon asked through both of its front ends: HTTP bodies as they are on the wire, and files of the mount.

use serde_json::{Map, Value};

use crate::support::daemon::{Mount, free_address, post};

/// A Query or Scan for HTTP, and the query path that asks the same of the mount.
pub struct Read {
    pub id: &'static str,
    /// The operation, a blank, its body.
    pub call: &'static str,
    /// Without the result at its end.
    pub path: &'static str,
    /// Plain JSON, in order.
    pub items: &'static [&'static str],
    /// The order is not defined.
    pub any_order: bool,
    /// What it consumes: `gsi NAME n`, `lsi NAME n`, `table n`, those above zero.
    pub units: &'static str,
    /// `LastEvaluatedKey` as plain JSON, empty for the last page.
    pub last: &'static str,
}

impl Read {
    /// A read to its end, in order.
    pub const ALL: Self = Self {
        id: "",
        call: "",
        path: "",
        items: &[],
        any_order: false,
        units: "",
        last: "",
    };
}

/// A mount that serves HTTP.
pub struct Both {
    pub mount: Mount,
    address: String,
}

impl Both {
    pub fn with_samples() -> Self {
        let address = free_address();
        Self {
            mount: Mount::with_samples_and(&["--http", &address]),
            address,
        }
    }

    pub fn empty() -> Self {
        let address = free_address();
        Self {
            mount: Mount::with_args(&["--http", &address]),
            address,
        }
    }

    /// The answer to a call that must succeed: operation, blank, body.
    #[track_caller]
    pub fn api(&self, call: &str) -> Value {
        let (status, body) = self.post(call);
        assert_eq!(status, "200", "{call}: {body}");
        body
    }

    fn post(&self, call: &str) -> (String, Value) {
        let (operation, body) = call.split_once(' ').unwrap();
        let answer = post(&self.address, operation, body).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().to_owned();
        (
            status,
            serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}")),
        )
    }

    /// The items of all pages of a Query or Scan, as plain JSON.
    #[track_caller]
    pub fn all(&self, call: &str) -> Vec<Value> {
        let (operation, body) = call.split_once(' ').unwrap();
        let mut request: Value = serde_json::from_str(body).unwrap();
        let mut items = Vec::new();
        loop {
            let mut page = self.api(&format!("{operation} {request}"));
            items.extend(page["Items"].as_array().unwrap().iter().map(plain));
            match page["LastEvaluatedKey"].take() {
                Value::Null => return items,
                key => request["ExclusiveStartKey"] = key,
            }
        }
    }

    /// The output of a script in the mount that must succeed without a word on standard error.
    #[track_caller]
    pub fn shell(&self, script: &str) -> String {
        self.mount.ok(script)
    }

    /// The same, each line as JSON.
    #[track_caller]
    pub fn lines(&self, script: &str) -> Vec<Value> {
        self.shell(script)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// What a call consumed, as in [`Read::units`]; the total is the sum of the arms.
    #[track_caller]
    pub fn units(&self, call: &str) -> String {
        match &self.with_capacity(call)["ConsumedCapacity"] {
            // Batches and transactions: an entry for each table, one here.
            Value::Array(tables) => units(&tables[0]),
            table => units(table),
        }
    }

    fn with_capacity(&self, call: &str) -> Value {
        let (operation, body) = call.split_once(' ').unwrap();
        let mut request: Value = serde_json::from_str(body).unwrap();
        request["ReturnConsumedCapacity"] = "INDEXES".into();
        self.api(&format!("{operation} {request}"))
    }

    /// Asks both, and holds every result file of the path against the answer of the API.
    #[track_caller]
    pub fn check(&self, read: &Read) {
        let Read { id, call, path, .. } = read;
        let order = |items: Vec<Value>| {
            if read.any_order {
                in_any_order(items)
            } else {
                items
            }
        };
        let expected: Vec<Value> = order(
            read.items
                .iter()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        );

        let answer = self.with_capacity(call);
        let items = |page: &Value| {
            page["Items"]
                .as_array()
                .unwrap()
                .iter()
                .map(plain)
                .collect::<Vec<_>>()
        };
        assert_eq!(order(items(&answer)), expected, "{id}");
        assert_eq!(answer["Count"], expected.len(), "{id}");
        assert_eq!(units(&answer["ConsumedCapacity"]), read.units, "{id}");
        let last = Some(read.last)
            .filter(|last| !last.is_empty())
            .map(|last| serde_json::from_str::<Value>(last).unwrap());
        assert_eq!(answer.get("LastEvaluatedKey").map(plain), last, "{id}");

        let page = self.lines(&format!("cat '{path}/page.json'")).remove(0);
        assert_eq!(
            order(page["Items"].as_array().unwrap().clone()),
            expected,
            "{id}"
        );
        for member in ["Count", "ScannedCount", "ConsumedCapacity"] {
            assert_eq!(page[member], answer[member], "{id}");
        }
        assert_eq!(page["next"].is_null(), last.is_none(), "{id}");
        assert_eq!(
            order(self.lines(&format!("cat '{path}/items.ndjson'"))),
            expected,
            "{id}"
        );
        let typed = self.lines(&format!("cat '{path}/items.ddbjson'"));
        assert_eq!(order(typed.iter().map(plain).collect()), expected, "{id}");
        let count = format!("{0}\n{0}\n{0}\n", expected.len());
        let counts = format!("cat '{path}/count'; wc -l < '{path}/keys'; ls '{path}' | wc -l");
        assert_eq!(self.shell(&counts), count, "{id}");
        // The request that the path stands for, given to the API.
        let operation = if path.contains("/scan") {
            "Scan"
        } else {
            "Query"
        };
        let request = self.shell(&format!("cat '{path}/request.json'"));
        assert_eq!(
            order(items(&self.api(&format!("{operation} {request}")))),
            expected,
            "{id}"
        );
    }

    /// Both refuse it, and name the reason; what the mount said is in its errors file.
    #[track_caller]
    pub fn refuses(&self, id: &str, call: &str, script: &str, [text, text_of_mount]: [&str; 2]) {
        let (status, body) = self.post(call);
        assert_eq!(status, "400", "{id}: {body}");
        assert!(
            body["__type"]
                .as_str()
                .unwrap()
                .ends_with("#ValidationException"),
            "{id}: {body}"
        );
        assert!(
            body["message"].as_str().unwrap().contains(text),
            "{id}: {body}"
        );
        let said = self.shell(&format!(
            "{{ {script}; }} 2> /dev/null && echo accepted; cat .ddb/errors/last"
        ));
        assert!(
            said.contains("EINVAL") && said.contains(text_of_mount) && !said.contains("accepted"),
            "{id}: {said}"
        );
    }
}

/// What a `ConsumedCapacity` says, as in [`Read::units`].
pub fn units(consumed: &Value) -> String {
    let mut arms = Vec::new();
    let mut total = 0.0;
    for (member, word) in [
        ("GlobalSecondaryIndexes", "gsi"),
        ("LocalSecondaryIndexes", "lsi"),
    ] {
        for (name, arm) in consumed[member].as_object().into_iter().flatten() {
            let units = arm["CapacityUnits"].as_f64().unwrap();
            total += units;
            arms.push(format!("{word} {name} {units}"));
        }
    }
    let table = consumed["Table"]["CapacityUnits"].as_f64().unwrap();
    total += table;
    if table > 0.0 {
        arms.push(format!("table {table}"));
    }
    assert_eq!(consumed["CapacityUnits"], total, "{consumed}");
    arms.join(", ")
}

/// Sorted by their text, to compare what has no order.
pub fn in_any_order(mut items: Vec<Value>) -> Vec<Value> {
    items.sort_by_key(Value::to_string);
    items
}

/// An item of the wire as the plain JSON of item files: strings, numbers, booleans, documents and string sets.
pub fn plain(item: &Value) -> Value {
    let attributes = item.as_object().unwrap().iter();
    Value::Object(
        attributes
            .map(|(name, value)| (name.clone(), plain_value(value)))
            .collect(),
    )
}

fn plain_value(value: &Value) -> Value {
    let (tag, content) = value.as_object().unwrap().iter().next().unwrap();
    match tag.as_str() {
        "S" | "BOOL" => content.clone(),
        "N" => serde_json::from_str(content.as_str().unwrap()).unwrap(),
        "NULL" => Value::Null,
        "L" => content
            .as_array()
            .unwrap()
            .iter()
            .map(plain_value)
            .collect(),
        "M" => plain(content),
        "SS" => Value::Object(Map::from_iter([("$ss".to_owned(), content.clone())])),
        other => panic!("{other} is not in these examples"),
    }
}
