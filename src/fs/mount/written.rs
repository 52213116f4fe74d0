//! `-o keep_text`: the texts that programs wrote, by the item and the version that each of them made. As long as an item is of that version
//! its file is that text, byte for byte. Memory is bounded, and the oldest go: their items are shown as all others are.

use crate::fs::prelude::*;
use crate::fs::recent::Weighed;

/// Bytes of all texts and of what keeps them.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes that a text costs beside its own.
const ENTRY_BYTES: usize = 128;

/// An item, by the number that it has for the view, and a version of it.
pub type Written = (u64, Version);

/// See the module.
#[derive(Debug, Default)]
pub struct WrittenTexts {
    texts: Mutex<Weighed<Written, Arc<Vec<u8>>, { usize::MAX }, BYTES_MAX>>,
}

impl WrittenTexts {
    /// This text made that version.
    pub fn keep(&self, written: Written, text: &[u8]) {
        self.texts.lock().keep(written, Arc::new(text.to_vec()), text.len() + ENTRY_BYTES);
    }

    pub fn get(&self, written: Written) -> Option<Arc<Vec<u8>>> {
        self.texts.lock().get(&written).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let written = WrittenTexts::default();
        let text = vec![b'x'; 1024 * 1024];
        (0..200).for_each(|version| written.keep((1, version), &text));
        (0..50).for_each(|_| written.keep((1, 199), b"{}"));
        assert!(written.get((1, 0)).is_none() && written.get((2, 199)).is_none());
        assert_eq!(written.get((1, 199)).as_deref().map(Vec::as_slice), Some(&b"{}"[..]));
        let texts = written.texts.lock();
        let held: usize = texts.values().map(|text| text.len() + ENTRY_BYTES).sum();
        assert!(texts.bytes() == held && held <= BYTES_MAX && held > BYTES_MAX / 2, "{held} of {}", texts.bytes());
    }
}
