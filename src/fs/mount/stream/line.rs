//! A change as a line of JSON:
//!
//! ```text
//! {"seq":"1000…","time":"2026-01-02T03:04:05.678Z","op":"MODIFY","key":{…},"new":{…},"old":{…}}
//! ```
//! Items are plain JSON. `new` and `old` are there when the stream's view type keeps them and the item existed; `"by":"ttl"` when
//! the item's time to live was over. `seq` is text: it has 21 digits, more than a JSON number can be trusted with.

use crate::codec::calendar;
use crate::fs::prelude::*;
use crate::model::api::{Origin, StreamEvent, StreamRecord};

/// Appends the line with its newline.
pub fn write(record: &StreamRecord, out: &mut Vec<u8>) {
    let op = match record.event {
        StreamEvent::Insert => "INSERT",
        StreamEvent::Modify => "MODIFY",
        StreamEvent::Remove => "REMOVE",
    };
    let time = calendar::iso(record.created_ms);
    out.extend_from_slice(format!(r#"{{"seq":"{}","time":"{time}","op":"{op}""#, record.sequence_number).as_bytes());
    match record.origin {
        Origin::Client => {}
        Origin::TimeToLive => out.extend_from_slice(br#","by":"ttl""#),
    }
    let items = [("key", Some(&record.keys)), ("new", record.new_image.as_ref()), ("old", record.old_image.as_ref())];
    for (name, item) in items {
        if let Some(item) = item {
            out.extend_from_slice(format!(r#","{name}":"#).as_bytes());
            write_item(item, out);
        }
    }
    out.extend_from_slice(b"}\n");
}

fn write_item(item: &Item, out: &mut Vec<u8>) {
    plain_json::write_line(item, &[], out);
    // The item's own newline.
    out.pop();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AttributeValue;
    use crate::model::api::{SequenceNumber, StreamViewType};

    #[test]
    fn a_change_is_one_line() {
        let key = Item::from([("pk", AttributeValue::S("u\n1".to_owned()))]);
        let record = StreamRecord {
            event_id: String::new(),
            event: StreamEvent::Remove,
            origin: Origin::TimeToLive,
            sequence_number: SequenceNumber::of(7),
            created_ms: 1_000,
            view_type: StreamViewType::OldImage,
            keys: key.clone(),
            new_image: None,
            old_image: Some(key),
            size_bytes: 1,
        };
        let mut line = Vec::new();
        write(&record, &mut line);
        let expected = r#"{"seq":"100000000000000000007","time":"1970-01-01T00:00:01.000Z","op":"REMOVE","by":"ttl","key":{"pk":"u\n1"},"old":{"pk":"u\n1"}}"#;
        assert_eq!(String::from_utf8(line).unwrap(), format!("{expected}\n"));
    }
}
