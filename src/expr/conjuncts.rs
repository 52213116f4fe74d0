//! The AND-ed conditions of a text without values, as a normal form has it or a person writes it:
//! `pk = ? AND begins_with(sk, ?)`. A name needs no placeholder, also where it is a reserved word.

use super::condition;
use super::key_condition::SortRange;
use super::literals::{self, SourceByte};
use super::placeholders::PlaceholderScope;
use super::write::ExpressionWriter;

/// One of the AND-ed conditions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conjunct {
    /// The condition as a normal form has it.
    pub text: String,
    /// Its attribute, if a key condition can be like it.
    pub attribute: Option<String>,
    /// True if the attribute must equal a value.
    pub is_equality: bool,
}

/// Returns the conditions; `None` for a text that is no condition in the dialect of [`literals`],
/// with `?` for a value.
#[must_use]
pub fn read(text: &str) -> Option<Vec<Conjunct>> {
    // Every other part is in backquotes.
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => part.replace('?', "'S'"),
        _ => part.to_owned(),
    });
    let text = parts.collect::<Vec<_>>().join("`");
    let text = literals::condition(&SourceByte::unescaped(&text)).ok()?;
    let scope = &mut PlaceholderScope::new(&text.placeholders);
    let condition = condition::parse(&text.text, scope).ok()?;
    let parts = condition.conjuncts().into_iter().map(|part| {
        let test = part.as_attribute_test();
        let key = test.filter(|(_, predicate, values)| {
            SortRange::from_predicate(*predicate, values).is_some()
        });
        Some(Conjunct {
            text: ExpressionWriter::normal().condition(part).ok()?,
            attribute: key.map(|(name, ..)| name.to_owned()),
            is_equality: part.as_equality().is_some(),
        })
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_values_in_their_conditions() {
        let check = |text: &str, expected: &[(&str, Option<&str>, bool)]| {
            let found = read(text).unwrap_or_else(|| panic!("{text}"));
            let found: Vec<_> = found
                .iter()
                .map(|one| (&*one.text, one.attribute.as_deref(), one.is_equality))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check("pk = ?", &[("pk = ?", Some("pk"), true)]);
        check(
            "status='open' and begins_with ( date,? )",
            &[
                ("status = ?", Some("status"), true),
                ("begins_with(date, ?)", Some("date"), false),
            ],
        );
        check(
            "a-b BETWEEN ? AND ? AND (n > ? OR NOT m.list[3] IN (?, ?)) AND ? < `größe`",
            &[
                ("a-b BETWEEN ? AND ?", Some("a-b"), false),
                ("n > ? OR NOT m.list[3] IN (?)", None, false),
                ("? < größe", Some("größe"), false),
            ],
        );
        check(
            "attribute_type(a, ?) and size(b) > ? and a <> ?",
            &[
                ("attribute_type(a, ?)", None, false),
                ("size(b) > ?", None, false),
                ("a <> ?", None, false),
            ],
        );
        for name in [
            "größe", "名", "not", "NOT", "true", "null", "a b", "a`b", "`", "a?b", "2fa", "a.b",
            "#x", ":v", "size", "and", "In", "status", "-a", "a'b", "a\nb", "$(x)|", "b",
        ] {
            let name = literals::name_text(name);
            let path = format!("{name}.{name}[3] = ? AND NOT contains({name}, ?)");
            for text in [
                &format!("{name} = ?"),
                &format!("{name} BETWEEN ? AND ?"),
                &path,
            ] {
                let found = read(text).unwrap_or_else(|| panic!("{text}"));
                let found: Vec<_> = found.iter().map(|one| &*one.text).collect();
                assert_eq!(&found.join(" AND "), text);
            }
        }
        for text in [
            "",
            "pk",
            "pk = ? and",
            "pk = ? …",
            "#pk = ?",
            "a b = ?",
            "?",
            "\u{1b}[31m",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(read(&"(".repeat(60_000)), None);
    }
}
