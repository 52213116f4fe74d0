//! Scripts of events on one handle against a stored text, as programs were seen to produce them.

use proptest::prelude::*;

use super::*;
use crate::fs::write::Commit;

const OPENER: u32 = 100;
const CHILD: u32 = 101;

/// Accepts every object without `"bad"` in it.
#[derive(Debug)]
struct AnyText;

impl TextTarget for AnyText {
    type Request = (String, Option<Precondition>);

    fn request(
        &self,
        text: &[u8],
        precondition: Option<Precondition>,
    ) -> Result<Commit<Self::Request>, FsError> {
        let text = String::from_utf8(text.to_vec()).unwrap();
        if text.contains("bad") {
            return Err(FsError::Body("bad item".to_owned()));
        }
        Ok(Commit {
            request: (text, precondition),
            warnings: Vec::new(),
        })
    }

    fn unchanged(&self) -> &'static str {
        "The item is unchanged."
    }
}

/// A handle, the item it writes, and the results of its calls.
struct Script {
    writer: TextWriter<AnyText>,
    stored: Option<(String, Version)>,
    commits: usize,
    log: Vec<String>,
}

impl Script {
    fn new(writer: TextWriter<AnyText>, stored: Option<&str>) -> Self {
        Self {
            writer,
            stored: stored.map(|text| (text.to_owned(), 1)),
            commits: 0,
            log: Vec::new(),
        }
    }

    fn stream(stored: Option<&str>) -> Self {
        Self::new(TextWriter::stream(AnyText, opener(false)), stored)
    }

    fn exclusive(stored: Option<&str>) -> Self {
        Self::new(TextWriter::stream_exclusive(AnyText, opener(false)), stored)
    }

    fn edit(stored: &str, append: bool) -> Self {
        let writer = TextWriter::edit(
            AnyText,
            stored.as_bytes().to_vec(),
            Some(Precondition::Version(1)),
            opener(append),
        );
        Self::new(writer, Some(stored))
    }

    fn event(
        mut self,
        call: impl FnOnce(&mut TextWriter<AnyText>) -> WriteStep<<AnyText as TextTarget>::Request>,
    ) -> Self {
        let answer = match call(&mut self.writer) {
            WriteStep::Done => Ok(()),
            WriteStep::Fail(failure) => Err(failure.error.to_string()),
            WriteStep::FailAgain(error) => Err(format!("again: {error}")),
            WriteStep::Commit(commit) => {
                let (text, precondition) = commit.request;
                let outcome = self.put(text, precondition);
                self.writer
                    .committed(outcome)
                    .map_err(|failure| failure.error.to_string())
            }
        };
        self.log
            .push(answer.map_or_else(|error| error, |()| "ok".to_owned()));
        self
    }

    fn put(&mut self, text: String, precondition: Option<Precondition>) -> Result<Version, Error> {
        let holds = match precondition {
            None => true,
            Some(Precondition::Absent) => self.stored.is_none(),
            Some(Precondition::Version(version)) => self
                .stored
                .as_ref()
                .is_some_and(|stored| stored.1 == version),
            Some(Precondition::VersionOrAbsent(version)) => self
                .stored
                .as_ref()
                .is_none_or(|stored| stored.1 == version),
        };
        if !holds {
            return Err(Error::ConditionalCheckFailed { item: None });
        }
        self.commits += 1;
        let version = self.stored.as_ref().map_or(0, |stored| stored.1) + 1;
        self.stored = Some((text, version));
        Ok(version)
    }

    fn write(self, offset: u64, data: &str) -> Self {
        self.event(|writer| writer.write(offset, data.as_bytes()))
    }

    fn truncate(self, size: u64) -> Self {
        self.event(|writer| writer.truncate(size))
    }

    fn flush(self, pid: u32) -> Self {
        self.event(|writer| writer.flush(pid))
    }

    fn fsync(self) -> Self {
        self.event(TextWriter::fsync)
    }

    fn release(self) -> Self {
        self.event(TextWriter::release)
    }

    /// Writes the item through another front end.
    fn meanwhile(mut self, text: &str) -> Self {
        let version = self.stored.as_ref().map_or(0, |stored| stored.1) + 1;
        self.stored = Some((text.to_owned(), version));
        self
    }

    /// Checks the results of the calls, the stored text at the end, and the number of puts.
    fn check(self, answers: &[&str], stored: Option<&str>, commits: usize) {
        assert_eq!(self.log, answers);
        assert_eq!(self.stored.as_ref().map(|stored| stored.0.as_str()), stored);
        assert_eq!(self.commits, commits);
    }
}

