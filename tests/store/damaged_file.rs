//! A data file that is damaged is a sentence and exit code 1, or works; never a signal.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::daemon::Mount;
use crate::support::seeded::Numbers;

const DDBFS: &str = env!("CARGO_BIN_EXE_ddbfs");
const PAGE: u64 = 4096;

fn run(data: &Path, args: &[&str], input: &[u8]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let lines = directory.path().join("lines");
    fs::write(&lines, input).unwrap();
    let stdin = Stdio::from(fs::File::open(&lines).unwrap());
    Command::new("timeout")
        .arg("120")
        .arg(DDBFS)
        .args(args)
        .env("DDBFS_DATA", data)
        .stdin(stdin)
        .output()
        .unwrap()
}

/// The command worked, or ended with 1 and a sentence; what it said.
#[track_caller]
fn sentence_or_works(data: &Path, args: &[&str], input: &[u8], what: &str) -> Option<String> {
    let output = run(data, args, input);
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => None,
        Some(1) if !text.contains("panicked") && !text.is_empty() => Some(text),
        _ => panic!("{what}: {args:?} ended with {}: {text}", output.status),
    }
}

/// A store with tables, indexes, long values and free pages.
fn sound() -> Vec<u8> {
    let data = tempfile::tempdir().unwrap();
    assert!(run(data.path(), &["sample"], b"").status.success());
    for round in 0..3 {
        let line = |n: usize| {
            format!(
                "{{\"AnimalType\":\"T{}\",\"Name\":\"n{n}\",\"v\":\"{}\"}}\n",
                n % 7,
                "x".repeat(round * 200 + n * n % 7000)
            )
        };
        let lines: String = (0..400).map(line).collect();
        let loaded = run(data.path(), &["load", "Pets"], lines.as_bytes());
        assert!(loaded.status.success(), "{loaded:?}");
    }
    fs::read(data.path().join("data.mdb")).unwrap()
}

fn store_of(bytes: &[u8]) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("data.mdb"), bytes).unwrap();
    data
}

#[test]
fn a_truncated_file_is_told_with_what_to_do() {
    let bytes = sound();
    for kept in [
        1,
        100,
        PAGE as usize,
        2 * PAGE as usize,
        bytes.len() / 2,
        bytes.len() - PAGE as usize,
    ] {
        let data = store_of(&bytes[..kept]);
        for args in [&["check"][..], &["dump", "Pets"], &["sample"]] {
            let told = sentence_or_works(data.path(), args, b"", &format!("{kept} bytes"));
            let Some(told) = told else {
                assert!(
                    kept + PAGE as usize == bytes.len(),
                    "{kept} bytes of {} are enough for {args:?}",
                    bytes.len()
                );
                continue;
            };
            assert!(
                told.contains("data.mdb") && told.contains("Restore"),
                "{told}"
            );
        }
    }
}

#[test]
fn an_empty_data_file_is_no_new_database() {
    let data = store_of(b"");
    for args in [&["check"][..], &["sample"]] {
        let told = sentence_or_works(data.path(), args, b"", "empty").expect("a refusal");
        assert!(
            told.contains("is empty") && told.contains("Restore"),
            "{told}"
        );
    }
    assert_eq!(fs::metadata(data.path().join("data.mdb")).unwrap().len(), 0);
}

#[test]
fn a_sound_file_with_a_shorter_or_longer_end_opens() {
    let bytes = sound();
    let data = store_of(&[bytes.as_slice(), &[7; 3 * PAGE as usize]].concat());
    assert_eq!(
        sentence_or_works(data.path(), &["check"], b"", "longer"),
        None
    );
}

/// Damages a copy as the seed says; then every kind of command is run on it.
fn damage(sound: &[u8], seed: u64) {
    let mut numbers = Numbers(seed);
    let mut bytes = sound.to_vec();
    let pages = bytes.len() as u64 / PAGE;
    match numbers.below(4) {
        0 => bytes.truncate(usize::try_from(numbers.below(sound.len() as u64)).unwrap()),
        // Whole pages, of random bytes, zeros or another page's; sometimes the last ones.
        1 | 2 => {
            for _ in 0..=numbers.below(3) {
                let last = pages - 1 - numbers.below(4);
                let page = if numbers.below(2) == 0 {
                    last
                } else {
                    numbers.below(pages)
                };
                let from = numbers.below(pages) * PAGE;
                let kind = numbers.below(3);
                for offset in 0..PAGE {
                    bytes[(page * PAGE + offset) as usize] = match kind {
                        0 => numbers.below(256) as u8,
                        1 => 0,
                        _ => sound[(from + offset) as usize],
                    };
                }
            }
        }
        // Single bytes.
        _ => {
            for _ in 0..=numbers.below(40) {
                let at = numbers.below(bytes.len() as u64) as usize;
                bytes[at] = numbers.below(256) as u8;
            }
        }
    }
    let what = format!("seed {seed}");
    let line = format!(
        "{{\"AnimalType\":\"T3\",\"Name\":\"new\",\"v\":\"{}\"}}\n",
        "y".repeat(6000)
    );
    for (args, input) in [
        (&["check"][..], &b""[..]),
        (&["dump", "Pets"], b""),
        (&["load", "Pets"], line.as_bytes()),
    ] {
        let data = store_of(&bytes);
        sentence_or_works(data.path(), args, input, &what);
    }
}

