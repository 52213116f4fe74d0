//! `ddbfs mount`: the filesystem, and with `--http` the API beside it, on one engine; in the
//! background with `--background`. `mount_options` has `-o`, `watchdog` the process that cleans up
//! after a killed mount, `umount` the end of a mount, and `fuse` the mounting itself.

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};

use super::args::EngineArgs;
use super::args::{self, DurabilityArgs};
use super::exit::print_line;
use super::mount_options::{self, ParsedOptions};
use super::mount_reader::VERSION;
use super::remote::{self, RemoteArgs};
use super::serve::Signals;
use super::serve::{self, HttpArgs};
use super::watchdog::Watchdog;
use super::watchdog::{self, MountAnswer};
use crate::cli::prelude::*;
use crate::engine::EngineOptions;
use crate::fs::View;
use crate::fuse::{self, MountOptions, Mounted};
use crate::store::Durability;
use crate::store::lmdb::open_extra_file;

/// The beginning of the line that the background process prints once the mount answers.
const READY: &str = "ready\t";
/// The environment variable of the process that `--background` started.
const BACKGROUND_CHILD: &str = "DDBFS_BACKGROUND_CHILD";
/// The time that programs may keep files open at the end.
const CLOSE_WAIT: Duration = Duration::from_secs(10);
/// The background process's log, in the data directory.
const LOG_FILE: &str = "ddbfs.log";

