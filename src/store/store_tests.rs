//! Tests of the contract of [`Store`], run on both stores, and of long keys against a model (a
//! `BTreeMap`).
#![allow(clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{ThreadId, current};
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::lmdb::{LmdbOptions, LmdbStore};
use super::memory::MemoryStore;
use super::{
    BatchHook, Direction, KEY_BYTES_MAX, KeyRange, Read, Store, StoreError, Write, WriteJob,
    prefix_end,
};
use crate::model::api::CommitInline;

type JobResult = Result<(), StoreError>;

/// A job of two closures.
struct ClosureJob<R, D> {
    run: R,
    done: D,
    /// True if its thread may commit it itself.
    is_inline: bool,
}

impl<R, D> WriteJob for ClosureJob<R, D>
where
    R: FnMut(&mut dyn Write) -> JobResult + Send,
    D: FnOnce(JobResult) + Send,
{
    fn run(&mut self, batch: &mut dyn Write) -> JobResult {
        (self.run)(batch)
    }

    fn commit_inline(&self) -> Option<CommitInline> {
        self.is_inline.then_some(CommitInline::Here)
    }

    fn done(self: Box<Self>, result: JobResult) {
        (self.done)(result);
    }
}

/// Submits a job; its result arrives in the channel.
pub(super) fn submit(
    store: &dyn Store,
    run: impl FnMut(&mut dyn Write) -> JobResult + Send + 'static,
) -> mpsc::Receiver<JobResult> {
    submit_as(store, false, run)
}

fn submit_as(
    store: &dyn Store,
    is_inline: bool,
    run: impl FnMut(&mut dyn Write) -> JobResult + Send + 'static,
) -> mpsc::Receiver<JobResult> {
    let (sender, receiver) = mpsc::channel();
    let done = move |result| sender.send(result).unwrap_or_default();
    store.submit(Box::new(ClosureJob {
        run,
        done,
        is_inline,
    }));
    receiver
}

pub(super) fn write(
    store: &dyn Store,
    run: impl FnMut(&mut dyn Write) -> JobResult + Send + 'static,
) -> JobResult {
    submit(store, run)
        .recv()
        .expect("every job is told its outcome")
}

pub(super) fn put(store: &dyn Store, key: &[u8], value: &[u8]) -> JobResult {
    let (key, value) = (key.to_vec(), value.to_vec());
    write(store, move |batch| batch.put(&key, &value))
}

pub(super) fn get(store: &dyn Store, key: &[u8]) -> Option<Vec<u8>> {
    store
        .snapshot()
        .expect("a snapshot")
        .get(key)
        .expect("a read")
        .map(<[u8]>::to_vec)
}

const EVERYTHING: KeyRange = KeyRange {
    lower: Bound::Unbounded,
    upper: Bound::Unbounded,
};

type ModelEntries = Vec<(Vec<u8>, Vec<u8>)>;

fn entries(view: &dyn Read, range: &KeyRange, direction: Direction) -> ModelEntries {
    let mut found = Vec::new();
    let visit = &mut |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    view.walk(range, direction, visit).expect("a walk");
    found
}

/// Runs a check on a fresh store of each kind.
fn on_both(check: impl Fn(Arc<dyn Store>)) {
    check(Arc::new(MemoryStore::new().expect("a memory store")));
    let dir = tempfile::tempdir().expect("a directory");
    check(Arc::new(
        LmdbStore::open(dir.path(), LmdbOptions::default()).expect("a store"),
    ));
    let small = LmdbOptions {
        map_bytes: 1 << 20,
        ..LmdbOptions::default()
    };
    let dir = tempfile::tempdir().expect("a directory");
    check(Arc::new(
        LmdbStore::open(dir.path(), small).expect("a store"),
    ));
}

#[test]
fn a_job_reads_its_own_writes() {
    on_both(|store| {
        write(&*store, |batch| {
            batch.put(b"a", b"1")?;
            batch.put(b"b", b"2")?;
            assert_eq!(batch.get(b"a")?, Some(&b"1"[..]));
            assert!(batch.delete(b"a")?);
            assert!(!batch.delete(b"a")?);
            assert_eq!(
                entries(batch.as_read(), &EVERYTHING, Direction::Forward),
                [(b"b".to_vec(), b"2".to_vec())]
            );
            Ok(())
        })
        .expect("a write");
        assert_eq!(
            (get(&*store, b"a"), get(&*store, b"b")),
            (None, Some(b"2".to_vec()))
        );
    });
}

