//! The example tables and the questions asked of them (docs/requirements.md section 7).

use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Item};

/// A query and the values of one attribute of its rows, in order.
fn check(request: &QueryRequest, attribute: &str, expected: &[&str]) {
    let database = samples();
    let response = database.query(request).unwrap();
    let items = response.items.unwrap();
    assert_eq!(column(&items, attribute), expected, "{request:?}");
    assert_eq!(response.page.count, expected.len() as u64);
}

fn by_title(title: &str) -> QueryRequest {
    query_request(
        "GameScores/GameTitleIndex",
        "GameTitle = :v_title",
        &[(":v_title", s(title))],
    )
}

#[test]
fn game_scores_top_scores_of_a_title() {
    let mut request = by_title("Meteor Blasters");
    request.projection_expression = Some("UserId, TopScore".to_owned());
    request.scan_index_forward = false;
    let items = samples().query(&request).unwrap().items.unwrap();
    let expected = [("101", "1000"), ("103", "723")];
    assert_eq!(
        items,
        expected.map(|(user, score)| Item::from([("UserId", s(user)), ("TopScore", n(score))]))
    );

    request.limit = Some(1);
    let response = samples().query(&request).unwrap();
    assert_eq!(column(&response.items.unwrap(), "TopScore"), ["1000"]);
    let last = Item::from([
        ("UserId", s("101")),
        ("GameTitle", s("Meteor Blasters")),
        ("TopScore", n("1000")),
    ]);
    assert_eq!(response.page.last_evaluated_key, Some(last));

    let mut request = by_title("Galaxy Invaders");
    request.scan_index_forward = false;
    request.limit = Some(1);
    check(&request, "TopScore", &["5842"]);
    check(&request, "UserId", &["101"]);
}

#[test]
fn game_scores_best_win_ratio_from_the_index_alone() {
    let response = samples()
        .scan(&scan_request("GameScores/GameTitleWinsIndex"))
        .unwrap();
    let number = |item: &Item, name| {
        item.get(name)
            .map_or(0.0, |value| text(value).parse::<f64>().unwrap())
    };
    let ratio = |item: &Item| {
        number(item, "Wins") / (number(item, "Wins") + number(item, "Losses")).max(1.0)
    };
    let best = response
        .items
        .unwrap()
        .into_iter()
        .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
        .unwrap();
    assert_eq!(
        (best.get("UserId"), best.get("GameTitle")),
        (Some(&s("103")), Some(&s("Galaxy Invaders")))
    );
    assert_eq!(response.page.consumed_capacity.table, 0.0);
    assert_eq!(
        response.page.consumed_capacity.global_indexes["GameTitleWinsIndex"],
        0.5
    );
}

#[test]
fn game_scores_equal_index_keys_and_sparse_entries() {
    let values = [(":t", s("Comet Quest")), (":z", n("0"))];
    let request = query_request(
        "GameScores/GameTitleIndex",
        "GameTitle = :t AND TopScore = :z",
        &values,
    );
    let mut users = column(&samples().query(&request).unwrap().items.unwrap(), "UserId");
    users.sort();
    assert_eq!(users, ["123", "201", "301"]);
    assert_eq!(
        samples()
            .query(&by_title("Comet Quest"))
            .unwrap()
            .page
            .count,
        3
    );

    let all = samples()
        .scan(&scan_request("GameScores"))
        .unwrap()
        .items
        .unwrap();
    assert_eq!(
        all.iter()
            .filter(|item| item.get("GameTitle") == Some(&s("Comet Quest")))
            .count(),
        4
    );

    let request = query_request(
        "GameScores/TopScoreIndex",
        "TopScore = :z",
        &[(":z", n("0"))],
    );
    check(&request, "UserId", &["102"]);
    check(&request, "GameTitle", &["Galaxy Invaders"]);
}

#[test]
fn equal_index_keys_page_one_by_one_without_loss() {
    let database = samples();
    let values = [(":t", s("Comet Quest")), (":z", n("0"))];
    for forward in [true, false] {
        let mut request = query_request(
            "GameScores/GameTitleIndex",
            "GameTitle = :t AND TopScore = :z",
            &values,
        );
        request.scan_index_forward = forward;
        request.limit = Some(1);
        let mut users = Vec::new();
        loop {
            let response = database.query(&request).unwrap();
            users.extend(column(&response.items.unwrap(), "UserId"));
            match response.page.last_evaluated_key {
                Some(key) => request.exclusive_start_key = Some(key),
                None => break,
            }
        }
        users.sort();
        assert_eq!(users, ["123", "201", "301"], "forward {forward}");
    }
}

