//! One HTTP request and its answer: signed, sent on a pooled connection, read within bounds,
//! verified against its checksum. `retry` decides if it is sent again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{self, SignableBody, SignableRequest, SigningSettings};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::DATE;
use hyper::{HeaderMap, Response};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::endpoint::AwsEndpoint;
use super::open_error::{AwsOpenError, with_causes};
use crate::codec::json::edit;
use crate::database::remote::transport;
use crate::model::limits::{BATCH_GET_BYTES_MAX, ITEM_BYTES_MAX, PAGE_BYTES_MAX};

/// The idle time-out of pooled connections: less than that of servers, so that a request rarely
/// meets a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// The connect time-out, as in the AWS SDKs.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(3_100);
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
const CHECKSUM: &str = "x-amz-crc32";
/// The header in which some services name the error.
const ERROR_TYPE: &str = "x-amzn-errortype";
const USER_AGENT: &str = concat!("ddbfs/", env!("CARGO_PKG_VERSION"));

/// Sends requests on pooled connections to an endpoint, straight or by a proxy.
type Route = Box<dyn Fn(hyper::Request<Full<Bytes>>) -> ResponseFuture + Send + Sync>;

/// Chooses the route to an endpoint.
///
/// # Errors
/// `https://` without any root certificates.
fn route(
    endpoint: &AwsEndpoint,
    roots: Option<RootCertStore>,
    mut tcp: HttpConnector,
) -> Result<Route, AwsOpenError> {
    if endpoint.uri().scheme_str() != Some("https") {
        return Ok(client(tcp));
    }
    // Lets `https` URIs through to the TLS layer above.
    tcp.enforce_http(false);
    let builder = match roots {
        None => HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(AwsOpenError::Certificates)?,
        Some(roots) => {
            let config = ClientConfig::builder().with_root_certificates(roots);
            HttpsConnectorBuilder::new().with_tls_config(config.with_no_client_auth())
        }
    };
    let builder = builder.https_only().enable_http1();
    // The environment's HTTPS_PROXY and NO_PROXY decide, as in AWS's own programs.
    let Some(proxy) = Matcher::from_env().intercept(endpoint.uri()) else {
        return Ok(client(builder.wrap_connector(tcp)));
    };
    let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
    if let Some(login) = proxy.basic_auth() {
        tunnel = tunnel.with_auth(login.clone());
    }
    Ok(client(builder.wrap_connector(tunnel)))
}

fn client(connector: impl Connect + Clone + Send + Sync + 'static) -> Route {
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .build(connector);
    Box::new(move |request| client.request(request))
}

/// The connections to one endpoint.
pub struct ConnectionPool {
    route: Route,
    /// The limit of time without a received byte.
    read_timeout: Duration,
}

opaque_debug!(ConnectionPool);

