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
    pub const ALL: [Self; 12] = [
        Self::ItemsNdjson,
        Self::ItemsJson,
        Self::ItemsDdbJson,
        Self::ItemsCsv,
        Self::Keys,
        Self::Count,
        Self::PageJson,
        Self::Next,
        Self::RequestJson,
        Self::ExplainJson,
        Self::CapacityJson,
        Self::Help,
    ];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ItemsNdjson => "items.ndjson",
            Self::ItemsJson => "items.json",
            Self::ItemsDdbJson => "items.ddbjson",
            Self::ItemsCsv => "items.csv",
            Self::Keys => "keys",
            Self::Count => "count",
            Self::PageJson => "page.json",
            Self::Next => "next",
            Self::RequestJson => "request.json",
            Self::ExplainJson => "explain.json",
            Self::CapacityJson => "capacity.json",
            Self::Help => "help",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
