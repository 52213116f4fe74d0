//! The table of requirements.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn read(file: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).expect("the file")
}

/// The ids that begin the rows of a document: `P-10`, `D-01.1`.
fn ids(document: &str) -> BTreeSet<&str> {
    let firsts = document
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let is_id =
        |id: &&str| id.as_bytes().get(1) == Some(&b'-') && id.chars().any(|c| c.is_ascii_digit());
    firsts.filter(is_id).collect()
}

#[test]
fn each_requirement_has_a_row_in_the_table() {
    let (rules, table) = (read("docs/requirements.md"), read("tests/REQUIREMENTS.md"));
    let (rules, rows) = (ids(&rules), ids(&table));
    assert!(rules.len() > 150, "{} rules", rules.len());
    assert_eq!(
        rules.difference(&rows).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
}

/// Each row of the table of requirements names tests as `file: name; file: name`.
#[test]
fn the_table_of_requirements_names_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let table = read("tests/REQUIREMENTS.md");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| id "))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(rows.len() > 200, "the table has only {} rows", rows.len());
    let mut wrong = Vec::new();
    let tested = rows.iter().filter(|row| row.get(2) == Some(&"tested"));
    for (id, shown) in tested.filter_map(|row| Some((row.first()?, row.get(3)?))) {
        for test in shown.split("; ") {
            let (file, name) = test.split_once(": ").unwrap_or((test, ""));
            let source = fs::read_to_string(root.join(file)).unwrap_or_default();
            // A function, or the section of a file of `tests/golden`.
            let function = format!("fn {}(", name.split(' ').next().unwrap_or_default());
            let is_section = name.starts_with("## ") && source.lines().any(|line| line == name);
            if !is_section && !source.contains(&function) {
                wrong.push(format!("{id}: there is no test {test}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
