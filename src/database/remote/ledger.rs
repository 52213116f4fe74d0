//! The spending of a day: one small file of a user, which all processes of the user share, so that
//! a budget of a day holds over mounts, pulls and pushes together.
//!
//! | difficulty | solved by |
//! |---|---|
//! | a process is killed while a request is under way | the maximal cost is in the file before the request is sent, and the rest is taken back after the answer: too much is counted then, never too little |
//! | several processes at once | each change is made under a lock of the file, which ends with its process |
//! | the machine fails in the middle of a write | the file is one line of constant length, written at once; one that is damaged all the same is an error, never 0 |
//! | the file is removed | a process counts on from what it spent itself |
//! | the clock jumps back | the sum stays, and its day becomes the present one |
//!
//! A day is one of UTC.

use std::fmt::Display;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::codec::calendar;
use crate::database::prelude::*;
use crate::model::clock::Clock;

/// The length of the file.
const LINE_BYTES: usize = 64;
/// The largest sum that fits the line.
const SPENT_MAX: f64 = 1e9;
/// The limit of a wait for the lock. A change takes microseconds, so a longer one is a process that
/// was stopped in the middle.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const DAMAGED: &str = "it is not what a ddbfs wrote; remove it to count from now";
const LOCK_POLL: Duration = Duration::from_millis(1);

/// The shared spending of a day; see the module.
#[derive(Debug)]
pub struct SpendLedger {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    own: Mutex<OwnSpending>,
}

/// A day, and the money spent on it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DaySum {
    /// As `2026-01-02`, whose order is that of time.
    day: String,
    spent: f64,
}

/// The spending of this process.
#[derive(Debug, Default)]
struct OwnSpending {
    sum: DaySum,
    /// The maximal cost of requests under way.
    reserved: f64,
}

/// The result of a reservation.
#[derive(Debug, Clone, PartialEq)]
pub enum DayAdmission {
    Admitted(DayReservation),
    /// Requests of this process under way may take the rest.
    Later,
    /// The money that was spent is the limit or more.
    UsedUp(f64),
}

/// Money that is reserved in the sum of a day; none by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DayReservation {
    day: String,
    money: f64,
}

impl DaySum {
    /// Begins a new day. One that lies before keeps the sum: the clock was set back.
    fn turn(&mut self, today: &str) {
        if self.day.as_str() < today {
            self.spent = 0.0;
        }
        self.day = today.to_owned();
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let sum: Self = serde_json::from_slice(text).ok()?;
        calendar::parse_iso(&format!("{}T00:00:00.000Z", sum.day))?;
        (0.0..=SPENT_MAX).contains(&sum.spent).then_some(sum)
    }

    fn line(&self) -> String {
        let text = format!(
            r#"{{"day":"{}","spent":{:.12}}}"#,
            self.day,
            self.spent.clamp(0.0, SPENT_MAX)
        );
        format!("{text:<width$}\n", width = LINE_BYTES - 1)
    }
}

impl SpendLedger {
    #[must_use]
    pub fn new(path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        let own = Mutex::default();
        Self { path, clock, own }
    }

    /// Returns the money spent today by all processes.
    ///
    /// # Errors
    /// `Budget`: the file cannot be read or written, or is damaged.
    pub fn spent(&self) -> Result<f64, Error> {
        self.update(|sum, _| sum.spent)
    }

    /// Reserves the maximal cost of a request, if less than `limit` is spent and reserved.
    ///
    /// # Errors
    /// As [`Self::spent`].
    pub fn reserve(&self, limit: f64, money: f64) -> Result<DayAdmission, Error> {
        self.update(|sum, reserved| {
            if sum.spent < limit {
                sum.spent += money;
                *reserved += money;
                let day = sum.day.clone();
                return DayAdmission::Admitted(DayReservation { day, money });
            }
            if sum.spent - *reserved < limit {
                DayAdmission::Later
            } else {
                DayAdmission::UsedUp(sum.spent)
            }
        })
    }

    /// Replaces a reservation by the actual cost.
    ///
    /// # Errors
    /// As [`Self::spent`]; then the reservation stays spent.
    pub fn settle(&self, reservation: &DayReservation, actual: f64) -> Result<(), Error> {
        let settled = self.update(|sum, _| {
            // The reservation of an earlier day went with its sum.
            if sum.day == reservation.day {
                sum.spent = (sum.spent - reservation.money).max(0.0);
            }
            sum.spent += actual;
        });
        // Even if the file cannot be written: the request is no longer under way.
        self.own.lock().reserved -= reservation.money;
        settled
    }

