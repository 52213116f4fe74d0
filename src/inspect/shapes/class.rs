//! The tokenizer of keys: splits a key into parts at its separators, and classifies each part
//! (number, date, UUID, name) by its form alone.

/// The class of a part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartClass {
    /// A key of type N.
    Number,
    /// A key of type B.
    Binary,
    /// Nothing between two separators.
    Empty,
    Digits,
    EpochSeconds,
    EpochMillis,
    /// `20240131`
    Day,
    Date,
    Month,
    DateTime,
    Uuid,
    Ulid,
    Hex,
    Base64,
    /// Letters and digits mixed.
    Id,
    Email,
    Url,
    Ip,
    Phone,
    Word,
    Text,
    /// The rest of a key with too many parts.
    Rest,
}

impl PartClass {
    /// Returns the text of the class in patterns.
    #[must_use]
    pub fn text(self) -> &'static str {
        /// By the order of the classes.
        const TEXTS: [&str; 22] = [
            "<number>",
            "<binary>",
            "",
            "<n>",
            "<epoch-seconds>",
            "<epoch-millis>",
            "<yyyymmdd>",
            "<date>",
            "<month>",
            "<datetime>",
            "<uuid>",
            "<ulid>",
            "<hex>",
            "<base64>",
            "<id>",
            "<email>",
            "<url>",
            "<ip>",
            "<phone>",
            "<word>",
            "<text>",
            "<rest>",
        ];
        TEXTS[self as usize]
    }

    /// True for a class that an id may be of by chance: it has no form but its letters.
    #[must_use]
    pub fn is_by_letters(self) -> bool {
        use PartClass::{
            Base64, Day, Digits, Empty, EpochMillis, EpochSeconds, Hex, Id, Text, Word,
        };
        matches!(
            self,
            Empty | Digits | EpochSeconds | EpochMillis | Day | Hex | Base64 | Id | Word | Text
        )
    }
}

/// The maximum of bytes scanned for classes without a form of their own: no key with a form is
/// longer.
const SCANNED_BYTES_MAX: usize = 256;
const HEX_BYTES_MIN: usize = 8;
const ID_BYTES_MIN: usize = 6;
const BASE64_BYTES_MIN: usize = 16;

/// True for a structural separator: a key is always cut there.
#[must_use]
fn is_structural(byte: u8) -> bool {
    byte.is_ascii_punctuation() && !may_be_in_name(byte) && !matches!(byte, b'+' | b'\'' | b'"')
}

/// True for a separator that may also be within a name: `ORDER_ITEM`, `in-progress`, `Meteor
/// Blasters`.
#[must_use]
pub fn may_be_in_name(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.' | b' ')
}

/// A test of the first bytes of a text for one form; returns class and length.
type Form = fn(&[u8]) -> Option<(PartClass, usize)>;

/// Returns the class of the first part of the text, and its length in bytes; the part ends at a
/// separator or with the text.
#[must_use]
fn recognize(text: &str) -> Option<(PartClass, usize)> {
    let bytes = text.as_bytes();
    const FORMS: [Form; 8] = [uuid, moment, url, email, ip, phone, base64, run];
    let ends = |length: usize| {
        bytes
            .get(length)
            .is_none_or(|&next| is_structural(next) || may_be_in_name(next))
    };
    FORMS
        .iter()
        .filter_map(|form| form(bytes))
        .find(|(_, length)| ends(*length))
}

/// Returns the class of a text that is of one form as a whole.
#[must_use]
pub fn class_of(text: &str) -> Option<PartClass> {
    let (class, length) = recognize(text)?;
    (length == text.len()).then_some(class)
}

/// True if the bytes begin with this form: `d` is a digit, `x` a hexadecimal one, any other byte
/// itself.
fn matches_form(bytes: &[u8], form: &[u8]) -> bool {
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'd' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        _ => byte == form,
    };
    bytes.len() >= form.len() && bytes.iter().zip(form).all(fits)
}

fn count(bytes: &[u8], predicate: impl Fn(u8) -> bool) -> usize {
    bytes
        .iter()
        .take(SCANNED_BYTES_MAX)
        .take_while(|byte| predicate(**byte))
        .count()
}

fn value(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |value: u64, digit| {
        value
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit.wrapping_sub(b'0')))
    })
}

