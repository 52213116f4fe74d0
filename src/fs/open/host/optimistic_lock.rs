//! Optimistic locks: a program that reads an item and then writes it must not undo a change that
//! another program made in between, also if it opens the file anew for the write
//! (docs/filesystem.md 4, put if unchanged).
//!
//! A note (`ReadNote`) is the version that a process read of an item, whichever of its threads
//! read it. A commit of that process is checked against the version noted; a process that read
//! nothing, as `echo >`, replaces the item. These renew a note:
//!
//! - reading the item again;
//! - a commit of the process itself by any route: the database reports it
//!   ([`crate::model::api::WriteListener`]);
//! - looking at the item's attributes by path, as an editor does before it asks whether to
//!   overwrite another program's change. That is a LOOKUP and then a GETATTR by one thread. An OPEN
//!   begins with a LOOKUP too, and is not a look: so a look counts from the thread's next call on.
//!
//! The kernel may answer looks from its cache (`fs::view::kernel_cache`), but only while all notes
//! of the item are of the version that it caches: such a look changes no note.
//!
//! A note ends after `NOTE_AGE_MAX`, with its process, or when the process deletes the item. Memory
//! is bounded: beyond `NOTES_MAX` the notes of processes that have ended go, then the oldest.
//!
//! The report of a refused write names the attributes that were changed, and the program that
//! changed them: for that the texts that were read of late are kept by their versions.

use std::time::Instant;

use foldhash::HashMap;

use crate::codec::dynamodb_json;
use crate::fs::{
    error::advice,
    mount::{Mount, text_cache::FileText},
    node::{EntryNode, Node, entry_ino, item_ino},
    prelude::*,
    process::{Process, ProcessCache, name_of},
    ttl_map::WeightedMap,
};

/// The number of notes that are kept.
const NOTES_MAX: usize = 10_000;
/// The number of notes that are left after there were too many.
const NOTES_LEFT: usize = NOTES_MAX / 2;
/// The time for which a note counts.
const NOTE_AGE_MAX: Duration = Duration::from_secs(10 * 60);
/// The number of items of which the last writer is known.
const WRITERS_MAX: usize = 10_000;
/// The number of texts that are kept: no write is refused for a version that is not noted.
const TEXTS_MAX: usize = NOTES_MAX;
/// The bytes of all texts and of their entries.
const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The bytes that a text costs beside its own.
const ENTRY_BYTES: usize = 128;
/// The number of attributes that one part of the sentence names.
const NAMES_MAX: usize = 6;

#[derive(Debug)]
struct ReadNote {
    process: Process,
    version: Version,
    at: Instant,
    look: LookState,
}

/// The progress of a thread's look at the item's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookState {
    None,
    /// The thread looked the name up.
    Started(u32),
    /// Then it asked for the attributes, which were of this version.
    Seen(u32, Version),
}

impl ReadNote {
    /// Counts a look that has ended as a read.
    fn finish_look(&mut self, now: Instant) {
        if let LookState::Seen(_, version) = std::mem::replace(&mut self.look, LookState::None) {
            (self.version, self.at) = (version, now);
        }
    }
}

/// The process that wrote an item last through the mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWriter {
    /// The version that it wrote; `None` is a delete.
    pub version: Option<Version>,
    pub process: Process,
    /// The name of the thread.
    pub name: String,
}

#[derive(Debug, Default)]
struct NoteTable {
    /// The notes by item.
    notes: HashMap<u64, Vec<ReadNote>>,
    count: usize,
    /// The last writers by item, of items that a process had read.
    writers: TtlMap<u64, LastWriter, WRITERS_MAX>,
}

/// The versions that processes have read; see the module. An item is named by its inode number.
#[derive(Debug, Default)]
pub struct ReadVersions {
    processes: ProcessCache,
    state: Mutex<NoteTable>,
    /// The texts by their versions, which never change.
    texts: Mutex<WeightedMap<Version, (TextForm, Arc<FileText>), TEXTS_MAX, TEXT_BYTES_MAX>>,
}

