//! A key as parts with separators between them.

use super::class::{Class, is_strong, is_weak, recognise};

/// Behind the last part of a key.
pub const END: u8 = 0;

/// A longer name is told by its kind alone, bytes.
const NAME_BYTES_MAX: usize = 64;

/// A part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Class(Class),
    /// What has no form: a constant, perhaps.
    Name(&'a str),
}

/// Calls `each` with every part and the separator behind it; what is beyond `parts_max` parts is one part.
pub fn parts<'a>(text: &'a str, parts_max: usize, mut each: impl FnMut(Part<'a>, u8)) {
    let mut rest = text;
    for _ in 0..parts_max {
        let (part, length) = first(rest);
        let Some(&separator) = rest.as_bytes().get(length) else { return each(part, END) };
        each(part, separator);
        rest = &rest[length + 1..];
    }
    each(Part::Class(Class::Rest), END);
}

fn first(text: &str) -> (Part<'_>, usize) {
    if let Some((class, length)) = recognise(text) {
        return (Part::Class(class), length);
    }
    let mut length = word(text);
    // Words with weak separators between them are one name, up to something that has a form.
    while text.as_bytes().get(length).is_some_and(|byte| is_weak(*byte)) {
        let next = &text[length + 1..];
        if length > NAME_BYTES_MAX {
            length += next.bytes().take_while(|byte| !is_strong(*byte)).count() + 1;
        } else if recognise(next).is_some() {
            break;
        } else {
            length += 1 + word(next);
        }
    }
    let name = &text[..length];
    let part = match length {
        0 => Part::Class(Class::Empty),
        1..=NAME_BYTES_MAX => Part::Name(name),
        _ => Part::Class(kind_of_name(name)),
    };
    (part, length)
}

/// Bytes up to a separator: these are ASCII, so that it ends between two characters.
fn word(text: &str) -> usize {
    text.bytes().take_while(|byte| !is_strong(*byte) && !is_weak(*byte)).count()
}

/// What a name is where it is no constant.
pub fn kind_of_name(name: &str) -> Class {
    if name.contains(' ') { Class::Text } else { Class::Word }
}

/// `user` of `user17`, and nothing of a name that does not end in a number.
pub fn without_number(name: &str) -> Option<&str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.len() < name.len() && stem.ends_with(char::is_alphabetic)).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_parts() {
        let check = |key: &str, expected: &str| {
            let mut shown = String::new();
            parts(key, 5, |part, separator| {
                match part {
                    Part::Class(class) => shown.push_str(class.text()),
                    Part::Name(name) => shown.push_str(&format!("({name})")),
                }
                if separator != END {
                    shown.push(char::from(separator));
                }
            });
            assert_eq!(shown, expected, "{key}");
        };
        check("", "");
        check("USER#17", "(USER)#<n>");
        check("ORDER#2024-01-31#0f8fad5b-d9cb-469f-a165-70867728950e", "(ORDER)#<date>#<uuid>");
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
