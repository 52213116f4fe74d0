//! Access patterns against keys: which table or index answers a request, by names of attributes.
//! Projections and consistent reads are not looked at.

use crate::expr::conjuncts::{self, Conjunct};
use crate::expr::key_condition::KeySchemaView;
use crate::expr::literals::name_text;
use crate::model::metrics::AccessForm;
use crate::model::{KeyAttribute, TableSchema};

/// The operation and the conditions of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The API's name.
    pub operation: String,
    pub index: Option<String>,
    /// The conditions of key and filter, sorted. The condition of a write is not one of them, as
    /// it finds no item.
    pub conditions: Vec<Conjunct>,
}

impl Pattern {
    /// Returns the pattern of a form; `None` if its text is cut. A request that names no key, as
    /// PutItem and batches, is one with the key of the table.
    #[must_use]
    pub fn of(form: &AccessForm, schema: &TableSchema) -> Option<Self> {
        let mut pattern = Self {
            operation: form.operation.clone(),
            index: form.index.clone(),
            conditions: Vec::new(),
        };
        let (is_read, names) = (pattern.is_read(), schema.key.attributes());
        let filter = form.condition.iter().filter(|_| is_read);
        let mut texts: Vec<String> = form.key_condition.iter().chain(filter).cloned().collect();
        if pattern.is_of_items() && form.key_condition.is_none() {
            texts.extend(names.map(|key| format!("{} = ?", name_text(&key.name))));
        }
        for text in texts {
            pattern.conditions.extend(conjuncts::read(&text)?);
        }
        pattern.conditions.sort();
        Some(pattern)
    }

    /// True if it needs whole keys.
    fn is_of_items(&self) -> bool {
        !matches!(&*self.operation, "Query" | "Scan")
    }

    fn is_read(&self) -> bool {
        !self.is_of_items() || self.operation.contains("Get")
    }
}

/// The key of a table or index, as it is or as tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceKey {
    pub index: Option<String>,
    pub partition: Vec<String>,
    pub sort: Vec<String>,
    /// The partition keys over which one value is spread.
    pub suffixes: u64,
}

/// The way in which a pattern is answered.
#[derive(Debug)]
pub struct Served<'a> {
    pub source: &'a SourceKey,
    /// The conditions on the key, and those that are left as a filter.
    pub key: Vec<&'a Conjunct>,
    pub filter: Vec<&'a Conjunct>,
}

/// Returns the keys of a table and then its indexes.
#[must_use]
pub fn source_keys(schema: &TableSchema) -> Vec<SourceKey> {
    let names = |key: &[KeyAttribute]| key.iter().map(|key| key.name.clone()).collect();
    let indexes = schema.indexes.iter().map(Some);
    let sources = std::iter::once(None).chain(indexes).map(|index| {
        let key = KeySchemaView::for_index(schema, index);
        SourceKey {
            index: index.map(|index| index.name.to_string()),
            partition: names(key.partition),
            sort: names(key.sort),
            suffixes: 1,
        }
    });
    sources.collect()
}

/// Returns the table or index that answers a pattern with the fewest filters, the one that the
/// request names or the first of equals; `None` if it takes a Scan. The first source is the table.
#[must_use]
pub fn serve<'a>(pattern: &'a Pattern, sources: &'a [SourceKey]) -> Option<Served<'a>> {
    let count = if pattern.is_read() { sources.len() } else { 1 };
    let served = sources.iter().take(count).filter_map(|source| {
        let on = |name: &String, is_equality| {
            let is_on = |one: &&Conjunct| {
                one.attribute.as_ref() == Some(name) && one.is_equality == is_equality
            };
            pattern.conditions.iter().find(is_on)
        };
        let equal = source.partition.iter().map(|name| on(name, true));
        let mut key = equal.collect::<Option<Vec<_>>>()?;
        // A key of text alone is that of all items.
        key.first()?;
        for name in &source.sort {
            let equal = on(name, true);
            if equal.is_none() && pattern.is_of_items() {
                return None;
            }
            key.extend(equal.or_else(|| on(name, false)));
            if equal.is_none() {
                break;
            }
        }
        let filter = pattern.conditions.iter().filter(|one| !key.contains(one));
        Some(Served {
            filter: filter.collect(),
            source,
            key,
        })
    });
    served.min_by_key(|served| (served.filter.len(), served.source.index != pattern.index))
}

/// Returns what answers a pattern, on one line: `10 queries of index by-city by city = ?, filter n > ?`.
#[must_use]
pub fn answer(served: Option<&Served<'_>>) -> String {
    let Some(Served {
        source,
        key,
        filter,
    }) = served
    else {
        return "Scan".to_owned();
    };
    let texts = |word: &str, parts: &[&Conjunct]| {
        let texts: Vec<&str> = parts.iter().map(|part| &*part.text).collect();
        format!("{word}{}", texts.join(" AND "))
    };
    let mut text = match &source.index {
        Some(index) => format!("index {index}"),
        None => "table".to_owned(),
    };
    if source.suffixes > 1 {
        text = format!("{} queries of {text}", source.suffixes);
    }
    text += &texts(" by ", key);
    if !filter.is_empty() {
        text += &texts(", filter ", filter);
    }
    text
}