fn uuid(bytes: &[u8]) -> Option<(PartClass, usize)> {
    matches_form(bytes, b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx").then_some((PartClass::Uuid, 36))
}

fn is_year_and_month(year: &[u8], month: &[u8]) -> bool {
    (1900..2200).contains(&value(year)) && (1..=12).contains(&value(month))
}

fn moment(bytes: &[u8]) -> Option<(PartClass, usize)> {
    if matches_form(bytes, b"ddddddddTddddddZ") {
        return Some((PartClass::DateTime, 16));
    }
    if !(matches_form(bytes, b"dddd-dd") || matches_form(bytes, b"dddd/dd"))
        || !is_year_and_month(&bytes[..4], &bytes[5..7])
    {
        return None;
    }
    let is_day = matches_form(&bytes[7..], b"-dd") || matches_form(&bytes[7..], b"/dd");
    if !is_day || !(1..=31).contains(&value(&bytes[8..10])) {
        return Some((PartClass::Month, 7));
    }
    let has_time = bytes
        .get(10)
        .is_some_and(|byte| matches!(byte, b'T' | b't' | b' ' | b':' | b'_' | b'-'));
    let time = if has_time {
        time_length(&bytes[11..])
    } else {
        0
    };
    Some(if time == 0 {
        (PartClass::Date, 10)
    } else {
        (PartClass::DateTime, 11 + time)
    })
}

/// Returns the length of `17` at the end, `17:24`, `17:24:31` or `17.24.31`, with a fraction, and
/// `Z` or an offset after it.
fn time_length(bytes: &[u8]) -> usize {
    if !(matches_form(bytes, b"dd:dd") || matches_form(bytes, b"dd.dd")) {
        let is_hour = bytes.len() == 2 && matches_form(bytes, b"dd");
        return if is_hour { 2 } else { 0 };
    }
    let mut length = 5;
    if matches_form(&bytes[5..], b":dd") || matches_form(&bytes[5..], b".dd") {
        length = 8;
    }
    if matches_form(&bytes[length..], b".d") || matches_form(&bytes[length..], b",d") {
        length += 1 + count(&bytes[length + 1..], |byte| byte.is_ascii_digit());
    }
    match &bytes[length..] {
        [b'Z' | b'z', ..] => length + 1,
        zone if matches_form(zone, b"+dd:dd") || matches_form(zone, b"-dd:dd") => length + 6,
        _ => length,
    }
}

fn url(bytes: &[u8]) -> Option<(PartClass, usize)> {
    let is_url = bytes.starts_with(b"http://") || bytes.starts_with(b"https://");
    let length = bytes
        .iter()
        .take_while(|byte| !matches!(byte, b'#' | b'|' | b' '))
        .count();
    is_url.then_some((PartClass::Url, length))
}

fn email(bytes: &[u8]) -> Option<(PartClass, usize)> {
    let local = count(bytes, |byte| {
        byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte)
    });
    let domain = bytes.get(local..)?.strip_prefix(b"@")?;
    let length = count(domain, |byte| {
        byte.is_ascii_alphanumeric() || b".-".contains(&byte)
    });
    let has_dot = domain[..length].iter().skip(1).any(|byte| *byte == b'.');
    (local > 0 && has_dot).then_some((PartClass::Email, local + 1 + length))
}

fn ip(bytes: &[u8]) -> Option<(PartClass, usize)> {
    let length = count(bytes, |byte| byte.is_ascii_digit() || byte == b'.');
    let groups = bytes[..length].split(|byte| *byte == b'.');
    let is_group = |group: &[u8]| (1..=3).contains(&group.len()) && value(group) <= 255;
    (groups.clone().count() == 4 && groups.into_iter().all(is_group))
        .then_some((PartClass::Ip, length))
}

fn phone(bytes: &[u8]) -> Option<(PartClass, usize)> {
    let digits = count(bytes.strip_prefix(b"+")?, |byte| byte.is_ascii_digit());
    (8..=15)
        .contains(&digits)
        .then_some((PartClass::Phone, digits + 1))
}

/// Recognizes random bytes as letters of both cases and digits: unlike names, they change from one
/// kind to another all the time.
fn base64(bytes: &[u8]) -> Option<(PartClass, usize)> {
    if has_prefix(bytes) {
        return None;
    }
    let letters = count(bytes, |byte| {
        byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte)
    });
    let length = letters + count(&bytes[letters..], |byte| byte == b'=');
    let run = &bytes[..letters];
    let has = |is: fn(&u8) -> bool| run.iter().any(is);
    let has_all =
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_lowercase());
    let within = |pair: &&[u8]| pair.iter().all(u8::is_ascii_alphanumeric);
    let is_padded = length > letters && length.is_multiple_of(4);
    let changes = run
        .windows(2)
        .filter(within)
        .filter(|pair| kind(pair[0]) != kind(pair[1]))
        .count();
    let words = run
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|word| word.first().is_some_and(u8::is_ascii_uppercase));
    // A capital at the beginning of a word is no change.
    let is_random = changes.saturating_sub(words.count()) * 20 >= letters * 7;
    (letters >= BASE64_BYTES_MIN && (is_padded || has_all && is_random))
        .then_some((PartClass::Base64, length))
}

