//! Names of the mount, with their expected states, write by write.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

/// The number of writes for which the states of a name are kept.
const REMEMBERED: u64 = 1 << 12;
/// Sizes of items repeat after this many writes of a name.
const SIZES: u64 = 1_500;
/// Numbers of items begin here, and again after this many writes of a name: a multiple of both the
/// sizes and the letters of pads.
const NUMBERS: u64 = 1_950_000;

/// Folders that are renamed to each other.
pub const MOVING: [&str; 2] = ["f2", "f3"];

/// A folder that is removed and made again.
pub const REMADE: &str = "f4";

/// The state of a name after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State(u64);

impl State {
    pub const ABSENT: Self = Self(0);
    /// A directory that exists.
    pub const THERE: Self = Self(Self::PRESENT);
    /// An empty file: a creation shows before the text that is written to it.
    pub const EMPTY: Self = Self::THERE;
    const PRESENT: u64 = 1 << 63;
    /// A flag: the name may be gone by itself.
    const ABSENT_TOO: u64 = 1 << 61;

    pub fn of(name: &Name, item: Option<&Item>) -> Self {
        item.map_or(Self::ABSENT, |item| {
            Self(Self::PRESENT | item.bucket << 32 | name.text(item).len() as u64)
        })
    }

    pub fn or_absent(self) -> Self {
        Self(self.0 | Self::ABSENT_TOO)
    }

    fn allows(self, seen: Seen) -> bool {
        let is = |flag: u64| self.0 & flag != 0;
        let bucket = (self.0 >> 32) & 0xff;
        match seen {
            Seen::Absent | Seen::Unlinked | Seen::Stale => {
                !is(Self::PRESENT) || is(Self::ABSENT_TOO)
            }
            Seen::There => is(Self::PRESENT),
            Seen::Size(size) => is(Self::PRESENT) && self.0 & 0xffff_ffff == size,
            Seen::InBucket(wanted) => is(Self::PRESENT) && bucket == wanted,
            Seen::NotInBucket(wanted) => {
                !is(Self::PRESENT) || bucket != wanted || is(Self::ABSENT_TOO)
            }
        }
    }

    fn describe(self) -> String {
        if self.0 & Self::PRESENT == 0 {
            return "absent".to_owned();
        }
        let flags = if self.0 & Self::ABSENT_TOO == 0 {
            ""
        } else {
            ", or absent"
        };
        format!(
            "{} bytes in b{}{flags}",
            self.0 & 0xffff_ffff,
            (self.0 >> 32) & 0xff
        )
    }
}

/// A reader's observation of a name.
#[derive(Debug, Clone, Copy)]
pub enum Seen {
    Absent,
    /// Found by its name, without links: removed, or replaced by another's rename, between the
    /// lookup and the look.
    Unlinked,
    /// ESTALE: the same, twice.
    Stale,
    There,
    Size(u64),
    InBucket(u64),
    NotInBucket(u64),
}

/// An item of a name.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub counter: u64,
    pub bucket: u64,
    /// Expiry, in seconds since the epoch.
    pub expires: Option<u64>,
}

impl Item {
    fn pad(self) -> String {
        let letter = char::from(b'a' + u8::try_from(self.counter % 26).unwrap());
        letter
            .to_string()
            .repeat(usize::try_from(self.counter * 7 % SIZES).unwrap())
    }

    /// Returns a number of seven digits, so that only the pad decides the length.
    fn number(self) -> u64 {
        NUMBERS + self.counter % NUMBERS
    }

    /// True if it is one item, without parts of another.
    pub fn is_whole(text: &str) -> bool {
        let Ok(found) = serde_json::from_str::<Value>(text) else {
            return false;
        };
        let number = found["n"].as_u64().unwrap_or_default();
        text.ends_with("}\n")
            && Item {
                counter: number % NUMBERS,
                bucket: 0,
                expires: None,
            }
            .pad()
                == found["pad"]
    }
}

