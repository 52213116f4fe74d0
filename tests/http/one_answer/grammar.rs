//! Requests for the table `Tab` (pk S, sk N, index `by-g` on g), most members fit, some left out, some wrong.
//!
//! A text with `@name` stands for one of the texts of that rule, the wrong ones in eight cases of a hundred.

use crate::support::seeded::Numbers;

/// A rule: its name, what fits, what is wrong.
type Rule = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// An operation and its members, each with the cases of a hundred in which it is there.
type Operation = (&'static str, &'static [(&'static str, u64)]);

const OPERATIONS: &[Operation] = &[
    (
        "PutItem",
        &[
            (r#""TableName":@table"#, 99),
            (r#""Item":@item"#, 98),
            ("@writeCondition", 40),
            ("@returns", 40),
            ("@odd", 5),
        ],
    ),
    (
        "UpdateItem",
        &[
            (r#""TableName":@table"#, 99),
            (r#""Key":@key"#, 98),
            ("@update", 95),
            ("@updateReturns", 40),
            ("@odd", 5),
        ],
    ),
    (
        "DeleteItem",
        &[
            (r#""TableName":@table"#, 99),
            (r#""Key":@key"#, 98),
            ("@writeCondition", 40),
            ("@returns", 40),
            ("@odd", 5),
        ],
    ),
    (
        "GetItem",
        &[
            (r#""TableName":@table"#, 98),
            (r#""Key":@key"#, 98),
            ("@projection", 50),
            ("@consistent", 30),
            ("@odd", 5),
        ],
    ),
    (
        "Query",
        &[
            (r#""TableName":@table"#, 98),
            ("@keyCondition", 97),
            ("@limit", 30),
            (r#""ScanIndexForward":@flag"#, 30),
            ("@consistent", 20),
            (r#""Select":@select"#, 20),
            (r#""ExclusiveStartKey":@key"#, 10),
            (r#""ReturnConsumedCapacity":@capacity"#, 30),
            ("@odd", 5),
        ],
    ),
    (
        "Scan",
        &[
            (r#""TableName":@table"#, 98),
            ("@filter", 50),
            ("@limit", 30),
            ("@segments", 20),
            (r#""IndexName":@index"#, 20),
            (r#""ExclusiveStartKey":@key"#, 10),
            (r#""ReturnConsumedCapacity":@capacity"#, 30),
            ("@odd", 5),
        ],
    ),
    (
        "BatchGetItem",
        &[
            (r#""RequestItems":@batchGet"#, 98),
            (r#""ReturnConsumedCapacity":@capacity"#, 30),
            ("@odd", 5),
        ],
    ),
    (
        "BatchWriteItem",
        &[
            (r#""RequestItems":@batchWrite"#, 98),
            (r#""ReturnConsumedCapacity":@capacity"#, 30),
            ("@odd", 5),
        ],
    ),
    (
        "TransactGetItems",
        &[(r#""TransactItems":@gets"#, 98), ("@odd", 5)],
    ),
    (
        "TransactWriteItems",
        &[
            (r#""TransactItems":@actions"#, 98),
            (r#""ReturnConsumedCapacity":@capacity"#, 30),
            ("@odd", 5),
        ],
    ),
    (
        "ExecuteStatement",
        &[("@statement", 98), (r#""Limit":@count"#, 10), ("@odd", 5)],
    ),
];

const RULES: &[Rule] = &[
    (
        "table",
        &[r#""Tab""#, r#""Tab""#, r#""Tab""#],
        &[r#""Nil""#, r#""T""#, r#""a b""#, "7", "null", "{}"],
    ),
    (
        "index",
        &[r#""by-g""#],
        &[r#""nix""#, r#""x""#, "null", "true"],
    ),
    ("flag", &["true", "false"], &["0", r#""true""#, "null"]),
    (
        "count",
        &["1", "2", "100"],
        &["0", "-1", "1.5", r#""1""#, "99999999999", "null"],
    ),
    (
        "capacity",
        &[r#""TOTAL""#, r#""INDEXES""#, r#""NONE""#],
        &[r#""ALL""#, r#""""#, "1", "null"],
    ),
    (
        "select",
        &[r#""COUNT""#, r#""ALL_ATTRIBUTES""#],
        &[
            r#""SOME""#,
            r#""SPECIFIC_ATTRIBUTES""#,
            r#""ALL_PROJECTED_ATTRIBUTES""#,
            "[]",
        ],
    ),
    (
        "odd",
        &[
            r#""Odd":1"#,
            r#""AttributesToGet":["a"]"#,
            r#""ReturnConsumedCapacity":"TOTAL""#,
        ],
        &[r#""Expected":{}"#, r#""ConditionalOperator":"AND""#],
    ),
    (
        "pk",
        &[r#"{"S":"a"}"#, r#"{"S":"b"}"#],
        &[
            r#"{"S":""}"#,
            r#"{"N":"1"}"#,
            r#"{"S":7}"#,
            r#"{"NULL":true}"#,
            "null",
            r#""a""#,
        ],
    ),
    (
        "sk",
        &[r#"{"N":"1"}"#, r#"{"N":"2"}"#, r#"{"N":"-1.5"}"#],
        &[
            r#"{"N":"x"}"#,
            r#"{"N":""}"#,
            r#"{"S":"1"}"#,
            r#"{"N":"1e200"}"#,
            r#"{}"#,
        ],
    ),
    (
        "key",
        &[
            r#"{"pk":@pk,"sk":@sk}"#,
            r#"{"pk":@pk,"sk":@sk}"#,
            r#"{"sk":@sk,"pk":@pk}"#,
        ],
        &[
            r#"{"pk":@pk}"#,
            "{}",
            r#"{"pk":@pk,"sk":@sk,"x":@value}"#,
            r#"{"pk":@pk,"pk":@pk,"sk":@sk}"#,
            "null",
            "[]",
            r#""k""#,
        ],
    ),
    (
        "item",
        &[
            r#"{"pk":@pk,"sk":@sk}"#,
            r#"{"pk":@pk,"sk":@sk,"a":@value}"#,
            r#"{"pk":@pk,"sk":@sk,"a":@value,"b":@value,"g":@group}"#,
        ],
        &[
            r#"{"pk":@pk,"a":@value}"#,
            r#"{"pk":@pk,"sk":@sk,"":@value}"#,
            r#"{"pk":@pk,"sk":@sk,"a":@value,"a":@value}"#,
            "{}",
            "[]",
        ],
    ),
    (
        "group",
        &[r#"{"S":"g"}"#, r#"{"S":"h"}"#],
        &[r#"{"S":""}"#, r#"{"N":"1"}"#, r#"{"NULL":true}"#],
    ),
    (
        "value",
        &[
            r#"{"S":"x"}"#,
            r#"{"S":""}"#,
            r#"{"N":"1"}"#,
            r#"{"N":"0.50"}"#,
            r#"{"B":"AAE="}"#,
            r#"{"BOOL":true}"#,
            r#"{"NULL":true}"#,
            r#"{"SS":["x","y"]}"#,
            r#"{"NS":["1","2"]}"#,
            r#"{"BS":["AA=="]}"#,
            r#"{"L":[@value,{"S":"z"}]}"#,
            r#"{"M":{"c":@value}}"#,
            r#"{"M":{}}"#,
            r#"{"L":[]}"#,
        ],
        &[
            r#"{"SS":[]}"#,
            r#"{"SS":["x","x"]}"#,
            r#"{"NS":["1","1.0"]}"#,
            r#"{"NS":["q"]}"#,
            r#"{"N":"1x"}"#,
            r#"{"N":1}"#,
            r#"{"N":"123456789012345678901234567890123456789"}"#,
            r#"{"B":"%"}"#,
            r#"{"NULL":false}"#,
            r#"{"BOOL":"true"}"#,
            r#"{"S":"x","N":"1"}"#,
            r#"{"Z":"x"}"#,
            r#"{"L":{}}"#,
            r#"{"M":[]}"#,
            r#"{"M":{"":{"S":"x"}}}"#,
            "{}",
            "null",
            "7",
        ],
    ),
    (
        "predicate",
        &[
            "attribute_exists(a)",
            "attribute_not_exists(#n)",
            "a = :v",
            "#n < :v",
            "NOT (a <> :v)",
            "a BETWEEN :v AND :v",
            "contains(a, :v)",
            "size(a) > :v",
            "a IN (:v, :v) OR attribute_type(b, :v)",
            "begins_with(a, :v) AND a.c[0] = :v",
            "pk = :v",
        ],
        &[
            "a = ",
            "a = :w",
            "#m = :v",
            "size(a)",
            "nofunction(a)",
            "a = a",
            "",
            "a = :v AND",
            "(a = :v",
            "date = :v",
            "a[x] = :v",
        ],
    ),
    (
        "substitutes",
        &[r##""ExpressionAttributeNames":{"#n":"b"},"ExpressionAttributeValues":{":v":@value}"##],
        &[r#""ExpressionAttributeValues":{}"#],
    ),
    (
        "values",
        &[
            r#""ExpressionAttributeValues":{":v":@value}"#,
            r#""ExpressionAttributeValues":{":v":@value}"#,
        ],
        &[
            r#""ExpressionAttributeValues":{"v":@value}"#,
            r#""ExpressionAttributeValues":{":v":@value,":w":@value}"#,
            r#""ExpressionAttributeValues":null"#,
        ],
    ),
    (
        "writeCondition",
        &[
            r#""ConditionExpression":"attribute_exists(pk)""#,
            r#""ConditionExpression":"attribute_not_exists(a)""#,
            r#""ConditionExpression":"a = :v OR attribute_not_exists(pk)",@values"#,
            r#""ConditionExpression":"@predicate",@substitutes"#,
        ],
        &[
            r#""ConditionExpression":"@predicate""#,
            r#""ConditionExpression":7"#,
            r#""Expected":{"a":{"Exists":false}}"#,
        ],
    ),
    (
        "returns",
        &[
            r#""ReturnValues":"ALL_OLD""#,
            r#""ReturnConsumedCapacity":@capacity"#,
            r#""ReturnValuesOnConditionCheckFailure":"ALL_OLD""#,
            r#""ReturnItemCollectionMetrics":"SIZE""#,
        ],
        &[
            r#""ReturnValues":"ALL_NEW""#,
            r#""ReturnValues":"x""#,
            r#""ReturnItemCollectionMetrics":0"#,
        ],
    ),
    (
        "updateReturns",
        &[
            r#""ReturnValues":"ALL_NEW""#,
            r#""ReturnValues":"UPDATED_OLD""#,
            r#""ReturnValues":"UPDATED_NEW""#,
            r#""ReturnConsumedCapacity":@capacity"#,
            r#""ReturnValuesOnConditionCheckFailure":"ALL_OLD""#,
        ],
        &[
            r#""ReturnValues":"all""#,
            r#""ReturnValuesOnConditionCheckFailure":"x""#,
        ],
    ),
    (
        "action",
        &[
            "SET a = :v",
            "SET a = if_not_exists(a, :v)",
            "SET a.c = :v",
            "SET a[0] = :v",
            "SET b = :v REMOVE a",
            "ADD a :v",
            "DELETE a :v",
            "SET g = :v",
            "SET a = a + :v",
            "SET a = list_append(a, :v)",
        ],
        &[
            "SET a = :w",
            "SET pk = :v",
            "SET a = :v, a = :v",
            "SET a = :v, a.c = :v",
            "SET",
            "PUT a :v",
            "ADD a.c[0] :v SET",
            "REMOVE a",
            "",
        ],
    ),
    (
        "update",
        &[
            r#""UpdateExpression":"@action",@values"#,
            r#""UpdateExpression":"@action",@values"#,
            r#""UpdateExpression":"REMOVE a, b""#,
            r#""UpdateExpression":"@action","ConditionExpression":"attribute_exists(pk)",@values"#,
        ],
        &[
            r#""UpdateExpression":"@action""#,
            r#""AttributeUpdates":{"a":{"Action":"PUT","Value":@value}}"#,
            r#""AttributeUpdates":{"a":{"Action":"ADD","Value":@value}}"#,
            r#""UpdateExpression":[]"#,
            r#""UpdateExpression":"REMOVE a","UpdateExpression":"REMOVE b""#,
        ],
    ),
    (
        "projection",
        &[
            r#""ProjectionExpression":"a""#,
            r#""ProjectionExpression":"pk, a.c, b[0]""#,
            r##""ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"b"}"##,
        ],
        &[
            r#""ProjectionExpression":"a, a""#,
            r#""ProjectionExpression":"a,""#,
            r##""ProjectionExpression":"#n""##,
            r#""ProjectionExpression":"""#,
        ],
    ),
    (
        "consistent",
        &[r#""ConsistentRead":true"#, r#""ConsistentRead":false"#],
        &[r#""ConsistentRead":@flag"#, r#""ConsistentRead":1"#],
    ),
    (
        "limit",
        &[r#""Limit":@count"#],
        &[r#""Limit":0"#, r#""Limit":"1""#],
    ),
    (
        "segments",
        &[
            r#""Segment":0,"TotalSegments":2"#,
            r#""Segment":1,"TotalSegments":2"#,
        ],
        &[
            r#""Segment":2,"TotalSegments":2"#,
            r#""Segment":0"#,
            r#""TotalSegments":0,"Segment":0"#,
        ],
    ),
    (
        "filter",
        &[
            r#""FilterExpression":"@predicate",@substitutes"#,
            r#""FilterExpression":"a = :v",@values"#,
        ],
        &[r#""FilterExpression":"@predicate""#],
    ),
    (
        "keyCondition",
        &[
            r#""KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":@pk}"#,
            r#""KeyConditionExpression":"pk = :p AND sk > :s","ExpressionAttributeValues":{":p":@pk,":s":@sk}"#,
            r#""KeyConditionExpression":"sk BETWEEN :s AND :s AND pk = :p","ExpressionAttributeValues":{":p":@pk,":s":@sk}"#,
            r#""IndexName":@index,"KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":@group}"#,
            r#""KeyConditionExpression":"pk = :p","FilterExpression":"a = :v","ExpressionAttributeValues":{":p":@pk,":v":@value}"#,
        ],
        &[
            r#""KeyConditionExpression":"pk > :p","ExpressionAttributeValues":{":p":@pk}"#,
            r#""KeyConditionExpression":"pk = :p AND a = :s","ExpressionAttributeValues":{":p":@pk,":s":@sk}"#,
            r#""KeyConditionExpression":"pk = :p AND begins_with(sk, :s)","ExpressionAttributeValues":{":p":@pk,":s":@sk}"#,
            r#""KeyConditionExpression":"pk = :p OR sk = :s","ExpressionAttributeValues":{":p":@pk,":s":@sk}"#,
            r#""KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[@pk]}}"#,
            r#""KeyConditionExpression":"""#,
        ],
    ),
    (
        "batchGet",
        &[
            r#"{"Tab":{"Keys":[@key]}}"#,
            r#"{"Tab":{"Keys":[{"pk":{"S":"a"},"sk":{"N":"1"}},{"pk":{"S":"b"},"sk":{"N":"1"}}],@projection}}"#,
        ],
        &[
            r#"{"Tab":{"Keys":[@key,@key]}}"#,
            r#"{"Tab":{"Keys":[]}}"#,
            "{}",
            r#"{"Nil":{"Keys":[@key]}}"#,
            r#"{"Tab":{}}"#,
            "[]",
            r#"{"Tab":null}"#,
        ],
    ),
    (
        "batchWrite",
        &[
            r#"{"Tab":[{"PutRequest":{"Item":@item}}]}"#,
            r#"{"Tab":[{"DeleteRequest":{"Key":@key}}]}"#,
            r#"{"Tab":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"a":@value}}},{"DeleteRequest":{"Key":{"pk":{"S":"b"},"sk":{"N":"2"}}}}]}"#,
        ],
        &[
            r#"{"Tab":[{"PutRequest":{"Item":@item}},{"DeleteRequest":{"Key":@key}}]}"#,
            r#"{"Tab":[{"PutRequest":{"Item":@item},"DeleteRequest":{"Key":@key}}]}"#,
            r#"{"Tab":[]}"#,
            r#"{"Tab":[{}]}"#,
            "{}",
            r#"{"Nil":[{"PutRequest":{"Item":@item}}]}"#,
            "null",
        ],
    ),
    (
        "gets",
        &[
            r#"[{"Get":{"TableName":@table,"Key":@key}}]"#,
            r#"[{"Get":{"TableName":@table,"Key":@key,@projection}},{"Get":{"TableName":"Tab","Key":@key}}]"#,
        ],
        &["[]", "[{}]", "null", r#"[{"Put":{}}]"#, "{}"],
    ),
    (
        "act",
        &[
            r#"{"Put":{"TableName":@table,"Item":@item}}"#,
            r#"{"Delete":{"TableName":@table,"Key":@key}}"#,
            r#"{"Update":{"TableName":@table,"Key":@key,@update}}"#,
            r#"{"ConditionCheck":{"TableName":@table,"Key":@key,@writeCondition}}"#,
        ],
        &[
            "{}",
            r#"{"Put":{"TableName":@table}}"#,
            r#"{"Put":{"TableName":@table,"Item":@item},"Delete":{"TableName":@table,"Key":@key}}"#,
            "null",
        ],
    ),
    (
        "actions",
        &["[@act]", "[@act,@act]", "[@act,@act,@act]"],
        &["[]", "{}", "null"],
    ),
    (
        "statement",
        &[
            r#""Statement":"SELECT * FROM Tab WHERE pk = 'a'""#,
            r#""Statement":"SELECT a, b FROM \"Tab\" WHERE pk = ? AND sk > ?","Parameters":[@pk,@sk]"#,
            r#""Statement":"SELECT * FROM Tab.\"by-g\" WHERE g = 'g' AND a = ?","Parameters":[@value]"#,
            r#""Statement":"INSERT INTO Tab VALUE {'pk': ?, 'sk': ?, 'a': ?}","Parameters":[@pk,@sk,@value]"#,
            r#""Statement":"UPDATE Tab SET a = ? WHERE pk = 'a' AND sk = 1","Parameters":[@value]"#,
            r#""Statement":"DELETE FROM Tab WHERE pk = ? AND sk = ? RETURNING ALL OLD *","Parameters":[@pk,@sk]"#,
        ],
        &[
            r#""Statement":"SELEC""#,
            r#""Statement":"""#,
            r#""Statement":"SELECT * FROM Nil""#,
            r#""Statement":"SELECT * FROM Tab WHERE pk = ?""#,
            r#""Statement":"SELECT * FROM Tab","Parameters":[@value]"#,
            r#""Statement":"UPDATE Tab SET pk = 'x' WHERE pk = 'a' AND sk = 1""#,
            r#""Statement":"DELETE FROM Tab WHERE pk = 'a'""#,
            r#""Statement":7"#,
            r#""Parameters":[]"#,
        ],
    ),
];

/// Instead of any member's value.
const NO_VALUES: &[&str] = &[
    "null",
    "7",
    r#""x""#,
    "true",
    "[]",
    "{}",
    "[null]",
    "-0.5",
    r#"{"a":1}"#,
];

/// An operation and a request of it.
pub fn request(numbers: &mut Numbers) -> (&'static str, String) {
    let (operation, members) = OPERATIONS[numbers.below(OPERATIONS.len() as u64) as usize];
    let mut texts = Vec::new();
    for (member, percent) in members {
        if numbers.percent(*percent) {
            texts.push(match member.split_once(':') {
                Some((name, _)) if numbers.percent(2) => {
                    format!("{name}:{}", numbers.one(NO_VALUES))
                }
                _ => expand(member, numbers),
            });
        }
    }
    (operation, format!("{{{}}}", texts.join(",")))
}

/// The text with its rules replaced.
pub fn expand(text: &str, numbers: &mut Numbers) -> String {
    let Some((before, after)) = text.split_once('@') else {
        return text.to_owned();
    };
    let end = after
        .find(|character: char| !character.is_ascii_alphabetic())
        .unwrap_or(after.len());
    let (name, rest) = after.split_at(end);
    let (_, fit, wrong) = RULES
        .iter()
        .find(|rule| rule.0 == name)
        .unwrap_or_else(|| panic!("no rule {name}"));
    let texts = if numbers.percent(8) { wrong } else { fit };
    let chosen = numbers.one(texts);
    format!(
        "{before}{}{}",
        expand(chosen, numbers),
        expand(rest, numbers)
    )
}
