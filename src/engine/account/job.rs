//! Background jobs as plain data: what is copied from where to where, and how far it is. `jobs` carries them out.

use super::AccountRecord;
use crate::engine::{
    base::{keys::RecordKind, stored::Stored},
    prelude::*,
};

/// A job under its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    pub id: u32,
    #[serde(flatten)]
    pub job: Job,
}

impl Stored for JobRecord {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "a background job";
}

impl AccountRecord for JobRecord {
    const KIND: RecordKind = RecordKind::Job;
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Job {
    Copy(CopyJob),
    Changes(ChangesJob),
    /// Removes the history of a source up to a version.
    Trim {
        #[serde(rename = "trim")]
        source: SourceId,
        below: Version,
    },
}

impl Job {
    /// A copy from its start.
    #[must_use]
    pub fn copy(from: CopySource, to: CopyTarget) -> Self {
        Self::Copy(CopyJob {
            from,
            to,
            place: CopyPlace::Items(None),
        })
    }
}

/// A copy of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyJob {
    pub from: CopySource,
    pub to: CopyTarget,
    pub place: CopyPlace,
}

/// Where a copy reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CopySource {
    /// A table as of a version.
    Table {
        #[serde(rename = "table")]
        name: TableName,
        source: SourceId,
        bound: Version,
    },
    /// A backup, whole.
    Backup {
        #[serde(rename = "backup")]
        arn: String,
        source: SourceId,
    },
}

/// Where a copy writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CopyTarget {
    Backup {
        #[serde(rename = "backup")]
        arn: String,
        source: SourceId,
    },
    Export {
        #[serde(rename = "export")]
        arn: String,
        source: SourceId,
    },
    Table {
        #[serde(rename = "table")]
        name: TableName,
    },
}

/// How far a copy is: strictly after a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyPlace {
    Items(#[serde(with = "hex")] Option<Vec<u8>>),
    History(Version),
}

/// Gathers what changed between two moments of a table, for an incremental export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesJob {
    /// The export's.
    #[serde(rename = "changes")]
    pub arn: String,
    pub table: TableName,
    /// The table's items.
    pub source: SourceId,
    /// Where the changes are gathered, each at its item's place.
    pub into: SourceId,
    /// How far the walk is: at first the last version before the window.
    pub after: Version,
    /// The last version of the window.
    pub until: Version,
}

/// Bytes as text.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::codec::digest;

    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_deref().map(digest::hex).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| {
            digest::unhex(&text).ok_or_else(|| D::Error::custom("not hexadecimal digits"))
        })
        .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::base::stored::{decode, encode};

    #[test]
    fn forms_are_fixed_and_those_without_version_are_read() {
        let name = || TableName::new("abc").unwrap();
        let arn = || "arn".to_owned();
        let table = CopySource::Table {
            name: name(),
            source: SourceId(1),
            bound: 9,
        };
        let backup = CopySource::Backup {
            arn: arn(),
            source: SourceId(2),
        };
        let into = |from: &CopySource, to, place| {
            Job::Copy(CopyJob {
                from: from.clone(),
                to,
                place,
            })
        };
        let (source, below) = (SourceId(4), 5);
        let changes = ChangesJob {
            arn: arn(),
            table: name(),
            source: SourceId(5),
            into: SourceId(6),
            after: 7,
            until: 8,
        };
        for (job, members) in [
            (
                into(
                    &table,
                    CopyTarget::Backup {
                        arn: arn(),
                        source: SourceId(3),
                    },
                    CopyPlace::Items(None),
                ),
                r#""from":{"table":"abc","source":1,"bound":9},"to":{"backup":"arn","source":3},"place":{"items":null}"#,
            ),
            (
                into(
                    &table,
                    CopyTarget::Export {
                        arn: arn(),
                        source: SourceId(3),
                    },
                    CopyPlace::Items(Some(vec![0, 255])),
                ),
                r#""from":{"table":"abc","source":1,"bound":9},"to":{"export":"arn","source":3},"place":{"items":"00ff"}"#,
            ),
            (
                into(
                    &backup,
                    CopyTarget::Table { name: name() },
                    CopyPlace::History(7),
                ),
                r#""from":{"backup":"arn","source":2},"to":{"table":"abc"},"place":{"history":7}"#,
            ),
            (Job::Trim { source, below }, r#""trim":4,"below":5"#),
            (
                Job::Changes(changes),
                r#""changes":"arn","table":"abc","source":5,"into":6,"after":7,"until":8"#,
            ),
        ] {
            let record = JobRecord { id: 1, job };
            assert_eq!(
                String::from_utf8(encode(&record).unwrap()).unwrap(),
                format!(r#"{{"v":1,"id":1,{members}}}"#)
            );
            for head in [r#"{"id":1,"#, r#"{"v":1,"id":1,"#] {
                assert_eq!(
                    decode(format!("{head}{members}}}").as_bytes()),
                    Ok(record.clone())
                );
            }
        }
        assert_eq!(
            decode::<JobRecord>(br#"{"v":2,"id":1}"#),
            Err(crate::model::error::StoreError::Format(2))
        );
    }
}
