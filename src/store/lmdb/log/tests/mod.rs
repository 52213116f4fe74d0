//! Tests of the write-ahead log: append, replay, voids, damage. `disk` is a model of a disk,
//! `power_cuts` a randomized test with several processes on it.

pub mod disk;
mod power_cuts;
#[path = "../../../../../tests/support/seeded.rs"]
pub mod seeded;
pub mod trace;

use std::path::Path;

use super::record::DurableNumbers;
use super::record::SECTOR_BYTES;
use super::{
    LOG_FILES, LogPosition, LogReader, LoggedOperation, LoggedOperations, RecordPayload,
    WriteAheadLog,
};
use crate::store::StoreError;

/// A key, and its value unless it is deleted.
type LoggedChange = (Vec<u8>, Option<Vec<u8>>);

const LIMIT: u64 = 8192;
const EPOCH: u64 = 0x1122_3344_5566_7788;

/// The changes of a process that opens the log anew.
impl WriteAheadLog {
    /// Begins the next generation; its file must be free. The record of number `last` + 1 is its
    /// first.
    fn restart(&mut self, epoch: u64, last: u64) -> LogPosition {
        self.go_to(epoch, self.tail.next_generation(), last);
        self.tail
    }

    /// Goes to the position that a checkpoint on disk has for the record of number `last` + 1.
    fn go_to(&mut self, epoch: u64, tail: LogPosition, last: u64) {
        (self.epoch, self.tail, self.last_number, self.pending) = (epoch, tail, last, None);
    }
}

/// Returns the number of simulated runs (worlds), each with its own random seed: more with
/// DDBFS_LOG_WORLDS.
fn worlds() -> u64 {
    std::env::var("DDBFS_LOG_WORLDS")
        .ok()
        .and_then(|worlds| worlds.parse().ok())
        .unwrap_or(40)
}

/// Makes a directory, in memory if the system has a place for it: the test itself models power
/// cuts.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a directory")
}

fn gathered(changes: &[LoggedChange], record_bytes_max: u64) -> LoggedOperations {
    let mut operations = LoggedOperations::new(record_bytes_max);
    for (key, value) in changes {
        match value {
            Some(value) => operations.put(key, value),
            None => operations.delete(key),
        }
    }
    operations
}

fn changes(payload: RecordPayload<'_>) -> Result<Vec<LoggedChange>, StoreError> {
    let change = |operation| match operation {
        LoggedOperation::Put(key, value) => (key.to_vec(), Some(value.to_vec())),
        LoggedOperation::Delete(key) => (key.to_vec(), None),
    };
    payload.map(|operation| operation.map(change)).collect()
}

/// Returns the records, the end of the last one, and its number.
fn read(
    dir: &Path,
    from: LogPosition,
    epoch: u64,
    after: u64,
) -> (Vec<(u64, Vec<LoggedChange>)>, LogPosition, u64) {
    let mut records = Vec::new();
    let visit = &mut |number, payload: RecordPayload<'_>| {
        records.push((number, changes(payload)?));
        Ok(())
    };
    let (end, last) = LogReader::open(dir)
        .and_then(|reader| reader.replay(from, epoch, after, visit))
        .expect("a readable log");
    (records, end, last)
}

fn put(key: &str, value: &[u8]) -> Vec<LoggedChange> {
    vec![(key.into(), Some(value.to_vec()))]
}

/// Makes a synced commit; returns true if the log took it.
fn commit(log: &mut WriteAheadLog, number: u64, changes: &[LoggedChange]) -> bool {
    let appended = append(log, number, changes);
    log.files().sync().expect("a sync");
    log.committed(number);
    appended
}

fn append(log: &mut WriteAheadLog, number: u64, changes: &[LoggedChange]) -> bool {
    log.catch_up(number).expect("a readable log");
    log.append(
        number,
        &mut gathered(changes, LIMIT),
        LogPosition::new(0, 0),
    )
    .expect("a log that takes records")
}

fn open(dir: &tempfile::TempDir) -> WriteAheadLog {
    WriteAheadLog::open(dir.path(), LIMIT, EPOCH, LogPosition::new(0, 0), 0).expect("a log")
}

/// Returns the keys of the records from the beginning of generation 0.
fn keys(dir: &tempfile::TempDir) -> Vec<String> {
    let (records, ..) = read(dir.path(), LogPosition::new(0, 0), EPOCH, 0);
    let key = |(_, changes): &(u64, Vec<LoggedChange>)| {
        String::from_utf8_lossy(&changes[0].0).into_owned()
    };
    records.iter().map(key).collect()
}