fn opener(append: bool) -> Opener {
    Opener {
        pid: OPENER,
        append,
    }
}

const MORE: &str = "expected a JSON value at byte 5";
const TWO: &str = "expected nothing more after the object at byte 8";

#[test]
fn echo_flushes_once_before_its_write() {
    Script::stream(Some("old"))
        .flush(OPENER)
        .write(0, "{\"a\":1}\n")
        .flush(OPENER)
        .release()
        .check(&["ok", "ok", "ok", "ok"], Some("{\"a\":1}\n"), 1);
}

#[test]
fn truncation_without_a_write_has_no_effect() {
    Script::stream(Some("old"))
        .flush(OPENER)
        .release()
        .check(&["ok", "ok"], Some("old"), 0);
    Script::edit("{}", false)
        .truncate(0)
        .flush(OPENER)
        .release()
        .check(&["ok", "ok", "ok"], Some("{}"), 0);
}

#[test]
fn a_text_in_pieces_is_stored_when_it_is_complete() {
    Script::stream(None)
        .write(0, "{\"a\":")
        .write(5, "1")
        .write(6, "}")
        .write(7, "\n")
        .release()
        .check(&["ok", "ok", "ok", "ok", "ok"], Some("{\"a\":1}"), 1);
}

#[test]
fn bad_json_fails_in_write_and_ends_the_handle() {
    let again = format!("again: {MORE}");
    Script::stream(Some("old"))
        .write(0, "{\"a\":x")
        .write(6, "}")
        .flush(OPENER)
        .fsync()
        .truncate(0)
        .release()
        .check(
            &[MORE, &again, &again, &again, &again, "ok"],
            Some("old"),
            0,
        );
}

#[test]
fn an_unfit_object_fails_in_the_write_that_completes_it() {
    Script::stream(Some("old"))
        .write(0, "{\"bad\":")
        .write(7, "1}")
        .flush(OPENER)
        .release()
        .check(&["ok", "bad item", "again: bad item", "ok"], Some("old"), 0);
}

#[test]
fn a_second_document_fails() {
    Script::stream(None)
        .write(0, "{\"a\":1}\n{\"b\":2}")
        .release()
        .check(&[TWO, "ok"], None, 0);
    Script::stream(None)
        .write(0, "{\"a\":1}\n")
        .write(8, "{\"b\":2}")
        .check(&["ok", TWO], Some("{\"a\":1}\n"), 1);
}

#[test]
fn the_hint_tells_whether_something_was_stored() {
    let mut script = Script::stream(Some("old")).write(0, "{}\n");
    let WriteStep::Fail(failure) = script.writer.write(3, b"{}") else {
        panic!("accepted")
    };
    assert!(
        failure
            .report
            .ends_with("What this open file stored before stays stored.\n"),
        "{}",
        failure.report
    );
    let WriteStep::Fail(failure) = Script::stream(Some("old")).writer.write(0, b"x") else {
        panic!("accepted")
    };
    assert!(
        failure.report.ends_with("The item is unchanged.\n"),
        "{}",
        failure.report
    );
}

#[test]
fn a_group_writes_from_several_processes() {
    Script::stream(None)
        .write(0, "{\"a\":")
        .flush(CHILD)
        .write(5, "1}")
        .flush(CHILD + 1)
        .flush(OPENER)
        .release()
        .check(&["ok", "ok", "ok", "ok", "ok", "ok"], Some("{\"a\":1}"), 1);
}

#[test]
fn an_incomplete_text_fails_the_openers_flush_and_may_go_on() {
    Script::stream(Some("old"))
        .write(0, "{\"a\":")
        .flush(OPENER)
        .flush(OPENER)
        .write(5, "1}")
        .flush(OPENER)
        .check(
            &[
                "ok",
                MORE,
                "again: expected a JSON value at byte 5",
                "ok",
                "ok",
            ],
            Some("{\"a\":1}"),
            1,
        );
    Script::stream(Some("old"))
        .write(0, "{\"a\":")
        .flush(OPENER)
        .release()
        .check(&["ok", MORE, "ok"], Some("old"), 0);
    Script::stream(Some("old"))
        .write(0, "{\"a\":")
        .fsync()
        .check(&["ok", MORE], Some("old"), 0);
}

#[test]
fn an_incomplete_text_nobody_was_told_of_fails_release_for_the_log() {
    Script::stream(Some("old"))
        .write(0, "{\"a\":")
        .flush(CHILD)
        .release()
        .check(&["ok", "ok", MORE], Some("old"), 0);
}

