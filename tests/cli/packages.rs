//! What `scripts/package` makes, installed below a directory and used from there.

use crate::support::daemon::{DDBFS, bash_in, texts};

/// Packs the program under test, without building another; installs what was made with `install` and uses it from `prefix`.
fn works(install: &str, prefix: &str, zsh: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ok = |script: &str| {
        let script = format!("set -e; P=$PWD/{prefix}; export DDBFS_DATA=$PWD/data; {script}");
        let output = bash_in(dir.path(), &script);
        let (out, err) = texts(&output);
        assert!(
            output.status.success(),
            "{script}\n{}\nstdout: {out}\nstderr: {err}",
            output.status
        );
        out
    };
    ok(&format!(
        "{}/scripts/package $PWD/made {DDBFS}; {install}",
        env!("CARGO_MANIFEST_DIR")
    ));
    let mounted = "mkdir mnt; $P/bin/ddbfs sample; $P/bin/ddbfs mount --background mnt >&2
        ls mnt/Pets/items; cat mnt/Pets/items/Dog/Fido.json; $P/bin/ddbfs umount mnt; ls mnt; grep -o '^ExecStart=[^ ]*' $P/lib/systemd/system/ddbfs.service";
    let out = ok(mounted);
    assert!(
        out.contains("Cat\nDog\nFish\n{\"AnimalType\":\"Dog\",\"Name\":\"Fido\"}\nExecStart=/usr/"),
        "{out}"
    );
    let page = ok("MANWIDTH=80 man -M $P/share/man ddbfs-mount | cat");
    assert!(
        page.contains("         ddbfs#DIR  /mnt  fuse        rw,noatime  0  0\n"),
        "{page}"
    );
    let page = ok("MANWIDTH=100 man -M $P/share/man ddbfs | cat");
    assert!(
        page.contains("         ddbfs sample\n         mkdir -p mnt; ddbfs mount ./mnt &\n"),
        "{page}"
    );
    for completed in [
        "bash -c '. $0/share/bash-completion/completions/ddbfs; COMP_WORDS=(ddbfs u); COMP_CWORD=1; _ddbfs ddbfs u ddbfs; echo ${COMPREPLY[@]}' $P".to_owned(),
        "fish --no-config -c \"source $P/share/fish/vendor_completions.d/ddbfs.fish; complete -C 'ddbfs u'\" | cut -f1".to_owned(),
        format!("zsh -fc 'fpath=($0/share/zsh/{zsh} $fpath); autoload -Uz compinit; compinit -D -u; [ $_comps[ddbfs] = _ddbfs ]; autoload +X _ddbfs; functions _ddbfs_commands _ddbfs | grep -om1 umount' $P"),
    ] {
        assert_eq!(ok(&completed), "umount\n", "{completed}");
    }
    println!("{prefix}: mounted from, its pages read, its completions loaded");
}

#[test]
fn the_archive_is_for_any_prefix() {
    works(
        "mkdir prefix; tar -xzf made/ddbfs-*.tar.gz -C prefix --strip-components=1",
        "prefix",
        "site-functions",
    );
}

/// Installed below a directory; as root by dpkg itself.
#[test]
fn the_debian_package_installs() {
    if std::process::Command::new("dpkg-deb")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("no dpkg-deb: only the archive is made");
        return;
    }
    let install = "if [ $(id -u) = 0 ]; then
          mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates; touch root/var/lib/dpkg/status
          dpkg --root=$PWD/root --force-depends -i made/*.deb; dpkg --root=$PWD/root -V ddbfs
        else
          dpkg-deb -x made/*.deb root
        fi
        test -x root/usr/sbin/mount.ddbfs";
    works(install, "root/usr", "vendor-completions");
}
