//! Document paths: `a.b[0]`, the way into nested lists and maps. Never a filesystem path.

use std::fmt;

/// A document path with its names resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DocumentPath {
    /// The top-level attribute.
    pub head: String,
    pub rest: Vec<PathElement>,
}

/// A step below the top-level attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathElement {
    /// A map member.
    Name(String),
    /// A list element, from 0.
    Index(usize),
}

impl DocumentPath {
    /// A path of one top-level attribute.
    #[must_use]
    pub fn top_level(name: impl Into<String>) -> Self {
        Self { head: name.into(), rest: Vec::new() }
    }
}

/// As error texts render it: `[a, b, [1]]`.
impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.head)?;
        for element in &self.rest {
            match element {
                PathElement::Name(name) => write!(f, ", {name}")?,
                PathElement::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}
