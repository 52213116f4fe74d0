//! Tests of the pattern tree (`tree`): the patterns that lists of keys give.

use super::*;
use crate::model::AttributeValue;

fn shape() -> ItemShape {
    ItemShape::new(
        0,
        crate::model::Key {
            partition: AttributeValue::Null,
            sort: None,
        },
    )
}

/// Learns keys, `partition|sort` or `partition` alone.
fn learn(keys: impl IntoIterator<Item = String>) -> PatternTree {
    let mut tree = PatternTree::default();
    for key in keys {
        let mut parts = key.split('\t').map(KeyText::Text);
        let shape = tree
            .shape([parts.next(), parts.next()], || Ok::<_, ()>(shape()))
            .unwrap();
        shape.sizes.add(100);
    }
    tree
}

fn patterns(tree: PatternTree) -> Vec<String> {
    let mut all: Vec<String> = tree
        .into_patterns()
        .into_iter()
        .map(|(keys, shape)| format!("{} {}", keys.join(" | "), shape.sizes.count))
        .collect();
    all.sort();
    all
}

#[track_caller]
fn check(keys: impl IntoIterator<Item = String>, expected: &[&str]) {
    assert_eq!(patterns(learn(keys)), expected);
}

/// Returns numbers without a visible order.
pub(super) fn scattered(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (n << 7)
}

fn hex(n: u64, digits: usize) -> String {
    format!("{:016x}{:016x}", scattered(n), scattered(n + 77))[..digits].to_owned()
}

#[test]
fn six_shapes_in_one_table() {
    let keys = (0..600_u64).map(|n| {
        let uuid = format!(
            "{}-{}-4{}-a{}-{}",
            hex(n, 8),
            hex(n, 4),
            hex(n, 3),
            hex(n, 3),
            hex(n, 12)
        );
        match n % 6 {
            0 => format!("USER#{n}\tPROFILE"),
            1 => format!("USER#{n}\tORDER#2026-01-{:02}#{uuid}", n % 28 + 1),
            2 => format!("ORDER#{uuid}\tITEM#{n}"),
            3 => format!("PRODUCT#SKU-{n}\tMETADATA"),
            4 => format!("u{n}@example.com\tLOGIN#2026-01-02T03:04:{:02}Z", n % 60),
            _ => format!(
                "session-{}\t17{:08}",
                hex(n, 32),
                scattered(n) % 100_000_000
            ),
        }
    });
    let expected = [
        "<email> | LOGIN#<datetime> 100",
        "ORDER#<uuid> | ITEM#<n> 100",
        "PRODUCT#SKU-<n> | METADATA 100",
        "USER#<n> | ORDER#<date>#<uuid> 100",
        "USER#<n> | PROFILE 100",
        "session-<hex> | <epoch-seconds> 100",
    ];
    check(keys, &expected);
}

#[test]
fn names_are_constants_where_they_are_few() {
    let of = |names: &'static [&'static str], times: usize| {
        names
            .iter()
            .flat_map(move |name| vec![(*name).to_owned(); times])
    };
    check(of(&["open", "paid"], 20), &["open 20", "paid 20"]);
    // More of the same items are values, and so are those after a constant.
    check(of(&["open", "paid", "sent"], 20), &["<word> 60"]);
    check(
        of(&["STATUS#OPEN", "STATUS#PAID"], 20),
        &["STATUS#<word> 40"],
    );
    // With few items only names in capitals are certain.
    check(of(&["Dog", "Cat", "Fish"], 2), &["<word> 6"]);
    check(
        of(&["EC2", "RDS", "S3", "CONFIG"], 1),
        &["CONFIG 1", "EC2 1", "RDS 1", "S3 1"],
    );
    check(
        of(&["Meteor Blasters", "Galaxy Invaders", "Pong"], 1),
        &["<text> 3"],
    );
    check(of(&["a#x", "b#x", "a#y"], 4), &["a#<word> 8", "b#x 4"]);
    check(
        of(&["c1#bicycle#BRA", "c2#bicycle#USA", "c1#helmet#BRA"], 3),
        &["c<n>#bicycle#<word> 6", "c<n>#helmet#BRA 3"],
    );
    check(of(&["", "#", "a#"], 20), &[" 20", "# 20", "a# 20"]);
}

#[test]
fn names_are_words_where_they_are_many() {
    let letters = |n: u64| -> String {
        hex(n, 12)
            .bytes()
            .map(|byte| char::from(b'a' + byte % 26))
            .collect()
    };
    check((0..1000).map(letters), &["<word> 1000"]);
    check(
        (0..1000).map(|n| format!("{}-{}", letters(n), letters(n + 5000))),
        &["<word> 1000"],
    );
    check(
        (0..1000).map(|n| format!("USER#{}", letters(n))),
        &["USER#<word> 1000"],
    );
    check((0..1000).map(|n| format!("user{n}")), &["user<n> 1000"]);
    // A name with a tenth of all items is a value too, if its items are no others.
    check(
        (0..1000).map(|n| {
            if n % 5 == 0 {
                "acme".to_owned()
            } else {
                letters(n)
            }
        }),
        &["<word> 1000"],
    );
    // Each place decides for itself.
    let by_type = (0..1000).map(|n| {
        if n % 2 == 0 {
            format!("ORG#{}\tINFO", letters(n))
        } else {
            format!("TAG#red\t{}", letters(n))
        }
    });
    check(by_type, &["ORG#<word> | INFO 500", "TAG#red | <word> 500"]);
}

