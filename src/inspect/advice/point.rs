//! One point of advice, and how much it matters.

/// How much a point matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It will throttle, fail or cost a multiple under load.
    Warning,
    /// Cheaper or safer another way.
    Hint,
    /// Good to know.
    Note,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    pub level: Level,
    /// `table Orders`, `index by-status`
    pub subject: String,
    /// One sentence with the numbers.
    pub finding: String,
    /// The rule, and where DynamoDB's documentation has it.
    pub rule: &'static str,
    /// What to do.
    pub remedy: String,
}

/// `1 item`, `2 items`, `2 indexes`.
pub fn plural(count: u64, word: &str) -> String {
    match (count, word.ends_with('x')) {
        (1, _) => format!("1 {word}"),
        (_, true) => format!("{count} {word}es"),
        (_, false) => format!("{count} {word}s"),
    }
}