impl ConnectionPool {
    /// Prepares connections; opens none.
    ///
    /// # Errors
    /// `https://` without any root certificates.
    pub fn new(
        endpoint: &AwsEndpoint,
        roots: Option<RootCertStore>,
        timeout: Duration,
    ) -> Result<Self, AwsOpenError> {
        // Half, so that a connection that falls silent leaves time for one more attempt.
        let read_timeout = timeout / 2;
        let mut tcp = HttpConnector::new();
        // A request is written whole: Nagle's algorithm would only delay it.
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT.min(read_timeout)));
        Ok(Self {
            route: route(endpoint, roots, tcp)?,
            read_timeout,
        })
    }

    /// Sends a request and reads its answer, of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// The request was not sent, its answer was lost, or the answer is too long.
    pub async fn send(
        &self,
        request: hyper::Request<Full<Bytes>>,
        bytes_max: usize,
        deadline: Instant,
    ) -> Result<HttpAnswer, SendError> {
        let answered = timeout_at(self.read_deadline(deadline), (self.route)(request))
            .await
            .map_err(|_| self.timeout_error())?;
        let response = answered.map_err(|error| {
            let why = with_causes(&error);
            // Without a connection the service cannot have seen the request; any later failure
            // leaves that open.
            if error.is_connect() {
                SendError::NotSent(why)
            } else {
                SendError::Lost(why)
            }
        })?;
        let (status, checksum) = (response.status().as_u16(), checksum(response.headers()));
        let time = server_time(response.headers());
        let error = response
            .headers()
            .get(ERROR_TYPE)
            .and_then(|name| Some(name.to_str().ok()?.to_owned()));
        let body = self.read(response, bytes_max, deadline).await?;
        match checksum {
            // A damaged answer counts as lost: the service may have executed the request.
            Some(told) if told != Some(crc32fast::hash(&body)) => {
                Err(SendError::Lost("the answer's checksum is wrong".to_owned()))
            }
            _ if status >= 400 => Ok(HttpAnswer {
                status,
                body: with_error_name(error.as_deref(), body),
                time,
            }),
            _ => Ok(HttpAnswer { status, body, time }),
        }
    }

    async fn read(
        &self,
        response: Response<Incoming>,
        bytes_max: usize,
        deadline: Instant,
    ) -> Result<Vec<u8>, SendError> {
        let (mut incoming, mut body) = (response.into_body(), Vec::new());
        let too_long = || {
            SendError::TooLong(format!(
                "the answer is longer than {bytes_max} bytes, as no answer of DynamoDB to this is"
            ))
        };
        let check = |bytes: u64| {
            if bytes > bytes_max as u64 {
                Err(too_long())
            } else {
                Ok(())
            }
        };
        // The stated length is a lower bound of the received one.
        check(incoming.size_hint().lower())?;
        loop {
            let frame = timeout_at(self.read_deadline(deadline), incoming.frame()).await;
            let frame = frame.map_err(|_| {
                SendError::Lost(format!(
                    "the answer ended after {} bytes: no more came in time",
                    body.len()
                ))
            })?;
            let Some(frame) = frame else { return Ok(body) };
            let frame = frame.map_err(|error| SendError::Lost(with_causes(&error)))?;
            // A frame of trailers.
            let Some(bytes) = frame.data_ref() else {
                continue;
            };
            check((body.len() + bytes.len()) as u64)?;
            body.extend_from_slice(bytes);
        }
    }

    /// Returns the deadline for the next bytes.
    fn read_deadline(&self, deadline: Instant) -> Instant {
        deadline.min(Instant::now() + self.read_timeout)
    }

    fn timeout_error(&self) -> SendError {
        SendError::Lost(format!("no word came in {:?}", self.read_timeout))
    }
}

/// Returns the checksum, if the answer has one; `Some(None)` is one that cannot be read.
fn checksum(headers: &HeaderMap) -> Option<Option<u32>> {
    let header = headers.get(CHECKSUM)?;
    Some(header.to_str().ok().and_then(|text| text.parse().ok()))
}

/// Returns the time of the answer by the service's clock.
fn server_time(headers: &HeaderMap) -> Option<SystemTime> {
    let text = headers.get(DATE)?.to_str().ok()?;
    Some(
        jiff::fmt::rfc2822::DateTimeParser::new()
            .parse_timestamp(text)
            .ok()?
            .into(),
    )
}

/// Adds the error's name to the body of a refusal. Some services send it in a header alone:
/// `Name:http://…`, with or without a namespace before it.
fn with_error_name(header: Option<&str>, body: Vec<u8>) -> Vec<u8> {
    let name = header
        .and_then(|header| header.split(':').next()?.rsplit('#').next())
        .map(str::trim)
        .filter(|name| !name.is_empty() && !name.contains(['"', '\\']));
    match (name, members(&body)) {
        (Some(name), None) => {
            let text = String::from_utf8_lossy(&body);
            let refusal = serde_json::json!({ "__type": name, "message": text.trim() });
            refusal.to_string().into_bytes()
        }
        (Some(name), Some(members)) if !members.contains_key("__type") => {
            edit::with_member(&body, "__type", name).unwrap_or(body)
        }
        _ => body,
    }
}

