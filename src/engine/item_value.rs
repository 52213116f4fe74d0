//! Checks of a whole item, before any table is looked up (SEMANTICS 2.3, 3.1, 5.2).

use crate::model::error::ValueError;
use crate::model::limits::{ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX, NESTING_LEVELS_MAX};
use crate::model::{AttributeValue, Item};

/// Names, nesting, then size. Sets and numbers are right by construction.
///
/// # Errors
/// [`ValueError`] names the rule that is broken.
pub fn check_item(item: &Item) -> Result<(), ValueError> {
    for (name, value) in &item.0 {
        check_name(name)?;
        check_value(value)?;
    }
    if item.size() > ITEM_BYTES_MAX {
        return Err(ValueError::ItemTooLarge);
    }
    Ok(())
}

/// Nesting first, so that the walk below it is bounded; then the names in it.
///
/// # Errors
/// [`ValueError`] names the rule that is broken.
pub fn check_value(value: &AttributeValue) -> Result<(), ValueError> {
    if value.nesting() > NESTING_LEVELS_MAX {
        return Err(ValueError::Nesting);
    }
    check_names_within(value)
}

fn check_names_within(value: &AttributeValue) -> Result<(), ValueError> {
    match value {
        AttributeValue::L(list) => list.iter().try_for_each(check_names_within),
        AttributeValue::M(map) => map.iter().try_for_each(|(name, value)| {
            check_name(name)?;
            check_names_within(value)
        }),
        _ => Ok(()),
    }
}

fn check_name(name: &str) -> Result<(), ValueError> {
    match name.len() {
        0 => Err(ValueError::EmptyAttributeName),
        1..=ATTRIBUTE_NAME_BYTES_MAX => Ok(()),
        _ => Err(ValueError::AttributeNameTooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> AttributeValue {
        (1..levels).fold(AttributeValue::Null, |inner, _| AttributeValue::L(vec![inner]))
    }

    fn check(item: Item, expected: Result<(), ValueError>) {
        assert_eq!(check_item(&item), expected);
    }

    #[test]
    fn table_of_items() {
        let s = |n: usize| AttributeValue::S("x".repeat(n));
        let map = |name: &str| AttributeValue::M([(name.to_owned(), AttributeValue::Null)].into());
        check(Item::default(), Ok(()));
        check(Item::from([("pk", s(1))]), Ok(()));
        check(Item::from([("", s(1))]), Err(ValueError::EmptyAttributeName));
        check(Item::from([("a", map(""))]), Err(ValueError::EmptyAttributeName));
        let long = "n".repeat(65_536);
        check(Item::from([(&long[..65_535], s(1))]), Ok(()));
        check(Item::from([(&long[..], s(1))]), Err(ValueError::AttributeNameTooLong));
        check(Item::from([("a", map(&long))]), Err(ValueError::AttributeNameTooLong));
        check(Item::from([("a", nested(32))]), Ok(()));
        check(Item::from([("a", nested(33))]), Err(ValueError::Nesting));
        check(Item::from([("pk", s(409_598))]), Ok(()));
        check(Item::from([("pk", s(409_599))]), Err(ValueError::ItemTooLarge));
    }
}
