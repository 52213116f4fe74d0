//! The records of background jobs: the source, target and cursor of a copy, as plain data.
//! `engine::jobs` runs them and writes the cursor back with each batch.

use super::AccountRecord;
use crate::engine::{
    base::{keys::RecordKind, stored_form::StoredForm},
    prelude::*,
};

/// A job with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    pub id: u32,
    #[serde(flatten)]
    pub job: Job,
}

impl StoredForm for JobRecord {
    const VERSION: u8 = 1;
    const NAME: &'static str = "a background job";
}

impl AccountRecord for JobRecord {
    const KIND: RecordKind = RecordKind::Job;
}

/// A background job.
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
    /// Creates a copy job at its start.
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

/// The source of a copy.
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
    /// A whole backup.
    Backup {
        #[serde(rename = "backup")]
        arn: String,
        source: SourceId,
    },
}

/// The target of a copy.
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

/// The progress of a copy: it continues strictly after this key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyPlace {
    Items(#[serde(with = "hex")] Option<Vec<u8>>),
    History(Version),
}

/// A job that gathers the changes between two moments of a table, for an incremental export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesJob {
    /// The ARN of the export.
    #[serde(rename = "changes")]
    pub arn: String,
    pub table: TableName,
    /// The source of the table's items.
    pub source: SourceId,
    /// The source in which the changes are gathered, each at its item's place.
    pub into: SourceId,
    /// The cursor of the scan over the history: at first the last version before the window.
    pub after: Version,
    /// The last version of the window.
    pub until: Version,
}

/// The serde form of bytes as hexadecimal text.
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
    use crate::engine::base::stored_form::{decode, encode};

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
