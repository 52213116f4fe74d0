//! The revision that a change of a resource policy expects.

use crate::model::api::resource::{ResourcePolicy, TableResource};
use crate::model::error::RecoveryError;

/// The expectation that there is no policy yet.
const NO_POLICY: &str = "NO_POLICY";

/// Holds the expectation of a request to the policy that is there.
pub(super) fn expect(
    policy: Option<&ResourcePolicy>,
    expected: Option<&str>,
    resource: &TableResource,
) -> Result<(), RecoveryError> {
    let target = match &resource.stream {
        None => format!("table {}", resource.table_name),
        Some(_) => format!("stream {}", resource.arn),
    };
    let there = policy.map(|policy| policy.revision_id.clone());
    match (expected, there) {
        (None, _) | (Some(NO_POLICY), None) => Ok(()),
        (Some(expected), Some(there)) if there == expected => Ok(()),
        (Some(NO_POLICY), Some(there)) => Err(RecoveryError::PolicyExists { target, there }),
        (Some(expected), Some(there)) => Err(RecoveryError::PolicyRevision { target, expected: expected.to_owned(), there }),
        (Some(expected), None) => Err(RecoveryError::PolicyMissing { target, expected: expected.to_owned() }),
    }
}