/// A file or directory, with one writer at a time.
#[derive(Debug)]
pub struct Name {
    pub table: &'static str,
    /// The path below the mount point.
    pub path: String,
    key: Vec<(&'static str, String)>,
    begun: AtomicU64,
    acknowledged: AtomicU64,
    states: Box<[AtomicU64]>,
    /// The way of each write, and the time of its acknowledgement.
    ways: Mutex<Vec<(u64, &'static str, Option<Instant>)>>,
    content: Mutex<Option<Item>>,
}

impl Name {
    fn new(table: &'static str, path: String, key: Vec<(&'static str, String)>) -> Self {
        let states = (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect();
        let (begun, acknowledged) = (AtomicU64::new(0), AtomicU64::new(0));
        Self {
            table,
            path,
            key,
            begun,
            acknowledged,
            states,
            ways: Mutex::default(),
            content: Mutex::default(),
        }
    }

    /// Returns the name of an item of a table without a sort key.
    pub fn flat(table: &'static str, pk: &str) -> Self {
        Self::new(
            table,
            format!("{table}/items/{}.json", pk.replace(' ', "%20")),
            vec![("pk", pk.to_owned())],
        )
    }

    /// Returns the name of an item of a collection.
    pub fn sorted(table: &'static str, pk: &str, sk: &str) -> Self {
        Self::new(
            table,
            format!("{table}/items/{pk}/{sk}.json"),
            vec![("pk", pk.to_owned()), ("sk", sk.to_owned())],
        )
    }

    /// Returns the name of a directory.
    pub fn directory(table: &'static str, path: &str) -> Self {
        Self::new(table, path.to_owned(), Vec::new())
    }

    pub fn is_item(&self) -> bool {
        !self.key.is_empty()
    }

    /// True if its folder is renamed.
    pub fn moves(&self) -> bool {
        self.key
            .first()
            .is_some_and(|(_, pk)| MOVING.contains(&pk.as_str()))
    }

    /// True if its directory is a new one each time it comes.
    pub fn is_remade(&self) -> bool {
        self.table == "Coming" || self.key.first().is_some_and(|(_, pk)| pk == REMADE)
    }

    /// Returns the last part of its path.
    pub fn file(&self) -> &str {
        self.path.rsplit('/').next().unwrap()
    }

    pub fn parent(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    /// Returns its entry in an index with the bucket as its only key.
    pub fn index_entry(&self) -> String {
        self.key
            .iter()
            .map(|(_, value)| value.as_str())
            .collect::<Vec<_>>()
            .join(",")
            .replace(' ', "%20")
            + ".json"
    }

    pub fn pk(&self) -> &str {
        &self.key[0].1
    }

    /// Returns the item's text as the mount shows it.
    pub fn text(&self, item: &Item) -> String {
        let mut text: String = self
            .key
            .iter()
            .map(|(name, value)| format!("\"{name}\":\"{value}\","))
            .collect();
        text += &format!("\"b\":\"b{}\",", item.bucket);
        text += &item
            .expires
            .map(|time| format!("\"e\":{time},"))
            .unwrap_or_default();
        format!(
            "{{{text}\"n\":{},\"pad\":\"{}\"}}\n",
            item.number(),
            item.pad()
        )
    }

    /// Returns the item as the API takes it.
    pub fn api_item(&self, item: &Item) -> Value {
        let mut value = self.api_key();
        value["b"] = json!({"S": format!("b{}", item.bucket)});
        value["n"] = json!({"N": item.number().to_string()});
        value["pad"] = json!({"S": item.pad()});
        if let Some(expires) = item.expires {
            value["e"] = json!({"N": expires.to_string()});
        }
        value
    }

    pub fn api_key(&self) -> Value {
        self.key
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!({"S": value})))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// Returns another spelling of its path, where it has one.
    pub fn lenient_path(&self) -> String {
        self.path.replace("%20", " ")
    }

    /// Returns `pk = 'a' AND sk = 'b'`.
    pub fn condition(&self) -> String {
        self.key
            .iter()
            .map(|(name, value)| format!("{name} = '{value}'"))
            .collect::<Vec<_>>()
            .join(" AND ")
    }

    pub fn key_line(&self) -> String {
        let key: serde_json::Map<_, _> = self
            .key
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        format!("{}\n", Value::from(key))
    }

    // ---- the writer ------------------------------------------------------------------------------------------------------------

    /// Takes the name for one writer, unless another has it.
    pub fn take(&self) -> Option<Taken<'_>> {
        self.content.try_lock().map(|content| Taken {
            name: self,
            content,
        })
    }

    // ---- the readers -----------------------------------------------------------------------------------------------------------

    /// Returns the last acknowledged write, to be read before a look.
    pub fn published(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// True if a write began after the write `published`.
    pub fn is_written_since(&self, published: u64) -> bool {
        self.begun.load(Ordering::SeqCst) > published
    }

    fn state(&self, write: u64) -> State {
        State(self.states[usize::try_from(write % REMEMBERED).unwrap()].load(Ordering::SeqCst))
    }

    /// Checks that the observation is of the write `published` or a later one.
    pub fn check(&self, published: u64, seen: Seen) -> Result<(), String> {
        let begun = self.begun.load(Ordering::SeqCst);
        let gone_twice = || {
            let mut states = (published..=begun).map(|write| self.state(write));
            (0..2).all(|_| {
                states.any(|state| state.allows(Seen::There))
                    && states.any(|state| state.allows(Seen::Absent))
            })
        };
        let is_so = match seen {
            Seen::Unlinked => self.is_written_since(published),
            Seen::Stale => gone_twice(),
            seen => (published..=begun).any(|write| self.state(write).allows(seen)),
        };
        // More writes than are kept went by during one look.
        if begun - published >= REMEMBERED - 1 || is_so {
            return Ok(());
        }
        let ways = self.ways.lock();
        let history = (published.saturating_sub(3)..=begun).map(|write| {
            let (way, age) = ways
                .iter()
                .rev()
                .find(|(of, ..)| *of == write)
                .map_or(("", None), |(_, way, time)| (*way, *time));
            let age = age
                .map(|time| {
                    format!(
                        ", acknowledged {:.3} ms ago",
                        time.elapsed().as_secs_f64() * 1e3
                    )
                })
                .unwrap_or_default();
            let mark = if write == published {
                " <- published before the look"
            } else {
                ""
            };
            format!(
                "  write {write}: {} by {way}{age}{mark}",
                self.state(write).describe()
            )
        });
        Err(format!(
            "{}: seen {seen:?}\n{}",
            self.path,
            history.collect::<Vec<_>>().join("\n")
        ))
    }
}

/// A name that one writer has.
#[derive(Debug)]
pub struct Taken<'a> {
    name: &'a Name,
    content: MutexGuard<'a, Option<Item>>,
}

impl<'a> Taken<'a> {
    pub fn name(&self) -> &'a Name {
        self.name
    }