    /// Changes the sum of today, and the money that this process reserves, under the lock of the
    /// file.
    fn update<T>(&self, change: impl FnOnce(&mut DaySum, &mut f64) -> T) -> Result<T, Error> {
        // Threads exclude each other by this lock, processes by that of the file.
        let mut own = self.own.lock();
        let mut file = self.lock_file().map_err(|error| self.failure(error))?;
        let mut text = Vec::with_capacity(LINE_BYTES);
        (&mut file)
            .take(2 * LINE_BYTES as u64)
            .read_to_end(&mut text)
            .map_err(|error| self.failure(error))?;
        // Empty: this or another process has just created it.
        let held = match text.as_slice() {
            [] => DaySum::default(),
            text => DaySum::parse(text).ok_or_else(|| self.failure(DAMAGED))?,
        };
        let today: String = calendar::iso(self.clock.now_ms())
            .chars()
            .take_while(|letter| *letter != 'T')
            .collect();
        let mut sum = held.clone();
        sum.turn(&today);
        own.sum.turn(&today);
        // The file was removed or set back meanwhile.
        sum.spent = sum.spent.max(own.sum.spent);
        let (before, mut reserved) = (sum.spent, own.reserved);
        let result = change(&mut sum, &mut reserved);
        if sum != held {
            file.write_all_at(sum.line().as_bytes(), 0)
                .map_err(|error| self.failure(error))?;
        }
        own.sum.spent = (own.sum.spent + sum.spent - before).max(0.0);
        own.reserved = reserved;
        Ok(result)
    }

