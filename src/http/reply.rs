//! HTTP responses: the headers that each one has (docs/dynamodb.md 1.2), bodies that hold their
//! share of memory until they are sent, and every failure as a reply (docs/dynamodb.md 1.4, 1.6).

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, SERVER};
use hyper::{Response, StatusCode};

use super::auth::AuthError;
use super::body::BodyError;
use super::compression::{self, COMPRESSED_ABOVE_BYTES, Coding};
use super::connections::RequestGuard;
use super::sigv4::SignatureError;
use crate::codec::wire::WireError;
use crate::model::error::exception::INTERNAL;
use crate::protocol::error_body::ErrorBody;
use crate::protocol::{self, Operation};
use crate::store::budget::{BudgetFull, MemoryBudget, Permit};

/// The size of one part of a body on the connection, so that its memory is held until the last
/// part.
const FRAME_BYTES_MAX: usize = 64 * 1024;
/// The length up to which an answer is accounted with its connection.
const SMALL_ANSWER_BYTES: usize = 8 * 1024;
/// The capacity up to which spare memory is not released.
const SHRINK_ABOVE_BYTES: usize = 64 * 1024;
const REQUEST_ID_CHARS: usize = 52;
/// The base-36 digits of a 64-bit word.
const CHARS_PER_WORD: usize = 12;

const X_AMZN_REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const X_AMZ_CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");

/// The content type of the protocol.
pub const AMZ_JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
/// The other supported content type.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
pub const XML: HeaderValue = HeaderValue::from_static("application/xml");

/// An answer before its common headers.
#[derive(Debug)]
pub struct HttpReply {
    pub status: StatusCode,
    pub content_type: Option<HeaderValue>,
    pub body: Vec<u8>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl HttpReply {
    #[must_use]
    pub fn new(status: StatusCode, content_type: HeaderValue, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            content_type: Some(content_type),
            body: body.into(),
            headers: Vec::new(),
        }
    }

    /// Creates a reply without body and content type.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            content_type: None,
            body: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Reserves the memory that the body holds until it is sent: from `permit`, or from `answers`.
    /// Small bodies are accounted with their connections.
    ///
    /// # Errors
    /// `answers` has no room for the body.
    pub fn reserve(
        &mut self,
        permit: &mut Permit,
        answers: &MemoryBudget,
    ) -> Result<(), BudgetFull> {
        if self.body.capacity() > SHRINK_ABOVE_BYTES {
            // Spare capacity is released, and so not counted.
            self.body.shrink_to_fit();
        }
        let bytes = self.body.capacity();
        if bytes <= SMALL_ANSWER_BYTES {
            *permit = Permit::default();
        } else if permit.bytes() >= bytes {
            permit.shrink(bytes);
        } else {
            *permit = answers.permit(bytes)?;
        }
        Ok(())
    }

    /// Builds the response with its headers; a long body gets the coding `accepted`. `held` is
    /// released when the body is sent.
    #[must_use]
    pub fn into_response(
        self,
        ids: &RequestIds,
        mut held: ReplyGuard,
        accepted: Option<Coding>,
    ) -> Response<ReplyBody> {
        // The checksum is that of the uncompressed body (docs/dynamodb.md 1.2).
        let checksum = crc32fast::hash(&self.body);
        let coding = accepted.filter(|_| self.body.len() > COMPRESSED_ABOVE_BYTES);
        let coded = coding
            .and_then(|coding| Some((coding.header(), compression::compress(coding, &self.body)?)));
        let (encoding, body) =
            coded.map_or((None, self.body), |(encoding, body)| (Some(encoding), body));
        held.permit.shrink(body.capacity());
        let mut response = Response::new(ReplyBody {
            rest: body.into(),
            _held: held,
        });
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(SERVER, HeaderValue::from_static("Server"));
        headers.insert(X_AMZN_REQUEST_ID, ids.next());
        headers.insert(X_AMZ_CRC32, HeaderValue::from(checksum));
        if let Some(content_type) = self.content_type {
            headers.insert(CONTENT_TYPE, content_type);
        }
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, encoding);
        }
        headers.extend(self.headers);
        response
    }
}

/// The resources of a request until its answer is sent.
#[derive(Debug)]
pub struct ReplyGuard {
    /// The memory of the answer's body.
    pub permit: Permit,
    pub phase: RequestGuard,
}

