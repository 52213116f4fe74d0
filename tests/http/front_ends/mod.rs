//! The example data sets and the worked examples of capacity, asked of one daemon through HTTP and through the mount: what the
//! one front end answers, the other shows. Ids are those of the requirements (D-01.1) and of docs/dynamodb.md 10.5.

mod both;
mod capacity;

use both::{Both, Read, in_any_order, plain};
use serde_json::{Value, json};

/// Reads of the sample tables. The request is for HTTP, the path for the mount; items are plain JSON.
const SAMPLES: &[Read] = &[
    Read {
        id: "D-01.1",
        call: r#"Query {"TableName":"GameScores","IndexName":"GameTitleIndex","KeyConditionExpression":"GameTitle = :v_title",
            "ExpressionAttributeValues":{":v_title":{"S":"Meteor Blasters"}},"ProjectionExpression":"UserId, TopScore",
            "ScanIndexForward":false}"#,
        path: "GameScores/gsi/GameTitleIndex/query/GameTitle=Meteor%20Blasters/select=UserId,TopScore/desc",
        items: &[
            r#"{"UserId":"101","TopScore":1000}"#,
            r#"{"UserId":"103","TopScore":723}"#,
        ],
        units: "gsi GameTitleIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-01.2",
        call: r#"Query {"TableName":"GameScores","IndexName":"GameTitleIndex","KeyConditionExpression":"GameTitle = :v_title",
            "ExpressionAttributeValues":{":v_title":{"S":"Meteor Blasters"}},"ProjectionExpression":"UserId, TopScore",
            "ScanIndexForward":false,"Limit":1}"#,
        path: "GameScores/gsi/GameTitleIndex/query/GameTitle=Meteor%20Blasters/select=UserId,TopScore/desc/eval=1",
        items: &[r#"{"UserId":"101","TopScore":1000}"#],
        units: "gsi GameTitleIndex 0.5",
        last: r#"{"UserId":"101","GameTitle":"Meteor Blasters","TopScore":1000}"#,
        ..Read::ALL
    },
    Read {
        id: "D-01.3",
        call: r#"Query {"TableName":"GameScores","IndexName":"GameTitleIndex","KeyConditionExpression":"GameTitle = :t",
            "ExpressionAttributeValues":{":t":{"S":"Galaxy Invaders"}},"ScanIndexForward":false,"Limit":1}"#,
        path: "GameScores/gsi/GameTitleIndex/query/@pk=Galaxy%20Invaders/desc/eval=1",
        items: &[r#"{"UserId":"101","GameTitle":"Galaxy Invaders","TopScore":5842}"#],
        units: "gsi GameTitleIndex 0.5",
        last: r#"{"UserId":"101","GameTitle":"Galaxy Invaders","TopScore":5842}"#,
        ..Read::ALL
    },
    Read {
        id: "D-01.5",
        call: r#"Query {"TableName":"GameScores","IndexName":"GameTitleIndex",
            "KeyConditionExpression":"GameTitle = :t AND TopScore = :z","ProjectionExpression":"UserId",
            "ExpressionAttributeValues":{":t":{"S":"Comet Quest"},":z":{"N":"0"}}}"#,
        path: "GameScores/gsi/GameTitleIndex/query/@pk=Comet%20Quest/@sk=0/select=UserId",
        items: &[
            r#"{"UserId":"123"}"#,
            r#"{"UserId":"201"}"#,
            r#"{"UserId":"301"}"#,
        ],
        any_order: true,
        units: "gsi GameTitleIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-01.6",
        call: r#"Query {"TableName":"GameScores","IndexName":"GameTitleIndex","KeyConditionExpression":"GameTitle = :t",
            "ExpressionAttributeValues":{":t":{"S":"Comet Quest"}}}"#,
        path: "GameScores/gsi/GameTitleIndex/query/@pk=Comet%20Quest",
        items: &[
            r#"{"UserId":"123","GameTitle":"Comet Quest","TopScore":0}"#,
            r#"{"UserId":"201","GameTitle":"Comet Quest","TopScore":0}"#,
            r#"{"UserId":"301","GameTitle":"Comet Quest","TopScore":0}"#,
        ],
        any_order: true,
        units: "gsi GameTitleIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-01b",
        call: r#"Query {"TableName":"GameScores","IndexName":"TopScoreIndex","KeyConditionExpression":"TopScore = :z",
            "ExpressionAttributeValues":{":z":{"N":"0"}},"ProjectionExpression":"UserId, GameTitle"}"#,
        path: "GameScores/gsi/TopScoreIndex/query/TopScore=0/select=UserId,GameTitle",
        items: &[r#"{"UserId":"102","GameTitle":"Galaxy Invaders"}"#],
        units: "gsi TopScoreIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-02.1",
        call: r#"Query {"TableName":"Thread","KeyConditionExpression":"ForumName = :f AND begins_with(Subject, :a)",
            "ExpressionAttributeValues":{":f":{"S":"S3"},":a":{"S":"a"}},"ProjectionExpression":"Subject"}"#,
        path: "Thread/query/ForumName=S3/Subject.begins=a/select=Subject",
        items: &[r#"{"Subject":"aaa"}"#],
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-02.2",
        call: r#"Query {"TableName":"Thread","IndexName":"LastPostIndex","KeyConditionExpression":"ForumName = :f",
            "ExpressionAttributeValues":{":f":{"S":"S3"}},"ScanIndexForward":false,
            "ProjectionExpression":"Subject, Replies, LastPostDateTime"}"#,
        path: "Thread/lsi/LastPostIndex/query/@pk=S3/desc/select=Subject,Replies,LastPostDateTime",
        items: &[
            r#"{"Subject":"aaa","Replies":12,"LastPostDateTime":"2015-03-15:17:24:31"}"#,
            r#"{"Subject":"ccc","Replies":4,"LastPostDateTime":"2015-02-31:13:14:21"}"#,
            r#"{"Subject":"bbb","Replies":3,"LastPostDateTime":"2015-01-22:23:18:01"}"#,
            r#"{"Subject":"ddd","Replies":9,"LastPostDateTime":"2015-01-03:09:21:11"}"#,
        ],
        units: "lsi LastPostIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-02.3",
        call: r#"Query {"TableName":"Thread","IndexName":"LastPostIndex","KeyConditionExpression":"ForumName = :f",
            "ExpressionAttributeValues":{":f":{"S":"S3"}},"ProjectionExpression":"Subject"}"#,
        path: "Thread/lsi/LastPostIndex/query/@pk=S3/select=Subject",
        items: &[
            r#"{"Subject":"ddd"}"#,
            r#"{"Subject":"bbb"}"#,
            r#"{"Subject":"ccc"}"#,
            r#"{"Subject":"aaa"}"#,
        ],
        units: "lsi LastPostIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-02.4",
        call: r#"Query {"TableName":"Thread","IndexName":"LastPostIndex",
            "KeyConditionExpression":"ForumName = :v_forum and LastPostDateTime between :v_start and :v_end","ConsistentRead":false,
            "ExpressionAttributeValues":{":v_forum":{"S":"EC2"},":v_start":{"S":"2015-08-31T00:00:00.000Z"},
                ":v_end":{"S":"2015-11-31T00:00:00.000Z"}},
            "ProjectionExpression":"Subject, LastPostDateTime, Replies, Tags"}"#,
        path: "Thread/lsi/LastPostIndex/query/ForumName=EC2/\
               LastPostDateTime.between=2015-08-31T00:00:00.000Z,2015-11-31T00:00:00.000Z/select=Subject,LastPostDateTime,Replies,Tags",
        items: &[
            r#"{"Subject":"qqq","LastPostDateTime":"2015-09-30T12:00:00.000Z","Replies":7,"Tags":{"$ss":["instances","pricing"]}}"#,
        ],
        units: "lsi LastPostIndex 0.5, table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-02.5",
        call: r#"Query {"TableName":"Thread","IndexName":"LastPostIndex",
            "KeyConditionExpression":"ForumName = :f AND LastPostDateTime >= :d","ProjectionExpression":"Subject",
            "ExpressionAttributeValues":{":f":{"S":"RDS"},":d":{"S":"2015-08-01"}}}"#,
        path: "Thread/lsi/LastPostIndex/query/@pk=RDS/@sk.ge=2015-08-01/select=Subject",
        items: &[r#"{"Subject":"ttt"}"#],
        units: "lsi LastPostIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-05.1",
        call: r#"Query {"TableName":"Invoices","ProjectionExpression":"ClientTransactionId",
            "KeyConditionExpression":"InvoiceNumber = :n AND begins_with(ClientTransactionId, :c)",
            "ExpressionAttributeValues":{":n":{"S":"121212-1"},":c":{"S":"Client1"}}}"#,
        path: "Invoices/query/@pk=121212-1/@sk.begins=Client1/select=ClientTransactionId",
        items: &[
            r#"{"ClientTransactionId":"Client1_Trans1"}"#,
            r#"{"ClientTransactionId":"Client1_Trans2"}"#,
        ],
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-05.4",
        call: r#"Query {"TableName":"Invoices","KeyConditionExpression":"InvoiceNumber = :n",
            "ExpressionAttributeValues":{":n":{"S":"121212-3"}}}"#,
        path: "Invoices/query/@pk=121212-3",
        items: &[],
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-06.2",
        call: r#"Query {"TableName":"InvoiceTransactions","IndexName":"PrefixCountryIndex","ProjectionExpression":"InvoiceNumber",
            "KeyConditionExpression":"RandomPrefix = :p AND Country = :c",
            "ExpressionAttributeValues":{":p":{"N":"3"},":c":{"S":"FRA"}}}"#,
        path: "InvoiceTransactions/gsi/PrefixCountryIndex/query/RandomPrefix=3/Country=FRA/select=InvoiceNumber",
        items: &[r#"{"InvoiceNumber":"121214"}"#],
        units: "gsi PrefixCountryIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-07.1",
        call: r#"Query {"TableName":"OrdersBySequence","IndexName":"OrderIndex","KeyConditionExpression":"OrderID = :o",
            "ExpressionAttributeValues":{":o":{"S":"Cliente1-2"}},"ProjectionExpression":"TransactionID"}"#,
        path: "OrdersBySequence/gsi/OrderIndex/query/OrderID=Cliente1-2/select=TransactionID",
        items: &[r#"{"TransactionID":"1111112"}"#],
        units: "gsi OrderIndex 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-08.2",
        call: r##"Query {"TableName":"Pets","KeyConditionExpression":"AnimalType = :a","ProjectionExpression":"#n",
            "ExpressionAttributeNames":{"#n":"Name"},"ExpressionAttributeValues":{":a":{"S":"Dog"}}}"##,
        path: "Pets/query/AnimalType=Dog/select=Name",
        items: &[
            r#"{"Name":"Bowser"}"#,
            r#"{"Name":"Fido"}"#,
            r#"{"Name":"Rover"}"#,
            r#"{"Name":"Snoopy"}"#,
        ],
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-08.3",
        call: r##"Query {"TableName":"Pets","KeyConditionExpression":"AnimalType = :a","ProjectionExpression":"#n",
            "ExpressionAttributeNames":{"#n":"Name"},"ExpressionAttributeValues":{":a":{"S":"Dog"}},"ScanIndexForward":false}"##,
        path: "Pets/query/AnimalType=Dog/select=Name/desc",
        items: &[
            r#"{"Name":"Snoopy"}"#,
            r#"{"Name":"Rover"}"#,
            r#"{"Name":"Fido"}"#,
            r#"{"Name":"Bowser"}"#,
        ],
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-08.4",
        call: r##"Query {"TableName":"Pets","KeyConditionExpression":"AnimalType = :a AND #n BETWEEN :l AND :u",
            "ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"Name"},
            "ExpressionAttributeValues":{":a":{"S":"Dog"},":l":{"S":"A"},":u":{"S":"L"}}}"##,
        path: "Pets/query/AnimalType=Dog/Name.between=A,L/select=Name",
        items: &[r#"{"Name":"Bowser"}"#, r#"{"Name":"Fido"}"#],
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-09",
        call: r#"Query {"TableName":"Orders","KeyConditionExpression":"CustomerProductCountry = :k AND OrderDate BETWEEN :l AND :u",
            "ExpressionAttributeValues":{":k":{"S":"c1#bicycle#BRA"},":l":{"S":"2016-05-01"},":u":{"S":"2016-06-30"}}}"#,
        path: "Orders/query/@pk=c1%23bicycle%23BRA/@sk.between=2016-05-01,2016-06-30",
        items: &[
            r#"{"CustomerProductCountry":"c1#bicycle#BRA","OrderDate":"2016-05-17","Quantity":1}"#,
            r#"{"CustomerProductCountry":"c1#bicycle#BRA","OrderDate":"2016-06-02","Quantity":2}"#,
        ],
        units: "table 0.5",
        ..Read::ALL
    },
];

