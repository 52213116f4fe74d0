//! The handler of a request: the way from an HTTP request to its reply, with the checks in the
//! service's order (docs/dynamodb.md 1.5). It calls `origin`, `body`, `auth`, `sigv4`, `dispatch`
//! and `reply`.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_ENCODING,
    CONTENT_TYPE, DATE, EXPECT, HOST, HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};

use super::auth::{self, AuthError, SignatureParts};
use super::body::{self, BodyError};
use super::compression::{self, Coding, ContentEncoding, InflateError};
use super::connections::{ConnectionPhase, Connections, Timeouts};
use super::dispatch::{self, LongRequests, StartedRequest};
use super::origin::{OriginPolicy, RequestHosts};
use super::peer::PeerError;
use super::reply::{
    self, AMZ_JSON, HttpFailure, HttpReply, JSON, PLAIN, ReplyBody, ReplyGuard, RequestIds, XML,
};
use super::sigv4::{SignedRequest, Verifier};
use crate::codec::json::document::{self, Document};
use crate::codec::metrics::prometheus;
use crate::codec::wire::{UnitCounter, WireError};
use crate::database::Database;
use crate::model::api::operation::OperationKind;
use crate::model::arn::REGION;
use crate::protocol::slow_log::{RequestTrace, SlowLog};
use crate::protocol::{self, Operation, memory};
use crate::store::budget::{MEMORY_WAIT, MemoryBudgets, Permit};

/// The default path of Prometheus.
const METRICS_PATH: &str = "/metrics";
/// The least reservation that is kept until the answer is sent; a smaller one is released at once.
const RELEASED_BYTES_MIN: usize = 256 * 1024;
/// The size limit of request line and headers (docs/dynamodb.md 1.1).
pub const HEAD_BYTES_MAX: usize = 16 * 1024;

const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,Date",
);
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("172800");
const X_AMZ_TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const X_AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");

/// The state that all requests share.
pub struct HttpService {
    pub database: Arc<dyn Database>,
    pub origin_policy: OriginPolicy,
    pub memory: MemoryBudgets,
    pub timeouts: Timeouts,
    pub connections: Arc<Connections>,
    pub long_requests: LongRequests,
    pub ids: RequestIds,
    /// True if validation texts have no count before them.
    pub bare_texts: bool,
    /// The verifier of signatures, if there is a key.
    pub verifier: Option<Verifier>,
    /// The log of slow requests, if there is a place to read it.
    pub slow_log: Option<Arc<SlowLog>>,
}

opaque_debug!(HttpService);

