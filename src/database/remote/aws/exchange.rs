//! One request and its answer: signed, sent on a connection that is kept, read within bounds, its checksum held against it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{self, SignableBody, SignableRequest, SigningSettings};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::DATE;
use hyper::{HeaderMap, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::place::{OpenError, Place};
use crate::database::remote::service;
use crate::model::limits::{BATCH_GET_BYTES_MAX, ITEM_BYTES_MAX, PAGE_BYTES_MAX};

/// Less than servers wait for the next request, so that seldom one is sent into a connection that just ends.
const IDLE: Duration = Duration::from_secs(20);
/// For a connection; the AWS SDKs' own.
const CONNECT: Duration = Duration::from_millis(3_100);
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
const CHECKSUM: &str = "x-amz-crc32";
/// Where some errors have their name.
const ERROR_TYPE: &str = "x-amzn-errortype";
const PROGRAM: &str = concat!("ddbfs/", env!("CARGO_PKG_VERSION"));

/// A client whose connections are made so.
type Over<C> = Client<HttpsConnector<C>, Full<Bytes>>;

/// How a place is reached.
#[derive(Debug)]
enum Way {
    Straight(Over<HttpConnector>),
    /// Through a proxy that is asked to CONNECT.
    Tunnel(Over<Tunnel<HttpConnector>>),
}

impl Way {
    /// # Errors
    /// `https://` without certificates of authorities.
    fn to(place: &Place, tcp: HttpConnector) -> Result<Self, OpenError> {
        let builder = HttpsConnectorBuilder::new();
        if !place.is_encrypted() {
            return Ok(Self::Straight(client(
                builder
                    .with_webpki_roots()
                    .https_or_http()
                    .enable_http1()
                    .wrap_connector(tcp),
            )));
        }
        let builder = builder
            .with_native_roots()
            .map_err(OpenError::Certificates)?
            .https_only()
            .enable_http1();
        let Some(proxy) = Matcher::from_env().intercept(place.uri()) else {
            return Ok(Self::Straight(client(builder.wrap_connector(tcp))));
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
        if let Some(login) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(login.clone());
        }
        Ok(Self::Tunnel(client(builder.wrap_connector(tunnel))))
    }

    fn request(&self, request: hyper::Request<Full<Bytes>>) -> ResponseFuture {
        match self {
            Self::Straight(client) => client.request(request),
            Self::Tunnel(client) => client.request(request),
        }
    }
}

fn client<C>(connector: HttpsConnector<C>) -> Over<C>
where
    HttpsConnector<C>: hyper_util::client::legacy::connect::Connect + Clone,
{
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector)
}

/// The connections to one place.
#[derive(Debug)]
pub struct Connections {
    way: Way,
    /// So long may pass without a byte.
    silence: Duration,
}

