//! Dates and times of day in UTC from milliseconds since the epoch, in the two forms that the service writes.

/// A moment taken apart, proleptic Gregorian, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    year: u64,
    /// 1 to 12.
    month: usize,
    day: u64,
    /// Days since the epoch.
    days: u64,
    hour: u64,
    minute: u64,
    second: u64,
    millisecond: u64,
}

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/// From the epoch's own day on.
const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

fn moment(ms: u64) -> Moment {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    // Days since 1 March of year 0, in cycles of 400 years; years begin in March, so that leap days come last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    Moment {
        year: year_of_era + era * 400 + u64::from(month <= 2),
        month: usize::try_from(month).unwrap_or(1),
        day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
        days,
        hour: rest / 3_600_000,
        minute: rest / 60_000 % 60,
        second: rest / 1000 % 60,
        millisecond: rest % 1000,
    }
}

/// `2026-01-02T03:04:05.678Z`.
#[must_use]
pub fn iso(ms: u64) -> String {
    let m = moment(ms);
    let (date, time) = ((m.year, m.month, m.day), (m.hour, m.minute, m.second));
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", date.0, date.1, date.2, time.0, time.1, time.2, m.millisecond)
}

/// Milliseconds since the epoch of what [`iso`] writes; `None` for anything else.
#[must_use]
pub fn parse_iso(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |part: &str| part.parse::<u64>().ok();
    let mut parts = date.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (seconds, millisecond) = time.split_once('.')?;
    let mut parts = seconds.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    // As in `moment`: years begin in March.
    let (year, month_from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month_from_march + 2) / 5 + day.checked_sub(1)?;
    let (era, year_of_era) = (year / 400, year % 400);
    let days = (era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year).checked_sub(719_468)?;
    let ms = ((days.checked_mul(24)? + hour) * 60 + minute).checked_mul(60)?.checked_add(second)? * 1000 + number(millisecond)?;
    // What is written another way, or is no day, reads back as something else.
    (iso(ms) == text).then_some(ms)
}

/// `Friday, January 2, 2026 at 3:04:05 AM Coordinated Universal Time`.
#[must_use]
pub fn long(ms: u64) -> String {
    let m = moment(ms);
    let weekday = usize::try_from(m.days % 7).ok().and_then(|day| WEEKDAYS.get(day)).copied().unwrap_or_default();
    let month = MONTHS.get(m.month - 1).copied().unwrap_or_default();
    let half = if m.hour < 12 { "AM" } else { "PM" };
    let hour = if m.hour.is_multiple_of(12) { 12 } else { m.hour % 12 };
    format!("{weekday}, {month} {}, {} at {hour}:{:02}:{:02} {half} Coordinated Universal Time", m.day, m.year, m.minute, m.second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_in_both_forms() {
        let check = |ms: u64, short: &str, text: &str| {
            assert_eq!(iso(ms), short);
            assert_eq!(parse_iso(short), Some(ms));
            assert_eq!(long(ms), format!("{text} Coordinated Universal Time"));
        };
        check(0, "1970-01-01T00:00:00.000Z", "Thursday, January 1, 1970 at 12:00:00 AM");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z", "Tuesday, February 29, 2000 at 12:00:00 AM");
        check(1_700_000_000_123, "2023-11-14T22:13:20.123Z", "Tuesday, November 14, 2023 at 10:13:20 PM");
        check(1_767_225_599_999, "2025-12-31T23:59:59.999Z", "Wednesday, December 31, 2025 at 11:59:59 PM");
        for text in [
            "",
            "2023-02-29T00:00:00.000Z",
            "2023-11-14T22:13:20Z",
            "2023-11-14T24:00:00.000Z",
            "1969-12-31T00:00:00.000Z",
            "2023-00-01T00:00:00.000Z",
            "2023-01-00T00:00:00.000Z",
        ] {
            assert_eq!(parse_iso(text), None, "{text}");
        }
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z", "Monday, March 1, 2100 at 12:00:00 AM");
    }
}
