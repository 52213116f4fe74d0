//! The error of a clause: the sentence and the hint that `.ddb/errors/last` shows. Sentences that
//! several checks share are made here.

use std::fmt::Display;

use crate::fs::prelude::*;

/// The reason why a name is no clause, or not allowed in this directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClauseFault {
    pub message: String,
    /// Advice how to mend the clause.
    pub hint: String,
}

impl ClauseFault {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Returns the fault of a text that is no value of this attribute.
    pub fn value(attribute: &str, fault: impl Display) -> Self {
        Self::new(format!("{attribute}: {fault}"), "write bytes as %XX")
    }

    pub fn no_value(word: &str, example: &str) -> Self {
        Self::new(
            format!("{word} needs a value"),
            format!("for example {example}"),
        )
    }

    /// Returns the fault of a clause, or a part of one, that is too much.
    pub fn surplus(message: String) -> Self {
        Self::new(
            message,
            "leave one out; the order of clauses does not matter",
        )
    }

    pub fn unwanted_value(word: &str) -> Self {
        Self::surplus(format!("{word} takes no value"))
    }

    pub fn not_on_scan(what: &str) -> Self {
        Self::new(
            format!("{what} does not work on a scan"),
            "use query/ beside scan/",
        )
    }

    pub fn several_requests(what: &str) -> Self {
        Self::new(
            format!("{what} stands for one request, but @pk.shards makes several"),
            "read items.ndjson, or query one shard: @pk=<prefix><number>",
        )
    }

    pub fn not_projected(index: &str, attribute: &str) -> Self {
        Self::new(
            format!("index {index} does not project {attribute}"),
            format!("schema.json of {index} says what it projects; or query the table"),
        )
    }

    /// Returns the fault of a position token that is malformed or belongs to another query.
    pub fn token(message: &str) -> Self {
        Self::new(
            message,
            "use the value of next of page.json, below the same clauses",
        )
    }
}

impl From<ClauseFault> for FsError {
    fn from(fault: ClauseFault) -> Self {
        Self::Clause {
            message: fault.message,
            hint: fault.hint,
        }
    }
}