#[test]
fn the_example_data_sets_answer_alike() {
    let both = Both::with_samples();
    SAMPLES.iter().for_each(|read| both.check(read));
    whole_indexes(&both);
    queries_over_shards(&both);
    items_and_directories(&both);
    refusals(&both);
    // Last: it changes the tables.
    writes(&both);
}

/// Reads of everything in an index or table, and what they come to.
fn whole_indexes(both: &Both) {
    // D-01.4: the best ratio of wins, from the index alone.
    let through_http =
        both.all(r#"Scan {"TableName":"GameScores","IndexName":"GameTitleWinsIndex"}"#);
    for items in [
        through_http,
        both.lines("cat GameScores/gsi/GameTitleWinsIndex/scan/items.ndjson"),
        both.lines("cat GameScores/gsi/GameTitleWinsIndex/items/*/*.json"),
    ] {
        assert_eq!(items.len(), 12, "D-01.4");
        let ratio = |item: &Value| {
            let [wins, losses] = ["Wins", "Losses"].map(|name| item[name].as_f64().unwrap_or(0.0));
            wins / (wins + losses).max(1.0)
        };
        let best = items
            .iter()
            .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            .unwrap();
        let expected = r#"{"GameTitle":"Galaxy Invaders","TopScore":2317,"UserId":"103","Wins":40,"Losses":3}"#;
        assert_eq!(
            best,
            &serde_json::from_str::<Value>(expected).unwrap(),
            "D-01.4"
        );
    }
    // D-01.7: of the table, where the title is the sort key.
    let filtered = both.all(
        r#"Scan {"TableName":"GameScores","FilterExpression":"GameTitle = :t","ExpressionAttributeValues":{":t":{"S":"Comet Quest"}},
            "ProjectionExpression":"UserId"}"#,
    );
    let users = ["123", "201", "301", "400"].map(|user| json!({ "UserId": user }));
    assert_eq!(in_any_order(filtered), users, "D-01.7");
    assert_eq!(
        in_any_order(both.lines("jq -c '{UserId}' GameScores/items/*/Comet%20Quest.json")),
        users,
        "D-01.7"
    );
    // D-02.7: only a count.
    let count = both.api(
        r#"Query {"TableName":"Thread","IndexName":"LastPostIndex","KeyConditionExpression":"ForumName = :f AND LastPostDateTime >= :d",
            "ExpressionAttributeValues":{":f":{"S":"S3"},":d":{"S":"2015-01-22"}},"Select":"COUNT"}"#,
    );
    assert_eq!(count, json!({"Count": 3, "ScannedCount": 3}), "D-02.7");
    assert_eq!(
        both.shell("cat Thread/lsi/LastPostIndex/query/@pk=S3/@sk.ge=2015-01-22/count"),
        "3\n",
        "D-02.7"
    );
    // D-06.3: the country alone is skewed.
    let countries =
        both.all(r#"Scan {"TableName":"InvoiceTransactions","IndexName":"CountryIndex","ProjectionExpression":"Country"}"#);
    let expected = ["FRA", "USA", "USA"].map(|country| json!({ "Country": country }));
    assert_eq!(in_any_order(countries), expected, "D-06.3");
    let index = "cd InvoiceTransactions/gsi/CountryIndex/items";
    assert_eq!(
        both.shell(&format!(
            "{index}; for c in *; do echo $c $(ls $c | wc -l); done"
        )),
        "FRA 1\nUSA 2\n",
        "D-06.3"
    );
}

