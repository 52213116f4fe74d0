//! The time of a signature: whole seconds, written `20150830T123600Z`.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::codec::calendar;

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
        let basic = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok().and_then(Self::of).filter(|time| time.to_string() == text);
        basic.or_else(|| Self::parse_http(text))
    }

    fn parse_http(text: &str) -> Option<Self> {
        let (_weekday, rest) = text.trim().split_once(char::is_whitespace)?;
        let (date, "GMT" | "UTC" | "+0000" | "-0000") = rest.rsplit_once(char::is_whitespace)? else { return None };
        Self::of(DateTime::strptime("%d %b %Y %H:%M:%S", date).ok()?)
    }

    fn of(moment: DateTime) -> Option<Self> {
        let seconds = Offset::UTC.to_timestamp(moment).ok()?.as_second();
        u64::try_from(seconds).ok().map(Self)
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
        self.to_string().split('T').next().unwrap_or_default().to_owned()
    }
}

impl fmt::Display for SignTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&calendar::basic(self.0.saturating_mul(1000)))
    }
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
        for bad in [
            "",
            "20150830T123600",
            "2015-08-30T12:36:00Z",
            "20151330T123600Z",
            "+2150830T123600Z",
            "2150830T123600Z",
            "20150231T123600Z",
            "19691231T235959Z",
            "99999999T999999Z",
        ] {
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
            let time = SignTime::at(days * 86_400 + 12_345);
            assert_eq!(SignTime::parse(&time.to_string()), Some(time));
        }
    }
}
