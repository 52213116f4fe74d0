//! Mount options: the parser of `-o`, as mount(8) and fstab(5) pass it.
//!
//! `-o` of `ddbfs mount`, of fstab and of `mount -o` is a list of words. One table has the effect
//! and the help text of each.
//!
//! mount(8) calls `ddbfs DIR MOUNTPOINT -o OPTS` from mount.fuse (`ddbfs#DIR` in fstab), and
//! `mount.ddbfs DIR MOUNTPOINT [-sfnv] -o OPTS` as the helper of the type `ddbfs`. Both mean `ddbfs
//! mount --background --data DIR -o OPTS MOUNTPOINT`.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

use super::args;
use super::prelude::*;
use crate::fs::options::ViewOptions;
use crate::fs::query::spelling::nearest;
use crate::fuse::MountOptions;
use crate::store::Durability;

/// A function that applies a word's value.
type OptionSetter = fn(&mut ParsedOptions, &str) -> Result<(), String>;

/// A word, or `word=` if it takes a value; its help text; its function.
type OptionRow = (&'static str, &'static str, OptionSetter);

/// Our own words, in the order of the help text.
const OPTIONS: &[OptionRow] = &[
    ("ro", "read-only", |o, _| set_some(&mut o.read_only, true)),
    (
        "rw",
        "writable (the default, except with --remote)",
        |o, _| set_some(&mut o.read_only, false),
    ),
    (
        "pretty",
        "show items indented, one attribute a line",
        |o, _| set(&mut o.view.pretty, true),
    ),
    (
        "keys=",
        "keys=strict: EINVAL if a key in the body differs from the path's;\nkeys=path: the path's key is used, with a warning (the default)",
        |o, value| choice(&mut o.view.strict_keys, value, ["path", "strict"]),
    ),
    (
        "show=",
        "show=all: ls also shows describe.json, ctl, .ddb/ and similar files;\nshow=data: only files that belong in a backup (the default)",
        |o, value| choice(&mut o.view.show_all, value, ["data", "all"]),
    ),
    (
        "lww",
        "the last writer wins: no ESTALE for an item that changed since it was read",
        |o, _| set(&mut o.view.last_writer_wins, true),
    ),
    (
        "allow_drop",
        "rm -r of a table, and rmdir of a table with items, delete the table",
        |o, _| set(&mut o.view.allow_drop, true),
    ),
    (
        "restore",
        "accept and discard writes to derived files (gsi/, lsi/, stats.json, …), so that any program can restore a copy of a table",
        |o, _| set(&mut o.view.restore, true),
    ),
    (
        "keep_text",
        "an item's file reads back as it was written, byte for byte, until the item changes; for the newest 64 MiB of texts, until the mount ends",
        |o, _| set(&mut o.view.keep_text, true),
    ),
    (
        "writeback",
        "with --remote: a write returns before the service has it, and is sent in a batch with others; fsync and unmount wait, a failure is in errors/last",
        |o, _| set(&mut o.view.writeback, true),
    ),
    (
        "durability=",
        "durability=power: a write survives kill -9 and a power cut (the default);\ndurability=kill: it survives kill -9; a power cut may lose the last half second",
        |o, value| args::durability(value).map(|durability| o.durability = Some(durability)),
    ),
    (
        "noxattr",
        "no extended attributes, and no requests for them",
        |o, _| set(&mut o.no_xattr, true),
    ),
    (
        "nokeep",
        "the kernel caches nothing; every stat is a request",
        |o, _| set(&mut o.no_keep, true),
    ),
    (
        "nonempty",
        "the mountpoint may have files, which are hidden while it is mounted",
        |o, _| set(&mut o.nonempty, true),
    ),
    (
        "allow_other",
        "other users have access, by the permission bits; unless you are root, /etc/fuse.conf must have user_allow_other",
        |o, _| {
            o.view.allow_other = true;
            set(&mut o.allow_other, true)
        },
    ),
    ("uid=", "owner of all files, a number", |o, value| {
        number(&mut o.uid, value)
    }),
    ("gid=", "group of all files, a number", |o, value| {
        number(&mut o.gid, value)
    }),
    (
        "umask=",
        "permission bits that no file has, octal (default 022)",
        |o, value| {
            let bits = u16::from_str_radix(value, 8)
                .ok()
                .filter(|bits| *bits <= 0o777);
            o.umask =
                Some(bits.ok_or_else(|| "takes octal permission bits, such as 077".to_owned())?);
            Ok(())
        },
    ),
    (
        "http=",
        "http=127.0.0.1:8000: serve the DynamoDB API too, as with --http",
        |o, value| {
            o.http = Some(value.to_owned());
            Ok(())
        },
    ),
    (
        "http_allow_users",
        "the API serves processes of every user, as with --http-allow-users",
        |o, _| set(&mut o.http_allow_users, true),
    ),
];

