//! The one place where an error becomes an HTTP answer: status, `__type` and text (SEMANTICS 1.4, 24).

use hyper::StatusCode;
use hyper::header::HeaderValue;

use super::auth::AuthError;
use super::reply::Reply;
use super::sigv4::SignatureError;
use super::target::Operation;
use crate::codec::dynamodb_json;
use crate::codec::wire::write::{self, ObjectWriter};
use crate::codec::wire::{WireError, transaction};
use crate::model::error::prefix::VALIDATION_PREFIX;
use crate::model::error::{RecoveryError, StreamError};
use crate::model::{Error, Item};

/// Why a request to the API failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The target names nothing.
    UnknownOperation,
    /// The target names an operation of the API that this version does not serve.
    NotServed(&'static str),
    /// The body is compressed in a way not known here.
    ContentEncoding,
    /// The compressed body is broken.
    Inflate,
    Auth(AuthError),
    Wire(WireError),
    Operation(Error),
    /// A bug: the handler panicked.
    Panic,
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

/// The part of `__type` before `#`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Namespace {
    /// Routing, JSON and authentication.
    Service,
    Validate,
    /// Errors of the API's model.
    DynamoDb,
}

impl Namespace {
    fn text(self) -> &'static str {
        match self {
            Self::Service => "com.amazon.coral.service",
            Self::Validate => "com.amazon.coral.validate",
            Self::DynamoDb => "com.amazonaws.dynamodb.v20120810",
        }
    }
}

/// An error's `__type` and status.
struct Kind {
    namespace: Namespace,
    name: &'static str,
    status: StatusCode,
}

const fn service(name: &'static str) -> Kind {
    Kind { namespace: Namespace::Service, name, status: StatusCode::BAD_REQUEST }
}

const fn modelled(name: &'static str) -> Kind {
    Kind { namespace: Namespace::DynamoDb, name, status: StatusCode::BAD_REQUEST }
}

const VALIDATION: Kind = Kind { namespace: Namespace::Validate, name: "ValidationException", status: StatusCode::BAD_REQUEST };
const INTERNAL: Kind =
    Kind { namespace: Namespace::DynamoDb, name: "InternalServerError", status: StatusCode::INTERNAL_SERVER_ERROR };

/// Errors whose text is in `Message` (SEMANTICS 1.4).
const CAPITAL_MESSAGE: [&str; 3] =
    ["SerializationException", "TransactionCanceledException", "IdempotentParameterMismatchException"];

/// The answer to a failed request; `operation` when it was known.
pub fn reply(failure: &Failure, operation: Option<Operation>, content_type: HeaderValue) -> Reply {
    let kind = kind(failure);
    let mut body = Vec::new();
    let mut object = ObjectWriter::start(&mut body);
    write::string(&format!("{}#{}", kind.namespace.text(), kind.name), object.member("__type"));
    if let Some(text) = text(failure, operation) {
        let member = if CAPITAL_MESSAGE.contains(&kind.name) { "Message" } else { "message" };
        write::string(&text, object.member(member));
    }
    if let Some(item) = item(failure) {
        dynamodb_json::write_item(item, object.member("Item"));
    }
    if let Failure::Operation(Error::TransactionCanceled(cancellation)) = failure {
        transaction::reasons(cancellation, object.member("CancellationReasons"));
    }
    object.end();
    Reply::new(kind.status, content_type, body)
}

fn kind(failure: &Failure) -> Kind {
    match failure {
        Failure::UnknownOperation | Failure::NotServed(_) => service("UnknownOperationException"),
        Failure::ContentEncoding => service("SerializationException"),
        Failure::Auth(AuthError::Missing) => service("MissingAuthenticationTokenException"),
        Failure::Auth(AuthError::Both) => service("InvalidSignatureException"),
        Failure::Auth(AuthError::Wrong(SignatureError::UnknownKey)) => service("UnrecognizedClientException"),
        Failure::Auth(AuthError::Wrong(_)) => service("InvalidSignatureException"),
        Failure::Auth(AuthError::Incomplete(_)) => service("IncompleteSignatureException"),
        Failure::Wire(error) => kind_of_wire(error),
        Failure::Operation(error) => kind_of(error),
        Failure::Inflate | Failure::Panic => INTERNAL,
    }
}

fn kind_of_wire(error: &WireError) -> Kind {
    match error {
        WireError::NotAnObject | WireError::Serialization(_) => service("SerializationException"),
        WireError::Constraints(_)
        | WireError::TableNameMissing
        | WireError::TableNameEmpty
        | WireError::QueryLimit
        | WireError::ReturnValues
        | WireError::UpdateReturnValues => VALIDATION,
        WireError::Request(error) => kind_of(error),
    }
}

