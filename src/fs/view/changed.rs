//! What a write that is refused hears: what somebody else made of the item since it was read, and who that was.

use std::fmt;

use super::View;
use crate::fs::error::what_to_do;
use crate::fs::open::prelude::*;
use crate::fs::source::entry::item_number;

/// Attributes that are named in one part of the sentence.
const NAMES_MAX: usize = 6;

/// Which attributes are not the same.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference<'i> {
    changed: Vec<&'i str>,
    added: Vec<&'i str>,
    removed: Vec<&'i str>,
}

impl View {
    /// The lines of `.ddb/errors/last` below the first for a write that was held against a version that is not there any more.
    pub(super) fn stale_report(&self, error: &FsError, item: (&TableName, &Key), since: Version, unchanged: &str) -> String {
        let (table, key) = item;
        let entry = EntryKey { index: None, base: key.clone() };
        let Ok(now) = self.mount.db.text(&base(table), &entry, TextForm::PlainJson) else {
            return format!("  {error}\n  hint: {} {unchanged}\n", what_to_do(error));
        };
        let writer = self.reads.writer(item_number(table, key), now.as_ref().map(|(_, stat)| stat.version));
        let writer = writer.map_or("somebody else".to_owned(), |writer| format!("{} (process {})", writer.name, writer.process.id));
        let Some((text, _)) = now else { return deleted_report(&writer) };
        let told = match error {
            FsError::OtherVersion => error.to_string(),
            _ => format!("the item was changed by {writer} since it was read"),
        };
        let what = self.what_differs(table, since, &text).map(|what| format!(": {what}")).unwrap_or_default();
        format!("  {told}{what}\n  hint: {} {unchanged}\n", what_to_do(error))
    }

    /// Which attributes of an item's text are not those of an earlier version, if that is known.
    fn what_differs(&self, table: &TableName, since: Version, text: &[u8]) -> Option<String> {
        let (before, after) = (self.seen.item(since)?, plain_json::parse(text).ok()?);
        let schema = self.mount.schema(table).ok()?;
        let is_key = |name: &str| schema.key.attributes().any(|key| key.name == name);
        Some(Difference::of(&before, &after, &is_key).to_string())
    }
}

fn deleted_report(writer: &str) -> String {
    let hint = "write the text to a new file of that name; with -o lww the last writer wins. The item stays deleted.";
    format!("  the item was deleted by {writer} since it was read\n  hint: {hint}\n")
}

impl<'i> Difference<'i> {
    /// A written text may lack the attributes of the key, which the name says.
    fn of(before: &'i Item, after: &'i Item, is_key: &dyn Fn(&str) -> bool) -> Self {
        let mut difference = Self::default();
        for (name, value) in after.0.iter().filter(|(name, _)| !is_key(name)) {
            match before.get(name) {
                None => difference.added.push(name),
                Some(old) if old != value => difference.changed.push(name),
                Some(_) => {}
            }
        }
        let removed = before.0.keys().filter(|name| !is_key(name) && after.get(name).is_none());
        difference.removed.extend(removed.map(String::as_str));
        difference
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("another value", &self.changed), ("new", &self.added), ("gone", &self.removed)];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty()).map(|(what, names)| {
            let more = names.len().saturating_sub(NAMES_MAX);
            let shown = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
            if more == 0 { format!("{what}: {shown}") } else { format!("{what}: {shown} and {more} more") }
        });
        let parts: Vec<String> = parts.collect();
        f.write_str(&if parts.is_empty() { "nothing differs any more".to_owned() } else { parts.join("; ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_told_by_what_became_of_them() {
        let check = |before: &str, after: &str, expected: &str| {
            let item = |text: &str| plain_json::parse(text.as_bytes()).unwrap();
            let (before, after) = (item(before), item(after));
            assert_eq!(Difference::of(&before, &after, &|name| name == "id").to_string(), expected);
        };
        check(r#"{"a":1,"b":1,"c":1}"#, r#"{"id":"x","a":2,"b":1,"d":1}"#, "another value: a; new: d; gone: c");
        check(r#"{"a":1}"#, r#"{"id":"x","a":1.0}"#, "nothing differs any more");
        check("{}", r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#, "new: a, b, c, d, e, f and 2 more");
    }
}