/// Builds and signs the HTTP request; `now` is the time of the signature.
///
/// # Errors
/// The reason why it cannot be signed, as text.
pub fn sign(
    request: &AwsRequest,
    endpoint: &AwsEndpoint,
    identity: &Identity,
    now: SystemTime,
) -> Result<hyper::Request<Full<Bytes>>, String> {
    let (uri, prefix) = endpoint.for_operation(request.operation);
    let target = format!("{prefix}.{}", request.operation);
    let own = [
        ("content-type", CONTENT_TYPE),
        ("x-amz-target", target.as_str()),
    ];
    let parameters = v4::SigningParams::builder()
        .identity(identity)
        .region(&endpoint.region)
        .name("dynamodb")
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| error.to_string())?
        .into();
    let signable = SignableRequest::new(
        "POST",
        uri.to_string(),
        own.iter().copied(),
        SignableBody::Bytes(&request.body),
    );
    let signable = signable.map_err(|error| error.to_string())?;
    let (instructions, _) = http_request::sign(signable, &parameters)
        .map_err(|error| error.to_string())?
        .into_parts();
    let mut builder = hyper::Request::post(uri).header("user-agent", USER_AGENT);
    for (name, value) in own {
        builder = builder.header(name, value);
    }
    let mut signed = builder
        .body(Full::new(request.body.clone()))
        .map_err(|error| error.to_string())?;
    instructions.apply_to_request_http1x(&mut signed);
    Ok(signed)
}

/// The member that makes a transaction idempotent.
pub const IDEMPOTENCY_TOKEN: &str = "ClientRequestToken";
/// The member that makes a failed condition return the item.
pub const RETURN_ON_FAILURE: &str = "ReturnValuesOnConditionCheckFailure";

/// An operation and its request body.
#[derive(Debug, Clone)]
pub struct AwsRequest {
    pub operation: &'static str,
    pub body: Bytes,
}

impl AwsRequest {
    /// Creates a request; a transaction without an idempotency token gets one.
    pub fn new(operation: &'static str, body: &[u8]) -> Self {
        // The token is made once per request, so that its retries carry the same one.
        let is_transaction = matches!(operation, "TransactWriteItems" | "ExecuteTransaction");
        let tokened = if is_transaction {
            edit::with_member(body, IDEMPOTENCY_TOKEN, &new_token())
        } else {
            None
        };
        Self {
            operation,
            body: tokened.unwrap_or_else(|| body.to_vec()).into(),
        }
    }

    /// Returns the size limit of the answer in bytes. Its items, a page of 1 MB or a batch of 16
    /// MB, may be ten times as long in JSON: `{"S":""},` stands for one byte.
    pub fn answer_bytes_max(&self) -> usize {
        let is_of_many = ["Batch", "Transact", "Execute"]
            .iter()
            .any(|word| self.operation.starts_with(word));
        if is_of_many {
            10 * BATCH_GET_BYTES_MAX
        } else {
            10 * (PAGE_BYTES_MAX + ITEM_BYTES_MAX)
        }
    }

    /// True if the request changes nothing.
    pub fn is_read(&self) -> bool {
        transport::is_read(self.operation)
    }

    /// True if the request is idempotent.
    pub fn is_repeatable(&self) -> bool {
        const WRITES: [&str; 5] = [
            "PutItem",
            "DeleteItem",
            "BatchWriteItem",
            "TransactWriteItems",
            "ExecuteTransaction",
        ];
        self.is_read() || WRITES.contains(&self.operation)
    }

    /// Makes a failed condition return the item from now on; returns false if it does already, or
    /// if there is no condition.
    pub fn return_item_on_failure(&mut self) -> bool {
        let is_conditional =
            || members(&self.body).is_some_and(|body| body.contains_key("ConditionExpression"));
        // Of the retried writes only these can have a condition: a transaction is protected by its
        // token.
        if !matches!(self.operation, "PutItem" | "DeleteItem") || !is_conditional() {
            return false;
        }
        let shown = edit::with_member(&self.body, RETURN_ON_FAILURE, "ALL_OLD");
        shown.map(|body| self.body = body.into()).is_some()
    }
}

/// Parses the members of a body.
pub fn members(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

/// Returns a unique token: 128 random bits of the system.
fn new_token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Returns 64 random bits.
pub fn random() -> u64 {
    // The standard library keys each `RandomState` differently, from the system's random numbers.
    RandomState::new().hash_one(0)
}

/// A received answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: Vec<u8>,
    /// The time by the service's clock, if the answer has it.
    pub time: Option<SystemTime>,
}

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendError {
    /// The request did not reach the service.
    NotSent(String),
    /// The request may have reached the service and been executed.
    Lost(String),
    /// The service answered with more than is accepted; a retry would too.
    TooLong(String),
}