/// Holds the writer thread in a job until the returned sender is dropped, so that the jobs
/// submitted meanwhile are one batch.
fn hold(store: &dyn Store) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (started, has_started) = mpsc::channel();
    drop(submit(store, move |_| {
        let _ = started.send(());
        let _ = released.recv();
        Ok(())
    }));
    has_started.recv().expect("the job starts");
    release
}

#[test]
fn a_failing_job_changes_nothing_and_leaves_its_batch_whole() {
    on_both(|store| {
        let held = hold(&*store);
        let first = submit(&*store, |batch| batch.put(b"first", b"1"));
        let failing = submit(&*store, |batch| {
            batch.put(b"failing", b"1")?;
            batch.delete(b"first")?;
            Err(StoreError::Corrupt("on purpose"))
        });
        let panicking = submit(&*store, |batch| {
            batch.put(b"panicking", b"1")?;
            panic!("on purpose");
        });
        let last = submit(&*store, |batch| batch.put(b"last", b"1"));
        drop(held);
        assert_eq!(failing.recv(), Ok(Err(StoreError::Corrupt("on purpose"))));
        assert!(matches!(panicking.recv(), Ok(Err(StoreError::Io(_)))));
        assert_eq!((first.recv(), last.recv()), (Ok(Ok(())), Ok(Ok(()))));
        let view = store.snapshot().expect("a snapshot");
        let keys: Vec<_> = entries(&*view, &EVERYTHING, Direction::Forward)
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        assert_eq!(keys, [b"first".to_vec(), b"last".to_vec()]);
    });
}

#[test]
fn a_snapshot_stays_as_it_was() {
    on_both(|store| {
        put(&*store, b"a", b"1").expect("a write");
        let before = store.snapshot().expect("a snapshot");
        write(&*store, |batch| {
            batch.put(b"a", b"2")?;
            batch.put(b"b", b"2")
        })
        .expect("a write");
        assert_eq!(
            entries(&*before, &EVERYTHING, Direction::Forward),
            [(b"a".to_vec(), b"1".to_vec())]
        );
        assert_eq!(get(&*store, b"a"), Some(b"2".to_vec()));
    });
}

#[test]
fn calls_on_a_view_nest() {
    on_both(|store| {
        write(&*store, |batch| {
            (0..10u8).try_for_each(|n| batch.put(&[n], &[n]))
        })
        .expect("a write");
        let view = store.snapshot().expect("a snapshot");
        let mut pairs = 0;
        let outer = &mut |key: &[u8], _: &[u8]| {
            assert_eq!(view.get(key), Ok(Some(key)));
            assert_eq!(
                store.snapshot().expect("a second snapshot").get(key),
                Ok(Some(key))
            );
            pairs += entries(&*view, &EVERYTHING, Direction::Reverse).len();
            ControlFlow::Continue(())
        };
        view.walk(&EVERYTHING, Direction::Forward, outer)
            .expect("a walk");
        assert_eq!(pairs, 100);
    });
}

#[test]
fn commit_id_changes_with_content_only() {
    on_both(|store| {
        put(&*store, b"a", b"1").expect("a write");
        let id = store.commit_id();
        write(&*store, |_| Ok(())).expect("a write of nothing");
        write(&*store, |batch| batch.delete(b"absent").map(drop)).expect("a delete of nothing");
        assert!(
            write(&*store, |batch| batch
                .put(b"b", b"")
                .and(Err(StoreError::NoSpace)))
            .is_err()
        );
        assert_eq!(store.commit_id(), id);
        put(&*store, b"a", b"2").expect("a write");
        assert_ne!(store.commit_id(), id);
    });
}

#[derive(Default)]
struct Hook {
    calls: Mutex<Vec<&'static str>>,
}

impl BatchHook for Hook {
    fn begin(&self) {
        self.calls.lock().push("begin");
    }

    fn finish(&self, batch: &mut dyn Write) -> JobResult {
        self.calls.lock().push("finish");
        assert_eq!(batch.get(b"job")?, Some(&b"1"[..]));
        batch.put(b"hook", b"1")
    }
}