impl ReadVersions {
    /// Notes that a thread read this version.
    pub fn record(&self, item: u64, thread: u32, version: Version) {
        if let Some(process) = self.processes.get(thread) {
            self.state
                .lock()
                .note(item, process, version, Instant::now());
        }
    }

    /// Notes that a thread read this text of an item of a table.
    pub fn record_read(
        &self,
        thread: u32,
        entry: &EntryNode,
        version: Version,
        text: &Arc<FileText>,
    ) {
        self.record(
            entry_ino(&entry.source, &entry.key, TextForm::PlainJson),
            thread,
            version,
        );
        self.cache_text(version, entry.form, text);
    }

    /// True if any process has read the item. Only then the process of a caller must be found.
    pub fn is_noted(&self, item: u64) -> bool {
        self.state.lock().notes.contains_key(&item)
    }

    /// Returns the version that a write by this thread is checked against, if its process read the
    /// item.
    pub fn version(&self, item: u64, thread: u32) -> Option<Version> {
        self.with_note(item, thread, |note, now| {
            note.finish_look(now);
            note.version
        })
    }

    /// Notes that a thread looked the name up.
    pub fn looked_up(&self, item: u64, thread: u32) {
        self.with_note(item, thread, |note, now| {
            note.finish_look(now);
            note.look = LookState::Started(thread);
        });
    }

    /// True if the kernel may answer looks at this version of an item from its cache, which this
    /// type does not see. It may not as long as a live process has another version noted, for which
    /// a look matters. Otherwise all notes count from now: a process that looks unseen does so
    /// within the time for which the kernel caches the answer. The thread that asks has seen the
    /// version.
    pub fn may_cache(&self, item: u64, thread: u32, version: Version) -> bool {
        let mut state = self.state.lock();
        if !state.notes.contains_key(&item) {
            return true;
        }
        state.retain(item, |note| {
            note.version == version || note.process.is_running()
        });
        let Some(notes) = state.notes.get_mut(&item) else {
            return true;
        };
        if notes.iter().any(|note| note.version != version) {
            return false;
        }
        let now = Instant::now();
        for note in notes {
            note.at = now;
            if note.look == LookState::Started(thread) {
                note.look = LookState::None;
            }
        }
        true
    }

    /// True if a look at this version of an item matters to any process.
    pub fn has_other_version(&self, item: u64, version: Version) -> bool {
        self.state
            .lock()
            .notes
            .get(&item)
            .is_some_and(|notes| notes.iter().any(|note| note.version != version))
    }

    /// Notes that a thread asked for the attributes, which are of this version or a later one.
    pub fn looked_at(&self, item: u64, thread: u32, version: Version) {
        self.with_note(item, thread, |note, _| {
            if note.look == LookState::Started(thread) {
                note.look = LookState::Seen(thread, version);
            }
        });
    }

    /// Notes that a thread opened the file or set its size: that was the purpose of its look.
    pub fn opened(&self, item: u64, thread: u32) {
        self.with_note(item, thread, |note, _| {
            if matches!(note.look, LookState::Started(by) | LookState::Seen(by, _) if by == thread)
            {
                note.look = LookState::None;
            }
        });
    }

    fn with_note<T>(
        &self,
        item: u64,
        thread: u32,
        work: impl FnOnce(&mut ReadNote, Instant) -> T,
    ) -> Option<T> {
        if !self.is_noted(item) {
            return None;
        }
        let (process, now) = (self.processes.get(thread)?, Instant::now());
        self.state
            .lock()
            .find(item, process, now)
            .map(|note| work(note, now))
    }

    /// Notes that a thread's process wrote the item, or deleted it: if it had read the item, it now
    /// knows this version. Returns true if any process had read the item.
    pub fn wrote(&self, item: u64, thread: u32, version: Option<Version>) -> bool {
        let Some(process) = self
            .is_noted(item)
            .then(|| self.processes.get(thread))
            .flatten()
        else {
            return false;
        };
        let writer = LastWriter {
            version,
            process,
            name: name_of(thread),
        };
        self.state.lock().wrote(item, writer, Instant::now());
        true
    }

