//! Calendar dates and times of day in UTC, written from milliseconds since the epoch in the forms
//! that the service uses (ISO 8601).

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// The milliseconds of 400 Gregorian years, after which dates and weekdays repeat. jiff ends with
/// the year 9999; an expiry written in other units does not.
const CYCLE_MS: u64 = 146_097 * 86_400_000;

/// Returns the year, and the same moment in the first 400-year cycle.
fn civil(ms: u64) -> (u64, DateTime) {
    let within = i64::try_from(ms % CYCLE_MS)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    debug_assert!(within.is_some(), "{ms} is beyond jiff's range");
    let moment = Offset::UTC.to_datetime(within.unwrap_or_default());
    (
        ms / CYCLE_MS * 400 + u64::from(moment.year().unsigned_abs()),
        moment,
    )
}

/// Returns `2026-01-02T03:04:05.678Z`.
#[must_use]
pub fn iso(ms: u64) -> String {
    let (year, moment) = civil(ms);
    format!("{year:04}-{}", moment.strftime("%m-%dT%H:%M:%S%.3fZ"))
}

/// Returns `20260102T030405Z`.
#[must_use]
pub fn basic(ms: u64) -> String {
    let (year, moment) = civil(ms);
    format!("{year:04}{}", moment.strftime("%m%dT%H%M%SZ"))
}

/// Parses the output of [`iso`], up to the year 9999, into milliseconds since the epoch; `None` for
/// any other text.
#[must_use]
pub fn parse_iso(text: &str) -> Option<u64> {
    let ms = u64::try_from(text.parse::<Timestamp>().ok()?.as_millisecond()).ok()?;
    // Refuses other spellings of the same moment: they do not survive a round trip.
    (iso(ms) == text).then_some(ms)
}

/// Returns `Friday, January 2, 2026 at 3:04:05 AM Coordinated Universal Time`.
#[must_use]
pub fn long(ms: u64) -> String {
    let (year, moment) = civil(ms);
    format!(
        "{}, {year} at {} Coordinated Universal Time",
        moment.strftime("%A, %B %-d"),
        moment.strftime("%-I:%M:%S %p")
    )
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
        check(
            0,
            "1970-01-01T00:00:00.000Z",
            "Thursday, January 1, 1970 at 12:00:00 AM",
        );
        check(
            951_782_400_000,
            "2000-02-29T00:00:00.000Z",
            "Tuesday, February 29, 2000 at 12:00:00 AM",
        );
        check(
            1_700_000_000_123,
            "2023-11-14T22:13:20.123Z",
            "Tuesday, November 14, 2023 at 10:13:20 PM",
        );
        check(
            1_767_225_599_999,
            "2025-12-31T23:59:59.999Z",
            "Wednesday, December 31, 2025 at 11:59:59 PM",
        );
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
        assert_eq!(iso(1_700_000_000_123_000), "55840-11-08T22:15:23.000Z");
        assert_eq!(iso(u64::MAX), "584556019-04-03T14:25:51.615Z");
        check(
            4_107_542_400_000,
            "2100-03-01T00:00:00.000Z",
            "Monday, March 1, 2100 at 12:00:00 AM",
        );
    }
}
