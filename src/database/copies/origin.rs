//! The origin of a copy in the data directory: the table that it was pulled from, and where the
//! changes since begin. A file of JSON beside the copy's journal, replaced as a whole.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::journal::{self, CopyJournalError, PULL, io_error};
use super::{CopyError, CopySide, definition};
use crate::codec::count::plural;
use crate::codec::dynamodb_json;
use crate::codec::record::Record;
use crate::database::prelude::*;
use crate::database::{Browse, EntryKey, TextForm};
use crate::model::Key;
use crate::model::api::{
    DescribeStreamRequest, GetShardIteratorRequest, ShardPosition, StreamName, TableDescription,
};
use crate::model::error::StoreError;

const VERSION: u32 = 1;
/// The limit of the file: a stream's position has some hundred bytes for each open shard.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The origin of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyOrigin {
    version: u32,
    /// The name of the source in messages: its URL.
    pub from: String,
    /// `TableId` and creation of the source: a later table of its name is another one.
    from_id: String,
    from_created_ms: u64,
    /// `TableId` of the copy, once it is known.
    pub to_id: Option<String>,
    /// False while a pull or sync writes to the copy.
    pub is_whole: bool,
    /// The moment since which changes of the source may be missing, milliseconds since the epoch.
    pub since_ms: u64,
    /// The copy when it was last whole: its items, and the last version that any item had.
    items: u64,
    item_version: u64,
    /// `None` if the source had no stream that could be read from that moment on.
    pub stream: Option<StreamPlace>,
}

/// A position in the stream of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPlace {
    pub label: String,
    /// The iterator over all shards, which stays valid until the records behind it are removed.
    pub iterator: String,
}

impl CopyOrigin {
    /// Creates the origin of a copy that has the source as it is at that moment or later.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn new(
        from: &CopySide,
        source: &TableDescription,
        since_ms: u64,
    ) -> Result<Self, CopyError> {
        Ok(Self {
            version: VERSION,
            from: from.name.clone(),
            from_id: source.table_id.clone(),
            from_created_ms: source.created_ms,
            to_id: None,
            is_whole: false,
            since_ms,
            items: 0,
            item_version: 0,
            stream: stream_since(from, source, since_ms)?,
        })
    }

    /// Reads the origin of the copy with that journal; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or is not of this form.
    pub fn read(journal: &Path) -> Result<Option<Self>, CopyJournalError> {
        let (path, mut text) = (journal.with_extension("json"), Vec::new());
        match File::open(&path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&path, error)),
        }
        match serde_json::from_slice(&text) {
            Ok(Self { version, .. }) if version != VERSION => {}
            Ok(origin) => return Ok(Some(origin)),
            Err(_) => {}
        }
        Err(CopyJournalError::Damaged(path.display().to_string()))
    }

    /// Replaces the file, durably.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, journal: &Path) -> Result<(), CopyJournalError> {
        let path = journal.with_extension("json");
        let directory = path.parent().unwrap_or(Path::new("."));
        let write = || {
            fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            File::open(directory)?.sync_all()
        };
        write().map_err(|error| io_error(&path, error))
    }

    /// True if the table of this id is this copy.
    #[must_use]
    pub fn is_of(&self, to_id: &str) -> bool {
        self.to_id.as_deref() == Some(to_id)
    }

    /// True if the table is the one that was pulled.
    #[must_use]
    pub fn is_from(&self, source: &TableDescription) -> bool {
        self.from_id == source.table_id && self.from_created_ms == source.created_ms
    }

    /// Returns the origin of a table or backup that is made of a copy that is not whole. No place in
    /// the stream is one to go on from: a sync compares all items.
    #[must_use]
    pub fn incomplete_as(self, to_id: &str) -> Self {
        Self {
            to_id: Some(to_id.to_owned()),
            is_whole: false,
            stream: None,
            ..self
        }
    }

    /// Notes that the copy is whole as it is now.
    ///
    /// # Errors
    /// Those of the data directory.
    pub fn complete(&mut self, copy: &CopySide) -> Result<(), CopyError> {
        let there = definition::existing(copy)?;
        self.to_id = Some(there.table_id);
        self.items = there.item_count;
        self.item_version = copy.check(local(copy)?.last_version())?;
        self.is_whole = true;
        Ok(())
    }

    /// Tells the changes that were made to the copy since it was whole. In one with time to live,
    /// which deletes too, deletions are not told.
    ///
    /// # Errors
    /// Those of the data directory.
    pub fn local_changes(&self, copy: &CopySide) -> Result<Option<String>, CopyError> {
        let local = local(copy)?;
        if copy.check(local.last_version())? == self.item_version {
            return Ok(None);
        }
        let table = entries(copy);
        let mut changed = 0;
        let mut count = |record: &Record<'_>| {
            changed += u64::from(record.version() > self.item_version);
            ControlFlow::Continue(())
        };
        copy.check(local.records(&table, None, None, &mut count))?;
        if changed > 0 {
            return Ok(Some(format!("{} put or changed", plural(changed, "item"))));
        }
        // A copy without a changed item lacks exactly those that were deleted.
        let left = copy.check(local.stats(&table))?.entries;
        let deleted = self.items.saturating_sub(left);
        let expires = copy.check(definition::ttl_attribute(copy))?.is_some();
        Ok((deleted > 0 && !expires).then(|| format!("{} deleted", plural(deleted, "item"))))
    }
}

