//! Tests of PartiQL by tables of statements: their meaning, refusals with their texts, and plans.

use super::plan::{KeyedRead, plan};
use super::*;
use crate::expr::KeySchemaView;
use crate::model::schema::{KeyAttribute, KeyAttributeType, KeySchema};
use crate::model::{AttributeValue, Number};

const BAD: &str = "Statement wasn't well formed, can't be processed: ";

fn number(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse().unwrap_or(Number::ZERO))
}

/// Returns the values of the `?` in order.
fn parameters(statement: &str) -> Vec<AttributeValue> {
    let all = ["a", "b", "c"].map(|text| AttributeValue::S(text.to_owned()));
    all.into_iter()
        .take(statement.matches('?').count())
        .collect()
}

/// Checks that the statement is refused with that text; `BAD: ` stands for the service's text of
/// unreadable statements.
fn refused(statement: &str, expected: &str) {
    let expected = expected
        .strip_prefix("BAD: ")
        .map_or_else(|| expected.to_owned(), |rest| format!("{BAD}{rest}"));
    let found = read(statement, &parameters(statement)).map_err(|error| error.to_string());
    assert_eq!(found, Err(expected), "{statement}");
}

/// Checks that two statements mean the same.
fn same(one: &str, other: &str) {
    let read = |text: &str| {
        read(text, &parameters(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    assert_eq!(read(one), read(other), "{one} / {other}");
}

#[test]
fn statements_that_mean_the_same() {
    same(
        "select * from Tab where pk='a'",
        "SELECT * FROM \"Tab\" WHERE \"pk\" = 'a';",
    );
    same(
        "SELECT/**/* FROM Tab -- all\nWHERE pk/* key */='a' --",
        "SELECT * FROM Tab WHERE pk = 'a'",
    );
    same(
        "SELECT * FROM Tab WHERE pk = ? AND n IN [?, 'x']",
        "SELECT * FROM Tab WHERE pk = 'a' AND n IN ('b', 'x')",
    );
    same(
        "SELECT * FROM Tab WHERE a != - - 1 AND n > -5",
        "SELECT * FROM Tab WHERE a <> 1 AND n>-5.0",
    );
    same(
        "SELECT * FROM Tab WHERE a NOT IN (1) AND b NOT BETWEEN 1 AND 2",
        "SELECT * FROM Tab WHERE NOT a IN [1] AND NOT (b BETWEEN 1 AND 2)",
    );
    same(
        "SELECT * FROM Tab WHERE a IS MISSING OR b IS NOT MISSING",
        "SELECT * FROM Tab WHERE ATTRIBUTE_NOT_EXISTS (a) OR NOT attribute_not_exists(b)",
    );
    same(
        "SELECT * FROM Tab WHERE a IS NOT NULL",
        "SELECT * FROM Tab WHERE NOT attribute_type(a, 'NULL')",
    );
    same(
        "SELECT * FROM Tab WHERE a IS NUMERIC AND b IS string AND c IS BOOL AND d IS TUPLE",
        "SELECT * FROM Tab WHERE attribute_type(a, 'N') AND attribute_type(b, 'S') AND c IS BOOLEAN AND d IS STRUCT",
    );
    same(
        "SELECT * FROM Tab WHERE a > .5e1 AND b < -.5",
        "SELECT * FROM Tab WHERE a > 5 AND b < -0.5",
    );
    same(
        "SELECT * FROM Tab WHERE a = 1 OR b = 2 AND NOT c = 3",
        "SELECT * FROM Tab WHERE (a = 1 OR (b = 2 AND (NOT (c = 3))))",
    );
    same(
        "SELECT * FROM Tab WHERE attribute_exists(a) = false AND true = contains(b, 'x')",
        "SELECT * FROM Tab WHERE NOT attribute_exists(a) AND contains(b, 'x')",
    );
    same(
        "UPDATE Tab SET a = 1 SET b = 2 REMOVE c WHERE pk = 'a'",
        "FROM Tab WHERE pk = 'a' SET a = 1, b = 2 REMOVE c",
    );
    same(
        "SELECT * FROM \"arn:aws:dynamodb:us-east-1:000000000000:table/Tab\"",
        "SELECT * FROM Tab",
    );
    same(
        "SELECT a['b'].c[0] FROM Tab",
        "SELECT a.b.\"c\"[-0] FROM Tab",
    );
    same(
        "INSERT INTO Tab VALUE {'pk': 'it''s', 'n': 1E3, 's': <<2, 1>>}",
        "INSERT INTO Tab VALUE {'pk': 'it''s', 's': <<1.0, 2>>, 'n': 1000}",
    );
}

#[test]
fn negated_tests_differ_from_their_opposites() {
    let condition = |text: &str| match read(&format!("SELECT * FROM Tab WHERE {text}"), &[]) {
        Ok(Statement::Select(select)) => select
            .condition
            .map(|condition| condition.holds(&crate::model::Item::default())),
        other => panic!("{text}: {other:?}"),
    };
    for (text, holds) in [
        ("NOT a = 'x'", true),
        ("a <> 'x'", true),
        ("a IS NULL", false),
        ("a IS NOT NULL", true),
        ("NOT begins_with(a, 'x')", true),
    ] {
        assert_eq!(condition(text), Some(holds), "{text}");
    }
}

#[test]
fn columns_are_named_by_their_last_step() {
    let text = "SELECT a, m.k, m.k[0], l[1][2], l[0].x, \"A b\" FROM Tab";
    let Ok(Statement::Select(select)) = read(text, &[]) else {
        panic!("{text}")
    };
    let names: Vec<String> = select
        .columns
        .unwrap_or_default()
        .unwrap_or_default()
        .into_iter()
        .map(|column| column.name)
        .collect();
    assert_eq!(names, ["a", "k", "k[0]", "l[1][2]", "x", "A b"]);
}

#[test]
fn columns_are_told_of_after_the_table() {
    let columns = |columns: &str| match read(&format!("SELECT {columns} FROM Tab"), &[]) {
        Ok(Statement::Select(select)) => select
            .columns()
            .map(|_| ())
            .map_err(|error| error.to_string()),
        other => panic!("{columns}: {other:?}"),
    };
    for (list, expected) in [
        ("COUNT(a)", "Unexpected path component at 1:8:5"),
        ("count(*)", "Unexpected path component at 1:8:5"),
        ("a, 'b'", "Unexpected path component at 1:11:3"),
        ("pk, a, pk", "Duplicate identifiers in select clause: pk"),
        ("m.k, k", "Duplicate identifiers in select clause: k"),
        (
            "m.\"\"",
            "One or more parameter values were invalid: Empty attribute name",
        ),
    ] {
        assert_eq!(columns(list), Err(expected.to_owned()), "{list}");
    }
    assert_eq!(columns("m.k, l[0], l[1]"), Ok(()));
    refused(
        "EXISTS(SELECT count(*) FROM Tab WHERE pk = 'a')",
        "Unexpected path component at 1:15:5",
    );
}

#[test]
fn conditions_are_values_of_comparisons() {
    let item = crate::model::Item::from([
        ("t", AttributeValue::Bool(true)),
        ("s", AttributeValue::S("x".into())),
    ]);
    let holds = |text: &str| match read(&format!("SELECT * FROM Tab WHERE {text}"), &[]) {
        Ok(Statement::Select(select)) => select.condition.map(|condition| condition.holds(&item)),
        other => panic!("{text}: {other:?}"),
    };
    for (text, expected) in [
        ("(s = 'x') = t", true),
        ("t = begins_with(s, 'y')", false),
        ("begins_with(s, 'y') <> t", true),
        ("contains(s, 'x') = attribute_exists(t)", true),
        ("(s = 'x') = (s = 'y')", false),
        ("attribute_exists(s) = 'x'", false),
        ("attribute_exists(s) <> 'x'", true),
        ("attribute_exists(s) = none", false),
        ("attribute_exists(s) IN [t]", true),
        ("t IN [(s = 'y'), (s = 'x')]", true),
        ("(s = 'x') IS BOOLEAN", true),
    ] {
        assert_eq!(holds(text), Some(expected), "{text}");
    }
    let of = "Incorrect operand type for operator or function; operator or function:";
    refused(
        "SELECT * FROM Tab WHERE (s = 'x') < t",
        &format!("{of} <, operand type: BOOL"),
    );
    refused(
        "SELECT * FROM Tab WHERE t BETWEEN (s = 'x') AND TRUE",
        &format!("{of} BETWEEN, operand type: BOOL"),
    );
    refused(
        "SELECT * FROM Tab WHERE begins_with(attribute_exists(s), 'x')",
        &format!("{of} begins_with, operand type: BOOL"),
    );
    refused(
        "SELECT * FROM Tab WHERE size(attribute_exists(s)) = 1",
        &format!("{of} size, operand type: BOOL"),
    );
}

#[test]
fn names_that_no_attribute_has() {
    let empty = "One or more parameter values were invalid: Empty attribute name";
    for statement in [
        "UPDATE Tab SET \"\" = 1 WHERE pk = 'a'",
        "UPDATE Tab SET m.\"\" = 1 WHERE pk = 'a'",
        "UPDATE Tab SET m[''] = 1 WHERE pk = 'a'",
        "UPDATE Tab SET a = m[''] WHERE pk = 'a'",
        "UPDATE Tab SET a = if_not_exists(\"\", 1) WHERE pk = 'a'",
        "UPDATE Tab SET a = {'': 1} WHERE pk = 'a'",
        "UPDATE Tab REMOVE \"\" WHERE pk = 'a'",
        "DELETE FROM Tab WHERE pk = 'a' AND \"\" = 1",
        "SELECT * FROM Tab WHERE m.\"\" = 1",
        "SELECT * FROM Tab WHERE attribute_exists(\"\")",
        "INSERT INTO Tab VALUE {'pk': 'a', '': 1}",
    ] {
        refused(statement, empty);
    }
}

#[test]
fn unreadable_statements() {
    let left = "BAD: Unexpected token after expression";
    for statement in [
        "SELECT * FROM Tab WHERE pk = 1 foo",
        "SELECT * FROM Tab WHERE pk = 1 e5",
        "SELECT * FROM Tab WHERE pk = 1)",
        "SELECT * FROM Tab ORDER BY pk WHERE pk = 1",
        "INSERT INTO Tab VALUE {'pk': 9} foo",
        "INSERT INTO Tab t VALUE {'pk': 'x'}",
        "UPDATE Tab SET a = 9 WHERE pk = 9 foo",
        "DELETE FROM Tab WHERE pk = 9 ORDER BY pk",
        "FROM Tab SET c = 1 WHERE pk = 'x'",
        "UPDATE Tab REMOVE a, b WHERE pk = 'x'",
        "FROM Tab WHERE pk = 'x' REMOVE a, b",
    ] {
        refused(statement, left);
    }
    for statement in [
        "SELECT * FROM Tab WHERE pk = 1e2147483648",
        "SELECT * FROM Tab # x",
        "SELECT * FROM Tab /* x",
        "SELECT * FROM \"Tab",
    ] {
        refused(statement, "BAD: ");
    }
    for statement in [
        "SELECT * FROM Tab WHERE",
        "SELECT * FROM Tab WHERE;",
        "SELECT * FROM Tab WHERE NOT",
        "SELECT * FROM Tab WHERE (",
        "SELECT * FROM",
        "UPDATE Tab SET a = 1 WHERE",
        "DELETE FROM Tab WHERE  ",
    ] {
        refused(statement, "BAD: Unexpected term");
    }
    for statement in [
        "SELECT * FROM Tab WHERE a = 1 AND",
        "SELECT * FROM Tab WHERE a = 1 OR",
    ] {
        refused(
            statement,
            "BAD: Missing right-hand side expression of infix operator",
        );
    }
    for statement in [
        "SELECT * FROM Tab WHERE IS NULL",
        "SELECT * FROM Tab WHERE a = LIKE",
    ] {
        refused(statement, "BAD: Unexpected operator");
    }
    for statement in [
        "DELETE FROM",
        "DELETE FROM;",
        "DELETE FROM WHERE pk = 'a'",
        "UPDATE",
        "INSERT INTO",
    ] {
        refused(statement, "BAD: Expected identifier for simple path");
    }
    refused(
        "SELECT * FROM Tab WHERE ORDER BY pk",
        "BAD: Unexpected keyword",
    );
    refused(
        "SELECT * FROM Tab WHERE x IS FOO",
        "BAD: Expected type name",
    );
    refused(
        "SELECT * FROM Tab WHERE attribute_exists(m.inner)",
        "BAD: Invalid path dot component",
    );
    for statement in [
        "",
        "SLECT * FROM Tab",
        "CREATE TABLE Tab",
        "x",
        "x IS FOO",
        "x IS INT4 foo",
    ] {
        refused(statement, "BAD: Expected data manipulation");
    }
    refused(
        &format!(
            "SELECT * FROM Tab WHERE {}a = 1{}",
            "(".repeat(3000),
            ")".repeat(3000)
        ),
        "BAD: Expressions are nested too deeply",
    );
    refused(
        &format!("SELECT * FROM Tab WHERE {}a = 1", "NOT ".repeat(2000)),
        "BAD: Expressions are nested too deeply",
    );
    refused(
        &format!("SELECT * FROM Tab WHERE a = {}1", "1 + ".repeat(1500)),
        "BAD: Expressions are nested too deeply",
    );
    refused(
        &format!("SELECT * FROM Tab WHERE a{}", " = TRUE".repeat(1100)),
        "BAD: Expressions are nested too deeply",
    );
}

#[test]
fn long_statements_are_no_trouble() {
    let deep = format!(
        "SELECT * FROM Tab WHERE {}a = 1{}",
        "(".repeat(150),
        ")".repeat(150)
    );
    let long = format!(
        "SELECT * FROM Tab WHERE {}",
        vec!["a = 1"; 800].join(" AND ")
    );
    let minus = format!("SELECT * FROM Tab WHERE a = {} 1", "- ".repeat(4000));
    for statement in [deep, long, minus] {
        assert!(read(&statement, &[]).is_ok(), "{statement}");
    }
}

#[test]
fn refused_statements() {
    refused(
        "SELECT * FROM Tab t WHERE pk = 'x'",
        "Aliasing is not supported",
    );
    refused(
        "SELECT * FROM Tab AS t WHERE pk = 'x'",
        "Aliasing is not supported",
    );
    refused(
        "UPDATE Tab t SET a = 3 WHERE pk = 'x'",
        "Aliasing is not supported",
    );
    refused(
        "SELECT *, a FROM Tab",
        "Other attributes should not be present in the projection when '*' is used.",
    );
    refused(
        "SELECT * FROM Tab.\"i\".\"j\"",
        "A path may contain at most 2 components in the FROM clause",
    );
    refused(
        "SELECT * FROM \"\" WHERE pk = 'a'",
        "Path component cannot be an empty string",
    );
    refused(
        "SELECT * FROM Tab.\"\"",
        "Path component cannot be an empty string",
    );
    refused(
        "SELECT * FROM \"a b\"",
        "A table name has 3 to 255 of the characters a-z, A-Z, 0-9, '_', '-' and '.': a b",
    );
    refused(
        "INSERT INTO Tab.\"i\" VALUE {'pk': 'a'}",
        "FROM clause may only contain a single table name in data manipulation statements",
    );
    refused(
        "UPDATE Tab.\"i\" SET a = 1 WHERE pk = 'a'",
        "This operation is not supported on an index",
    );
    refused(
        "DELETE FROM Tab.\"i\" WHERE pk = 'a'",
        "This operation is not supported on an index",
    );
    refused(
        "SELECT l[-1] FROM Tab",
        "List index is not within the allowable range; index: [-1] at 1:11:1",
    );
    refused(
        "SELECT l[2147483648] FROM Tab",
        "List index is not within the allowable range; index: [2147483648] at 1:10:10",
    );
    refused(
        "SELECT * FROM Tab WHERE EXISTS(ss)",
        "Unrecognized function: exists at 1:25:6",
    );
    refused(
        "SELECT * FROM Tab WHERE set_add(ss, <<'x'>>) = ss",
        "Unrecognized function: set_add at 1:25:7",
    );
    refused(
        "SELECT * FROM Tab WHERE a",
        "Expected a condition such as a comparison or a function at 1:25:1",
    );
    refused(
        "SELECT * FROM Tab WHERE a LIKE 'x%'",
        "Unsupported operation: LIKE at 1:27:4",
    );
    refused(
        "SELECT * FROM Tab WHERE a + 1 > 2",
        "Unsupported operation: + at 1:25:1",
    );
    for (type_name, what) in [
        ("INT4", "INTEGER4"),
        ("INT8", "INTEGER8"),
        ("DOUBLE PRECISION", "DOUBLE_PRECISION"),
        ("CHARACTER VARYING", "CHARACTER_VARYING"),
        ("CHAR", "CHARACTER"),
        ("bag", "BAG"),
    ] {
        refused(
            &format!("SELECT * FROM Tab WHERE x IS NOT {type_name}"),
            &format!(
                "Unsupported data type for IS operator: {what}. \
                 Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at 1:25:1"
            ),
        );
        refused(
            &format!("x IS {type_name}"),
            "Unsupported operation: IsType",
        );
    }
    refused(
        "INSERT INTO Tab VALUE {'pk': 'a'} ON CONFLICT WHERE pk = 'a' DO NOTHING",
        "Unsupported clause: ON CONFLICT",
    );
    refused(
        "INSERT INTO Tab VALUE {'pk': 'a'} on conflict do nothing",
        "Unsupported clause: ON CONFLICT",
    );
    refused(
        "INSERT INTO Tab VALUE {'pk': 'a'} RETURNING ALL OLD *",
        "RETURNING is not supported in INSERT",
    );
    let requires =
        "Operator or function requires a document path; operator or function: attribute_exists";
    refused("SELECT * FROM Tab WHERE attribute_exists('a')", requires);
    let count = "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands:";
    refused(
        "SELECT * FROM Tab WHERE attribute_exists()",
        &format!("{count} 0"),
    );
    refused(
        "SELECT * FROM Tab WHERE attribute_exists(a, b)",
        &format!("{count} 2"),
    );
    refused(
        "SELECT * FROM Tab WHERE a < TRUE",
        "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
    );
    let many = vec!["1"; 101].join(", ");
    refused(
        &format!("SELECT * FROM Tab WHERE a IN [{many}]"),
        "The IN operator is provided with too many operands; number of operands: 101",
    );
    refused(
        "DELETE FROM Tab WHERE pk = 'x' RETURNING MODIFIED OLD *",
        "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
    );
    let found = read("SELECT * FROM Tab WHERE pk = ?", &[]).map_err(|error| error.to_string());
    assert_eq!(
        found,
        Err("Number of parameters in request and statement don't match.".to_owned())
    );
}

#[test]
fn refused_values() {
    let insert = |value: &str, expected: &str| {
        refused(
            &format!("INSERT INTO Tab VALUE {{'pk': 'a', 'v': {value}}}"),
            expected,
        )
    };
    let overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range under";
    insert("1e126", &format!("{overflow} root"));
    insert("{'x': 1e126}", &format!("{overflow} root.x"));
    insert("[1, 1e126]", &format!("{overflow} root[1]"));
    insert(
        "1e-131",
        "Number underflow. Attempting to store a number with magnitude smaller than supported range under root",
    );
    insert(
        "123456789012345678901234567890123456789",
        "Attempting to store more than 38 significant digits in a Number under root",
    );
    insert("<<>>", "Empty bags are not supported");
    insert(
        "<<1, 'a'>>",
        "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
    );
    insert(
        "<<'a', 'a'>>",
        "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
    );
    insert(
        "<<2, 2.0>>",
        "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! under root",
    );
    insert(
        "{'k': ?}",
        "Unsupported data type: Parameter under key root.k at 1:46:1",
    );
    insert(
        "set_add(<<'a'>>, <<'b'>>)",
        "Unsupported data type: set_add under key root at 1:40:7",
    );
    insert(
        "{'a': 1, 'a': 2}",
        "Duplicate keys in tuple. Key: a under root at 1:49:3",
    );
    insert(
        "{\"a\": 1}",
        "Tuple keys must be of type String. Actual type: VariableReference under root at 1:41:3",
    );
    insert(
        "{'m': {a: 1}}",
        "Tuple keys must be of type String. Actual type: VariableReference under root.m at 1:47:1",
    );
    insert(
        "{1: 1}",
        "Tuple keys must be of type String. Actual type: INT under root at 1:41:1",
    );
    insert(
        "{'': 1}",
        "One or more parameter values were invalid: Empty attribute name",
    );
    let deep = format!("{}1{}", "{'a':".repeat(32), "}".repeat(32));
    insert(
        &deep,
        &format!(
            "Nesting Levels have exceeded supported limits under root{}",
            ".a".repeat(32)
        ),
    );
    let format = "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement.";
    refused("INSERT INTO Tab VALUE 'a'", &format!("{format} at 1:23:3"));
    refused("INSERT INTO Tab VALUE ?", &format!("{format} at 1:23:1"));
}

#[test]
fn refused_updates() {
    let set = |set: &str, expected: &str| {
        refused(&format!("UPDATE Tab SET {set} WHERE pk = 'a'"), expected)
    };
    set(
        "t = set_add(ss, <<'x'>>)",
        "The first argument to SET_ADD must equal the assignment value at 1:20:7",
    );
    set(
        "t = set_delete(ss, <<'x'>>)",
        "The first argument to SET_DELETE must equal the assignment value at 1:20:10",
    );
    set(
        "ss = set_add(ss, 'x')",
        "The second argument to SET_ADD must be a value with type SET at 1:29:2",
    );
    set(
        "ss = set_add(ss)",
        "SET_ADD must have exactly two arguments at 1:21:7",
    );
    set(
        "n = 'a' + 1",
        "Incorrect operand type for operator or function; operator or function: +, operand type: S",
    );
    set(
        "n = n - null",
        "Incorrect operand type for operator or function; operator or function: -, operand type: NULL",
    );
    set(
        "n = n + 1 + 1",
        "Unsupported operation: more than one + or - at 1:20:1",
    );
    set("n = foo(n)", "Unrecognized function: foo at 1:20:3");
    set(
        "a = 1, a.b = 2",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]",
    );
}

fn schema() -> KeySchema {
    let key = |name: &str, attribute_type| KeyAttribute {
        name: name.into(),
        attribute_type,
    };
    KeySchema {
        partition: key("pk", KeyAttributeType::S),
        sort: Some(key("sk", KeyAttributeType::N)),
    }
}

/// The partition key and the number of bounds of each read, in order of key, with a flag that a
/// condition is left.
type Planned = (Vec<(String, usize)>, bool);

/// Returns the plan of the clause, `None` for a scan; or the error.
fn planned(clause: &str) -> Result<Option<Planned>, String> {
    let Ok(Statement::Select(select)) = read(&format!("SELECT * FROM Tab WHERE {clause}"), &[])
    else {
        panic!("{clause}")
    };
    let schema = schema();
    let found = plan(select.condition.as_ref(), KeySchemaView::from(&schema))
        .map_err(|error| error.to_string())?;
    let bounds = |read: &KeyedRead| {
        usize::from(!read.interval.lower.is_empty()) + usize::from(read.interval.upper.is_some())
    };
    let key = |read: &KeyedRead| match &read.partition[0] {
        AttributeValue::S(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    Ok(found.map(|plan| {
        let mut reads: Vec<(String, usize)> = plan
            .reads
            .iter()
            .map(|read| (key(read), bounds(read)))
            .collect();
        reads.sort();
        (reads, plan.residual.is_some())
    }))
}

#[test]
fn plans_of_selects() {
    let check = |clause: &str, reads: &[(&str, usize)], rest: bool| {
        let expected = reads
            .iter()
            .map(|(key, bounds)| ((*key).to_owned(), *bounds))
            .collect();
        assert_eq!(planned(clause), Ok(Some((expected, rest))), "{clause}");
    };
    check("pk = 'a'", &[("a", 0)], false);
    check("'a' = pk AND sk = 1", &[("a", 2)], false);
    check("pk = 'a' AND pk = 'a' AND 1 < sk", &[("a", 1)], false);
    check(
        "pk = 'a' AND sk BETWEEN 1 AND 2 AND x = 1",
        &[("a", 2)],
        true,
    );
    check("pk = 'a' AND sk >= 1 AND sk < 5", &[("a", 2)], false);
    check("pk IN ['a', 'b']", &[("a", 0), ("b", 0)], false);
    check(
        "pk = 'a' OR pk = 'b' AND sk = 1",
        &[("a", 0), ("b", 2)],
        false,
    );
    check(
        "(pk = 'a' OR pk = 'b') AND sk IN [1, 2]",
        &[("a", 2), ("a", 2), ("b", 2), ("b", 2)],
        false,
    );
    check(
        "pk = 'a' AND (sk < 1 OR sk > 1 OR sk = 1)",
        &[("a", 1), ("a", 1), ("a", 2)],
        false,
    );
    check("pk = 'a' AND (x = 1 OR y = 2)", &[("a", 0)], true);
    check("pk = 'a' AND NOT sk = 1", &[("a", 0)], true);
    check("pk = 'a' AND sk <> 1", &[("a", 0)], true);
    check("pk = 'a' AND sk > 'x'", &[("a", 0)], true);
    check("pk = 'a' AND sk = 1 AND sk = 2", &[("a", 2)], false);
    check(
        "(pk = 'a' AND x = 1) OR pk = 'b'",
        &[("a", 0), ("b", 0)],
        true,
    );
    for negated in [
        "NOT sk = 1",
        "sk <> 1",
        "1 <> sk",
        "NOT sk IN [1, 3]",
        "NOT sk > 5",
        "NOT (sk = 1)",
        "NOT sk BETWEEN 1 AND 2",
    ] {
        check(
            &format!("pk = 'a' AND {negated} OR pk = 'a' AND sk = 2"),
            &[("a", 0)],
            true,
        );
        check(
            &format!("pk = 'a' AND sk > 1 AND {negated} OR pk = 'a' AND sk > 2 OR pk = 'b'"),
            &[("a", 1), ("b", 0)],
            true,
        );
        check(
            &format!("pk = 'a' OR pk = 'a' AND {negated}"),
            &[("a", 0)],
            true,
        );
        check(
            &format!("pk = 'a' AND sk < 3 AND {negated} OR pk = 'a' AND sk BETWEEN 2 AND 4"),
            &[("a", 1)],
            true,
        );
    }
    for scan in [
        "sk = 1",
        "pk > 'a'",
        "pk = 'a' OR sk = 1",
        "pk = 'a' AND pk = 'b'",
        "pk <> 'a'",
        "NOT pk = 'a'",
        "begins_with(pk, 'a')",
        "pk.x = 'a'",
        "size(pk) = 1",
    ] {
        assert_eq!(planned(scan), Ok(None), "{scan}");
    }
    let fifty_one = (0..51)
        .map(|number| format!("'{number}'"))
        .collect::<Vec<_>>()
        .join(", ");
    assert_eq!(planned(&format!("pk IN [{fifty_one}] OR x = 1")), Ok(None));
    let refused = |clause: &str, expected: &str| {
        assert_eq!(planned(clause), Err(expected.to_owned()), "{clause}")
    };
    let overlapping = "Overlapping conditions with range keys are not supported in where clause";
    for clause in [
        "pk IN ['a', 'a']",
        "pk = 'a' OR pk = 'a'",
        "pk = 'a' AND (sk > 0 OR sk < 5)",
        "pk = 'a' AND (sk = 1 OR x = 1)",
        "(pk = 'a' AND x = 1) OR (pk = 'a' AND x = 2)",
        "pk = 'a' AND x = 1 OR pk = 'a' AND sk = 2",
        "pk = 'a' AND x <> 1 OR pk = 'a' AND sk = 2",
        "pk = 'a' AND x = 1 OR pk = 'a' AND x <> 1",
        "pk = 'a' AND NOT sk = 1 OR pk = 'a' OR pk = 'a' AND sk = 2",
    ] {
        refused(clause, overlapping);
    }
    refused(
        "pk = 1 OR pk = 'a'",
        "Key attribute's data type should match its data type in table's schema: Key pk",
    );
    refused(
        "pk = 'a' AND sk IN [1, 'x']",
        "Key attribute's data type should match its data type in table's schema: Key sk",
    );
    let many = "Too many decomposed read operations for a given query.";
    refused(&format!("pk IN [{fifty_one}]"), many);
    let twenty_six = (0..26)
        .map(|number| format!("'{number}'"))
        .collect::<Vec<_>>()
        .join(", ");
    refused(&format!("pk IN [{twenty_six}] AND sk IN [1, 2]"), many);
    let ors = vec!["(sk = 1 OR sk = 2)"; 20].join(" AND ");
    check(&format!("pk = 'a' AND {ors}"), &[("a", 2), ("a", 2)], false);
    let ors = vec!["(sk > 1 OR x = 1)"; 20].join(" AND ");
    refused(&format!("pk = 'a' AND {ors}"), many);
    refused(
        "pk = ''",
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
    );
}

#[test]
fn keys_of_single_items() {
    let named = |clause: &str| {
        let Ok(Statement::Select(select)) = read(&format!("SELECT * FROM Tab WHERE {clause}"), &[])
        else {
            panic!("{clause}")
        };
        let condition = select.condition;
        let write = keys::of_write(condition.as_ref(), &schema())
            .map(|named| named.residual.is_some())
            .map_err(|error| error.to_string());
        let exists = keys::of_exists(condition.as_ref(), &schema()).is_ok();
        let read = keys::of_read(condition.as_ref(), &schema(), "X").is_ok();
        (write, exists, read)
    };
    let check = |clause: &str, write: Result<bool, &str>, exists: bool, read: bool| {
        assert_eq!(
            named(clause),
            (write.map_err(str::to_owned), exists, read),
            "{clause}"
        );
    };
    let none = Err("Where clause does not contain a mandatory equality on all key attributes");
    check("pk = 'a' AND sk = 1", Ok(false), false, true);
    check("(sk = 1 AND pk = 'a') AND x = 1", Ok(true), true, false);
    check("pk = 'a' AND sk = 1 AND pk = 'a'", Ok(false), false, true);
    check(
        "pk = 'a' AND sk = 1 AND pk = 'b'",
        Err(
            "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported",
        ),
        true,
        false,
    );
    check("pk IN ['a'] AND sk = 1", none, false, true);
    check("pk = 'a'", none, false, false);
    check("pk = 'a' AND sk > 1", none, false, false);
    check("pk = 'a' OR sk = 1", none, false, false);
    let expected =
        crate::model::Item::from([("pk", AttributeValue::S("a".into())), ("sk", number("1"))]);
    let Ok(Statement::Select(select)) = read("SELECT * FROM Tab WHERE sk = 1.0 AND pk = 'a'", &[])
    else {
        panic!()
    };
    assert_eq!(
        keys::of_read(select.condition.as_ref(), &schema(), "X"),
        Ok(expected)
    );
}
