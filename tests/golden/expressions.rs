//! Expressions without a database: `if`, `project`, `update` and `key`, on an item and with values given before.

use ddbfs::expr::placeholders::PlaceholderScope;
use ddbfs::expr::{KeyConditionShape, KeySchemaView, SortRange, condition, projection, update};
use ddbfs::model::api::Placeholders;
use ddbfs::model::schema::KeyAttributeType;
use ddbfs::model::{AttributeValue, Item, KeyAttribute};

use crate::script;
use crate::support::engine::{json, placeholders_of};
use crate::support::golden_file::parts;

#[derive(Default)]
pub struct Session {
    item: Item,
    values: String,
    /// Of the partition key and of the sort key.
    keys: [Vec<KeyAttribute>; 2],
}

impl script::Session for Session {
    fn answer(&mut self, asked: &str) -> String {
        let (word, rest) = asked.split_once(' ').unwrap_or((asked, ""));
        let rest = format!(" {rest}");
        let answer = match word {
            "item" => return self.begin(|session| session.item = json(&rest)),
            "values" => return self.begin(|session| session.values = rest.trim().to_owned()),
            "keys" => return self.begin(|session| session.keys = keys(&rest)),
            "if" => self.holds(&parts(&rest)),
            "project" => self.project(&parts(&rest)),
            "update" => updated(&parts(&rest)),
            "key" => self.key(&rest),
            _ => panic!("{word}: item, values, keys, if, project, update or key"),
        };
        answer.unwrap_or_else(|error| format!("error: {error}"))
    }
}

impl Session {
    fn begin(&mut self, change: impl FnOnce(&mut Self)) -> String {
        change(self);
        String::new()
    }

    fn holds(&self, [text, values]: &[String; 2]) -> Result<String, String> {
        let placeholders = placeholders_of(values);
        let mut scope = PlaceholderScope::new(&placeholders);
        let condition = condition::parse(text, &mut scope).map_err(|fault| fault.to_string())?;
        scope.finish().map_err(|error| error.to_string())?;
        // What an engine decodes is enough.
        let names = condition.attribute_names();
        let named = Item(
            self.item
                .0
                .clone()
                .into_iter()
                .filter(|(name, _)| names.contains(name.as_str()))
                .collect(),
        );
        assert_eq!(
            condition.holds(&self.item),
            condition.holds(&named),
            "{text}"
        );
        Ok(condition.holds(&self.item).to_string())
    }

    fn project(&self, [text, names]: &[String; 2]) -> Result<String, String> {
        let paths = projection::parse(text, &mut PlaceholderScope::new(&placeholders_of(names)));
        Ok(line(
            &paths.map_err(|error| error.to_string())?.apply(&self.item),
        ))
    }

    fn key(&self, text: &str) -> Result<String, String> {
        let placeholders = placeholders_of(&self.values);
        let shape =
            KeyConditionShape::parse(text.trim(), &mut PlaceholderScope::new(&placeholders));
        let shape = shape.map_err(|error| error.to_string())?;
        let [partition, sort] = &self.keys;
        let condition = shape
            .resolve(KeySchemaView { partition, sort })
            .map_err(|error| error.to_string())?;
        let values = condition
            .partition
            .iter()
            .chain(&condition.sort)
            .map(value)
            .collect::<Vec<_>>()
            .join(" ");
        Ok(condition
            .range
            .as_ref()
            .map_or(values.clone(), |range| format!("{values} {}", shown(range))))
    }
}

/// `pk:S / sk:N`.
fn keys(text: &str) -> [Vec<KeyAttribute>; 2] {
    let mut parts = text
        .split('/')
        .map(|part| part.split_whitespace().map(key_attribute).collect());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

fn key_attribute(text: &str) -> KeyAttribute {
    let (name, letter) = text.split_once(':').expect("name:S");
    let attribute_type = if letter == "N" {
        KeyAttributeType::N
    } else {
        KeyAttributeType::S
    };
    KeyAttribute {
        name: name.to_owned(),
        attribute_type,
    }
}

/// The item afterwards.
fn updated([old, text, values]: &[String; 3]) -> Result<String, String> {
    let placeholders: Placeholders = placeholders_of(values);
    let update = update::parse(text, &mut PlaceholderScope::new(&placeholders))
        .map_err(|error| error.to_string())?;
    update
        .apply(&json(old), true)
        .map(|new| line(&new))
        .map_err(|error| error.to_string())
}

fn line(item: &Item) -> String {
    crate::support::engine::line(item)
}

/// A value as JSON writes it.
fn value(value: &AttributeValue) -> String {
    let line = line(&Item::from([("v", value.clone())]));
    line.trim_start_matches("{\"v\":")
        .trim_end_matches('}')
        .to_owned()
}

fn shown(range: &SortRange) -> String {
    match range {
        SortRange::Equal(bound) => format!("= {}", value(bound)),
        SortRange::Less(bound) => format!("< {}", value(bound)),
        SortRange::LessOrEqual(bound) => format!("<= {}", value(bound)),
        SortRange::Greater(bound) => format!("> {}", value(bound)),
        SortRange::GreaterOrEqual(bound) => format!(">= {}", value(bound)),
        SortRange::Between(lower, upper) => format!("{} to {}", value(lower), value(upper)),
        SortRange::BeginsWith(prefix) => format!("begins with {}", value(prefix)),
    }
}
