//! A corpus of tables for the pattern tree (`tree`): published single-table designs, and ids as
//! libraries make them, each with the entities that must be reported.
//!
//! An entity is `WEIGHT PARTITION|SORT ATTRIBUTES`. Its keys are made from the text, and the text is
//! also what must be reported of them: one row with exactly its items.
//!
//! ```text
//! %%        a new id            %0 to %9   an id of a pool that is shared by the entities
//! ~d ~t     a date, a time      ~n  a number     ~e  an e-mail address     ~u  a URL
//! ~f ~c     one of five tenants, one of three cities (words)
//! ~w ~s     a word, a text with spaces, of very many
//! name?     an attribute that half of the items have
//! ```

use std::collections::{HashMap, HashSet};

use super::tests::scattered;
use super::*;
use crate::codec::plain_json;
use crate::codec::record::{Record, encode};
use crate::model::{AttributeValue, Key};

/// A sequence of numbers from a seed: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        let letter = |_| char::from(letters[self.below(letters.len() as u64) as usize]);
        (0..length).map(letter).collect()
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE36: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
const BASE58: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// Ids of one kind, as a library makes them, and the classes that name them right.
struct IdKind {
    name: &'static str,
    make: fn(&mut Numbers) -> String,
    classes: &'static [&'static str],
}

const IDS: &[IdKind] = &[
    // npm nanoid: 21 characters of a URL-safe alphabet.
    IdKind {
        name: "nanoid",
        make: |rng| rng.text(URL_SAFE, 21),
        classes: &["id", "base64"],
    },
    IdKind {
        name: "nanoid of 10",
        make: |rng| rng.text(URL_SAFE, 10),
        classes: &["id", "base64"],
    },
    // segmentio/ksuid: 20 bytes, time first, as 27 characters of base 62.
    IdKind {
        name: "KSUID",
        make: |rng| format!("2{}{}", rng.text("ABCDEF", 1), rng.text(BASE62, 25)),
        classes: &["id", "base64"],
    },
    // ulid/spec: 48 bits of time, 80 random ones, in Crockford's base 32.
    IdKind {
        name: "ULID",
        make: |rng| {
            format!(
                "01J{}{}",
                rng.text("0123456789AB", 1),
                rng.text(CROCKFORD, 22)
            )
        },
        classes: &["ulid"],
    },
    IdKind {
        name: "UUID v4",
        make: |rng| uuid(rng.next(), rng.next(), '4'),
        classes: &["uuid"],
    },
    // RFC 9562: 48 bits of milliseconds first.
    IdKind {
        name: "UUID v7",
        make: |rng| {
            uuid(
                (0x0190_0000_0000 + rng.below(1 << 30)) << 16,
                rng.next(),
                '7',
            )
        },
        classes: &["uuid"],
    },
    // Ids of Stripe's API: a prefix, and 14 or 24 characters of base 62.
    IdKind {
        name: "cus_",
        make: |rng| format!("cus_{}", rng.text(BASE62, 14)),
        classes: &["cus_id", "cus_base64"],
    },
    IdKind {
        name: "pi_",
        make: |rng| format!("pi_3{}", rng.text(BASE62, 23)),
        classes: &["pi_id", "pi_base64"],
    },
    // X's Snowflake: 63 bits, time first, in decimal digits.
    IdKind {
        name: "Snowflake",
        make: |rng| (1_700_000_000_000_000_000 + rng.below(1 << 57)).to_string(),
        classes: &["n"],
    },
    IdKind {
        name: "SHA-1",
        make: |rng| rng.text(HEX, 40),
        classes: &["hex"],
    },
    IdKind {
        name: "hex of 7",
        make: |rng| rng.text(HEX, 7),
        classes: &["hex", "id"],
    },
    IdKind {
        name: "hex of 12",
        make: |rng| rng.text(HEX, 12),
        classes: &["hex"],
    },
    // MongoDB's ObjectId: four bytes of time and eight others.
    IdKind {
        name: "ObjectId",
        make: |rng| format!("66{}", rng.text(HEX, 22)),
        classes: &["hex"],
    },
    IdKind {
        name: "base64",
        make: |rng| format!("{}A==", rng.text(BASE64, 21)),
        classes: &["base64"],
    },
    IdKind {
        name: "base64url",
        make: |rng| rng.text(URL_SAFE, 22),
        classes: &["id", "base64"],
    },
    IdKind {
        name: "base32",
        make: |rng| rng.text(BASE32, 16),
        classes: &["id", "base64"],
    },
    // npm cuid2: a letter and 23 of base 36.
    IdKind {
        name: "cuid2",
        make: |rng| format!("{}{}", rng.text(LOWER, 1), rng.text(BASE36, 23)),
        classes: &["id", "base64"],
    },
    // npm short-uuid: a UUID in base 58.
    IdKind {
        name: "short-uuid",
        make: |rng| rng.text(BASE58, 22),
        classes: &["id", "base64"],
    },
];

