//! Query paths: `table`, `put`, then `cat` of a path, `ls` of it, and `request`, what it asks of the database.

use std::sync::Arc;

use ddbfs::database::Browse;
use ddbfs::model::IndexKind;

use crate::script;
use crate::support::query_paths::{cat, create, ls, put};

/// A batch of a listing, so that it goes on from a position.
const BATCH: usize = 2;

pub struct Session(pub Arc<dyn Browse>);

impl script::Session for Session {
    fn answer(&mut self, asked: &str) -> String {
        let (word, rest) = asked.split_once(' ').unwrap_or((asked, ""));
        match word {
            "table" => self.table(rest),
            "put" => {
                let (table, item) = rest.split_once(' ').expect("put TABLE ITEM");
                put(&*self.0, table, &[item]);
                String::new()
            }
            "cat" => cat(&*self.0, rest),
            "sorted" => {
                let text = cat(&*self.0, rest);
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_unstable();
                lines.join("\n")
            }
            "ls" => ls(&*self.0, rest, BATCH).join("\n"),
            _ => panic!("{word}: table, put, cat, sorted or ls"),
        }
    }
}

impl Session {
    /// `NAME H pk:S, R sk:N | global NAME H g:S > all | local NAME H pk:S, R b:S > keys`.
    fn table(&self, text: &str) -> String {
        let mut parts = text.split(" | ");
        let (name, key) = parts.next().unwrap().split_once(' ').expect("NAME H pk:S");
        let index = |part| index(part).unwrap_or_else(|| panic!("{part}: global NAME H g:S > all"));
        create(&*self.0, name, key, &parts.map(index).collect::<Vec<_>>());
        String::new()
    }
}

fn index(text: &str) -> Option<(IndexKind, &str, &str, &str)> {
    let (head, projection) = text.split_once(" > ")?;
    let (kind, head) = head.split_once(' ')?;
    let (name, key) = head.split_once(' ')?;
    Some((
        if kind == "global" {
            IndexKind::Global
        } else {
            IndexKind::Local
        },
        name,
        key,
        projection,
    ))
}