#[test]
fn a_record_byte_by_byte() {
    let table: [(Vec<LoggedChange>, &str); 4] = [
        (vec![], "3f4213cb 00000000 HEAD"),
        (
            put("k", b"vw"),
            "9693bd1c 09000000 HEAD 0100 02000000 6b 7677",
        ),
        (
            vec![(b"k".to_vec(), None)],
            "4b4e3a59 07000000 HEAD 0100 ffffffff 6b",
        ),
        (
            [put("a", b""), vec![(b"b".to_vec(), None)]].concat(),
            "5c2a36eb 0e000000 HEAD 0100 00000000 61 0100 ffffffff 62",
        ),
    ];
    let head =
        "0002000007000000 8877665544332211 0900000000000000 0500000000000000 0300000000000000";
    for (changes, expected) in table {
        let name = super::RecordId {
            position: LogPosition::new(7, 512),
            epoch: EPOCH,
            number: 9,
        };
        let record = gathered(&changes, LIMIT).with_record(
            name,
            DurableNumbers {
                log: 5,
                checkpoint: 3,
            },
            <[u8]>::to_vec,
        );
        let hex: String = record.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = format!("646c6732 {}", expected.replace("HEAD", head));
        assert_eq!(
            hex,
            format!("{:0<1$}", expected.replace(' ', ""), 2 * SECTOR_BYTES)
        );
    }
}

#[test]
fn a_record_of_the_first_version_is_read() {
    let hex = "646c6f67932c3755090000000002000007000000887766554433221109000000000000000100020000006b7677";
    let bytes = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex");
    let record: Vec<u8> = (0..hex.len() / 2).map(bytes).collect();
    let head = super::record::RecordHeader::parse(&record).expect("a head");
    assert_eq!(
        head.id,
        super::RecordId {
            position: LogPosition::new(7, 512),
            epoch: EPOCH,
            number: 9
        }
    );
    assert_eq!(
        (head.on_disk, head.end()),
        (DurableNumbers::default(), LogPosition::new(7, 1024))
    );
    assert_eq!(
        head.payload(&record)
            .map(|payload| changes(RecordPayload(payload))),
        Some(Ok(put("k", b"vw")))
    );
}

#[test]
fn operations_too_large_for_a_record_are_not_gathered() {
    let mut operations = LoggedOperations::new(LIMIT);
    assert!(operations.is_empty());
    // 52 of the header, 6 of lengths, 1 of the key.
    operations.put(b"k", &[1; LIMIT as usize - 59]);
    assert_eq!(operations.record_bytes(), Some(LIMIT));
    operations.delete(b"k");
    assert_eq!(
        (operations.record_bytes(), operations.is_empty()),
        (None, false)
    );
    operations.put(b"k", b"");
    assert_eq!(operations.record_bytes(), None);
    operations.clear();
    assert!(operations.is_empty());
    operations.put(&[0; 70_000], b"");
    assert_eq!(operations.record_bytes(), None);
}

#[test]
fn a_record_that_ends_within_is_no_record() {
    let mut operations = gathered(&put("key", b"value"), LIMIT);
    let name = super::RecordId {
        position: LogPosition::new(0, 0),
        epoch: EPOCH,
        number: 1,
    };
    let record = operations.with_record(
        name,
        DurableNumbers {
            log: 5,
            checkpoint: 3,
        },
        <[u8]>::to_vec,
    );
    let head = super::record::RecordHeader::parse(&record).expect("a head");
    assert_eq!(head.id, name);
    let payload = head.payload(&record).expect("a payload").to_vec();
    for end in 1..payload.len() {
        assert_eq!(
            changes(RecordPayload(&payload[..end])),
            Err(StoreError::Corrupt("a record of the log")),
            "{end} bytes"
        );
    }
    for (bit, byte) in
        (0..head.unpadded_bytes()).flat_map(|byte| (0..8).map(move |bit| (bit, byte)))
    {
        let mut record = record.clone();
        record[byte] ^= 1 << bit;
        let read = super::record::RecordHeader::parse(&record)
            .and_then(|head| head.payload(&record).map(<[u8]>::to_vec));
        assert_eq!(read, None, "bit {bit} of byte {byte}");
    }
}

#[test]
fn two_processes_follow_each_other() {
    let dir = directory();
    let (mut one, mut other) = (open(&dir), open(&dir));
    for number in 1..40 {
        let log = if number % 3 == 0 {
            &mut one
        } else {
            &mut other
        };
        let appended = log.catch_up(number).expect("a readable log")
            && log
                .append(
                    number,
                    &mut gathered(&put(&number.to_string(), &[7; 600]), LIMIT),
                    LogPosition::new(number, 0),
                )
                .expect("room");
        assert!(appended, "record {number}");
        log.committed(number);
    }
    assert!(one.tail().generation() >= 4, "generations change");
    assert!(
        one.catch_up(40).expect("a readable log") && other.catch_up(40).expect("a readable log")
    );
    assert_eq!(one.tail(), other.tail());
}

