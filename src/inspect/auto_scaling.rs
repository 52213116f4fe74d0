//! Auto scaling, simulated: runs a target-tracking policy of Application Auto Scaling on a recorded
//! load (docs/dynamodb.md 23.3, docs/requirements.md S-02).
//!
//! Two minutes above the target in a row raise the capacity; a quarter of an hour well below it
//! lowers the capacity, as far as the table's quota of decreases allows. Nothing is changed: the
//! policy runs on numbers.

use crate::model::limits::{DECREASE_INTERVAL_MS, FREE_DECREASES};

/// The bounds and the default of a target utilization, in percent.
pub const TARGET_PERCENT_MIN: u32 = 20;
pub const TARGET_PERCENT_MAX: u32 = 90;
pub const TARGET_PERCENT_DEFAULT: u32 = 70;
/// The minutes above the target before the capacity is raised.
const SCALE_OUT_MINUTES: usize = 2;
/// The minutes below the target, less [`SCALE_IN_MARGIN_PERCENT`], before it is lowered.
const SCALE_IN_MINUTES: usize = 15;
const SCALE_IN_MARGIN_PERCENT: f64 = 10.0;
const DECREASE_INTERVAL_MINUTES: u64 = DECREASE_INTERVAL_MS / 60_000;
const DAY_MINUTES: u64 = 24 * 60;
const MINUTE_SECONDS: f64 = 60.0;

/// A policy for the read or the write capacity of a table or index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScalingPolicy {
    /// The least capacity, in units a second.
    pub min: u64,
    pub max: u64,
    pub target_percent: u32,
}

/// A minute of load under a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingMinute {
    /// Minutes since the epoch.
    pub minute: u64,
    /// The mean of the minute, units a second.
    pub consumed: f64,
    /// The capacity in this minute, units a second.
    pub capacity: u64,
    /// The action of the policy at its end.
    pub action: Option<ScalingAction>,
}

/// A change of capacity to this many units a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingAction {
    Raise(u64),
    Lower(u64),
    /// A decrease for which the quota of decreases is used up.
    LowerRefused(u64),
}

impl ScalingMinute {
    /// Returns the used percent of the capacity.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.consumed * 100.0 / self.capacity.max(1) as f64
    }
}

/// Runs the policy on a load: sums of units by minute since the epoch, ascending; absent minutes
/// had none. It begins with `start` units a second.
#[must_use]
pub fn simulate(load: &[(u64, f64)], policy: ScalingPolicy, start: u64) -> Vec<ScalingMinute> {
    let (Some(first), Some(last)) = (load.first(), load.last()) else {
        return Vec::new();
    };
    let mut sums = load.iter().copied().peekable();
    let mut controller = Controller {
        policy,
        capacity: start.clamp(policy.min, policy.max),
        recent: Vec::new(),
        decreases: Vec::new(),
    };
    (first.0..=last.0)
        .map(|minute| {
            // Metrics merged from several files may have a minute more than once.
            let mut sum = 0.0;
            while let Some((_, units)) = sums.next_if(|(of, _)| *of <= minute) {
                sum += units;
            }
            let now = ScalingMinute {
                minute,
                consumed: sum / MINUTE_SECONDS,
                capacity: controller.capacity,
                action: None,
            };
            ScalingMinute {
                action: controller.minute(now),
                ..now
            }
        })
        .collect()
}

struct Controller {
    policy: ScalingPolicy,
    capacity: u64,
    /// Minutes since the last change, oldest first.
    recent: Vec<ScalingMinute>,
    /// The minute of each decrease.
    decreases: Vec<u64>,
}

impl Controller {
    fn minute(&mut self, now: ScalingMinute) -> Option<ScalingAction> {
        self.recent.push(now);
        let target = f64::from(self.policy.target_percent);
        let last = |count: usize| {
            self.recent
                .len()
                .checked_sub(count)
                .map(|from| &self.recent[from..])
        };
        let above = last(SCALE_OUT_MINUTES)
            .is_some_and(|minutes| minutes.iter().all(|minute| minute.utilisation() > target));
        let low = target - SCALE_IN_MARGIN_PERCENT;
        let quiet = last(SCALE_IN_MINUTES)
            .filter(|minutes| minutes.iter().all(|minute| minute.utilisation() < low));
        if above {
            let wanted = self.capacity_for(now.consumed);
            return (wanted > self.capacity)
                .then(|| self.change(wanted, ScalingAction::Raise(wanted)));
        }
        // The busiest of these minutes gives the capacity: by the last one, the next such minute
        // would raise it again.
        let busiest = quiet?
            .iter()
            .map(|minute| minute.consumed)
            .fold(0.0, f64::max);
        let wanted = self.capacity_for(busiest);
        if wanted >= self.capacity {
            return None;
        }
        if !self.may_decrease(now.minute) {
            return Some(ScalingAction::LowerRefused(wanted));
        }
        self.decreases.push(now.minute);
        Some(self.change(wanted, ScalingAction::Lower(wanted)))
    }

