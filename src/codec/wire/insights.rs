//! Contributor insights: a switch, and how it stands (docs/dynamodb.md 23.2).

use crate::model::IndexName;
use serde_json::Value;

use super::declared::*;
use super::table_description::timestamp;
use super::write::object;
use super::{members, names};
use crate::model::api::insights::*;

insights!(wire);

fn check_update(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    names::control_table(members)?;
    members::constrained(json, structure).map(|()| None)
}

/// The answer of an update: what it begins.
#[must_use]
pub fn updated_to_json(insights: &Insights) -> Value {
    let status = match (insights.changed_ms, insights.is_enabled) {
        // Nothing was to be disabled.
        (None, _) => "DISABLED",
        (_, true) => "ENABLING",
        (_, false) => "DISABLING",
    };
    shown(insights, status, None, None)
}

#[must_use]
pub fn described_to_json(insights: &Insights) -> Value {
    shown(insights, status(insights), insights.is_enabled.then(|| rules(insights)), insights.changed_ms)
}

#[must_use]
pub fn list_to_json(list: &[Insights]) -> Value {
    let summary = |insights: &Insights| shown(insights, status(insights), None, None);
    object! { "ContributorInsightsSummaries": list.iter().map(summary).collect::<Value>() }
}

fn shown(insights: &Insights, status: &str, rules: Option<Vec<String>>, changed_ms: Option<u64>) -> Value {
    object! {
        "TableName": insights.target.table.as_str(),
        "IndexName": insights.target.index.as_ref().map(IndexName::as_str),
        "ContributorInsightsRuleList": rules,
        "ContributorInsightsStatus": status,
        "LastUpdateDateTime": changed_ms.map(timestamp),
        "ContributorInsightsMode": insights.mode.filter(|_| insights.is_enabled).map(Word::word),
    }
}

fn status(insights: &Insights) -> &'static str {
    if insights.is_enabled { "ENABLED" } else { "DISABLED" }
}

/// The rules that are kept: of partition keys, and of single items where there is a sort key; accessed and throttled most.
fn rules(insights: &Insights) -> Vec<String> {
    let resource = match &insights.target.index {
        Some(index) => format!("{}-{}", insights.target.table, index),
        None => insights.target.table.to_string(),
    };
    let kinds: &[&str] = match (insights.mode, insights.has_sort_key) {
        (Some(InsightsMode::ThrottledKeys), false) => &["PKT"],
        (Some(InsightsMode::ThrottledKeys), true) => &["PKT", "SKT"],
        (_, false) => &["PKC", "PKT"],
        (_, true) => &["PKC", "PKT", "SKC", "SKT"],
    };
    let since = insights.changed_ms.unwrap_or_default();
    kinds.iter().map(|kind| format!("DynamoDBContributorInsights-{kind}-{resource}-{since}")).collect()
}
