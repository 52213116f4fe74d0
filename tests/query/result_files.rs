//! Results of queries as programs take them that ask how large a file is before they read it, or map it into memory. Each program gives
//! for a result what it gives for a file of the same bytes on disk.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::support::mounted::{Mount, create_table, memory, on_disk, put};
use ddbfs::fs::FsError;
use ddbfs::fs::view::Caller;
use serde_json::{Value, json};
use tempfile::TempDir;

const READINGS: &str = r#"{
    "TableName": "Readings", "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
    "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}
}"#;

/// Results of about 1 KB, 1 MB and 20 MB: how many items of how many bytes.
const SIZES: [(&str, usize, usize); 3] = [
    ("kilobyte", 4, 220),
    ("megabyte", 100, 10_000),
    ("more", 60, 350_000),
];

fn text(n: usize, bytes: usize) -> String {
    let word = format!("lorem-{n}-ipsum-");
    word.chars().cycle().take(bytes).collect()
}

/// A mount with the results, and files outside that hold the bytes that they should have.
struct Results {
    mount: Mount,
    outside: TempDir,
}

impl Results {
    fn new(sizes: &[(&str, usize, usize)]) -> Self {
        let (db, outside) = (memory(), tempfile::tempdir().unwrap());
        create_table(&*db, READINGS);
        for (pk, items, bytes) in sizes {
            let (mut ndjson, mut csv) = (String::new(), String::from("pk,sk,text\n"));
            for sk in 0..*items {
                let text = text(sk, *bytes);
                let line = format!(r#"{{"pk":"{pk}","sk":{sk},"text":"{text}"}}"#);
                put(&*db, "Readings", &line);
                writeln!(ndjson, "{line}").unwrap();
                writeln!(csv, "{pk},{sk},{text}").unwrap();
            }
            let folder = outside.path().join(pk);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("items.ndjson"), ndjson).unwrap();
            std::fs::write(folder.join("items.csv"), csv).unwrap();
        }
        Self {
            mount: Mount::of(db),
            outside,
        }
    }

    fn folder(&self, pk: &str) -> PathBuf {
        self.mount
            .path()
            .join("Readings/query")
            .join(format!("@pk={pk}"))
    }

    /// What a script prints that finds the files in `$d`, and may write to `$out`.
    #[track_caller]
    fn run(&self, folder: &Path, script: &str) -> String {
        let out = tempfile::tempdir().unwrap();
        let script = format!(
            "set -o pipefail; d='{}'; out='{}'; {script}",
            folder.display(),
            out.path().display()
        );
        self.mount.run_in(Path::new("/"), &script).ok().to_owned()
    }

    /// A script prints the same of a result as of a file on disk.
    #[track_caller]
    fn check(&self, script: &str) {
        for (pk, ..) in SIZES {
            let expected = self.run(&self.outside.path().join(pk), script);
            let found = self.run(&self.folder(pk), script);
            assert!(
                !expected.is_empty() && found == expected,
                "{pk}: {script}: {found:.300} instead of {expected:.300}"
            );
        }
    }
}

#[test]
fn programs_of_the_shell_have_every_byte() {
    let results = Results::new(&SIZES);
    for script in [
        "stat -c %s $d/items.ndjson $d/items.csv",
        "find $d/items.ndjson -printf '%s\\n'",
        "wc -c < $d/items.ndjson",
        "tail -c 100 $d/items.ndjson; head -c 100 $d/items.ndjson",
        "tail -n 1 $d/items.ndjson | sha1sum",
        "cat $d/items.ndjson | sha1sum; sha1sum < $d/items.csv",
        "cp $d/items.ndjson $out/copy && sha1sum < $out/copy",
        "dd if=$d/items.ndjson bs=7777 status=none | sha1sum",
        "grep -c lorem $d/items.ndjson; grep -o '\"sk\":[0-9]*,' $d/items.ndjson | tail -1",
        "jq -s 'length, (map(.sk) | add)' $d/items.ndjson",
        "test -s $d/items.ndjson && echo not empty",
        "mapfile -t lines < $d/items.ndjson && echo ${#lines[@]}",
    ] {
        results.check(script);
    }
}

#[test]
fn ripgrep_maps_a_result() {
    let results = Results::new(&SIZES);
    results.check("rg -c lorem $d/items.ndjson");
    results.check("rg --mmap -o '\"sk\":[0-9]+,' $d/items.ndjson");
}