/// A question that takes a query for each shard.
fn queries_over_shards(both: &Both) {
    let check = |id: &str, queries: Vec<String>, script: &str, expected: &[&str]| {
        let items: Vec<Value> = queries.iter().flat_map(|call| both.all(call)).collect();
        let expected: Vec<Value> = expected
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(items, expected, "{id}");
        assert_eq!(both.lines(script), expected, "{id}");
    };
    let invoices = |condition: &str, values: &str| -> Vec<String> {
        let of = |n: u32| {
            format!(
                r#"Query {{"TableName":"Invoices","KeyConditionExpression":"InvoiceNumber = :n{condition}",
                "ExpressionAttributeValues":{{":n":{{"S":"121212-{n}"}}{values}}},"ProjectionExpression":"ClientTransactionId"}}"#
            )
        };
        (1..=5).map(of).collect()
    };
    let transactions = [
        "Client1_Trans1",
        "Client1_Trans2",
        "Client2_Trans1",
        "Client2_Trans2",
    ]
    .map(|transaction| format!(r#"{{"ClientTransactionId":"{transaction}"}}"#));
    let all: Vec<&str> = transactions.iter().map(String::as_str).collect();
    check(
        "D-05.2",
        invoices(
            " AND begins_with(ClientTransactionId, :c)",
            r#",":c":{"S":"Client1"}"#,
        ),
        "cat Invoices/query/@pk=121212-{1..5}/@sk.begins=Client1/select=ClientTransactionId/items.ndjson",
        &all[..2],
    );
    check(
        "D-05.3",
        invoices("", ""),
        "cat Invoices/query/@pk=121212-{1..5}/select=ClientTransactionId/items.ndjson",
        &all,
    );
    let usa = |n: u32| {
        format!(
            r#"Query {{"TableName":"InvoiceTransactions","IndexName":"PrefixCountryIndex","ProjectionExpression":"InvoiceNumber",
            "KeyConditionExpression":"RandomPrefix = :p AND Country = :c",
            "ExpressionAttributeValues":{{":p":{{"N":"{n}"}},":c":{{"S":"USA"}}}}}}"#
        )
    };
    check(
        "D-06.1",
        (1..=3).map(usa).collect(),
        "cat InvoiceTransactions/gsi/PrefixCountryIndex/query/@pk={1..3}/@sk=USA/select=InvoiceNumber/items.ndjson",
        &[
            r#"{"InvoiceNumber":"121212"}"#,
            r#"{"InvoiceNumber":"121213"}"#,
        ],
    );
}

