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
    /// A sentence or two with the numbers.
    pub finding: String,
    /// The rule, and where DynamoDB's documentation has it.
    pub rule: &'static str,
    /// What to do. Paths are of the mount's root.
    pub remedy: String,
}
