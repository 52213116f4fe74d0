//! `ddbfs what-if`: tables with known answers. `tests/engine/what_if.rs` has the load.

use crate::commands::ddbfs;

/// Makes a data directory with a table `Tab` (pk and sk) of these lines.
fn table(lines: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let definition = r#"{"TableName":"Tab","BillingMode":"PAY_PER_REQUEST",
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]}"#;
    let (code, out, err) = ddbfs(dir.path(), &["import", "-"], definition);
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = ddbfs(dir.path(), &["load", "Tab"], lines);
    assert_eq!(code, 0, "{out}{err}");
    dir
}

fn tried(dir: &tempfile::TempDir, change: &[&str]) -> String {
    let (code, out, err) = ddbfs(dir.path(), &[&["what-if", "Tab"], change].concat(), "");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    out
}

/// Returns the cells of a row, the first of which is of the table as it is.
fn row<'o>(out: &'o str, title: &str) -> Vec<&'o str> {
    let line = out.lines().find_map(|line| {
        let cells = line.strip_prefix("| ")?.strip_prefix(title)?;
        cells.trim_start().strip_prefix("| ")
    });
    let line = line.unwrap_or_else(|| panic!("no {title:?} in {out}"));
    let cells = line.trim_end_matches('|').split(" | ");
    cells.map(str::trim).collect()
}

/// 1,000 items: one partition key, ten tenants of which `t0` has 910, four have no city.
fn orders() -> tempfile::TempDir {
    let lines: String = (0..1000)
        .map(|n| {
            let tenant = if n < 910 { 0 } else { (n - 910) / 10 + 1 };
            let city = if n < 4 {
                String::new()
            } else {
                format!(",\"city\":\"c{}\"", n % 7)
            };
            format!(
                "{{\"pk\":\"all\",\"sk\":\"{n:04}\",\"tenant\":\"t{tenant}\",\"n\":{n}{city}}}\n"
            )
        })
        .collect();
    table(&lines)
}

#[test]
fn a_key_is_tried_beside_the_one_that_is() {
    let dir = orders();
    let check = |change: &[&str], values: &str, share: &str, items: &str| {
        let out = tried(&dir, change);
        assert_eq!(row(&out, "distinct values"), ["1", values], "{change:?}");
        assert_eq!(row(&out, "items"), ["1000", items], "{change:?}");
        let found = row(&out, "largest share of the items");
        assert_eq!(found[0], "100 % `all`");
        assert!(found[1].starts_with(share), "{change:?}: {found:?}");
    };
    check(&["--partition", "tenant"], "10", "91 % `t0`", "1000");
    check(&["--partition", "sk"], "1000", "0.1 % ", "1000");
    check(&["--partition", "{sk:1}"], "1", "100 % `0`", "1000");
    check(&["--partition", "{sk:2}"], "10", "10 % ", "1000");
    check(&["--partition", "{pk}#{0..9}"], "10", "1", "1000");
    check(&["--partition", "ALL{0..0}"], "1", "100 % `ALL0`", "1000");
    check(
        &["--partition", "T#{tenant}#{city}", "--sort", "n"],
        "70",
        "13 % `T#t0#c",
        "996",
    );
    // Without the old sort key, items of one tenant are one item.
    let out = tried(&dir, &["--sort", "tenant"]);
    assert!(
        out.contains("what if: 990 items would overwrite others of the same key."),
        "{out}"
    );
    let out = tried(&dir, &["--partition", "{pk}#{0..9}"]);
    assert!(out.contains("to read one value takes 10 queries"), "{out}");
    assert!(!out.contains("overwrite"), "{out}");
}

#[test]
fn items_without_the_attributes_are_counted_and_named() {
    let dir = orders();
    let expected = "4 items (0.4 %) without city would be left out: `Tab/items/all/0000.json`.\n";
    let out = tried(&dir, &["--partition", "city"]);
    assert!(out.contains(&format!("- what if: {expected}")), "{out}");
    let out = tried(&dir, &["--index", "by-city=city,{n}"]);
    assert!(
        out.contains(&format!("- index by-city: {expected}")),
        "{out}"
    );
    assert_eq!(row(&out, "distinct values"), ["1", "7"]);
    assert_eq!(row(&out, "sort key"), ["`sk`", "`{n}`"]);
}

#[test]
fn billing_modes_types_and_hostile_names() {
    let dir = table(
        "{\"pk\":\"a\",\"sk\":\"1\",\"x\":1,\"}|`x\":\"v\",\"a:3\":\"w\"}\n\
         {\"pk\":\"a\",\"sk\":\"2\",\"x\":\"1\"}\n\
         {\"pk\":\"a\",\"sk\":\"3\",\"x\":[1]}\n\
         {\"pk\":\"a\",\"sk\":\"4\",\"x\":\"\"}\n\
         {\"pk\":\"a\",\"sk\":\"\\u001b[31m|\",\"x\":\"\\u001b[31m|`\"}\n",
    );
    let out = tried(&dir, &["--partition", "x"]);
    assert!(!out.contains('\u{1b}'), "{out}");
    // The key is a string, as most are.
    assert_eq!(row(&out, "distinct values"), ["1", "2"]);
    let other_type = "1 item (20 %) with x as N, where the key is S would be left out";
    assert!(out.contains(other_type), "{out}");
    assert!(out.contains("with x as L, which no key can be"), "{out}");
    assert!(out.contains("with a key that is empty"), "{out}");
    let out = tried(&dir, &["--partition", "{a:3}{x}"]);
    assert!(out.contains("5 items (100 %) without a would"), "{out}");
    let out = tried(&dir, &["--billing", "3000,2000"]);
    assert_eq!(
        row(&out, "billing"),
        ["on demand", "3000 read, 2000 write units"]
    );
    assert_eq!(row(&out, "partitions"), ["4", "3"]);
    for (change, said) in [
        (&[][..], "required arguments were not provided"),
        (&["--partition", "{x"], "a brace alone"),
        (&["--index", "by-x"], "an index is like"),
        (&["--billing", "0,1"], "takes on-demand"),
        (&["--billing", "1,18446744073709551615"], "takes on-demand"),
    ] {
        let (code, _, err) = ddbfs(dir.path(), &[&["what-if", "Tab"], change].concat(), "");
        assert_eq!(code, 2, "{change:?}");
        assert!(err.contains(said), "{change:?}: {err}");
    }
}

#[test]
fn a_table_without_items_has_an_answer() {
    let dir = table("");
    let out = tried(&dir, &["--partition", "x", "--index", "by-x=x"]);
    assert_eq!(row(&out, "items"), ["0", "0", "0"]);
    assert!(!out.contains("NaN"), "{out}");
    let (code, out, err) = ddbfs(dir.path(), &["what-if", "None", "--sort", "x"], "");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.contains("no table \"None\"; the tables are Tab"),
        "{err}"
    );
}
