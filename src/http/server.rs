//! The HTTP server: its options, the listener with the accept loop, the threads and the shutdown.
//! `connections` limits connections, `route` handles their requests.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

use super::connections::{ConnectionSlot, Connections};
use super::connections::{TimeoutStream, Timeouts};
use super::dispatch::LongRequests;
use super::origin::OriginPolicy;
use super::peer::{self, PeerError};
use super::reply::RequestIds;
use super::route::{HEAD_BYTES_MAX, HttpService};
use super::sigv4::{Credentials, Verifier};
use crate::database::Database;
use crate::model::clock::{Clock, SystemClock};
use crate::protocol::slow_log::SlowLog;
use crate::store::budget::MemoryBudgets;

/// The number of threads that answer requests: as many as processors, within this range.
const WORKERS: std::ops::RangeInclusive<usize> = 2..=8;
/// The pause after a failed accept (no descriptors left), in which the listener would spin
/// otherwise.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The options of a server.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub addr: SocketAddr,
    /// True if the address may be other than loopback: every client that reaches it reads and
    /// writes everything.
    pub allow_non_loopback: bool,
    /// True if processes of every user of this machine may use a loopback address without a
    /// signature. Otherwise only those of this process's user and of root may.
    pub allow_users: bool,
    /// The allowed host names beside the loopback ones, without port.
    pub allowed_hosts: Vec<String>,
    /// The allowed origins of web pages beside those from loopback: `https://example.org`.
    pub allowed_origins: Vec<String>,
    /// The key with which requests must be signed; without it any signature is accepted.
    pub credentials: Option<Credentials>,
    /// True if the validation texts of PutItem, UpdateItem, DeleteItem and Query lack `1 validation
    /// error detected: ` before those about values and expressions, as the service sent them until
    /// the middle of 2026 (docs/dynamodb.md 3.2).
    pub bare_texts: bool,
    /// The memory of requests and answers.
    pub memory: MemoryBudgets,
    pub timeouts: Timeouts,
    /// The clock that decides which signatures are current.
    pub clock: Arc<dyn Clock>,
    /// The log of slow requests, shared with the mount that shows it.
    pub slow_log: Option<Arc<SlowLog>>,
}

impl HttpOptions {
    /// Creates options for loopback only, without other users, foreign hosts or origins, with any
    /// signature.
    #[must_use]
    pub fn new(addr: SocketAddr) -> Self {
        Self {
            addr,
            allow_non_loopback: false,
            allow_users: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            credentials: None,
            bare_texts: false,
            memory: MemoryBudgets::of_process(),
            timeouts: Timeouts::default(),
            clock: Arc::new(SystemClock),
            slow_log: None,
        }
    }
}

/// The HTTP front end.
#[derive(Debug)]
pub struct Server;

/// A running server. Dropped without [`RunningServer::shutdown`], it breaks off its connections.
pub struct RunningServer {
    addr: SocketAddr,
    stop: watch::Sender<bool>,
    connections: Arc<Connections>,
    shutdown_timeout: Duration,
    accept_thread: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
}

opaque_debug!(RunningServer);

/// The number of connections that wait to be accepted. Linux drops the SYN of more, and a client
/// sends it again after a second: std's 128 are too few for a burst of a client with many threads.
const BACKLOG: i32 = 1024;

/// Binds a socket that listens and does not block.
fn listen(addr: SocketAddr) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    // As std's listener: a server that was just stopped leaves its port in TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