#[test]
fn game_scores_wrong_and_missing_index_keys() {
    let database = samples();
    let item = Item::from([
        ("UserId", s("500")),
        ("GameTitle", s("X")),
        ("TopScore", s("9")),
    ]);
    assert_eq!(
        put(&database, "GameScores", item).unwrap_err().to_string(),
        "One or more parameter values were invalid: Type mismatch for Index Key TopScore Expected: N Actual: S IndexName: GameTitleIndex"
    );
    let item = Item::from([("UserId", s("500")), ("GameTitle", s("X"))]);
    assert_eq!(get(&database, "GameScores", item.clone()), None);
    put(&database, "GameScores", item.clone()).unwrap();
    assert_eq!(get(&database, "GameScores", item.clone()), Some(item));
    assert_eq!(database.query(&by_title("X")).unwrap().page.count, 0);
}

fn last_posts(condition: &str, values: &[(&str, &str)]) -> QueryRequest {
    let values: Vec<_> = values
        .iter()
        .map(|(name, value)| (*name, s(value)))
        .collect();
    query_request("Thread/LastPostIndex", condition, &values)
}

#[test]
fn thread_by_subject_and_by_last_post() {
    let values = [(":f", s("S3")), (":a", s("a"))];
    check(
        &query_request(
            "Thread",
            "ForumName = :f AND begins_with(Subject, :a)",
            &values,
        ),
        "Subject",
        &["aaa"],
    );

    let mut request = last_posts("ForumName = :f", &[(":f", "S3")]);
    check(&request, "Subject", &["ddd", "bbb", "ccc", "aaa"]);
    request.scan_index_forward = false;
    request.projection_expression = Some("Subject, Replies, LastPostDateTime".to_owned());
    check(&request, "Subject", &["aaa", "ccc", "bbb", "ddd"]);
    check(&request, "Replies", &["12", "4", "3", "9"]);
    let consumed = samples().query(&request).unwrap().page.consumed_capacity;
    assert_eq!(
        (consumed.table, consumed.local_indexes["LastPostIndex"]),
        (0.0, 0.5)
    );

    let recent = last_posts(
        "ForumName = :f AND LastPostDateTime >= :d",
        &[(":f", "RDS"), (":d", "2015-08-01")],
    );
    check(&recent, "Subject", &["ttt"]);
}

#[test]
fn thread_fetches_unprojected_attributes_from_the_table() {
    let values = [
        (":f", "EC2"),
        (":a", "2015-08-31T00:00:00.000Z"),
        (":b", "2015-11-31T00:00:00.000Z"),
    ];
    let mut request = last_posts(
        "ForumName = :f and LastPostDateTime between :a and :b",
        &values,
    );
    request.projection_expression = Some("Subject, LastPostDateTime, Replies, Tags".to_owned());
    let response = samples().query(&request).unwrap();
    let items = response.items.unwrap();
    assert_eq!(column(&items, "Subject"), ["qqq"]);
    assert_eq!(
        items[0].get("Tags"),
        Some(&AttributeValue::Ss(vec![
            "instances".into(),
            "pricing".into()
        ]))
    );
    assert_eq!(items[0].0.len(), 4);
    let consumed = response.page.consumed_capacity;
    assert_eq!(
        (consumed.table, consumed.local_indexes["LastPostIndex"]),
        (0.5, 0.5)
    );

    request.projection_expression = None;
    assert_eq!(
        samples().query(&request).unwrap().items.unwrap()[0].get("Tags"),
        None
    );
    request.select = Some(Select::AllAttributes);
    assert_eq!(
        samples().query(&request).unwrap().items.unwrap()[0].0.len(),
        6
    );
    request.select = Some(Select::Count);
    let response = samples().query(&request).unwrap();
    assert_eq!((response.items, response.page.count), (None, 1));
}

#[test]
fn thread_wrong_index_key_and_collection_metrics() {
    let database = samples();
    let item = Item::from([
        ("ForumName", s("EC2")),
        ("Subject", s("new")),
        ("LastPostDateTime", n("5")),
    ]);
    let error = put(&database, "Thread", item).unwrap_err().to_string();
    assert!(
        error.contains("LastPostDateTime Expected: S Actual: N IndexName: LastPostIndex"),
        "{error}"
    );

    let item = Item::from([("ForumName", s("EC2")), ("Subject", s("new"))]);
    let mut request = PutItemRequest::new(table("Thread"), item);
    request.return_item_collection_metrics = true;
    let metrics = database
        .put_item(request)
        .unwrap()
        .item_collection_metrics
        .unwrap();
    assert_eq!(metrics.key, Item::from([("ForumName", s("EC2"))]));
    assert_eq!(metrics.size_estimate_range_gb, [0.0, 1.0]);
}

