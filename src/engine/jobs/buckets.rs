//! Directories that stand for the S3 buckets of exports and imports. A key is a relative path in
//! the directory of its bucket: a prefix that leads out of it is refused, and symlinks are skipped.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Component, Path, PathBuf},
};

use crate::engine::runtime::prelude::*;
use crate::model::error::RecoveryError;

/// The maximum depth of nested directories that are searched.
const DEPTH_MAX: usize = 64;

/// Returns the directory of buckets. Fails with `Parameter` if this database has none.
pub fn root(shared: &EngineShared) -> Result<&Path, RecoveryError> {
    let no_directory = RecoveryError::Parameter("this database has no directory for buckets");
    shared.options.buckets.as_deref().ok_or(no_directory)
}

/// Converts a key prefix to a relative path. Fails with `Parameter` if it is no plain relative
/// path.
pub fn relative_path(prefix: &str) -> Result<PathBuf, RecoveryError> {
    let path = Path::new(prefix.trim_end_matches('/'));
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || prefix.contains('\0') || prefix.contains("//") {
        return Err(RecoveryError::Parameter(
            "S3Prefix must be names joined by single slashes",
        ));
    }
    Ok(path.to_owned())
}

/// Returns the files of a bucket with keys that begin with the prefix, in order of keys; symlinks
/// are not followed.
pub fn list_files(bucket: &Path, prefix: &str) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), bucket.to_owned(), 0)];
    while let Some((key, directory, depth)) = waiting.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            let key = if key.is_empty() {
                name
            } else {
                format!("{key}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir()
                && depth < DEPTH_MAX
                && (key.starts_with(prefix) || prefix.starts_with(&format!("{key}/")))
            {
                waiting.push((key, entry.path(), depth + 1));
            } else if kind.is_file() && key.starts_with(prefix) {
                found.push((key, entry.path()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a whole file: under a temporary name first, then renamed.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    // A file that an earlier run left may have any content.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => private_options()
            .create_new(true)
            .write(true)
            .open(&temporary)?
            .write_all(bytes)?,
    }
    fs::rename(temporary, path)
}

/// Makes a directory and its parents with access for the owner alone: exported items are private.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file with access for the owner alone, to append to it; not through a symlink.
pub fn open_append(path: &Path) -> io::Result<File> {
    private_options().create(true).append(true).open(path)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options
}

// Threads of exports and imports.

/// Runs a transfer on a thread of its own: the writer thread, on which it is started, must not
/// write files. A transfer that stops is still in progress in its record, so that the next open
/// starts it again.
pub(super) fn spawn_transfer(
    name: &'static str,
    arn: String,
    run: impl FnOnce(&str) -> Result<(), Error> + Send + 'static,
) {
    let run = move || {
        if let Err(error) = run(&arn) {
            log::warn!("{name} {arn} stopped: {error}");
        }
    };
    if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(run) {
        log::warn!("no thread for an {name}: {error}");
    }
}

#[cfg(test)]
mod buckets_tests {
    use super::*;

    #[test]
    fn prefixes_stay_in_the_bucket() {
        for (prefix, is_good) in [
            ("a/b", true),
            ("a/", true),
            ("", true),
            ("../a", false),
            ("a/../b", false),
            ("/a", false),
            ("a//b", false),
            ("./a", false),
        ] {
            assert_eq!(relative_path(prefix).is_ok(), is_good, "{prefix}");
        }
    }

    #[test]
    fn files_are_found_by_prefix() {
        let bucket = tempfile::tempdir().unwrap();
        for key in ["a/1", "a/2/3", "ab", "b"] {
            let path = bucket.path().join(key);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_file(&path, b"").unwrap();
        }
        std::os::unix::fs::symlink("b", bucket.path().join("a/link")).unwrap();
        let keys = |prefix: &str| -> Vec<String> {
            list_files(bucket.path(), prefix)
                .unwrap()
                .into_iter()
                .map(|(key, _)| key)
                .collect()
        };
        assert_eq!(keys(""), ["a/1", "a/2/3", "ab", "b"]);
        assert_eq!(keys("a"), ["a/1", "a/2/3", "ab"]);
        assert_eq!(keys("a/2"), ["a/2/3"]);
        assert_eq!(keys("c"), [""; 0]);
    }
}
