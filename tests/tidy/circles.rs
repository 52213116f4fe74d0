//! Who imports whom, file by file and inside the folders: no circles, and inner layers where a folder names them.
//!
//! What counts are `use` trees and paths in bodies. A re-export is no import; who uses it imports the file that defines the name. Tests
//! don't count.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Named, Token, named_paths, without_tests};
use super::{Source, rust_sources};

/// A folder and its layers from the bottom. A layer is a file or folder in it, or several that stand beside each other and import none of
/// the others; `mod` is the folder's own file, on top unless it is named.
const INNER_LAYERS: &[(&str, &[&str])] = &[
    (
        "src/engine",
        &[
            "prelude",
            "base",
            "catalog",
            "account index partitions",
            "meter throttle",
            "runtime",
            "history idempotency index_write purge read streams time_to_live trash",
            "index_lag table_states",
            "index_life",
            "write",
            "background jobs statements",
            "check open ops",
        ],
    ),
    (
        "src/engine/runtime",
        &[
            "batch observers prelude test_hooks value_memory",
            "options",
            "warnings",
            "shared",
            "transaction view",
            "charging engine submit",
        ],
    ),
    (
        "src/fs",
        &[
            "error", "options", "ttl_map", "process", "prelude", "path", "query", "write", "node",
            "mount", "open", "source", "special", "tree", "view",
        ],
    ),
    (
        "src/fs/query",
        &[
            "clause_fault context operators",
            "spelling",
            "filter token",
            "query_path",
            "near_clause",
            "key_clause where_clause",
            "clause",
            "csv help request",
            "near",
            "row_stream",
            "explain listing",
            "result_file",
            "test_tables",
            "clause_tests filter_tests request_tests",
        ],
    ),
];

/// One file's part in the whole.
struct Module {
    file: String,
    /// What it imports, names in its body, and exports again.
    named: Vec<Named>,
    defined: BTreeSet<String>,
}

impl Module {
    fn of(source: &Source) -> Self {
        let tokens = without_tests(source.tokens());
        let kinds = ["struct", "enum", "fn", "const", "trait", "type", "static"];
        let defines = |pair: &&[Token]| kinds.contains(&pair[0].text.as_str());
        let defined = tokens
            .windows(2)
            .filter(defines)
            .map(|pair| pair[1].text.clone())
            .collect();
        Self {
            file: source.file.clone(),
            named: named_paths(&tokens),
            defined,
        }
    }

    /// What it exports again: the name there, none for all names, and the path.
    fn exported(&self) -> impl Iterator<Item = (Option<&str>, &[String])> {
        let exports = self.named.iter().filter_map(|named| {
            Some((
                named.import.as_ref().filter(|import| import.exported)?,
                named,
            ))
        });
        exports.map(|(import, named)| (import.name.as_deref(), named.path.as_slice()))
    }

    fn imported(&self) -> impl Iterator<Item = &[String]> {
        let imports = self
            .named
            .iter()
            .filter(|named| named.import.as_ref().is_none_or(|import| !import.exported));
        imports.map(|named| named.path.as_slice())
    }
}

/// All modules by their paths.
struct House(BTreeMap<Vec<String>, Module>);

/// By file: the files that it imports from, and the names.
type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

impl House {
    fn of(sources: &[Source]) -> Self {
        let is_test =
            |source: &&Source| source.file.ends_with("tests.rs") || source.file.contains("/tests/");
        let counted = sources
            .iter()
            .filter(|source| !is_test(source) && source.file != "src/main.rs");
        let path = |source: &Source| source.modules().into_iter().map(str::to_owned).collect();
        Self(
            counted
                .map(|source| (path(source), Module::of(source)))
                .collect(),
        )
    }