/// The words that mount(8) and fstab(5) pass to every helper. They have no effect: set-id bits,
/// devices and programs never work in the mount, access times never change, and a write is durable
/// when it returns.
const KERNEL_OPTIONS: &str = "defaults suid nosuid dev nodev exec noexec async sync dirsync atime noatime diratime nodiratime \
    relatime norelatime strictatime nostrictatime lazytime nolazytime auto noauto user nouser users \
    nousers owner noowner group nogroup nofail _netdev silent loud nosymfollow default_permissions";

/// Prefixes of words for other programs.
const FOREIGN_PREFIXES: [&str; 3] = ["x-", "X-", "comment="];

/// The options of a mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedOptions {
    pub view: ViewOptions,
    /// Overrides the option of the command line.
    pub durability: Option<Durability>,
    read_only: Option<bool>,
    nonempty: bool,
    no_xattr: bool,
    no_keep: bool,
    allow_other: bool,
    uid: Option<u32>,
    gid: Option<u32>,
    umask: Option<u16>,
    /// Address of the HTTP API.
    pub http: Option<String>,
    /// True if set here; the command line may set it too.
    pub http_allow_users: bool,
}

impl ParsedOptions {
    /// Parses the words; of contradicting ones the last counts.
    ///
    /// # Errors
    /// `Usage` if a word is unknown or its value is invalid; the sentence names the nearest word.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, CliError> {
        let mut options = Self::default();
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            options.set(word).map_err(CliError::Usage)?;
        }
        Ok(options)
    }

    fn set(&mut self, word: &str) -> Result<(), String> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let takes_value = |known: &str| known.strip_suffix('=') == Some(name);
        let mut rows = OPTIONS.iter();
        if let Some((known, help, apply)) =
            rows.find(|(known, ..)| *known == word || takes_value(known))
        {
            if takes_value(known) && value.is_empty() {
                return Err(format!(
                    "the mount option {name} takes a value: {}",
                    help.replace('\n', " ")
                ));
            }
            return apply(self, value).map_err(|why| format!("the mount option {name} {why}"));
        }
        if KERNEL_OPTIONS.split(' ').any(|known| known == word)
            || FOREIGN_PREFIXES
                .iter()
                .any(|prefix| word.starts_with(prefix))
        {
            return Ok(());
        }
        if name == "remount" {
            return Err("a ddbfs cannot be remounted: end it with ddbfs umount, then mount it with its new options".to_owned());
        }
        Err(unknown(word))
    }

    /// Checks that the options make sense for this source.
    ///
    /// # Errors
    /// `Usage` if `writeback` has nothing to write behind.
    pub fn check(&self, is_remote: bool) -> Result<(), CliError> {
        let problem = match (self.view.writeback, is_remote, self.is_rw()) {
            (false, ..) | (true, true, true) => return Ok(()),
            (true, false, _) => {
                "the mount option writeback is for --remote: a write to a data directory is durable when it returns; durability=kill makes it faster"
            }
            (true, true, false) => "the mount option writeback needs rw too: this mount only reads",
        };
        Err(CliError::Usage(problem.to_owned()))
    }

    /// True if `rw` is given.
    pub fn is_rw(&self) -> bool {
        self.read_only == Some(false)
    }

    /// Applies the options of the kernel's part.
    pub fn apply(&self, mount: &mut MountOptions) {
        mount.read_only = self.read_only.unwrap_or(mount.read_only);
        mount.nonempty = self.nonempty;
        mount.no_xattr = self.no_xattr;
        mount.no_cache = self.no_keep;
        mount.allow_other = self.allow_other;
        mount.uid = self.uid;
        mount.gid = self.gid;
        mount.umask = self.umask.unwrap_or(mount.umask);
    }
}

