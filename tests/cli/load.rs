//! `ddbfs load`: each form as the tools of the service write it, and files that are none of these.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use md5::{Digest, Md5};
use serde_json::{Value, json};

use crate::commands::{ddbfs, sampled};

const TYPED: [&str; 2] = [
    r#"{"AnimalType":{"S":"Zebra"},"Name":{"S":"$(touch x) `y`"},"age":{"N":"3.50"},"b":{"B":"AQI="},"set":{"SS":["a","b"]}}"#,
    r#"{"AnimalType":{"S":"Zebra"},"Name":{"S":"a \"q\" é\n"},"Items":{"L":[{"M":{"S":{"S":"x"}}},{"NULL":true}]}}"#,
];
const PLAIN: [&str; 2] = [
    r#"{"AnimalType":"Zebra","Name":"$(touch x) `y`","age":3.5,"b":{"$b64":"AQI="},"set":{"$ss":["a","b"]}}"#,
    r#"{"AnimalType":"Zebra","Name":"a \"q\" é\n","Items":[{"S":"x"},null]}"#,
];

fn typed() -> [Value; 2] {
    TYPED.map(|item| serde_json::from_str(item).unwrap())
}

/// Indents as `aws` does.
fn pretty(json: &Value) -> String {
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut out, format);
    serde::Serialize::serialize(json, &mut writer).unwrap();
    String::from_utf8(out).unwrap() + "\n"
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A data directory with the sample tables, and a directory for files.
struct Loads {
    data: tempfile::TempDir,
    files: tempfile::TempDir,
}