    /// Returns the process that wrote this version of an item, if that was through this mount.
    pub fn writer(&self, item: u64, version: Option<Version>) -> Option<LastWriter> {
        self.state
            .lock()
            .writers
            .get(&item, now_ms())
            .filter(|writer| writer.version == version)
            .cloned()
    }

    /// Forgets all notes of an item that is gone: a process that read it may make another.
    pub fn forget_item(&self, item: u64) {
        self.state.lock().retain(item, |_| false);
    }

    /// Keeps the text of a version.
    pub fn cache_text(&self, version: Version, form: TextForm, text: &Arc<FileText>) {
        let mut texts = self.texts.lock();
        if texts.get(&version).is_none() {
            texts.insert(
                version,
                (form, Arc::clone(text)),
                text.bytes.len() + ENTRY_BYTES,
            );
        }
    }

    /// Keeps the text of a version, if the budget has room for it.
    pub fn try_cache_text(&self, mount: &Mount, version: Version, form: TextForm, text: &[u8]) {
        if let Ok(text) = FileText::new(text.to_vec(), &mount.memory.open_files) {
            self.cache_text(version, form, &text);
        }
    }

    /// Reads an item and keeps its text, unless its text of that version is known.
    pub fn load_text(&self, mount: &Mount, source: &SourceName, base: Key, version: Version) {
        let (form, is_known) = (
            TextForm::PlainJson,
            self.texts.lock().get(&version).is_some(),
        );
        if !is_known && let Ok(Some((text, stat))) = mount.db.text(source, &base.into(), form) {
            self.try_cache_text(mount, stat.version, form, &text);
        }
    }

    /// Returns the item as it was in that version, if its text is known.
    fn item(&self, version: Version) -> Option<Item> {
        let (form, text) = self.texts.lock().get(&version).cloned()?;
        match form {
            TextForm::PlainJson => plain_json::parse(&text.bytes).ok(),
            TextForm::DynamoDbJson => dynamodb_json::parse(&text.bytes).ok(),
        }
    }

    /// Returns the lines of `.ddb/errors/last` below the first, for a write that was checked
    /// against a version that is not current any more.
    pub fn conflict_report(
        &self,
        mount: &Mount,
        error: &FsError,
        table: &TableName,
        key: &Key,
        since: Version,
        unchanged: &str,
    ) -> String {
        let entry = key.clone().into();
        let Ok(now) = mount
            .db
            .text(&SourceName::from(table), &entry, TextForm::PlainJson)
        else {
            return format!("  {error}\n  hint: {} {unchanged}\n", advice(error));
        };
        let writer = self.writer(
            item_ino(table, key),
            now.as_ref().map(|(_, stat)| stat.version),
        );
        let writer = writer.map_or("somebody else".to_owned(), |writer| {
            format!("{} (process {})", writer.name, writer.process.id)
        });
        let Some((text, _)) = now else {
            return deleted_report(&writer);
        };
        let cause = match error {
            FsError::VersionMismatch => error.to_string(),
            _ => format!("the item was changed by {writer} since it was read"),
        };
        let difference = self
            .changed_attributes(mount, table, since, &text)
            .map(|difference| format!(": {difference}"))
            .unwrap_or_default();
        format!(
            "  {cause}{difference}\n  hint: {} {unchanged}\n",
            advice(error)
        )
    }

    /// Returns the attributes of an item's text that differ from an earlier version, if that is
    /// known.
    fn changed_attributes(
        &self,
        mount: &Mount,
        table: &TableName,
        since: Version,
        text: &[u8],
    ) -> Option<String> {
        let (before, after) = (self.item(since)?, plain_json::parse(text).ok()?);
        let schema = mount.schema(table).ok()?;
        let is_key = |name: &str| schema.key.attributes().any(|key| key.name == name);
        Some(describe_difference(&before, &after, &is_key))
    }
}