#[test]
fn the_hook_runs_around_the_jobs_of_each_transaction() {
    on_both(|store| {
        let hook = Arc::new(Hook::default());
        store.set_hook(Arc::clone(&hook) as Arc<dyn BatchHook>);
        let of_job = Arc::clone(&hook);
        write(&*store, move |batch| {
            of_job.calls.lock().push("job");
            batch.put(b"job", b"1")
        })
        .expect("a write");
        assert_eq!(*hook.calls.lock(), ["begin", "job", "finish"]);
        assert_eq!(get(&*store, b"hook"), Some(b"1".to_vec()));
    });
}

#[test]
fn a_closed_store_ends_queued_jobs_and_refuses_further_ones() {
    on_both(|store| {
        let held = hold(&*store);
        let queued = submit(&*store, |batch| batch.put(b"a", b"1"));
        let closing = std::thread::spawn({
            let store = Arc::clone(&store);
            move || store.close()
        });
        drop(held);
        closing.join().expect("close returns");
        assert_eq!(queued.recv(), Ok(Ok(())));
        assert_eq!(put(&*store, b"b", b"1"), Err(StoreError::Closed));
        assert_eq!(get(&*store, b"a"), Some(b"1".to_vec()));
    });
}

/// Submits inline until the job runs on this thread, at most `tries` times. Returns the threads of
/// the last run and of its end.
fn commit_until_inline(store: &dyn Store, tries: u32) -> (ThreadId, ThreadId) {
    let mut last = None;
    for _ in 0..tries {
        let (sender, receiver) = mpsc::channel();
        let of_run = sender.clone();
        let run = move |batch: &mut dyn Write| {
            of_run.send(current().id()).unwrap_or_default();
            batch.put(b"led", b"1")
        };
        let done = move |result: JobResult| {
            assert_eq!(result, Ok(()));
            sender.send(current().id()).unwrap_or_default();
        };
        store.submit(Box::new(ClosureJob {
            run,
            done,
            is_inline: true,
        }));
        last = Some((
            receiver.recv().expect("it runs"),
            receiver.recv().expect("it ends"),
        ));
        if last == Some((current().id(), current().id())) {
            break;
        }
        // The writer thread may not sleep yet, or a slow commit may have stopped inline commits for
        // a while.
        std::thread::sleep(Duration::from_millis(10));
    }
    last.expect("a try")
}

const OFTEN: u32 = 1000;

#[test]
fn a_lone_writer_commits_inline() {
    on_both(|store| {
        assert_eq!(
            commit_until_inline(&*store, OFTEN),
            (current().id(), current().id())
        );
        assert_eq!(get(&*store, b"led"), Some(b"1".to_vec()));
        // A job that does not ask for it is not committed inline.
        let (sender, receiver) = mpsc::channel();
        write(&*store, move |_| {
            sender.send(current().id()).map_err(|_| StoreError::Closed)
        })
        .expect("a write");
        assert_ne!(receiver.recv(), Ok(current().id()));
    });
}

#[test]
fn a_thread_with_a_snapshot_does_not_commit_inline() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = LmdbStore::open(dir.path(), LmdbOptions::default()).expect("a store");
    assert_eq!(commit_until_inline(&store, OFTEN).0, current().id());
    let _snapshot = store.snapshot().expect("a snapshot");
    assert_ne!(commit_until_inline(&store, 3).0, current().id());
}

/// Commits a job inline that runs `within` at its end and waits in its run for the returned sender;
/// returns the committing thread too.
fn hold_inline(
    store: &Arc<dyn Store>,
    within: impl FnOnce() + Send + 'static,
) -> (mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let (release, released) = mpsc::channel::<()>();
    let (started, has_started) = mpsc::channel();
    let of_thread = Arc::clone(store);
    let leader = std::thread::spawn(move || {
        assert_eq!(commit_until_inline(&*of_thread, OFTEN).0, current().id());
        let (ended, has_ended) = mpsc::channel();
        let (run, done) = (
            move |batch: &mut dyn Write| {
                started.send(()).unwrap_or_default();
                let _ = released.recv();
                batch.put(b"order", b"leader")
            },
            move |result: JobResult| {
                assert_eq!(result, Ok(()));
                within();
                ended.send(()).unwrap_or_default();
            },
        );
        of_thread.submit(Box::new(ClosureJob {
            run,
            done,
            is_inline: true,
        }));
        // Already so, unless a slow commit has stopped inline commits for a while.
        has_ended.recv().expect("the job ends");
    });
    has_started.recv().expect("the job starts");
    (release, leader)
}