#[derive(Debug, Args)]
// Without `--remote` there is no service.
#[command(after_help = mount_options::help(), mut_group("ServiceArgs", |service| service.requires("remote")))]
pub struct MountArgs {
    /// An empty directory
    mountpoint: PathBuf,
    /// Serve the DynamoDB HTTP API too, for instance on 127.0.0.1:8000
    #[arg(long = "http", value_name = "ADDR")]
    address: Option<String>,
    /// Mount options, comma-separated; see below
    #[arg(short = 'o', value_name = "OPT,…", value_delimiter = ',')]
    options: Vec<String>,
    /// Return once mounted and continue in the background; the log goes to ddbfs.log in the data
    /// directory
    #[arg(long)]
    background: bool,
    /// Check the arguments and exit, as `mount -f` asks
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    http: HttpArgs,
    #[command(flatten)]
    model: EngineArgs,
    #[command(flatten)]
    durability: DurabilityArgs,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// The source of a mount.
struct MountSource {
    database: Arc<dyn Browse>,
    /// The name in messages.
    name: String,
    /// The limits of spending at a remote service, as a line.
    limits: Option<String>,
    /// The directory of long results and the log.
    dir: PathBuf,
    /// `None` for a remote service.
    _local: Option<data_dir::OpenData>,
}

impl MountSource {
    fn open(
        args: &MountArgs,
        durability: Durability,
        data_dir: &Path,
        is_writable: bool,
    ) -> Result<Self, CliError> {
        let engine = args.model.apply(EngineOptions::default())?;
        if args.remote.is_enabled() {
            let mut private = DirBuilder::new();
            let made = private.recursive(true).mode(0o700).create(data_dir);
            made.map_err(CliError::io(format!(
                "cannot keep long results in {}",
                data_dir.display()
            )))?;
            let remote::OpenRemote {
                database,
                limits,
                name,
            } = remote::open(&args.remote, &engine.prices, is_writable)?;
            return Ok(Self {
                database,
                name: format!("tables of {name}"),
                limits: Some(limits),
                dir: data_dir.to_owned(),
                _local: None,
            });
        }
        let opened = data_dir::open_with(&args.data, engine, durability)?;
        opened.warn_unfinished()?;
        let name = format!("data in {}", opened.dir.display());
        Ok(Self {
            database: opened.database.clone(),
            name,
            limits: None,
            dir: opened.dir.clone(),
            _local: Some(opened),
        })
    }
}

pub fn run(args: &MountArgs) -> Result<CommandResult, CliError> {
    let dir = data_dir::resolve(&args.data.at)?;
    let options = ParsedOptions::parse(args.options.iter().map(String::as_str))?;
    options.check(args.remote.is_enabled())?;
    if args.dry_run {
        return Ok(CommandResult::Done);
    }
    if args.background && !is_background_child() {
        return start_in_background(&dir);
    }
    let outcome = run_here(args, &options, &dir);
    if let (Err(error), true) = (&outcome, is_background_child()) {
        // The parent prints our standard output; standard error is the log. After a good start the
        // parent is gone and the pipe is broken.
        let _ = writeln!(std::io::stdout(), "{error}");
    }
    outcome
}

fn is_background_child() -> bool {
    std::env::var_os(BACKGROUND_CHILD).is_some()
}

fn run_here(
    args: &MountArgs,
    options: &ParsedOptions,
    data_dir: &Path,
) -> Result<CommandResult, CliError> {
    let is_remote = args.remote.is_enabled();
    // Signals are caught before there is a mount: their default action would leave the mount
    // behind, dead. While a remote service has not answered yet, a signal ends the process at once.
    let signals = (!is_remote).then(Signals::new).transpose()?;
    if let MountAnswer::Silent(silence) = watchdog::probe(&args.mountpoint, VERSION)? {
        return Err(CliError::Message(format!(
            "cannot mount at {}: a ddbfs is mounted there, and {silence}",
            args.mountpoint.display()
        )));
    }
    let durability = options.durability.unwrap_or(args.durability.durability);
    let mut mount_options = MountOptions {
        data: Some(data_dir.to_owned()),
        ..MountOptions::new(&args.mountpoint)
    };
    if is_remote {
        mount_options.event_threads = fuse::EVENT_THREADS_REMOTE;
    }
    options.apply(&mut mount_options);
    // Not the kernel's `ro`: a file of .ddb/api is written to make a request.
    let source = MountSource::open(args, durability, data_dir, options.is_rw())?;
    let signals = signals.map_or_else(Signals::new, Ok)?;
    let view = View::new(source.database.clone(), options.view);
    view.set_spool_dir(source.dir.clone());
    // Before the mount: a program that sees the mount may call the API.
    let address = args.address.as_ref().or(options.http.as_ref());
    let mut http = args.http.clone();
    http.http_allow_users |= options.http_allow_users;
    let server = address
        .map(|address| {
            serve::start(
                address,
                &http,
                source.database.clone(),
                Some(view.slow_log()),
            )
        })
        .transpose()?;
    let (events, heard) = channel();
    let unmounted = events.clone();
    let mounted = fuse::mount(&mount_options, view, move || {
        _ = unmounted.send(MountEvent::End)
    })
    .map_err(CliError::io(format!(
        "cannot mount at {}",
        args.mountpoint.display()
    )))?;

    let mut watchdog = watch(&mounted, &events);
    mounted.view().set_config(serde_json::json!({
        "mountpoint": mounted.mountpoint().to_string_lossy(),
        "data": source.dir.to_string_lossy(),
        "remote": is_remote.then_some(&source.name),
        "durability": (!is_remote).then(|| args::durability_word(durability)),
        "http": server.as_ref().map(|server| server.local_addr().to_string()),
    }));
    if is_background_child() {
        // The parent prints what follows.
        print_line!("{READY}{}", source.limits.as_deref().unwrap_or_default())?;
    } else {
        print_line!("mounted at {}, {}", args.mountpoint.display(), source.name)?;
        if let Some(server) = &server {
            print_line!("DynamoDB API on http://{}", server.local_addr())?;
        }
        if let Some(limits) = &source.limits {
            print_line!("{limits}")?;
        }
    }
    forward_signals(signals, events.clone());
    while let Ok(MountEvent::Unwatched) = heard.recv() {
        watchdog = watch(&mounted, &events);
    }
    // From the outside in: requests and open files in progress still write, so the store is last.
    if let Some(server) = server {
        server.shutdown();
    }
    let unmounted = mounted.unmount(CLOSE_WAIT);
    drop(watchdog);
    drop(source);
    unmounted.map_err(CliError::io("the mount failed"))?;
    Ok(CommandResult::Done)
}

/// An event of a mount.
enum MountEvent {
    /// A signal arrived, or another program unmounted.
    End,
    /// The watchdog was killed.
    Unwatched,
}

/// Sends [`MountEvent::End`] at a signal. The send fails silently once nothing receives it.
fn forward_signals(signals: Signals, events: Sender<MountEvent>) {
    std::thread::spawn(move || {
        signals.wait();
        let _ = events.send(MountEvent::End);
    });
}

fn watch(mounted: &Mounted, events: &Sender<MountEvent>) -> Option<Watchdog> {
    let events = events.clone();
    let started = Watchdog::start(mounted, move || _ = events.send(MountEvent::Unwatched));
    started
        .inspect_err(|error| {
            log::warn!("the mount has no watchdog, which would unmount it after a crash: {error}")
        })
        .ok()
}

/// Starts this command again as a process of its own session; returns when its mount answers.
fn start_in_background(data_dir: &Path) -> Result<CommandResult, CliError> {
    let exe = std::env::current_exe().map_err(CliError::io("cannot find the ddbfs program"))?;
    let args: Vec<_> = std::env::args_os().collect();
    // The child is a command of its own: it gets the meaning of a call by mount(8).
    let args = crate::cli::mount_options::arguments(&args)?.unwrap_or(args);
    let log = open_log(data_dir)?;
    // A session of its own: the end of the terminal's session sends it no SIGHUP.
    let mut child = Command::new("setsid")
        .arg(exe)
        .args(args.iter().skip(1))
        .env(BACKGROUND_CHILD, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(CliError::io("cannot start the background process"))?;
    let mut first_line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout)
            .read_line(&mut first_line)
            .map_err(CliError::io("the background process"))?;
    }
    let first_line = first_line.trim_end_matches('\n');
    if let Some(limits) = first_line.strip_prefix(READY) {
        if !limits.is_empty() {
            print_line!("{limits}")?;
        }
        return Ok(CommandResult::Done);
    }
    match first_line {
        "" => Err(CliError::Message(format!(
            "the background process ended early; see {}",
            data_dir.join(LOG_FILE).display()
        ))),
        error => Err(CliError::Message(error.to_owned())),
    }
}

fn open_log(data_dir: &Path) -> Result<std::fs::File, CliError> {
    open_extra_file(data_dir, LOG_FILE).map_err(|error| {
        CliError::Message(format!(
            "cannot write the log in {}: {error}",
            data_dir.display()
        ))
    })
}