#[test]
fn rsync_and_tar_copy_a_result() {
    let results = Results::new(&SIZES);
    results.check("rsync $d/items.ndjson $d/items.csv $out/ && sha1sum < $out/items.ndjson && sha1sum < $out/items.csv");
    results.check(
        "tar -C $d -cf $out/all.tar items.ndjson items.csv && tar -xOf $out/all.tar | sha1sum",
    );
}

#[test]
fn git_and_sqlite_read_a_result() {
    let results = Results::new(&SIZES);
    results.check("git hash-object --no-filters $d/items.ndjson");
    results.check(r#"sqlite3 :memory: "select length(readfile('$d/items.ndjson')), hex(substr(readfile('$d/items.csv'), -50))""#);
}

fn python(program: &str) -> String {
    let python = std::env::var("DDBFS_TEST_PYTHON")
        .unwrap_or_else(|_| "target/python/bin/python".to_owned());
    let python = std::fs::canonicalize(Path::new(&python).parent().unwrap())
        .unwrap()
        .join("python");
    format!(
        "cd $out && d=$d '{}' - <<'END'\nimport os\nd = os.environ['d']\n{program}\nEND",
        python.display()
    )
}

#[test]
fn python_maps_and_sends_a_result() {
    let results = Results::new(&SIZES);
    results.check(&python(
        "import hashlib, mmap\n\
         with open(d + '/items.ndjson', 'rb') as f:\n\
        \x20   for access in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):\n\
        \x20       with mmap.mmap(f.fileno(), 0, flags=access, prot=mmap.PROT_READ) as m:\n\
        \x20           print(len(m), hashlib.sha1(m).hexdigest())\n",
    ));
    results.check(&python(
        "import shutil, pathlib\n\
         shutil.copyfile(d + '/items.ndjson', 'copy')\n\
         print(os.path.getsize('copy'), hash(pathlib.Path('copy').read_bytes()) == hash(pathlib.Path(d + '/items.ndjson').read_bytes()))\n\
         with open(d + '/items.csv', 'rb') as f:\n\
        \x20   print(f.seek(0, 2), f.seek(-20, 2), f.read())\n",
    ));
}

#[test]
fn duckdb_reads_a_result() {
    let results = Results::new(&SIZES);
    results.check(&python(
        "import duckdb\n\
         for reader in ('read_ndjson_auto', 'read_csv_auto'):\n\
        \x20   name = d + ('/items.ndjson' if 'json' in reader else '/items.csv')\n\
        \x20   print(duckdb.sql(f\"select count(*), sum(sk), sum(length(text)), min(pk) from {reader}('{name}')\").fetchall())\n",
    ));
}

#[test]
fn polars_reads_a_result() {
    let results = Results::new(&SIZES);
    results.check(&python(
        "import polars\n\
         def tell(frame):\n\
        \x20   print(frame.height, frame['sk'].sum(), frame['text'].str.len_bytes().sum(), frame['pk'].min())\n\
         tell(polars.read_ndjson(d + '/items.ndjson'))\n\
         tell(polars.scan_ndjson(d + '/items.ndjson').collect())\n\
         tell(polars.read_csv(d + '/items.csv'))\n\
         tell(polars.scan_csv(d + '/items.csv').collect())\n",
    ));
}

#[test]
fn every_result_has_the_size_of_what_is_read() {
    let results = Results::new(&SIZES);
    let script = "for f in items.ndjson items.json items.ddbjson items.csv keys count page.json next request.json explain.json capacity.json help; \
        do s=$(stat -c %s $d/$f) && test $s = $(cat $d/$f | wc -c) || echo $f: $s; done";
    for (pk, ..) in SIZES {
        assert_eq!(results.run(&results.folder(pk), script), "");
    }
    let since = results.mount.path().join("Readings/stream/since");
    let script = "s=$(stat -c %s $d/0.ndjson) && test $s -gt 10000 && test $s = $(cat $d/0.ndjson | wc -c) && wc -l < $d/0.ndjson";
    assert_eq!(results.run(&since, script), "164\n");
}

/// Read units that a table's items consumed so far.
fn units(mount: &Mount) -> f64 {
    let metrics = mount.sh("cat .ddb/stats.prom").ok().to_owned();
    let of_table = metrics.lines().filter(|line| {
        line.starts_with("ddbfs_consumed_read_capacity_units_total") && line.contains("Readings")
    });
    of_table
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
        .sum()
}

#[test]
fn only_what_is_read_consumes_capacity_and_once() {
    let results = Results::new(&SIZES[1..2]);
    let mount = &results.mount;
    let file = "Readings/query/@pk=megabyte/items.ndjson";
    let consumed: Value = serde_json::from_str(
        mount
            .sh("cat Readings/query/@pk=megabyte/capacity.json")
            .ok(),
    )
    .unwrap();
    let whole = consumed["ConsumedCapacity"]["CapacityUnits"]
        .as_f64()
        .unwrap();
    assert!(whole > 100.0, "{whole}");
    let cost = |script: &str| {
        let before = units(mount);
        mount.sh(script).ok();
        units(mount) - before
    };
    assert_eq!(
        cost(&format!(
            "stat {file}; ls -l {file}; test -s {file}; du {file}"
        )),
        0.0
    );
    assert_eq!(
        cost(&format!("stat {file} && cat {file} && stat {file}")),
        whole
    );
    assert_eq!(cost(&format!("cat {file}; cat {file}")), 2.0 * whole);
    let first_page = cost(&format!("head -c 1 {file}"));
    assert!(first_page > 0.0 && first_page <= whole, "{first_page}");
}

#[test]
fn a_write_is_seen_by_the_next_stat_and_an_open_file_keeps_what_it_has() {
    let results = Results::new(&SIZES[..1]);
    let mount = &results.mount;
    mount
        .sh("cd Readings/query/@pk=kilobyte
            before=$(stat -c %s items.ndjson); exec 3< items.ndjson; head -c 10 <&3 > /dev/null
            for n in 5 6 7; do
                echo '{}' > ../../items/kilobyte/$n.json
                after=$(stat -c %s items.ndjson); test $after -gt $before || echo $n: not seen; before=$after
                test $after = $(cat items.ndjson | wc -c) || echo $n: $after
                test $(cat count) = $((n)) -a $(stat -c %s count) = 2 || echo $n: count
            done
            rm ../../items/kilobyte/*.json; test $(stat -c %s items.ndjson) = 0 || echo not empty
            cat <&3 | tail -n 1 | grep -q '\"sk\":3' || echo lost; exec 3<&-")
        .ok();
}

#[test]
fn a_process_is_told_the_size_of_what_it_has_open() {
    let results = Results::new(&SIZES[..1]);
    let table = results.mount.path().join("Readings");
    let told = results.run(
        &table,
        &python(
            "f = open(d + '/query/@pk=kilobyte/items.ndjson', 'rb')\n\
             s = open(d + '/stats.json', 'rb')\n\
             sizes = os.fstat(f.fileno()).st_size, os.fstat(s.fileno()).st_size\n\
             for n in range(100, 200):\n\
            \x20   open(d + f'/items/kilobyte/{n}.json', 'w').write('{}')\n\
             assert sizes == (os.fstat(f.fileno()).st_size, os.fstat(s.fileno()).st_size)\n\
             assert sizes == (len(f.read()), len(s.read())), sizes\n\
             for name in ('/query/@pk=kilobyte/items.ndjson', '/stats.json'):\n\
            \x20   with open(d + name, 'rb') as again:\n\
            \x20       assert os.fstat(again.fileno()).st_size == len(again.read())\n\
             f.close(), s.close()\n\
             print(os.stat(d + '/query/@pk=kilobyte/items.ndjson').st_size > sizes[0])\n",
        ),
    );
    assert_eq!(told, "True\n");
}

#[test]
fn a_query_that_fails_says_why_at_stat() {
    let results = Results::new(&SIZES[..1]);
    let script = "stat Readings/query/@pk.shards=k,1,2/page.json 2>&1 | grep -o 'Invalid argument'; cat .ddb/errors/last";
    let told = results.mount.sh(script);
    assert!(
        told.out.starts_with(
            "Invalid argument\ngetattr Readings/query/@pk.shards=k,1,2/page.json: EINVAL"
        ),
        "{told:#?}"
    );
    assert!(
        told.out.contains("page.json stands for one request"),
        "{told:#?}"
    );
}

#[test]
fn a_listing_computes_nothing() {
    let results = Results::new(&SIZES[..1]);
    let before = units(&results.mount);
    results.mount.sh("cd Readings; ls -l query scan/limit=2; ls -la .; find . -maxdepth 1 -name 'q*' -printf '%s '").ok();
    // Two items were listed, each page is half a unit at least.
    assert!(units(&results.mount) - before <= 4.0);
}

/// The bytes of `stats.json` are those that a program was told of, whoever writes meanwhile; nobody sees it change.
#[test]
fn backups_of_statistics_end_well_while_others_write() {
    let results = Results::new(&SIZES[..1]);
    let out = results.outside.path().display().to_string();
    let ran = results.mount.sh(&format!(
        "(n=0; while test ! -e {out}/stop; do n=$((n + 1)); echo '{{}}' > Readings/items/w/$n.json; done) 2> /dev/null & writer=$!
        mkdir Readings/items/w
        status=0
        for round in $(seq 20); do
            tar -cf {out}/a.tar Readings/stats.json .ddb/stats.json || status=1
            tar -xOf {out}/a.tar | jq -es 'length == 2' > /dev/null || status=2
            rsync Readings/stats.json {out}/r.json && jq -e .items {out}/r.json > /dev/null || status=3
            cat Readings/stats.json | jq -e .items > /dev/null || status=4
            grep -rq '\"items\"' Readings/stats.json || status=5
            test $(wc -c < Readings/stats.json) -gt 100 || status=6
            cp Readings/stats.json {out}/c.json && jq -e .items {out}/c.json > /dev/null || status=7
        done
        touch {out}/stop; wait $writer; tail -c 3 Readings/stats.json; exit $status"
    ));
    assert_eq!((ran.status, ran.out.as_str()), (0, "\n}\n"), "{ran:#?}");
}

#[test]
fn statistics_have_no_padding_on_a_terminal() {
    let mount = Mount::with_tables();
    let script = "for f in Orders/stats.json Orders/gsi/by-status/stats.json .ddb/stats.json Orders/partitions/p00/stats.json; \
        do test $(stat -c %s $f) = $(cat $f | wc -c) && jq -e . $f > /dev/null && awk 'length > 90 || !NF {exit 1}' $f || echo $f; done";
    assert_eq!(mount.sh(script).ok(), "");
}

/// A result of 100 MB, as a person has it: by hand, since it takes a while.
#[test]
#[ignore = "100 MB"]
fn a_long_result_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let db = on_disk(directory.path());
    create_table(&*db, READINGS);
    for sk in 0..300 {
        put(
            &*db,
            "Readings",
            &json!({"pk": "p", "sk": sk, "text": text(sk, 350_000)}).to_string(),
        );
    }
    let mount = Mount::of(db);
    mount
        .sh("cd Readings/query/@pk=p; s=$(stat -c %s items.ndjson); test $s -gt 100000000 && test $s = $(cat items.ndjson | wc -c) &&
            test $(rg -c lorem items.ndjson) = 300 && tar -cf - items.ndjson | tar -xO | cmp - items.ndjson && cat items.ndjson | cmp - items.ndjson")
        .ok();
}

/// Who asks for a size and is interrupted is answered between two pages, and nobody goes on for its sake.
#[test]
fn a_stat_ends_with_its_caller() {
    let results = Results::new(&SIZES[1..2]);
    let mount = &results.mount;
    // A stopped process keeps the signal that it is sent.
    let mut holder = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let pid = holder.id();
    let sent = std::process::Command::new("bash")
        .args(["-c", &format!("kill -STOP {pid}; until grep -q '^State:.T' /proc/{pid}/status; do :; done; kill -INT {pid}")])
        .status();
    let of_process = |pid| {
        mount.view().with_caller(Caller {
            pid,
            ..Caller::default()
        })
    };
    let mut ino = ddbfs::fs::node::ROOT_INO;
    for name in ["Readings", "query", "@pk=megabyte", "items.ndjson"] {
        ino = of_process(pid).lookup(ino, name.as_bytes()).unwrap().ino;
    }
    let stat = |pid: u32| {
        let (sender, receiver) = std::sync::mpsc::channel();
        of_process(pid).getattr_async(
            ino,
            None,
            Box::new(move |attr| sender.send(attr.map(|attr| attr.size)).unwrap()),
        );
        receiver.recv().unwrap()
    };
    let interrupted = stat(pid);
    let whole = stat(std::process::id());
    let killed = (holder.kill(), holder.wait());
    assert!(sent.unwrap().success() && killed.1.is_ok());
    assert_eq!(interrupted, Err(FsError::Interrupted));
    assert_eq!(
        whole.unwrap(),
        std::fs::metadata(results.outside.path().join("megabyte/items.ndjson"))
            .unwrap()
            .len()
    );
}