#[test]
fn jobs_during_an_inline_commit_run_after_it_in_order() {
    on_both(|store| {
        let (release, leader) = hold_inline(&store, || {});
        let queued: Vec<_> = [(&b"leader"[..], &b"1"[..]), (b"1", b"2"), (b"2", b"3")]
            .map(|(before, after)| {
                submit(&*store, move |batch| {
                    assert_eq!(batch.get(b"order")?, Some(before));
                    batch.put(b"order", after)
                })
            })
            .into();
        drop(release);
        leader.join().expect("the leader's end");
        queued
            .into_iter()
            .for_each(|outcome| assert_eq!(outcome.recv(), Ok(Ok(()))));
        assert_eq!(get(&*store, b"order"), Some(b"3".to_vec()));
    });
}

#[test]
fn a_job_submitted_by_an_inline_completion_is_queued() {
    on_both(|store| {
        let (sender, receiver) = mpsc::channel();
        let again = Arc::clone(&store);
        let (release, leader) = hold_inline(&store, move || {
            let run = move |_: &mut dyn Write| {
                sender.send(current().id()).map_err(|_| StoreError::Closed)
            };
            again.submit(Box::new(ClosureJob {
                run,
                done: |_| {},
                is_inline: true,
            }));
        });
        let leads = leader.thread().id();
        drop(release);
        assert_ne!(receiver.recv().expect("it runs"), leads);
        leader.join().expect("the leader's end");
    });
}

#[test]
fn a_panic_in_a_led_job_is_its_own_failure() {
    on_both(|store| {
        assert_eq!(commit_until_inline(&*store, OFTEN).0, current().id());
        let panicking = submit_as(&*store, true, |_| panic!("on purpose"));
        assert!(matches!(panicking.recv(), Ok(Err(StoreError::Io(_)))));
        put(&*store, b"a", b"1").expect("a write");
        assert_eq!(commit_until_inline(&*store, OFTEN).0, current().id());
    });
}

#[test]
fn close_waits_for_an_inline_commit_of_another_thread() {
    on_both(|store| {
        let (release, leader) = hold_inline(&store, || {});
        let queued = submit(&*store, |batch| batch.put(b"a", b"1"));
        let of_thread = Arc::clone(&store);
        let closing = std::thread::spawn(move || of_thread.close());
        drop(release);
        closing.join().expect("close returns");
        leader.join().expect("the leader's end");
        assert_eq!(
            (queued.recv(), get(&*store, b"order")),
            (Ok(Ok(())), Some(b"leader".to_vec()))
        );
    });
    on_both(|store| {
        let of_end = Arc::clone(&store);
        let (release, leader) = hold_inline(&store, move || of_end.close());
        drop(release);
        leader.join().expect("the leader's end");
        assert_eq!(put(&*store, b"b", b"1"), Err(StoreError::Closed));
    });
}

#[test]
fn keys_that_cannot_be_are_refused_and_never_found() {
    on_both(|store| {
        for key in [&[][..], &[0xFF], &[0xFF, 1, 2], &vec![1; KEY_BYTES_MAX + 1]] {
            assert!(put(&*store, key, b"1").is_err());
            assert_eq!(get(&*store, key), None);
            let absent = key.to_vec();
            write(&*store, move |batch| {
                batch.delete(&absent).map(|found| assert!(!found))
            })
            .expect("a delete");
        }
        let longest = vec![1; KEY_BYTES_MAX];
        put(&*store, &longest, b"1").expect("a write");
        let view = store.snapshot().expect("a snapshot");
        assert_eq!(
            entries(&*view, &EVERYTHING, Direction::Reverse),
            [(longest, b"1".to_vec())]
        );
    });
}

#[test]
fn nothing_is_left_of_deleted_long_keys() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = LmdbStore::open(dir.path(), LmdbOptions::default()).expect("a store");
    let keys: Vec<Vec<u8>> = [511, 1003, 1004, 1500, 3072]
        .map(|length| vec![b'k'; length])
        .to_vec();
    let (puts, deletes) = (keys.clone(), keys);
    write(&store, move |batch| {
        puts.iter().try_for_each(|key| batch.put(key, b"1"))
    })
    .expect("a write");
    assert_eq!(store.raw_entries().expect("a count"), 5 + 6);
    write(&store, move |batch| {
        deletes
            .iter()
            .try_for_each(|key| batch.delete(key).map(|found| assert!(found)))
    })
    .expect("a write");
    assert_eq!(store.raw_entries().expect("a count"), 0);
}

