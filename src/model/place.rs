//! Where entries lie: in the order of a hash of the partition key, in a collection by sort key.

/// A range of hash positions, and in one collection of sort keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceRange {
    /// Digest of the partition key and, inside a collection, the order there.
    pub from: Vec<u8>,
    /// The first place behind; `None` is the end of the hash space.
    pub to: Option<Vec<u8>>,
}

impl PlaceRange {
    /// A whole collection, of a digest.
    #[must_use]
    pub fn of_collection(digest: [u8; 16]) -> Self {
        let next = u128::from_be_bytes(digest).checked_add(1).map(|next| next.to_be_bytes().to_vec());
        Self { from: digest.to_vec(), to: next }
    }

    /// The part that it has of the collection of a digest; `None` unless one of its ends is inside the collection.
    #[must_use]
    pub fn part_of(&self, digest: [u8; 16]) -> Option<Self> {
        let whole = Self::of_collection(digest);
        let is_inside = |place: &&Vec<u8>| **place > whole.from && whole.to.as_ref().is_none_or(|next| *place < next);
        let (from, to) = (Some(&self.from).filter(is_inside), self.to.as_ref().filter(is_inside));
        let is_cut = from.is_some() || to.is_some();
        is_cut.then(|| Self { from: from.unwrap_or(&whole.from).clone(), to: to.or(whole.to.as_ref()).cloned() })
    }
}