impl HttpService {
    /// Answers one request, whatever happens. `stranger` is the reason to refuse a peer that is not
    /// served.
    pub async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        phase: &ConnectionPhase,
        stranger: Option<&PeerError>,
    ) -> Response<ReplyBody> {
        let mut held = ReplyGuard {
            permit: Permit::default(),
            phase: phase.begin_request(),
        };
        let (head, incoming) = request.into_parts();
        let head = Arc::new(head);
        let has_origin = head.headers.contains_key(ORIGIN);
        let mut reply = match self.admit(&head, stranger) {
            Err(refusal) => refusal,
            Ok(()) => {
                let mut reply = self.route(&head, incoming, &mut held.permit).await;
                if has_origin {
                    // `*` is the service's own answer; `admit` decided which pages may ask.
                    reply
                        .headers
                        .push((ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")));
                    reply
                        .headers
                        .push((ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS));
                }
                reply
            }
        };
        if head.method == Method::HEAD {
            // Emptied before the headers are made, which state the length and checksum of the body
            // sent.
            reply.body = Vec::new();
        }
        if reply
            .reserve(&mut held.permit, &self.memory.answers)
            .is_err()
        {
            reply = reply::body_reply(BodyError::Busy);
        }
        let accepted = compression::accepted_coding(header(&head, &ACCEPT_ENCODING));
        reply.into_response(&self.ids, held, accepted)
    }

    /// Checks the peer, the size of the head, the transfer coding, `Host` and `Origin`, before
    /// anything else of the request.
    fn admit(&self, head: &Parts, stranger: Option<&PeerError>) -> Result<(), HttpReply> {
        if let Some(stranger) = stranger {
            return Err(plain_reply(StatusCode::FORBIDDEN, &format!("{stranger}\n")));
        }
        let fields: usize = head
            .headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        let target = head
            .uri
            .path_and_query()
            .map_or(0, |target| target.as_str().len());
        if fields + target > HEAD_BYTES_MAX {
            return Err(plain_reply(
                StatusCode::BAD_REQUEST,
                "The request line and headers are larger than 16 KB.",
            ));
        }
        // hyper decodes only chunked: another coding would be taken for the plain body.
        if head
            .headers
            .get_all(TRANSFER_ENCODING)
            .iter()
            .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
        {
            return Err(plain_reply(
                StatusCode::NOT_IMPLEMENTED,
                "Transfer-Encoding can only be chunked; compress with Content-Encoding.",
            ));
        }
        let hosts = RequestHosts {
            target: head.uri.host(),
            headers: header_values(head, &HOST),
        };
        self.origin_policy
            .check(&hosts, &header_values(head, &ORIGIN))
            .map_err(|refused| plain_reply(refused.status(), &refused.to_string()))
    }

    async fn route(
        self: &Arc<Self>,
        head: &Arc<Parts>,
        incoming: Incoming,
        permit: &mut Permit,
    ) -> HttpReply {
        if head.method == Method::OPTIONS && head.headers.contains_key(ORIGIN) {
            return preflight(head);
        }
        if head.method == Method::GET && head.uri.path() == "/" {
            // The trailing blank is in the service's own answer.
            return plain_reply(
                StatusCode::OK,
                &format!("healthy: dynamodb.{REGION}.amazonaws.com "),
            );
        }
        if head.method == Method::GET && head.uri.path() == METRICS_PATH {
            return self.metrics();
        }
        if head.method != Method::POST || head.uri.path() != "/" {
            return not_found();
        }
        // The body comes before its type: without a body, any type is accepted.
        let waits = head.headers.contains_key(EXPECT);
        let (sent, _held) =
            match body::read(incoming, self.timeouts, &self.memory.bodies, waits).await {
                Ok(read) => read,
                Err(error) => return reply::body_reply(error),
            };
        let Some(content_type) = content_type(head, !sent.is_empty()) else {
            return not_found();
        };
        let coding = match compression::content_encoding(header(head, &CONTENT_ENCODING)) {
            ContentEncoding::Identity => None,
            ContentEncoding::Unknown => {
                return reply::failure_reply(&HttpFailure::ContentEncoding, None, content_type);
            }
            ContentEncoding::Coded(coding) => Some(coding),
        };
        self.call(head, RequestBody { sent, coding }, content_type, permit)
            .await
    }

    /// Counts a request that is refused here and so never reaches the database, which counts its
    /// own refusals.
    fn count_refusal(&self, failure: &HttpFailure) {
        let is_refused_here = matches!(
            failure,
            HttpFailure::Auth(_) | HttpFailure::Protocol(protocol::RequestError::Wire(_))
        );
        if let Some(layout) = self.database.layout().filter(|_| is_refused_here) {
            layout.count_user_error();
        }
    }

    /// Answers Prometheus. It cannot sign requests, so there are no metrics where requests must be
    /// signed.
    fn metrics(&self) -> HttpReply {
        if self.verifier.is_some() {
            return plain_reply(
                StatusCode::FORBIDDEN,
                "With --auth there are no metrics here; they are in the mount's .ddb/stats.prom.
",
            );
        }
        let Some(layout) = self.database.layout() else {
            return not_found();
        };
        // Reads the metrics of every table; the runtime moves the other connections to another
        // thread.
        match tokio::task::block_in_place(|| layout.all_metrics()) {
            Ok(metrics) => plain_reply(
                StatusCode::OK,
                &(prometheus::render(&metrics) + &self.cache_metrics()),
            ),
            Err(error) => plain_reply(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    fn cache_metrics(&self) -> String {
        let Some(counters) = self.database.cache_counters() else {
            return String::new();
        };
        prometheus::render_cache(&[
            ("item", counters.item_hits, counters.item_misses),
            ("query", counters.query_hits, counters.query_misses),
        ])
    }

    /// Answers a request of the API proper: from here on every answer is JSON.
    async fn call(
        self: &Arc<Self>,
        head: &Arc<Parts>,
        body: RequestBody,
        content_type: HeaderValue,
        permit: &mut Permit,
    ) -> HttpReply {
        let started = log::log_enabled!(log::Level::Debug).then(Instant::now);
        let operation = operation_of(header(head, &X_AMZ_TARGET));
        let trace = self
            .slow_log
            .as_ref()
            .map(|_| Arc::new(RequestTrace::start()));
        let outcome = catch_panic(self.run(head, body, operation, permit, trace.clone())).await;
        if let (Some(log), Some(trace)) = (&self.slow_log, trace) {
            let result = match &outcome {
                Ok(_) => "OK",
                Err(HttpFailure::Protocol(error)) => error.exception(),
                Err(_) => "refused",
            };
            trace.end(
                log,
                operation.map_or("-", |operation| operation.name),
                result,
            );
        }
        let reply = match outcome {
            Ok(body) => HttpReply::new(StatusCode::OK, content_type, body),
            Err(failure) => {
                self.count_refusal(&failure);
                // A failure without its operation has no prefix.
                reply::failure_reply(
                    &failure,
                    operation.filter(|_| !self.bare_texts),
                    content_type,
                )
            }
        };
        if let Some(started) = started {
            let name = operation.map_or("-", |operation| operation.name);
            log::debug!(
                "{name} {} in {:?}",
                reply.status.as_u16(),
                started.elapsed()
            );
        }
        reply
    }

    /// Runs a request here, or on another thread when there is memory for it.
    async fn run(
        self: &Arc<Self>,
        head: &Arc<Parts>,
        body: RequestBody,
        operation: Option<&'static Operation>,
        permit: &mut Permit,
        trace: Option<Arc<RequestTrace>>,
    ) -> Result<Vec<u8>, HttpFailure> {
        let is_coded = body.coding.is_some();
        let is_short = LongRequests::is_short(operation, &body.sent, is_coded);
        let is_read = operation.is_some_and(|operation| operation.kind == OperationKind::Read);
        let of = if is_short && is_read {
            &self.memory.short_reads
        } else {
            &self.memory.requests
        };
        let needed = match memory::request_bytes(operation, &body.sent, is_coded) {
            // Accounted with the connection.
            needed if is_short && needed < memory::ITEM_BYTES => 0,
            needed if is_short => needed.min(memory::ITEM_BYTES),
            needed => needed,
        };
        let mut reserved = of
            .wait(needed, MEMORY_WAIT)
            .await
            .map_err(|_| HttpFailure::Body(BodyError::Busy))?;
        let of_body = memory::parsed_bytes(body.sent.len(), is_coded);
        let begun = if is_short {
            self.begin(
                head,
                body,
                operation,
                self.connections.is_single(),
                trace.as_deref(),
            )
        } else {
            let (service, head) = (Arc::clone(self), Arc::clone(head));
            let begin = move || service.begin(&head, body, operation, true, trace.as_deref());
            self.long_requests
                .run(begin)
                .await
                .unwrap_or(Err(HttpFailure::Panic))
        };
        let answer = match begun {
            Ok(begun) => begun.finish().await.map_err(HttpFailure::from),
            Err(failure) => Err(failure),
        };
        // The read data is about as large as the answer: its memory is released at once if it is
        // little.
        let taken = of_body
            + answer
                .as_ref()
                .map_or(0, |answer| memory::READ_FACTOR * answer.capacity());
        reserved.shrink(if taken < RELEASED_BYTES_MIN { 0 } else { taken });
        // The share of short reads serves only them: their unsent answers are accounted among the
        // answers.
        if !(is_short && is_read) {
            *permit = reserved;
        }
        answer
    }

    /// Starts the operation after the checks of signature, JSON, target and object. No body is
    /// parsed before its sender is known.
    fn begin(
        &self,
        head: &Parts,
        body: RequestBody,
        operation: Option<&'static Operation>,
        may_wait: bool,
        trace: Option<&RequestTrace>,
    ) -> Result<StartedRequest, HttpFailure> {
        if let Err(error) = self.authenticate(head, &body.sent) {
            return Err(body
                .early_failure(operation)
                .unwrap_or(HttpFailure::Auth(error)));
        }
        let text = body.text()?;
        let json = match text.is_empty() {
            true => None,
            false => Some(Document::parse(text).map_err(|_| WireError::NotAnObject)?),
        };
        let operation = operation.ok_or(protocol::RequestError::UnknownOperation)?;
        let json = json
            .filter(|json| json.root().is_object())
            .ok_or(WireError::NotAnObject)?;
        let host = header(head, &HOST).unwrap_or("localhost");
        if let Some(trace) = trace {
            trace.note_names(json.root());
        }
        Ok(dispatch::start(
            operation,
            json,
            &self.database,
            host,
            may_wait,
            trace.map_or(&UnitCounter::default(), |trace| &trace.units),
        )?)
    }

    fn authenticate(&self, head: &Parts, sent: &[u8]) -> Result<(), AuthError> {
        let query = head.uri.query().unwrap_or_default();
        let has_date = head.headers.contains_key(X_AMZ_DATE) || head.headers.contains_key(DATE);
        auth::check(&SignatureParts {
            header: header(head, &AUTHORIZATION),
            query,
            has_date,
        })?;
        let Some(verifier) = &self.verifier else {
            return Ok(());
        };
        let method = head.method.as_str();
        let signed = SignedRequest {
            method,
            path: head.uri.path(),
            query,
            headers: &head.headers,
            body: sent,
        };
        Ok(verifier.check(&signed)?)
    }
}

/// A request's body; the signature covers the bytes as sent.
struct RequestBody {
    sent: Bytes,
    coding: Option<Coding>,
}

impl RequestBody {
    fn text(self) -> Result<Vec<u8>, HttpFailure> {
        let Some(coding) = self.coding else {
            return Ok(Vec::from(self.sent));
        };
        compression::decompress(coding, &self.sent).map_err(|error| match error {
            InflateError::Broken => HttpFailure::Inflate,
            InflateError::TooLarge => HttpFailure::Body(BodyError::TooLarge),
        })
    }

    /// Returns the failure that the service reports before a wrong signature (docs/dynamodb.md
    /// 1.5), without building anything.
    fn early_failure(&self, operation: Option<&Operation>) -> Option<HttpFailure> {
        if self.coding.is_none() && !self.sent.is_empty() && !document::is_json(&self.sent) {
            return Some(WireError::NotAnObject.into());
        }
        operation.is_none().then_some(HttpFailure::Protocol(
            protocol::RequestError::UnknownOperation,
        ))
    }
}

/// Returns every value of a header; a value that is not text becomes one that matches no host or
/// origin.
fn header_values<'a>(head: &'a Parts, name: &HeaderName) -> Vec<&'a str> {
    head.headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap_or("?"))
        .collect()
}

fn header<'a>(head: &'a Parts, name: &HeaderName) -> Option<&'a str> {
    head.headers.get(name).and_then(|value| value.to_str().ok())
}