/// Item files and index directories.
fn items_and_directories(both: &Both) {
    // D-01.5, D-02.3: the entries of an index are its directory, in the index's order.
    let names = "0,123,Comet%20Quest.json\n0,201,Comet%20Quest.json\n0,301,Comet%20Quest.json\n";
    assert_eq!(
        both.shell("ls GameScores/gsi/GameTitleIndex/items/Comet%20Quest"),
        names,
        "D-01.5"
    );
    let posts = both.shell("ls -U Thread/lsi/LastPostIndex/items/S3 | sed 's/.*,//'");
    assert_eq!(posts, "ddd.json\nbbb.json\nccc.json\naaa.json\n", "D-02.3");
    // D-03: what belongs together.
    assert_eq!(
        both.shell("ls Thread/items/S3 Thread/lsi/LastPostIndex/items/S3 | grep -c json"),
        "8\n",
        "D-03"
    );
    // D-08.1
    let fido =
        r#"GetItem {"TableName":"Pets","Key":{"AnimalType":{"S":"Dog"},"Name":{"S":"Fido"}}}"#;
    assert_eq!(
        plain(&both.api(fido)["Item"]),
        both.lines("cat Pets/items/Dog/Fido.json")[0],
        "D-08.1"
    );
    assert_eq!(
        both.shell("ls -U Pets/items/Dog"),
        "Bowser.json\nFido.json\nRover.json\nSnoopy.json\n",
        "D-08.2"
    );
    assert_eq!(
        both.shell("cat PetsByType/items/Dog.json"),
        "{\"AnimalType\":\"Dog\",\"Legs\":4}\n",
        "D-08"
    );
}