#[test]
fn many_writers_and_readers_see_whole_jobs() {
    on_both(|store| {
        let writing = Arc::new(AtomicUsize::new(8));
        std::thread::scope(|scope| {
            for writer in 0..8u8 {
                let (store, writing) = (Arc::clone(&store), Arc::clone(&writing));
                scope.spawn(move || {
                    for round in 0..50u8 {
                        write(&*store, move |batch| {
                            (0..4u8).try_for_each(|part| batch.put(&[writer, part], &[round]))
                        })
                        .expect("a write");
                    }
                    writing.fetch_sub(1, Ordering::AcqRel);
                });
            }
            for _ in 0..4 {
                scope.spawn(|| {
                    while writing.load(Ordering::Acquire) > 0 {
                        let view = store.snapshot().expect("a snapshot");
                        let found = entries(&*view, &EVERYTHING, Direction::Forward);
                        assert!(
                            found
                                .chunks(4)
                                .all(|job| job.iter().all(|(_, value)| *value == job[0].1))
                        );
                    }
                });
            }
        });
        assert_eq!(
            entries(
                &*store.snapshot().expect("a snapshot"),
                &EVERYTHING,
                Direction::Forward
            )
            .len(),
            32
        );
    });
}

#[test]
fn thousands_of_keys_behind_one_prefix_cost_no_more_than_elsewhere() {
    let store = MemoryStore::new().expect("a store");
    let key = |n: u32| [&[b'p'; 700][..], &n.to_be_bytes()].concat();
    write(&store, move |batch| {
        (0..20_000).try_for_each(|n| batch.put(&key(n), b""))
    })
    .expect("a write");
    let view = store.snapshot().expect("a snapshot");
    for n in (0..20_000).step_by(7) {
        let range = KeyRange {
            lower: Bound::Excluded(key(n)),
            upper: Bound::Unbounded,
        };
        let mut next = None;
        let visit = &mut |found: &[u8], _: &[u8]| {
            next = Some(found.to_vec());
            ControlFlow::Break(())
        };
        view.walk(&range, Direction::Forward, visit)
            .expect("a walk");
        assert_eq!(next, (n + 1 < 20_000).then(|| key(n + 1)));
    }
}

#[test]
fn prefix_end_is_after_every_key_of_the_prefix() {
    let check = |prefix: &[u8], expected: Option<&[u8]>| {
        assert_eq!(prefix_end(prefix).as_deref(), expected)
    };
    check(b"", None);
    check(b"a", Some(b"b"));
    check(b"a\xFF\xFF", Some(b"b"));
    check(b"\xFF", None);
}

/// Generates keys of few different bytes and of lengths at the edges of the chunks, so that they
/// meet.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![3 => 1..=3usize, 4 => 505..=515usize, 4 => 990..=1010usize, 1 => Just(1500usize), 1 => Just(2100usize)];
    const BYTES: &[u8] = &[0x00, 0x01, 0x61, 0xFF];
    // Mostly one byte, with a few others near the end and anywhere, so that prefixes are shared.
    let changes = prop::collection::vec((0..40usize, prop::sample::select(BYTES)), 0..4);
    (
        length,
        prop::sample::select(&BYTES[..3]),
        prop::sample::select(&BYTES[..3]),
        changes,
    )
        .prop_map(|(length, first, fill, changes)| {
            let mut key = vec![fill; length];
            key[0] = first;
            for (place, byte) in changes {
                if let Some(at) = length.checked_sub(1 + place).filter(|&at| at > 0) {
                    key[at] = byte;
                }
            }
            key
        })
}

type ModelBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    // Bounds may have any first byte, and no byte at all.
    let any = prop_oneof![6 => key(), 1 => Just(vec![]), 1 => Just(vec![0xFF]), 1 => key().prop_map(|key| [&[0xFF], &key[..]].concat())];
    (any, 0..3).prop_map(|(key, kind)| match kind {
        0 => Bound::Included(key),
        1 => Bound::Excluded(key),
        _ => Bound::Unbounded,
    })
}

