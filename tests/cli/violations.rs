//! `ddbfs violations`: items that an index cannot hold, found and corrected (docs/requirements.md S-06, M-19 to M-21).

use std::path::Path;
use std::process::Command;

use crate::commands::ddbfs;
use crate::support::daemon::{DDBFS, Mount, texts};

struct Data(tempfile::TempDir);

impl Data {
    fn sampled() -> Self {
        let data = Self(tempfile::tempdir().unwrap());
        assert_eq!(data.run(&["sample"]).0, 0);
        data
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Exit code, standard output, standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(DDBFS)
            .args(args)
            .env("DDBFS_DATA", self.path())
            .current_dir(self.path())
            .output()
            .unwrap();
        let (out, err) = texts(&output);
        (output.status.code().unwrap_or(-1), out, err)
    }

    fn load(&self, table: &str, lines: &str) {
        std::fs::write(self.path().join("lines"), lines).unwrap();
        let (code, out, err) = self.run(&["load", table, "lines"]);
        assert_eq!(code, 0, "{out}{err}");
    }

    fn dump(&self, table: &str) -> Vec<String> {
        let mut lines: Vec<String> = self
            .run(&["dump", table])
            .1
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }
}

const HEAD: &str = "Table Hash Key,GSI Hash Key Value,GSI Hash Key Violation Type,GSI Hash Key Violation Description,GSI Hash Key Update Value(FOR USER),Delete Blank Attributes When Updating?(Y/N)\n";
const PRICE: [&str; 4] = ["violations", "ProductCatalog", "--hash-key", "Price:N"];

#[test]
fn those_of_a_vector_index_are_listed_as_in_a_mount() {
    let mount = Mount::empty();
    mount.ok(
        r#"mkdir Notes@pk:S
        printf '%s\n' '{"pk":"a","v":[1,2]}' '{"pk":"b/c","v":[1]}' '{"pk":"d"}' > Notes/batch/put
        mkdir Notes/vector/near
        echo '{"VectorAttribute":{"AttributeName":"v"},"Dimensions":2,"DistanceFunction":"COSINE","Projection":{"ProjectionType":"ALL"}}' > Notes/vector/near/schema.json
        until grep -q ACTIVE Notes/vector/near/stats.json; do sleep 0.1; done"#,
    );
    let line = r#"{"path":"items/b%2Fc.json","attribute":"v","expected":"L of 2 32-bit numbers","found":"L of 1 element"}"#;
    let of_mount = mount.ok("cat Notes/vector/near/violations.ndjson");
    assert_eq!(of_mount, format!("{line}\n"));
    let data = mount.data();
    let list = ["violations", "Notes", "near"];
    let run = |more: &[&str]| ddbfs(&data, &[&list[..], more].concat(), "");
    assert_eq!(run(&[]), (1, of_mount.clone(), "1 violation\n".to_owned()));
    let path = mount.dir.path().join("lines");
    let (code, out, err) = run(&["--output", path.to_str().unwrap()]);
    assert_eq!((code, &*out), (1, ""), "{err}");
    assert!(err.starts_with("1 violation, listed in "), "{err}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), of_mount);
    let (code, _, err) = run(&["--correct", "update"]);
    assert!(
        code != 0 && err.contains("corrected in the items of Notes"),
        "{err}"
    );
    mount.ok("echo '{\"pk\":\"b/c\",\"v\":[1,1]}' > Notes/items/b%2Fc.json");
    let none = (0, String::new(), "0 violations\n".to_owned());
    assert_eq!(run(&[]), none);
    let shown = ddbfs(
        &data,
        &["top", "--once", mount.point().to_str().unwrap()],
        "",
    );
    assert_eq!((shown.0, &*shown.2), (0, ""));
    assert!(shown.1.contains("\"Notes/vector/near\""), "{}", shown.1);
}

#[test]
fn s_06_the_example_of_the_guide_is_found_and_corrected() {
    let data = Data::sampled();
    let (code, out, err) = data.run(&PRICE);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (
            1,
            "",
            "9 items read, 1 violation, listed in violation_detection.csv\n"
        )
    );
    assert_eq!(
        data.read("violation_detection.csv"),
        format!("{HEAD}999,Hello,Type Violation,Expected: N Found: S,,\n")
    );

    // Nothing filled in: nothing asked for.
    let correct = [PRICE.as_slice(), &["--correct", "update"]].concat();
    let (code, _, err) = data.run(&correct);
    assert_eq!(
        (code, err.as_str()),
        (0, "0 items corrected, 1 row left unchanged, 0 failed\n")
    );

    std::fs::write(
        data.path().join("violation_detection.csv"),
        format!("{HEAD}999,,,,17.5,\n"),
    )
    .unwrap();
    let (code, _, err) = data.run(&correct);
    assert_eq!(
        (code, err.as_str()),
        (0, "1 item corrected, 0 rows left unchanged, 0 failed\n")
    );
    assert!(
        data.dump("ProductCatalog")
            .iter()
            .any(|line| line.contains("\"Id\":999") && line.contains("\"Price\":17.5"))
    );
    assert_eq!(data.run(&PRICE).0, 0);
}