/// What both refuse, with the same words.
fn refusals(both: &Both) {
    both.refuses(
        "D-01.8",
        r#"PutItem {"TableName":"GameScores","Item":{"UserId":{"S":"500"},"GameTitle":{"S":"X"},"TopScore":{"S":"9"}}}"#,
        "mkdir GameScores/items/500; echo '{\"TopScore\":\"9\"}' > GameScores/items/500/X.json",
        ["Type mismatch for Index Key TopScore Expected: N Actual: S IndexName: GameTitleIndex"; 2],
    );
    both.refuses(
        "D-02.6",
        r#"PutItem {"TableName":"Thread","Item":{"ForumName":{"S":"EC2"},"Subject":{"S":"new"},"LastPostDateTime":{"N":"5"}}}"#,
        "echo '{\"LastPostDateTime\":5}' > Thread/items/EC2/new.json",
        ["Type mismatch for Index Key LastPostDateTime Expected: S Actual: N IndexName: LastPostIndex"; 2],
    );
    both.refuses(
        "D-07.2",
        r#"Query {"TableName":"OrdersBySequence","IndexName":"OrderIndex","KeyConditionExpression":"OrderID = :o",
            "ExpressionAttributeValues":{":o":{"S":"Cliente1-2"}},"ConsistentRead":true}"#,
        "cat OrdersBySequence/gsi/OrderIndex/query/OrderID=Cliente1-2/consistent/items.ndjson",
        ["Consistent reads are not supported on global secondary indexes", "consistent"],
    );
    assert_eq!(
        both.shell("ls GameScores/items/500 Thread/items/EC2 | grep -c -e X -e new || true"),
        "0\n"
    );
}