fn uuid(high: u64, low: u64, version: char) -> String {
    let text = format!("{high:016x}{low:016x}");
    format!(
        "{}-{}-{version}{}-a{}-{}",
        &text[..8],
        &text[8..12],
        &text[13..16],
        &text[17..20],
        &text[20..]
    )
}

/// Designs in which ids of any kind stand: what most single-table designs are made of.
const DESIGNS_OF_IDS: &[(&str, &[&str])] = &[
    (
        "shop",
        &[
            "2 USER#%0|PROFILE email,name,plan?",
            "6 USER#%0|ORDER#%% total,status",
            "1 USER#%0|#METADATA count,updated",
            "4 ORDER#%1|ITEM#%% sku,quantity,price?",
        ],
    ),
    (
        "types as sort keys",
        &["1 %0|METADATA a,b", "1 %0|CONFIG c,d", "4 %0|EVENT#~t#%% e"],
    ),
    ("ids alone", &["1 %%| name,when"]),
    (
        "lower case",
        &[
            "1 account#%0|account# name,type",
            "3 account#%0|user#%% name,email",
            "5 user#%1|session#~t agent,ip?",
        ],
    ),
    (
        "weak separators",
        &[
            "2 tenant_%0|profile name",
            "5 tenant_%0|device-%% model,seen",
            "5 device-%1|reading-~t value",
        ],
    ),
    (
        "two ids",
        &[
            "3 ORG#%0#TEAM#%1|MEMBER#%% role",
            "1 ORG#%0|INFO name,plan",
            "1 CONFIG|GLOBAL a,b,c",
        ],
    ),
];