    /// Opens the file for each change: it may have been removed or replaced.
    fn lock_file(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NONBLOCK);
        let file = match options.open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = self.path.parent().ok_or(error)?;
                DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
                options.open(&self.path)?
            }
            opened => opened?,
        };
        // Reading a pipe would wait.
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_WAIT => {
                    std::thread::sleep(LOCK_POLL);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process holds it"));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn failure(&self, why: impl Display) -> Error {
        Error::Budget(format!(
            "what is spent today cannot be counted in {}: {why}; XDG_STATE_HOME names another directory, \
             and --budget '1 USD' is a budget of one run, which needs no file",
            self.path.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::model::clock::ManualClock;

    const DAY_MS: u64 = 86_400_000;
    const NOON_MS: u64 = 20_000 * DAY_MS + DAY_MS / 2;

    struct Bed {
        dir: tempfile::TempDir,
        clock: Arc<ManualClock>,
    }

    impl Bed {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().unwrap(),
                clock: Arc::new(ManualClock::at(NOON_MS)),
            }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("state/ddbfs/spent.json")
        }

        /// Returns a ledger as another process has it.
        fn ledger(&self) -> SpendLedger {
            SpendLedger::new(self.path(), Arc::clone(&self.clock) as _)
        }
    }

    #[track_caller]
    fn admitted(ledger: &SpendLedger, limit: f64, money: f64) -> DayReservation {
        match ledger.reserve(limit, money).unwrap() {
            DayAdmission::Admitted(reservation) => reservation,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_share_one_sum_and_a_reservation_that_is_never_settled_stays() {
        let bed = Bed::new();
        let (one, two) = (bed.ledger(), bed.ledger());
        let reserved = admitted(&one, 1.0, 0.9);
        let last = admitted(&two, 1.0, 0.5);
        // The first may get back what it has reserved, the second has no hope of that.
        assert_eq!(one.reserve(1.0, 0.1), Ok(DayAdmission::Later));
        assert_eq!(two.reserve(0.8, 0.1), Ok(DayAdmission::UsedUp(1.4)));
        one.settle(&reserved, 0.25).unwrap();
        assert_eq!(two.spent(), Ok(0.75));
        drop((two, last));
        // The second was killed.
        assert_eq!(bed.ledger().spent(), Ok(0.75));
        bed.ledger()
            .settle(&DayReservation::default(), 0.25)
            .unwrap();
        assert_eq!(one.reserve(1.0, 0.1), Ok(DayAdmission::UsedUp(1.0)));
        let text = fs::read_to_string(bed.path()).unwrap();
        assert_eq!(text.len(), LINE_BYTES);
        assert!(
            text.starts_with(r#"{"day":"2024-10-04","spent":1.000000000000}"#),
            "{text}"
        );
    }

    #[test]
    fn a_day_ends_and_a_clock_that_goes_back_keeps_the_sum() {
        let bed = Bed::new();
        let ledger = bed.ledger();
        ledger.settle(&DayReservation::default(), 0.5).unwrap();
        let overnight = admitted(&ledger, 1.0, 0.25);
        bed.clock.advance_ms(DAY_MS / 2 - 1);
        assert_eq!(ledger.spent(), Ok(0.75));
        bed.clock.advance_ms(1);
        assert_eq!(ledger.spent(), Ok(0.0));
        // A request of yesterday that is answered today is paid today.
        ledger.settle(&overnight, 0.125).unwrap();
        assert_eq!(ledger.spent(), Ok(0.125));
        bed.clock.set_ms(NOON_MS - 3 * DAY_MS);
        assert_eq!(
            (ledger.spent(), bed.ledger().spent()),
            (Ok(0.125), Ok(0.125))
        );
        bed.clock.advance_ms(DAY_MS);
        assert_eq!((ledger.spent(), bed.ledger().spent()), (Ok(0.0), Ok(0.0)));
        // Far ahead and back: the sum of the far day counts on, and ends with the present one.
        bed.clock.set_ms(400_000 * DAY_MS);
        ledger.settle(&DayReservation::default(), 0.5).unwrap();
        bed.clock.set_ms(NOON_MS);
        assert_eq!(bed.ledger().spent(), Ok(0.5));
        bed.clock.advance_ms(DAY_MS);
        assert_eq!(bed.ledger().spent(), Ok(0.0));
    }

    #[test]
    fn a_file_that_is_removed_is_counted_on() {
        let bed = Bed::new();
        let ledger = bed.ledger();
        ledger.settle(&DayReservation::default(), 0.5).unwrap();
        fs::remove_dir_all(bed.dir.path().join("state")).unwrap();
        assert_eq!((ledger.spent(), bed.ledger().spent()), (Ok(0.5), Ok(0.5)));
    }

    #[test]
    fn a_file_that_is_no_ledger_is_said_and_left() {
        let bed = Bed::new();
        let ledger = bed.ledger();
        ledger.settle(&DayReservation::default(), 0.5).unwrap();
        let good = fs::read_to_string(bed.path()).unwrap();
        let bad = [
            "{}".to_owned(),
            "\0".repeat(LINE_BYTES),
            good.replace("0.5", "-0.5"),
            good.replace("0.5", "1e99"),
            good.replace("2024-10-04", "2024-13-04"),
            good.replace("2024-10-04", "tomorrow"),
            good.trim_end().trim_end_matches('}').to_owned(),
            format!("{good}{good}"),
            "x".repeat(1 << 20),
        ];
        for text in bad {
            fs::write(bed.path(), &text).unwrap();
            for damaged in [
                ledger.settle(&DayReservation::default(), 0.25),
                ledger.reserve(1.0, 0.1).map(drop),
            ] {
                let said = damaged.unwrap_err().to_string();
                assert!(
                    said.contains("not what a ddbfs wrote") && said.contains("remove it"),
                    "{said}"
                );
            }
            assert_eq!(fs::read_to_string(bed.path()).unwrap(), text);
        }
        fs::write(bed.path(), "").unwrap();
        assert_eq!(ledger.spent(), Ok(0.5));
        fs::remove_file(bed.path()).unwrap();
        symlink("/dev/zero", bed.path()).unwrap();
        let said = ledger.spent().unwrap_err().to_string();
        assert!(
            said.contains("no regular file") && said.contains("XDG_STATE_HOME"),
            "{said}"
        );
        fs::remove_file(bed.path()).unwrap();
        fs::create_dir(bed.path()).unwrap();
        assert!(ledger.spent().is_err());
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let bed = Bed::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let ledger = bed.ledger();
                scope.spawn(move || {
                    for _ in 0..100 {
                        let reserved = admitted(&ledger, 1.0, 0.000_1);
                        ledger.settle(&reserved, 0.000_05).unwrap();
                    }
                });
            }
        });
        let spent = bed.ledger().spent().unwrap();
        assert!((spent - 0.02).abs() < 1e-9, "{spent}");
    }
}