#[test]
fn invoices_by_shard() {
    let shard = |number: &str| {
        let values = [(":n", s(number)), (":c", s("Client1"))];
        query_request(
            "Invoices",
            "InvoiceNumber = :n AND begins_with(ClientTransactionId, :c)",
            &values,
        )
    };
    check(
        &shard("121212-1"),
        "ClientTransactionId",
        &["Client1_Trans1", "Client1_Trans2"],
    );
    let database = samples();
    let counts = (1..=5).map(|suffix| {
        database
            .query(&shard(&format!("121212-{suffix}")))
            .unwrap()
            .page
            .count
    });
    assert_eq!(counts.sum::<u64>(), 2);
    let whole =
        |number: &str| query_request("Invoices", "InvoiceNumber = :n", &[(":n", s(number))]);
    let counts = (1..=5).map(|suffix| {
        database
            .query(&whole(&format!("121212-{suffix}")))
            .unwrap()
            .page
            .count
    });
    assert_eq!(counts.sum::<u64>(), 4);
    let none = database.query(&whole("121212-3")).unwrap();
    assert_eq!(
        (none.page.count, none.page.consumed_capacity.total()),
        (0, 0.5)
    );
    assert_eq!(none.items, Some(Vec::new()));
}

#[test]
fn invoice_transactions_by_prefix_and_country() {
    let database = samples();
    let of_country = |country: &str| {
        let mut found = Vec::new();
        for prefix in ["1", "2", "3"] {
            let values = [(":p", n(prefix)), (":c", s(country))];
            let source = "InvoiceTransactions/PrefixCountryIndex";
            let request = query_request(source, "RandomPrefix = :p AND Country = :c", &values);
            found.extend(column(
                &database.query(&request).unwrap().items.unwrap(),
                "InvoiceNumber",
            ));
        }
        found.sort();
        found
    };
    assert_eq!(of_country("USA"), ["121212", "121213"]);
    assert_eq!(of_country("FRA"), ["121214"]);
}

#[test]
fn orders_by_sequence_through_the_index() {
    let mut request = query_request(
        "OrdersBySequence/OrderIndex",
        "OrderID = :o",
        &[(":o", s("Cliente1-2"))],
    );
    check(&request, "TransactionID", &["1111112"]);
    request.consistent_read = true;
    assert_eq!(
        samples().query(&request).unwrap_err().to_string(),
        "Consistent reads are not supported on global secondary indexes"
    );
    let item = Item::from([
        ("TransactionID", s("1111114")),
        ("OrderID", s("Cliente2-2")),
        ("Order_Date", s("2016")),
    ]);
    let consumed = put(&samples(), "OrdersBySequence", item)
        .unwrap()
        .consumed_capacity;
    assert_eq!(
        (consumed.table, consumed.global_indexes["OrderIndex"]),
        (1.0, 1.0)
    );
}

#[test]
fn pets_in_order_and_in_a_range_of_names() {
    let key = Item::from([("AnimalType", s("Dog")), ("Name", s("Fido"))]);
    assert_eq!(get(&samples(), "Pets", key.clone()), Some(key));
    let mut dogs = query_request("Pets", "AnimalType = :a", &[(":a", s("Dog"))]);
    check(&dogs, "Name", &["Bowser", "Fido", "Rover", "Snoopy"]);
    dogs.scan_index_forward = false;
    check(&dogs, "Name", &["Snoopy", "Rover", "Fido", "Bowser"]);
    let values = [(":a", s("Dog")), (":l", s("A")), (":u", s("L"))];
    let request = query_request("Pets", "AnimalType = :a AND #n BETWEEN :l AND :u", &values);
    let named = placeholders(&[("#n", "Name")], &values);
    check(
        &QueryRequest {
            placeholders: named,
            ..request
        },
        "Name",
        &["Bowser", "Fido"],
    );
    assert!(
        get(
            &samples(),
            "PetsByType",
            Item::from([("AnimalType", s("Dog"))])
        )
        .is_some()
    );
}

#[test]
fn orders_of_a_composed_key_in_a_date_range() {
    let values = [
        (":k", s("c1#bicycle#BRA")),
        (":l", s("2016-05-01")),
        (":u", s("2016-06-30")),
    ];
    let condition = "CustomerProductCountry = :k AND OrderDate BETWEEN :l AND :u";
    check(
        &query_request("Orders", condition, &values),
        "OrderDate",
        &["2016-05-17", "2016-06-02"],
    );
}
