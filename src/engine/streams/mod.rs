//! Streams (change data capture): every change of an item as a record, kept for 24 hours
//! (docs/dynamodb.md 17).
//!
//! A stream is a definition under its table's name and label, and records under its id. A table's
//! catalog entry names the stream that takes its changes now; the definition outlives that, and the
//! table. The change itself writes its record (`record::capture`), and records older than the
//! horizon are removed ([`trim`]). One shard lasts as long as its stream.
//!
//! A record's sequence number is the version that the change took, so numbers ascend over all
//! streams, and a reader that saw everything up to a commit continues after that commit's last
//! version.

pub mod iterator;
pub mod record;
pub mod trim;

use serde_json::Value;

use super::{
    account::AccountRecord,
    base::{
        keys::RecordKind,
        stored_form::{self, StoredForm},
    },
    catalog::TableStream,
    runtime::prelude::*,
};
use crate::codec::{calendar, digest};
use crate::model::{
    api::{SequenceNumber, StreamName, StreamViewType},
    arn,
    error::StreamError,
};

/// Gives the table a new stream; the caller writes the catalog entry. The table must have no
/// enabled stream.
pub fn enable(
    transaction: &mut Transaction<'_>,
    table: &mut TableEntry,
    view_type: StreamViewType,
) -> Result<(), StoreError> {
    let id = catalog::allocate_source(transaction.batch)?;
    let now_ms = transaction.now_ms();
    let name = unused_name(transaction.read(), table, now_ms)?;
    // The beginning has a number of its own, which no record has: reading at it and reading after
    // it both read everything.
    let first = transaction.next_version()?;
    transaction.shared.batch.take_version(first);
    let definition = StreamDefinition {
        id,
        view_type,
        created_ms: now_ms,
        partition: table.schema.key.partition.name.clone(),
        sort: table.schema.key.sort.as_ref().map(|sort| sort.name.clone()),
        first,
        trimmed: 0,
        closed: None,
    };
    write_definition(transaction, &name, &definition)?;
    table.stream = Some(TableStream {
        id,
        label: name.label,
        view_type,
        is_enabled: true,
    });
    Arc::make_mut(&mut table.schema).settings.stream = Some(view_type);
    Ok(())
}

/// Closes the table's stream, which stays readable; the caller writes the catalog entry. Does
/// nothing without an enabled stream.
pub fn disable(
    transaction: &mut Transaction<'_>,
    table: &mut TableEntry,
) -> Result<(), StoreError> {
    let Some(stream) = table.stream.as_mut().filter(|stream| stream.is_enabled) else {
        return Ok(());
    };
    stream.is_enabled = false;
    let name = StreamName {
        table_name: table.schema.name.clone(),
        label: stream.label.clone(),
    };
    Arc::make_mut(&mut table.schema).settings.stream = None;
    let mut definition = read_definition(transaction.read(), &name)?
        .ok_or(StoreError::Corrupt("a table whose stream is missing"))?;
    let next = transaction.next_version()?;
    let ending = next.saturating_sub(1).max(definition.first);
    // The last version taken, so that a reader at it has seen everything.
    definition.closed = Some((ending, transaction.now_ms()));
    write_definition(transaction, &name, &definition)
}

/// Returns a label that no stream of the table has: the present time, or a later one if needed.
fn unused_name(read: &dyn Read, table: &TableEntry, now_ms: u64) -> Result<StreamName, StoreError> {
    let mut ms = now_ms;
    loop {
        let label = calendar::iso(ms).trim_end_matches('Z').to_owned();
        let name = StreamName {
            table_name: table.schema.name.clone(),
            label,
        };
        if read_definition(read, &name)?.is_none() {
            return Ok(name);
        }
        ms += 1;
    }
}

fn write_definition(
    transaction: &mut Transaction<'_>,
    name: &StreamName,
    definition: &StreamDefinition,
) -> Result<(), StoreError> {
    transaction
        .batch
        .put(&keys::stream_key(name), &stored_form::encode(definition)?)
}

/// Returns the definition of a stream.
pub fn read_definition(
    read: &dyn Read,
    name: &StreamName,
) -> Result<Option<StreamDefinition>, StoreError> {
    let key = keys::stream_key(name);
    read.get(&key)?.map(stored_form::decode).transpose()
}

/// Returns the definition of a stream that a request names; fails with `NotFound` if there is none.
pub fn find_definition(read: &dyn Read, name: &StreamName) -> Result<StreamDefinition, Error> {
    match read_definition(read, name)? {
        Some(definition) => Ok(definition),
        None => Err(StreamError::NotFound(arn::stream(name)).into()),
    }
}

/// Returns the id of a stream's one shard: `shardId-<time, 20 digits>-<8 hexadecimal digits>`.
#[must_use]
pub fn shard_id(definition: &StreamDefinition) -> String {
    format!(
        "shardId-{:020}-{:08x}",
        definition.created_ms, definition.id.0
    )
}

/// Checks the shard id of a request; fails with `ShardNotFound` if the stream has no such shard.
pub fn check_shard(definition: &StreamDefinition, shard: &str) -> Result<(), StreamError> {
    if shard == shard_id(definition) {
        Ok(())
    } else {
        Err(StreamError::ShardNotFound)
    }
}

