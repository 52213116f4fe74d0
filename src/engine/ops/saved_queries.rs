//! Saved queries: kept in the table's catalog entry, so that they are as durable as the table and go with it.

use std::sync::Arc;

use crate::engine::runtime::Engine;
use crate::model::api::saved_query::{SavedQueries, SavedQuery, SavedQueryChange, SavedQueryOutcome};
use crate::model::limits::SAVED_QUERIES_MAX;
use crate::model::{Error, TableName};

impl Engine {
    /// The saved queries of a table; none when there is no table.
    ///
    /// # Errors
    /// Those of the store.
    pub fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error> {
        Ok(self.table(table)?.map(|entry| Arc::clone(&entry.control.saved_queries)).unwrap_or_default())
    }

    /// Changes the saved queries of a table.
    ///
    /// # Errors
    /// `ResourceNotFound`; those of the store.
    pub fn change_saved_queries(&self, table: &TableName, change: SavedQueryChange) -> Result<SavedQueryOutcome, Error> {
        let table = table.clone();
        self.shared.submit_and_wait(move |transaction| {
            let old = transaction.table(&table)?.ok_or(Error::ResourceNotFound)?;
            let mut new = (*old).clone();
            let outcome = apply(Arc::make_mut(&mut new.control.saved_queries), &change, transaction.now_ms());
            if outcome == SavedQueryOutcome::Done {
                transaction.replace_table(&new)?;
            }
            Ok(outcome)
        })
    }
}

fn apply(saved: &mut SavedQueries, change: &SavedQueryChange, now_ms: u64) -> SavedQueryOutcome {
    match change {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::api::saved_query::SavedForm;

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
            assert_eq!(apply(&mut saved, &change, 7), outcome, "{change:?}");
            assert_eq!(saved.keys().cloned().collect::<Vec<_>>().join(" "), names, "{change:?}");
        }
        for number in 0..SAVED_QUERIES_MAX {
            assert_eq!(apply(&mut saved, &put(&number.to_string(), false), 7), SavedQueryOutcome::Done);
        }
        assert_eq!(apply(&mut saved, &put("one more", false), 7), SavedQueryOutcome::Full);
        assert_eq!(apply(&mut saved, &put("7", true), 7), SavedQueryOutcome::Done);
    }
}