/// A body in memory, sent in parts.
#[derive(Debug)]
pub struct ReplyBody {
    rest: Bytes,
    _held: ReplyGuard,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            return Poll::Ready(None);
        }
        let part = this.rest.split_to(this.rest.len().min(FRAME_BYTES_MAX));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        // Exact, so that the answer has a Content-Length and is not chunked.
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// A generator of request ids: 52 characters of `[0-9A-Z]`, unique over all answers of all runs.
#[derive(Debug)]
pub struct RequestIds {
    seed: u64,
    count: AtomicU64,
}

impl RequestIds {
    /// Creates a generator; `seed` determines all its ids.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            count: AtomicU64::new(0),
        }
    }

    /// Returns the next id.
    pub fn next(&self) -> HeaderValue {
        // Relaxed: every answer needs another number, in no order.
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut state = self.seed ^ count.wrapping_mul(GOLDEN);
        let mut bytes = [0_u8; REQUEST_ID_CHARS];
        for part in bytes.chunks_mut(CHARS_PER_WORD) {
            state = state.wrapping_add(GOLDEN);
            let mut word = mix(state);
            for byte in part {
                *byte = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(word % 36) as usize];
                word /= 36;
            }
        }
        let id = HeaderValue::from_bytes(&bytes);
        debug_assert!(id.is_ok(), "letters and digits");
        id.unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// The step of SplitMix64, which spreads a count over 64 bits: different counts give different
/// words.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(state: u64) -> u64 {
    let word = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The failure of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum HttpFailure {
    /// The body has an unsupported content coding.
    ContentEncoding,
    /// The compressed body is broken.
    Inflate,
    Auth(AuthError),
    Protocol(protocol::RequestError),
    /// The inflated body is too large, or there is no memory for it.
    Body(BodyError),
    /// The handler panicked: a bug.
    Panic,
}

impl From<protocol::RequestError> for HttpFailure {
    fn from(error: protocol::RequestError) -> Self {
        Self::Protocol(error)
    }
}

impl From<WireError> for HttpFailure {
    fn from(error: WireError) -> Self {
        Self::Protocol(error.into())
    }
}

/// Returns the reply to a failed request; `operation` is `None` if it is unknown.
pub fn failure_reply(
    failure: &HttpFailure,
    operation: Option<&Operation>,
    content_type: HeaderValue,
) -> HttpReply {
    let body = match failure {
        HttpFailure::Protocol(failure) => failure.error_body(operation),
        HttpFailure::ContentEncoding => ErrorBody::new(
            "SerializationException",
            "Content-Encoding must be gzip, deflate or identity",
        ),
        // A 500 although the client is at fault, as the service answers.
        HttpFailure::Inflate => ErrorBody::new(INTERNAL, "The compressed request body is broken"),
        HttpFailure::Auth(error) => ErrorBody::new(auth_exception(error), error.to_string()),
        HttpFailure::Body(error) => return body_reply(*error),
        HttpFailure::Panic => {
            ErrorBody::new(INTERNAL, "ddbfs failed on this request; its log says where")
        }
    };
    let status = StatusCode::from_u16(body.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    HttpReply::new(status, content_type, body.json())
}

/// Returns the reply to a body that was not read.
pub fn body_reply(error: BodyError) -> HttpReply {
    let status = match error {
        BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::Idle => StatusCode::REQUEST_TIMEOUT,
        BodyError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        BodyError::Broken => StatusCode::BAD_REQUEST,
    };
    HttpReply::new(status, PLAIN, error.to_string())
}

fn auth_exception(error: &AuthError) -> &'static str {
    match error {
        AuthError::Missing => "MissingAuthenticationTokenException",
        AuthError::Wrong(SignatureError::UnknownKey) => "UnrecognizedClientException",
        AuthError::Both | AuthError::Wrong(_) => "InvalidSignatureException",
        AuthError::Incomplete(_) => "IncompleteSignatureException",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_differ_and_have_their_form() {
        let ids = RequestIds::new(7);
        let (one, two) = (ids.next(), ids.next());
        assert_ne!(one, two);
        assert_eq!(one.len(), REQUEST_ID_CHARS);
        assert!(
            one.as_bytes()
                .iter()
                .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        );
        assert_eq!(RequestIds::new(7).next(), one);
    }
}
