//! Parameters from before expressions, through the operations (docs/dynamodb.md 8).

use crate::support::engine;
use crate::support::engine::{get, json, line, n, put, query_request, s, scan_request, tab, table};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::model::api::common::*;
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Error, Item};

const KEY: &str = r#""pk":"k","sk":1"#;
const IV: &str = "One or more parameter values were invalid: ";

fn comparison(
    attribute: &str,
    operator: ComparisonOperator,
    arguments: &[AttributeValue],
) -> LegacyCondition {
    LegacyCondition {
        attribute: attribute.to_owned(),
        comparison_operator: Some(operator),
        attribute_value_list: Some(arguments.to_vec()),
        ..LegacyCondition::default()
    }
}

fn absent(attribute: &str) -> LegacyCondition {
    LegacyCondition {
        attribute: attribute.to_owned(),
        exists: Some(false),
        ..LegacyCondition::default()
    }
}

fn legacy(
    conditions: Vec<LegacyCondition>,
    operator: Option<ConditionalOperator>,
) -> ConditionParameter {
    ConditionParameter::Legacy(LegacyConditions {
        conditions,
        operator,
    })
}

fn text_of<T>(outcome: &Result<T, Error>) -> String {
    outcome
        .as_ref()
        .err()
        .map(|error| error.to_string().replace(IV, "IV: "))
        .unwrap_or_default()
}