/// Published designs, of AWS's NoSQL Workbench (sample models) and of libraries and books.
const PUBLISHED: &[(&str, &[&str])] = &[
    // AWS, "Discussion forum data model": three tables, here each alone.
    ("forum: Forum", &["1 ~s| Category,Threads,Messages,Views"]),
    (
        "forum: Thread",
        &["1 Amazon ~f|~s Message,LastPostedBy,Views,Tags?"],
    ),
    (
        "forum: Reply",
        &["1 Amazon ~f#Thread ~n|~t Message,PostedBy"],
    ),
    // AWS, "Employee data model".
    (
        "employee",
        &["1 ~w| FirstName,LastName,ManagerLoginAlias?,Designation,Skills"],
    ),
    // AWS, "Credit card offers data model".
    (
        "credit card offers",
        &[
            "2 ACCT#%0|ACCT#%0 AccountName,Status",
            "6 ACCT#%0|OFFER#%1 OfferStatus,ExpirationDate,TargetType?",
            "1 OFFER#%1|OFFER#%1 OfferName,Terms,PdfLocation",
            "2 PARTITION#~n|CARD#%% CardNumber,IssuedOn",
        ],
    ),
    // AWS, "Bookmarks data model".
    (
        "bookmarks",
        &[
            "1 ~n|CUST#~n fullName,email,address?,createDate",
            "5 ~n|~u title,folder,description?,updateDate",
        ],
    ),
    // AWS, "Ski resort data model".
    (
        "ski resort",
        &[
            "1 Lift ~n|Static Data ExperiencedRidersOnly,VerticalFeet,LiftTime",
            "8 Lift ~n|~d TotalUniqueLiftRiders,AverageSnowCoverageInches,LiftStatus,AvalancheDanger",
            "2 Resort Data|~d TotalUniqueLiftRiders,AverageSnowCoverageInches",
        ],
    ),
    // alexdebrie/dynamodb-instagram.
    (
        "instagram",
        &[
            "1 USER#~w|USER#~w name,followerCount,followingCount",
            "3 UP#~w|PHOTO#%% url,likesCount,commentCount",
            "5 PL#~w#%0|LIKE#~w likeId,liker",
            "4 PC#~w#%0|COMMENT#%% content,commenter",
            "4 FOLLOW#~w|FOLLOW#~w followed,follower",
            "2 REACTION#~w#~f|PHOTO#%% kind,by",
        ],
    ),
    // tywalch/electrodb, the TaskManager example.
    (
        "electrodb task manager",
        &[
            "2 $taskmanager#employee_%0|$employees_1 firstName,lastName,office,team",
            "6 $taskmanager#task_%%|$tasks_1#project_~w#employee_%0 description,status,points?",
            "1 $taskmanager#country_~c#state_~c|$offices_1#city_~w#zip_~n address,office",
        ],
    ),
    // sensedeep/dynamodb-onetable, the overview sample.
    (
        "onetable",
        &[
            "1 account#%0|account# name,plan,_type",
            "5 account#%0|user#~e name,email,role?,_type",
            "2 account#%0|invoice#~d#%% count,total,_type",
        ],
    ),
    // AWS, dynamodb-examples, SocialNetwork.
    (
        "social network",
        &[
            "1 u#%0|info name,picture,_type",
            "3 u#%0#follower|u#%1 since",
            "3 u#%0#post|p#%% content,likes",
            "3 u#%0#timeline|p#%%#u#%1 seen,order",
            "2 p#%2#likelist|u#%1 at,kind",
            "1 p#%2#likecount|count count",
        ],
    ),
    // AWS, "Best practices for managing many-to-many relationships": adjacency lists of invoices.
    (
        "adjacency list",
        &[
            "1 Invoice-~n|Invoice-~n Date,Paid?",
            "4 Invoice-~n|Bill-~n Amount,Due",
            "2 Bill-~n|Bill-~n Total,Balance",
        ],
    ),
    // A. DeBrie, "The DynamoDB Book", GitHub.
    (
        "github",
        &[
            "2 REPO#~w#~w|REPO#~w#~w description,stars,forkedFrom?",
            "4 REPO#~w#~w|ISSUE#~n title,status",
            "4 PR#~w#~w#~n|PR#~w#~w#~n title,base",
            "2 ACCOUNT#~w|ACCOUNT#~w plan,payment",
            "2 ISSUECOMMENT#~w#~w#~n|ISSUECOMMENT#%% content",
        ],
    ),
    // Few values at the place of an id.
    (
        "tenants and cities",
        &[
            "5 TENANT#~f|CITY#~c#STORE#%% name,area,opened?",
            "1 TENANT#~f|SETTINGS theme,locale",
        ],
    ),
    (
        "tenants without labels",
        &["5 ~f#~c|~t temperature,wind", "1 CONFIG|~n text,version"],
    ),
    (
        "states",
        &[
            "6 STATUS#~c#~d|ORDER#%% total,customer",
            "1 COUNTER|~n count",
        ],
    ),
    (
        "five users",
        &[
            "1 USER#~f|PROFILE email,name",
            "9 USER#~f|ORDER#~d#%% total",
            "2 USER#~f|ADDRESS street,city",
        ],
    ),
];

