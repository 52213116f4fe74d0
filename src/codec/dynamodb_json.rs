//! DynamoDB JSON: `{"name":{"S":"…"}}`, the wire's and `X.ddbjson`'s form. (to be written)

use crate::model::Item;

/// Appends the object, attributes by name, no newline.
pub fn write_item(item: &Item, out: &mut Vec<u8>) {
    let _ = (item, out);
    todo!()
}