fn unknown(word: &str) -> String {
    let words: Vec<&str> = OPTIONS
        .iter()
        .map(|(name, ..)| *name)
        .chain(KERNEL_OPTIONS.split(' '))
        .collect();
    let hint = nearest(word, words)
        .map(|near| format!("; did you mean {near}?"))
        .unwrap_or_default();
    format!("unknown mount option {word:?}{hint} (ddbfs mount --help explains them all)")
}

fn set(flag: &mut bool, value: bool) -> Result<(), String> {
    *flag = value;
    Ok(())
}

fn set_some(flag: &mut Option<bool>, value: bool) -> Result<(), String> {
    *flag = Some(value);
    Ok(())
}

/// Sets a flag by its two values, `[off, on]`.
fn choice(flag: &mut bool, value: &str, [off, on]: [&str; 2]) -> Result<(), String> {
    match value {
        _ if value == on => set(flag, true),
        _ if value == off => set(flag, false),
        _ => Err(format!("takes {off} or {on}, not {value:?}")),
    }
}

fn number(value_out: &mut Option<u32>, value: &str) -> Result<(), String> {
    *value_out = Some(
        value
            .parse()
            .map_err(|_| format!("takes a number, not {value:?}; id -u and id -g tell them"))?,
    );
    Ok(())
}

/// Returns the help on `-o` for `ddbfs mount --help`.
pub fn help() -> String {
    let mut text = String::from("Mount options (-o OPT,OPT…):\n");
    for (name, help, _) in OPTIONS {
        let mut head = *name;
        // A name that fills its column has a line of its own.
        if head.len() > 12 {
            let _ = writeln!(text, "  {head}");
            head = "";
        }
        for line in help.lines().flat_map(wrapped) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  {head:<12} {line}");
            head = "";
        }
    }
    text.push_str(
        "The words of mount(8) and fstab(5) (defaults, noatime, user, noauto, _netdev,\n\
         nofail, x-…) are accepted too; the mount is always nosuid, nodev, noexec and\n\
         noatime.\n\n\
         In /etc/fstab, with the data directory DIR, one of\n  \
         ddbfs#DIR  /mnt  fuse        rw,noatime  0  0\n  \
         DIR        /mnt  fuse.ddbfs  rw,noatime  0  0\n\
         With /sbin/mount.ddbfs as a symlink to ddbfs, the type may be ddbfs, as in\n  mount -t ddbfs DIR /mnt",
    );
    text
}

/// Columns of the help of an option, beside its name.
const HELP_COLUMNS: usize = 64;

/// Splits a line of help at spaces, so that each part fits.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= HELP_COLUMNS => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The name of the helper, a symlink to the program.
const HELPER_NAME: &str = "mount.ddbfs";
const USAGE: &str = "called by mount as: mount.ddbfs DIR MOUNTPOINT [-sfnv] [-o OPTIONS]";

/// Translates a call by mount(8) to arguments of `ddbfs`, including the program's name; `None` for
/// a call by a user.
///
/// # Errors
/// `Usage` if it is a call by mount(8) with invalid arguments.
pub fn arguments(args: &[OsString]) -> Result<Option<Vec<OsString>>, CliError> {
    let name = args.first().and_then(|name| Path::new(name).file_name());
    let is_helper = name == Some(OsStr::new(HELPER_NAME));
    // A command has no slash; fstab names an absolute path.
    let is_source = args
        .get(1)
        .is_some_and(|first| first.as_bytes().starts_with(b"/"));
    if is_helper || is_source {
        from_mount_call(args).map(Some)
    } else {
        Ok(None)
    }
}