/// Returns the type of the answer: the request's, if it is supported. `None` means a body of
/// another type.
fn content_type(head: &Parts, has_body: bool) -> Option<HeaderValue> {
    let sent =
        header(head, &CONTENT_TYPE).map(|text| text.split(';').next().unwrap_or_default().trim());
    match sent {
        Some("application/json") => Some(JSON),
        Some("application/x-amz-json-1.0") => Some(AMZ_JSON),
        _ if has_body => None,
        _ => Some(AMZ_JSON),
    }
}

/// Runs a handler; a panic in it fails this request and no other.
async fn catch_panic<T>(
    handler: impl Future<Output = Result<T, HttpFailure>>,
) -> Result<T, HttpFailure> {
    let mut handler = pin!(handler);
    std::future::poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))) {
            Ok(poll) => poll,
            Err(_) => Poll::Ready(Err(HttpFailure::Panic)),
        },
    )
    .await
}

fn plain_reply(status: StatusCode, text: &str) -> HttpReply {
    HttpReply::new(status, PLAIN, text)
}

/// Returns the service's answer to anything that is not its protocol.
fn not_found() -> HttpReply {
    HttpReply::new(StatusCode::NOT_FOUND, XML, "<UnknownOperationException/>\n")
}

/// Answers a CORS preflight; the page's origin was checked before.
fn preflight(head: &Parts) -> HttpReply {
    let mut reply = HttpReply::empty(StatusCode::OK);
    reply
        .headers
        .push((ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS));
    for (asked, allowed) in [
        (ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_ALLOW_HEADERS),
        (ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_ALLOW_METHODS),
    ] {
        if let Some(value) = head.headers.get(asked) {
            reply.headers.push((allowed, value.clone()));
        }
    }
    reply
}

/// Parses `X-Amz-Target`, which is case-sensitive; `None` if it names no operation.
#[must_use]
fn operation_of(header: Option<&str>) -> Option<&'static Operation> {
    let (service, name) = header?.split_once('.')?;
    protocol::find(name).filter(|operation| operation.service.target() == service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let check = |header: Option<&str>, expected: Option<&str>| {
            assert_eq!(
                operation_of(header).map(|operation| operation.name),
                expected,
                "{header:?}"
            );
        };
        check(Some("DynamoDB_20120810.PutItem"), Some("PutItem"));
        check(Some("DynamoDB_20120810.UpdateTable"), Some("UpdateTable"));
        check(
            Some("DynamoDB_20120810.ListGlobalTables"),
            Some("ListGlobalTables"),
        );
        check(
            Some("DynamoDBStreams_20120810.ListStreams"),
            Some("ListStreams"),
        );
        check(Some("DynamoDB_20120810.ListStreams"), None);
        check(Some("DynamoDBStreams_20120810.PutItem"), None);
        check(Some("DynamoDB_20120810.putitem"), None);
        check(Some("DynamoDB_20111205.PutItem"), None);
        check(Some("PutItem"), None);
        check(None, None);
    }
}
