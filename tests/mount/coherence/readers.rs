//! Readers of all kinds, as fast as they can. Each reads the published state before its call, and
//! checks its observation.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::field::{BUCKETS, Field};
use super::names::{Item, Name, Seen};
use crate::support::seeded::Numbers;
use crate::support::wait::moment;

/// The number of looks of one kind at one name in a row; for cacheable entries, half of the time.
const BURST: u64 = 16;
const LONG_BURST: u64 = 512;
/// The maximum time of a call that the kernel answers alone: a request takes several times that.
const WITHOUT_REQUEST: Duration = Duration::from_micros(8);
/// The maximum number of descriptors that a reader holds: the kernel does not cache the names of
/// held files.
const HELD_MAX: usize = 2;
const STAT: &str = "stat";
const THROUGH_A_DIRECTORY: &str = "stat through a held directory";

pub fn read(field: &Field, thread: u64) {
    let pulse = field.pulse("reader");
    let mut reader = Reader::new(field, &field.point, thread);
    while !field.ended() {
        pulse.beat();
        reader.look();
    }
    pulse.rest();
}

/// Reads for a while through another mount of the data directory.
pub fn read_for(field: &Field, point: &Path, thread: u64, time: Duration) {
    let (mut reader, until) = (Reader::new(field, point, thread), Instant::now() + time);
    while !field.ended() && Instant::now() < until {
        reader.look();
    }
}

struct Reader<'a> {
    field: &'a Field,
    /// The mount point that it reads.
    point: PathBuf,
    numbers: Numbers,
    /// The life of the mount when the looks began.
    life: u64,
    /// Descriptors held for some time.
    files: Vec<HeldFile>,
    /// Directories held for some time: their paths below the mount point, and descriptors.
    directories: Vec<(String, File)>,
}

struct HeldFile {
    /// The number of its name.
    of: usize,
    file: File,
    /// The life of the mount in which it was opened.
    life: u64,
    /// The last write of the name that was published before it was opened.
    published: u64,
}

impl HeldFile {
    /// Returns the size that the file has while its mount lives. Of a dead mount the kernel may tell
    /// the last one, which is no answer. Nor is it one that no name stands for the file: it was
    /// replaced since, as by a rename on a disk, while a process had the version open.
    fn size(&self, field: &Field, name: &Name) -> io::Result<Seen> {
        let found = self.file.metadata();
        if field.life() != self.life {
            return Err(io::Error::from_raw_os_error(libc::ENOTCONN));
        }
        let is_replaced = found.as_ref().is_ok_and(|found| found.nlink() == 0);
        if is_replaced && name.published() > self.published {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        size(found)
    }
}

/// True if the error is of a name that is gone, or of a folder that a held descriptor is of.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle
    )
}

/// Returns the observation or the absence; other errors are no answer.
fn seen<T>(found: io::Result<T>, of: impl FnOnce(T) -> Seen) -> io::Result<Seen> {
    match found {
        Ok(found) => Ok(of(found)),
        Err(error) if is_gone(&error) => Ok(Seen::Absent),
        Err(error) => Err(error),
    }
}

/// Returns the size; an open file that was removed has no links.
fn size(found: io::Result<Metadata>) -> io::Result<Seen> {
    seen(found, |found| match found.nlink() {
        0 => Seen::Absent,
        _ if found.is_dir() => Seen::There,
        _ => Seen::Size(found.len()),
    })
}

/// Returns the size by a path; for a name that was gone before the call the answer must be another.
fn size_by_path(found: io::Result<Metadata>) -> io::Result<Seen> {
    match &found {
        Ok(found) if found.nlink() == 0 => Ok(Seen::Unlinked),
        _ => by_path(found, size),
    }
}

/// Looks up once more a name that is gone since its lookup; a second time is an error.
fn by_path<T>(
    found: io::Result<T>,
    of: impl FnOnce(io::Result<T>) -> io::Result<Seen>,
) -> io::Result<Seen> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle => Ok(Seen::Stale),
        found => of(found),
    }
}

impl<'a> Reader<'a> {
    fn new(field: &'a Field, point: &Path, thread: u64) -> Self {
        let (point, numbers) = (point.to_owned(), field.numbers(thread));
        Self {
            field,
            point,
            numbers,
            life: 0,
            files: Vec::new(),
            directories: Vec::new(),
        }
    }

    /// Makes one kind of look at one place.
    fn look(&mut self) {
        let looks = self.look_and_count();
        self.field.checks.fetch_add(looks, Ordering::Relaxed);
    }

    fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.point.join(below)
    }

    fn look_and_count(&mut self) -> u64 {
        self.life = self.field.life();
        let at = self.numbers.below(self.field.names.len() as u64) as usize;
        let name = &self.field.names[at];
        // Half of the looks are at cacheable entries.
        let kind = if self.numbers.percent(50) {
            0
        } else {
            self.numbers.below(if name.is_item() { 12 } else { 4 })
        };
        match kind {
            0 | 1 => self.burst(STAT, name, |_, name, path| {
                size_by_path(fs::metadata(path.join(&name.path)))
            }),
            2 if self.numbers.percent(50) => {
                self.burst("stat by another spelling", name, |_, name, path| {
                    size_by_path(fs::metadata(path.join(name.lenient_path())))
                })
            }
            2 => self.through_a_directory(name),
            3 => self.list(name.parent()),
            4 | 5 => self.burst("open and read", name, |_, name, path| {
                by_path(read_whole(&path.join(&name.path)), |read| {
                    seen(read, Seen::Size)
                })
            }),
            // The items of a table that comes again are others.
            6..8 if name.table != "Coming" => self.held(at),
            8 => self.burst("stat of the typed form", name, |_, name, path| {
                seen(
                    fs::metadata(path.join(name.path.replace(".json", ".ddbjson"))),
                    |_| Seen::There,
                )
            }),
            9 if name.table == "Flat" => self.burst("count", name, |_, name, path| {
                let count =
                    fs::read_to_string(path.join(format!("Flat/query/@pk={}/count", name.pk())))?;
                Ok(if count == "0\n" {
                    Seen::Absent
                } else {
                    Seen::There
                })
            }),
            9 | 10 if name.table != "Coming" => {
                let bucket = self.numbers.below(BUCKETS);
                self.burst("stat of an index entry", name, |_, name, path| {
                    in_index(name, path, bucket)
                })
            }
            _ if name.table != "Coming" => self.list_index(name.table),
            _ => 0,
        }
    }

    fn checked(&self, way: &str, name: &Name, published: u64, saw: io::Result<Seen>) -> u64 {
        let saw = match saw {
            Ok(saw) => saw,
            Err(error) => return self.no_answer(way, &name.path, &error),
        };
        // A mount point without its mount is an empty directory, and a folder without items is in
        // the memory of the mount it was made in.
        let absent = matches!(saw, Seen::Absent | Seen::NotInBucket(_));
        let elsewhere = self.point != self.field.point && !name.is_item();
        if absent && (elsewhere || !self.field.is_up_since(self.life)) {
            return 0;
        }
        if let Err(violation) = name.check(published, saw) {
            // A pause shows whether the failure is momentary.
            moment(Duration::from_millis(5));
            let again = size(fs::metadata(self.path(&name.path)));
            self.field
                .violated(format!("{way} {violation}\n  a stat 5 ms later: {again:?}"));
        }
        1
    }

    /// Handles errors of a killed daemon's mount, of a table that is being made or deleted, and of a
    /// held file that was replaced.
    fn no_answer(&self, way: &str, path: &str, error: &io::Error) -> u64 {
        let code = error.raw_os_error().unwrap_or_default();
        let killed = [libc::ENOTCONN, libc::ECONNABORTED, libc::EIO, libc::ENOENT].contains(&code)
            && self.field.kills;
        if !killed && code != libc::EBUSY {
            self.field.violated(format!("{way} {path}: {error}"));
        }
        0
    }

    fn burst(
        &mut self,
        way: &str,
        name: &Name,
        look: impl Fn(&mut Self, &Name, &Path) -> io::Result<Seen>,
    ) -> u64 {
        let point = self.point.clone();
        let is_kept = way == STAT && name.is_item();
        let most = if is_kept && self.numbers.percent(50) {
            LONG_BURST
        } else {
            BURST
        };
        let (looks, mut checks) = (1 + self.numbers.below(most), 0);
        for at in 0..looks {
            let published = name.published();
            let twin = self.field.twin(name).map(|twin| (twin, twin.published()));
            let begun = Instant::now();
            let saw = look(self, name, &point);
            let is_kept = begun.elapsed() < WITHOUT_REQUEST;
            // Absence is never cached.
            let is_enough = at >= BURST && matches!(saw, Ok(Seen::Absent));
            // A descriptor follows a renamed folder, and finds its new content. So does a path whose
            // folder is renamed between its lookup and that of the name in it, on a disk too.
            let may_follow = way == THROUGH_A_DIRECTORY || name.is_written_since(published);
            let checked = match (&saw, twin) {
                (Ok(saw), Some((twin, published)))
                    if may_follow && twin.check(published, *saw).is_ok() =>
                {
                    1
                }
                _ => self.checked(way, name, published, saw),
            };
            self.field
                .kept
                .fetch_add(if is_kept { checked } else { 0 }, Ordering::Relaxed);
            checks += checked;
            if is_enough {
                break;
            }
        }
        checks
    }

    /// Looks by its name in a directory that is held open.
    fn through_a_directory(&mut self, name: &'a Name) -> u64 {
        let at = self
            .directories
            .iter()
            .position(|(path, _)| path == name.parent());
        if let Some(at) = at.filter(|_| self.numbers.percent(5)) {
            self.directories.swap_remove(at);
            return 0;
        }
        let Some(at) = at else {
            let flags = libc::O_DIRECTORY
                | if self.numbers.percent(50) {
                    libc::O_PATH
                } else {
                    0
                };
            if let Ok(file) = OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(self.path(name.parent()))
            {
                self.directories.push((name.parent().to_owned(), file));
            }
            return 0;
        };
        // A directory that goes and comes again is a new one, also for holders of the old one.
        if name.is_remade() {
            return self.list(name.parent());
        }
        self.burst(THROUGH_A_DIRECTORY, name, |reader, name, _| {
            let directory = reader.directories[at].1.as_raw_fd();
            size(fs::metadata(format!(
                "/proc/self/fd/{directory}/{}",
                name.file()
            )))
        })
    }

    /// Looks by a descriptor of it that is held open.
    fn held(&mut self, at: usize) -> u64 {
        let name = &self.field.names[at];
        let held = self.files.iter().position(|held| held.of == at);
        let is_of_dead = |held: usize| self.files[held].life != self.life;
        if let Some(held) = held.filter(|held| is_of_dead(*held) || self.numbers.percent(20)) {
            self.files.swap_remove(held);
            return 0;
        }
        let Some(held) = held else {
            // The kernel does not cache an open file.
            let published = name.published();
            let flags = if self.numbers.percent(80) {
                libc::O_PATH
            } else {
                0
            };
            if let Ok(file) = OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(self.path(&name.path))
            {
                // It may be of the folder's other name: the path went on in a folder that was renamed.
                if name.moves() && name.is_written_since(published) {
                    return 0;
                }
                self.files.push(HeldFile {
                    of: at,
                    file,
                    life: self.life,
                    published,
                });
                if self.files.len() > HELD_MAX {
                    self.files.remove(0);
                }
            }
            return 0;
        };
        self.burst("fstat of a held descriptor", name, |reader, name, _| {
            reader.files[held].size(reader.field, name)
        })
    }

    /// Lists a directory's names, and each one's size.
    fn list(&mut self, directory: &str) -> u64 {
        let field = self.field;
        let names: Vec<&Name> = field
            .names
            .iter()
            .filter(|name| name.parent() == directory)
            .collect();
        let published: Vec<u64> = names.iter().map(|name| name.published()).collect();
        let mut found = Vec::new();
        match fs::read_dir(self.path(directory))
            .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
        {
            Ok(entries) => found = entries,
            Err(error) if is_gone(&error) => {}
            Err(error) => return self.no_answer("list", directory, &error),
        }
        let mut looks = 0;
        let mut known = Vec::new();
        for (name, published) in names.into_iter().zip(published) {
            let entry = found.iter().find(|entry| entry.file_name() == name.file());
            looks += self.checked(
                "list",
                name,
                published,
                Ok(if entry.is_some() {
                    Seen::There
                } else {
                    Seen::Absent
                }),
            );
            known.extend(entry.map(|entry| (name, entry)));
        }
        for (name, entry) in known
            .into_iter()
            .filter(|(name, _)| !name.moves() && !name.is_remade())
        {
            let published = name.published();
            looks += self.checked(
                "stat of what was listed",
                name,
                published,
                size(entry.metadata()),
            );
        }
        looks
    }

    /// Lists the names that have an entry under a bucket.
    fn list_index(&mut self, table: &'static str) -> u64 {
        let field = self.field;
        let bucket = self.numbers.below(BUCKETS);
        let of = |name: &&Name| name.is_item() && name.table == table;
        let names: Vec<(&Name, u64)> = field
            .names
            .iter()
            .filter(of)
            .map(|name| (name, name.published()))
            .collect();
        let directory = format!("{table}/gsi/by-b/items/b{bucket}");
        let found: Vec<PathBuf> = match fs::read_dir(self.path(&directory)) {
            Ok(entries) => entries
                .flatten()
                .map(|entry| entry.file_name().into())
                .collect(),
            Err(error) if is_gone(&error) => Vec::new(),
            Err(error) => return self.no_answer("list of an index", &directory, &error),
        };
        let saw = |name: &Name| {
            let is = found
                .iter()
                .any(|entry| *entry == Path::new(&name.index_entry()));
            if is {
                Seen::InBucket(bucket)
            } else {
                Seen::NotInBucket(bucket)
            }
        };
        names
            .into_iter()
            .map(|(name, published)| {
                self.checked("list of an index", name, published, Ok(saw(name)))
            })
            .sum()
    }
}

/// Reads a file, which must be one whole item; returns its length.
fn read_whole(path: &Path) -> io::Result<u64> {
    let mut text = String::new();
    File::open(path)?.read_to_string(&mut text)?;
    assert!(
        text.is_empty() || Item::is_whole(&text),
        "{}: {text}",
        path.display()
    );
    Ok(text.len() as u64)
}

fn in_index(name: &Name, point: &Path, bucket: u64) -> io::Result<Seen> {
    let path = point
        .join(name.table)
        .join(format!("gsi/by-b/items/b{bucket}"))
        .join(name.index_entry());
    match fs::metadata(path) {
        Ok(_) => Ok(Seen::InBucket(bucket)),
        Err(error) if is_gone(&error) => Ok(Seen::NotInBucket(bucket)),
        Err(error) => Err(error),
    }
}