/// `{"pk":"k","sk":1,"n":5}`.
fn one() -> LocalDatabase {
    let database = tab();
    put(&database, "Tab", json(&format!(r#"{KEY},"n":5"#))).unwrap();
    database
}

#[test]
fn expected_guards_put_delete_and_update() {
    let failed = "The conditional request failed";
    let cases = [
        (legacy(vec![absent("pk")], None), failed),
        (
            legacy(
                vec![comparison("n", ComparisonOperator::Lt, &[n("6")])],
                None,
            ),
            "",
        ),
        (
            legacy(
                vec![
                    absent("n"),
                    comparison("n", ComparisonOperator::Eq, &[n("5")]),
                ],
                None,
            ),
            failed,
        ),
        (
            legacy(
                vec![
                    absent("n"),
                    comparison("n", ComparisonOperator::Eq, &[n("5")]),
                ],
                Some(ConditionalOperator::Or),
            ),
            "",
        ),
        (legacy(vec![], None), ""),
        (
            legacy(vec![], Some(ConditionalOperator::Or)),
            "ConditionalOperator cannot be used without Filter or Expected",
        ),
        (
            legacy(
                vec![LegacyCondition {
                    attribute: "n".into(),
                    ..LegacyCondition::default()
                }],
                None,
            ),
            "IV: Value must be provided when Exists is null for Attribute: n",
        ),
    ];
    for (condition, expected) in cases {
        let put = PutItemRequest {
            condition: condition.clone(),
            ..PutItemRequest::new(table("Tab"), json(KEY))
        };
        assert_eq!(text_of(&one().put_item(put)), expected, "put {condition:?}");
        let delete = DeleteItemRequest {
            condition: condition.clone(),
            ..DeleteItemRequest::new(table("Tab"), json(KEY))
        };
        assert_eq!(
            text_of(&one().delete_item(delete)),
            expected,
            "delete {condition:?}"
        );
        let update = UpdateItemRequest::new(
            table("Tab"),
            json(KEY),
            UpdateParameter::None,
            Placeholders::default(),
        );
        let update = UpdateItemRequest {
            condition: condition.clone(),
            ..update
        };
        assert_eq!(
            text_of(&one().update_item(update)),
            expected,
            "update {condition:?}"
        );
    }
}

#[test]
fn expected_is_judged_before_the_table_and_takes_no_placeholders() {
    let bad = legacy(
        vec![comparison(
            "n",
            ComparisonOperator::Between,
            &[n("2"), n("1")],
        )],
        None,
    );
    let mut request = PutItemRequest {
        condition: bad,
        ..PutItemRequest::new(table("Nothing"), json(KEY))
    };
    assert!(
        text_of(&tab().put_item(request.clone()))
            .starts_with("The BETWEEN condition was provided a range")
    );
    request.condition = legacy(vec![absent("a")], None);
    assert_eq!(
        tab().put_item(request.clone()),
        Err(Error::ResourceNotFound)
    );
    request.placeholders = engine::placeholders_of(r#"":v":1"#);
    assert_eq!(
        text_of(&tab().put_item(request)),
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"
    );
}

fn update(
    attribute: &str,
    action: AttributeAction,
    value: Option<AttributeValue>,
) -> AttributeUpdate {
    AttributeUpdate {
        attribute: attribute.to_owned(),
        action,
        value,
    }
}

fn run(
    database: &LocalDatabase,
    updates: Vec<AttributeUpdate>,
) -> Result<UpdateItemResponse, Error> {
    let parameter = UpdateParameter::AttributeUpdates(updates);
    let request =
        UpdateItemRequest::new(table("Tab"), json(KEY), parameter, Placeholders::default());
    database.update_item(UpdateItemRequest {
        return_values: UpdateReturnValues::UpdatedNew,
        ..request
    })
}

#[test]
fn attribute_updates() {
    use AttributeAction::{Add, Delete, Put};
    let database = one();
    let updates = vec![
        update("n", Add, Some(n("1.5"))),
        update("l", Add, Some(AttributeValue::L(vec![n("1")]))),
        update("x.y", Put, Some(s("z"))),
    ];
    let returned = run(&database, updates).unwrap().attributes.unwrap();
    assert_eq!(line(&returned), r#"{"l":[1],"n":6.5,"x.y":"z"}"#);
    let updates = vec![
        update("l", Add, Some(AttributeValue::L(vec![n("2")]))),
        update("n", Delete, None),
    ];
    assert_eq!(
        line(&run(&database, updates).unwrap().attributes.unwrap()),
        r#"{"l":[1,2]}"#
    );
    assert_eq!(
        get(&database, "Tab", json(KEY)),
        Some(json(&format!(r#"{KEY},"l":[1,2],"x.y":"z""#)))
    );

    let check = |updates: Vec<AttributeUpdate>, expected: &str| {
        assert_eq!(
            text_of(&run(&one(), updates.clone())),
            expected,
            "{updates:?}"
        );
    };
    check(
        vec![update("n", Add, Some(AttributeValue::L(vec![])))],
        "Type mismatch for attribute to update",
    );
    check(
        vec![update("n", Put, None)],
        "IV: Only DELETE action is allowed when no attribute value is specified",
    );
    check(
        vec![update("sk", Put, Some(n("1")))],
        "IV: Cannot update attribute sk. This attribute is part of the key",
    );
    check(
        vec![update("a", Put, Some(n("1")))],
        "IV: Type mismatch for Index Key a Expected: S Actual: N IndexName: glob",
    );
}

#[test]
fn attribute_updates_of_what_is_not_there() {
    let after = |updates: Vec<AttributeUpdate>| {
        let database = tab();
        run(&database, updates).unwrap();
        get(&database, "Tab", json(KEY)).map(|item| line(&item))
    };
    assert_eq!(after(vec![]), Some(format!("{{{KEY}}}")));
    assert_eq!(
        after(vec![update("n", AttributeAction::Delete, None)]),
        None
    );
    assert_eq!(
        after(vec![update(
            "n",
            AttributeAction::Delete,
            Some(AttributeValue::Ss(vec!["a".into()]))
        )]),
        None
    );
    assert_eq!(
        after(vec![update("n", AttributeAction::Add, Some(n("2")))]),
        Some(format!(r#"{{{KEY},"n":2}}"#))
    );
}

/// sk 1 to 5, n their double, `a` x on the odd ones.
fn five() -> LocalDatabase {
    let database = tab();
    for number in 1..=5 {
        let odd = if number % 2 == 1 { r#","a":"x""# } else { "" };
        put(
            &database,
            "Tab",
            json(&format!(
                r#""pk":"k","sk":{number},"n":{}{odd}"#,
                number * 2
            )),
        )
        .unwrap();
    }
    database
}

fn numbers(items: &[Item]) -> String {
    items
        .iter()
        .map(|item| engine::text(item.get("sk").unwrap()))
        .collect::<Vec<_>>()
        .join(" ")
}

fn query(source: &str, conditions: Vec<LegacyCondition>) -> QueryRequest {
    QueryRequest {
        key_condition_expression: None,
        key_conditions: Some(conditions),
        ..query_request(source, "", &[])
    }
}

#[test]
fn key_conditions_and_query_filter() {
    use ComparisonOperator::{BeginsWith, Between, Contains, Eq, Ge, Gt, Ne};
    let database = five();
    let pk = || comparison("pk", Eq, &[s("k")]);
    let sk =
        |operator, arguments: &[AttributeValue]| vec![pk(), comparison("sk", operator, arguments)];
    let check = |request: &QueryRequest, expected: &str| {
        let outcome = database
            .query(request)
            .map(|response| numbers(&response.items.unwrap()));
        assert_eq!(
            outcome
                .map_err(|error| error.to_string().replace(IV, "IV: "))
                .unwrap_or_else(|text| text),
            expected
        );
    };
    check(&query("Tab", vec![pk()]), "1 2 3 4 5");
    check(&query("Tab", sk(Ge, &[n("4")])), "4 5");
    check(&query("Tab", sk(Between, &[n("2"), n("3")])), "2 3");
    check(
        &query("Tab/glob", vec![comparison("a", Eq, &[s("x")])]),
        "1 3 5",
    );
    check(
        &query("Tab", sk(Ne, &[n("4")])),
        "Attempted conditional constraint is not an indexable operation",
    );
    check(
        &query("Tab", sk(BeginsWith, &[s("4")])),
        "IV: Condition parameter type does not match schema type",
    );
    check(
        &query("Tab", vec![]),
        "Conditions can be of length 1 or 2 only",
    );
    check(
        &QueryRequest {
            key_condition_expression: None,
            ..query_request("Tab", "", &[])
        },
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
    );

    let filtered = |filter| QueryRequest {
        filter,
        ..query("Tab", vec![pk()])
    };
    let n_and_a = || {
        vec![
            comparison("n", Gt, &[n("5")]),
            comparison("a", Eq, &[s("x")]),
        ]
    };
    check(&filtered(legacy(n_and_a(), None)), "3 5");
    check(
        &filtered(legacy(n_and_a(), Some(ConditionalOperator::Or))),
        "1 3 4 5",
    );
    let on_key = |name: &str| {
        format!(
            "QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}"
        )
    };
    check(
        &filtered(legacy(vec![comparison("sk", Gt, &[n("1")])], None)),
        &on_key("sk"),
    );
    check(
        &filtered(legacy(vec![comparison("n", Contains, &[])], None)),
        "IV: Invalid number of argument(s) for the CONTAINS ComparisonOperator",
    );

    // KeyConditions may come with expressions.
    let mut request = query("Tab", vec![pk()]);
    request.filter = ConditionParameter::Expression("n > :n".to_owned());
    request.projection_expression = Some("sk".to_owned());
    request.placeholders = engine::placeholders_of(r#"":n":7"#);
    check(&request, "4 5");
}

#[test]
fn scan_filter_and_attributes_to_get() {
    let database = five();
    let filter = legacy(
        vec![
            comparison("sk", ComparisonOperator::In, &[n("1"), n("2")]),
            absent("a"),
        ],
        None,
    );
    let attributes = Some(vec!["n".to_owned(), "sk".to_owned(), "gone".to_owned()]);
    let request = ScanRequest {
        filter,
        attributes_to_get: attributes.clone(),
        ..scan_request("Tab")
    };
    let response = database.scan(&request).unwrap();
    assert_eq!(
        response.items.unwrap().iter().map(line).collect::<Vec<_>>(),
        [r#"{"sk":2,"n":4}"#]
    );
    assert_eq!((response.page.count, response.page.scanned_count), (1, 5));

    let get = GetItemRequest {
        attributes_to_get: attributes,
        ..GetItemRequest::new(table("Tab"), json(KEY))
    };
    assert_eq!(
        line(&database.get_item(get.clone()).unwrap().item.unwrap()),
        r#"{"sk":1,"n":2}"#
    );
    let twice = GetItemRequest {
        attributes_to_get: Some(vec!["n".into(), "n".into()]),
        ..get
    };
    assert_eq!(
        text_of(&database.get_item(twice)),
        "IV: Duplicate value in attribute name: n"
    );

    let select = |select| ScanRequest {
        select: Some(select),
        ..request.clone()
    };
    assert_eq!(
        text_of(&database.scan(&select(Select::AllAttributes))),
        "Cannot specify the AttributesToGet when choosing to get ALL_ATTRIBUTES"
    );
    assert_eq!(
        text_of(&database.scan(&select(Select::Count))),
        "Cannot specify the AttributesToGet when choosing to get only the Count"
    );
    assert_eq!(
        text_of(&database.scan(&select(Select::SpecificAttributes))),
        ""
    );

    let keys = vec![json(KEY), json(r#""pk":"k","sk":9"#)];
    let tables = vec![TableKeys {
        attributes_to_get: Some(vec!["n".into()]),
        ..TableKeys::new(table("Tab"), keys)
    }];
    let batch = BatchGetItemRequest {
        request_items: tables,
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::None,
    };
    assert_eq!(
        database.batch_get_item(&batch).unwrap().responses,
        [vec![json(r#""n":2"#)]]
    );
}
