//! A table with a vector index, elsewhere: searched by paths, pulled and pushed.

use serde_json::json;

use crate::copies::Bed;
use crate::mount::mount;
use crate::transport::{PATIENT, ok, service};

#[test]
fn a_table_with_a_vector_index_is_searched_pulled_and_pushed() {
    let bed = Bed::new(0);
    let aws = service(&bed.url(), PATIENT);
    let index = json!({
        "IndexName": "near-all", "VectorAttribute": { "AttributeName": "v" }, "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN", "Projection": { "ProjectionType": "ALL" },
        "SearchSchema": [{ "AttributeName": "lang", "SearchSchemaElementType": "INLINE_FILTER" }],
    });
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Notes", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            "AttributeDefinitions": [
                { "AttributeName": "pk", "AttributeType": "S" },
                { "AttributeName": "lang", "AttributeType": "S" },
            ],
            "VectorIndexes": [index],
        }),
    );
    for (key, lang, y) in [("a", "en", "1"), ("b", "de", "2"), ("c", "en", "4")] {
        let vector = json!({ "L": [{ "N": "0" }, { "N": y }] });
        let item = json!({ "pk": { "S": key }, "lang": { "S": lang }, "v": vector });
        ok(
            &aws,
            "PutItem",
            &json!({ "TableName": "Notes", "Item": item }),
        );
    }
    const SEARCHES: &str =
        "cd Notes/vector/near-all/near; cat a/keys @vector=0,4/lang=en/top=1/items.ndjson";
    let expected = "items/b.json\nitems/c.json\n{\"@score\":0,\"lang\":\"en\",\"pk\":\"c\"}\n";
    let mut mounted = mount(&bed.proxy, &[]);
    assert_eq!(mounted.ok(SEARCHES), expected);
    mounted.unmount();

    let url = bed.url();
    let (code, out, err) = bed.run(&["pull", "Notes", "--from-endpoint", &url, "--yes"]);
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = bed.run(&[
        "push",
        "Notes",
        "--to-table",
        "Back",
        "--create",
        "--to-endpoint",
        &url,
    ]);
    assert_eq!(code, 0, "{out}{err}");
    let described = |name: &str| {
        let table = ok(&aws, "DescribeTable", &json!({ "TableName": name }))["Table"].take();
        let mut index = table["VectorIndexes"][0].clone();
        assert_eq!(index["ItemCount"], 3, "{index}");
        index.as_object_mut().unwrap().remove("IndexArn");
        index
    };
    assert_eq!(described("Back"), described("Notes"));
    let search = json!({ "TableName": "Back", "IndexName": "near-all", "SearchVector": [{ "N": "0" }, { "N": "4" }], "TopK": 1 });
    let found = ok(&aws, "SearchVectors", &search);
    assert_eq!(found["SearchResults"][0]["Item"]["pk"]["S"], "c", "{found}");
    assert_eq!(bed.run(&["check"]).0, 0);
}