/// True if the bytes begin with a word and a separator: `cus_` of `cus_NffrFeUfNV2Hib`.
fn has_prefix(bytes: &[u8]) -> bool {
    let letters = count(bytes, |byte| byte.is_ascii_lowercase());
    letters > 1 && matches!(bytes.get(letters), Some(b'_' | b'-'))
}

/// Recognizes letters and digits up to another byte.
fn run(bytes: &[u8]) -> Option<(PartClass, usize)> {
    let length = count(bytes, |byte| byte.is_ascii_alphanumeric());
    let run = &bytes[..length];
    let letters = run.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    if length == 0 || letters == length {
        return None;
    }
    if letters == 0 {
        return Some(digits(bytes, length));
    }
    if is_ulid(run) {
        return Some((PartClass::Ulid, length));
    }
    // `user17` is a name and a number.
    if run[..letters].iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let is_one_case = |is: fn(&u8) -> bool| !run.iter().any(is);
    let one_case = is_one_case(u8::is_ascii_uppercase) || is_one_case(u8::is_ascii_lowercase);
    if length >= HEX_BYTES_MIN && one_case && run.iter().all(u8::is_ascii_hexdigit) {
        return Some((PartClass::Hex, length));
    }
    (length >= ID_BYTES_MIN).then_some((PartClass::Id, length))
}

fn digits(bytes: &[u8], length: usize) -> (PartClass, usize) {
    let run = &bytes[..length];
    if matches_form(&bytes[length..], b".d") {
        return (
            PartClass::Digits,
            length + 1 + count(&bytes[length + 1..], |byte| byte.is_ascii_digit()),
        );
    }
    let class = match length {
        8 if is_year_and_month(&run[..4], &run[4..6]) && (1..=31).contains(&value(&run[6..])) => {
            PartClass::Day
        }
        10 if run[0] == b'1' => PartClass::EpochSeconds,
        13 if run[0] == b'1' => PartClass::EpochMillis,
        _ => PartClass::Digits,
    };
    (class, length)
}

/// True for 26 characters of Crockford's base 32, the first of them at most 7.
fn is_ulid(run: &[u8]) -> bool {
    let is_one = |byte: &u8| !matches!(byte.to_ascii_uppercase(), b'I' | b'L' | b'O' | b'U');
    run.len() == 26 && matches!(run[0], b'0'..=b'7') && run.iter().all(is_one)
}

/// The separator after the last part of a key.
pub const END: u8 = 0;

/// The maximum bytes of a name; a longer one is reduced to its class.
const NAME_BYTES_MAX: usize = 64;

/// A part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySegment<'a> {
    Class(PartClass),
    /// A text without a form: possibly a constant.
    Name(&'a str),
}

/// Calls `each` with every part, with the text up to its end since the last structural separator,
/// and the separator after it; the text beyond `parts_max` parts is one part.
pub fn split_parts<'a>(
    text: &'a str,
    parts_max: usize,
    mut each: impl FnMut(KeySegment<'a>, &'a str, u8),
) {
    let (mut rest, mut chunk) = (text, text);
    for _ in 0..parts_max {
        let (part, length) = first_part(rest);
        let end = chunk.len() - rest.len() + length;
        let Some(&separator) = rest.as_bytes().get(length) else {
            return each(part, chunk, END);
        };
        each(part, &chunk[..end], separator);
        rest = &rest[length + 1..];
        if !may_be_in_name(separator) {
            chunk = rest;
        }
    }
    each(KeySegment::Class(PartClass::Rest), chunk, END);
}

fn first_part(text: &str) -> (KeySegment<'_>, usize) {
    if let Some((class, length)) = recognize(text) {
        return (KeySegment::Class(class), length);
    }
    let mut length = word(text);
    // Words with weak separators between them are one name, up to a part that has a form.
    while text
        .as_bytes()
        .get(length)
        .is_some_and(|byte| may_be_in_name(*byte))
    {
        let next = &text[length + 1..];
        if length > NAME_BYTES_MAX {
            length += next
                .bytes()
                .take_while(|byte| !is_structural(*byte))
                .count()
                + 1;
        } else if recognize(next).is_some() {
            break;
        } else {
            length += 1 + word(next);
        }
    }
    let name = &text[..length];
    let part = match length {
        0 => KeySegment::Class(PartClass::Empty),
        1..=NAME_BYTES_MAX => KeySegment::Name(name),
        _ => KeySegment::Class(kind_of_name(name)),
    };
    (part, length)
}

