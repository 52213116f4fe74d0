//! The printer of resolved expressions: conditions, key conditions and projections as text again,
//! for a remote service over the API. Names and values are behind placeholders, so that no name can
//! be a reserved word.

use std::collections::BTreeMap;

use super::condition::{Condition, Operand};
use super::key_condition::KeyConditionShape;
use super::literals;
use super::predicate::Predicate;
use super::projection::ProjectionPaths;
use crate::model::api::Placeholders;
use crate::model::{AttributeValue, DocumentPath, Error};

/// Writes the expressions of one request; a name is one placeholder in all of them.
#[derive(Debug, Default)]
pub struct ExpressionWriter {
    /// A text before `n` or `v` and the number of each placeholder, to keep it apart from those of
    /// another writer.
    mark: &'static str,
    /// Numbers by name.
    names: BTreeMap<String, usize>,
    values: Vec<AttributeValue>,
    /// True for a normal form: names stand as in [`literals`], and each value is `?`.
    is_normal: bool,
}

impl ExpressionWriter {
    /// Makes a writer of normal forms.
    pub(super) fn normal() -> Self {
        Self {
            is_normal: true,
            ..Self::default()
        }
    }

    /// Makes a writer for placeholders that stand beside those of others: `mark` is in all of them.
    #[must_use]
    pub fn with_mark(mark: &'static str) -> Self {
        Self {
            mark,
            ..Self::default()
        }
    }

    /// Returns the placeholders of the expressions.
    #[must_use]
    pub fn placeholders(self) -> Placeholders {
        let mark = self.mark;
        let names: BTreeMap<_, _> = self
            .names
            .into_iter()
            .map(|(name, number)| (format!("#{mark}n{number}"), name))
            .collect();
        let values = self
            .values
            .into_iter()
            .enumerate()
            .map(|(number, value)| (format!(":{mark}v{number}"), value));
        Placeholders::new(names, values.collect())
    }

    fn name(&mut self, name: &str) -> String {
        if self.is_normal {
            return literals::name_text(name);
        }
        let next = self.names.len();
        let number = *self.names.entry(name.to_owned()).or_insert(next);
        format!("#{}n{number}", self.mark)
    }

    fn value(&mut self, value: &AttributeValue) -> String {
        if self.is_normal {
            return "?".to_owned();
        }
        self.values.push(value.clone());
        format!(":{}v{}", self.mark, self.values.len() - 1)
    }

    pub(super) fn path(&mut self, path: &DocumentPath) -> String {
        path.to_text_with(|name| self.name(name))
    }