/// A table of the corpus.
struct Corpus<'a> {
    design: &'a [&'a str],
    ids: &'a IdKind,
    rng: Numbers,
    pools: HashMap<(char, u64), String>,
}

struct MadeItem {
    keys: [String; 2],
    entity: usize,
    mask: u64,
}

/// An entity as it is written in a design.
struct Entity<'a> {
    weight: u64,
    keys: [&'a str; 2],
    attributes: Vec<&'a str>,
}

fn entity(text: &str) -> Entity<'_> {
    let (weight, rest) = text.split_once(' ').unwrap();
    let (keys, attributes) = rest.rsplit_once(' ').unwrap();
    let (partition, sort) = keys.split_once('|').unwrap();
    Entity {
        weight: weight.parse().unwrap(),
        keys: [partition, sort],
        attributes: attributes.split(',').collect(),
    }
}

impl Corpus<'_> {
    fn key(&mut self, template: &str, items: u64) -> String {
        let mut out = String::new();
        let mut chars = template.chars();
        while let Some(char) = chars.next() {
            if char != '%' && char != '~' {
                out.push(char);
                continue;
            }
            let kind = chars.next().unwrap();
            let made = self.part(char, kind, items);
            out.push_str(&made);
        }
        out
    }

    fn part(&mut self, char: char, kind: char, items: u64) -> String {
        let day = self.rng.below(28) + 1;
        match (char, kind) {
            ('%', '%') => (self.ids.make)(&mut self.rng),
            ('%', pool) => {
                let place = self.rng.below((items / 15).max(3));
                let mut rng = Numbers(scattered(place * 10 + u64::from(pool) + self.rng_seed()));
                let make = self.ids.make;
                self.pools
                    .entry((pool, place))
                    .or_insert_with(|| make(&mut rng))
                    .clone()
            }
            (_, 'd') => format!("2026-{:02}-{day:02}", self.rng.below(12) + 1),
            (_, 't') => format!(
                "2026-01-{day:02}T03:04:{:02}.{:03}Z",
                self.rng.below(60),
                self.rng.below(1000)
            ),
            (_, 'n') => self.rng.below(items * 3).to_string(),
            (_, 'e') => format!("{}@example.com", self.word(items)),
            (_, 'u') => format!("https://example.com/{}", self.word(items)),
            (_, 'f') => ["acme", "globex", "initech", "umbrella", "hooli"]
                [self.rng.below(5) as usize]
                .to_owned(),
            (_, 'c') => ["rome", "paris", "lisbon"][self.rng.below(3) as usize].to_owned(),
            (_, 'w') => self.word(items),
            (_, 's') => format!("{} {}", self.word(items), self.word(items)),
            other => panic!("{other:?}"),
        }
    }

    fn rng_seed(&self) -> u64 {
        self.ids.name.len() as u64 * 1_000_003
    }

    fn word(&mut self, items: u64) -> String {
        let mut rng = Numbers(self.rng.below(items));
        let length = 4 + rng.below(5) as usize;
        rng.text(LOWER, length)
    }

    /// Makes about this many items, in hash order: the items of a partition stand together.
    fn items(&mut self, count: u64) -> Vec<MadeItem> {
        let entities: Vec<Entity<'_>> = self.design.iter().map(|text| entity(text)).collect();
        let weights: u64 = entities.iter().map(|entity| entity.weight).sum();
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        for n in 0..count {
            let mut place = n % weights;
            let entity = entities
                .iter()
                .position(|entity| {
                    let is_it = place < entity.weight;
                    place = place.saturating_sub(entity.weight);
                    is_it
                })
                .unwrap();
            let keys = entities[entity]
                .keys
                .map(|template| self.key(template, count));
            if known.insert(keys.clone()) {
                let mask = self.rng.next();
                all.push(MadeItem { keys, entity, mask });
            }
        }
        let hash = |text: &str| {
            text.bytes()
                .fold(7, |hash, byte| scattered(hash ^ u64::from(byte)))
        };
        all.sort_by_cached_key(|item| (hash(&item.keys[0]), item.keys[1].clone()));
        all
    }
}