fn from_mount_call(args: &[OsString]) -> Result<Vec<OsString>, CliError> {
    let usage = || CliError::Usage(USAGE.to_owned());
    let mut places = Vec::new();
    let mut options = Vec::new();
    let mut dry_run = false;
    let mut rest = args.iter().skip(1);
    while let Some(arg) = rest.next() {
        match arg.as_bytes() {
            b"-o" => options.push(rest.next().ok_or_else(usage)?.clone()),
            [b'-', b'o', list @ ..] => options.push(OsStr::from_bytes(list).to_owned()),
            // The type, and a namespace that mount has entered already.
            b"-t" | b"-N" => drop(rest.next().ok_or_else(usage)?),
            [b'-', flags @ ..]
                if !flags.is_empty() && flags.iter().all(|flag| b"sfnvrw".contains(flag)) =>
            {
                if flags.contains(&b'r') {
                    options.push("ro".into());
                }
                dry_run |= flags.contains(&b'f');
            }
            [b'-', ..] => return Err(usage()),
            _ => places.push(arg.clone()),
        }
    }
    let [data, mountpoint] = <[OsString; 2]>::try_from(places).map_err(|_| usage())?;
    let program = args.first().cloned().unwrap_or_default();
    let mut out = vec![
        program,
        "mount".into(),
        "--background".into(),
        "--data".into(),
        data,
    ];
    if dry_run {
        out.push("--dry-run".into());
    }
    out.extend(options.into_iter().flat_map(|list| ["-o".into(), list]));
    out.extend(["--".into(), mountpoint]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &str) -> Result<ParsedOptions, String> {
        ParsedOptions::parse(list.split(',')).map_err(|error| error.to_string())
    }

    #[test]
    fn words_and_what_they_set() {
        let view = ViewOptions::default();
        let cases: &[(&str, ParsedOptions)] = &[
            ("", ParsedOptions::default()),
            (
                "nosuid,nodev,noexec,relatime,user,_netdev,nofail,x-systemd.automount,comment=mine,defaults",
                ParsedOptions::default(),
            ),
            (
                "ro",
                ParsedOptions {
                    read_only: Some(true),
                    ..ParsedOptions::default()
                },
            ),
            (
                "ro,rw",
                ParsedOptions {
                    read_only: Some(false),
                    ..ParsedOptions::default()
                },
            ),
            (
                "pretty,keys=strict",
                ParsedOptions {
                    view: ViewOptions {
                        pretty: true,
                        strict_keys: true,
                        ..view
                    },
                    ..ParsedOptions::default()
                },
            ),
            ("keys=strict,keys=path", ParsedOptions::default()),
            (
                "show=all,lww",
                ParsedOptions {
                    view: ViewOptions {
                        show_all: true,
                        last_writer_wins: true,
                        ..view
                    },
                    ..ParsedOptions::default()
                },
            ),
            (
                "keep_text",
                ParsedOptions {
                    view: ViewOptions {
                        keep_text: true,
                        ..view
                    },
                    ..ParsedOptions::default()
                },
            ),
            (
                "allow_drop,restore",
                ParsedOptions {
                    view: ViewOptions {
                        allow_drop: true,
                        restore: true,
                        ..view
                    },
                    ..ParsedOptions::default()
                },
            ),
            (
                "durability=power,durability=kill",
                ParsedOptions {
                    durability: Some(Durability::Kill),
                    ..ParsedOptions::default()
                },
            ),
            (
                "nonempty",
                ParsedOptions {
                    nonempty: true,
                    ..ParsedOptions::default()
                },
            ),
            (
                "nokeep",
                ParsedOptions {
                    no_keep: true,
                    ..ParsedOptions::default()
                },
            ),
            (
                "noxattr,allow_other",
                ParsedOptions {
                    view: ViewOptions {
                        allow_other: true,
                        ..view
                    },
                    no_xattr: true,
                    allow_other: true,
                    ..ParsedOptions::default()
                },
            ),
            (
                "uid=1000,gid=5,umask=077",
                ParsedOptions {
                    uid: Some(1000),
                    gid: Some(5),
                    umask: Some(0o77),
                    ..ParsedOptions::default()
                },
            ),
            (
                "http_allow_users",
                ParsedOptions {
                    http_allow_users: true,
                    ..ParsedOptions::default()
                },
            ),
            (
                "http=127.0.0.1:1",
                ParsedOptions {
                    http: Some("127.0.0.1:1".to_owned()),
                    ..ParsedOptions::default()
                },
            ),
        ];
        for (list, expected) in cases {
            assert_eq!(parse(list).as_ref(), Ok(expected), "{list}");
        }
    }

    #[test]
    fn wrong_words_are_told_with_what_to_do() {
        let cases = [
            ("prety", "did you mean pretty?"),
            ("allow-drop", "did you mean allow_drop?"),
            ("noatim", "did you mean noatime?"),
            (
                "keys=loose",
                "the mount option keys takes path or strict, not \"loose\"",
            ),
            ("show", "the mount option show takes a value"),
            (
                "durability=none",
                "the mount option durability takes power or kill, not \"none\"",
            ),
            ("uid=me", "the mount option uid takes a number, not \"me\""),
            ("umask=9", "octal"),
            ("umask=7777", "octal"),
            ("remount", "cannot be remounted"),
            ("ro=1", "unknown mount option \"ro=1\""),
        ];
        for (list, expected) in cases {
            let error = parse(list).unwrap_err();
            assert!(error.contains(expected), "{list}: {error}");
        }
    }

    #[test]
    fn the_help_text_names_every_word() {
        let text = help();
        for (name, ..) in OPTIONS {
            assert!(
                text.contains(&format!("\n  {name} ")) || text.contains(&format!("\n  {name}\n")),
                "{name}"
            );
        }
    }

    /// Returns the meaning of a call's words, or `None`, or `usage`.
    fn translated(call: &str) -> Option<String> {
        let words: Vec<OsString> = call.split(' ').map(OsString::from).collect();
        match arguments(&words) {
            Ok(meant) => meant.map(|words| words[1..].join(OsStr::new(" ")).into_string().unwrap()),
            Err(_) => Some("usage".to_owned()),
        }
    }

    #[test]
    fn calls_by_mount_and_by_people() {
        let cases = [
            ("ddbfs", None),
            ("ddbfs mount /mnt", None),
            ("ddbfs --help", None),
            (
                "ddbfs /data /mnt",
                Some("mount --background --data /data -- /mnt"),
            ),
            (
                "ddbfs /data /mnt -o rw,dev,suid",
                Some("mount --background --data /data -o rw,dev,suid -- /mnt"),
            ),
            (
                "/sbin/mount.ddbfs /data /mnt -sn -o rw -o pretty",
                Some("mount --background --data /data -o rw -o pretty -- /mnt"),
            ),
            ("mount.ddbfs /data /mnt -x", Some("usage")),
            (
                "mount.ddbfs /data /mnt -r -oro -t fuse.ddbfs",
                Some("mount --background --data /data -o ro -o ro -- /mnt"),
            ),
            (
                "mount.ddbfs /data /mnt -f",
                Some("mount --background --data /data --dry-run -- /mnt"),
            ),
            (
                "mount.ddbfs data mnt",
                Some("mount --background --data data -- mnt"),
            ),
            ("mount.ddbfs /data", Some("usage")),
            ("mount.ddbfs /data /mnt -o", Some("usage")),
            ("mount.ddbfs /data /mnt /more", Some("usage")),
        ];
        for (call, expected) in cases {
            assert_eq!(translated(call).as_deref(), expected, "{call}");
        }
    }
}