#[derive(Debug, Clone)]
enum ModelOperation {
    Put(Vec<u8>, u8),
    Delete(Vec<u8>),
    /// Deletes the stored key at this index, modulo the count.
    DeleteStored(usize),
}

fn steps() -> impl Strategy<Value = Vec<ModelOperation>> {
    let step = prop_oneof![
        6 => (key(), any::<u8>()).prop_map(|(key, value)| ModelOperation::Put(key, value)),
        1 => key().prop_map(ModelOperation::Delete),
        2 => any::<usize>().prop_map(ModelOperation::DeleteStored),
    ];
    prop::collection::vec(step, 1..40)
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn apply(steps: &[ModelOperation], model: &mut Model, batch: &mut dyn Write) -> JobResult {
    for step in steps {
        match step {
            ModelOperation::Put(key, value) => {
                model.insert(key.clone(), vec![*value]);
                batch.put(key, &[*value])?;
            }
            ModelOperation::Delete(key) => {
                assert_eq!(batch.delete(key)?, model.remove(key).is_some())
            }
            ModelOperation::DeleteStored(place) => {
                if let Some(key) = model.keys().nth(place % model.len().max(1)).cloned() {
                    model.remove(&key);
                    assert!(batch.delete(&key)?);
                }
            }
        }
    }
    Ok(())
}

fn expected(model: &Model, range: &KeyRange, direction: Direction) -> ModelEntries {
    let inside = |key: &Vec<u8>| {
        (match &range.lower {
            Bound::Included(bound) => key >= bound,
            Bound::Excluded(bound) => key > bound,
            Bound::Unbounded => true,
        }) && (match &range.upper {
            Bound::Included(bound) => key <= bound,
            Bound::Excluded(bound) => key < bound,
            Bound::Unbounded => true,
        })
    };
    let mut found: ModelEntries = model
        .iter()
        .filter(|(key, _)| inside(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if direction == Direction::Reverse {
        found.reverse();
    }
    found
}

fn compare(view: &dyn Read, model: &Model, ranges: &[ModelBounds], stop: usize) {
    for (key, value) in model {
        assert_eq!(view.get(key), Ok(Some(&value[..])));
    }
    for (lower, upper) in ranges {
        let range = KeyRange {
            lower: lower.clone(),
            upper: upper.clone(),
        };
        for direction in [Direction::Forward, Direction::Reverse] {
            let mut all = expected(model, &range, direction);
            assert_eq!(entries(view, &range, direction), all, "{direction:?}");
            let mut first = Vec::new();
            let visit = &mut |key: &[u8], value: &[u8]| {
                first.push((key.to_vec(), value.to_vec()));
                if first.len() >= stop {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            view.walk(&range, direction, visit).expect("a walk");
            all.truncate(stop);
            assert_eq!(first, all, "the first {stop}, {direction:?}");
        }
    }
}

fn check_against_model(
    store: &dyn Store,
    steps: Vec<ModelOperation>,
    ranges: Vec<ModelBounds>,
    stop: usize,
) {
    let model = Arc::new(Mutex::new(Model::new()));
    let (of_job, of_ranges) = (Arc::clone(&model), ranges.clone());
    write(store, move |batch| {
        let mut model = Model::new();
        apply(&steps, &mut model, batch)?;
        compare(batch.as_read(), &model, &of_ranges, stop);
        *of_job.lock() = model;
        Ok(())
    })
    .expect("the batch equals the model");
    let view = store.snapshot().expect("a snapshot");
    compare(
        &*view,
        &model.lock(),
        &[(Bound::Unbounded, Bound::Unbounded)],
        stop,
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn long_keys_in_memory_equal_a_model(
        steps in steps(), ranges in prop::collection::vec((bound(), bound()), 1..6), stop in 1..5usize,
    ) {
        check_against_model(&MemoryStore::new().expect("a store"), steps, ranges, stop);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn long_keys_in_lmdb_equal_a_model(
        steps in steps(), ranges in prop::collection::vec((bound(), bound()), 1..6), stop in 1..5usize,
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        check_against_model(&LmdbStore::open(dir.path(), LmdbOptions::default()).expect("a store"), steps, ranges, stop);
    }
}
