//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights
//! (docs/dynamodb.md 23.2): they switch the counting of single items and report the switch. The
//! most accessed and most throttled partition keys are always counted (see `engine::meter`) and
//! shown in `partitions/hot.tsv`. Single items, by partition and sort key, are counted while
//! insights are enabled and shown in `partitions/hot-items.tsv`.

use crate::engine::{account, runtime::prelude::*};
use crate::model::{
    api::resource::{
        Insights, InsightsMode, InsightsStatus, InsightsTarget, ListInsightsRequest,
        ListInsightsResponse, ToldInsights, UpdateInsightsRequest,
    },
    error::NotFoundError,
};

impl Engine {
    /// Switches contributor insights on or off; a switch that is off already stays unchanged.
    /// Returns the transition that begins.
    ///
    /// # Errors
    /// `TableNotFound`, `NotFound` for an index; also errors of the store.
    pub fn update_insights(&self, request: UpdateInsightsRequest) -> Result<ToldInsights, Error> {
        let updated = self.write_insights(request)?;
        let view = self.view()?;
        let (table, source) = find_target(view.table(&updated.target.table)?, &updated.target)?;
        // If another request switches at the same time, the last commit decides.
        let meter = view.meter().source(view.read(), &table, source)?;
        meter.count_items(account::has_item_insights(view.read(), &table, source)?);
        let status = match (updated.changed_ms, updated.is_enabled) {
            // There was nothing to disable.
            (None, _) => InsightsStatus::Disabled,
            (_, true) => InsightsStatus::Enabling,
            (_, false) => InsightsStatus::Disabling,
        };
        Ok(describe(updated, status))
    }

    fn write_insights(&self, request: UpdateInsightsRequest) -> Result<Insights, Error> {
        self.shared.submit_and_wait(move |transaction| {
            let (table, source) =
                find_target(transaction.table(&request.target.table)?, &request.target)?;
            catalog::require_active(Some(Arc::clone(&table)))?;
            let before =
                account::read_insights(transaction.read(), request.target.clone(), &table, source)?;
            if !request.enable && before.changed_ms.is_none() {
                return Ok(before);
            }
            let mode = request
                .mode
                .or(before.mode)
                .unwrap_or(InsightsMode::AccessedAndThrottledKeys);
            let changed_ms = transaction.now_ms();
            let updated = Insights {
                is_enabled: request.enable,
                mode: Some(mode),
                changed_ms: Some(changed_ms),
                ..before
            };
            account::put_insights(transaction.batch, &updated, source)?;
            Ok(updated)
        })
    }

    /// Returns the settings of a table or index, with its rules if insights are enabled.
    ///
    /// # Errors
    /// `TableNotFound`, `NotFound` for an index; also errors of the store.
    pub fn describe_insights(&self, target: &InsightsTarget) -> Result<ToldInsights, Error> {
        let insights = self.insights(target)?;
        let status = if insights.is_enabled {
            InsightsStatus::Enabled
        } else {
            InsightsStatus::Disabled
        };
        let (rules, changed_ms) = (
            insights.is_enabled.then(|| rules(&insights)),
            insights.changed_ms,
        );
        Ok(ToldInsights {
            rules,
            changed_ms,
            ..describe(insights, status)
        })
    }

    fn insights(&self, target: &InsightsTarget) -> Result<Insights, Error> {
        let view = self.view()?;
        let (table, source) = find_target(view.table(&target.table)?, target)?;
        Ok(account::read_insights(
            view.read(),
            target.clone(),
            &table,
            source,
        )?)
    }

    /// Returns the tables and indexes with insights enabled, in byte order; of one table or of all.
    ///
    /// # Errors
    /// Fails with `TableNotFound`, or with an error of the store.
    pub fn list_insights(
        &self,
        request: &ListInsightsRequest,
    ) -> Result<ListInsightsResponse, Error> {
        let view = self.view()?;
        let names = request.table.as_ref().map_or_else(
            || catalog::all_tables(view.read()),
            |name| Ok(vec![name.clone()]),
        )?;
        let mut summaries = Vec::new();
        for name in names {
            let base = InsightsTarget {
                table: name.clone(),
                index: None,
            };
            let (entry, _) = find_target(view.table(&name)?, &base)?;
            let indexes = entry.indexes().map(|(index, _)| InsightsTarget {
                table: name.clone(),
                index: Some(index.name.clone()),
            });
            for target in std::iter::once(base).chain(indexes) {
                let insights = Some(self.insights(&target)?).filter(|insights| insights.is_enabled);
                summaries
                    .extend(insights.map(|insights| describe(insights, InsightsStatus::Enabled)));
            }
        }
        Ok(ListInsightsResponse { summaries })
    }
}

/// Returns the members that all answers have.
fn describe(insights: Insights, status: InsightsStatus) -> ToldInsights {
    let mode = insights.mode.filter(|_| insights.is_enabled);
    ToldInsights {
        target: insights.target,
        rules: None,
        status,
        changed_ms: None,
        mode,
    }
}

/// Returns the names of the rules: for partition keys, and for single items if there is a sort key;
/// for most accessed and most throttled.
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
    kinds
        .iter()
        .map(|kind| format!("DynamoDBContributorInsights-{kind}-{resource}-{since}"))
        .collect()
}

/// Returns the table and the source of the target in it.
fn find_target(
    table: Option<Arc<TableEntry>>,
    target: &InsightsTarget,
) -> Result<(Arc<TableEntry>, SourceId), Error> {
    let table = catalog::require_table(table, &target.table)?;
    let source = match &target.index {
        None => table.source,
        Some(name) => table.index(name).map(|(_, source)| source).ok_or_else(|| {
            let (index, table) = (name.to_string(), target.table.to_string());
            NotFoundError::IndexOfTable { index, table }
        })?,
    };
    Ok((table, source))
}
