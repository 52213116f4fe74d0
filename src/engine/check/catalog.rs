//! The catalog held against itself: names and sources.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::report::{DifferenceKind, Place, Reporter};
use crate::engine::base::keys::SourceId;
use crate::engine::runtime::View;
use crate::engine::{account, catalog, purge};
use crate::model::TableName;
use crate::model::error::StoreError;

/// The names of the tables that can be read, and every source that is a table's or being removed. Read past the cache.
///
/// # Errors
/// Those of the store.
pub fn check(view: &View<'_>, reporter: &mut Reporter) -> Result<(Vec<TableName>, BTreeSet<SourceId>), StoreError> {
    let read = view.read();
    reporter.readable(catalog::generation(read), Place::NONE, "catalog generation")?;
    let next = reporter.readable(catalog::next_source(read), Place::NONE, "next source id")?;
    let mut known: BTreeSet<SourceId> = purge::pending(read)?.into_iter().collect();
    let mut tables = Vec::new();
    for name in names(view, reporter)? {
        let place = Place::table(&name);
        let Some(Some(table)) = reporter.readable(catalog::read_table(read, &name), place, "")? else { continue };
        if table.schema.name != name {
            reporter.add(DifferenceKind::WrongCatalog, place, format!("is named {}", table.schema.name));
        }
        let expiries = table.expiry_list().map(|list| list.id);
        for source in table.all_sources().chain(expiries).chain(table.index_life.sources()) {
            let is_given = next.is_none_or(|next| source < next);
            if !known.insert(source) || !is_given {
                reporter.add(DifferenceKind::WrongCatalog, place, format!("source {}", source.0));
            }
        }
        tables.push(name);
    }
    known.extend(account::kept_sources(read)?);
    Ok((tables, known))
}

fn names(view: &View<'_>, reporter: &mut Reporter) -> Result<Vec<TableName>, StoreError> {
    let mut names = Vec::new();
    view.table_names(None, &mut |name| {
        match TableName::new(name) {
            Ok(name) => names.push(name),
            Err(_) => reporter.add(DifferenceKind::WrongCatalog, Place::NONE, format!("a table named {name:?}")),
        }
        ControlFlow::Continue(())
    })?;
    Ok(names)
}
