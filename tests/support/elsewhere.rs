//! Remote services that tests mount when the environment says so: the same tests then run over
//! `ddbfs mount --remote`.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_credential_types::Credentials;
use ddbfs::codec::metrics::prices;
use ddbfs::database::copies::{CopySide, definition};
use ddbfs::database::remote::aws::{AwsOptions, AwsTransport};
use ddbfs::database::remote::budget::{MeteredTransport, SpendLimits};
use ddbfs::database::remote::{Client, RemoteDatabase, RemoteLayout, RemoteOptions};
use ddbfs::database::{Browse, Database};
use ddbfs::model::TableName;
use ddbfs::model::api::{ListTablesRequest, PutItemRequest, ScanRequest};
use ddbfs::model::prices::RateOption;
use parking_lot::Mutex;
use tempfile::TempDir;

use super::servers::{Declaration, Start};

/// The variable that names the server.
pub const VARIABLE: &str = "DDBFS_TEST_SERVER";
const KEYS: (&str, &str) = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG");
const REGION: &str = "us-east-1";
/// The timeout of a request: longer than a busy machine takes.
const PATIENT: Duration = Duration::from_secs(60);

/// A process that runs servers of an emulator, since an emulator starts slowly. It ends with this
/// process, which closes its input.
struct Host {
    _child: Child,
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
}

/// Hosts of the one server that this process uses; several, as dynalite has one thread for all of
/// its servers.
static HOSTS: [Mutex<Option<Host>>; 3] = [const { Mutex::new(None) }; 3];
/// Index of the host of the next server, modulo the number of hosts.
static NEXT: AtomicUsize = AtomicUsize::new(0);

impl Host {
    /// Calls `with` with the host at a place, which `command` starts if it does not run.
    fn at<T>(
        place: usize,
        command: impl FnOnce() -> Command,
        with: impl FnOnce(&mut Self) -> T,
    ) -> T {
        with(HOSTS[place % HOSTS.len()].lock().get_or_insert_with(|| {
            // What emulators log would be all that is seen.
            let mut child = command()
                .stdin(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let (input, lines) = (
                child.stdin.take().unwrap(),
                BufReader::new(child.stdout.take().unwrap()),
            );
            Self {
                _child: child,
                input,
                lines,
            }
        }))
    }

    fn start(&mut self) -> String {
        self.say("start");
        read_url(&mut self.lines)
    }

    fn say(&mut self, line: &str) {
        self.input
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }
}

fn read_url(lines: &mut impl BufRead) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let url = line
        .split(' ')
        .find_map(|word| word.trim_end_matches([',', '\n']).strip_prefix("http://"));
    format!(
        "http://{}",
        url.unwrap_or_else(|| panic!("a server says {line:?}"))
    )
}

/// A server for one mount, ended when dropped.
pub struct Server {
    url: String,
    runs: Runs,
}

/// The process that a server runs in.
enum Runs {
    Itself { child: Child, _data: TempDir },
    Hosted(usize),
}

impl Server {
    /// Starts the server that the environment asks for; `None` is the default: a local database.
    pub fn wanted() -> Option<Self> {
        static WANTED: OnceLock<Option<Declaration>> = OnceLock::new();
        let wanted = WANTED.get_or_init(|| {
            let name = std::env::var(VARIABLE).ok()?;
            Some(Declaration::of(&name))
        });
        Some(Self::start(wanted.as_ref()?, &[]))
    }

    /// Starts `ddbfs serve`, as it is declared, with further arguments.
    pub fn serve(args: &[&str]) -> Self {
        Self::start(&Declaration::of("ddbfs"), args)
    }

    fn start(declared: &Declaration, args: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let keys = format!("{}:{}", KEYS.0, KEYS.1);
        let command = || declared.command(data.path(), &keys, args);
        if matches!(declared.start, Start::Host(_)) {
            let place = NEXT.fetch_add(1, Ordering::Relaxed);
            return Self {
                url: Host::at(place, command, Host::start),
                runs: Runs::Hosted(place),
            };
        }
        let mut child = command().spawn().unwrap();
        let url = read_url(&mut BufReader::new(child.stdout.take().unwrap()));
        Self {
            url,
            runs: Runs::Itself { child, _data: data },
        }
    }

    /// Opens the server as `ddbfs mount --remote` does.
    pub fn database(&self) -> Arc<dyn Browse> {
        let keys = Some(Credentials::from_keys(KEYS.0, KEYS.1, None));
        let (endpoint, region) = (Some(self.url.clone()), Some(REGION.to_owned()));
        let aws = AwsTransport::open(&AwsOptions {
            endpoint,
            region,
            profile: None,
            keys,
            timeout: PATIENT,
        })
        .unwrap();
        let limits = SpendLimits {
            reads: RateOption::Unlimited,
            writes: RateOption::Unlimited,
            money: None,
            timeout: PATIENT,
        };
        let meter = Arc::new(MeteredTransport::new(
            Arc::new(aws),
            limits,
            prices::built_in(),
        ));
        let client = Arc::new(Client::new(Arc::clone(&meter) as _));
        let layout = RemoteLayout::new(meter);
        let options = RemoteOptions {
            is_writable: true,
            ..RemoteOptions::default()
        };
        Arc::new(RemoteDatabase::new(client, options).with_layout(layout))
    }

    /// Adds the arguments and variables of a mount of it, before the given ones.
    pub fn apply(&self, command: &mut Command) {
        command
            .env("AWS_ACCESS_KEY_ID", KEYS.0)
            .env("AWS_SECRET_ACCESS_KEY", KEYS.1)
            .env("AWS_EC2_METADATA_DISABLED", "true");
        command.args([
            "--remote",
            "--endpoint",
            &self.url,
            "--region",
            REGION,
            "-o",
            "rw",
        ]);
        // The tables of tests are provisioned with few units.
        command.args(["--budget", "none", "--max-rcu", "none", "--max-wcu", "none"]);
    }

    /// Copies all tables of a database.
    pub fn fill(&self, from: &Arc<dyn Database>) {
        let to: Arc<dyn Database> = self.database();
        let tables = from
            .list_tables(ListTablesRequest {
                exclusive_start_table_name: None,
                limit: None,
            })
            .unwrap()
            .table_names;
        for name in tables {
            let side = |database: &Arc<dyn Database>| {
                CopySide::new(
                    Arc::clone(database),
                    TableName::new(&name).unwrap(),
                    name.clone(),
                )
            };
            let (from, to) = (side(from), side(&to));
            let schema = definition::describe(&from).unwrap().unwrap().schema;
            definition::create(&to, &schema, false).unwrap();
            let mut scan = ScanRequest::new(to.table.clone());
            loop {
                let read = from.database.scan(&scan).unwrap();
                for item in read.items.unwrap_or_default() {
                    to.database
                        .put_item(PutItemRequest::new(to.table.clone(), item))
                        .unwrap();
                }
                scan.exclusive_start_key = read.page.last_evaluated_key;
                if scan.exclusive_start_key.is_none() {
                    break;
                }
            }
            if let Some(attribute) = definition::ttl_attribute(&from).unwrap() {
                // Not every service has it; the tests that need it check for it.
                let _ = definition::enable_ttl(&to, &attribute);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match &mut self.runs {
            Runs::Itself { child, .. } => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Runs::Hosted(place) => Host::at(
                *place,
                || unreachable!("it has started this server"),
                |host| host.say(&format!("end {}", self.url)),
            ),
        }
    }
}
