//! The stored form of what control operations keep of a table: a JSON object of the members that are there.
//!
//! ```text
//! {"throughput":[increased,decreased,decreases],"indexes":{"name":[…]},"on_demand_since_ms":1,"class_changed_ms":1,"changed_ms":1,
//!  "policy_revision":1,"recovery":[since,days],"restored":[backup,table,time,in_progress],"readers":1,
//!  "queries":{"name":["link" or "request",text,modified]}}
//! ```

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::model::api::TableControl;
use crate::model::api::common::Failure;
use crate::model::api::saved_query::{SavedForm, SavedQuery};
use crate::model::api::table_control::{PointInTimeRecovery, RestoreSummary, ThroughputHistory};

/// `None` when there is nothing to keep.
pub fn encode(control: &TableControl) -> Option<Value> {
    let mut out = Map::new();
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    add("throughput", history(&control.throughput));
    let indexes: Map<String, Value> = control.indexes.iter().filter_map(|(name, of)| Some((name.clone(), history(of)?))).collect();
    add("indexes", (!indexes.is_empty()).then_some(Value::Object(indexes)));
    add("on_demand_since_ms", control.on_demand_since_ms.map(Value::from));
    add("class_changed_ms", control.class_changed_ms.map(Value::from));
    add("changed_ms", control.changed_ms.map(Value::from));
    add("policy_revision", control.policy_revision.map(Value::from));
    add("recovery", control.recovery.map(|recovery| json!([recovery.since_ms, recovery.period_days])));
    let restored = |of: &RestoreSummary| {
        let (code, message) = of.failure.as_ref().map(|failure| (&failure.code, &failure.message)).unzip();
        json!([of.source_backup_arn, of.source_table_arn, of.restore_ms, of.is_in_progress, code, message])
    };
    add("restored", control.restored.as_ref().map(restored));
    if control.readers > 0 {
        out.insert("readers".to_owned(), json!(control.readers));
    }
    let queries = |of: (&String, &SavedQuery)| {
        let (kind, text) = match &of.1.form {
            SavedForm::Link(target) => (LINK, target),
            SavedForm::Request(text) => (REQUEST, text),
        };
        (of.0.clone(), json!([kind, text, of.1.modified_ms]))
    };
    if !control.saved_queries.is_empty() {
        out.insert("queries".to_owned(), Value::Object(control.saved_queries.iter().map(queries).collect()));
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Forms of a saved query.
const LINK: &str = "link";
const REQUEST: &str = "request";

fn saved_query(value: &Value) -> Option<SavedQuery> {
    let text = value.get(1)?.as_str()?.to_owned();
    let form = match value.get(0)?.as_str()? {
        LINK => SavedForm::Link(text),
        REQUEST => SavedForm::Request(text),
        _ => return None,
    };
    Some(SavedQuery { form, modified_ms: value.get(2)?.as_u64()? })
}

fn history(of: &ThroughputHistory) -> Option<Value> {
    (*of != ThroughputHistory::default()).then(|| json!([of.last_increase_ms, of.last_decrease_ms, of.decreases]))
}

/// `None` when the value is none of [`encode`]'s.
pub fn decode(value: &Value) -> Option<TableControl> {
    let optional = |name: &str| value.get(name).filter(|value| !value.is_null());
    let history = |value: &Value| {
        Some(ThroughputHistory {
            last_increase_ms: value.get(0)?.as_u64(),
            last_decrease_ms: value.get(1)?.as_u64(),
            decreases: value.get(2)?.as_u64()?,
        })
    };
    let text = |value: &Value, at: usize| value.get(at).and_then(Value::as_str).map(str::to_owned);
    let recovery =
        |value: &Value| Some(PointInTimeRecovery { since_ms: value.get(0)?.as_u64()?, period_days: value.get(1)?.as_u64()? });
    let restored = |value: &Value| {
        Some(RestoreSummary {
            source_backup_arn: text(value, 0),
            source_table_arn: text(value, 1)?,
            restore_ms: value.get(2)?.as_u64()?,
            is_in_progress: value.get(3)?.as_bool()?,
            failure: text(value, 4).zip(text(value, 5)).map(|(code, message)| Failure { code, message }),
        })
    };
    let indexes = optional("indexes").and_then(Value::as_object).into_iter().flatten();
    Some(TableControl {
        throughput: optional("throughput").map_or(Some(ThroughputHistory::default()), history)?,
        indexes: indexes.map(|(name, of)| Some((name.clone(), history(of)?))).collect::<Option<_>>()?,
        on_demand_since_ms: optional("on_demand_since_ms").and_then(Value::as_u64),
        class_changed_ms: optional("class_changed_ms").and_then(Value::as_u64),
        changed_ms: optional("changed_ms").and_then(Value::as_u64),
        policy_revision: optional("policy_revision").and_then(Value::as_u64),
        recovery: optional("recovery").map(recovery).map_or(Some(None), |found| found.map(Some))?,
        readers: optional("readers").and_then(Value::as_u64).unwrap_or(0),
        saved_queries: {
            let queries = optional("queries").and_then(Value::as_object).into_iter().flatten();
            Arc::new(queries.map(|(name, of)| Some((name.clone(), saved_query(of)?))).collect::<Option<_>>()?)
        },
        restored: optional("restored").map(restored).map_or(Some(None), |found| found.map(Some))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_round_trips() {
        let history = ThroughputHistory { last_increase_ms: Some(1), last_decrease_ms: None, decreases: 2 };
        let full = TableControl {
            throughput: history,
            indexes: [("abc".to_owned(), history)].into(),
            on_demand_since_ms: Some(3),
            class_changed_ms: Some(4),
            changed_ms: Some(8),
            policy_revision: Some(7),
            recovery: Some(PointInTimeRecovery { since_ms: 5, period_days: 35 }),
            restored: Some(RestoreSummary {
                source_backup_arn: None,
                source_table_arn: "arn".to_owned(),
                restore_ms: 6,
                is_in_progress: true,
                failure: None,
            }),
            readers: 2,
            saved_queries: Arc::new(
                [SavedForm::Link("../query/@pk=é".to_owned()), SavedForm::Request("{}\n".to_owned())]
                    .map(|form| (format!("{form:?}"), SavedQuery { form, modified_ms: 9 }))
                    .into(),
            ),
        };
        assert_eq!(encode(&full).as_ref().and_then(decode), Some(full));
        assert_eq!(encode(&TableControl::default()), None);
        assert_eq!(decode(&json!({})), Some(TableControl::default()));
    }
}