    /// Returns its item.
    pub fn item(&self) -> Option<Item> {
        *self.content
    }

    /// Returns the next item of this name.
    pub fn next(&self, bucket: u64) -> Item {
        Item {
            counter: self.name.begun.load(Ordering::SeqCst) + 1,
            bucket,
            expires: None,
        }
    }

    /// Records a write before it is made.
    pub fn begin(&mut self, way: &'static str, state: State) {
        let write = self.name.begun.load(Ordering::SeqCst) + 1;
        self.name.states[usize::try_from(write % REMEMBERED).unwrap()]
            .store(state.0, Ordering::SeqCst);
        self.name.begun.store(write, Ordering::SeqCst);
        let mut ways = self.name.ways.lock();
        ways.push((write, way, None));
        if ways.len() > 64 {
            ways.drain(..32);
        }
    }

    /// Records the acknowledgement of a write, with its result.
    pub fn acknowledge(&mut self, item: Option<Item>) {
        *self.content = item;
        self.acknowledge_up_to(self.name.begun.load(Ordering::SeqCst));
    }

    /// Records the acknowledgement of the write before the last; the last may happen at any time.
    pub fn acknowledge_but_last(&mut self) {
        self.acknowledge_up_to(self.name.begun.load(Ordering::SeqCst) - 1);
    }

    fn acknowledge_up_to(&self, write: u64) {
        self.name
            .ways
            .lock()
            .iter_mut()
            .filter(|way| way.0 == write)
            .for_each(|way| way.2 = Some(Instant::now()));
        self.name.acknowledged.store(write, Ordering::SeqCst);
    }
}
