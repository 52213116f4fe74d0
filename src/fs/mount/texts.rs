//! Files whose text is made by reading a whole table: `missing.ndjson` and the like. A program asks three times for it, by its name,
//! when it opens it, and for its size: it is made once for all who ask while nothing is committed.

use super::text::Text;

use crate::fs::prelude::*;
use std::time::Instant;

/// How long a text is kept for whoever asks next.
const KEPT: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Made {
    /// What was committed when the making began.
    commit_id: u64,
    at: Instant,
    text: Arc<Text>,
}

/// The texts made of late, by what tells the files from others.
#[derive(Debug, Default)]
pub struct LongTexts {
    made: Mutex<HashMap<String, Arc<Mutex<Option<Made>>>>>,
}

impl LongTexts {
    /// The text as of now. Who asks while somebody else makes it waits.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get(
        &self,
        identity: &str,
        commit_id: impl Fn() -> u64,
        make: impl FnOnce() -> Result<Arc<Text>, FsError>,
    ) -> Result<Arc<Text>, FsError> {
        let place = Arc::clone(self.made.lock().entry(identity.to_owned()).or_default());
        let mut made = place.lock();
        // Before the text is made: a commit during the making makes it old at once, never new too long.
        let now = commit_id();
        if let Some(made) = made.as_ref().filter(|made| made.commit_id == now && made.at.elapsed() < KEPT) {
            return Ok(Arc::clone(&made.text));
        }
        // Its bytes are given back before the next are made: both together may be more than there is.
        *made = None;
        let text = make()?;
        *made = Some(Made { commit_id: now, at: Instant::now(), text: Arc::clone(&text) });
        Ok(text)
    }

    /// Forgets the texts that nobody has asked for in a while.
    pub fn forget_old(&self) {
        let is_old = |made: &Option<Made>| made.as_ref().is_none_or(|made| made.at.elapsed() >= KEPT);
        self.made.lock().retain(|_, place| Arc::strong_count(place) > 1 || !is_old(&place.lock()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::budget::Budget;

    #[test]
    fn a_text_is_made_once_until_something_is_committed() {
        let (texts, budget) = (LongTexts::default(), Budget::new(1 << 20));
        let check = |commit_id: u64, text: &str, expected: &str| {
            let made = texts.get("a", || commit_id, || Text::new(text.as_bytes().to_vec(), &budget)).unwrap();
            assert_eq!(made.bytes, expected.as_bytes());
        };
        check(1, "one", "one");
        check(1, "two", "one");
        check(2, "two", "two");
        texts.forget_old();
        check(2, "three", "two");
        assert_eq!(texts.get("b", || 1, || Err(FsError::NotFound)).unwrap_err(), FsError::NotFound);
        texts.forget_old();
        assert_eq!(texts.made.lock().len(), 1);
    }
}