#[test]
fn random_damage_is_a_sentence_or_works() {
    let sound = sound();
    // More on demand: scripts that hunt set another range.
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let first = number("DDBFS_DAMAGE_SEED", 0);
    for seed in first..first + number("DDBFS_DAMAGE_CASES", 60) {
        damage(&sound, seed);
    }
}

#[test]
fn a_file_that_is_truncated_while_it_is_served_ends_the_process_with_a_sentence() {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    let data = store_of(&sound());
    let mut serve = Command::new(DDBFS)
        .args(["serve", "--http", "127.0.0.1:0"])
        .env("DDBFS_DATA", data.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(serve.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .split("http://")
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap()
        .to_owned();
    let file = OpenOptions::new()
        .write(true)
        .open(data.path().join("data.mdb"))
        .unwrap();
    file.set_len(2 * PAGE).unwrap();
    let body = r#"{"TableName":"Pets"}"#;
    // A thread of the process may meet the end of the file first, and then nobody answers.
    if let Ok(mut client) = TcpStream::connect(address) {
        let _ = write!(
            client,
            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.Scan\r\nContent-Type: application/x-amz-json-1.0\r\n\
             X-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, \
             SignedHeaders=host, Signature=0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
    }
    let mut told = String::new();
    serve
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert_eq!(serve.wait().unwrap().code(), Some(1), "{told}");
    assert!(
        told.contains("data.mdb") && told.contains("truncated") && told.contains("Restore"),
        "{told}"
    );
}

#[test]
fn pages_swapped_by_hand_are_found() {
    let bytes = sound();
    let data = store_of(&bytes);
    let file = OpenOptions::new()
        .write(true)
        .open(data.path().join("data.mdb"))
        .unwrap();
    // Every page after the heads holds the third one's content.
    let third = &bytes[2 * PAGE as usize..3 * PAGE as usize];
    for page in 3..bytes.len() as u64 / PAGE {
        file.write_all_at(third, page * PAGE).unwrap();
    }
    let told = sentence_or_works(data.path(), &["check"], b"", "swapped").expect("a refusal");
    assert!(told.contains("damaged: page"), "{told}");
}

/// A data directory whose only process was killed, with its data file as it was before the last writes.
fn killed() -> (tempfile::TempDir, Vec<u8>) {
    let mut mount = Mount::with_samples();
    mount.ok("echo '{\"Age\":1}' > Pets/items/Dog/Rex.json");
    let before = fs::read(mount.data().join("data.mdb")).unwrap();
    for age in 2..9 {
        mount.ok(&format!(
            "echo '{{\"Age\":{age}}}' > Pets/items/Dog/Rex.json"
        ));
    }
    mount.kill();
    let data = tempfile::tempdir().unwrap();
    for name in ["data.mdb", "checkpoint", "log.0", "log.1"] {
        fs::rename(mount.data().join(name), data.path().join(name)).unwrap();
    }
    (data, before)
}

#[test]
fn a_checkpoint_or_log_that_is_damaged_or_missing_is_told() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 3] = [
        ("checkpoint\" is damaged", |data| {
            fs::write(data.join("checkpoint"), [7; 8192]).unwrap()
        }),
        ("checkpoint\" is damaged", |data| {
            fs::write(data.join("checkpoint"), b"").unwrap()
        }),
        ("log.1\" is missing", |data| {
            fs::remove_file(data.join("log.1")).unwrap();
            // Recovered, as a copy is.
            fs::copy(data.join("data.mdb"), data.join("copy")).unwrap();
            fs::rename(data.join("copy"), data.join("data.mdb")).unwrap();
        }),
    ];
    for (expected, damage) in damages {
        let (data, _) = killed();
        damage(data.path());
        for args in [&["check"][..], &["dump", "Pets"], &["compact"]] {
            let told = sentence_or_works(data.path(), args, b"", expected).unwrap_or_default();
            assert!(
                told.contains(expected) && told.contains("Restore"),
                "{args:?}: {told}"
            );
        }
    }
}

#[test]
fn check_finds_a_log_that_is_not_of_its_data_file() {
    let (data, _) = killed();
    assert_eq!(
        sentence_or_works(data.path(), &["check"], b"", "killed"),
        None
    );
    let (data, before) = killed();
    // In place: a copy would be recovered.
    let file = OpenOptions::new()
        .write(true)
        .open(data.path().join("data.mdb"))
        .unwrap();
    file.set_len(before.len() as u64).unwrap();
    file.write_all_at(&before, 0).unwrap();
    let told =
        sentence_or_works(data.path(), &["check"], b"", "another data file").unwrap_or_default();
    assert!(told.contains("is older than the log beside it"), "{told}");
}
