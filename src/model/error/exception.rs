//! DynamoDB's exception name of an error (docs/dynamodb.md 24), for all front ends, and its texts.
//! The service parses requests in two layers, which word some errors differently (docs/dynamodb.md
//! 3.4, 2.4).
//!
//! An error is a value; `Display` gives the text of the older layer, which the control plane, batch
//! writes, Scan and transactions return. `protocol::error_body` knows the operation, and asks
//! [`Error::text`] for the text of its [`RequestParser`].

use super::value::INVALID;
use super::{
    Error, ExpressionError, LegacyError, QueryError, RecoveryError, ResourceError, StatementError,
    StreamError, ValueError,
};

/// The exception for a bad request.
pub const VALIDATION: &str = "ValidationException";
/// The exception for a failure of the service.
pub const INTERNAL: &str = "InternalServerError";

/// Returns the short name of an exception, the `Code` of cancellation reasons and batch statements.
#[must_use]
pub fn code(exception: &'static str) -> &'static str {
    match exception {
        VALIDATION => "ValidationError",
        "ThrottlingException" => "ThrottlingError",
        exception => exception.strip_suffix("Exception").unwrap_or(exception),
    }
}

const NOT_FOUND: &str = "ResourceNotFoundException";

impl Error {
    /// Returns the exception's name in the API's model, without a namespace.
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match self {
            Self::ReadOnly | Self::Resource(ResourceError::Denied { .. }) => {
                "AccessDeniedException"
            }
            Self::Value(_)
            | Self::Key(_)
            | Self::Expression(_)
            | Self::Update(_)
            | Self::Legacy(_)
            | Self::Schema(_)
            | Self::Query(_)
            | Self::TimeToLive(_)
            | Self::Batch(_)
            | Self::Transaction(_)
            | Self::UpdateTable(_)
            | Self::Resource(_)
            | Self::DeletionProtected
            | Self::NotSupported(_)
            | Self::Unavailable(_) => VALIDATION,
            Self::Limit(_) | Self::Budget(_) => "LimitExceededException",
            Self::Statement(StatementError::Duplicate) => "DuplicateItemException",
            Self::Statement(_) => VALIDATION,
            Self::Recovery(error) => recovery_exception(error),
            Self::ResourceNotFound | Self::TableNotFound(_) | Self::NotFound(_) => NOT_FOUND,
            Self::TableAlreadyExists(_) | Self::TableBeingDeleted(_) | Self::InUse(_) => {
                "ResourceInUseException"
            }
            Self::ConditionalCheckFailed { .. } => "ConditionalCheckFailedException",
            Self::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceededException",
            Self::Stream(error) => stream_exception(error),
            Self::TransactionCanceled(_) => "TransactionCanceledException",
            Self::IdempotentParameterMismatch => "IdempotentParameterMismatchException",
            Self::Throttled(throttled) => throttled.exception(),
            Self::TooManyValues => "RequestLimitExceeded",
            Self::Remote(error) => error.exception,
            Self::Interrupted | Self::Store(_) => INTERNAL,
        }
    }
}

fn stream_exception(error: &StreamError) -> &'static str {
    match error {
        StreamError::Arn
        | StreamError::Iterator
        | StreamError::SequenceNumber
        | StreamError::MemberMissing { .. }
        | StreamError::MemberUnwanted { .. }
        | StreamError::ShardFilter => VALIDATION,
        StreamError::NotFound(_) | StreamError::ShardNotFound => NOT_FOUND,
        StreamError::ExpiredIterator => "ExpiredIteratorException",
        StreamError::Trimmed => "TrimmedDataAccessException",
    }
}

fn recovery_exception(error: &RecoveryError) -> &'static str {
    match error {
        RecoveryError::TableNotFound(_) => "TableNotFoundException",
        RecoveryError::TableAlreadyExists(_) => "TableAlreadyExistsException",
        RecoveryError::TableInUse(_) => "TableInUseException",
        RecoveryError::BackupNotFound(_) => "BackupNotFoundException",
        RecoveryError::BackupInUse(_) => "BackupInUseException",
        RecoveryError::RecoveryUnavailable(_) => "PointInTimeRecoveryUnavailableException",
        RecoveryError::RestoreTime { .. } => "InvalidRestoreTimeException",
        RecoveryError::ExportTime { .. } => "InvalidExportTimeException",
        RecoveryError::ExportNotFound(_) => "ExportNotFoundException",
        RecoveryError::ExportConflict => "ExportConflictException",
        RecoveryError::ImportNotFound(_) => "ImportNotFoundException",
        RecoveryError::ImportConflict => "ImportConflictException",
        RecoveryError::PolicyNotFound(_)
        | RecoveryError::PolicyRevision { .. }
        | RecoveryError::PolicyExists { .. }
        | RecoveryError::PolicyMissing { .. } => "PolicyNotFoundException",
        RecoveryError::GlobalTableNotFound(_) => "GlobalTableNotFoundException",
        RecoveryError::RestoreTimeChoice
        | RecoveryError::RestoreSourceChoice
        | RecoveryError::OverrideIndex(_)
        | RecoveryError::Parameter(_) => VALIDATION,
    }
}

