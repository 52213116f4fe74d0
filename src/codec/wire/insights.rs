//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights: a switch, and how it stands (docs/dynamodb.md 23.2).

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::members;
use super::names;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::table_description::timestamp;
use crate::codec::json::document::Json;
use crate::model::TableName;
use crate::model::api::insights::{Insights, InsightsMode, InsightsTarget, UpdateInsightsRequest};

const ACCESSED: &str = "ACCESSED_AND_THROTTLED_KEYS";
const THROTTLED: &str = "THROTTLED_KEYS";

static DESCRIBE: Structure = Structure {
    name: "DescribeContributorInsightsInput",
    members: &[Member::new("TableName", Shape::String), Member::new("IndexName", Shape::String).rules(names::NAME_RULES)],
};
static UPDATE: Structure = Structure {
    name: "UpdateContributorInsightsInput",
    members: &[
        Member::new("TableName", Shape::String),
        Member::new("IndexName", Shape::String).rules(names::NAME_RULES),
        Member::new("ContributorInsightsAction", Shape::String).required().rules(&[Rule::OneOf(&["ENABLE", "DISABLE"])]),
        Member::new("ContributorInsightsMode", Shape::String).rules(&[Rule::OneOf(&[ACCESSED, THROTTLED])]),
    ],
};
static LIST: Structure = Structure {
    name: "ListContributorInsightsInput",
    members: &[
        Member::new("TableName", Shape::String),
        Member::new("NextToken", Shape::String),
        Member::new("MaxResults", Shape::Integer).rules(&[Rule::ValueMax(100)]),
    ],
};

/// # Errors
/// Types, constraints, names.
pub fn update_request(json: Json<'_>) -> Result<UpdateInsightsRequest, WireError> {
    let (target, members) = target(json, &UPDATE)?;
    let mode = match members.string("ContributorInsightsMode") {
        Some(THROTTLED) => Some(InsightsMode::ThrottledKeys),
        Some(_) => Some(InsightsMode::AccessedAndThrottledKeys),
        None => None,
    };
    Ok(UpdateInsightsRequest { target, enable: members.string("ContributorInsightsAction") == Some("ENABLE"), mode })
}

/// # Errors
/// Types, constraints, names.
pub fn describe_request(json: Json<'_>) -> Result<InsightsTarget, WireError> {
    Ok(target(json, &DESCRIBE)?.0)
}

fn target<'j>(json: Json<'j>, shape: &'static Structure) -> Result<(InsightsTarget, Members<'j>), WireError> {
    let members = members::typed(json, shape)?;
    let table = names::control_table(members)?;
    members::constrained(json, shape)?;
    Ok((InsightsTarget { table, index: names::index(members)? }, members))
}

/// The table to which the list is confined. The answer is one page: a token leads nowhere.
///
/// # Errors
/// Types, constraints, names.
pub fn list_request(json: Json<'_>) -> Result<Option<TableName>, WireError> {
    let members = members::typed(json, &LIST)?;
    let table = if members.has("TableName") { Some(names::control_table(members)?) } else { None };
    members::constrained(json, &LIST)?;
    Ok(table)
}

/// The answer of an update: what it begins.
#[must_use]
pub fn updated_to_json(insights: &Insights) -> Value {
    let mut out = named(insights);
    let status = if insights.is_enabled { "ENABLING" } else { "DISABLING" };
    // Nothing was to be disabled.
    let status = if insights.changed_ms.is_none() { "DISABLED" } else { status };
    out.insert("ContributorInsightsStatus".to_owned(), json!(status));
    add_mode(insights, &mut out);
    Value::Object(out)
}

#[must_use]
pub fn described_to_json(insights: &Insights) -> Value {
    let mut out = named(insights);
    if insights.is_enabled {
        out.insert("ContributorInsightsRuleList".to_owned(), json!(rules(insights)));
    }
    out.insert("ContributorInsightsStatus".to_owned(), json!(status(insights)));
    if let Some(changed_ms) = insights.changed_ms {
        out.insert("LastUpdateDateTime".to_owned(), timestamp(changed_ms));
    }
    add_mode(insights, &mut out);
    Value::Object(out)
}

#[must_use]
pub fn list_to_json(list: &[Insights]) -> Value {
    let summary = |insights: &Insights| {
        let mut out = named(insights);
        out.insert("ContributorInsightsStatus".to_owned(), json!(status(insights)));
        add_mode(insights, &mut out);
        Value::Object(out)
    };
    json!({ "ContributorInsightsSummaries": list.iter().map(summary).collect::<Vec<_>>() })
}

fn named(insights: &Insights) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("TableName".to_owned(), json!(insights.target.table.as_str()));
    if let Some(index) = &insights.target.index {
        out.insert("IndexName".to_owned(), json!(index.as_str()));
    }
    out
}

fn add_mode(insights: &Insights, out: &mut Map<String, Value>) {
    if let Some(mode) = insights.mode.filter(|_| insights.is_enabled) {
        let name = match mode {
            InsightsMode::AccessedAndThrottledKeys => ACCESSED,
            InsightsMode::ThrottledKeys => THROTTLED,
        };
        out.insert("ContributorInsightsMode".to_owned(), json!(name));
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
