//! Services that the mounts of tests are over when the environment says so: the same tests then run over `ddbfs mount --remote`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ddbfs::codec::metrics::prices;
use ddbfs::database::copies::{Side, definition};
use ddbfs::database::remote::aws::{Aws, AwsOptions};
use ddbfs::database::remote::budget::{Limits, Meter};
use ddbfs::database::remote::{Client, RemoteDatabase, RemoteLayout, RemoteOptions};
use ddbfs::database::{Browse, Database};
use ddbfs::model::TableName;
use ddbfs::model::api::{ListTablesRequest, PutItemRequest, ScanRequest};

use super::daemon::DDBFS;
use super::http::python;

/// The variable that names the kind of server.
pub const VARIABLE: &str = "DDBFS_TEST_SERVER";
const KEYS: (&str, &str) = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG");
const REGION: &str = "us-east-1";
/// Of a request: longer than a busy machine takes.
const PATIENT: Duration = Duration::from_secs(60);

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ddbfs serve`, which checks signatures, throttles, and takes its time for tables and indexes.
    Ddbfs,
    /// From npm.
    Dynalite,
    /// From PyPI.
    Moto,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Ddbfs, Self::Dynalite, Self::Moto];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ddbfs => "ddbfs",
            Self::Dynalite => "dynalite",
            Self::Moto => "moto",
        }
    }

    /// Prints where it listens in its first line.
    fn command(self, data: &Path) -> Command {
        match self {
            Self::Ddbfs => {
                let mut command = Command::new(DDBFS);
                command
                    .args(["serve", "--http", "127.0.0.1:0", "--data"])
                    .arg(data)
                    .args(["--auth", &format!("{}:{}", KEYS.0, KEYS.1)]);
                command.args(["--throttle", "--table-delay", "100ms", "--index-delay", "100ms"]);
                command
            }
            Self::Dynalite => {
                let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/node/node_modules");
                let mut command = Command::new("node");
                command.env("NODE_PATH", modules).arg("-e").arg(
                    "const server = require('dynalite')({ createTableMs: 100, deleteTableMs: 100, updateTableMs: 100 });\
                     server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));\
                     process.stdin.on('end', () => process.exit()).resume()",
                );
                command
            }
            Self::Moto => {
                let mut command = Command::new(python());
                command.stderr(Stdio::null()).arg("-c").arg(
                    "import sys\nfrom moto.server import ThreadedMotoServer\n\
                     server = ThreadedMotoServer('127.0.0.1', 0, verbose=False)\nserver.start()\n\
                     print('http://%s:%d' % server.get_host_and_port(), flush=True)\nsys.stdin.read()",
                );
                command
            }
        }
    }
}

/// A server of its own for one mount, ended when dropped.
pub struct Server {
    child: Child,
    url: String,
    _data: tempfile::TempDir,
}

impl Server {
    /// What a mount is over; `None` is the usual: a database of its own.
    pub fn wanted() -> Option<Self> {
        let name = std::env::var(VARIABLE).ok()?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        Some(Self::start(kind.expect("a kind of server"), &[]))
    }

    /// With further arguments.
    pub fn start(kind: Kind, args: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut command = kind.command(data.path());
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split(' ').find_map(|word| word.trim_end_matches([',', '\n']).strip_prefix("http://"));
        let url = format!("http://{}", url.unwrap_or_else(|| panic!("{} says {line:?}", kind.name())));
        Self { child, url, _data: data }
    }

    /// As `ddbfs mount --remote` opens it.
    pub fn database(&self) -> Arc<dyn Browse> {
        let keys = Some((KEYS.0.to_owned(), KEYS.1.to_owned()));
        let (endpoint, region) = (Some(self.url.clone()), Some(REGION.to_owned()));
        let aws = Aws::open(&AwsOptions { endpoint, region, profile: None, keys, timeout: PATIENT }).unwrap();
        let limits = Limits { reads: None, writes: None, money: None, timeout: PATIENT };
        let meter = Arc::new(Meter::new(Arc::new(aws), limits, prices::built_in()));
        let client = Arc::new(Client::new(Arc::clone(&meter) as _));
        let layout = Arc::new(RemoteLayout::new(meter, Arc::clone(&client) as _));
        let options = RemoteOptions { is_writable: true, ..RemoteOptions::default() };
        Arc::new(RemoteDatabase::new(client, options).with_layout(layout))
    }

    /// Arguments and variables of a mount of it, before those that are given.
    pub fn apply(&self, command: &mut Command) {
        command.env("AWS_ACCESS_KEY_ID", KEYS.0).env("AWS_SECRET_ACCESS_KEY", KEYS.1).env("AWS_EC2_METADATA_DISABLED", "true");
        command.args(["--remote", "--endpoint", &self.url, "--region", REGION, "-o", "rw"]);
    }

    /// Takes over all tables of a database.
    pub fn fill(&self, from: &Arc<dyn Database>) {
        let to: Arc<dyn Database> = self.database();
        let tables = from.list_tables(ListTablesRequest { exclusive_start_table_name: None, limit: None }).unwrap().table_names;
        for name in tables {
            let side = |database: &Arc<dyn Database>| Side {
                database: Arc::clone(database),
                table: TableName::new(&name).unwrap(),
                name: name.clone(),
            };
            let (from, to) = (side(from), side(&to));
            let schema = definition::describe(&from).unwrap().unwrap().schema;
            definition::create(&to, &schema, false).unwrap();
            let mut scan = ScanRequest::new(to.table.clone());
            loop {
                let read = from.database.scan(&scan).unwrap();
                for item in read.items.unwrap_or_default() {
                    to.database.put_item(PutItemRequest::new(to.table.clone(), item)).unwrap();
                }
                scan.exclusive_start_key = read.page.last_evaluated_key;
                if scan.exclusive_start_key.is_none() {
                    break;
                }
            }
            if let Some(attribute) = definition::expiry(&from).unwrap() {
                // Not every service has it; the tests that need it say so.
                let _ = definition::set_expiry(&to, &attribute);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