    /// A path from the top of the package; none for one that leads out of it. `at` is the module that names it.
    fn absolute(&self, path: &[String], at: &[String]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|word| *word == "super").count();
        let (before, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (at, &path[1..]),
            "super" => (&at[..at.len().saturating_sub(ups)], &path[ups..]),
            child if self.0.contains_key(&[at, &[child.to_owned()]].concat()) => (at, path),
            _ => return None,
        };
        Some(
            before
                .iter()
                .chain(rest)
                .filter(|word| *word != "self")
                .cloned()
                .collect(),
        )
    }

    /// The module that defines what `path` names in the module `at`. Re-exports are followed so many times.
    fn defining(&self, path: &[String], at: &[String], follows: usize) -> Option<&Module> {
        let whole = self.absolute(path, at)?;
        let length = (0..=whole.len())
            .rev()
            .find(|&length| (0..=length).all(|part| self.0.contains_key(&whole[..part])))?;
        let (inside, rest) = whole.split_at(length);
        let module = self.0.get(inside)?;
        let Some(name) = rest.first().filter(|_| follows > 0) else {
            return Some(module);
        };
        if let Some((_, target)) = module
            .exported()
            .find(|(exported, _)| *exported == Some(name))
        {
            return self.defining(&[target, &rest[1..]].concat(), inside, follows - 1);
        }
        let all = module
            .exported()
            .filter(|(name, _)| name.is_none())
            .filter_map(|(_, target)| self.absolute(target, inside));
        let mut all = all.filter_map(|target| self.0.get(&target));
        all.find(|target| target.defined.contains(name))
            .or(Some(module))
    }

    fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (at, module) in &self.0 {
            let found: &mut BTreeMap<String, BTreeSet<String>> =
                imports.entry(module.file.clone()).or_default();
            for path in module.imported() {
                let Some(target) = self
                    .defining(path, at, 12)
                    .filter(|target| target.file != module.file)
                else {
                    continue;
                };
                found
                    .entry(target.file.clone())
                    .or_default()
                    .extend(path.iter().rfind(|word| *word != "self").cloned());
            }
        }
        imports
    }
}

/// What can be reached from `start`.
fn reached<'a>(imports: &'a Imports, start: &str) -> BTreeSet<&'a str> {
    let next = |file: &str| {
        imports
            .get(file)
            .into_iter()
            .flat_map(|named| named.keys().map(String::as_str))
    };
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&str> = next(start).collect();
    while let Some(file) = waiting.pop() {
        if found.insert(file) {
            waiting.extend(next(file));
        }
    }
    found
}

/// Files that reach each other, each circle once.
fn circles(imports: &Imports) -> Vec<BTreeSet<&str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|file| (file.as_str(), reached(imports, file)))
        .collect();
    let beside = |file: &str| -> BTreeSet<&str> {
        reach[file]
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(file)))
            .collect()
    };
    let found: BTreeSet<BTreeSet<&str>> = reach
        .keys()
        .map(|file| beside(file))
        .filter(|circle| circle.len() > 1)
        .collect();
    found.into_iter().collect()
}

/// The files of a circle, and line by line what ties one to another.
fn described(circle: &BTreeSet<&str>, imports: &Imports) -> String {
    let mut text = format!(
        "{} files in a circle: move what ties them to the lower of two, or to a file below both\n",
        circle.len()
    );
    for file in circle {
        for (other, names) in imports[*file]
            .iter()
            .filter(|(other, _)| circle.contains(other.as_str()))
        {
            text += &format!(
                "    {file} -> {other}: {}\n",
                names.iter().cloned().collect::<Vec<_>>().join(", ")
            );
        }
    }
    text
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let imports = House::of(rust_sources()).imports();
    let told: String = circles(&imports)
        .iter()
        .map(|circle| described(circle, &imports))
        .collect();
    assert!(told.is_empty(), "\n{told}");
}

/// The place of a file's layer in a folder that names its layers: of the group, and in it.
fn layer(file: &str, folder: &str, layers: &[&str]) -> Option<(usize, String)> {
    let inside = file.strip_prefix(folder)?.strip_prefix('/')?;
    let name = inside.split(['/', '.']).next()?;
    let group = layers
        .iter()
        .position(|group| group.split(' ').any(|layer| layer == name));
    Some((
        group.or((name == "mod").then_some(layers.len()))?,
        name.to_owned(),
    ))
}

