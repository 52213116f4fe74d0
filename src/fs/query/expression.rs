//! Expressions as text, their names and values behind placeholders, so that no name can be a reserved word.
//!
//! ```text
//! #pk :pk  #sk :sk  #pk1 …     the key condition
//! #a1 …                        the projection
//! #f1 :f1 …                    the filter
//! ```

use std::collections::BTreeMap;

use crate::expr::SortRange;
use crate::model::api::Placeholders;
use crate::model::schema::KeyAttribute;
use crate::model::{AttributeValue, DocumentPath, PathElement};

/// How placeholders of projected names start.
pub(super) const PROJECTED: &str = "#a";
/// How placeholders of filtered names and values start.
pub(super) const FILTERED_NAME: &str = "#f";
pub(super) const FILTERED_VALUE: &str = ":f";

/// Placeholders gathered while expressions are written.
#[derive(Debug, Default)]
pub(super) struct Expression {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
    /// Numbers of the filter's names.
    filtered: BTreeMap<String, usize>,
    filter_values: usize,
}

impl Expression {
    /// `#x` to name.
    pub fn names(&self) -> &BTreeMap<String, String> {
        &self.names
    }

    /// `:x` to value.
    pub fn values(&self) -> &BTreeMap<String, AttributeValue> {
        &self.values
    }

    /// Adds a name behind a placeholder of one's own.
    pub fn name(&mut self, placeholder: String, name: String) {
        self.names.insert(placeholder, name);
    }

    pub fn placeholders(self) -> Placeholders {
        Placeholders {
            names: Some(self.names).filter(|names| !names.is_empty()),
            values: Some(self.values).filter(|values| !values.is_empty()),
        }
    }

    fn value(&mut self, tag: &str, value: &AttributeValue) -> String {
        let placeholder = format!(":{tag}");
        self.values.insert(placeholder.clone(), value.clone());
        placeholder
    }

    /// A condition on a key attribute.
    pub fn condition(&mut self, tag: &str, attribute: &KeyAttribute, condition: &SortRange) -> String {
        let name = format!("#{tag}");
        self.names.insert(name.clone(), attribute.name.clone());
        let (operator, value) = match condition {
            SortRange::Equal(value) => ("=", value),
            SortRange::Less(value) => ("<", value),
            SortRange::LessOrEqual(value) => ("<=", value),
            SortRange::Greater(value) => (">", value),
            SortRange::GreaterOrEqual(value) => (">=", value),
            SortRange::Between(lower, upper) => {
                let (lower, upper) = (self.value(&format!("{tag}_from"), lower), self.value(&format!("{tag}_to"), upper));
                return format!("{name} BETWEEN {lower} AND {upper}");
            }
            SortRange::BeginsWith(prefix) => return format!("begins_with({name}, {})", self.value(tag, prefix)),
        };
        format!("{name} {operator} {}", self.value(tag, value))
    }

    /// A projection of these paths.
    pub fn projection(&mut self, paths: &[DocumentPath]) -> String {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut placeholder = |name: &str| {
            let next = numbers.len() + 1;
            let number = *numbers.entry(name.to_owned()).or_insert(next);
            let placeholder = format!("{PROJECTED}{number}");
            self.names.insert(placeholder.clone(), name.to_owned());
            placeholder
        };
        paths.iter().map(|path| write_path(path, &mut placeholder)).collect::<Vec<_>>().join(", ")
    }

    /// A path in the filter.
    pub fn filter_path(&mut self, path: &DocumentPath) -> String {
        let (numbers, names) = (&mut self.filtered, &mut self.names);
        write_path(path, &mut |name| {
            let next = numbers.len() + 1;
            let number = *numbers.entry(name.to_owned()).or_insert(next);
            let placeholder = format!("{FILTERED_NAME}{number}");
            names.insert(placeholder.clone(), name.to_owned());
            placeholder
        })
    }

    /// A value in the filter.
    pub fn filter_value(&mut self, value: &AttributeValue) -> String {
        self.filter_values += 1;
        self.value(&format!("f{}", self.filter_values), value)
    }
}

fn write_path(path: &DocumentPath, placeholder: &mut dyn FnMut(&str) -> String) -> String {
    let mut text = placeholder(&path.head);
    for element in &path.rest {
        match element {
            PathElement::Name(name) => {
                text.push('.');
                text.push_str(&placeholder(name));
            }
            PathElement::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}
