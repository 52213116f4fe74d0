//! The consistency check of a whole store (`ddbfs check`, like fsck): everything derived is
//! recomputed from the base items and compared, each table in one view, in bounded memory.
//!
//! ```text
//! catalog        entries lie under their names; each source is one table's or index's
//! items          lie at the address of their key; record sizes are right; names are legal; versions were given
//! indexes        each entry an item should have is there with the right content; no other entry is there
//! collections    entries, bytes, partition key; none without entries
//! counters       entries, bytes, partition keys of each source
//! online         indexes that UpdateTable makes, see `check/online.rs`
//! lag            writes that global indexes do not show yet, see `check/online.rs`
//! lists          stream records and expiries, see `check/lists.rs`
//! trash          trashed files can be read and lie at their places, see `check/lists.rs`
//! counts         what was counted can be read
//! tokens         each client request token has its expiry, each expiry its token
//! account        backups, exports, imports, jobs and policies can be read and lie under their names, see `check/records.rs`
//! history        old images can be read, see `check/records.rs`
//! partitions     partition maps can be read, see `check/records.rs`
//! keys           every key has a form of its key space, see `check/records.rs`
//! sources        no entries, collections or counters of a source that no table has and that is not being removed
//! ```

mod entry_name;
mod items;
mod lists;
mod online;
mod records;
mod report;
mod walk;

use std::collections::BTreeSet;

use super::{
    purge,
    runtime::{batch::last_version, prelude::*},
};

use entry_name::stored_key;
use report::{CheckPlace, Reporter};
use walk::ViewCheck;

pub use report::{CheckDifference, CheckReport, DIFFERENCES_MAX, DifferenceKind, Remedy};

/// Checks the store, and every table in it. Damage that can be skipped is in the report; only other
/// failures of the store are errors.
pub fn check(engine: &Engine) -> Result<CheckReport, Error> {
    let (tables, mut reporter) = check_store(engine)?;
    for name in &tables {
        reporter = check_table(engine, name, reporter)?;
    }
    Ok(reporter.into_report())
}

/// Checks the data that belongs to no table; returns the names of the tables.
fn check_store(engine: &Engine) -> Result<(Vec<TableName>, Reporter), Error> {
    let view = engine.view()?;
    let mut reporter = Reporter::default();
    let last_version = reporter.or_report(
        last_version(view.read()),
        CheckPlace::NONE,
        "version sequence",
    )?;
    let (tables, mut known) = check_catalog(&view, &mut reporter)?;
    let kept = records::account(view.read(), &mut reporter)?;
    let mut check = ViewCheck::new(&view, last_version, reporter);
    // A damaged backup or export is reported alone: its source, which is not known, would be too.
    if let Some(kept) = kept {
        known.extend(kept);
        for space in [
            Space::Entry,
            Space::Collection,
            Space::Counters,
            Space::Expiry,
            Space::History,
            Space::Partitions,
            Space::Backfill,
            Space::Violation,
            Space::Pending,
            Space::Trash,
            Space::Counted,
        ] {
            check.unknown_sources(&known, space)?;
        }
    }
    let streams = check.streams()?;
    check.unknown_sources(&streams, Space::StreamRecord)?;
    lists::check_side_data(view.read(), &mut check.reporter)?;
    records::partition_maps(view.read(), &mut check.reporter)?;
    records::malformed_keys(view.read(), &mut check.reporter)?;
    Ok((tables, check.reporter))
}

/// Checks a table in a view of its own: pages that change during a view cannot be reused, and the
/// data file grows by them.
fn check_table(
    engine: &Engine,
    name: &TableName,
    mut reporter: Reporter,
) -> Result<Reporter, Error> {
    let view = engine.view()?;
    let last_version = match last_version(view.read()) {
        Ok(version) => Some(version),
        // Reported with the store.
        Err(error) if report::is_damage(&error) => None,
        Err(error) => return Err(error.into()),
    };
    let table = reporter.or_report(
        super::catalog::read_table(view.read(), name),
        CheckPlace::table(name),
        "",
    )?;
    let mut check = ViewCheck::new(&view, last_version, reporter);
    // The table may have been deleted in the meantime.
    if let Some(table) = table.flatten() {
        check.check_table(&table)?;
        check.check_lists(&table)?;
        check.history(&table)?;
        check.insights(&table)?;
    }
    Ok(check.reporter)
}

// The consistency of the catalog: names and sources.

/// Returns the names of the readable tables, and every source that belongs to a table or is being
/// removed. Reads past the cache.
pub fn check_catalog(
    view: &ReadView<'_>,
    reporter: &mut Reporter,
) -> Result<(Vec<TableName>, BTreeSet<SourceId>), StoreError> {
    let read = view.read();
    reporter.or_report(
        catalog::generation(read),
        CheckPlace::NONE,
        "catalog generation",
    )?;
    let next = reporter.or_report(
        catalog::next_source(read),
        CheckPlace::NONE,
        "next source id",
    )?;
    let mut known: BTreeSet<SourceId> = purge::pending(read)?.into_iter().collect();
    let mut tables = Vec::new();
    for name in names(read, reporter)? {
        let place = CheckPlace::table(&name);
        let Some(Some(table)) = reporter.or_report(catalog::read_table(read, &name), place, "")?
        else {
            continue;
        };
        if table.schema.name != name {
            reporter.add(
                DifferenceKind::WrongCatalog,
                place,
                format!("is named {}", table.schema.name),
            );
        }
        let expiries = table.expiry_list().map(|list| list.id);
        for source in table
            .all_sources()
            .chain(expiries)
            .chain(table.index_life.sources())
        {
            let is_given = next.is_none_or(|next| source < next);
            if !known.insert(source) || !is_given {
                reporter.add(
                    DifferenceKind::WrongCatalog,
                    place,
                    format!("source {}", source.0),
                );
            }
        }
        tables.push(name);
    }
    Ok((tables, known))
}

fn names(read: &dyn Read, reporter: &mut Reporter) -> Result<Vec<TableName>, StoreError> {
    let mut names = Vec::new();
    walks::each(read, &keys::tables_after(None), |key, _| {
        let Some(name) = keys::parse_table(key) else {
            reporter.add(
                DifferenceKind::Unreadable,
                CheckPlace::NONE,
                stored_key(key),
            );
            return Ok(());
        };
        match TableName::new(name) {
            Ok(name) => names.push(name),
            Err(_) => reporter.add(
                DifferenceKind::WrongCatalog,
                CheckPlace::NONE,
                format!("a table named {name:?}"),
            ),
        }
        Ok(())
    })?;
    Ok(names)
}