/// Where inner layers are broken, or a file has none.
fn upward(folder: &str, layers: &[&str], imports: &Imports) -> Vec<String> {
    let mut found = Vec::new();
    for (file, named) in imports
        .iter()
        .filter(|(file, _)| file.starts_with(&format!("{folder}/")))
    {
        let Some((own, name)) = layer(file, folder, layers) else {
            found.push(format!("{file} is in no layer of {folder}"));
            continue;
        };
        for (other, names) in named {
            let Some((used, other_name)) = layer(other, folder, layers) else {
                continue;
            };
            if used > own || (used == own && name != other_name) {
                let names: Vec<_> = names.iter().cloned().collect();
                found.push(format!(
                    "{file}: {name} is not above {other_name} in {folder}: {} of {other}",
                    names.join(", ")
                ));
            }
        }
    }
    found
}

#[test]
fn inner_layers_import_only_from_below() {
    let imports = House::of(rust_sources()).imports();
    let found: Vec<String> = INNER_LAYERS
        .iter()
        .flat_map(|(folder, layers)| upward(folder, layers, &imports))
        .collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// A small house: `a` re-exports what `a/b` and `a/c` define, `d` uses it, `a/b` uses `d`.
fn example() -> Imports {
    let files = [
        ("src/lib.rs", "pub mod a; pub mod d;"),
        (
            "src/a/mod.rs",
            "mod b; mod c; pub use b::{B as Bee}; pub use c::*; pub struct A;",
        ),
        (
            "src/a/b.rs",
            "pub struct B; fn f() { crate::d::go(); } #[cfg(test)] mod tests { use crate::a::A; }",
        ),
        ("src/a/c.rs", "pub struct C; pub(in crate::a) fn f() {}"),
        (
            "src/d.rs",
            "use crate::a::{self, Bee, C}; pub fn go() { a::A; }",
        ),
    ];
    House::of(&files.map(|(file, text)| Source::new(file, text))).imports()
}

#[test]
fn a_re_export_is_followed_to_where_the_name_is_defined() {
    let imports = example();
    let of = |file: &str| {
        imports[file]
            .iter()
            .map(|(file, names)| (file.as_str(), names.iter().map(String::as_str).collect()))
            .collect()
    };
    let expected: Vec<(&str, Vec<&str>)> = vec![
        ("src/a/b.rs", vec!["Bee"]),
        ("src/a/c.rs", vec!["C"]),
        ("src/a/mod.rs", vec!["a"]),
    ];
    let found: Vec<(&str, Vec<&str>)> = of("src/d.rs");
    assert_eq!(found, expected);
    assert_eq!(of("src/a/b.rs"), vec![("src/d.rs", vec!["go"])]);
    assert_eq!(of("src/a/c.rs"), vec![]);
    assert_eq!(
        circles(&imports),
        [BTreeSet::from(["src/a/b.rs", "src/d.rs"])]
    );
    let told = described(&circles(&imports)[0], &imports);
    assert!(
        told.ends_with("src/a/b.rs -> src/d.rs: go\n    src/d.rs -> src/a/b.rs: Bee\n"),
        "{told}"
    );
}

#[test]
fn layers_of_a_folder_are_held() {
    let imports = example();
    assert_eq!(
        upward("src", &["a", "d", "lib"], &imports),
        ["src/a/b.rs: a is not above d in src: go of src/d.rs"]
    );
    assert_eq!(upward("src", &["a d", "lib"], &imports).len(), 4);
    assert_eq!(upward("src/a", &["b c"], &imports), Vec::<String>::new());
    assert_eq!(
        upward("src/a", &["b"], &imports),
        ["src/a/c.rs is in no layer of src/a"]
    );
}
