//! Generated PartiQL statements against a slow, obvious evaluator: what SELECT finds on a table and an index, page by page, and what
//! INSERT, UPDATE and DELETE leave behind.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::support::control::Control;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// A value of the tiny alphabet: numbers and strings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scalar {
    N(i64),
    S(String),
}

type Row = BTreeMap<&'static str, Scalar>;

/// A WHERE clause.
#[derive(Debug, Clone)]
enum Clause {
    Compare(&'static str, &'static str, Scalar),
    /// The value stands first.
    Flipped(Scalar, &'static str, &'static str),
    Between(&'static str, Scalar, Scalar),
    In(&'static str, Vec<Scalar>),
    BeginsWith(&'static str, String),
    Missing(&'static str),
    Not(Box<Clause>),
    And(Vec<Clause>),
    Or(Vec<Clause>),
}

fn compares(left: &Scalar, operator: &str, right: &Scalar) -> bool {
    let same_type = matches!(
        (left, right),
        (Scalar::N(_), Scalar::N(_)) | (Scalar::S(_), Scalar::S(_))
    );
    match operator {
        "=" => left == right,
        "<>" => left != right,
        "<" => same_type && left < right,
        "<=" => same_type && left <= right,
        ">" => same_type && left > right,
        ">=" => same_type && left >= right,
        other => panic!("{other}"),
    }
}

impl Clause {
    /// Word by word what docs/dynamodb.md 7.5 says.
    fn holds(&self, row: &Row) -> bool {
        match self {
            Self::Compare(name, operator, value) => match row.get(name) {
                Some(found) => compares(found, operator, value),
                None => *operator == "<>",
            },
            Self::Flipped(value, operator, name) => match row.get(name) {
                Some(found) => compares(value, operator, found),
                None => *operator == "<>",
            },
            Self::Between(name, lower, upper) => row
                .get(name)
                .is_some_and(|found| compares(found, ">=", lower) && compares(found, "<=", upper)),
            Self::In(name, values) => row.get(name).is_some_and(|found| values.contains(found)),
            Self::BeginsWith(name, prefix) => {
                matches!(row.get(name), Some(Scalar::S(text)) if text.starts_with(prefix))
            }
            Self::Missing(name) => !row.contains_key(name),
            Self::Not(inner) => !inner.holds(row),
            Self::And(parts) => parts.iter().all(|part| part.holds(row)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(row)),
        }
    }

    fn text(&self) -> String {
        let list = |values: &[Scalar]| values.iter().map(literal).collect::<Vec<_>>().join(", ");
        let join = |parts: &[Self], word: &str| {
            format!(
                "({})",
                parts.iter().map(Self::text).collect::<Vec<_>>().join(word)
            )
        };
        match self {
            Self::Compare(name, operator, value) => format!("{name} {operator} {}", literal(value)),
            Self::Flipped(value, operator, name) => {
                format!("{}{operator}\"{name}\"", literal(value))
            }
            Self::Between(name, lower, upper) => {
                format!("{name} BETWEEN {} AND {}", literal(lower), literal(upper))
            }
            Self::In(name, values) => format!("{name} IN [{}]", list(values)),
            Self::BeginsWith(name, prefix) => format!("begins_with({name}, '{prefix}')"),
            Self::Missing(name) => format!("{name} IS MISSING"),
            Self::Not(inner) => format!("NOT {}", inner.text()),
            Self::And(parts) => join(parts, " AND "),
            Self::Or(parts) => join(parts, " OR "),
        }
    }
}

fn literal(value: &Scalar) -> String {
    match value {
        Scalar::N(number) => number.to_string(),
        Scalar::S(text) => format!("'{text}'"),
    }
}

fn text() -> impl Strategy<Value = Scalar> {
    prop::sample::select(vec!["a", "ab", "b", "c"]).prop_map(|text| Scalar::S(text.to_owned()))
}

fn number() -> impl Strategy<Value = Scalar> {
    (-1i64..5).prop_map(Scalar::N)
}

/// Keys are compared with values of their types mostly, `x` with any.
fn leaf() -> impl Strategy<Value = Clause> {
    let operator = || prop::sample::select(vec!["=", "=", "=", "<>", "<", "<=", ">", ">="]);
    let texts = || prop::sample::select(vec!["pk", "pk", "pk", "g"]);
    let any = || prop_oneof![text(), number()];
    prop_oneof![
        6 => (texts(), operator(), text()).prop_map(|(name, operator, value)| Clause::Compare(name, operator, value)),
        4 => (operator(), number()).prop_map(|(operator, value)| Clause::Compare("sk", operator, value)),
        2 => (operator(), number()).prop_map(|(operator, value)| Clause::Flipped(value, operator, "sk")),
        1 => (text(), texts()).prop_map(|(value, name)| Clause::Flipped(value, "=", name)),
        2 => (operator(), any()).prop_map(|(operator, value)| Clause::Compare("x", operator, value)),
        1 => (-1i64..3, 0i64..3).prop_map(|(lower, more)| Clause::Between("sk", Scalar::N(lower), Scalar::N(lower + more))),
        2 => (texts(), prop::collection::vec(text(), 1..4)).prop_map(|(name, values)| Clause::In(name, values)),
        1 => prop::collection::vec(number(), 1..4).prop_map(|values| Clause::In("sk", values)),
        1 => prop::sample::select(vec!["pk", "g", "x"]).prop_map(|name| Clause::BeginsWith(name, "a".to_owned())),
        1 => prop::sample::select(vec!["g", "x", "pk"]).prop_map(Clause::Missing),
    ]
}

fn clause() -> impl Strategy<Value = Clause> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 2..4).prop_map(Clause::And),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(Clause::Or),
            1 => inner.prop_map(|inner| Clause::Not(Box::new(inner))),
        ]
    })
}

