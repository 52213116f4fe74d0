//! A request in its caller's own words, for another service: it knows members and operations that are known nowhere here.

/// The request of an operation as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbatimRequest {
    /// `GetItem`
    pub operation: &'static str,
    /// A JSON object.
    pub body: Vec<u8>,
}
