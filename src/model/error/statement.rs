//! Errors of PartiQL statements, in parsing and in execution (docs/dynamodb.md 19). Texts are the
//! service's if known; the others say what to write instead.

use std::fmt;

use super::Error;
use super::expression::ExpressionFault;
use super::value::{NumberError, ValueError};

/// The position of a token in its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenPosition {
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// The characters of the token.
    pub length: u32,
}

impl fmt::Display for TokenPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.line, self.column, self.length)
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatementError {
    /// The fault in a few words; empty for text that is no token.
    #[error("Statement wasn't well formed, can't be processed: {0}")]
    Syntax(&'static str),
    #[error("Number of parameters in request and statement don't match.")]
    ParameterCount,
    #[error("Aliasing is not supported")]
    Alias,
    #[error("Other attributes should not be present in the projection when '*' is used.")]
    StarBesideOthers,
    /// Something other than a document path among the columns.
    #[error("Unexpected path component at {0}")]
    Column(TokenPosition),
    /// Two columns of the result with this name.
    #[error("Duplicate identifiers in select clause: {0}")]
    DuplicateColumn(String),
    /// `x IS INT4` as a whole statement.
    #[error("Unsupported operation: IsType")]
    BareTypeTest,
    /// A type after IS that no attribute has.
    #[error(
        "Unsupported data type for IS operator: {what}. \
         Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at {place}"
    )]
    IsType {
        what: &'static str,
        place: TokenPosition,
    },
    #[error("Unrecognized function: {name} at {place}")]
    UnknownFunction { name: String, place: TokenPosition },
    #[error("Unsupported operation: {what} at {place}")]
    Unsupported {
        what: &'static str,
        place: TokenPosition,
    },
    /// An expression that has no truth value where one is needed.
    #[error("Expected a condition such as a comparison or a function at {0}")]
    NotACondition(TokenPosition),
    #[error("List index is not within the allowable range; index: [{index}] at {place}")]
    ListIndex { index: String, place: TokenPosition },
    #[error("A path may contain at most 2 components in the FROM clause")]
    SourceComponents,
    #[error("Path component cannot be an empty string")]
    EmptySource,
    #[error("A table name has 3 to 255 of the characters a-z, A-Z, 0-9, '_', '-' and '.': {0}")]
    TableName(String),
    #[error("FROM clause may only contain a single table name in data manipulation statements")]
    InsertIndex,
    #[error("This operation is not supported on an index")]
    OnIndex,
    #[error("The table does not have the specified index")]
    UnknownIndex,
    #[error(
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
    )]
    SeveralKeyAttributes,
    #[error("Strongly consistent read is not supported on Global Secondary Indexes")]
    ConsistentOnGlobal,
    #[error(transparent)]
    Fault(#[from] ExpressionFault),
    #[error("The IN operator is provided with too many operands; number of operands: {0}")]
    InOperands(usize),
    /// `path` is the way into the literal: `root.a[1]`.
    #[error("{error} under {path}")]
    Number { error: NumberError, path: String },
    #[error("Nesting Levels have exceeded supported limits under {0}")]
    Nesting(String),
    /// Nesting of an item that results from an update.
    #[error("Nesting Levels have exceeded supported limits")]
    ItemNesting,
    /// A bad value in a literal.
    #[error(transparent)]
    Literal(#[from] ValueError),
    #[error("Empty bags are not supported")]
    EmptyBag,
    #[error(
        "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
    )]
    MixedBag,
    #[error(
        "One or more parameter values were invalid: Input collection [{members}] contains duplicates! under {path}"
    )]
    NumberDuplicates { members: String, path: String },
    #[error("Unsupported data type: {what} under key {path} at {place}")]
    Value {
        what: String,
        path: String,
        place: TokenPosition,
    },
    #[error("Duplicate keys in tuple. Key: {name} under {path} at {place}")]
    DuplicateName {
        name: String,
        path: String,
        place: TokenPosition,
    },
    /// A name that is no string in single quotes.
    #[error("Tuple keys must be of type String. Actual type: {what} under {path} at {place}")]
    TupleKey {
        what: String,
        path: String,
        place: TokenPosition,
    },
    #[error(
        "Unsupported format in item expression. Please use struct format {{...}} to express item values for insert statement. at {0}"
    )]
    InsertValue(TokenPosition),
    #[error("Unsupported clause: ON CONFLICT")]
    OnConflict,
    #[error("RETURNING is not supported in INSERT")]
    ReturningOfInsert,
    /// `function` is `SET_ADD` or `SET_DELETE`, here and below.
    #[error("The first argument to {function} must equal the assignment value at {place}")]
    SetTarget {
        function: &'static str,
        place: TokenPosition,
    },
    #[error("The second argument to {function} must be a value with type SET at {place}")]
    SetOperand {
        function: &'static str,
        place: TokenPosition,
    },
    #[error("{function} must have exactly two arguments at {place}")]
    SetArguments {
        function: &'static str,
        place: TokenPosition,
    },
    #[error("Where clause does not contain a mandatory equality on all key attributes")]
    NoKey,
    #[error(
        "Multiple conditions on same key {0}. Only single item Update/Insert/Delete are supported"
    )]
    SeveralKeys(String),
    #[error("Key attribute's data type should match its data type in table's schema: Key {0}")]
    KeyType(String),
    /// The operation's name.
    #[error("Select statements within {0} must specify the primary key in the where clause.")]
    ReadKey(&'static str),
    #[error("EXISTS() must contain a single item read with additional condition")]
    ExistsKey,
    #[error("EXISTS can only be used in ExecuteTransaction write requests.")]
    ExistsAlone,
    #[error("Overlapping conditions with range keys are not supported in where clause")]
    Overlapping,
    #[error("Too many decomposed read operations for a given query.")]
    TooManyReads,
    #[error("Must have WHERE clause in the statement when using ORDER BY clause.")]
    OrderWithoutWhere,
    #[error("Attribute {0} in ORDER BY clause must be part of the primary key")]
    OrderAttribute(String),
    #[error(
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
    )]
    OrderWithoutPartition,
    #[error(
        "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
    )]
    OrderPartitions,
    #[error(
        "ORDER BY of several partitions goes by the partition key first, and in one direction within each partition"
    )]
    OrderMixed,
    #[error("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")]
    ReturningStar,
    /// `ALL NEW` and the like.
    #[error(
        "Invalid returning clause: RETURNING {0} *. Only RETURNING ALL OLD * is allowed in DELETE statements."
    )]
    ReturningOfDelete(&'static str),
    #[error("RETURNING clause is not supported in ExecuteTransaction.")]
    ReturningInTransaction,
    #[error("Reads on indices are not supported within transactions.")]
    IndexInTransaction,
    #[error("Read and write requests together in the same batch is not supported.")]
    MixedBatch,
    #[error(
        "ExecuteTransaction API does not support both read and write operations in the same request."
    )]
    MixedTransaction,
    #[error("Invalid NextToken")]
    NextToken,
    #[error("NextToken does not match request")]
    NextTokenMismatch,
    /// A put of an existing item: DuplicateItemException.
    #[error("Duplicate primary key exists in table")]
    Duplicate,
    /// An error of a transaction's statement; `place` counts from 0.
    #[error("Validation failed in TransactStatements[{place}]: {error}")]
    InTransaction { place: usize, error: Box<Error> },
}

impl StatementError {
    /// Returns the error of one statement of a transaction.
    #[must_use]
    pub fn in_transaction(index: usize, error: Error) -> Error {
        Self::InTransaction {
            place: index,
            error: Box::new(error),
        }
        .into()
    }
}