fn writes(both: &Both) {
    // D-01.9: an item without the index's sort key is not in the index.
    both.api(
        r#"PutItem {"TableName":"GameScores","Item":{"UserId":{"S":"500"},"GameTitle":{"S":"X"}}}"#,
    );
    both.shell("echo '{}' > GameScores/items/500/Y.json");
    for title in ["X", "Y"] {
        let path = format!("GameScores/gsi/GameTitleIndex/query/@pk={title}/count");
        assert_eq!(
            both.shell(&format!(
                "cat GameScores/items/500/{title}.json {path} | jq -c ."
            )),
            format!("{{\"UserId\":\"500\",\"GameTitle\":\"{title}\"}}\n0\n"),
            "D-01.9"
        );
    }
    // D-03: the estimate of the collection's size.
    let answer = both.api(
        r#"UpdateItem {"TableName":"Thread","Key":{"ForumName":{"S":"EC2"},"Subject":{"S":"zzz"}},"UpdateExpression":"SET Replies = :r",
            "ExpressionAttributeValues":{":r":{"N":"1"}},"ReturnItemCollectionMetrics":"SIZE"}"#,
    );
    let metrics = json!({"ItemCollectionKey": {"ForumName": {"S": "EC2"}}, "SizeEstimateRangeGB": [0.0, 1.0]});
    assert_eq!(answer, json!({ "ItemCollectionMetrics": metrics }), "D-03");
    assert_eq!(
        both.shell(
            "jq .Replies Thread/items/EC2/zzz.json Thread/lsi/LastPostIndex/items/EC2/*zzz.json"
        ),
        "1\n1\n",
        "D-03"
    );
    // D-07.3: a put into a table with an index.
    let put = r#"PutItem {"TableName":"OrdersBySequence","Item":{"TransactionID":{"S":"1111114"},"OrderID":{"S":"Cliente2-2"},
        "Order_Date":{"S":"2016"}}}"#;
    assert_eq!(both.units(put), "gsi OrderIndex 1, table 1", "D-07.3");
    assert_eq!(
        both.shell("ls OrdersBySequence/gsi/OrderIndex/items/Cliente2-2"),
        "2016,1111114.json\n",
        "D-07.3"
    );
}