#[test]
fn a_gap_is_found_and_a_checkpoint_leads_behind_it() {
    let dir = directory();
    let (mut one, mut other) = (open(&dir), open(&dir));
    assert!(commit(&mut one, 1, &put("a", b"")));
    // Number 2 was committed without a record.
    assert!(!other.catch_up(3).expect("a readable log"));
    assert!(!append(&mut other, 3, &put("c", b"")));
    let tail = other.restart(EPOCH, 3);
    assert!(commit(&mut other, 4, &put("d", b"")));
    assert!(!one.catch_up(5).expect("a readable log"));
    one.go_to(EPOCH, tail, 3);
    assert!(one.catch_up(5).expect("a readable log"));
    assert_eq!(one.tail(), other.tail());
}

#[test]
fn a_generation_that_holds_records_since_the_checkpoint_is_kept() {
    let dir = directory();
    let mut log = open(&dir);
    let numbers = (1..)
        .take_while(|number| commit(&mut log, *number, &put("k", &[1; 1000])))
        .count();
    // Six a generation, of 1536 bytes: the sixth ends after the limit.
    assert_eq!(numbers, 12);
    assert_eq!(keys(&dir).len(), 12);
    let free = LogPosition::new(1, 0);
    assert!(
        log.append(13, &mut gathered(&put("m", b""), LIMIT), free)
            .expect("room")
    );
    log.committed(13);
    assert_eq!(log.tail(), LogPosition::new(2, 512));
    assert_eq!(log.bytes_since(free), LIMIT + 512);
}

#[test]
fn a_record_larger_than_a_generation_is_not_taken() {
    let dir = directory();
    let mut log = open(&dir);
    assert!(commit(&mut log, 1, &put("a", &[1; 8000])));
    assert!(!append(&mut log, 2, &put("b", &[1; 8192])));
    assert!(commit(&mut log, 2, &put("c", &[1; 8000])));
    assert_eq!(keys(&dir), ["a", "c"]);
}

#[test]
fn a_failed_commit_is_void_and_its_number_is_used_again() {
    let dir = directory();
    let mut log = open(&dir);
    assert!(commit(&mut log, 1, &put("a", b"")));
    assert!(append(&mut log, 2, &put("failed", &[1; 3000])));
    log.void().expect("a void");
    assert_eq!(keys(&dir), ["a"]);
    assert!(commit(&mut log, 2, &put("b", b"")));
    assert!(commit(&mut log, 3, &put("c", b"")));
    assert_eq!(keys(&dir), ["a", "b", "c"]);
}

#[test]
fn the_record_of_a_killed_writer_is_overwritten_by_a_shorter_one() {
    let dir = directory();
    let (mut killed, mut other) = (open(&dir), open(&dir));
    assert!(commit(&mut killed, 1, &put("a", b"")));
    assert!(append(&mut killed, 2, &put("killed", &[1; 3000])));
    drop(killed);
    assert_eq!(keys(&dir), ["a", "killed"]);
    for (number, key) in [(2, "b"), (3, "c"), (4, "d")] {
        assert!(commit(&mut other, number, &put(key, &[1; 600])));
    }
    assert_eq!(keys(&dir), ["a", "b", "c", "d"]);
}

#[test]
fn a_commit_without_a_record_leaves_none_of_a_killed_writer() {
    let dir = directory();
    let (mut killed, mut other) = (open(&dir), open(&dir));
    assert!(append(&mut killed, 1, &put("killed", b"")));
    assert!(!append(&mut other, 1, &put("large", &[1; 9000])));
    assert_eq!(keys(&dir), [""; 0]);
}

#[test]
fn a_record_counts_only_at_its_place_and_in_its_epoch() {
    let dir = directory();
    let mut log = open(&dir);
    assert!(commit(&mut log, 1, &put("a", b"")));
    assert!(commit(&mut log, 2, &put("b", b"")));
    let replayed = |position, epoch, after| read(dir.path(), position, epoch, after).2;
    assert_eq!(replayed(LogPosition::new(0, 0), EPOCH, 0), 2);
    assert_eq!(replayed(LogPosition::new(0, 512), EPOCH, 1), 2);
    assert_eq!(replayed(LogPosition::new(0, 0), EPOCH + 1, 0), 0);
    assert_eq!(replayed(LogPosition::new(2, 0), EPOCH, 0), 0);
    assert_eq!(replayed(LogPosition::new(0, 0), EPOCH, 1), 1);
    // A sector that was written to the wrong place.
    let path = dir.path().join(LOG_FILES[0]);
    let mut bytes = std::fs::read(&path).expect("a log file");
    bytes.copy_within(512..1024, 2048);
    std::fs::write(&path, bytes).expect("a log file");
    assert_eq!(replayed(LogPosition::new(0, 2048), EPOCH, 1), 1);
}

