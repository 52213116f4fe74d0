//! How mount(8) calls: `ddbfs DIR MOUNTPOINT -o OPTS` from mount.fuse (`ddbfs#DIR` in fstab), `mount.ddbfs DIR MOUNTPOINT [-sfnv]
//! -o OPTS` as the helper of the type `ddbfs`. Both mean `ddbfs mount --background --data DIR -o OPTS MOUNTPOINT`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::cli::prelude::*;

/// The name of the helper, a symlink to the program.
const HELPER_NAME: &str = "mount.ddbfs";
const USAGE: &str = "called by mount as: mount.ddbfs DIR MOUNTPOINT [-sfnv] [-o OPTIONS]";

/// The arguments of `ddbfs`, the program's name included, that a call by mount(8) means; `None` for a call by a person.
///
/// # Errors
/// `Usage`: it is one, and cannot be understood.
pub fn arguments(args: &[OsString]) -> Result<Option<Vec<OsString>>, CliError> {
    let name = args.first().and_then(|name| Path::new(name).file_name());
    let is_helper = name == Some(OsStr::new(HELPER_NAME));
    // A command has no slash; fstab names an absolute path.
    let is_source = args.get(1).is_some_and(|first| first.as_bytes().starts_with(b"/"));
    if is_helper || is_source { of_mount(args).map(Some) } else { Ok(None) }
}

fn of_mount(args: &[OsString]) -> Result<Vec<OsString>, CliError> {
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
            [b'-', flags @ ..] if !flags.is_empty() && flags.iter().all(|flag| b"sfnvrw".contains(flag)) => {
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
    let mut out = vec![program, "mount".into(), "--background".into(), "--data".into(), data];
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

    /// What the words of a call mean, or `None`, or `usage`.
    fn meaning(call: &str) -> Option<String> {
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
            ("ddbfs /data /mnt", Some("mount --background --data /data -- /mnt")),
            ("ddbfs /data /mnt -o rw,dev,suid", Some("mount --background --data /data -o rw,dev,suid -- /mnt")),
            ("/sbin/mount.ddbfs /data /mnt -sn -o rw -o pretty", Some("mount --background --data /data -o rw -o pretty -- /mnt")),
            ("mount.ddbfs /data /mnt -x", Some("usage")),
            ("mount.ddbfs /data /mnt -r -oro -t fuse.ddbfs", Some("mount --background --data /data -o ro -o ro -- /mnt")),
            ("mount.ddbfs /data /mnt -f", Some("mount --background --data /data --dry-run -- /mnt")),
            ("mount.ddbfs data mnt", Some("mount --background --data data -- mnt")),
            ("mount.ddbfs /data", Some("usage")),
            ("mount.ddbfs /data /mnt -o", Some("usage")),
            ("mount.ddbfs /data /mnt /more", Some("usage")),
        ];
        for (call, expected) in cases {
            assert_eq!(meaning(call).as_deref(), expected, "{call}");
        }
    }
}
