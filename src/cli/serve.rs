//! `ddbfs serve`: the HTTP server of the API without a mount, until a signal ends it cleanly.
//! `mount --http` starts the same server; the layer `http` has it.

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::args::{CacheArgs, DurabilityArgs, EngineArgs};
use super::exit::print_line;
use super::prelude::*;
use crate::engine::EngineOptions;
use crate::http::sigv4::Credentials;
use crate::http::{HttpOptions, RunningServer, Server};
use crate::protocol::slow_log::SlowLog;

/// The default address of the HTTP API, which is DynamoDB Local's.
const HTTP_ADDRESS: &str = "127.0.0.1:8000";

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address to listen on
    #[arg(long = "http", value_name = "ADDR", default_value = HTTP_ADDRESS)]
    address: String,
    #[command(flatten)]
    http: HttpArgs,
    #[command(flatten)]
    model: EngineArgs,
    #[command(flatten)]
    durability: DurabilityArgs,
    #[command(flatten)]
    data: DataArgs,
}

/// The access options of the HTTP API.
#[derive(Debug, Clone, Args)]
pub struct HttpArgs {
    /// Allow an address that other hosts can reach; without --auth there is no access control
    #[arg(long)]
    http_allow_remote: bool,
    /// Serve processes of every user of this machine; otherwise, without --auth, only your own and
    /// root's
    #[arg(long)]
    pub http_allow_users: bool,
    /// Accept this Host header besides the loopback names (repeatable)
    #[arg(long, value_name = "HOST")]
    http_allow_host: Vec<String>,
    /// Accept browser requests from this Origin (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    http_allow_origin: Vec<String>,
    /// Omit the `1 validation error detected: ` that DynamoDB puts before more error messages since
    /// 2026
    #[arg(long)]
    http_bare_texts: bool,
    /// Accept only requests signed with this key (SigV4); without it any signature is accepted
    #[arg(
        long,
        value_name = "ACCESS_KEY:SECRET",
        env = "DDBFS_AUTH",
        hide_env_values = true
    )]
    auth: Option<Credentials>,
    #[command(flatten)]
    cache: CacheArgs,
}

pub fn run(args: ServeArgs) -> Result<CommandResult, CliError> {
    // Before the data directory is opened: a signal that comes meanwhile is kept, and ends the
    // server as soon as it runs.
    let signals = Signals::new()?;
    let opened = data_dir::open_with(
        &args.data,
        args.model.apply(EngineOptions::default())?,
        args.durability.durability,
    )?;
    opened.warn_unfinished()?;
    let server = start(&args.address, &args.http, opened.database.clone(), None)?;
    print_line!(
        "DynamoDB API on http://{}, data in {}",
        server.local_addr(),
        opened.dir.display()
    )?;
    signals.wait();
    // Requests first: they wait for the writer, which ends with the database.
    server.shutdown();
    Ok(CommandResult::Done)
}

/// Starts the HTTP API on `address`; slow requests are logged in `slow_log`.
pub fn start(
    address: &str,
    args: &HttpArgs,
    database: Arc<dyn Browse>,
    slow_log: Option<Arc<SlowLog>>,
) -> Result<RunningServer, CliError> {
    let address = address.parse().map_err(|_| {
        CliError::Message(format!(
            "--http {address}: expected IP:PORT, for instance {HTTP_ADDRESS}"
        ))
    })?;
    let options = HttpOptions {
        allow_non_loopback: args.http_allow_remote,
        allow_users: args.http_allow_users,
        allowed_hosts: args.http_allow_host.clone(),
        allowed_origins: args.http_allow_origin.clone(),
        credentials: args.auth.clone(),
        bare_texts: args.http_bare_texts,
        slow_log,
        ..HttpOptions::new(address)
    };
    Server::start(options, args.cache.wrap(database))
        .map_err(CliError::io(format!("cannot serve HTTP on {address}")))
}

/// A handler of SIGINT, SIGTERM and SIGHUP, from [`Signals::new`] on.
pub struct Signals(Mutex<signal_hook::iterator::Signals>);

impl Signals {
    /// Starts catching the signals.
    pub fn new() -> Result<Self, CliError> {
        let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(CliError::io("cannot catch signals"))?;
        Ok(Self(Mutex::new(signals)))
    }

    /// Waits for a signal.
    pub fn wait(&self) {
        self.0.lock().forever().next();
    }
}