#[test]
fn a_blank_value_with_y_removes_the_attribute_and_what_fails_is_listed() {
    let data = Data::sampled();
    std::fs::write(
        data.path().join("in.csv"),
        format!("{HEAD}999,,,,,y\n1000,,,,5,\n101,,,,cheap,\nnone,,,,1,\n"),
    )
    .unwrap();
    let args = [
        PRICE.as_slice(),
        &[
            "--correct",
            "update",
            "--input",
            "in.csv",
            "--errors",
            "bad.csv",
        ],
    ]
    .concat();
    let (code, _, err) = data.run(&args);
    assert_eq!(
        (code, err.as_str()),
        (
            1,
            "1 item corrected, 0 rows left unchanged, 3 failed, listed in bad.csv\n"
        )
    );
    let head = HEAD.trim_end();
    assert_eq!(
        data.read("bad.csv"),
        format!(
            "{head},Error\n1000,,,,5,,there is no item with this key any more\n101,,,,cheap,,\"\"\"cheap\"\" is no number\"\nnone,,,,1,,\"\"\"none\"\" is no number\"\n"
        )
    );
    let left: Vec<String> = data
        .dump("ProductCatalog")
        .into_iter()
        .filter(|line| line.contains("\"Id\":999"))
        .collect();
    assert_eq!(left.len(), 1);
    assert!(!left[0].contains("Price"), "{left:?}");
    assert_eq!(
        data.dump("ProductCatalog").len(),
        9,
        "a correction makes no item"
    );
}

#[test]
fn types_sizes_and_empty_values_of_both_keys_are_told() {
    let data = Data::sampled();
    let long = "x".repeat(1025);
    data.load(
        "Pets",
        &format!(
            "{{\"AnimalType\":\"Bird\",\"Name\":\"a\",\"Owner\":\"\",\"Tag\":\"{long}\"}}\n\
             {{\"AnimalType\":\"Bird\",\"Name\":\"b\",\"Owner\":[1],\"Tag\":\"fine\"}}\n\
             {{\"AnimalType\":\"Bird\",\"Name\":\"c\",\"Tag\":\"fine, \\\"quoted\\\"\"}}\n\
             {{\"AnimalType\":\"Bird\",\"Name\":\"d\",\"Owner\":\"me\",\"Tag\":{{\"$b64\":\"AQI=\"}}}}\n"
        ),
    );
    let planned = [
        "violations",
        "Pets",
        "--hash-key",
        "Owner:S",
        "--range-key",
        "Tag:S",
        "--output",
        "-",
    ];
    let (code, out, _) = data.run(&planned);
    assert_eq!(code, 1);
    let mut rows: Vec<&str> = out.lines().collect();
    assert!(
        rows[0].starts_with("Table Hash Key,Table Range Key,GSI Hash Key Value,"),
        "{}",
        rows[0]
    );
    assert!(
        rows[0].contains(",GSI Range Key Update Value(FOR USER),"),
        "{}",
        rows[0]
    );
    rows.remove(0);
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            &format!(
                "Bird,a,,Empty Violation,Expected: at least 1 byte Found: 0,,{long},Size Violation,Max Bytes Allowed: 1024 Found: 1025,,"
            ),
            "Bird,b,\"{\"\"L\"\":[{\"\"N\"\":\"\"1\"\"}]}\",Type Violation,Expected: S Found: L,,,,,,",
            "Bird,d,,,,,AQI=,Type Violation,Expected: S Found: B,,",
        ]
    );
}

#[test]
fn listed_items_are_deleted() {
    let data = Data::sampled();
    std::fs::write(
        data.path().join("violation_detection.csv"),
        format!("{HEAD}101,,,,,\n102,,,,,\n"),
    )
    .unwrap();
    assert_eq!(
        data.run(&[PRICE.as_slice(), &["--correct", "delete"]].concat())
            .0,
        0
    );
    assert_eq!(data.dump("ProductCatalog").len(), 7);
}

#[test]
fn mistakes_have_a_sentence() {
    let data = Data::sampled();
    let check = |args: &[&str], expected: &str| {
        let (code, out, err) = data.run(args);
        assert_ne!(code, 0, "{args:?}: {out}");
        assert!(err.contains(expected), "{args:?}: {err}");
    };
    check(
        &["violations", "Nothing", "--hash-key", "a:S"],
        "no table \"Nothing\"; the tables are ",
    );
    check(
        &["violations", "GameScores", "Nothing"],
        "has no global index \"Nothing\"; it has GameTitleIndex",
    );
    check(&["violations", "Pets"], "--hash-key NAME:TYPE");
    check(
        &["violations", "Pets", "--hash-key", "a:X"],
        "write its name and type, as in Price:N",
    );
    check(
        &[
            "violations",
            "Pets",
            "--hash-key",
            "a:S",
            "--correct",
            "update",
        ],
        "violation_detection.csv",
    );
    std::fs::write(data.path().join("violation_detection.csv"), "a,b\n1,2\n").unwrap();
    check(
        &[
            "violations",
            "Pets",
            "--hash-key",
            "a:S",
            "--correct",
            "update",
        ],
        "has no column \"Table Hash Key\"",
    );
    check(&["violations"], "Usage");
}
