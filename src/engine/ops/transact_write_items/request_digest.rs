//! The digest of a transaction's actions, by which the same request is known again.
//!
//! Every part is written with its length before it, so that different requests are different bytes. What a request asks to be
//! reported is no part of it.

use crate::codec::digest::{Digest, digest};
use crate::codec::dynamodb_json;
use crate::model::api::{ConditionParameter, TransactAction, TransactWrite};
use crate::model::{AttributeValue, Item};

/// The digest of these actions.
pub fn of(actions: &[TransactWrite]) -> Digest {
    let mut out = Vec::new();
    for write in actions {
        part(write.table_name.as_str().as_bytes(), &mut out);
        match &write.action {
            TransactAction::ConditionCheck { key } => item(b"check", key, &mut out),
            TransactAction::Put { item: new } => item(b"put", new, &mut out),
            TransactAction::Delete { key } => item(b"delete", key, &mut out),
            TransactAction::Update { key, update_expression } => {
                item(b"update", key, &mut out);
                part(update_expression.as_bytes(), &mut out);
            }
        }
        match &write.condition {
            ConditionParameter::None => part(b"no condition", &mut out),
            ConditionParameter::Expression(text) => {
                part(b"condition", &mut out);
                part(text.as_bytes(), &mut out);
            }
            ConditionParameter::Legacy(conditions) => {
                part(b"conditions", &mut out);
                part(format!("{conditions:?}").as_bytes(), &mut out);
            }
        }
        placeholders(write, &mut out);
        part(&[u8::from(write.return_old_on_condition_failure)], &mut out);
    }
    digest(&out)
}

fn placeholders(write: &TransactWrite, out: &mut Vec<u8>) {
    let names = write.placeholders.names.iter().flatten();
    names.for_each(|(alias, name)| [alias, name].into_iter().for_each(|text| part(text.as_bytes(), out)));
    let values = write.placeholders.values.iter().flatten();
    let value = |value: &AttributeValue| Item::from([("", value.clone())]);
    values.for_each(|(alias, given)| item(alias.as_bytes(), &value(given), out));
}

fn item(what: &[u8], item: &Item, out: &mut Vec<u8>) {
    part(what, out);
    let mut text = Vec::new();
    dynamodb_json::write_item(item, &mut text);
    part(&text, out);
}

fn part(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}