/// A copy that is not whole, as far as it is known.
#[derive(Debug)]
pub struct IncompleteCopy {
    /// A sentence that says so, and which command goes on.
    pub sentence: String,
    pub origin: Option<CopyOrigin>,
}

/// Returns the state of a table that is not whole: a pull into it or a sync of it has not ended, or it
/// was restored from such a one.
#[must_use]
pub fn incomplete_pull(data: &Path, table: &TableDescription) -> Option<IncompleteCopy> {
    let name = table.schema.name.as_str();
    let path = journal::path(data, &[PULL, name]);
    let is_pull = path.exists();
    let origin = match CopyOrigin::read(&path) {
        Ok(origin) => origin,
        Err(error) => {
            return Some(IncompleteCopy {
                sentence: format!("whether {name} is whole is not known: {error}"),
                origin: None,
            });
        }
    };
    // A pull that ended before it recorded the table has made it empty; one that was begun by an
    // earlier version has no origin.
    let is_of = origin.as_ref().is_none_or(|origin| match &origin.to_id {
        Some(_) => origin.is_of(&table.table_id),
        None => table.item_count == 0,
    });
    if !is_of || !is_pull && origin.as_ref().is_none_or(|origin| origin.is_whole) {
        return None;
    }
    let from = origin
        .as_ref()
        .map(|origin| format!(" of {}", origin.from.escape_debug()))
        .unwrap_or_default();
    let sentence = match is_pull {
        true => format!(
            "{name} is not whole: a pull{from} has not ended, and items and indexes are missing; the same `ddbfs pull` goes on with it"
        ),
        false => format!(
            "{name} is not whole: items or changes{from} are missing; `ddbfs sync {name}` goes on with it"
        ),
    };
    Some(IncompleteCopy { sentence, origin })
}

/// Reads an item of a copy, which counts as no traffic.
///
/// # Errors
/// Those of the data directory.
pub fn item_here(copy: &CopySide, base: Key) -> Result<Option<Item>, CopyError> {
    let key = EntryKey::from(base);
    let text = local(copy)?.text(&entries(copy), &key, TextForm::DynamoDbJson);
    let text = copy.check(text)?;
    let item = text.map(|(text, _)| dynamodb_json::parse(&text));
    item.transpose()
        .map_err(|_| copy.error(StoreError::Corrupt("the text of an item")))
}

fn entries(copy: &CopySide) -> SourceName {
    let (table, index) = (copy.table.clone(), None);
    SourceName { table, index }
}

fn local(copy: &CopySide) -> Result<&dyn Browse, CopyError> {
    let local = copy.local.as_deref();
    local.ok_or_else(|| copy.error(StoreError::Corrupt("a copy outside of a data directory")))
}

/// Returns the place in the stream from which all changes since a moment are read, if it has it.
fn stream_since(
    from: &CopySide,
    source: &TableDescription,
    since_ms: u64,
) -> Result<Option<StreamPlace>, CopyError> {
    let (Some(label), Some(_)) = (&source.latest_stream_label, source.schema.settings.stream)
    else {
        return Ok(None);
    };
    let stream = StreamName {
        table_name: from.table.clone(),
        label: label.clone(),
    };
    let described = from.retry(|| {
        from.database.describe_stream(DescribeStreamRequest {
            stream: stream.clone(),
            limit: None,
            exclusive_start_shard_id: None,
            children_of: None,
        })
    });
    let iterator = described.and_then(|described| {
        let first = described.shards.into_iter().next();
        let Some(shard) = first.filter(|_| described.created_ms <= since_ms) else {
            return Ok(None);
        };
        // All that is kept, as the service forgets iterators of later places.
        let request = GetShardIteratorRequest {
            stream: stream.clone(),
            shard_id: shard.shard_id,
            position: ShardPosition::TrimHorizon,
        };
        from.retry(|| from.database.get_shard_iterator(request.clone()))
            .map(Some)
    });
    match iterator {
        Ok(answer) => Ok(answer.map(|answer| StreamPlace {
            label: label.clone(),
            iterator: answer.shard_iterator,
        })),
        // Credentials that may scan need not read streams.
        Err(CopyError::Database { error, .. }) if error != Error::Interrupted => {
            log::warn!("a sync will compare all items, as the stream cannot be read: {error}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_origin_that_is_cut_or_of_another_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("copies/a.ndjson");
        assert_eq!(CopyOrigin::read(&journal).unwrap(), None);
        let origin = CopyOrigin {
            version: VERSION,
            from: "http://h/T".to_owned(),
            from_id: "i".to_owned(),
            from_created_ms: 1,
            to_id: Some("t".to_owned()),
            is_whole: true,
            since_ms: 2,
            items: 3,
            item_version: 4,
            stream: None,
        };
        origin.save(&journal).unwrap();
        assert_eq!(CopyOrigin::read(&journal).unwrap().as_ref(), Some(&origin));
        let path = journal.with_extension("json");
        let text = fs::read_to_string(&path).unwrap();
        for damaged in [
            String::new(),
            text[..text.len() - 1].to_owned(),
            text.replace("\"version\":1", "\"version\":2"),
        ] {
            fs::write(&path, damaged).unwrap();
            let read = CopyOrigin::read(&journal);
            assert!(
                matches!(read, Err(CopyJournalError::Damaged(_))),
                "{read:?}"
            );
        }
    }
}
