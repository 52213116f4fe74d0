//! A stream's definition, which outlives its table.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::base::keys::SourceId;
use crate::engine::base::stored::Stored;
use crate::model::api::{StreamViewType, Version};

/// A stream as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl Stored for Definition {
    const VERSION: u8 = 2;
    const WHAT: &'static str = "a stream's definition";

    /// Version 1 had the key's one or two names as a list.
    fn upgrade(version: u64, mut definition: Value) -> Option<Value> {
        let members = definition.as_object_mut().filter(|_| version == 1)?;
        let names = members.remove("key")?;
        for (member, name) in ["partition", "sort"].into_iter().zip(names.as_array()?) {
            members.insert(member.to_owned(), name.clone());
        }
        Some(definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::base::stored::{decode, encode};
    use crate::model::error::StoreError;

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
    fn the_stored_form_is_fixed_and_that_of_version_1_is_read() {
        let check = |definition: Definition, head: &str, first_key: &str, key: &str, rest: &str| {
            let today = format!(r#"{{"v":2,{head},{key},{rest}}}"#);
            assert_eq!(String::from_utf8(encode(&definition).unwrap()).unwrap(), today);
            assert_eq!(decode(today.as_bytes()), Ok(definition.clone()));
            assert_eq!(decode(format!(r#"{{"v":1,{head},{first_key},{rest}}}"#).as_bytes()), Ok(definition));
        };
        let head = r#""id":7,"view_type":"NEW_AND_OLD_IMAGES","created_ms":17"#;
        let (first_key, key) = (r#""key":["pk","sk"]"#, r#""partition":"pk","sort":"sk""#);
        check(example(), head, first_key, key, r#""first":5,"trimmed":6,"closed":[9,18]"#);
        let open = Definition { sort: None, closed: None, ..example() };
        let (first_key, key) = (r#""key":["pk"]"#, r#""partition":"pk","sort":null"#);
        check(open, head, first_key, key, r#""first":5,"trimmed":6,"closed":null"#);
    }

    #[test]
    fn damage_and_newer_versions_are_told_apart() {
        let damaged = || StoreError::Corrupt(Definition::WHAT);
        let cases: &[(&[u8], StoreError)] =
            &[(b"", damaged()), (b"{}", damaged()), (br#"{"v":1}"#, damaged()), (br#"{"v":3}"#, StoreError::Format(3))];
        for (bytes, expected) in cases {
            assert_eq!(decode::<Definition>(bytes), Err(expected.clone()));
        }
    }
}