    /// Writes a ProjectionExpression.
    pub fn projection(&mut self, projection: &ProjectionPaths) -> String {
        projection
            .paths()
            .iter()
            .map(|path| self.path(path))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Writes a KeyConditionExpression.
    ///
    /// # Errors
    /// `Unavailable` for an operator that finds no key.
    pub fn key_condition(&mut self, shape: &KeyConditionShape) -> Result<String, Error> {
        let conditions = shape.conditions().map(|(name, range)| {
            range
                .map(|range| range.condition(name))
                .ok_or(Error::Unavailable("a key is not found by this operator"))
        });
        let all = conditions.collect::<Result<Vec<_>, _>>()?;
        self.join(&all, " AND ", |_| false)
    }

    /// Writes a ConditionExpression or FilterExpression.
    ///
    /// # Errors
    /// `Unavailable` for a comparison with a condition, which only PartiQL has.
    pub fn condition(&mut self, condition: &Condition) -> Result<String, Error> {
        Ok(match condition {
            Condition::Test(predicate, operands) => {
                let mut operands = operands
                    .iter()
                    .map(|operand| self.operand(operand))
                    .collect::<Result<Vec<_>, _>>()?;
                if self.is_normal && *predicate == Predicate::In {
                    // Lists of any length are one form.
                    operands.dedup();
                }
                predicate.text(&operands)
            }
            Condition::And(list) => {
                self.join(list, " AND ", |part| matches!(part, Condition::Or(_)))?
            }
            Condition::Or(list) => self.join(list, " OR ", |_| false)?,
            Condition::Not(inner) => {
                let is_simple = !matches!(
                    **inner,
                    Condition::And(_) | Condition::Or(_) | Condition::Not(_)
                );
                let inner = self.condition(inner)?;
                if is_simple {
                    format!("NOT {inner}")
                } else {
                    format!("NOT ({inner})")
                }
            }
        })
    }

    fn join(
        &mut self,
        list: &[Condition],
        word: &str,
        needs_parentheses: fn(&Condition) -> bool,
    ) -> Result<String, Error> {
        let parts = list.iter().map(|part| {
            let text = self.condition(part)?;
            Ok(if needs_parentheses(part) {
                format!("({text})")
            } else {
                text
            })
        });
        Ok(parts.collect::<Result<Vec<_>, Error>>()?.join(word))
    }

    fn operand(&mut self, operand: &Operand) -> Result<String, Error> {
        Ok(match operand {
            Operand::Path(path) => self.path(path),
            Operand::Value(value) => self.value(value),
            Operand::Size(inner) => format!("size({})", self.operand(inner)?),
            Operand::Truth(condition) if self.is_normal => {
                format!("({})", self.condition(condition)?)
            }
            Operand::Truth(_) => {
                return Err(Error::Unavailable("only PartiQL compares with a condition"));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::key_condition::SortRange;
    use crate::expr::placeholders::PlaceholderScope;
    use crate::expr::{condition, projection};
    use crate::model::error::expression::ExpressionParameter;

    fn given() -> Placeholders {
        let names = [
            ("#a".to_owned(), "size".to_owned()),
            ("#d".to_owned(), "a.b".to_owned()),
        ];
        let values = [
            (":s".to_owned(), AttributeValue::S("x".to_owned())),
            (":t".to_owned(), AttributeValue::S("S".to_owned())),
        ];
        Placeholders {
            names: Some(names.into()),
            values: Some(values.into()),
        }
    }

    fn parsed(text: &str, placeholders: &Placeholders) -> Condition {
        let parameter = ExpressionParameter::Condition;
        condition::parse_parameter(text, parameter, &mut PlaceholderScope::new(placeholders))
            .unwrap()
    }

    #[test]
    fn what_is_written_reads_back_as_it_was() {
        for text in [
            "#a = :s",
            "#a = :s AND (b <> :s OR NOT c < :s) AND d >= :s",
            "#a = :s OR b = :s AND c = :s",
            "NOT (#a = :s AND b = :s) OR NOT (NOT c = :s)",
            "a.#d[3].c BETWEEN :t AND :s AND #a IN (:s, b, :t)",
            "attribute_exists(#d) OR attribute_not_exists(x[0][1]) OR attribute_type(a, :t)",
            "begins_with(#a, :s) AND contains(b, :s) AND size(c) > size(d)",
        ] {
            let condition = parsed(text, &given());
            let mut writer = ExpressionWriter::with_mark("_");
            let written = writer.condition(&condition).unwrap();
            assert_eq!(
                parsed(&written, &writer.placeholders()),
                condition,
                "{text} became {written}"
            );
        }
    }

    #[test]
    fn a_name_is_one_placeholder_in_all_expressions() {
        let paths =
            projection::parse("#a, b.#d[2], b.c", &mut PlaceholderScope::new(&given())).unwrap();
        let key = KeyConditionShape::new([
            (
                "size".to_owned(),
                SortRange::Equal(AttributeValue::S("x".to_owned())),
            ),
            (
                "c".to_owned(),
                SortRange::BeginsWith(AttributeValue::S("y".to_owned())),
            ),
        ]);
        let mut writer = ExpressionWriter::default();
        assert_eq!(
            writer.key_condition(&key).unwrap(),
            "#n0 = :v0 AND begins_with(#n1, :v1)"
        );
        assert_eq!(writer.projection(&paths), "#n0, #n2.#n3[2], #n2.#n1");
        let names: Vec<(String, String)> =
            writer.placeholders().names.unwrap().into_iter().collect();
        let expected = [("#n0", "size"), ("#n1", "c"), ("#n2", "b"), ("#n3", "a.b")];
        assert_eq!(
            names,
            expected.map(|(alias, name)| (alias.to_owned(), name.to_owned()))
        );
    }
}
