//! The declarations of the servers that tests mount, `tests/servers/NAME.server`: how each is set
//! up and started, and the tests that differ over it. `tests/servers/README.md` has their form.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::daemon::DDBFS;
use super::http::python;

/// What stands in an expected text for anything.
const ANYTHING: char = '…';

/// A server as it is declared.
#[derive(Debug)]
pub struct Declaration {
    pub name: String,
    pub start: Start,
    pub rows: Vec<Row>,
}

/// The command of bash that starts servers.
#[derive(Debug)]
pub enum Start {
    /// One server, which prints its address.
    Server(String),
    /// A host: for each line `start` it starts a server and prints its address, and `end URL` ends
    /// that.
    Host(String),
}

/// A test, or all of a module, that differs over the server.
#[derive(Debug)]
pub struct Row {
    /// The name of the test, or of a module with `::` at its end.
    pub test: String,
    /// The expected text of its failure; `None` if it is not run.
    pub text: Option<String>,
    pub why: String,
}

/// Returns the directory of the declarations.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers")
}

/// Returns the names of all declared servers in their order.
pub fn names() -> Vec<String> {
    let files = std::fs::read_dir(directory()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".server").map(str::to_owned))
        .collect();
    names.sort();
    names
}

impl Declaration {
    pub fn of(name: &str) -> Self {
        let path = directory().join(format!("{name}.server"));
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(name, &text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Reads a declaration. Fails with what is wrong.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let (mut start, mut rows) = (None, Vec::new());
        for (word, value, body) in entries(text)? {
            let is_short = match word {
                "setup" => false,
                "all" => true,
                "server" => start.replace(Start::Server(value.to_owned())).is_none(),
                "host" => start.replace(Start::Host(value.to_owned())).is_none(),
                "differs" | "not run" => {
                    rows.push(row(word, value, &body)?);
                    false
                }
                _ => return Err(format!("no line begins with {word:?}")),
            };
            if is_short && !body.is_empty() {
                return Err(format!("nothing stands below {word:?}"));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            start: start.ok_or("no line begins with \"server\" or \"host\"")?,
            rows,
        })
    }

    /// Returns the command that starts a server or a host, with arguments for it.
    pub fn command(&self, data: &Path, keys: &str, args: &[&str]) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (Start::Server(line) | Start::Host(line)) = &self.start;
        let mut command = Command::new("bash");
        command
            .current_dir(root)
            .env("DDBFS", DDBFS)
            .env("PYTHON", python())
            .env("NODE_PATH", root.join("target/node/node_modules"))
            .env("DIR", root.join("target/servers").join(&self.name))
            .env("DATA", data)
            .env("KEYS", keys)
            .args(["-c", &format!("exec {line}"), "bash"])
            .args(args)
            .stdout(Stdio::piped());
        command
    }

    /// Returns the row of a test.
    pub fn row(&self, test: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.names(test))
    }
}

impl Row {
    /// Returns true if the row is about that test.
    pub fn names(&self, test: &str) -> bool {
        self.test == test || self.test.ends_with("::") && test.starts_with(&self.test)
    }

    /// Returns true if the text of a failure contains the expected one.
    pub fn fits(&self, failure: &str) -> bool {
        let failure = lines(failure);
        let mut rest = failure.as_str();
        let expected = lines(self.text.as_deref().unwrap_or_default());
        expected.split(ANYTHING).all(|part| {
            let found = rest.find(part);
            rest = found.map_or("", |at| &rest[at + part.len()..]);
            found.is_some()
        })
    }
}

/// Returns a text without spaces around its lines and without empty ones.
fn lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

type Entry<'a> = (&'a str, &'a str, Vec<&'a str>);

/// Returns the entries of a declaration: `WORD: VALUE` and the indented lines below it.
fn entries(text: &str) -> Result<Vec<Entry<'_>>, String> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(inside) = line.strip_prefix(' ') {
            let entry = entries
                .last_mut()
                .ok_or("it begins with an indented line")?;
            entry.2.push(inside.trim());
        } else {
            let (word, value) = line.split_once(':').ok_or(format!("no colon: {line}"))?;
            entries.push((word, value.trim(), Vec::new()));
        }
    }
    Ok(entries)
}

fn row(word: &str, test: &str, body: &[&str]) -> Result<Row, String> {
    let (text, why): (Vec<&str>, Vec<&str>) = body.iter().partition(|line| line.starts_with('>'));
    let text: Vec<&str> = text.iter().map(|line| line[1..].trim()).collect();
    if why.is_empty() {
        return Err(format!("{test} has no reason"));
    }
    match (word, text.is_empty()) {
        ("differs", true) => Err(format!("{test} has no text")),
        ("not run", false) => Err(format!("{test} is not run, and has a text")),
        _ => Ok(Row {
            test: test.to_owned(),
            text: (!text.is_empty()).then(|| text.join("\n")),
            why: why.join(" "),
        }),
    }
}
