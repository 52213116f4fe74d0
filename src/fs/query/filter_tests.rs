//! Tests of filters: both spellings, to the expression and its values, and the errors of bad ones.

use super::{
    request::request_members,
    tables_of_tests::{directory, game_scores, walk},
};
use crate::codec::dynamodb_json;
use crate::fs::prelude::*;
use crate::model::api::Placeholders;

/// Returns the filter of `request.json` with its placeholders replaced: names in `[]`, values as
/// DynamoDB JSON.
fn filter(path: &str) -> String {
    let path = directory(&game_scores(), path);
    let request = request_members(&path, &path.resolved(None), None).expect("JSON");
    let object = |member: &str| request[member].as_object().cloned().unwrap_or_default();
    let names = object("ExpressionAttributeNames")
        .into_iter()
        .map(|(name, meant)| (name, meant.as_str().expect("a name").into()));
    let values = dynamodb_json::parse(
        Value::Object(object("ExpressionAttributeValues"))
            .to_string()
            .as_bytes(),
    )
    .expect("values");
    let placeholders = Placeholders {
        names: Some(names.collect()),
        values: Some(values.0),
    };
    put_in(
        request["FilterExpression"].as_str().expect("a filter"),
        &placeholders,
    )
}

fn put_in(text: &str, placeholders: &Placeholders) -> String {
    let mut text = text.to_owned();
    for (placeholder, name) in placeholders.names.iter().flatten().rev() {
        text = text.replace(placeholder.as_str(), &format!("[{name}]"));
    }
    for (placeholder, value) in placeholders.values.iter().flatten().rev() {
        let mut json = Vec::new();
        dynamodb_json::write_value(value, &mut json);
        text = text.replace(placeholder.as_str(), &String::from_utf8_lossy(&json));
    }
    text
}

fn check(clause: &str, expected: &str) {
    assert_eq!(filter(&format!("scan/{clause}")), expected, "{clause}");
}

fn check_fault(clause: &str, message: &str, hint: &str) {
    match walk(&game_scores(), &format!("scan/{clause}")) {
        Err(FsError::Clause {
            message: found,
            hint: found_hint,
        }) => {
            assert_eq!(found, message, "{clause}");
            assert!(found_hint.contains(hint), "{clause}: {found_hint}");
        }
        other => panic!("{clause}: {other:?}"),
    }
}

