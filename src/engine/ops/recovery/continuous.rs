//! UpdateContinuousBackups, DescribeContinuousBackups: the switch, and the window that can be restored (docs/dynamodb.md 20.2).

use super::table_of;
use crate::codec::calendar;
use crate::engine::catalog::TableEntry;
use crate::engine::jobs;
use crate::engine::runtime::{Engine, Transaction};
use crate::model::api::Version;
use crate::model::api::backup::{RecoveryWindow, UpdateContinuousBackupsRequest};
use crate::model::api::table_control::PointInTimeRecovery;
use crate::model::error::RecoveryError;
use crate::model::{Error, TableName};

/// `RecoveryPeriodInDays` unless another is asked for.
const PERIOD_DAYS: u32 = 35;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const SECOND_MS: u64 = 1000;

impl Engine {
    /// Turns recovery on or off, or changes its period; the window now, if it is on.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn update_continuous_backups(&self, request: UpdateContinuousBackupsRequest) -> Result<Option<RecoveryWindow>, Error> {
        self.submit_with_job(move |transaction| {
            let old = table_of(transaction.table(&request.table_name)?, &request.table_name)?;
            let now_ms = transaction.now_ms();
            let recovery = request.recovery.enabled.then(|| {
                let before = old.control.recovery;
                let period = request.recovery.period_days.map(u64::from).or(before.map(|recovery| recovery.period_days));
                PointInTimeRecovery {
                    since_ms: before.map_or(now_ms, |recovery| recovery.since_ms),
                    period_days: period.unwrap_or(u64::from(PERIOD_DAYS)),
                }
            });
            let new = transaction.change_table(&old, |new| new.control.recovery = recovery)?;
            let job = if old.control.recovery.is_some() { jobs::trim(transaction, &new)? } else { None };
            Ok((window(&new, now_ms), job))
        })
    }

    /// The window of recovery, if it is on.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn describe_continuous_backups(&self, name: &TableName) -> Result<Option<RecoveryWindow>, Error> {
        let table = table_of(self.table(name)?, name)?;
        Ok(window(&table, self.shared.now_ms()))
    }
}

/// The times to which a table can be restored: whole seconds from its start on, up to now.
fn window(table: &TableEntry, now_ms: u64) -> Option<RecoveryWindow> {
    let recovery = table.control.recovery?;
    let earliest = earliest_ms(recovery, now_ms);
    Some(RecoveryWindow {
        period_days: recovery.period_days,
        earliest_ms: earliest.next_multiple_of(SECOND_MS),
        latest_ms: now_ms - now_ms % SECOND_MS,
    })
}

/// The first moment of the window, to the millisecond.
fn earliest_ms(recovery: PointInTimeRecovery, now_ms: u64) -> u64 {
    recovery.since_ms.max(now_ms.saturating_sub(recovery.period_days * DAY_MS))
}

/// A moment of a table as a version bound.
pub(in crate::engine) enum Bound {
    At(Version),
    /// The window's ends as texts.
    Outside {
        earliest: String,
        latest: String,
    },
}

/// The version bound of a time in the table's window; of now when there is no time.
pub(in crate::engine) fn bound(transaction: &Transaction<'_>, table: &TableEntry, time_ms: Option<u64>) -> Result<Bound, Error> {
    let unavailable = || RecoveryError::RecoveryUnavailable(table.schema.name.as_str().to_owned());
    let recovery = table.control.recovery.ok_or_else(unavailable)?;
    let now_ms = transaction.now_ms();
    let Some(time_ms) = time_ms else { return Ok(Bound::At(jobs::bound_now(transaction)?)) };
    let earliest = earliest_ms(recovery, now_ms);
    if time_ms < earliest || time_ms > now_ms {
        return Ok(Bound::Outside { earliest: calendar::iso(earliest), latest: calendar::iso(now_ms) });
    }
    Ok(Bound::At(jobs::bound_at(transaction, table.source, time_ms)?))
}