/// Returns the number by which [`ReadVersions`] knows the item of a node with this inode number.
#[must_use]
pub fn tracked_ino(node: &Node, ino: u64) -> Option<u64> {
    match node {
        Node::Entry(entry) if entry.source.index.is_some() => None,
        Node::Entry(entry) if entry.form == TextForm::PlainJson => Some(ino),
        Node::Entry(entry) => Some(entry_ino(&entry.source, &entry.key, TextForm::PlainJson)),
        _ => None,
    }
}

impl NoteTable {
    fn note(&mut self, item: u64, process: Process, version: Version, now: Instant) {
        if let Some(note) = self.find(item, process, now) {
            // A file that was opened before this version may still be read.
            *note = ReadNote {
                process,
                version: version.max(note.version),
                at: now,
                look: LookState::None,
            };
            return;
        }
        if self.count >= NOTES_MAX {
            self.evict(now);
        }
        self.notes.entry(item).or_default().push(ReadNote {
            process,
            version,
            at: now,
            look: LookState::None,
        });
        self.count += 1;
    }

    /// Returns the note of a process, if it still counts.
    fn find(&mut self, item: u64, process: Process, now: Instant) -> Option<&mut ReadNote> {
        let is_it = |note: &&mut ReadNote| note.process.is_same(&process);
        let note = self.notes.get_mut(&item)?.iter_mut().find(is_it)?;
        if now.duration_since(note.at) >= NOTE_AGE_MAX {
            self.retain(item, |note| !note.process.is_same(&process));
            return None;
        }
        self.notes.get_mut(&item)?.iter_mut().find(is_it)
    }

    fn wrote(&mut self, item: u64, writer: LastWriter, now: Instant) {
        let process = writer.process;
        match writer.version {
            Some(version) => {
                if let Some(note) = self.find(item, process, now) {
                    *note = ReadNote {
                        process,
                        version,
                        at: now,
                        look: LookState::None,
                    };
                }
            }
            None => self.retain(item, |note| !note.process.is_same(&process)),
        }
        self.writers.insert(item, writer, now_ms());
    }

    fn retain(&mut self, item: u64, keep: impl FnMut(&ReadNote) -> bool) {
        let Some(notes) = self.notes.get_mut(&item) else {
            return;
        };
        let before = notes.len();
        notes.retain(keep);
        self.count -= before - notes.len();
        if notes.is_empty() {
            self.notes.remove(&item);
        }
    }

    fn retain_all(&mut self, mut keep: impl FnMut(&ReadNote) -> bool) {
        self.notes.retain(|_, notes| {
            notes.retain(&mut keep);
            !notes.is_empty()
        });
        self.count = self.notes.values().map(Vec::len).sum();
    }

    fn evict(&mut self, now: Instant) {
        let mut is_there: HashMap<Process, bool> = HashMap::default();
        self.retain_all(|note| {
            let is_there = is_there
                .entry(note.process)
                .or_insert_with(|| note.process.is_running());
            *is_there && now.duration_since(note.at) < NOTE_AGE_MAX
        });
        if self.count <= NOTES_LEFT {
            return;
        }
        let mut times: Vec<Instant> = self.notes.values().flatten().map(|note| note.at).collect();
        let (_, oldest_left, _) = times.select_nth_unstable(self.count - NOTES_LEFT);
        let oldest_left = *oldest_left;
        self.retain_all(|note| note.at >= oldest_left);
        if self.count >= NOTES_MAX {
            // All notes are of one moment.
            self.retain_all(|_| false);
        }
    }
}

fn deleted_report(writer: &str) -> String {
    let hint = "write the text to a new file of that name; with -o lww the last writer wins. The item stays deleted.";
    format!("  the item was deleted by {writer} since it was read\n  hint: {hint}\n")
}