/// Returns the id of a record: the same in every response.
#[must_use]
pub fn event_id(name: &StreamName, sequence: SequenceNumber) -> String {
    digest::hex(&digest::digest(
        format!("{}/{}/{sequence}", name.table_name, name.label).as_bytes(),
    ))
}

/// Returns the position of a reader that has seen everything in this snapshot.
pub fn next_position(read: &dyn Read) -> Result<Version, StoreError> {
    Ok(crate::engine::runtime::batch::last_version(read)? + 1)
}

// The definition of a stream, which outlives its table.

/// A stream as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamDefinition {
    pub id: SourceId,
    pub view_type: StreamViewType,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// The names of the table's key attributes.
    pub partition: String,
    pub sort: Option<String>,
    /// The number of its beginning: records have higher sequence numbers, or this one in a stream
    /// of an older version.
    pub first: Version,
    /// The highest removed sequence number; 0 if none was removed.
    pub trimmed: Version,
    /// The highest sequence number that a record may have, and the time of closing, milliseconds
    /// since the epoch; `None` while it is enabled.
    pub closed: Option<(Version, u64)>,
}

impl StoredForm for StreamDefinition {
    const VERSION: u8 = 2;
    const NAME: &'static str = "a stream's definition";

    /// Upgrades version 1, which had the key's one or two names as a list.
    fn upgrade(version: u64, mut definition: Value) -> Option<Value> {
        let members = definition.as_object_mut().filter(|_| version == 1)?;
        let names = members.remove("key")?;
        for (member, name) in ["partition", "sort"].into_iter().zip(names.as_array()?) {
            members.insert(member.to_owned(), name.clone());
        }
        Some(definition)
    }
}

// The resource policies of streams: each has its own, also when it is disabled and when its table
// is deleted.

/// The policy of a stream as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StreamPolicy {
    /// `None` after it was removed.
    pub text: Option<String>,
    /// The revision of the last policy: the time of its put, later than any before it.
    pub revision: u64,
}

impl StoredForm for StreamPolicy {
    const VERSION: u8 = 1;
    const NAME: &'static str = "a stream's policy";
}

impl AccountRecord for StreamPolicy {
    const KIND: RecordKind = RecordKind::StreamPolicy;
}

/// Returns the policy of a stream, an empty one if it never had any.
pub fn read_policy(read: &dyn Read, name: &StreamName) -> Result<StreamPolicy, StoreError> {
    Ok(StreamPolicy::get(read, &arn::stream(name))?.unwrap_or_default())
}

/// Stores a policy.
pub fn put_policy(
    batch: &mut dyn Write,
    name: &StreamName,
    policy: &StreamPolicy,
) -> Result<(), StoreError> {
    policy.put(batch, &arn::stream(name))
}

/// Deletes the policy of a removed stream.
pub fn delete_policy(batch: &mut dyn Write, name: &StreamName) -> Result<(), StoreError> {
    StreamPolicy::delete(batch, &arn::stream(name))
}

#[cfg(test)]
mod definition_tests {
    use super::*;
    use crate::engine::base::stored_form::{decode, encode};
    use crate::model::error::StoreError;

    fn example() -> StreamDefinition {
        StreamDefinition {
            id: SourceId(7),
            view_type: StreamViewType::NewAndOldImages,
            created_ms: 17,
            partition: "pk".into(),
            sort: Some("sk".into()),
            first: 5,
            trimmed: 6,
            closed: Some((9, 18)),
        }
    }

    #[test]
    fn the_stored_form_is_fixed_and_that_of_version_1_is_read() {
        let check =
            |definition: StreamDefinition, head: &str, first_key: &str, key: &str, rest: &str| {
                let today = format!(r#"{{"v":2,{head},{key},{rest}}}"#);
                assert_eq!(
                    String::from_utf8(encode(&definition).unwrap()).unwrap(),
                    today
                );
                assert_eq!(decode(today.as_bytes()), Ok(definition.clone()));
                assert_eq!(
                    decode(format!(r#"{{"v":1,{head},{first_key},{rest}}}"#).as_bytes()),
                    Ok(definition)
                );
            };
        let head = r#""id":7,"view_type":"NEW_AND_OLD_IMAGES","created_ms":17"#;
        let (first_key, key) = (r#""key":["pk","sk"]"#, r#""partition":"pk","sort":"sk""#);
        check(
            example(),
            head,
            first_key,
            key,
            r#""first":5,"trimmed":6,"closed":[9,18]"#,
        );
        let open = StreamDefinition {
            sort: None,
            closed: None,
            ..example()
        };
        let (first_key, key) = (r#""key":["pk"]"#, r#""partition":"pk","sort":null"#);
        check(
            open,
            head,
            first_key,
            key,
            r#""first":5,"trimmed":6,"closed":null"#,
        );
    }

    #[test]
    fn damage_and_newer_versions_are_told_apart() {
        let damaged = || StoreError::Corrupt(StreamDefinition::NAME);
        let cases: &[(&[u8], StoreError)] = &[
            (b"", damaged()),
            (b"{}", damaged()),
            (br#"{"v":1}"#, damaged()),
            (br#"{"v":3}"#, StoreError::Format(3)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(decode::<StreamDefinition>(bytes), Err(expected.clone()));
        }
    }
}