#[test]
fn every_operator() {
    for (operator, expected) in [
        ("eq=1", r#"[a] = {"N":"1"}"#),
        ("ne=1", r#"[a] <> {"N":"1"}"#),
        ("lt=1", r#"[a] < {"N":"1"}"#),
        ("le=1", r#"[a] <= {"N":"1"}"#),
        ("gt=1", r#"[a] > {"N":"1"}"#),
        ("ge=1", r#"[a] >= {"N":"1"}"#),
        ("between=1,5", r#"[a] BETWEEN {"N":"1"} AND {"N":"5"}"#),
        (
            "in=1,x,true",
            r#"[a] IN ({"N":"1"}, {"S":"x"}, {"BOOL":true})"#,
        ),
        ("begins=1", r#"begins_with([a], {"S":"1"})"#),
        ("contains=x", r#"contains([a], {"S":"x"})"#),
        (
            "contains=1",
            r#"(contains([a], {"N":"1"}) OR contains([a], {"S":"1"}))"#,
        ),
        ("ncontains=x", r#"NOT contains([a], {"S":"x"})"#),
        (
            "ncontains=1",
            r#"NOT (contains([a], {"N":"1"}) OR contains([a], {"S":"1"}))"#,
        ),
        ("exists", "attribute_exists([a])"),
        ("nexists", "attribute_not_exists([a])"),
        ("type=SS", r#"attribute_type([a], {"S":"SS"})"#),
        ("size-eq=3", r#"size([a]) = {"N":"3"}"#),
        ("size-ne=3", r#"size([a]) <> {"N":"3"}"#),
        ("size-lt=3", r#"size([a]) < {"N":"3"}"#),
        ("size-le=3", r#"size([a]) <= {"N":"3"}"#),
        ("size-gt=3", r#"size([a]) > {"N":"3"}"#),
        ("size-ge=3", r#"size([a]) >= {"N":"3"}"#),
        (
            "size-between=1,3",
            r#"size([a]) BETWEEN {"N":"1"} AND {"N":"3"}"#,
        ),
    ] {
        check(&format!("where.a.{operator}"), expected);
    }
    check("where.a.b[0].c%2Ed.eq=x", r#"[a].[b][0].[c.d] = {"S":"x"}"#);
}

#[test]
fn values_have_the_type_of_the_schema_or_the_one_they_look_like_or_the_one_forced() {
    for (clause, expected) in [
        ("a.eq=12", r#"{"N":"12"}"#),
        ("a.eq=-1.5e3", r#"{"N":"-1500"}"#),
        ("a.eq=007", r#"{"S":"007"}"#),
        ("a.eq=2024-01-01", r#"{"S":"2024-01-01"}"#),
        ("a.eq=1.", r#"{"S":"1."}"#),
        ("a.eq=+1", r#"{"S":"+1"}"#),
        ("a.eq=1e200", r#"{"S":"1e200"}"#),
        ("a.eq=true", r#"{"BOOL":true}"#),
        ("a.eq=null", r#"{"NULL":true}"#),
        ("a.eq=", r#"{"S":""}"#),
        ("a.eq=x,y=z", r#"{"S":"x,y=z"}"#),
        ("a.eq=50%25 off", r#"{"S":"50% off"}"#),
        ("a,S.eq=12", r#"{"S":"12"}"#),
        ("a,S.eq=true", r#"{"S":"true"}"#),
        ("a,N.eq=007", r#"{"N":"7"}"#),
        ("a,B.eq=%00%FF", r#"{"B":"AP8="}"#),
        ("a,BOOL.eq=false", r#"{"BOOL":false}"#),
        ("a,NULL.eq=", r#"{"NULL":true}"#),
        (r#"a,JSON.eq={"$ss":["x","y"]}"#, r#"{"SS":["x","y"]}"#),
        // Keys of table and indexes.
        ("UserId.eq=101", r#"{"S":"101"}"#),
        ("TopScore.eq=007", r#"{"N":"7"}"#),
        ("Hash.eq=%FF", r#"{"B":"/w=="}"#),
    ] {
        let (path, _) = clause.split_once(".eq").expect("an eq");
        let name = path.split(',').next().expect("a name");
        check(
            &format!("where.{clause}"),
            &format!("[{name}] = {expected}"),
        );
    }
    check(
        "where.a.between=1,x",
        r#"[a] BETWEEN {"S":"1"} AND {"S":"x"}"#,
    );
    check(
        "where.Hash.begins=%FF",
        r#"begins_with([Hash], {"B":"/w=="})"#,
    );
}

#[test]
fn expressions_have_names_and_literals() {
    for (text, expected) in [
        (
            r#"status IN ("open","held")"#,
            r#"[status] IN ({"S":"open"}, {"S":"held"})"#,
        ),
        (
            "total>100 and not paid = true",
            r#"[total] > {"N":"100"} AND NOT [paid] = {"BOOL":true}"#,
        ),
        (
            "a == 'x' OR b != null",
            r#"[a] = {"S":"x"} OR [b] <> {"NULL":true}"#,
        ),
        ("'it''s' = a", r#"{"S":"it's"} = [a]"#),
        (r#"a = "say ""hi""""#, r#"[a] = {"S":"say \"hi\""}"#),
        ("a.b[0].c = -1.5", r#"[a].[b][0].[c] = {"N":"-1.5"}"#),
        ("`any name`.`x.y` = 1", r#"[any name].[x.y] = {"N":"1"}"#),
        (
            "ship-date BETWEEN '2024' AND '2025'",
            r#"[ship-date] BETWEEN {"S":"2024"} AND {"S":"2025"}"#,
        ),
        (
            "attribute_exists(a) AND size ( b ) >= 2",
            r#"attribute_exists([a]) AND size([b]) >= {"N":"2"}"#,
        ),
        (
            "contains(tags, 'x') OR begins_with(a, 'y')",
            r#"contains([tags], {"S":"x"}) OR begins_with([a], {"S":"y"})"#,
        ),
        (
            "(a = 1 OR b = 2) AND c = 3",
            r#"([a] = {"N":"1"} OR [b] = {"N":"2"}) AND [c] = {"N":"3"}"#,
        ),
        ("h = b\"%00%FF\"", r#"[h] = {"B":"AP8="}"#),
        ("a = '50%25'", r#"[a] = {"S":"50%"}"#),
        ("a = 'x%2Fy%27z'", r#"[a] = {"S":"x/y'z"}"#),
        ("a%2Eb = 1", r#"[a.b] = {"N":"1"}"#),
        (
            "status%20%3D%20%22open%22%20AND%20n%3E1",
            r#"[status] = {"S":"open"} AND [n] > {"N":"1"}"#,
        ),
        ("größe = 'é'", r#"[größe] = {"S":"é"}"#),
        (
            "_x = 1 AND $y = 2",
            r#"[_x] = {"N":"1"} AND [$y] = {"N":"2"}"#,
        ),
    ] {
        check(&format!("where={text}"), expected);
    }
}

#[test]
fn filters_are_joined_by_and() {
    check(
        "where.a.eq=1/where.b.eq=1",
        r#"[a] = {"N":"1"} AND [b] = {"N":"1"}"#,
    );
    check(
        "where=a = 1 OR b = 2/where.a.exists",
        r#"([a] = {"N":"1"} OR [b] = {"N":"2"}) AND attribute_exists([a])"#,
    );
    check(
        "where=(a = 1 OR b = 2)/where.a.exists",
        r#"([a] = {"N":"1"} OR [b] = {"N":"2"}) AND attribute_exists([a])"#,
    );
    check(
        "where=a = 1 OR b = 2",
        r#"[a] = {"N":"1"} OR [b] = {"N":"2"}"#,
    );
    let many: Vec<String> = (0..12).map(|n| format!("where.a{n}.eq={n}")).collect();
    let expected: Vec<String> = (0..12)
        .map(|n| format!(r#"[a{n}] = {{"N":"{n}"}}"#))
        .collect();
    check(&many.join("/"), &expected.join(" AND "));
}

#[test]
fn an_expression_of_the_api_is_taken_apart_and_put_together_again() {
    let item = |json: &str| -> Item { dynamodb_json::parse(json.as_bytes()).expect("JSON") };
    let names = [
        ("#s".to_owned(), "status".to_owned()),
        ("#t".to_owned(), "a.b".to_owned()),
    ];
    let placeholders = Placeholders {
        names: Some(names.into()),
        values: Some(item(r#"{":o":{"S":"open"},":n":{"N":"1"},":s":{"SS":["x"]}}"#).0),
    };
    for (text, expected) in [
        (
            "#s = :o and not size(b.c[0].#t) > :n",
            r#"[status] = {"S":"open"} AND NOT size([b].[c][0].[a.b]) > {"N":"1"}"#,
        ),
        (
            "a IN (:o, :n) OR b between :n AND :n",
            r#"[a] IN ({"S":"open"}, {"N":"1"}) OR [b] BETWEEN {"N":"1"} AND {"N":"1"}"#,
        ),
        (
            "attribute_exists(a) AND (contains(b, :o) OR c = :s)",
            r#"attribute_exists([a]) AND (contains([b], {"S":"open"}) OR [c] = {"SS":["x"]})"#,
        ),
    ] {
        let filter =
            super::filter::WhereFilter::of_expression(text, &placeholders).expect("a filter");
        let mut expression = super::filter::ExpressionBuilder::default();
        let written = filter.write(&mut expression, false);
        assert_eq!(
            put_in(&written, &expression.placeholders()),
            expected,
            "{text}"
        );
    }
}

#[test]
fn bad_filters_say_what_is_wrong() {
    for (clause, message, hint) in [
        (
            "where.total",
            "where.total has no operator",
            "where.total.eq",
        ),
        (
            "where.total=5",
            "where.total has no operator",
            "where.total.eq",
        ),
        (
            "where.total.gtt=5",
            "unknown operator 'gtt' in where.total.gtt",
            "for example where.total.gt;",
        ),
        (
            "where.a.b=5",
            "unknown operator 'b' in where.a.b",
            "for example where.a.eq;",
        ),
        (
            "where.a.gt",
            "this where clause needs a value",
            "where.total.gt=100",
        ),
        ("where.a.exists=1", "exists takes no value", "leave one out"),
        (
            "where.a.between=1",
            "between on a takes two values, lower,upper",
            "%2C",
        ),
        (
            "where.a,X.eq=1",
            "'X' is no type that a where clause can force",
            "S N B BOOL NULL JSON",
        ),
        (
            "where.a,N.eq=x",
            "a: The parameter cannot be converted to a numeric value: x",
            "%XX",
        ),
        ("where.a,BOOL.eq=x", "a: a BOOL is true or false", ""),
        (
            "where.a,JSON.eq=[",
            "a: expected more: the text ends at byte 1",
            "",
        ),
        ("where..eq=1", "'' is no document path", "a, a.b, a[0]"),
        (
            "where.a.lt=true",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
            "force it",
        ),
        (
            "where.a.type=X",
            "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
            "types are S, N",
        ),
        ("where=", "where needs a value", "where=total > 100"),
        ("where", "where needs a value", "where=total > 100"),
        (
            "where=status",
            "Syntax error; token: \"<EOF>\", near: \"status\"",
            "for example where=status IN",
        ),
        (
            "where=status = open AND",
            "Syntax error; token: \"<EOF>\", near: \"AND\"",
            "for example",
        ),
        ("where=status = \"open", "a \" is not closed", "same quote"),
        (
            "where=a = #x",
            "there are no placeholders in a where= clause",
            "write names as they are",
        ),
        (
            "where=a = :x",
            "there are no placeholders in a where= clause",
            "values as 'text'",
        ),
        (
            "where=date > 2024-01-01",
            "'2024-01-01' is no number",
            "texts need quotes",
        ),
        (
            "where=starts_with(a, 'x')",
            "Invalid function name; function: starts_with",
            "did you mean begins_with(…)?",
        ),
        (
            "where=((a = 1))",
            "The expression has redundant parentheses;",
            "second pair",
        ),
        ("where=a & b", "'&' has no meaning here", "AND"),
        (
            "where=a = '100%'",
            "two hexadecimal digits must follow '%'",
            "%25",
        ),
        ("where=a. = 1", "a name is missing after '.'", "%2E"),
        (
            "where=a[x] = 1",
            "between [ and ] is the number of an element",
            "tags[0]",
        ),
        (
            "where=a between 5 and 1",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {N:1}",
            "",
        ),
    ] {
        check_fault(clause, message, hint);
    }
}

#[test]
fn keys_and_unprojected_attributes_cannot_be_filtered_by() {
    let check = |path: &str, message: &str, hint: &str| match walk(&game_scores(), path) {
        Err(FsError::Clause {
            message: found,
            hint: found_hint,
        }) => {
            assert_eq!(found, message, "{path}");
            assert!(found_hint.contains(hint), "{path}: {found_hint}");
        }
        other => panic!("{path}: {other:?}"),
    };
    let partition = "UserId is the partition key of what is queried: a filter cannot name it, a key condition can";
    check(
        "query/where.UserId.eq=1",
        partition,
        "write UserId=… or @pk=…",
    );
    check("query/@pk=1/where=UserId = '1' OR a = 1", partition, "");
    let sort =
        "GameTitle is a sort key of what is queried: a filter cannot name it, a key condition can";
    check(
        "query/@pk=1/where.GameTitle.gt=a",
        sort,
        "GameTitle.begins=… without where",
    );
    check(
        "gsi/GameTitleIndex/query/@pk=1/where.Wins.gt=1",
        "index GameTitleIndex does not project Wins",
        "query the table",
    );
    check(
        "gsi/GameTitleIndex/scan/where.Wins.gt=1",
        "index GameTitleIndex does not project Wins",
        "query the table",
    );
    check(
        "lsi/WinsIndex/query/@pk=1/where.Losses.gt=1",
        "index WinsIndex does not project Losses",
        "query the table",
    );
    assert!(walk(&game_scores(), "scan/where.UserId.eq=1/count").is_ok());
    assert!(
        walk(
            &game_scores(),
            "gsi/ByHash/query/@pk=a/where.Wins.gt=1/count"
        )
        .is_ok()
    );
}