/// Returns a sentence that names the attributes that differ. A written text may lack those of the
/// key, which the name says.
fn describe_difference(before: &Item, after: &Item, is_key: &dyn Fn(&str) -> bool) -> String {
    let of = |item: &'_ Item, differs: &dyn Fn(&str, &AttributeValue) -> bool| -> Vec<String> {
        item.0
            .iter()
            .filter(|(name, value)| !is_key(name) && differs(name, value))
            .map(|(name, _)| name.clone())
            .collect()
    };
    let parts = [
        (
            "another value",
            of(after, &|name, value| {
                before.get(name).is_some_and(|old| old != value)
            }),
        ),
        ("new", of(after, &|name, _| before.get(name).is_none())),
        ("gone", of(before, &|name, _| after.get(name).is_none())),
    ];
    let parts = parts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| {
            let more = names.len().saturating_sub(NAMES_MAX);
            let shown = names[..names.len() - more].join(", ");
            if more == 0 {
                format!("{what}: {shown}")
            } else {
                format!("{what}: {shown} and {more} more")
            }
        });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        "nothing differs any more".to_owned()
    } else {
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::budget::MemoryBudget;

    const ONE: Process = Process {
        id: 7,
        start_ticks: 1,
    };

    /// Returns this process, which is alive.
    fn me() -> u32 {
        std::process::id()
    }

    #[test]
    fn a_process_is_told_the_version_it_read_last() {
        let reads = ReadVersions::default();
        assert_eq!(reads.version(1, me()), None);
        reads.record(1, me(), 7);
        reads.record(1, me(), 8);
        assert_eq!(
            (reads.version(1, me()), reads.version(2, me())),
            (Some(8), None)
        );
        let mut other = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        assert_eq!(reads.version(1, other.id()), None, "another process");
        other.kill().and_then(|()| other.wait()).unwrap();
        assert!(reads.wrote(1, me(), Some(9)));
        assert_eq!(reads.version(1, me()), Some(9));
        assert_eq!(reads.writer(1, Some(9)).unwrap().process.id, me());
        assert_eq!(
            (reads.writer(1, Some(8)), reads.writer(2, Some(9))),
            (None, None)
        );
        assert!(!reads.wrote(2, me(), Some(9)));
        assert_eq!(reads.version(2, me()), None, "it had not read");
        assert!(reads.wrote(1, me(), None));
        assert_eq!(reads.version(1, me()), None);
    }

    #[test]
    fn a_note_ends_with_its_process_and_after_ten_minutes() {
        let (mut state, now) = (NoteTable::default(), Instant::now());
        let mut check = |process: Process, after: Duration, expected: Option<Version>| {
            state.note(1, ONE, 5, now);
            assert_eq!(
                state.find(1, process, now + after).map(|note| note.version),
                expected,
                "{process:?} {after:?}"
            );
        };
        check(ONE, Duration::from_secs(599), Some(5));
        check(ONE, Duration::from_secs(600), None);
        check(
            Process {
                start_ticks: 2,
                ..ONE
            },
            Duration::ZERO,
            None,
        );
    }

    #[test]
    fn a_look_counts_unless_it_was_for_an_open() {
        let check = |calls: &[&str], expected: Version| {
            let reads = ReadVersions::default();
            reads.record(1, me(), 5);
            for call in calls {
                match *call {
                    "lookup" => reads.looked_up(1, me()),
                    "getattr" => reads.looked_at(1, me(), 6),
                    _ => reads.opened(1, me()),
                }
            }
            assert_eq!(reads.version(1, me()), Some(expected), "{calls:?}");
        };
        check(&["lookup", "getattr"], 6);
        check(&["lookup", "getattr", "lookup", "open"], 6);
        check(&["lookup", "getattr", "lookup", "getattr", "open"], 6);
        check(&["lookup", "open", "getattr"], 5);
        check(&["lookup", "getattr", "open"], 5);
        check(&["lookup", "lookup", "open"], 5);
        check(&["getattr"], 5);
    }

    #[test]
    fn the_kernel_may_answer_for_a_version_that_all_who_are_there_know() {
        let reads = ReadVersions::default();
        assert!(
            reads.may_cache(1, me(), 5) && !reads.has_other_version(1, 5),
            "nobody read it"
        );
        reads.record(1, me(), 5);
        reads.looked_up(1, me());
        assert!(reads.may_cache(1, me(), 5) && !reads.has_other_version(1, 5));
        // A GETATTR of a version that the lookup saw ends no look that has only begun.
        reads.looked_at(1, me(), 6);
        assert_eq!(reads.version(1, me()), Some(5));
        assert!(
            !reads.may_cache(1, me(), 6) && reads.has_other_version(1, 6),
            "it has yet to see it"
        );
        reads.looked_up(1, me());
        reads.looked_at(1, me(), 6);
        assert_eq!(reads.version(1, me()), Some(6));
        assert!(reads.may_cache(1, me(), 6));
        // A process that has ended looks no more.
        reads.state.lock().note(1, ONE, 3, Instant::now());
        assert!(reads.may_cache(1, me(), 6));
        assert_eq!(reads.state.lock().notes[&1].len(), 1);
    }

    #[test]
    fn memory_is_bounded_and_who_has_ended_goes_first() {
        let reads = ReadVersions::default();
        reads.record(u64::MAX, me(), 1);
        let mut state = reads.state.lock();
        for item in 0..3 * NOTES_MAX as u64 {
            state.note(item, ONE, item, Instant::now());
            state.note(item, ONE, item + 1, Instant::now());
            state.wrote(
                item,
                LastWriter {
                    version: Some(item),
                    process: ONE,
                    name: String::new(),
                },
                Instant::now(),
            );
        }
        assert!(
            state.count <= NOTES_MAX
                && state.notes.len() == state.count
                && state.writers.len() <= WRITERS_MAX
        );
        drop(state);
        assert_eq!(reads.version(u64::MAX, me()), Some(1));
    }

    #[test]
    fn of_living_processes_the_oldest_notes_go() {
        let (reads, later) = (ReadVersions::default(), Duration::from_nanos(1));
        let (process, now) = (reads.processes.get(me()).unwrap(), Instant::now());
        let mut state = reads.state.lock();
        for item in 0..3 * NOTES_MAX as u64 {
            state.note(item, process, item, now + later * item as u32);
        }
        let last = 3 * NOTES_MAX as u64 - 1;
        assert!(
            state.count <= NOTES_MAX
                && !state.notes.contains_key(&0)
                && state.notes.contains_key(&last)
        );
    }

    #[test]
    fn attributes_are_told_by_what_became_of_them() {
        let check = |before: &str, after: &str, expected: &str| {
            let item = |text: &str| plain_json::parse(text.as_bytes()).unwrap();
            let (before, after) = (item(before), item(after));
            assert_eq!(
                describe_difference(&before, &after, &|name| name == "id"),
                expected
            );
        };
        check(
            r#"{"a":1,"b":1,"c":1}"#,
            r#"{"id":"x","a":2,"b":1,"d":1}"#,
            "another value: a; new: d; gone: c",
        );
        check(
            r#"{"a":1}"#,
            r#"{"id":"x","a":1.0}"#,
            "nothing differs any more",
        );
        check(
            "{}",
            r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#,
            "new: a, b, c, d, e, f and 2 more",
        );
    }

    #[test]
    fn memory_of_texts_is_bounded_and_the_newest_stay() {
        let seen = ReadVersions::default();
        let text = format!("{{\"a\":\"{}\"}}", "x".repeat(100 * 1024)).into_bytes();
        let text = FileText::new(text, &MemoryBudget::new(1 << 20)).unwrap();
        (0..1_000).for_each(|version| seen.cache_text(version, TextForm::PlainJson, &text));
        let (count, bytes) = {
            let texts = seen.texts.lock();
            (texts.len(), texts.bytes())
        };
        assert!(
            bytes <= TEXT_BYTES_MAX && count > 10,
            "{count} texts of {bytes} bytes"
        );
        assert!(seen.item(0).is_none() && seen.item(999).is_some());
        (1_000..1_000 + 2 * TEXTS_MAX as u64)
            .for_each(|version| seen.cache_text(version, TextForm::PlainJson, &Arc::default()));
        let texts = seen.texts.lock();
        assert_eq!(
            (texts.len(), texts.bytes()),
            (TEXTS_MAX, TEXTS_MAX * ENTRY_BYTES)
        );
    }
}