impl Server {
    /// Listens and serves on threads of its own.
    ///
    /// # Errors
    /// An address that is not loopback without the option for it; errors of the system for the
    /// address.
    pub fn start(options: HttpOptions, database: Arc<dyn Database>) -> io::Result<RunningServer> {
        let loopback = options.addr.ip().is_loopback();
        if !loopback && !options.allow_non_loopback {
            let text = format!(
                "{} is not a loopback address: everybody who reaches it could read and write all tables; \
                 ask for it explicitly if that is meant",
                options.addr
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        // Bound here and not by the accept loop, so that an address in use is an error of the
        // start.
        let listener = listen(options.addr)?;
        let addr = listener.local_addr()?;
        // A key opens the port to its holders; an address of other machines opens it to all.
        let checks_users = loopback && options.credentials.is_none() && !options.allow_users;
        let origin_policy = OriginPolicy {
            hosts: options.allowed_hosts,
            origins: options.allowed_origins,
            any_address: !loopback,
        };
        let verifier = options
            .credentials
            .map(|credentials| Verifier::new(credentials, options.clock));
        let (timeouts, connections) = (options.timeouts, Connections::new());
        let service = Arc::new(HttpService {
            database,
            origin_policy,
            memory: options.memory,
            timeouts,
            connections: Arc::clone(&connections),
            long_requests: LongRequests::default(),
            ids: RequestIds::new(seed()),
            bare_texts: options.bare_texts,
            verifier,
            slow_log: options.slow_log,
        });
        let processors = std::thread::available_parallelism().map_or(*WORKERS.start(), usize::from);
        let workers = processors.clamp(*WORKERS.start(), *WORKERS.end());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_name("ddbfs-http")
            .enable_all()
            .build()?;
        let (stop, stopped) = watch::channel(false);
        let acceptor = AcceptLoop {
            checks_users,
            service,
            runtime: runtime.handle().clone(),
        };
        let acceptor = Some(acceptor.spawn(listener, stopped)?);
        Ok(RunningServer {
            addr,
            stop,
            connections,
            shutdown_timeout: timeouts.shutdown,
            accept_thread: acceptor,
            runtime: Some(runtime),
        })
    }
}

impl RunningServer {
    /// Returns the address; the port is the real one if 0 was requested.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// Accepts nothing more, lets requests in progress end, for at most [`Timeouts::shutdown`], and
    /// returns.
    pub fn shutdown(mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        // The accept loop holds a receiver; without one it has ended.
        let _ = self.stop.send(true);
        if self
            .accept_thread
            .take()
            .is_some_and(|acceptor| acceptor.join().is_err())
        {
            log::error!("the HTTP accept thread ended by a panic");
        }
        let (gone, patience) = (self.connections.all_closed(), self.shutdown_timeout);
        if runtime
            .block_on(async { tokio::time::timeout(patience, gone).await })
            .is_err()
        {
            log::warn!(
                "HTTP requests did not end within {patience:?}; their connections are closed"
            );
        }
        runtime.shutdown_timeout(patience);
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Returns a seed that differs between runs, so that request ids do.
fn seed() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    now.as_secs().rotate_left(32)
        ^ u64::from(now.subsec_nanos())
        ^ u64::from(std::process::id()).rotate_left(48)
}

/// The accept loop.
struct AcceptLoop {
    /// True if the user of each peer is checked.
    checks_users: bool,
    service: Arc<HttpService>,
    /// The runtime that serves the connections.
    runtime: Handle,
}

impl AcceptLoop {
    /// Accepts connections on a thread of its own: the serving threads may all block, as one that
    /// is alone does for its own write.
    fn spawn(
        self,
        listener: StdListener,
        stopped: watch::Receiver<bool>,
    ) -> io::Result<JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = {
            // The listener belongs to the runtime in which it is created.
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let run = move || runtime.block_on(self.run(&listener, stopped));
        std::thread::Builder::new()
            .name("ddbfs-accept".to_owned())
            .spawn(run)
    }

    async fn run(self, listener: &TcpListener, mut stopped: watch::Receiver<bool>) {
        loop {
            let next = async {
                let (stream, stranger) = self.accept_next(listener).await;
                self.service
                    .connections
                    .acquire(stranger.is_none())
                    .await
                    .map(|slot| (stream, stranger, slot))
            };
            let (stream, stranger, slot) = tokio::select! {
                Some(next) = next => next,
                () = wait_for_stop(&mut stopped) => return,
                else => return,
            };
            self.runtime.spawn(serve_connection(
                stream,
                Arc::clone(&self.service),
                stranger,
                slot,
                stopped.clone(),
            ));
        }
    }

    /// Accepts the next connection; returns it with the reason why it is not served, if any.
    async fn accept_next(&self, listener: &TcpListener) -> (StdStream, Option<PeerError>) {
        loop {
            let accepted = listener.accept().await;
            let error = match accepted
                .and_then(|(stream, peer)| Ok((stream.local_addr()?, stream.into_std()?, peer)))
            {
                Ok((local, stream, peer)) => {
                    return (
                        stream,
                        self.checks_users
                            .then(|| peer::check(peer, local).err())
                            .flatten(),
                    );
                }
                Err(error) => error,
            };
            log::warn!("HTTP accept failed: {error}");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// Waits for the server's shutdown.
async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a shutdown too.
    let _ = stopped.wait_for(|&stopped| stopped).await;
}

async fn serve_connection(
    stream: StdStream,
    service: Arc<HttpService>,
    stranger: Option<PeerError>,
    slot: ConnectionSlot,
    mut stopped: watch::Receiver<bool>,
) {
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    // Answers are written whole; Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(TimeoutStream::new(
        stream,
        slot.phase.clone(),
        service.timeouts,
        service.memory.answers.clone(),
    ));
    let is_served = stranger.is_none();
    let handler = service_fn(|request| {
        let (service, phase, stranger) =
            (Arc::clone(&service), slot.phase.clone(), stranger.clone());
        async move { Ok::<_, Infallible>(service.answer(request, &phase, stranger.as_ref()).await) }
    });
    // Twice the limit: `route` answers a head somewhat too large, hyper a huge one.
    let mut builder = http1::Builder::new();
    // A client may close its sending side after a request (`nc -N`, HTTP/1.0) and still gets the
    // answer. hyper's own time-out of heads is off: TimeoutStream has one for heads and another for
    // pauses.
    builder
        .max_buf_size(2 * HEAD_BYTES_MAX)
        .header_read_timeout(None)
        .half_close(true)
        .keep_alive(is_served);
    let mut serving = std::pin::pin!(builder.serve_connection(io, handler));
    let result = tokio::select! {
        result = serving.as_mut() => Some(result),
        () = wait_for_stop(&mut stopped) => None,
        () = slot.evicted() => None,
    };
    let result = match result {
        // No request has begun, so no answer is owed.
        None if slot.phase.is_new() => return,
        Some(result) => result,
        None => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = result {
        log::debug!("HTTP connection ended: {error}");
    }
}