#[test]
fn random_keys_are_one_class_also_where_some_look_like_another() {
    check((0..20_000).map(|n| hex(n, 8)), &["<hex> 20000"]);
    check(
        (0..5000).map(|n| format!("h#{}", hex(n, 12))),
        &["h#<hex> 5000"],
    );
    let id = |n: u64| -> String {
        (0..10)
            .map(|at| {
                char::from(
                    b"abcdefghijklmnopqrstuvwxyz0123456789"
                        [(scattered(n * 10 + at) >> 40) as usize % 36],
                )
            })
            .collect()
    };
    check((0..20_000).map(id), &["<id> 20000"]);
    check(
        (0..1000).map(|n| (scattered(n) % 10_000_000_000).to_string()),
        &["<n> 1000"],
    );
}

#[test]
fn ids_after_a_prefix_stay_beside_words() {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    let nanoid = |n: u64| -> String {
        let at = |place: u64| {
            letters[(scattered(scattered(n).wrapping_add(place * 7919)) >> 40) as usize
                % letters.len()]
        };
        (0..21).map(|place| char::from(at(place))).collect()
    };
    let word = |n: u64| char::from(b'a' + (n % 26) as u8);
    let keys = (0..3000_u64).map(|n| match n % 3 {
        0 => format!("{0}{0}-{1}{1}{2}\tPAGE", word(n), word(n / 3), word(n / 78)),
        _ => format!("ord_{}\tORDER", nanoid(n)),
    });
    check(keys, &["<word> | PAGE 1000", "ord_<base64> | ORDER 2000"]);
}

#[test]
fn keys_without_end_are_bounded_and_readable() {
    let tokens = |count: u64| {
        move |n: u64| {
            (0..count)
                .map(|at| format!("{}x{}", hex(n * 31 + at, 5), at % 3))
                .collect::<Vec<_>>()
                .join("#")
        }
    };
    let mixed = |n: u64| -> String {
        (0..12)
            .map(|at| {
                ["USER#", "17/", "a_b|", "2026-01-01:", "ü ", "x@"]
                    [(scattered(n * 13 + at) >> 33) as usize % 6]
            })
            .collect()
    };
    let long = |n: u64| format!("{}#{}", "é".repeat(1000), hex(n, 32).repeat(3));
    let spaces = |n: u64| format!("{} ", hex(n, 3)).repeat(500);
    let strange = |n: u64| {
        format!(
            "\u{202e}{}\u{0}\t\u{1F600}{n}\n",
            char::from_u32(n as u32 % 5000 + 0x4e00).unwrap()
        )
    };
    let letters = |n: u64| -> String {
        hex(n, 20)
            .bytes()
            .map(|byte| char::from(b'A' + byte % 26))
            .collect()
    };
    let sources: [&dyn Fn(u64) -> String; 7] = [
        &tokens(1),
        &tokens(6),
        &mixed,
        &long,
        &spaces,
        &strange,
        &letters,
    ];
    for (place, key) in sources.iter().enumerate() {
        let mut tree = PatternTree::default();
        for n in 0..20_000 {
            let key = key(n);
            tree.shape([Some(KeyText::Text(&key)), Some(KeyText::Number)], || {
                Ok::<_, ()>(shape())
            })
            .unwrap()
            .sizes
            .add(1);
            assert!(tree.paths() <= PATHS_MAX, "{place}: {}", tree.paths());
        }
        let all = tree.into_patterns();
        assert!(all.len() <= PATTERNS_MAX, "{place}: {}", all.len());
        assert_eq!(
            all.iter().map(|(_, shape)| shape.sizes.count).sum::<u64>(),
            20_000
        );
        assert!(
            all.iter().all(|(keys, _)| keys.len() == 2
                && keys[0].chars().count() < 200
                && keys[1] == "<number>"),
            "{place}: {all:?}"
        );
    }
}

/// Learns each key once.
#[test]
fn very_many_different_keys_are_one_pattern() {
    let letters = |n: u64| -> String {
        (0..5)
            .map(|at| char::from(b'a' + (n / 26_u64.pow(at) % 26) as u8))
            .collect()
    };
    check((0..200_000).map(letters), &["<word> 200000"]);
}

#[test]
fn keys_of_other_types() {
    let mut tree = PatternTree::default();
    for key in [KeyText::Number, KeyText::Binary, KeyText::Number] {
        tree.shape([Some(key), None], || Ok::<_, ()>(shape()))
            .unwrap()
            .sizes
            .add(1);
    }
    assert_eq!(patterns(tree), ["<binary> 1", "<number> 2"]);
}