impl Loads {
    fn new() -> Self {
        Self {
            data: sampled(),
            files: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.files.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn load(&self, table: &str, path: &Path) -> (i32, String, String) {
        ddbfs(
            self.data.path(),
            &["load", table, path.to_str().unwrap()],
            "",
        )
    }

    /// Loads a file's bytes; returns the exit code, and the lines of both outputs without the
    /// directory.
    fn load_bytes(&self, table: &str, name: &str, bytes: impl AsRef<[u8]>) -> (i32, String) {
        let path = self.file(name, bytes);
        let (code, out, err) = self.load(table, &path);
        let directory = format!("{}/", self.files.path().display());
        (code, format!("{err}{out}").replace(&directory, ""))
    }

    fn dump(&self, table: &str) -> Vec<String> {
        let (_, out, _) = ddbfs(self.data.path(), &["dump", table], "");
        out.lines().map(str::to_owned).collect()
    }

    fn zebras(&self) -> Vec<String> {
        let mut found = self.dump("Pets");
        found.retain(|line| line.contains("Zebra"));
        found
    }
}

/// The request to delete both items.
fn deletes() -> Value {
    let key = |item: &Value| json!({ "DeleteRequest": { "Key": { "AnimalType": item["AnimalType"], "Name": item["Name"] } } });
    json!({ "Pets": typed().iter().map(key).collect::<Value>() })
}

#[test]
fn every_form_makes_the_same_items() {
    let [one, two] = typed();
    let plain = PLAIN.map(|item| serde_json::from_str::<Value>(item).unwrap());
    let put = |item: &Value| json!({ "PutRequest": { "Item": item } });
    let both = json!([one, two]);
    let scan = json!({ "Items": both, "Count": 2, "ScannedCount": 2, "ConsumedCapacity": null });
    let paged = json!({ "ConsumedCapacity": { "TableName": "Pets" }, "Items": [one], "LastEvaluatedKey": { "Name": { "S": "x" } } });
    let batch_get = json!({ "Responses": { "Pets": both, "Orders": [{ "x": { "S": "}" } }] }, "UnprocessedKeys": {} });
    let change = |item: &Value| json!({ "Metadata": { "WriteTimestampMicros": { "N": "1" } }, "Keys": { "Name": item["Name"] }, "NewImage": item, "OldImage": {} });
    let transact = json!({ "TransactItems": [
        { "Put": { "TableName": "Pets", "Item": one } }, { "Put": { "TableName": "arn:aws:dynamodb:us-east-1:123456789012:table/Pets", "Item": two } },
    ] });
    let lines = |items: &[String]| items.join("\n") + "\n";
    let compact = |items: [&Value; 2]| lines(&items.map(Value::to_string));
    let forms: Vec<(&str, String)> = vec![
        ("plain lines", lines(&PLAIN.map(str::to_owned))),
        ("typed lines", lines(&TYPED.map(str::to_owned))),
        ("lines that end in CR LF", PLAIN.join("\r\n") + "\r\n"),
        (
            "lines after a byte order mark",
            format!("\u{FEFF}{}\n\n{}", PLAIN[0], PLAIN[1]),
        ),
        (
            "plain and typed lines",
            format!("{}\n{}", PLAIN[0], TYPED[1]),
        ),
        ("items on one line", PLAIN.concat()),
        (
            "jq .",
            plain.iter().map(|item| format!("{item:#}\n")).collect(),
        ),
        ("scan", pretty(&scan)),
        ("scan on one line", scan.to_string()),
        (
            "two pages",
            pretty(&paged) + &pretty(&json!({ "Items": [two], "Count": 1 })),
        ),
        (
            "pages in a list",
            pretty(&json!([paged, { "Items": [two] }])),
        ),
        ("plain scan", pretty(&json!({ "Items": plain }))),
        ("scan --query Items", pretty(&both)),
        ("plain list", pretty(&json!(plain))),
        (
            "list by lines",
            format!("[\n{},\n{}\n]", PLAIN[0], PLAIN[1]),
        ),
        (
            "get-item",
            pretty(&json!({ "Item": one })) + &pretty(&json!({ "Item": two })),
        ),
        ("batch-get-item", pretty(&batch_get)),
        (
            "transact-get-items",
            pretty(&json!({ "Responses": [{ "Item": one }, {}, { "Item": two }] })),
        ),
        (
            "export",
            compact([&json!({ "Item": one }), &json!({ "Item": two })]),
        ),
        (
            "incremental export",
            compact([&change(&one), &change(&two)]),
        ),
        (
            "batch-write-item",
            pretty(&json!({ "Pets": [put(&one), put(&two)] })),
        ),
        (
            "batch-write-item --cli-input-json",
            pretty(&json!({ "RequestItems": { "Pets": [put(&one), put(&two)] } })),
        ),
        (
            "what batch-write-item returns",
            pretty(&json!({ "UnprocessedItems": { "Pets": [put(&one), put(&two)] } })),
        ),
        (
            "put-item --cli-input-json",
            pretty(&json!({ "TableName": "Pets", "Item": one }))
                + &pretty(&json!({ "Item": two, "TableName": "Pets" })),
        ),
        ("transact-write-items", pretty(&transact)),
    ];
    let loads = Loads::new();
    let mut expected = PLAIN.map(str::to_owned).to_vec();
    expected.sort();
    for (form, text) in forms {
        for (packing, bytes) in [
            ("", text.clone().into_bytes()),
            ("gzip", gzip(text.as_bytes())),
        ] {
            let (code, said) = loads.load_bytes("Pets", "$(touch x)", &bytes);
            let said = said.lines().last().unwrap_or_default().to_owned();
            assert_eq!(
                (code, said.as_str()),
                (0, "2 items loaded, 0 bad lines"),
                "{form} {packing}"
            );
            let mut found = loads.zebras();
            found.sort();
            assert_eq!(found, expected, "{form} {packing}");
            let (code, said) = loads.load_bytes("Pets", "deletes", pretty(&deletes()));
            assert_eq!(
                (code, said.as_str()),
                (0, "0 items loaded, 2 deleted, 0 bad lines\n"),
                "{form} {packing}"
            );
            assert!(loads.zebras().is_empty());
        }
    }
}

#[test]
fn a_key_decides_what_is_an_item_and_what_wraps_one() {
    let loads = Loads::new();
    let text = r#"{"Id":1001,"Items":[{"PutRequest":{}}],"Item":{"Id":{"N":"7"}},"Title":"an order"}
{"Item":{"Id":{"N":"1002"},"Item":{"M":{"Id":{"N":"7"}}}}}
{"Metadata":{},"Keys":{"Id":{"N":"101"}},"OldImage":{"Id":{"N":"101"}}}
"#;
    assert_eq!(
        loads.load_bytes("ProductCatalog", "x", text),
        (0, "2 items loaded, 1 deleted, 0 bad lines\n".to_owned())
    );
    let found = loads.dump("ProductCatalog").join("\n");
    assert!(
        found.contains(
            r#"{"Id":1001,"Item":{"Id":{"N":"7"}},"Items":[{"PutRequest":{}}],"Title":"an order"}"#
        ),
        "{found}"
    );
    assert!(found.contains(r#"{"Id":1002,"Item":{"Id":7}}"#), "{found}");
    assert!(!found.contains(r#"{"Id":101,"#), "{found}");
}

#[test]
fn csv_has_key_attributes_of_their_types_and_strings() {
    let loads = Loads::new();
    let rows = "\u{FEFF}Title;Id;Note\r\n\"a; \"\"b\"\"\nc\";1001;12\r\nnone;1002;\r\n";
    assert_eq!(
        loads.load_bytes("ProductCatalog", "a.json", rows),
        (0, "2 items loaded, 0 bad lines\n".to_owned())
    );
    let found = loads.dump("ProductCatalog").join("\n");
    for line in [
        r#"{"Id":1001,"Note":"12","Title":"a; \"b\"\nc"}"#,
        r#"{"Id":1002,"Title":"none"}"#,
    ] {
        assert!(found.contains(line), "{found}");
    }
    let bad = "Id,Title\n1,\"two\nlines\"\n2\nx,y\n3,c\n";
    let (code, said) = loads.load_bytes("ProductCatalog", "b", bad);
    assert_eq!(
        (code, said.as_str()),
        (
            1,
            "b:4: The row has 1 column, the header 2\nb:5: Column Id: \"x\" is no number\n2 items loaded, 2 bad lines\n"
        )
    );
    // A mount's `typed/items.csv`.
    let typed = "Id,Stock\n\"{\"\"N\"\":\"\"1003\"\"}\",\"{\"\"NS\"\":[\"\"1\"\"]}\"\n";
    assert_eq!(loads.load_bytes("ProductCatalog", "c", typed).0, 0);
    assert!(
        loads
            .dump("ProductCatalog")
            .contains(&r#"{"Id":1003,"Stock":{"$ns":[1]}}"#.to_owned())
    );
}

#[test]
fn bad_entries_are_counted_and_ten_are_shown() {
    let loads = Loads::new();
    let lines = "{\"AnimalType\":\"Zebra\",\"Name\":\"cut\n{\"AnimalType\":\"Zebra\",\"Name\":\"a\"}\nwords\n  and more\n\
                 {\"AnimalType\":\"Zebra\",\"Name\":\"b\",\"Name\":\"c\"}\n{\"x\":1}\n\
                 {\"AnimalType\":\"Zebra\",\"Name\":\"d\"} {\"AnimalType\":\"Zebra\"\n";
    let (code, said) = loads.load_bytes("Pets", "x", lines);
    let lacking =
        "One or more parameter values were invalid: Missing the key AnimalType in the item";
    let mut found: Vec<&str> = said.lines().collect();
    found.sort_unstable();
    assert_eq!(code, 1);
    assert_eq!(
        found,
        [
            "2 items loaded, 5 bad lines",
            "x:1: The text ends within a JSON value",
            "x:3: expected a JSON object",
            "x:5: the member \"Name\" is there twice at byte 33",
            &format!("x:6: {lacking}"),
            "x:7: The text ends within a JSON value",
        ]
    );
    let (_, said) = loads.load_bytes("Pets", "x", "{}\n".repeat(300));
    assert_eq!(
        said.lines().filter(|line| line.contains(lacking)).count(),
        10
    );
    assert!(
        said.contains("more bad lines follow; they are counted only"),
        "{said}"
    );
    assert!(said.ends_with("0 items loaded, 300 bad lines\n"), "{said}");

    let long = format!(
        "[{{\"AnimalType\":\"Zebra\",\"Name\":\"a\"}},\n{{\"AnimalType\":\"Zebra\",\"Name\":\"{}\"}},\n{{\"AnimalType\":\"Zebra\",\"Name\":\"l\",\"x\":\"{}\"}}, 7,\n{{\"AnimalType\":\"Zebra\",\"Name\":\"z\"}}]",
        "x".repeat(5 << 20),
        "x".repeat(400 << 10)
    );
    let (code, said) = loads.load_bytes("Pets", "x", gzip(long.as_bytes()));
    assert_eq!(code, 1);
    for line in [
        "x:2 (element 2): The text is longer than 4 MiB; an item has at most 400 KB",
        "x:3 (element 3): Item size has exceeded the maximum allowed size",
        "x:3 (element 4): expected a JSON object",
        "2 items loaded, 3 bad lines",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn what_is_cut_or_damaged_is_told_and_the_rest_is_loaded() {
    let loads = Loads::new();
    let lines: String = (0..20_000)
        .map(|number| format!("{{\"AnimalType\":\"Zebra\",\"Name\":\"{number}\"}}\n"))
        .collect();
    let whole = gzip(lines.as_bytes());
    loads.file("d/1.json", format!("[{},{}", PLAIN[0], PLAIN[1]));
    loads.file("d/2.json", format!("[{} {}]", PLAIN[0], PLAIN[1]));
    loads.file("d/3.json.gz", &whole[..whole.len() / 2]);
    loads.file("d/4.json.gz", gzip(PLAIN[0].as_bytes()));
    loads.file("d/5.json", "");
    loads.file("d/README.md", "# Hello\nto you\n");
    loads.file("d/.hidden", "no");
    let (code, out, err) = loads.load("Pets", &loads.files.path().join("d"));
    assert_eq!(code, 1);
    let directory = format!("{}/d/", loads.files.path().display());
    let said = err.replace(&directory, "");
    for line in [
        "README.md looks like neither JSON nor CSV: `ddbfs load --help` lists the forms that can be loaded\n",
        "1.json:1: the file ends within a list or an object; the rest of the file is not loaded\n",
        "2.json:1: expected a comma or the end of the list or object; the rest of the file is not loaded\n",
        ": the compressed file is cut short; the rest of the file is not loaded\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(
        out.ends_with("0 bad lines, 4 files not loaded or not to their end\n"),
        "{out}"
    );
    assert!(loads.zebras().len() > 1_000);
}

#[test]
fn what_has_no_items_is_named_with_the_command_for_it() {
    let loads = Loads::new();
    let name = "a $(touch x)'s";
    let word = |command: &str| {
        let path = loads.files.path().join(name).display().to_string();
        format!("`{command} '{}'", path.replace('\'', r"'\''"))
    };
    let define = word("ddbfs import") + "` makes its tables";
    let convert = |command: &str| word(command) + " | ddbfs load Pets` loads its text";
    let definition = "a definition of tables";
    let table = json!({ "TableName": "Pets", "KeySchema": [], "AttributeDefinitions": [] });
    let utf16: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain("{\"a\":1}".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let cases: Vec<(&str, Vec<u8>, String)> = vec![
        (definition, pretty(&table).into(), define.clone()),
        (
            definition,
            pretty(&json!({ "Table": table })).into(),
            define.clone(),
        ),
        (
            definition,
            pretty(&json!({ "AWSTemplateFormatVersion": "2010-09-09", "Resources": {} })).into(),
            define.clone(),
        ),
        (
            definition,
            b"# Mine\nResources:\n  T:\n    Type: AWS::DynamoDB::Table\n".into(),
            define.clone(),
        ),
        (
            definition,
            pretty(&json!({ "ModelName": "M", "ModelMetadata": {}, "DataModel": [] })).into(),
            define.clone(),
        ),
        (
            definition,
            b"resource \"aws_dynamodb_table\" \"t\" {\n}\n".into(),
            define.clone(),
        ),
        (
            "a Parquet file",
            b"PAR1\x15\x04".into(),
            "duckdb".to_owned(),
        ),
        (
            "an Ion file",
            b"$ion_1_0 {Item:{}}".into(),
            "DYNAMODB_JSON".to_owned(),
        ),
        ("text in UTF-16", utf16, convert("iconv -f UTF-16 -t UTF-8")),
        ("a bzip2 file", b"BZh91AY".into(), convert("bzip2 -dc")),
        ("gzip within gzip", gzip(&gzip(b"{}")), convert("zcat")),
        (
            "neither JSON nor CSV",
            b"\x89PNG\r\n\x1a\n".into(),
            "`ddbfs load --help`".to_owned(),
        ),
        (
            "an XML or HTML document",
            b"<!DOCTYPE html>".into(),
            "it has no items".to_owned(),
        ),
        (
            "neither JSON nor CSV",
            b"\0\0\0\0".into(),
            "`ddbfs load --help`".to_owned(),
        ),
        (
            "CSV without a column for each key attribute (AnimalType, Name); its columns are AnimalType, x",
            b"AnimalType,x\n1,2\n".into(),
            "its first line".to_owned(),
        ),
        (
            "CSV with two columns \"Name\"",
            b"AnimalType,Name,x,Name\n1,2,3,4\n".into(),
            "rename one".to_owned(),
        ),
    ];
    let before = loads.dump("Pets");
    for (what, bytes, remedy) in cases {
        for bytes in [bytes.clone(), gzip(&bytes)] {
            let (code, out, err) = loads.load("Pets", &loads.file(name, &bytes));
            assert_eq!((code, out.as_str()), (1, ""), "{what}: {err}");
            assert!(err.contains(&format!(" looks like {what}: ")), "{err}");
            assert!(err.contains(&remedy), "{err} {remedy}");
            assert_eq!(err.lines().count(), 1, "{err}");
        }
    }
    let good = loads.file("good", PLAIN[0]);
    let missing = loads.files.path().join("missing");
    let paths = [&good, &missing].map(|path| path.to_str().unwrap());
    assert_eq!(
        ddbfs(loads.data.path(), &["load", "Pets", paths[0], paths[1]], "").0,
        1
    );
    assert_eq!(
        loads.dump("Pets"),
        before,
        "nothing is put when a file is wrong"
    );
}

#[test]
fn requests_for_other_tables_are_left_out_and_told() {
    let loads = Loads::new();
    let [one, two] = typed();
    let put = |item: &Value| json!({ "PutRequest": { "Item": item } });
    let both = json!({ "Other": [put(&two)], "Pets": [put(&one)] });
    let (code, said) = loads.load_bytes("Pets", "x", pretty(&both));
    let told = "x: requests or items of the table \"Other\" are left out; `ddbfs load Other ";
    assert_eq!(code, 0);
    assert!(said.starts_with(told), "{said}");
    assert!(said.ends_with("\n1 item loaded, 0 bad lines\n"), "{said}");
    for text in [
        pretty(&json!({ "Other": [put(&two)] })),
        pretty(
            &json!({ "TransactItems": [{ "Delete": { "TableName": "Other", "Key": {} } }, { "Put": { "TableName": "Other", "Item": two } }] }),
        ),
    ] {
        let (code, said) = loads.load_bytes("Pets", "x", text);
        assert_eq!(code, 1, "{said}");
        assert_eq!(said.matches(told).count(), 1, "{said}");
        assert!(
            said.ends_with("\n0 items loaded, 0 bad lines, 1 file not loaded or not to its end\n"),
            "{said}"
        );
    }
    assert_eq!(loads.zebras(), [PLAIN[0]]);
}

/// Writes a full export as the service does; returns its directory.
fn export(loads: &Loads, id: &str, files: &[&[u8]]) -> PathBuf {
    let key = format!("prefix/AWSDynamoDB/{id}");
    let checksum = |bytes: &[u8]| STANDARD.encode(Md5::digest(bytes));
    let mut manifest = String::new();
    for (number, text) in files.iter().enumerate() {
        let bytes = if text.is_empty() {
            Vec::new()
        } else {
            gzip(text)
        };
        let data = format!("{key}/data/{number}abc.json.gz");
        loads.file(&data, &bytes);
        let items = text.iter().filter(|byte| **byte == b'\n').count();
        let line = json!({ "itemCount": items, "md5Checksum": checksum(&bytes), "etag": "0-1", "dataFileS3Key": data });
        manifest += &format!("{line}\n");
    }
    let summary = json!({ "version": "2020-06-30", "manifestFilesS3Key": format!("{key}/manifest-files.json"), "outputFormat": "DYNAMODB_JSON" });
    for (name, text) in [
        ("manifest-files", manifest),
        ("manifest-summary", summary.to_string()),
    ] {
        loads.file(&format!("{key}/{name}.json"), &text);
        loads.file(&format!("{key}/{name}.checksum"), checksum(text.as_bytes()));
    }
    loads.file(&format!("{key}/_started"), "");
    loads.files.path().join(key)
}

#[test]
fn an_export_is_loaded_by_its_manifest() {
    let loads = Loads::new();
    let [one, two] = typed().map(|item| format!("{}\n", json!({ "Item": item })).into_bytes());
    let directory = export(&loads, "01-a", &[&one, b"", &two]);
    let done = (0, "2 items loaded, 0 bad lines\n".to_owned(), String::new());
    for path in [directory.clone(), loads.files.path().join("prefix")] {
        assert_eq!(loads.load("Pets", &path), done);
    }
    let said = |loads: &Loads| {
        let (code, out, err) = loads.load("Pets", &directory);
        (
            code,
            format!("{err}{out}").replace(&format!("{}/", directory.display()), ""),
        )
    };
    let stray = directory.join("data/stray.json");
    fs::write(&stray, PLAIN[0]).unwrap();
    assert_eq!(
        said(&loads),
        (0, "data/stray.json: left out, as the export's manifest does not list it\n2 items loaded, 0 bad lines\n".to_owned())
    );
    fs::remove_file(stray).unwrap();

    let data = directory.join("data/0abc.json.gz");
    fs::write(&data, gzip(&two)).unwrap();
    assert_eq!(
        said(&loads),
        (1, "data/0abc.json.gz: not loaded, as its MD5 is not that in the export's manifest\n1 item loaded, 0 bad lines, 1 file not loaded or not to its end\n".to_owned())
    );
    fs::remove_file(&data).unwrap();
    let (code, told) = said(&loads);
    assert!(
        code == 1
            && told
                .contains("the export is not complete: its data file data/0abc.json.gz is missing"),
        "{told}"
    );
    let manifest = directory.join("manifest-files.json");
    let text = fs::read_to_string(&manifest)
        .unwrap()
        .replace("0abc", "../../0abc");
    fs::write(&manifest, text).unwrap();
    let (code, told) = said(&loads);
    assert!(
        code == 1 && told.contains("manifest-files.json: the MD5 is not that in "),
        "{told}"
    );

    export(&loads, "02-b", &[&one]);
    let (code, out, err) = loads.load("Pets", &loads.files.path().join("prefix"));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.contains("2 exports are below it; name the directories"),
        "{err}"
    );
    let (code, _, err) = loads.load("Pets", &directory.join("manifest-summary.json"));
    assert!(
        code == 1
            && err
                .contains("looks like the manifest of an export: load the directory that it is in"),
        "{err}"
    );
}

#[test]
fn an_incremental_export_changes_the_table() {
    let loads = Loads::new();
    let [one, two] = typed();
    loads.load_bytes("Pets", "before", PLAIN[0]);
    let key = json!({ "AnimalType": one["AnimalType"], "Name": one["Name"] });
    let lines = format!(
        "{}\n{}\n",
        json!({ "Metadata": {}, "Keys": key, "OldImage": one }),
        json!({ "Metadata": {}, "Keys": {}, "NewImage": two })
    );
    let directory = export(&loads, "01-a", &[lines.as_bytes()]);
    // The data of incremental exports is beside their directories.
    fs::rename(directory.join("data"), directory.join("../data")).unwrap();
    assert_eq!(
        loads.load("Pets", &directory),
        (
            0,
            "1 item loaded, 1 deleted, 0 bad lines\n".to_owned(),
            String::new()
        )
    );
    assert_eq!(loads.zebras(), [PLAIN[1]]);
}

#[test]
fn standard_input_is_told_by_its_content_too() {
    let loads = Loads::new();
    let scan = pretty(&json!({ "Items": typed() }));
    for args in [&["load", "Pets"][..], &["load", "Pets", "-"]] {
        let (code, out, err) = ddbfs(loads.data.path(), args, &scan);
        assert_eq!(
            (code, out.as_str(), err.as_str()),
            (0, "2 items loaded, 0 bad lines\n", "")
        );
    }
    let (code, _, err) = ddbfs(loads.data.path(), &["load", "Pets"], "{\"TableNames\":[]}");
    assert_eq!(code, 1);
    assert_eq!(
        err,
        "ddbfs: standard input looks like output of `aws dynamodb list-tables`: `ddbfs pull TABLE` copies a table of the service\n"
    );
}