impl Connections {
    /// # Errors
    /// `https://` without certificates of authorities.
    pub fn new(place: &Place, timeout: Duration) -> Result<Self, OpenError> {
        let silence = timeout / 2;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT.min(silence)));
        Ok(Self {
            way: Way::to(place, tcp)?,
            silence,
        })
    }

    /// Sends a request and reads its answer, of so many bytes at most.
    ///
    /// # Errors
    /// There is none.
    pub async fn send(
        &self,
        request: hyper::Request<Full<Bytes>>,
        bytes_max: usize,
        deadline: Instant,
    ) -> Result<Answer, Fault> {
        let answered = timeout_at(self.patience(deadline), self.way.request(request))
            .await
            .map_err(|_| self.silent())?;
        let response = answered.map_err(|error| {
            let why = with_cause(&error);
            if error.is_connect() {
                Fault::Unsent(why)
            } else {
                Fault::Lost(why)
            }
        })?;
        let (status, checksum) = (response.status().as_u16(), checksum(response.headers()));
        let time = time(response.headers());
        let error = response
            .headers()
            .get(ERROR_TYPE)
            .and_then(|name| Some(name.to_str().ok()?.to_owned()));
        let body = self.read(response, bytes_max, deadline).await?;
        match checksum {
            Some(told) if told != crc32fast::hash(&body) => {
                Err(Fault::Lost("the answer's checksum is wrong".to_owned()))
            }
            _ if status >= 400 => Ok(Answer {
                status,
                body: named(error.as_deref(), body),
                time,
            }),
            _ => Ok(Answer { status, body, time }),
        }
    }

    async fn read(
        &self,
        response: Response<Incoming>,
        bytes_max: usize,
        deadline: Instant,
    ) -> Result<Vec<u8>, Fault> {
        let (mut incoming, mut body) = (response.into_body(), Vec::new());
        let too_long = || {
            Fault::TooLong(format!(
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
        // What it says of its length is at least what comes.
        check(incoming.size_hint().lower())?;
        loop {
            let frame = timeout_at(self.patience(deadline), incoming.frame()).await;
            let frame = frame.map_err(|_| {
                Fault::Lost(format!(
                    "the answer ended after {} bytes: no more came in time",
                    body.len()
                ))
            })?;
            let Some(frame) = frame else { return Ok(body) };
            let frame = frame.map_err(|error| Fault::Lost(with_cause(&error)))?;
            let Some(bytes) = frame.data_ref() else {
                continue;
            };
            check((body.len() + bytes.len()) as u64)?;
            body.extend_from_slice(bytes);
        }
    }

    /// Until when the next bytes may come.
    fn patience(&self, deadline: Instant) -> Instant {
        deadline.min(Instant::now() + self.silence)
    }

    fn silent(&self) -> Fault {
        Fault::Lost(format!("no word came in {:?}", self.silence))
    }
}

fn checksum(headers: &HeaderMap) -> Option<u32> {
    headers.get(CHECKSUM)?.to_str().ok()?.parse().ok()
}

/// When the service answered, by its own clock.
fn time(headers: &HeaderMap) -> Option<SystemTime> {
    let text = headers.get(DATE)?.to_str().ok()?;
    Some(
        jiff::fmt::rfc2822::DateTimeParser::new()
            .parse_timestamp(text)
            .ok()?
            .into(),
    )
}

/// The body of a refusal with its name in it, which some services tell in a header alone: `Name:http://…`, a namespace before it or not.
fn named(header: Option<&str>, body: Vec<u8>) -> Vec<u8> {
    let name = header
        .and_then(|header| header.split(':').next()?.rsplit('#').next())
        .map_or("", str::trim);
    let members = object(&body);
    if name.is_empty()
        || members
            .as_ref()
            .is_some_and(|members| members.contains_key("__type"))
    {
        return body;
    }
    let text = || {
        [(
            "message".to_owned(),
            String::from_utf8_lossy(&body).trim().into(),
        )]
        .into_iter()
        .collect()
    };
    let mut members = members.unwrap_or_else(text);
    members.insert("__type".to_owned(), name.into());
    serde_json::to_vec(&members).unwrap_or(body)
}

/// What hyper says, and what caused it, which says more.
fn with_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    let (outer, inner) = (error.to_string(), innermost.to_string());
    if outer == inner {
        outer
    } else {
        format!("{outer}: {inner}")
    }
}

/// The request as it goes out, signed at `now`.
///
/// # Errors
/// It cannot be signed.
pub fn sign(
    request: &Request,
    place: &Place,
    identity: &Identity,
    now: SystemTime,
) -> Result<hyper::Request<Full<Bytes>>, String> {
    let (uri, prefix) = place.of_operation(request.operation);
    let target = format!("{prefix}.{}", request.operation);
    let own = [
        ("content-type", CONTENT_TYPE),
        ("x-amz-target", target.as_str()),
    ];
    let parameters = v4::SigningParams::builder()
        .identity(identity)
        .region(&place.region)
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
    let mut builder = hyper::Request::post(uri).header("user-agent", PROGRAM);
    for (name, value) in own {
        builder = builder.header(name, value);
    }
    let mut signed = builder
        .body(Full::new(request.body.clone()))
        .map_err(|error| error.to_string())?;
    instructions.apply_to_request_http1x(&mut signed);
    Ok(signed)
}

/// What makes a transaction one that is done once.
pub const TOKEN: &str = "ClientRequestToken";
/// With which a failed condition shows the item.
pub const ON_FAILURE: &str = "ReturnValuesOnConditionCheckFailure";
/// Of an answer that is not DynamoDB's.
const SHOWN_CHARACTERS_MAX: usize = 200;
/// Of what a service says of a refusal: its own texts are shorter, an item that it repeats too.
const WORDS_CHARACTERS_MAX: usize = 4 * 1024;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub operation: &'static str,
    pub body: Bytes,
}