/// Returns the bytes up to a separator: separators are ASCII, so that a word ends between two
/// characters.
fn word(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| !is_structural(*byte) && !may_be_in_name(*byte))
        .count()
}

/// Returns the class of a name that is no constant.
pub fn kind_of_name(name: &str) -> PartClass {
    if name.contains(' ') {
        PartClass::Text
    } else {
        PartClass::Word
    }
}

/// Returns `user` of `user17`, and `None` for a name that does not end in a number.
pub fn without_number(name: &str) -> Option<&str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.len() < name.len() && stem.ends_with(char::is_alphabetic)).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_begins_with() {
        let check = |text: &str, expected: &str| {
            let found = recognize(text);
            let shown = found.map(|(class, length)| format!("{}{}", class.text(), &text[length..]));
            assert_eq!(shown.as_deref().unwrap_or("none"), expected, "{text}");
        };
        check("17", "<n>");
        check("17.50", "<n>");
        check("1.2.3", "<n>.3");
        check("10.0.0.17#x", "<ip>#x");
        check("999.0.0.17", "<n>.0.17");
        check("1700000000", "<epoch-seconds>");
        check("1700000000123", "<epoch-millis>");
        check("20240131", "<yyyymmdd>");
        check("20241331", "<n>");
        check("2024-01", "<month>");
        check("2024-13", "<n>-13");
        check("2024-01-31", "<date>");
        check("2015-02-31", "<date>");
        check("2024/01/31/x", "<date>/x");
        check("2024-01-32", "<month>-32");
        check("2024-01-31#17", "<date>#17");
        check("2024-01-31T10:20:30Z", "<datetime>");
        check("2024-01-31T10:20:30.123+01:00#x", "<datetime>#x");
        check("2015-09-15:17:24:31", "<datetime>");
        check("2016-05-17 01.36.45", "<datetime>");
        check("2018-05-17 T1", "<date> T1");
        check("20240131T102030Z", "<datetime>");
        check("0f8fad5b-d9cb-469f-a165-70867728950e", "<uuid>");
        check("01ARZ3NDEKTSV4RRFFQ69G5FAV", "<ulid>");
        check("de4dbeef01#x", "<hex>#x");
        check("9b74c9897bac770ffc029102a200c5de", "<hex>");
        check("a1b2c3z9", "<id>");
        check("V1StGXR8_Z5jdHi6B-myT", "<base64>");
        check("dGhpcyBpcyBhIHRlc3Q0Mg==", "<base64>");
        check("jane.doe+x@example.com#x", "<email>#x");
        check("jane@localhost", "none");
        check("+4915112345678", "<phone>");
        check("https://example.com/a?b=1#x", "<url>#x");
        for name in [
            "USER",
            "user17",
            "S3",
            "in-progress",
            "UserProfileUpdated",
            "",
            "#",
            "größe9",
            "Order-Item-Of-The-Day-2024",
        ] {
            check(name, "none");
        }
        // Nothing is scanned twice whatever its length, and characters outside all alphabets are no
        // form.
        check(&"é".repeat(1000), "none");
        check(&"1".repeat(1000), "none");
    }

    #[test]
    fn a_key_in_parts() {
        let check = |key: &str, expected: &str| {
            let mut shown = String::new();
            split_parts(key, 5, |part, _, separator| {
                match part {
                    KeySegment::Class(class) => shown.push_str(class.text()),
                    KeySegment::Name(name) => shown.push_str(&format!("({name})")),
                }
                if separator != END {
                    shown.push(char::from(separator));
                }
            });
            assert_eq!(shown, expected, "{key}");
        };
        check("", "");
        check("USER#17", "(USER)#<n>");
        check(
            "ORDER#2024-01-31#0f8fad5b-d9cb-469f-a165-70867728950e",
            "(ORDER)#<date>#<uuid>",
        );
        check("ORDER_ITEM#17", "(ORDER_ITEM)#<n>");
        check("order-17", "(order)-<n>");
        check("order-item-17-eu_west", "(order-item)-<n>-(eu_west)");
        check("Meteor Blasters", "(Meteor Blasters)");
        check("c1#bicycle#BRA", "(c1)#(bicycle)#(BRA)");
        check("121212-1", "<n>-<n>");
        check("a@example.com|x", "<email>|(x)");
        check("#a##", "#(a)##");
        check("a#b#c#d#e#f", "(a)#(b)#(c)#(d)#(e)#<rest>");
        check("größe ß#ü", "(größe ß)#(ü)");
        check(&"x".repeat(65), "<word>");
        check(&format!("{} #y", "x y ".repeat(600)), "<text>#(y)");
        check(&"é ".repeat(900), "<text>");
    }
}