#[test]
fn exclusive_creation_fails_when_the_item_came_first() {
    Script::exclusive(None)
        .write(0, "{}")
        .write(0, "{ }")
        .flush(OPENER)
        .check(&["ok", "ok", "ok"], Some("{ }"), 2);
    Script::exclusive(None)
        .meanwhile("{\"b\":1}")
        .write(0, "{}")
        .flush(OPENER)
        .release()
        .check(
            &["the name exists", "again: the name exists", "ok"],
            Some("{\"b\":1}"),
            0,
        );
}

#[test]
fn a_failed_commit_of_a_stream_ends_the_handle() {
    let mut script = Script::stream(Some("old"));
    let WriteStep::Commit(_) = script.writer.write(0, b"{}") else {
        panic!("no commit")
    };
    let failure = script
        .writer
        .committed(Err(Error::Value(ValueError::ItemTooLarge)))
        .unwrap_err();
    assert_eq!(failure.error, FsError::TooLarge);
    script.flush(OPENER).release().check(
        &["again: an item holds at most 400 KB", "ok"],
        Some("old"),
        0,
    );
}

#[test]
fn edits_are_stored_at_flush() {
    Script::edit("{\"a\":1}\n", false)
        .write(5, "2")
        .flush(OPENER)
        .flush(OPENER)
        .release()
        .check(&["ok", "ok", "ok", "ok"], Some("{\"a\":2}\n"), 1);
    Script::edit("{\"a\":1}\n", false)
        .write(5, "2")
        .fsync()
        .write(5, "3")
        .fsync()
        .check(&["ok", "ok", "ok", "ok"], Some("{\"a\":3}\n"), 2);
}

#[test]
fn an_edit_to_the_same_text_writes_nothing() {
    Script::edit("{\"a\":1}\n", false)
        .write(5, "2")
        .write(0, "{\"a\":1}\n")
        .flush(OPENER)
        .release()
        .check(&["ok", "ok", "ok", "ok"], Some("{\"a\":1}\n"), 0);
}

#[test]
fn an_edit_of_an_item_changed_underneath_is_stale() {
    const STALE: &str = "the item was changed by somebody else since it was read";
    Script::edit("{\"a\":1}\n", false)
        .meanwhile("{}")
        .write(5, "2")
        .flush(OPENER)
        .flush(OPENER)
        .release()
        .check(&["ok", STALE, STALE, "ok"], Some("{}"), 0);
}

#[test]
fn a_bad_edit_can_be_mended() {
    const BAD: &str = "expected a JSON value at byte 5";
    Script::edit("{\"a\":1}\n", false)
        .write(5, "x")
        .flush(OPENER)
        .write(5, "7")
        .flush(OPENER)
        .check(&["ok", BAD, "ok", "ok"], Some("{\"a\":7}\n"), 1);
}

#[test]
fn half_an_edit_of_another_process_waits() {
    Script::edit("{\"a\":1}", false)
        .truncate(5)
        .flush(CHILD)
        .write(5, "22}")
        .flush(OPENER)
        .check(&["ok", "ok", "ok", "ok"], Some("{\"a\":22}"), 1);
}

#[test]
fn vim_truncates_an_open_file_and_writes_it_anew() {
    Script::edit("{\"a\":1}\n", false)
        .truncate(0)
        .write(0, "{\"a\":")
        .write(5, "2}\n")
        .fsync()
        .flush(OPENER)
        .release()
        .check(
            &["ok", "ok", "ok", "ok", "ok", "ok"],
            Some("{\"a\":2}\n"),
            1,
        );
}

#[test]
fn a_shorter_text_in_place_is_cut_afterwards() {
    Script::edit("{\"a\":123}\n", false)
        .write(0, "{\"a\":1}\n")
        .truncate(8)
        .flush(OPENER)
        .check(&["ok", "ok", "ok"], Some("{\"a\":1}\n"), 1);
}

#[test]
fn appending_to_an_item_is_a_second_document() {
    let nine = TWO.replace("byte 8", "byte 9");
    Script::edit("{\"a\":1}\n", true)
        .write(0, "\n")
        .write(9, "{}")
        .flush(OPENER)
        .release()
        .check(
            &["ok", &nine, &format!("again: {nine}"), "ok"],
            Some("{\"a\":1}\n"),
            0,
        );
}