fn kind_of(error: &Error) -> Kind {
    match error {
        Error::Value(_)
        | Error::Key(_)
        | Error::Expression(_)
        | Error::Update(_)
        | Error::Legacy(_)
        | Error::Schema(_)
        | Error::Query(_)
        | Error::TimeToLive(_)
        | Error::Batch(_)
        | Error::Transaction(_)
        | Error::UpdateTable(_)
        | Error::Resource(_)
        | Error::DeletionProtected
        | Error::NotSupported(_) => VALIDATION,
        Error::Limit(_) => modelled("LimitExceededException"),
        Error::Recovery(error) => kind_of_recovery(error),
        Error::ResourceNotFound | Error::TableNotFound(_) | Error::NotFound(_) => modelled("ResourceNotFoundException"),
        Error::TableAlreadyExists(_) | Error::TableBeingDeleted(_) | Error::InUse(_) => modelled("ResourceInUseException"),
        Error::ConditionalCheckFailed { .. } => modelled("ConditionalCheckFailedException"),
        Error::ItemCollectionSizeLimitExceeded => modelled("ItemCollectionSizeLimitExceededException"),
        Error::Stream(error) => kind_of_stream(error),
        Error::TransactionCanceled(_) => modelled("TransactionCanceledException"),
        Error::IdempotentParameterMismatch => modelled("IdempotentParameterMismatchException"),
        Error::Store(_) => INTERNAL,
    }
}

fn kind_of_stream(error: &StreamError) -> Kind {
    match error {
        StreamError::Arn
        | StreamError::ShardId
        | StreamError::Iterator
        | StreamError::SequenceNumber
        | StreamError::MemberMissing { .. }
        | StreamError::MemberUnwanted { .. }
        | StreamError::ShardFilter => VALIDATION,
        StreamError::NotFound(_) | StreamError::ShardNotFound(_) => modelled("ResourceNotFoundException"),
        StreamError::ExpiredIterator => modelled("ExpiredIteratorException"),
        StreamError::Trimmed => modelled("TrimmedDataAccessException"),
    }
}

fn kind_of_recovery(error: &RecoveryError) -> Kind {
    match error {
        RecoveryError::TableNotFound(_) => modelled("TableNotFoundException"),
        RecoveryError::TableAlreadyExists(_) => modelled("TableAlreadyExistsException"),
        RecoveryError::TableInUse(_) => modelled("TableInUseException"),
        RecoveryError::BackupNotFound(_) => modelled("BackupNotFoundException"),
        RecoveryError::BackupInUse(_) => modelled("BackupInUseException"),
        RecoveryError::RecoveryUnavailable(_) => modelled("PointInTimeRecoveryUnavailableException"),
        RecoveryError::RestoreTime { .. } => modelled("InvalidRestoreTimeException"),
        RecoveryError::ExportTime { .. } => modelled("InvalidExportTimeException"),
        RecoveryError::ExportNotFound(_) => modelled("ExportNotFoundException"),
        RecoveryError::ExportConflict => modelled("ExportConflictException"),
        RecoveryError::ImportNotFound(_) => modelled("ImportNotFoundException"),
        RecoveryError::ImportConflict => modelled("ImportConflictException"),
        RecoveryError::PolicyNotFound(_) | RecoveryError::PolicyRevision(_) => modelled("PolicyNotFoundException"),
        RecoveryError::GlobalTableNotFound(_) => modelled("GlobalTableNotFoundException"),
        RecoveryError::RestoreTimeChoice
        | RecoveryError::RestoreSourceChoice
        | RecoveryError::OverrideIndex(_)
        | RecoveryError::Parameter(_) => VALIDATION,
    }
}

/// The text; a body that is no JSON object has none, as in the service.
fn text(failure: &Failure, operation: Option<Operation>) -> Option<String> {
    match failure {
        Failure::UnknownOperation | Failure::Wire(WireError::NotAnObject) => None,
        Failure::NotServed(name) => Some(format!("{name} is not served by this version of ddbfs")),
        Failure::ContentEncoding => Some("Content-Encoding must be gzip, deflate or identity".to_owned()),
        Failure::Inflate => Some("The compressed request body is broken".to_owned()),
        Failure::Auth(error) => Some(error.to_string()),
        Failure::Wire(error) => Some(prefixed(error.to_string(), operation, wire_is_prefixed(error))),
        Failure::Operation(error) => Some(prefixed(error.to_string(), operation, error.takes_validation_prefix())),
        Failure::Panic => Some("ddbfs failed on this request; its log says where".to_owned()),
    }
}

/// Some operations put a count before some families of texts (SEMANTICS 3.2, 27).
fn prefixed(text: String, operation: Option<Operation>, family: bool) -> String {
    match operation {
        Some(Operation::PutItem | Operation::UpdateItem | Operation::DeleteItem | Operation::Query) if family => {
            format!("{VALIDATION_PREFIX}{text}")
        }
        _ => text,
    }
}

fn wire_is_prefixed(error: &WireError) -> bool {
    match error {
        WireError::ReturnValues => true,
        WireError::Request(error) => error.takes_validation_prefix(),
        WireError::NotAnObject
        | WireError::Serialization(_)
        | WireError::Constraints(_)
        | WireError::TableNameMissing
        | WireError::TableNameEmpty
        | WireError::QueryLimit
        | WireError::UpdateReturnValues => false,
    }
}

/// The item that a failed condition returns.
fn item(failure: &Failure) -> Option<&Item> {
    match failure {
        Failure::Operation(Error::ConditionalCheckFailed { item }) => item.as_deref(),
        _ => None,
    }
}
