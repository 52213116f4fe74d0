//! What is counted of the items of a pattern.

use super::attributes::Attributes;
use super::sizes::Sizes;
use crate::model::Key;

/// The items whose keys look alike.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub partition: String,
    /// `None` where the table has no sort key.
    pub sort: Option<String>,
    pub shape: Shape,
}

/// What is counted of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// DynamoDB sizes, without overhead.
    pub sizes: Sizes,
    pub attributes: Attributes,
    /// For each index of the schema, in its order: the items that have all its key attributes with its types.
    pub indexes: Vec<u64>,
    /// One of them.
    pub example: Key,
}

impl Shape {
    #[must_use]
    pub fn new(indexes: usize, example: Key) -> Self {
        Self { sizes: Sizes::default(), attributes: Attributes::default(), indexes: vec![0; indexes], example }
    }

    /// The items of another pattern, too.
    pub fn merge(&mut self, other: &Self) {
        self.sizes.merge(&other.sizes);
        self.attributes.merge(&other.attributes);
        self.indexes.iter_mut().zip(&other.indexes).for_each(|(own, others)| *own += others);
    }
}