#[test]
fn a_missing_file_is_told_from_an_empty_log() {
    let dir = directory();
    drop(open(&dir));
    let missing = || {
        LogReader::open(dir.path())
            .expect("a readable directory")
            .missing()
    };
    assert_eq!(missing(), None);
    std::fs::remove_file(dir.path().join(LOG_FILES[1])).expect("a log file");
    assert_eq!(missing(), Some("log.1"));
}

/// Tests the records found after a hole, and their proof.
#[test]
fn records_behind_a_hole_are_found() {
    let dir = directory();
    let mut log = open(&dir);
    for number in 1..=5 {
        assert!(commit(&mut log, number, &put("k", &[1; 600])));
    }
    let path = dir.path().join(LOG_FILES[0]);
    let whole = std::fs::read(&path).expect("a log file");
    let traces = |last| {
        LogReader::open(dir.path())
            .and_then(|reader| reader.stray_records(EPOCH, last))
            .expect("a readable log")
    };
    assert_eq!(traces(5).last, None);
    // A record says what was on disk when the one before it was written, not yet that one itself.
    assert_eq!((traces(4).last, traces(4).is_proof), (Some(5), false));
    assert_eq!((traces(2).last, traces(2).is_proof), (Some(5), true));
    // Another epoch's record, and one that is not whole.
    assert_eq!(
        LogReader::open(dir.path())
            .and_then(|reader| reader.stray_records(EPOCH + 1, 0))
            .expect("a readable log")
            .last,
        None
    );
    let mut damaged = whole.clone();
    damaged[4 * 1024 + 100] ^= 1;
    std::fs::write(&path, damaged).expect("a log file");
    assert_eq!(traces(3).last, Some(4));
    // The files exchanged.
    std::fs::write(dir.path().join(LOG_FILES[1]), &whole).expect("a log file");
    std::fs::write(&path, b"").expect("a log file");
    assert_eq!((traces(4).last, traces(4).is_proof), (Some(5), true));
    log.set_checkpoint(5);
    std::fs::write(&path, whole).expect("a log file");
    assert!(commit(&mut log, 6, &put("k", b"")));
    assert_eq!(traces(6).checkpoint, 5);
}

#[test]
fn a_length_that_cannot_be_costs_no_memory() {
    let dir = directory();
    drop(open(&dir));
    let path = dir.path().join(LOG_FILES[0]);
    let name = super::RecordId {
        position: LogPosition::new(0, 0),
        epoch: EPOCH,
        number: 1,
    };
    let mut record = gathered(&put("a", b""), LIMIT).with_record(
        name,
        DurableNumbers {
            log: 5,
            checkpoint: 3,
        },
        <[u8]>::to_vec,
    );
    record[8..12].copy_from_slice(&(u32::MAX - 7).to_le_bytes());
    std::fs::write(&path, &record).expect("a log file");
    let mut buffer = Vec::new();
    let file = std::fs::File::open(&path).expect("a log file");
    assert_eq!(
        super::files::read_record(&file, name, &mut buffer).expect("a readable file"),
        None
    );
    assert!(buffer.capacity() <= 4096, "{} bytes", buffer.capacity());
}

#[test]
fn zeros_written_ahead_by_anybody_meet_no_record() {
    let dir = directory();
    let mut log =
        WriteAheadLog::open(dir.path(), 4 << 20, EPOCH, LogPosition::new(0, 0), 0).expect("a log");
    let files = WriteAheadLog::open(dir.path(), 4 << 20, EPOCH, LogPosition::new(0, 0), 0)
        .expect("a log")
        .files();
    let ahead = std::thread::spawn(move || while files.preallocate(4 << 20).expect("room") {});
    let value = vec![1; 3000];
    for number in 1..=1000 {
        let mut operations = gathered(&put("k", &value), 4 << 20);
        assert!(
            log.append(number, &mut operations, LogPosition::new(0, 0))
                .expect("room")
        );
        log.committed(number);
    }
    ahead.join().expect("the thread ends");
    assert_eq!(read(dir.path(), LogPosition::new(0, 0), EPOCH, 0).2, 1000);
    let lengths = LOG_FILES.map(|name| {
        std::fs::metadata(dir.path().join(name))
            .expect("a log file")
            .len()
    });
    assert!(lengths.iter().all(|bytes| *bytes >= 4 << 20), "{lengths:?}");
}