#[test]
fn writes_out_of_order_are_checked_at_flush() {
    Script::stream(None)
        .write(5, "1}")
        .write(0, "{\"a\":")
        .flush(OPENER)
        .check(&["ok", "ok", "ok"], Some("{\"a\":1}"), 1);
    Script::stream(None).write(5, "1}").flush(OPENER).check(
        &["ok", "expected a JSON object at byte 0"],
        None,
        0,
    );
}

#[test]
fn a_mapped_write_after_the_last_close_is_stored_at_release() {
    Script::edit("{\"a\":1}\n", false)
        .flush(OPENER)
        .write(5, "2")
        .release()
        .check(&["ok", "ok", "ok"], Some("{\"a\":2}\n"), 1);
}

#[test]
fn text_over_the_cap_is_too_large_at_once() {
    let mut writer = TextWriter::stream(AnyText, opener(false));
    let chunk = vec![b' '; TEXT_BYTES_MAX];
    assert_eq!(writer.write(0, &chunk), WriteStep::Done);
    let WriteStep::Fail(failure) = writer.write(TEXT_BYTES_MAX as u64, b"{") else {
        panic!("accepted")
    };
    assert_eq!(failure.error, FsError::TooLarge);
    assert!(matches!(
        TextWriter::stream(AnyText, opener(false)).write(u64::MAX, b"{"),
        WriteStep::Fail(_)
    ));
    assert!(matches!(
        TextWriter::stream(AnyText, opener(false)).truncate(u64::MAX),
        WriteStep::Fail(_)
    ));
}

#[test]
fn the_handle_reads_its_own_text() {
    let mut writer = TextWriter::edit(AnyText, b"{\"a\":1}\n".to_vec(), None, opener(false));
    writer.write(5, b"2");
    assert_eq!(
        (writer.read(0, 100), writer.len()),
        (b"{\"a\":2}\n".as_slice(), 8)
    );
    assert_eq!(writer.read(5, 2), b"2}");
    assert_eq!(writer.read(99, 1), b"");
}

#[derive(Debug, Clone)]
enum Event {
    Write(u64, String),
    Truncate(u64),
    Flush(bool),
    Fsync,
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..8u64, "[{}\": a1x]{0,4}").prop_map(|(at, data)| Event::Write(at, data)),
        (0..8u64).prop_map(Event::Truncate),
        any::<bool>().prop_map(Event::Flush),
        Just(Event::Fsync),
    ]
}

proptest! {
    #[test]
    fn only_whole_objects_are_stored_and_the_handles_text_is_what_was_written(
        events in prop::collection::vec(any_event(), 1..12), edit in any::<bool>(),
    ) {
        let old = "{\"a\":1}";
        let mut script = if edit { Script::edit(old, false) } else { Script::stream(Some(old)) };
        let mut model: Vec<u8> = if edit { old.as_bytes().to_vec() } else { Vec::new() };
        for event in events {
            script = match event.clone() {
                Event::Write(at, data) => script.write(at, &data),
                Event::Truncate(size) => script.truncate(size),
                Event::Flush(by_opener) => script.flush(if by_opener { OPENER } else { CHILD }),
                Event::Fsync => script.fsync(),
            };
            let stored = &script.stored.as_ref().unwrap().0;
            prop_assert!(serde_json::from_str::<serde_json::Value>(stored).is_ok_and(|v| v.is_object()), "{}", stored);
            if matches!(script.writer.mode, Mode::Poisoned(_)) {
                break;
            }
            match event {
                Event::Write(at, data) if !data.is_empty() => {
                    let (at, end) = (at as usize, at as usize + data.len());
                    model.resize(model.len().max(end), 0);
                    model[at..end].copy_from_slice(data.as_bytes());
                }
                Event::Truncate(size) => model.resize(size as usize, 0),
                Event::Write(..) | Event::Flush(_) | Event::Fsync => {}
            }
            prop_assert_eq!(script.writer.read(0, 100), &model[..]);
        }
    }

    #[test]
    fn any_cut_of_a_text_stores_it_once(cuts in prop::collection::vec(1..6usize, 1..20)) {
        let text = "{\"a\":[1,{\"b\":\"é\\u00e9\"}],\"c\":null}\n";
        let mut script = Script::stream(None);
        let (mut at, mut cuts) = (0, cuts.into_iter().cycle());
        while at < text.len() {
            let end = text.len().min(at + cuts.next().unwrap());
            script = script.event(|writer| writer.write(at as u64, &text.as_bytes()[at..end])).flush(CHILD);
            at = end;
        }
        let (stored, _) = script.stored.unwrap();
        prop_assert_eq!(stored.trim_end(), text.trim_end());
        prop_assert_eq!(script.commits, 1);
    }
}
