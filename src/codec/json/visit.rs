//! One walk over an item or a record, any number of texts: the walk calls a [`Visitor`], which writes.

use crate::model::number::TEXT_BYTES_MAX;
use crate::model::{AttributeType, AttributeValue, Item};

/// Takes the parts of an item in order. Each value follows its name, or its list's or set's begin.
pub trait Visitor {
    fn item_begin(&mut self);
    fn item_end(&mut self);
    /// Of an attribute or a map's member.
    fn name(&mut self, name: &str);
    fn string(&mut self, text: &str);
    /// Canonical text.
    fn number(&mut self, text: &[u8]);
    fn binary(&mut self, bytes: &[u8]);
    fn boolean(&mut self, value: bool);
    fn null(&mut self);
    /// `kind` is SS, NS or BS.
    fn set_begin(&mut self, kind: AttributeType);
    fn set_string(&mut self, text: &str);
    fn set_number(&mut self, text: &[u8]);
    fn set_binary(&mut self, bytes: &[u8]);
    fn set_end(&mut self);
    fn list_begin(&mut self);
    fn list_end(&mut self);
    /// `tag_like`: the map has exactly one member and its name starts with `$`. The same for its end.
    fn map_begin(&mut self, tag_like: bool);
    fn map_end(&mut self, tag_like: bool);
}

/// The attributes in stored and rendered order: those of `first`, then the others by name.
pub fn ordered<'a>(item: &'a Item, first: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a AttributeValue)> {
    let leading = first.iter().enumerate().filter(|(index, name)| !first[..*index].contains(name));
    let leading = leading.filter_map(|(_, name)| item.0.get_key_value(*name));
    let others = item.0.iter().filter(|(name, _)| !first.contains(&name.as_str()));
    leading.chain(others).map(|(name, value)| (name.as_str(), value))
}

/// Visits an item.
pub fn walk_item(item: &Item, first: &[&str], visitor: &mut impl Visitor) {
    visitor.item_begin();
    for (name, value) in ordered(item, first) {
        visitor.name(name);
        walk_value(value, visitor);
    }
    visitor.item_end();
}

/// Visits a value.
pub fn walk_value(value: &AttributeValue, visitor: &mut impl Visitor) {
    match value {
        AttributeValue::S(text) => visitor.string(text),
        AttributeValue::N(number) => visitor.number(number.text(&mut [0; TEXT_BYTES_MAX]).as_bytes()),
        AttributeValue::B(bytes) => visitor.binary(bytes),
        AttributeValue::Bool(value) => visitor.boolean(*value),
        AttributeValue::Null => visitor.null(),
        AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => walk_set(value, visitor),
        AttributeValue::L(list) => {
            visitor.list_begin();
            for element in list {
                walk_value(element, visitor);
            }
            visitor.list_end();
        }
        AttributeValue::M(map) => {
            let tag_like = map.len() == 1 && map.keys().all(|name| name.starts_with('$'));
            visitor.map_begin(tag_like);
            for (name, member) in map {
                visitor.name(name);
                walk_value(member, visitor);
            }
            visitor.map_end(tag_like);
        }
    }
}

fn walk_set(value: &AttributeValue, visitor: &mut impl Visitor) {
    visitor.set_begin(value.attribute_type());
    match value {
        AttributeValue::Ss(set) => set.iter().for_each(|text| visitor.set_string(text)),
        AttributeValue::Ns(set) => {
            set.iter().for_each(|number| visitor.set_number(number.text(&mut [0; TEXT_BYTES_MAX]).as_bytes()));
        }
        AttributeValue::Bs(set) => set.iter().for_each(|bytes| visitor.set_binary(bytes)),
        _ => {}
    }
    visitor.set_end();
}
