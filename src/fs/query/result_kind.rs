//! The result files by name.

/// The result files. They exist for lookup only and are never listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// Plain JSON, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsNdjson,
    /// A JSON array, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsJson,
    /// DynamoDB JSON, an item a line.
    ItemsDdbJson,
    /// A header and a record an item: see `csv`.
    ItemsCsv,
    /// Base items' paths relative to the table's directory, one a line, safe for `xargs`.
    Keys,
    /// The number of results and a newline.
    Count,
    /// One page of the API: `Items`, `Count`, `ScannedCount`, `next` (for `after=`, or null), `ConsumedCapacity`. One snapshot.
    PageJson,
    /// The token after that page, for `after=`, and a newline; empty when it is the last.
    Next,
    /// The API request, as `aws dynamodb query --cli-input-json` takes it.
    RequestJson,
    /// What the query reads and costs, before it runs.
    ExplainJson,
    /// The units that reading all of it consumes; reading this file runs the query.
    CapacityJson,
    /// How to write these paths, with the table's own attribute names.
    Help,
}

impl ResultKind {
    /// Each with its file's name, and what the help says of it but for itself.
    pub(super) const TABLE: [(Self, &'static str, &'static str); 12] = [
        (Self::ItemsNdjson, "items.ndjson", "an item a line"),
        (Self::ItemsJson, "items.json", "one JSON array"),
        (Self::ItemsDdbJson, "items.ddbjson", "DynamoDB JSON, an item a line"),
        (Self::ItemsCsv, "items.csv", "a header and a line an item; select= names the columns"),
        (Self::Keys, "keys", "paths of the items from the table's directory, a line each"),
        (Self::Count, "count", "how many"),
        (Self::PageJson, "page.json", "one page: Items, Count, ScannedCount, next, ConsumedCapacity"),
        (Self::Next, "next", "the token after that page, for after=; empty after the last"),
        (Self::RequestJson, "request.json", "the API request, for aws --cli-input-json"),
        (Self::ExplainJson, "explain.json", "what it will read and cost, and what would be cheaper"),
        (Self::CapacityJson, "capacity.json", "runs it: capacity units consumed, in all, by table and by index"),
        (Self::Help, "help", ""),
    ];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::TABLE.into_iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| kind)
    }
}
