//! Consistency checks of stream records and lists of expiries, which every change of an item
//! maintains, and of data that lies beside the items: the trash, metered counts, client request
//! tokens. A part of `engine::check`.
//!
//! ```text
//! streams    each record can be read, has a number its stream may have and the images of its view type; a record that an item's
//!            version names holds that item; each item written since its stream began has its record
//! expiries   each item of a built list that expires is on it; each expiry is that of its item
//! ```

use std::collections::BTreeSet;

use super::{
    entry_name::{side_text, stored_key},
    report::{CheckPlace, DifferenceKind, Reporter, is_damage},
    walk::ViewCheck,
};
use crate::engine::{
    catalog::{ExpiryList, TimeToLive},
    idempotency::TokenResult,
    meter::stored,
    prelude::*,
    streams::{self, StreamDefinition, record::StoredRecord, trim},
    time_to_live,
    trash::{TrashRecord, folder_digest},
};
use crate::model::api::{StreamEvent, StreamName};

impl ViewCheck<'_> {
    /// Checks the stream and the list of expiries of a table.
    pub(super) fn check_lists(&mut self, table: &TableEntry) -> Result<(), Error> {
        let place = CheckPlace::of(table);
        let definition = self.open_stream(table)?;
        let list = table
            .time_to_live
            .as_ref()
            .and_then(|time_to_live| Some((time_to_live, time_to_live.list?)));
        let built = list.filter(|(_, list)| list.is_built);
        if definition.is_some() || built.is_some() {
            self.walk(table, None, |check, key, record| {
                if let Some(definition) = &definition {
                    check.check_stream_record(table, definition, record, key)?;
                }
                if let Some((time_to_live, list)) = built {
                    check.check_expiry(table, time_to_live, list, record, key)?;
                }
                Ok(())
            })?;
        }
        list.map_or(Ok(()), |(time_to_live, list)| {
            self.expiries(table, time_to_live, list, &place)
        })
    }

    /// Returns the definition of the table's stream, if it is enabled.
    fn open_stream(&mut self, table: &TableEntry) -> Result<Option<StreamDefinition>, StoreError> {
        let Some(stream) = table.enabled_stream() else {
            return Ok(None);
        };
        let name = StreamName {
            table_name: table.schema.name.clone(),
            label: stream.label.clone(),
        };
        match streams::read_definition(self.view.read(), &name) {
            Ok(Some(definition)) => Ok(Some(definition)),
            Ok(None) => {
                self.reporter.add(
                    DifferenceKind::MissingStream,
                    CheckPlace::of(table),
                    name.label,
                );
                Ok(None)
            }
            // Reported with the streams.
            Err(error) if is_damage(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn check_stream_record(
        &mut self,
        table: &TableEntry,
        definition: &StreamDefinition,
        record: &Record<'_>,
        key: &[u8],
    ) -> Result<(), StoreError> {
        let version = record.version();
        if version < definition.first || version <= definition.trimmed {
            return Ok(());
        }
        if self
            .view
            .read()
            .get(&StoreKey::StreamRecord(definition.id, version).encode())?
            .is_none()
        {
            let text = self.item_text(table, keys::place_in_source(key));
            let place = CheckPlace::of(table);
            self.reporter
                .add(DifferenceKind::MissingStreamRecord, place, text);
        }
        Ok(())
    }

    fn check_expiry(
        &mut self,
        table: &TableEntry,
        time_to_live: &TimeToLive,
        list: ExpiryList,
        record: &Record<'_>,
        key: &[u8],
    ) -> Result<(), StoreError> {
        let Some(ms) = time_to_live::expiry_of(record, &time_to_live.attribute)? else {
            return Ok(());
        };
        let expiry = StoreKey::Expiry(list.id, ms, keys::place_in_source(key)).encode();
        if self.view.read().get(&expiry)?.is_none() {
            let text = self.item_text(table, keys::place_in_source(key));
            let place = CheckPlace::of(table);
            self.reporter
                .add(DifferenceKind::MissingExpiry, place, text);
        }
        Ok(())
    }

    fn expiries(
        &mut self,
        table: &TableEntry,
        time_to_live: &TimeToLive,
        list: ExpiryList,
        place: &CheckPlace<'_>,
    ) -> Result<(), Error> {
        self.each_entry(&Space::Expiry.range(list.id), |check, key, _| {
            let expected =
                keys::parse_expiry(key).map(|(ms, at)| (ms, Space::Entry.key(table.source, at)));
            let is_right = match &expected {
                Some((ms, entry)) => {
                    match check.view.read().get(entry)?.map(Record::parse).transpose() {
                        Ok(Some(record)) => {
                            time_to_live::expiry_of(&record, &time_to_live.attribute)
                                .is_ok_and(|it| it == Some(*ms))
                        }
                        Ok(None) => false,
                        // An unreadable item is reported elsewhere.
                        Err(_) => true,
                    }
                }
                None => false,
            };
            if !is_right {
                let text = keys::parse_expiry(key)
                    .map_or_else(|| stored_key(key), |(_, at)| check.item_text(table, at));
                check
                    .reporter
                    .add(DifferenceKind::OrphanExpiry, *place, text);
            }
            Ok(())
        })
    }

    /// Checks every stream and its records; returns the ids of the streams.
    pub(super) fn streams(&mut self) -> Result<BTreeSet<SourceId>, Error> {
        let mut all = Vec::new();
        trim::each_stream(self.view.read(), &mut |name, definition| {
            all.push((name, definition));
            Ok(())
        })?;
        let mut ids = BTreeSet::new();
        for (name, definition) in all {
            match definition {
                Ok(definition) => {
                    ids.insert(definition.id);
                    self.stream(&name, &definition)?;
                }
                Err(error) if is_damage(&error) => {
                    self.reporter.add(
                        DifferenceKind::Unreadable,
                        CheckPlace::table(&name.table_name),
                        name.label.clone(),
                    );
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(ids)
    }

    fn stream(&mut self, name: &StreamName, definition: &StreamDefinition) -> Result<(), Error> {
        let place = CheckPlace::table(&name.table_name);
        let table = match crate::engine::catalog::read_table(self.view.read(), &name.table_name) {
            Ok(table) => table,
            // Reported with the catalog.
            Err(error) if is_damage(&error) => None,
            Err(error) => return Err(error.into()),
        };
        let table = table.filter(|table| {
            table
                .enabled_stream()
                .is_some_and(|stream| stream.id == definition.id)
        });
        self.each_entry(
            &keys::stream_records_from(definition.id, 0),
            |check, key, bytes| {
                let Some(version) = keys::parse_version(key) else {
                    check
                        .reporter
                        .add(DifferenceKind::Unreadable, place, stored_key(key));
                    return Ok(());
                };
                match check.is_right_record(definition, table.as_deref(), version, bytes) {
                    Ok(true) => {}
                    Ok(false) => check.reporter.add(
                        DifferenceKind::WrongStreamRecord,
                        place,
                        version.to_string(),
                    ),
                    Err(error) if is_damage(&error) => {
                        let text = format!("stream record {version}");
                        check.reporter.add(DifferenceKind::Unreadable, place, text)
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            },
        )
    }

    fn is_right_record(
        &self,
        definition: &StreamDefinition,
        table: Option<&TableEntry>,
        version: Version,
        bytes: &[u8],
    ) -> Result<bool, StoreError> {
        let last = definition
            .closed
            .map_or(self.last_version, |(last, _)| last);
        let record = StoredRecord::parse(bytes)?;
        let view = definition.view_type;
        let has_new = view.has_new_image() && record.event != StreamEvent::Remove;
        let has_old = view.has_old_image() && record.event != StreamEvent::Insert;
        let in_range =
            definition.first <= version && definition.trimmed < version && version <= last;
        if !in_range
            || record.new_image.is_some() != has_new
            || record.old_image.is_some() != has_old
        {
            return Ok(false);
        }
        for part in [record.new_image, record.old_image].into_iter().flatten() {
            Record::parse(part)?.to_item()?;
        }
        let keys = Record::parse(record.keys)?.to_item()?;
        let Some(table) = table else { return Ok(true) };
        match keys.key(&table.schema.key) {
            Some(key) => self.agrees(table, &key, version, &record),
            None => Ok(false),
        }
    }

    /// True if the item agrees with the record, in case this record's change was its last.
    fn agrees(
        &self,
        table: &TableEntry,
        key: &Key,
        version: Version,
        record: &StoredRecord<'_>,
    ) -> Result<bool, StoreError> {
        let address = keys::EntryAddress::of_item(table.source, key);
        let item = match self.view.entry(&address) {
            Ok(Some(item)) => item,
            Ok(None) => return Ok(true),
            // Reported with the items.
            Err(error) if is_damage(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        if item.version() != version {
            // A later change has a record of its own; a change never leaves an item with an earlier
            // version.
            return Ok(item.version() > version);
        }
        match record.new_image {
            Some(image) => Ok(Record::parse(image)?.content() == item.content()),
            None => Ok(record.event != StreamEvent::Remove),
        }
    }
}

// Data beside the items: trashed files, counts, client request tokens. Entries without a table
// are found with the sources.

/// The difference that an entry has, if any.
type EntryFault = Result<Option<DifferenceKind>, StoreError>;

/// Checks the data beside the items, in one snapshot.
pub fn check_side_data(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    let mut wrong = |space: Space, wrong: &dyn Fn(&[u8], &[u8]) -> EntryFault| {
        walks::each(read, &space.all(), |key, value| {
            if let Some(kind) = wrong(key, value)? {
                reporter.add(kind, CheckPlace::NONE, side_text(read, key));
            }
            Ok(())
        })
    };
    wrong(Space::Trash, &|key, value| {
        Ok(match (StoreKey::parse(key), TrashRecord::parse(value)) {
            (Some(StoreKey::Trash(_, folder, _)), Ok(file))
                if folder == folder_digest(file.folder.as_ref()).as_ref() =>
            {
                None
            }
            (Some(StoreKey::Trash(..)), Ok(_)) => Some(DifferenceKind::Misplaced),
            _ => Some(DifferenceKind::Unreadable),
        })
    })?;
    wrong(Space::Counted, &|key, value| {
        Ok((!stored::is_readable(key, value)).then_some(DifferenceKind::Unreadable))
    })?;
    // Each token has its expiry, and each expiry its token.
    wrong(Space::Token, &|key, value| {
        let is_right = match (StoreKey::parse(key), TokenResult::decode(value)) {
            (Some(StoreKey::Token(token)), Ok(known)) => read
                .get(&StoreKey::TokenExpiry(known.expires_ms, token).encode())?
                .is_some(),
            _ => false,
        };
        Ok((!is_right).then_some(DifferenceKind::WrongToken))
    })?;
    wrong(Space::TokenExpiry, &|key, _| {
        let is_right = match StoreKey::parse(key) {
            Some(StoreKey::TokenExpiry(expires_ms, token)) => {
                let known = read
                    .get(&StoreKey::Token(token).encode())?
                    .map(TokenResult::decode);
                known.is_some_and(|known| known.is_ok_and(|known| known.expires_ms == expires_ms))
            }
            _ => false,
        };
        Ok((!is_right).then_some(DifferenceKind::WrongToken))
    })
}
