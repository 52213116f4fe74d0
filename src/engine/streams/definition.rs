//! The stored form of a stream's definition: one JSON object, its member `v` the version of the form.
//!
//! ```text
//! {"v":1,"id":7,"view_type":"KEYS_ONLY","created_ms":…,"key":["pk","sk"],"first":5,"trimmed":0,"closed":[9,…]}
//! ```
//! `key` has one or two names; `closed` is null while the stream is enabled.

use serde_json::{Value, json};

use crate::engine::base::keys::SourceId;
use crate::model::api::{StreamViewType, Version};
use crate::model::error::StoreError;

const VERSION: u64 = 1;

/// A stream as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub id: SourceId,
    pub view_type: StreamViewType,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// Names of the table's key attributes.
    pub partition: String,
    pub sort: Option<String>,
    /// Its beginning: records have higher sequence numbers, or this one in a stream of an older version.
    pub first: Version,
    /// The highest sequence number that was removed; 0 before any.
    pub trimmed: Version,
    /// When it was disabled: the highest sequence number that a record may have, milliseconds since the epoch.
    pub closed: Option<(Version, u64)>,
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a stream's definition")
}

impl Definition {
    /// The stored bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let key: Vec<&str> = std::iter::once(self.partition.as_str()).chain(self.sort.as_deref()).collect();
        json!({
            "v": VERSION,
            "id": self.id.0,
            "view_type": self.view_type.text(),
            "created_ms": self.created_ms,
            "key": key,
            "first": self.first,
            "trimmed": self.trimmed,
            "closed": self.closed.map(|(last, ms)| json!([last, ms])),
        })
        .to_string()
        .into_bytes()
    }

    /// # Errors
    /// `Corrupt` when the bytes are no definition, `Format` when a newer version wrote them.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        match value.get("v").and_then(Value::as_u64) {
            Some(VERSION) => Self::decode_v1(&value).ok_or_else(damaged),
            Some(newer) => Err(StoreError::Format(u8::try_from(newer).unwrap_or(u8::MAX))),
            None => Err(damaged()),
        }
    }

    fn decode_v1(value: &Value) -> Option<Self> {
        let number = |name: &str| value.get(name)?.as_u64();
        let key = value.get("key")?;
        let closed = value.get("closed")?;
        Some(Self {
            id: SourceId(u32::try_from(number("id")?).ok()?),
            view_type: StreamViewType::of_text(value.get("view_type")?.as_str()?)?,
            created_ms: number("created_ms")?,
            partition: key.get(0)?.as_str()?.to_owned(),
            sort: match key.get(1) {
                Some(name) => Some(name.as_str()?.to_owned()),
                None => None,
            },
            first: number("first")?,
            trimmed: number("trimmed")?,
            closed: match closed {
                Value::Null => None,
                _ => Some((closed.get(0)?.as_u64()?, closed.get(1)?.as_u64()?)),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Definition {
        Definition {
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
    fn the_stored_form_is_fixed() {
        let check = |definition: Definition, text: &str| {
            assert_eq!(String::from_utf8(definition.encode()).unwrap(), text);
            assert_eq!(Definition::decode(text.as_bytes()), Ok(definition));
        };
        let head = r#"{"v":1,"id":7,"view_type":"NEW_AND_OLD_IMAGES","created_ms":17,"#;
        check(example(), &format!(r#"{head}"key":["pk","sk"],"first":5,"trimmed":6,"closed":[9,18]}}"#));
        let open = Definition { sort: None, closed: None, ..example() };
        check(open, &format!(r#"{head}"key":["pk"],"first":5,"trimmed":6,"closed":null}}"#));
    }

    #[test]
    fn damage_and_newer_versions_are_told_apart() {
        let cases: &[(&[u8], StoreError)] =
            &[(b"", damaged()), (b"{}", damaged()), (br#"{"v":1}"#, damaged()), (br#"{"v":2}"#, StoreError::Format(2))];
        for (bytes, expected) in cases {
            assert_eq!(Definition::decode(bytes), Err(expected.clone()));
        }
    }
}
