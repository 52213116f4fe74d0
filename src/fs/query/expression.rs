//! Expressions as text, their names and values behind placeholders, so that no name can be a reserved word.
//!
//! ```text
//! #pk :pk  #sk :sk  #pk1 …     the key condition
//! #a1 …                        the projection
//! #f1 :f1 …                    the filter
//! ```

use super::show::show_range;

use crate::expr::SortRange;
use crate::fs::prelude::*;
use crate::model::{PathElement, api::Placeholders};
use std::collections::BTreeMap;

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
    pub fn placeholders(self) -> Placeholders {
        Placeholders::of(self.names, self.values)
    }

    fn value(&mut self, tag: &str, value: &AttributeValue) -> String {
        let placeholder = format!(":{tag}");
        self.values.insert(placeholder.clone(), value.clone());
        placeholder
    }

    /// A condition on the key attribute of that name.
    pub fn condition(&mut self, tag: &str, attribute: &str, range: &SortRange) -> String {
        let name = format!("#{tag}");
        self.names.insert(name.clone(), attribute.to_owned());
        match range {
            SortRange::Between(lower, upper) => {
                let bounds = [self.value(&format!("{tag}_from"), lower), self.value(&format!("{tag}_to"), upper)];
                show_range(&name, range, &bounds)
            }
            _ => {
                let values: Vec<String> = range.values().map(|value| self.value(tag, value)).collect();
                show_range(&name, range, &values)
            }
        }
    }

    /// A projection of these paths.
    pub fn projection(&mut self, paths: &[DocumentPath]) -> String {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut placeholder = |name: &str| {
            let next = numbers.len() + 1;
            let number = *numbers.entry(name.to_owned()).or_insert(next);
            let placeholder = format!("#a{number}");
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
            let placeholder = format!("#f{number}");
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
