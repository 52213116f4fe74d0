//! Query paths against the engine: the example data sets, every operator, positions, long keys, large results.
use crate::support::query_paths::{cat, create, directory, ls, open, put, walk};
use ddbfs::codec::json::document::Document;
use ddbfs::codec::{plain_json, wire};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::fs::FsError;
use ddbfs::fs::open::computed::ComputedWindow;
use ddbfs::fs::query::{QueryChild, QueryKind, QueryPath, ResultKind};
use ddbfs::model::api::{QueryRequest, ScanRequest};
use ddbfs::model::{IndexKind, Item, TableName};

fn check(db: &LocalDatabase, path: &str, expected: &str) {
    assert_eq!(cat(db, path), expected, "{path}");
}

enum Request {
    Query(QueryRequest),
    Scan(ScanRequest),
}

/// The path's `request.json`, read as the API reads a body.
fn request(db: &LocalDatabase, path: &QueryPath) -> Request {
    let body = Document::parse(path.render(db, ResultKind::RequestJson).expect("a request"))
        .expect("JSON");
    match path.kind() {
        QueryKind::Query => Request::Query(wire::request(body.root()).expect("a query")),
        QueryKind::Scan => Request::Scan(wire::request(body.root()).expect("a scan")),
        QueryKind::Near => panic!("a search is compared in tests/mount/vectors.rs"),
    }
}

/// The items of the API's answer to the path's own request, page by page, as plain JSON lines.
fn api_items(db: &LocalDatabase, path: &str) -> String {
    let mut out = Vec::new();
    let mut write = |item: &Item, first: &[&str]| plain_json::write_line(item, first, &mut out);
    let path = directory(db, path);
    let schema = path.schema().clone();
    let index = path.index().and_then(|index| schema.index(index.as_str()));
    let mut first: Vec<&str> = index
        .into_iter()
        .flat_map(|index| index.attributes())
        .map(|a| a.name.as_str())
        .collect();
    first.extend(
        schema
            .key
            .attributes()
            .map(|a| a.name.as_str())
            .filter(|name| !first.contains(name))
            .collect::<Vec<_>>(),
    );
    let mut run = |items: Option<Vec<Item>>| {
        items
            .expect("items")
            .iter()
            .for_each(|item| write(item, &first))
    };
    match request(db, &path) {
        Request::Query(mut request) => loop {
            let response = db.query(&request).expect("a page");
            run(response.items);
            request.exclusive_start_key = response.page.last_evaluated_key;
            if request.exclusive_start_key.is_none() || request.limit.is_some() {
                break;
            }
        },
        Request::Scan(mut request) => loop {
            let response = db.scan(&request).expect("a page");
            run(response.items);
            request.exclusive_start_key = response.page.last_evaluated_key;
            if request.exclusive_start_key.is_none() || request.limit.is_some() {
                break;
            }
        },
    }
    String::from_utf8(out).expect("text")
}

fn game_scores(db: &LocalDatabase) {
    use IndexKind::Global;
    create(
        db,
        "GameScores",
        "H UserId:S, R GameTitle:S",
        &[
            (
                Global,
                "GameTitleIndex",
                "H GameTitle:S, R TopScore:N",
                "keys",
            ),
            (
                Global,
                "WinsIndex",
                "H GameTitle:S, R TopScore:N",
                "Wins Losses",
            ),
            (
                Global,
                "DateIndex",
                "H TopScore:N, R TopScoreDateTime:S",
                "keys",
            ),
        ],
    );
    put(
        db,
        "GameScores",
        &[
            r#"{"UserId":"101","GameTitle":"Galaxy Invaders","TopScore":5842,"TopScoreDateTime":"2015-09-15:17:24:31","Wins":21,"Losses":72}"#,
            r#"{"UserId":"101","GameTitle":"Meteor Blasters","TopScore":1000,"TopScoreDateTime":"2015-10-22:23:18:01","Wins":12,"Losses":3}"#,
            r#"{"UserId":"101","GameTitle":"Starship X","TopScore":24,"TopScoreDateTime":"2015-08-31:13:14:21","Wins":4,"Losses":9}"#,
            r#"{"UserId":"102","GameTitle":"Alien Adventure","TopScore":192,"TopScoreDateTime":"2015-07-12:11:07:56","Wins":32,"Losses":192}"#,
            r#"{"UserId":"102","GameTitle":"Galaxy Invaders","TopScore":0,"TopScoreDateTime":"2015-09-18:07:33:42","Wins":0,"Losses":5}"#,
            r#"{"UserId":"103","GameTitle":"Attack Ships","TopScore":3,"TopScoreDateTime":"2015-10-19:01:13:24","Wins":1,"Losses":8}"#,
            r#"{"UserId":"103","GameTitle":"Galaxy Invaders","TopScore":2317,"TopScoreDateTime":"2015-09-11:06:53:00","Wins":40,"Losses":3}"#,
            r#"{"UserId":"103","GameTitle":"Meteor Blasters","TopScore":723,"TopScoreDateTime":"2015-10-19:01:13:24","Wins":22,"Losses":12}"#,
            r#"{"UserId":"103","GameTitle":"Starship X","TopScore":42,"TopScoreDateTime":"2015-07-11:06:53:03","Wins":4,"Losses":19}"#,
            r#"{"UserId":"123","GameTitle":"Comet Quest","TopScore":0}"#,
            r#"{"UserId":"201","GameTitle":"Comet Quest","TopScore":0}"#,
            r#"{"UserId":"301","GameTitle":"Comet Quest","TopScore":0}"#,
            r#"{"UserId":"400","GameTitle":"Comet Quest"}"#,
        ],
    );
}