impl Request {
    /// With a token, if it is a transaction that has none.
    pub fn new(operation: &'static str, body: &[u8]) -> Self {
        let is_transaction = matches!(operation, "TransactWriteItems" | "ExecuteTransaction");
        let tokened = if is_transaction {
            with_member(body, TOKEN, || token().into())
        } else {
            None
        };
        Self {
            operation,
            body: tokened.unwrap_or_else(|| Bytes::copy_from_slice(body)),
        }
    }

    /// Bytes of its answer at most. What there is of items in it, a page of 1 MB or a batch of 16, may be ten times as long as JSON:
    /// `{"S":""},` is a byte.
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

    /// Does it leave everything as it is?
    pub fn is_read(&self) -> bool {
        service::is_read(self.operation)
    }

    /// Does it do the same when it is done twice?
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

    /// From now on a failed condition shows the item; false when it does so already, or there is no condition.
    pub fn show_item(&mut self) -> bool {
        let is_conditional =
            || object(&self.body).is_some_and(|body| body.contains_key("ConditionExpression"));
        if !matches!(self.operation, "PutItem" | "DeleteItem") || !is_conditional() {
            return false;
        }
        let shown = with_member(&self.body, ON_FAILURE, || "ALL_OLD".into());
        shown.map(|body| self.body = body).is_some()
    }
}

/// The members of a body.
pub fn object(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

/// An object with one member more, if it lacks that.
fn with_member(body: &[u8], name: &str, value: impl FnOnce() -> Value) -> Option<Bytes> {
    let mut members = object(body)?;
    if members.contains_key(name) {
        return None;
    }
    members.insert(name.to_owned(), value());
    serde_json::to_vec(&members).ok().map(Bytes::from)
}

/// Nobody else's: 128 bits from the system's keys.
fn token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Of all its bits.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// By the service's clock, if it tells.
    pub time: Option<SystemTime>,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nobody saw the request.
    Unsent(String),
    /// Somebody may have, and done it.
    Lost(String),
    /// Somebody did, and answered more than is taken: another time it would be as much.
    TooLong(String),
}

/// What a refusal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The exception without its namespace; empty where the answer is not DynamoDB's.
    pub exception: String,
    pub message: String,
}

/// Reads a refusal.
pub fn words(answer: &Answer) -> Words {
    let json: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let member = |name: &str| {
        Some(
            json.as_ref()?
                .get(name)?
                .as_str()?
                .chars()
                .take(WORDS_CHARACTERS_MAX)
                .collect::<String>(),
        )
    };
    let Some(name) = member("__type") else {
        let text: String = String::from_utf8_lossy(&answer.body)
            .trim()
            .chars()
            .take(SHOWN_CHARACTERS_MAX)
            .collect();
        let message = format!(
            "the answer of status {} is not DynamoDB's: {text:?}",
            answer.status
        );
        return Words {
            exception: String::new(),
            message,
        };
    };
    let exception = name.rsplit('#').next().unwrap_or_default().to_owned();
    Words {
        exception,
        message: member("message")
            .or_else(|| member("Message"))
            .unwrap_or_default(),
    }
}