/// Learns items; returns the patterns, and the items of each entity.
fn learn(items: &[MadeItem], design: &[&str]) -> (Vec<(String, u64)>, Vec<u64>) {
    let entities: Vec<Entity<'_>> = design.iter().map(|text| entity(text)).collect();
    let mut tree = PatternTree::default();
    let (mut counts, mut records) = (vec![0; entities.len()], HashMap::new());
    for item in items {
        counts[item.entity] += 1;
        let present = entities[item.entity]
            .attributes
            .iter()
            .enumerate()
            .filter(|(place, name)| !name.ends_with('?') || item.mask >> place & 1 == 1);
        let names: Vec<&str> = present.map(|(_, name)| *name).collect();
        let record = records
            .entry((item.entity, names.clone()))
            .or_insert_with(|| {
                let members: Vec<String> = ["pk", "sk"]
                    .iter()
                    .chain(&names)
                    .map(|name| format!(r#""{name}":"x""#))
                    .collect();
                let json = format!("{{{}}}", members.join(","));
                encode(
                    &plain_json::parse_line(json.as_bytes()).unwrap(),
                    &["pk", "sk"],
                    1,
                    2,
                )
            });
        let mut attributes = Vec::new();
        Record::parse(record)
            .unwrap()
            .each_attribute(|name, value| attributes.push((name, value)))
            .unwrap();
        let keys = [
            Some(KeyText::Text(&item.keys[0])),
            Some(KeyText::Text(&item.keys[1])),
        ];
        let example = || Key {
            partition: AttributeValue::S(item.keys[0].clone()),
            sort: Some(AttributeValue::S(item.keys[1].clone())),
        };
        let shape = tree
            .shape(keys, || Ok::<_, ()>(ItemShape::new(0, example())))
            .unwrap();
        shape.sizes.add(100);
        shape.attributes.add(&attributes, &mut 50_000).unwrap();
        assert!(tree.paths() <= PATHS_MAX);
    }
    let patterns = tree.into_patterns().into_iter();
    let mut patterns: Vec<(String, u64)> = patterns
        .map(|(keys, shape)| (keys.join("|"), shape.sizes.count))
        .collect();
    patterns.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    (patterns, counts)
}

/// True if a pattern is what the keys of an entity must be reported as.
fn is_right(pattern: &str, template: &str, ids: &IdKind) -> bool {
    let Some(char) = template.chars().next() else {
        return pattern.is_empty();
    };
    if char != '%' && char != '~' {
        let rest = pattern.strip_prefix(char);
        return rest.is_some_and(|rest| is_right(rest, &template[char.len_utf8()..], ids));
    }
    let classes: Vec<String> = match &template[..2] {
        "~d" => vec!["<date>".into()],
        "~t" => vec!["<datetime>".into()],
        "~n" => vec!["<n>".into()],
        "~e" => vec!["<email>".into()],
        "~u" => vec!["<url>".into()],
        "~s" => vec!["<text>".into(), "<word>".into()],
        "~f" | "~c" | "~w" => vec!["<word>".into()],
        _ => ids
            .classes
            .iter()
            .map(|class| match class.split_once('_') {
                None => format!("<{class}>"),
                Some((prefix, class)) => format!("{prefix}_<{class}>"),
            })
            .collect(),
    };
    classes.iter().any(|class| {
        pattern
            .strip_prefix(&**class)
            .is_some_and(|rest| is_right(rest, &template[2..], ids))
    })
}

/// Adds the entities of a table that are named right, and all; describes the wrong ones.
fn judge(
    name: &str,
    design: &[&str],
    ids: &IdKind,
    count: u64,
    wrong: &mut Vec<String>,
) -> (u64, u64) {
    let mut corpus = Corpus {
        design,
        ids,
        rng: Numbers(count + name.len() as u64),
        pools: HashMap::new(),
    };
    let items = corpus.items(count);
    let (patterns, counts) = learn(&items, design);
    let (mut right, mut all) = (0, 0);
    for (text, count) in design.iter().zip(counts) {
        let template = entity(text).keys.join("|");
        let is_it =
            |(pattern, items): &(String, u64)| *items == count && is_right(pattern, &template, ids);
        all += 1;
        right += u64::from(patterns.iter().any(is_it));
    }
    if right < all || patterns.len() > design.len() {
        let rows: Vec<String> = patterns
            .iter()
            .take(12)
            .map(|(pattern, count)| format!("    {pattern} {count}"))
            .collect();
        wrong.push(format!(
            "{name}, {}, {}: {right} of {all}, {} rows\n{}",
            ids.name,
            items.len(),
            patterns.len(),
            rows.join("\n")
        ));
    }
    (right, all)
}

const SIZES: [u64; 2] = [300, 2_000];

#[track_caller]
fn check(designs: &[(&str, &[&str])], ids: &[IdKind], sizes: &[u64]) {
    let (mut wrong, mut right, mut all) = (Vec::new(), 0, 0);
    for (name, design) in designs {
        for ids in ids {
            for count in sizes {
                let found = judge(name, design, ids, *count, &mut wrong);
                (right, all) = (right + found.0, all + found.1);
            }
        }
    }
    println!("{right} of {all}\n{}", wrong.join("\n"));
    assert!(
        right * 100 >= all * 95,
        "{right} of {all}\n{}",
        wrong.join("\n")
    );
}

#[test]
fn published_designs() {
    check(PUBLISHED, &IDS[2..5], &SIZES);
}

#[test]
fn ids_of_every_kind() {
    check(DESIGNS_OF_IDS, IDS, &SIZES);
}

/// Hostile tables have patterns too, and many different literals end as one word.
#[test]
fn keys_that_are_no_design() {
    let rows = |keys: Vec<[String; 2]>| {
        let items: Vec<MadeItem> = keys
            .into_iter()
            .map(|keys| MadeItem {
                keys,
                entity: 0,
                mask: 0,
            })
            .collect();
        let (patterns, _) = learn(&items, &["1 x|x a"]);
        let shown = patterns
            .iter()
            .map(|(pattern, count)| format!("{pattern} {count}"));
        shown.collect::<Vec<_>>()
    };
    let key = |partition: &str, sort: &str| [partition.to_owned(), sort.to_owned()];
    assert_eq!(
        rows(vec![key("USER#17", "PROFILE")]),
        ["USER#<n>|PROFILE 1"]
    );
    let equal = vec![key("USER#17", "PROFILE"); 1000];
    assert_eq!(rows(equal), ["USER#<n>|PROFILE 1000"]);
    let lines = (0..1000).map(|n| key(&format!("USER\n#{n}\n"), "a\nb"));
    assert_eq!(rows(lines.collect()), ["USER\n#<word>|a\nb 1000"]);
    let literals = (0..10_000).map(|n| {
        let mut rng = Numbers(n);
        key(&rng.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 8), "PROFILE")
    });
    assert_eq!(rows(literals.collect()), ["<word>|PROFILE 10000"]);
    let separators = (0..1000).map(|n| key(&"-_#".repeat(n % 300), &"_".repeat(n % 700)));
    assert!(rows(separators.collect()).len() <= PATTERNS_MAX);
}

#[test]
#[ignore = "300,000 items take a minute"]
fn a_table_of_many_items_is_named_as_a_small_one() {
    check(&DESIGNS_OF_IDS[..1], &IDS[..1], &[100, 300_000]);
    check(PUBLISHED, &IDS[2..5], &[20_000]);
    check(DESIGNS_OF_IDS, IDS, &[20_000]);
}