#[test]
fn page_json_is_a_page_and_its_next_goes_on() {
    let db = open();
    game_scores(&db);
    let base = "GameScores/gsi/GameTitleIndex/query/@pk=Meteor Blasters/desc";
    let page = cat(&db, &format!("{base}/limit=1/page.json"));
    let value: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    assert_eq!(
        value["Items"],
        serde_json::json!([{"GameTitle": "Meteor Blasters", "TopScore": 1000, "UserId": "101"}])
    );
    assert_eq!(
        (&value["Count"], &value["ScannedCount"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        value["ConsumedCapacity"]["GlobalSecondaryIndexes"]["GameTitleIndex"]["CapacityUnits"],
        0.5
    );
    assert!(page.ends_with("}\n") && page.lines().count() == 1);
    let next = value["next"].as_str().expect("a token");
    let rest = "{\"GameTitle\":\"Meteor Blasters\",\"TopScore\":723,\"UserId\":\"103\"}";
    check(
        &db,
        &format!("{base}/after={next}/items.ndjson"),
        &format!("{rest}\n"),
    );
    let last = cat(&db, &format!("{base}/after={next}/limit=5/page.json"));
    assert!(
        last.contains(rest) && last.contains("\"next\":null"),
        "{last}"
    );
    check(
        &db,
        &format!(
            "GameScores/gsi/GameTitleIndex/query/@pk=Galaxy Invaders/desc/after={next}/items.ndjson"
        ),
        "error: this position token belongs to another query",
    );
    check(
        &db,
        "GameScores/query/@pk=999/page.json",
        "{\"Items\":[],\"Count\":0,\"ScannedCount\":0,\"next\":null,\"ConsumedCapacity\":{\"TableName\":\"GameScores\",\"CapacityUnits\":0.5,\"Table\":{\"CapacityUnits\":0.5}}}\n",
    );
    let typed = cat(
        &db,
        "GameScores/query/UserId=102/GameTitle.begins=Al/select=Wins/typed/page.json",
    );
    assert!(
        typed.starts_with("{\"Items\":[{\"Wins\":{\"N\":\"32\"}}],"),
        "{typed}"
    );
}

/// A table whose sort key, LSI sort key and GSI key are of one type, with values in no order and duplicates in the indexes.
fn typed_table(db: &LocalDatabase, name: &str, letter: char, values: &[&str]) {
    create(
        db,
        name,
        &format!("H pk:S, R sk:{letter}"),
        &[
            (
                IndexKind::Local,
                "LsiIndex",
                &format!("H pk:S, R alt:{letter}"),
                "keys",
            ),
            (
                IndexKind::Global,
                "GsiIndex",
                &format!("H group:{letter}, R alt:{letter}"),
                "all",
            ),
        ],
    );
    for pk in ["a", "b"] {
        for (position, value) in values.iter().enumerate() {
            let alt = values[(position * 7 + 3) % values.len()];
            let group = values[position % 2];
            put(
                db,
                name,
                &[&format!(
                    r#"{{"pk":"{pk}","sk":{value},"alt":{alt},"group":{group},"x":"{position}"}}"#
                )],
            );
        }
    }
}

#[test]
fn every_operator_type_direction_and_source_equals_the_api() {
    let db = open();
    let strings = [
        r#""a""#, r#""ab""#, r#""b c""#, r#""Z""#, r#""é""#, r#""a,b""#, r#""a%""#, r#""10""#,
    ];
    let numbers = [
        "10",
        "9",
        "-1",
        "0",
        "1.5",
        "-1000",
        "12345678901234567890123456789",
        "0.001",
    ];
    let binaries = [
        "YQ==", "AA==", "/w==", "AAE=", "YWI=", "gA==", "YSw=", "Yg==",
    ]
    .map(|b| format!(r#"{{"$b64":"{b}"}}"#));
    let binaries = binaries.each_ref().map(String::as_str);
    typed_table(&db, "Strings", 'S', &strings);
    typed_table(&db, "Numbers", 'N', &numbers);
    typed_table(&db, "Binaries", 'B', &binaries);
    let mut checked = 0;
    let mut found = 0;
    for (table, low, high, group) in [
        ("Strings", "a", "a%25", "a"),
        ("Numbers", "-1", "1.5", "10"),
        ("Binaries", "%00", "a,", "a"),
    ] {
        for source in [
            format!("{table}/query/@pk=a"),
            format!("{table}/lsi/LsiIndex/query/pk=a"),
            format!("{table}/gsi/GsiIndex/query/group={group}"),
        ] {
            let operators = [
                "",
                "/@sk",
                "/@sk.lt",
                "/@sk.le",
                "/@sk.gt",
                "/@sk.ge",
                "/@sk.between",
                "/@sk.begins",
            ];
            for operator in operators
                .into_iter()
                .filter(|operator| table != "Numbers" || *operator != "/@sk.begins")
            {
                let condition = match operator {
                    "" => String::new(),
                    "/@sk.between" => format!("{operator}={low},{}", high.replace(',', "%2C")),
                    _ => format!("{operator}={low}"),
                };
                for rest in ["", "/desc", "/limit=2", "/desc/limit=3/select=x,alt,pk"] {
                    let path = format!("{source}{condition}{rest}");
                    let expected = api_items(&db, &path);
                    check(&db, &format!("{path}/items.ndjson"), &expected);
                    check(
                        &db,
                        &format!("{path}/count"),
                        &format!("{}\n", expected.lines().count()),
                    );
                    assert_eq!(
                        cat(&db, &format!("{path}/keys")).lines().count(),
                        expected.lines().count(),
                        "{path}"
                    );
                    assert_eq!(ls(&db, &path, 3).len(), expected.lines().count(), "{path}");
                    checked += 1;
                    found += expected.lines().count();
                }
            }
        }
        for scan in [
            "scan",
            "gsi/GsiIndex/scan",
            "lsi/LsiIndex/scan/limit=3",
            "scan/segment=0,2",
            "scan/segment=1,2",
        ] {
            let path = format!("{table}/{scan}");
            check(&db, &format!("{path}/items.ndjson"), &api_items(&db, &path));
        }
    }
    assert_eq!(checked, 3 * 3 * 8 * 4 - 3 * 4);
    assert!(found > checked, "the queries find something: {found}");
}

/// 3,000 items of 1 KB in one collection: three pages.
fn large(db: &LocalDatabase) {
    create(
        db,
        "Large",
        "H pk:S, R sk:N",
        &[(IndexKind::Global, "ByGroup", "H g:S, R h:S", "all")],
    );
    let filler = "x".repeat(1000);
    for sk in 0..3000 {
        put(
            db,
            "Large",
            &[&format!(
                r#"{{"pk":"p","sk":{sk},"g":"one","h":"same","filler":"{filler}"}}"#
            )],
        );
    }
}

#[test]
fn results_run_over_pages_and_are_read_in_pieces() {
    let db = open();
    large(&db);
    check(&db, "Large/query/@pk=p/count", "3000\n");
    check(&db, "Large/query/@pk=p/limit=2999/count", "2999\n");
    check(
        &db,
        "Large/query/@pk=p/eval=2999/limit=2998/count",
        "2998\n",
    );
    check(
        &db,
        "Large/gsi/ByGroup/query/@pk=one/@sk=same/count",
        "3000\n",
    );
    let page: serde_json::Value =
        serde_json::from_str(&cat(&db, "Large/query/@pk=p/page.json")).expect("JSON");
    let count = page["Count"].as_u64().expect("a count");
    assert!((900..1100).contains(&count), "{count}");
    let next = page["next"].as_str().expect("a token");
    check(
        &db,
        &format!("Large/query/@pk=p/after={next}/count"),
        &format!("{}\n", 3000 - count),
    );

    let whole = cat(&db, "Large/query/@pk=p/items.json");
    let Ok(QueryChild::Result(path, kind)) = walk(&db, "Large/query/@pk=p/items.json") else {
        panic!("no file")
    };
    let db = std::sync::Arc::new(db);
    let tree = ddbfs::fs::mount::Mount::new(db, ddbfs::fs::view::ViewOptions::default());
    let mut window = ComputedWindow::new(Box::new(path.open(kind)));
    let mut read = |offset: usize, size: usize| {
        window
            .read(&tree, offset as u64, size, &|| true)
            .expect("bytes")
    };
    let mut at = 0;
    loop {
        let piece = read(at, 131_072);
        assert_eq!(piece, whole.as_bytes()[at..at + piece.len()], "at {at}");
        at += piece.len();
        if piece.is_empty() {
            break;
        }
    }
    assert_eq!(at, whole.len());
    assert_eq!(read(at, 10), b"");
    assert_eq!(read(usize::MAX / 2, 10), b"");
    assert_eq!(
        read(whole.len() - 1_000_000, 7),
        whole.as_bytes()[whole.len() - 1_000_000..][..7],
        "a little back"
    );
    assert!(window.start() > 10, "what was read long ago is forgotten");
    let mut again = ComputedWindow::new(Box::new(path.open(kind)));
    assert_eq!(
        again.read(&tree, 2_000_000, 7, &|| true).expect("bytes"),
        whole.as_bytes()[2_000_000..2_000_007]
    );
}

#[test]
fn listings_go_on_from_any_position() {
    let db = open();
    large(&db);
    let names = ls(&db, "Large/query/@pk=p/desc", 701);
    assert_eq!(names.len(), 3000);
    assert_eq!(names[0], "000001,2999.json");
    assert_eq!(names[2999], "003000,0.json");
    assert_eq!(
        ls(&db, "Large/gsi/ByGroup/query/@pk=one/@sk=same", 999).len(),
        3000
    );
    assert_eq!(ls(&db, "Large/query/@pk=p/limit=600", 100).len(), 600);
    let scanned = ls(&db, "Large/scan", 1000);
    assert_eq!(
        (scanned.len(), scanned[1234].as_str()),
        (3000, "001235,p,1234.json")
    );
    assert!(ls(&db, "Large/query/desc", 10).is_empty());
}

/// Every base item's and index entry's link resolves to what is listed below `items/`, by `resolve` as a filesystem would.
#[test]
fn long_keys_are_shortened_and_found_again() {
    let db = open();
    create(
        &db,
        "Long",
        "H pk:S, R sk:S",
        &[(IndexKind::Global, "ByOther", "H other:S, R sk:S", "keys")],
    );
    for suffix in ["1", "2", "3", "4"] {
        let (pk, sk, other) = (
            "p/".repeat(1000),
            format!("{}{suffix}", "s#".repeat(500)),
            "o".repeat(2000),
        );
        put(
            &db,
            "Long",
            &[&format!(r#"{{"pk":"{pk}","sk":"{sk}","other":"{other}"}}"#)],
        );
    }
    let keys = cat(&db, "Long/scan/keys");
    let folder = keys.split('/').nth(1).expect("a folder").to_owned();
    assert!(folder.contains("%~"), "{folder}");
    let by_alias = format!("Long/query/@pk={folder}");
    check(&db, &format!("{by_alias}/keys"), &keys);
    check(&db, &format!("{by_alias}/count"), "4\n");
    for path in [by_alias.as_str(), "Long/scan", "Long/gsi/ByOther/scan"] {
        let names = ls(&db, path, 3);
        assert_eq!(names.len(), 4);
        for name in names {
            assert!(name.len() <= 255, "{}: {name}", name.len());
            assert!(
                matches!(
                    directory(&db, path).child(name.as_bytes()),
                    Ok(QueryChild::Link { .. })
                ),
                "{name}"
            );
        }
        let mut seen = String::new();
        let mut after = String::new();
        for _ in 0..4 {
            let page: serde_json::Value =
                serde_json::from_str(&cat(&db, &format!("{path}{after}/limit=1/page.json")))
                    .expect("JSON");
            seen.push_str(
                page["Items"][0]["sk"]
                    .as_str()
                    .expect("a key")
                    .trim_start_matches("s#"),
            );
            let token = page["next"].as_str().expect("a token");
            after = format!("/after={token}");
            assert!(after.len() <= 256, "{after}");
        }
        assert_eq!(seen, "1234", "{path}");
    }
    let missing = format!("q%~{}", "a".repeat(26));
    check(&db, &format!("Long/query/@pk={missing}/count"), "0\n");
    assert!(ls(&db, &format!("Long/query/@pk={missing}"), 5).is_empty());
    check(
        &db,
        &format!("Long/query/@pk={missing}/request.json"),
        "error: no such file or directory",
    );
}

#[test]
fn a_shortened_token_is_stale_when_its_entry_is_gone() {
    let db = open();
    create(&db, "Long", "H pk:S, R sk:S", &[]);
    let long = "s".repeat(900);
    put(
        &db,
        "Long",
        &[
            &format!(r#"{{"pk":"p","sk":"{long}1"}}"#),
            &format!(r#"{{"pk":"p","sk":"{long}2"}}"#),
        ],
    );
    let page: serde_json::Value =
        serde_json::from_str(&cat(&db, "Long/query/@pk=p/limit=1/page.json")).expect("JSON");
    let path = format!(
        "Long/query/@pk=p/after={}",
        page["next"].as_str().expect("a token")
    );
    check(&db, &format!("{path}/count"), "1\n");
    let key =
        plain_json::parse(format!(r#"{{"pk":"p","sk":"{long}1"}}"#).as_bytes()).expect("a key");
    let table = TableName::new("Long").expect("a name");
    db.delete_item(ddbfs::model::api::DeleteItemRequest::new(table, key))
        .expect("deleted");
    let Ok(QueryChild::Result(path, kind)) = walk(&db, &format!("{path}/count")) else {
        panic!("no file")
    };
    assert!(matches!(path.render(&db, kind), Err(FsError::TokenExpired)));
}

#[test]
fn request_json_gives_the_same_answer() {
    let db = open();
    game_scores(&db);
    let path = directory(
        &db,
        "GameScores/gsi/GameTitleIndex/query/@pk=Galaxy Invaders/TopScore.ge=1/desc/limit=2",
    );
    let Request::Query(request) = request(&db, &path) else {
        panic!("no query")
    };
    let items = db.query(&request).expect("a page").items.expect("items");
    assert_eq!(items.len(), 2);
    let text = cat(
        &db,
        "GameScores/gsi/GameTitleIndex/query/@pk=Galaxy Invaders/TopScore.ge=1/desc/limit=2/request.json",
    );
    let parsed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        parsed["KeyConditionExpression"],
        request.key_condition_expression.expect("a condition")
    );
    assert_eq!(parsed["Limit"], 2);
    assert_eq!(parsed["ScanIndexForward"], false);
}

#[test]
fn reading_help_asks_nothing() {
    let db = open();
    create(&db, "Pets", "H AnimalType:S, R Name:S", &[]);
    let text = cat(&db, "Pets/query/help");
    assert!(
        text.contains("AnimalType=<string>") && text.contains("Name.begins=<prefix>"),
        "{text}"
    );
    let Ok(QueryChild::Result(path, ResultKind::Help)) = walk(&db, "Pets/scan/help") else {
        panic!("no help")
    };
    assert!(
        String::from_utf8(path.render(&db, ResultKind::Help).expect("help"))
            .expect("text")
            .contains("segment=<i>,<n>")
    );
}

/// What goes without saying is not said.
#[test]
fn requests_are_plain() {
    let db = open();
    game_scores(&db);
    let table = TableName::new("GameScores").expect("a name");
    let Request::Scan(scan) = request(&db, &directory(&db, "GameScores/scan")) else {
        panic!("no scan")
    };
    assert_eq!(scan, ScanRequest::new(table.clone()));
    let Request::Query(query) = request(&db, &directory(&db, "GameScores/query/@pk=1")) else {
        panic!("no query")
    };
    assert_eq!(
        query,
        QueryRequest::new(table, "#pk = :pk", query.placeholders.clone())
    );
}
