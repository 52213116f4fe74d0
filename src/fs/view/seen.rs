//! Texts that were read of late, by the version they are of: so that who is refused a write hears which attributes somebody else changed.

use super::notes::NOTES_MAX;

use crate::codec::dynamodb_json;
use crate::fs::open::prelude::*;
use crate::fs::{mount::text::Text, recent::Weighed};

/// Texts kept: nobody is refused a write for a version that is not noted.
const TEXTS_MAX: usize = NOTES_MAX;
/// Bytes of all texts and of what keeps them.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes that a text costs beside its own.
const ENTRY_BYTES: usize = 128;

/// See the module.
#[derive(Debug, Default)]
pub struct Seen {
    texts: Mutex<Weighed<Version, (TextForm, Arc<Text>), TEXTS_MAX, BYTES_MAX>>,
}

impl Seen {
    /// This is the text of that version, which never changes.
    pub fn keep(&self, version: Version, form: TextForm, text: &Arc<Text>) {
        let mut texts = self.texts.lock();
        if texts.get(&version).is_none() {
            texts.keep(version, (form, Arc::clone(text)), text.bytes.len() + ENTRY_BYTES);
        }
    }

    /// Is the text of that version known?
    pub fn has(&self, version: Version) -> bool {
        self.texts.lock().get(&version).is_some()
    }

    /// The item as it was in that version, if it is known.
    pub fn item(&self, version: Version) -> Option<Item> {
        let (form, text) = self.texts.lock().get(&version).cloned()?;
        match form {
            TextForm::PlainJson => plain_json::parse(&text.bytes).ok(),
            TextForm::DynamoDbJson => dynamodb_json::parse(&text.bytes).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::budget::Budget;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let seen = Seen::default();
        let text = format!("{{\"a\":\"{}\"}}", "x".repeat(100 * 1024)).into_bytes();
        let text = Text::new(text, &Budget::new(1 << 20)).unwrap();
        (0..1_000).for_each(|version| seen.keep(version, TextForm::PlainJson, &text));
        let (count, bytes) = {
            let texts = seen.texts.lock();
            (texts.len(), texts.bytes())
        };
        assert!(bytes <= BYTES_MAX && count > 10, "{count} texts of {bytes} bytes");
        assert!(seen.item(0).is_none() && seen.item(999).is_some());
        (1_000..1_000 + 2 * TEXTS_MAX as u64).for_each(|version| seen.keep(version, TextForm::PlainJson, &Arc::default()));
        let texts = seen.texts.lock();
        assert_eq!((texts.len(), texts.bytes()), (TEXTS_MAX, TEXTS_MAX * ENTRY_BYTES));
    }
}