/// The table `Tab`, pk S and sk N, with the global index `all` on g and sk.
fn tab() -> Control {
    let control = Control::twice();
    let key = |hash: &str| json!([{ "AttributeName": hash, "KeyType": "HASH" }, { "AttributeName": "sk", "KeyType": "RANGE" }]);
    let types = [("pk", "S"), ("sk", "N"), ("g", "S")];
    control.ok(
        "CreateTable",
        json!({
            "TableName": "Tab",
            "AttributeDefinitions": types.map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind })),
            "KeySchema": key("pk"),
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [{ "IndexName": "all", "KeySchema": key("g"), "Projection": { "ProjectionType": "ALL" } }],
        }),
    );
    control
}

fn typed(row: &Row) -> Value {
    let value = |value: &Scalar| match value {
        Scalar::N(number) => json!({ "N": number.to_string() }),
        Scalar::S(text) => json!({ "S": text }),
    };
    row.iter()
        .map(|(name, scalar)| ((*name).to_owned(), value(scalar)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Four keys by three with all kinds of other attributes.
fn rows() -> Vec<Row> {
    let s = |text: &str| Scalar::S(text.to_owned());
    let mut rows = Vec::new();
    for (at, pk) in ["a", "ab", "b", "c"].into_iter().enumerate() {
        for sk in 0..4i64 {
            let mut row = Row::from([("pk", s(pk)), ("sk", Scalar::N(sk))]);
            let kind = at + usize::try_from(sk).unwrap();
            if !kind.is_multiple_of(3) {
                row.insert("g", s(["a", "b"][kind % 2]));
            }
            match kind % 4 {
                0 => row.insert("x", Scalar::N(sk)),
                1 => row.insert("x", s("ab")),
                _ => None,
            };
            rows.push(row);
        }
    }
    rows
}

/// All pages of a statement; or why it was refused.
fn select(control: &Control, statement: &str, limit: Option<u32>) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    let mut token = Value::Null;
    for _ in 0..100 {
        let asked = json!({ "Statement": statement, "Limit": limit, "NextToken": token });
        let answer = control.call("ExecuteStatement", asked)?;
        found.extend(answer["Items"].as_array().unwrap().clone());
        token = answer["NextToken"].clone();
        if token.is_null() {
            return Ok(found);
        }
    }
    panic!("{statement} does not end");
}

fn sorted(mut items: Vec<Value>) -> Vec<String> {
    items.sort_by_key(ToString::to_string);
    items.iter().map(ToString::to_string).collect()
}

#[test]
fn selects_find_what_their_clause_says() {
    let control = tab();
    let rows = rows();
    rows.iter().for_each(|row| control.put("Tab", typed(row)));
    let (answered, refused) = (Cell::new(0), Cell::new(0));
    let config = Config {
        cases: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let inputs = (clause(), any::<bool>(), prop::option::of(1u32..5));
    let outcome = TestRunner::new(config).run(&inputs, |(clause, of_index, limit)| {
        let source = if of_index { "Tab.\"all\"" } else { "Tab" };
        let statement = format!("SELECT * FROM {source} WHERE {}", clause.text());
        let in_source = rows.iter().filter(|row| !of_index || row.contains_key("g"));
        let expected: Vec<Value> = in_source
            .filter(|row| clause.holds(row))
            .map(typed)
            .collect();
        match select(&control, &statement, limit) {
            Ok(found) => {
                answered.set(answered.get() + 1);
                prop_assert_eq!(sorted(found), sorted(expected), "{}", statement);
            }
            Err(error) => {
                refused.set(refused.get() + 1);
                let is_known = error
                    == "Overlapping conditions with range keys are not supported in where clause";
                prop_assert!(is_known, "{}: {}", statement, error);
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        answered.get() > 4 * refused.get(),
        "{} answered, {} refused",
        answered.get(),
        refused.get()
    );
}

/// One statement that writes.
#[derive(Debug, Clone)]
enum Write {
    Insert(Row),
    /// Sets x, and g if given; REMOVE x if `None`.
    Update {
        pk: Scalar,
        sk: Scalar,
        x: Option<i64>,
        g: Option<Scalar>,
        condition: Option<Clause>,
    },
    Delete {
        pk: Scalar,
        sk: Scalar,
        condition: Option<Clause>,
    },
}

impl Write {
    fn text(&self) -> String {
        let key = |pk: &Scalar, sk: &Scalar, condition: &Option<Clause>| {
            let more = condition
                .as_ref()
                .map(|clause| format!(" AND {}", clause.text()))
                .unwrap_or_default();
            format!("WHERE sk = {} AND pk = {}{more}", literal(sk), literal(pk))
        };
        match self {
            Self::Insert(row) => {
                let members: Vec<String> = row
                    .iter()
                    .map(|(name, value)| format!("'{name}': {}", literal(value)))
                    .collect();
                format!("INSERT INTO Tab VALUE {{{}}}", members.join(", "))
            }
            Self::Update {
                pk,
                sk,
                x,
                g,
                condition,
            } => {
                let x = x.map_or("REMOVE x".to_owned(), |x| format!("SET x = {x}"));
                let g = g
                    .as_ref()
                    .map(|g| format!(" SET g = {}", literal(g)))
                    .unwrap_or_default();
                format!("UPDATE Tab {x}{g} {}", key(pk, sk, condition))
            }
            Self::Delete { pk, sk, condition } => {
                format!("DELETE FROM Tab {}", key(pk, sk, condition))
            }
        }
    }

    /// Changes the table as the statement should; its exception, if it should fail.
    fn apply(&self, table: &mut BTreeMap<(Scalar, Scalar), Row>) -> Option<&'static str> {
        let key = match self {
            Self::Insert(row) => (row["pk"].clone(), row["sk"].clone()),
            Self::Update { pk, sk, .. } | Self::Delete { pk, sk, .. } => (pk.clone(), sk.clone()),
        };
        let holds = |condition: &Option<Clause>, row: &Row| {
            condition.as_ref().is_none_or(|clause| clause.holds(row))
        };
        match (self, table.get_mut(&key)) {
            (Self::Insert(_), Some(_)) => Some("DuplicateItemException"),
            (Self::Insert(row), None) => {
                table.insert(key, row.clone());
                None
            }
            (
                Self::Update {
                    x, g, condition, ..
                },
                Some(row),
            ) if holds(condition, row) => {
                match x {
                    Some(x) => row.insert("x", Scalar::N(*x)),
                    None => row.remove("x"),
                };
                if let Some(g) = g {
                    row.insert("g", g.clone());
                }
                None
            }
            (Self::Delete { condition, .. }, Some(row)) if holds(condition, row) => {
                table.remove(&key);
                None
            }
            (Self::Delete { .. }, None) => None,
            (Self::Update { .. } | Self::Delete { .. }, _) => {
                Some("ConditionalCheckFailedException")
            }
        }
    }
}

/// A condition on what is no key.
fn condition() -> impl Strategy<Value = Option<Clause>> {
    let leaf = prop_oneof![
        (prop::sample::select(vec!["=", "<>", ">"]), number())
            .prop_map(|(operator, value)| Clause::Compare("x", operator, value)),
        prop::sample::select(vec!["x", "g"]).prop_map(Clause::Missing),
        text().prop_map(|value| Clause::Compare("g", "=", value)),
    ];
    let tree = leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..3).prop_map(Clause::Or),
            inner.prop_map(|inner| Clause::Not(Box::new(inner))),
        ]
    });
    prop::option::of(tree)
}

fn write() -> impl Strategy<Value = Write> {
    let key = || {
        (
            prop::sample::select(vec!["a", "b"]).prop_map(|text| Scalar::S(text.to_owned())),
            (0i64..2).prop_map(Scalar::N),
        )
    };
    let others = || (prop::option::of(0i64..3), prop::option::of(text()));
    prop_oneof![
        (key(), others()).prop_map(|((pk, sk), (x, g))| {
            let mut row = Row::from([("pk", pk), ("sk", sk)]);
            row.extend(x.map(|x| ("x", Scalar::N(x))));
            row.extend(g.map(|g| ("g", g)));
            Write::Insert(row)
        }),
        (key(), others(), condition()).prop_map(|((pk, sk), (x, g), condition)| Write::Update {
            pk,
            sk,
            x,
            g,
            condition
        }),
        (key(), condition()).prop_map(|((pk, sk), condition)| Write::Delete { pk, sk, condition }),
    ]
}

/// The exception that the statement ends with, by the operation that runs it.
fn run(control: &Control, statement: &str, operation: &str) -> Option<&'static str> {
    let body = match operation {
        "ExecuteStatement" => json!({ "Statement": statement }),
        "BatchExecuteStatement" => json!({ "Statements": [{ "Statement": statement }] }),
        _ => json!({ "TransactStatements": [{ "Statement": statement }] }),
    };
    let known = ["ConditionalCheckFailed", "DuplicateItem"];
    let code = match control.answer(operation, body) {
        Ok(body) => {
            let answer: Value = serde_json::from_slice(&body).unwrap();
            answer["Responses"][0]["Error"]["Code"].as_str()?.to_owned()
        }
        Err(failure) => {
            let body: Value = serde_json::from_slice(&failure.error_body(None).json()).unwrap();
            match body["CancellationReasons"][0]["Code"].as_str() {
                Some(code) => code.to_owned(),
                None => failure.exception().trim_end_matches("Exception").to_owned(),
            }
        }
    };
    assert!(known.contains(&code.as_str()), "{statement}: {code}");
    Some(if code == known[0] {
        "ConditionalCheckFailedException"
    } else {
        "DuplicateItemException"
    })
}

#[test]
fn writes_leave_what_they_say() {
    let operations = prop::sample::select(vec![
        "ExecuteStatement",
        "BatchExecuteStatement",
        "ExecuteTransaction",
    ]);
    let config = Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    };
    let inputs = prop::collection::vec((write(), operations), 1..40);
    let outcome = TestRunner::new(config).run(&inputs, |writes| {
        let control = tab();
        let mut table = BTreeMap::new();
        for (write, operation) in &writes {
            let statement = write.text();
            prop_assert_eq!(
                run(&control, &statement, operation),
                write.apply(&mut table),
                "{}: {}",
                operation,
                statement
            );
        }
        let expected = || table.values().map(typed);
        prop_assert_eq!(
            sorted(select(&control, "SELECT * FROM Tab", None).unwrap()),
            sorted(expected().collect())
        );
        let indexed = expected().filter(|item| item.get("g").is_some()).collect();
        prop_assert_eq!(
            sorted(select(&control, "SELECT * FROM Tab.\"all\"", Some(1)).unwrap()),
            sorted(indexed)
        );
        let report = ddbfs::engine::check::check(control.database.engine()).unwrap();
        prop_assert!(report.is_clean(), "{:?}", report.differences);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
