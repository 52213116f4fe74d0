//! Saved queries of a table: not of the DynamoDB API, kept with the table's definition and gone with it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::model::limits::SAVED_QUERIES_MAX;

/// By name.
pub type SavedQueries = BTreeMap<String, SavedQuery>;

/// A query under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedQuery {
    pub form: SavedForm,
    /// When it was saved, milliseconds since the epoch.
    pub modified_ms: u64,
}

/// How a query is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedForm {
    /// The filesystem path of a query, relative to the directory of saved queries.
    Link(String),
    /// The text of a Query or Scan request.
    Request(String),
}

/// One change of a table's saved queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedQueryChange {
    /// Saves under a name; one that is there is replaced only if said so.
    Put {
        name: String,
        form: SavedForm,
        replace: bool,
    },
    Remove {
        name: String,
    },
    /// Gives another name; a query that is there is replaced only if said so.
    Rename {
        from: String,
        to: String,
        replace: bool,
    },
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedQueryOutcome {
    Done,
    /// There is no query of that name.
    Absent,
    /// There is one, and it was not to be replaced.
    Exists,
    /// There are as many as there may be.
    Full,
}

impl SavedQueryChange {
    /// Carries the change out.
    pub fn apply(&self, saved: &mut SavedQueries, now_ms: u64) -> SavedQueryOutcome {
        match self {
            SavedQueryChange::Put { name, form, replace } => {
                let exists = saved.contains_key(name);
                if exists && !replace {
                    return SavedQueryOutcome::Exists;
                }
                if !exists && saved.len() >= SAVED_QUERIES_MAX {
                    return SavedQueryOutcome::Full;
                }
                saved.insert(name.clone(), SavedQuery { form: form.clone(), modified_ms: now_ms });
            }
            SavedQueryChange::Remove { name } => {
                if saved.remove(name).is_none() {
                    return SavedQueryOutcome::Absent;
                }
            }
            SavedQueryChange::Rename { from, to, replace } => {
                if !replace && from != to && saved.contains_key(to) {
                    return SavedQueryOutcome::Exists;
                }
                let Some(query) = saved.remove(from) else { return SavedQueryOutcome::Absent };
                saved.insert(to.clone(), query);
            }
        }
        SavedQueryOutcome::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_changes() {
        let mut saved = SavedQueries::new();
        let put = |name: &str, replace| SavedQueryChange::Put {
            name: name.to_owned(),
            form: SavedForm::Link(format!("../query/@pk={name}")),
            replace,
        };
        let rename = |from: &str, to: &str, replace| SavedQueryChange::Rename { from: from.to_owned(), to: to.to_owned(), replace };
        let remove = |name: &str| SavedQueryChange::Remove { name: name.to_owned() };
        for (change, outcome, names) in [
            (put("a", false), SavedQueryOutcome::Done, "a"),
            (put("a", false), SavedQueryOutcome::Exists, "a"),
            (put("a", true), SavedQueryOutcome::Done, "a"),
            (put("b", false), SavedQueryOutcome::Done, "a b"),
            (rename("a", "b", false), SavedQueryOutcome::Exists, "a b"),
            (rename("a", "a", false), SavedQueryOutcome::Done, "a b"),
            (rename("a", "c", false), SavedQueryOutcome::Done, "b c"),
            (rename("b", "c", true), SavedQueryOutcome::Done, "c"),
            (rename("x", "y", true), SavedQueryOutcome::Absent, "c"),
            (remove("x"), SavedQueryOutcome::Absent, "c"),
            (remove("c"), SavedQueryOutcome::Done, ""),
        ] {
            assert_eq!(change.apply(&mut saved, 7), outcome, "{change:?}");
            assert_eq!(saved.keys().cloned().collect::<Vec<_>>().join(" "), names, "{change:?}");
        }
        for number in 0..SAVED_QUERIES_MAX {
            assert_eq!(put(&number.to_string(), false).apply(&mut saved, 7), SavedQueryOutcome::Done);
        }
        assert_eq!(put("one more", false).apply(&mut saved, 7), SavedQueryOutcome::Full);
        assert_eq!(put("7", true).apply(&mut saved, 7), SavedQueryOutcome::Done);
    }
}