/// The prefix of an error's text in some families.
const COUNT_PREFIX: &str = "1 validation error detected: ";

/// The parser of an operation's request in the service, which decides which errors have a count as
/// prefix. The service has two layers of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestParser {
    /// PutItem, UpdateItem, DeleteItem: the current layer; values, expressions and Expected have
    /// the count.
    Write,
    /// GetItem, BatchGetItem: the current layer, no count.
    Read,
    /// Query: the current layer; of its own checks only those of Select have the count.
    Query,
    /// TransactGetItems, TransactWriteItems: the older layer; a fault of an attribute's name is
    /// reported without the prefix of its family.
    Transaction,
    /// All other operations: the older layer, no count.
    Older,
}

impl Error {
    /// Returns the text that an operation with this parser gives.
    #[must_use]
    pub fn text(&self, parser: RequestParser) -> String {
        match parser {
            RequestParser::Transaction if self.is_name_error() => {
                return self.to_string().replacen(INVALID, "", 1);
            }
            RequestParser::Transaction | RequestParser::Older => return self.to_string(),
            RequestParser::Write | RequestParser::Read | RequestParser::Query => {}
        }
        let count = if self.is_counted(parser) {
            COUNT_PREFIX
        } else {
            ""
        };
        format!("{count}{}", self.current_text(parser))
    }

    /// Returns the text of the current layer.
    fn current_text(&self, parser: RequestParser) -> String {
        match self {
            // Without the older layer's `ExpressionAttributeValues contains invalid value: … for key :v`.
            Self::Value(fault)
            | Self::Expression(ExpressionError::InvalidValue { alias: _, fault }) => {
                fault.current_text()
            }
            Self::Expression(ExpressionError::ValuesWithoutExpression(_))
                if parser == RequestParser::Write =>
            {
                "ExpressionAttributeValues can only be specified when using expressions".to_owned()
            }
            Self::Query(QueryError::StartKeyValue(fault)) => {
                QueryError::start_key_text(fault, &fault.current_text())
            }
            other => other.to_string(),
        }
    }

    fn is_name_error(&self) -> bool {
        match self {
            Self::Value(fault)
            | Self::Expression(ExpressionError::InvalidValue { alias: _, fault }) => {
                fault.is_name_error()
            }
            _ => false,
        }
    }

    fn is_counted(&self, parser: RequestParser) -> bool {
        match parser {
            RequestParser::Write => match self {
                Self::Value(fault)
                | Self::Expression(ExpressionError::InvalidValue { alias: _, fault }) => {
                    is_counted_value(fault)
                }
                Self::Expression(_) => true,
                Self::Legacy(fault) => is_expected_error(fault),
                _ => false,
            },
            RequestParser::Query => matches!(self, Self::Query(fault) if is_select_error(fault)),
            RequestParser::Read | RequestParser::Transaction | RequestParser::Older => false,
        }
    }
}

fn is_counted_value(fault: &ValueError) -> bool {
    match fault {
        ValueError::NullFalse
        | ValueError::EmptyStringSet
        | ValueError::EmptyNumberSet
        | ValueError::EmptyBinarySet
        | ValueError::DuplicateStrings(_)
        | ValueError::DuplicateBinaries(_)
        | ValueError::DuplicateNumbers
        | ValueError::Nesting
        | ValueError::Number(_) => true,
        ValueError::NoType
        | ValueError::SeveralTypes
        | ValueError::EmptyAttributeName
        | ValueError::AttributeNameTooLong
        | ValueError::NullInSet(_)
        | ValueError::ItemTooLarge => false,
    }
}

/// Returns true for the errors of Expected; the others are those of AttributeUpdates.
fn is_expected_error(fault: &LegacyError) -> bool {
    match fault {
        LegacyError::ArgumentCount { .. }
        | LegacyError::ArgumentType { .. }
        | LegacyError::ArgumentTypes
        | LegacyError::BetweenOrder
        | LegacyError::ArgumentsMissing { .. }
        | LegacyError::ValueAndList(_)
        | LegacyError::ExistsAndOperator(_)
        | LegacyError::ListWithoutOperator(_)
        | LegacyError::ValueMissing { .. }
        | LegacyError::ValueUnwanted(_)
        | LegacyError::OperatorAlone
        | LegacyError::TooManyConditions(_)
        | LegacyError::TooManyValues(_)
        | LegacyError::OperatorOfOne => true,
        LegacyError::UpdateWithoutValue
        | LegacyError::DeleteType(_)
        | LegacyError::AddType(_)
        | LegacyError::DuplicateAttribute(_) => false,
    }
}

fn is_select_error(fault: &QueryError) -> bool {
    matches!(
        fault,
        QueryError::AllProjectedWithoutIndex
            | QueryError::ProjectionWithSelect { .. }
            | QueryError::SpecificWithoutProjection
    )
}