    fn change(&mut self, capacity: u64, action: ScalingAction) -> ScalingAction {
        self.capacity = capacity;
        // Earlier minutes say nothing about the new capacity.
        self.recent.clear();
        action
    }

    /// Returns the capacity at which this load is at the target.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn capacity_for(&self, consumed: f64) -> u64 {
        // A cast from float to integer saturates, it never wraps.
        let units = (consumed * 100.0 / f64::from(self.policy.target_percent)).ceil() as u64;
        units.clamp(self.policy.min, self.policy.max)
    }

    /// True if the quota allows a decrease: four in a UTC day are free, a further one needs an hour
    /// since the last.
    fn may_decrease(&mut self, minute: u64) -> bool {
        let day = minute / DAY_MINUTES;
        let today = self
            .decreases
            .iter()
            .filter(|of| **of / DAY_MINUTES == day)
            .count() as u64;
        let since_last = self.decreases.last().map(|last| minute - last);
        today < FREE_DECREASES
            || since_last.is_none_or(|minutes| minutes >= DECREASE_INTERVAL_MINUTES)
    }
}

/// Returns the unit-hours of capacity over the minutes.
#[must_use]
pub fn unit_hours(minutes: &[ScalingMinute]) -> f64 {
    minutes
        .iter()
        .map(|minute| minute.capacity as f64)
        .sum::<f64>()
        / MINUTE_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the units a second of each minute, and the action at its end.
    fn check(load: &[f64], policy: ScalingPolicy, expected: &[(u64, ScalingAction)]) {
        let load: Vec<(u64, f64)> = (0..)
            .zip(load)
            .map(|(minute, units)| (minute, units * MINUTE_SECONDS))
            .collect();
        let done: Vec<(u64, ScalingAction)> = simulate(&load, policy, 10)
            .iter()
            .filter_map(|minute| Some((minute.minute, minute.action?)))
            .collect();
        assert_eq!(done, expected, "{load:?}");
    }

    const POLICY: ScalingPolicy = ScalingPolicy {
        min: 5,
        max: 100,
        target_percent: 70,
    };

    #[test]
    fn two_minutes_above_the_target_raise_it_to_the_target() {
        check(&[7.0, 7.0, 7.0], POLICY, &[]);
        check(&[8.0, 1.0, 8.0], POLICY, &[]);
        check(
            &[8.0, 14.0, 14.0, 14.0],
            POLICY,
            &[(1, ScalingAction::Raise(20))],
        );
        check(
            &[50.0, 500.0, 500.0, 500.0],
            POLICY,
            &[(1, ScalingAction::Raise(100))],
        );
    }

    #[test]
    fn a_quiet_quarter_of_an_hour_lowers_it_to_the_busiest_minute() {
        let mut quiet = vec![4.2; 15];
        check(&quiet[..14], POLICY, &[]);
        check(&quiet, POLICY, &[(14, ScalingAction::Lower(6))]);
        quiet[7] = 6.5;
        check(&quiet, POLICY, &[]);
        check(&[0.0; 15], POLICY, &[(14, ScalingAction::Lower(5))]);
    }

    #[test]
    fn decreases_are_few() {
        // Up and down every 17 minutes: the fifth decrease of the day has to wait for an hour since
        // the fourth.
        let load: Vec<f64> = [[50.0; 2].as_slice(), &[1.0; 15]].concat().repeat(6);
        let load: Vec<(u64, f64)> = (0..)
            .zip(load)
            .map(|(minute, units)| (minute, units * MINUTE_SECONDS))
            .collect();
        let minutes = simulate(&load, POLICY, 10);
        let count = |wanted: fn(&ScalingAction) -> bool| {
            minutes
                .iter()
                .filter_map(|minute| minute.action.as_ref())
                .filter(|a| wanted(a))
                .count()
        };
        assert_eq!(count(|action| matches!(action, ScalingAction::Lower(5))), 4);
        assert!(count(|action| matches!(action, ScalingAction::LowerRefused(5))) > 0);
    }

    #[test]
    fn minutes_that_are_missing_had_no_load() {
        let minutes = simulate(&[(100, 600.0), (103, 60.0), (103, 60.0)], POLICY, 10);
        let consumed: Vec<f64> = minutes.iter().map(|minute| minute.consumed).collect();
        assert_eq!(consumed, [10.0, 0.0, 0.0, 2.0]);
        assert!((unit_hours(&minutes) - 40.0 / 60.0).abs() < 1e-9);
        assert_eq!(simulate(&[], POLICY, 10), []);
    }
}
