//! The time of a signature: whole seconds, written `20150830T123600Z`.

use std::fmt;

const DAY_SECONDS: u64 = 24 * 3600;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Larger years do not fit the form.
const YEAR_MAX: u64 = 9999;

/// Seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignTime(u64);

impl SignTime {
    #[must_use]
    pub fn at(seconds: u64) -> Self {
        Self(seconds)
    }

    /// `20150830T123600Z`, or as a `Date` header has it: `Sun, 30 Aug 2015 12:36:00 GMT`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_basic(text).or_else(|| Self::parse_http(text))
    }

    fn parse_basic(text: &str) -> Option<Self> {
        let digits = text.strip_suffix('Z')?;
        let (day, time) = digits.split_once('T')?;
        if day.len() != 8 || time.len() != 6 {
            return None;
        }
        let part = |text: &str, from: usize, to: usize| text.get(from..to).and_then(number);
        let day = (part(day, 0, 4)?, part(day, 4, 6)?, part(day, 6, 8)?);
        Self::of(day, (part(time, 0, 2)?, part(time, 2, 4)?, part(time, 4, 6)?))
    }

    fn parse_http(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [_, day, month, year, time, "GMT" | "UTC" | "+0000" | "-0000"] = parts[..] else { return None };
        let month = MONTHS.iter().zip(1..).find(|(name, _)| **name == month).map(|(_, number)| number)?;
        let time: Vec<u64> = time.split(':').map(number).collect::<Option<_>>()?;
        let [hour, minute, second] = time[..] else { return None };
        Self::of((number(year)?, month, number(day)?), (hour, minute, second))
    }

    fn of((year, month, day): (u64, u64, u64), (hour, minute, second): (u64, u64, u64)) -> Option<Self> {
        let legal = (1970..=YEAR_MAX).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        if !legal || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        Some(Self(days_before(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second))
    }

    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0
    }

    #[must_use]
    pub fn later(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    #[must_use]
    pub fn earlier(self, seconds: u64) -> Self {
        Self(self.0.saturating_sub(seconds))
    }

    /// `20150830`.
    #[must_use]
    pub fn day(self) -> String {
        let (year, month, day) = civil(self.0 / DAY_SECONDS);
        format!("{year:04}{month:02}{day:02}")
    }
}

impl fmt::Display for SignTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = self.0 % DAY_SECONDS;
        write!(f, "{}T{:02}{:02}{:02}Z", self.day(), second / 3600, second / 60 % 60, second % 60)
    }
}

fn number(text: &str) -> Option<u64> {
    // `parse` would take a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Days from the epoch to the date. Years begin in March here, so that the leap day is the last one.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year / 4 - year / 100 + year / 400;
    // Days from March of year 0 to the epoch.
    year * 365 + leap_days + day_of_year - 719_468
}

/// The date of a day since the epoch: the inverse of [`days_before`].
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(SignTime::parse(text).map(SignTime::seconds), expected, "{text}");
    }

    #[test]
    fn times_are_read_in_both_forms() {
        check("19700101T000000Z", Some(0));
        check("20150830T123600Z", Some(1_440_938_160));
        check("Sun, 30 Aug 2015 12:36:00 GMT", Some(1_440_938_160));
        check("Sun, 30 Aug 2015 12:36:00 -0000", Some(1_440_938_160));
        check("20240229T235959Z", Some(1_709_251_199));
        check("20000301T000000Z", Some(951_868_800));
        for bad in ["", "20150830T123600", "2015-08-30T12:36:00Z", "20151330T123600Z", "+2150830T123600Z", "99999999T999999Z"] {
            check(bad, None);
        }
        for bad in
            ["Sun, 30 Foo 2015 12:36:00 GMT", "Sun, 30 Aug 2015 12:36 GMT", "Sun, 30 Aug 2015 12:36:00 CET", "TZ", "ééééT123456Z"]
        {
            check(bad, None);
        }
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        for days in (0..80_000).step_by(13) {
            let time = SignTime::at(days * DAY_SECONDS + 12_345);
            assert_eq!(SignTime::parse(&time.to_string()), Some(time));
        }
    }
}
