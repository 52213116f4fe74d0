//! The type of an operation, [`Operation`], with its handler, and the completion callback of a
//! started one. `operations` has the list of all operations.
//!
//! A handler parses the body, starts the call on the database, and has the response written. The
//! tree of a body is many times the size of its text, so it is dropped before the commit.

use std::sync::mpsc::sync_channel;

use serde_json::Value;

use crate::codec::json::document::Document;
use crate::codec::wire::{self, Declared, UnitCounter, WireError};
use crate::database::{Completion, Database};
use crate::model::Error;
use crate::model::api::operation::OperationKind;
use crate::model::api::{Call, CallContext, VerbatimRequest};
use crate::model::error::{RequestParser, StoreError};

/// The API's service to which an operation belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiService {
    DynamoDb,
    Streams,
}

impl ApiService {
    /// Returns the part before the point in `X-Amz-Target`.
    #[must_use]
    pub fn target(self) -> &'static str {
        match self {
            Self::DynamoDb => "DynamoDB_20120810",
            Self::Streams => "DynamoDBStreams_20120810",
        }
    }
}

/// The context of a handler beside the body.
#[derive(Clone, Copy)]
pub struct RequestContext<'a> {
    /// The operation's name.
    pub operation: &'static str,
    pub database: &'a dyn Database,
    /// The client's name for this server: host and port.
    pub host: &'a str,
    /// Counts the units that the request consumes.
    pub units: &'a UnitCounter,
}

opaque_debug!(RequestContext<'_>);

/// A function that makes the response body from an outcome. The writer thread does not run it, as
/// other writes wait for that thread; the thread that waits for the outcome does.
pub type BodyFn = Box<dyn FnOnce() -> Result<Vec<u8>, RequestError> + Send>;

/// The completion of a started operation: a callback that is called once, on the thread that
/// finished the operation.
pub struct ResponseCompletion {
    context: CallContext,
    callback: Box<dyn FnOnce(BodyFn) + Send>,
}

opaque_debug!(ResponseCompletion);

impl ResponseCompletion {
    /// Returns a completion that calls `callback`, which must not block.
    #[must_use]
    pub fn new(context: CallContext, callback: impl FnOnce(BodyFn) + Send + 'static) -> Self {
        Self {
            context,
            callback: Box::new(callback),
        }
    }

    /// Returns the completion for the database; `write` appends the body of a response.
    #[must_use]
    pub fn into_completion<T: Send + 'static>(
        self,
        write: impl FnOnce(&T, &mut Vec<u8>) + Send + 'static,
    ) -> Completion<T> {
        let body = move |outcome: Result<T, Error>| {
            let mut out = Vec::new();
            write(&outcome?, &mut out);
            Ok(out)
        };
        Completion::new(self.context, move |outcome| {
            (self.callback)(Box::new(move || body(outcome)))
        })
    }

    /// Completes with a finished body.
    pub fn complete(self, body: Vec<u8>) {
        (self.callback)(Box::new(move || Ok(body)));
    }
}

/// A function that starts an operation with the tree of a body. If it returns an error, nothing was
/// started and the completion is not called.
pub type Handler =
    fn(Document, &RequestContext<'_>, ResponseCompletion) -> Result<(), RequestError>;

/// Starts the call of the request in a body, and has its response written.
pub(super) fn begin<Q: Declared, R: wire::Body + Send + 'static>(
    json: Document,
    context: &RequestContext<'_>,
    completion: ResponseCompletion,
    call: fn(Q, Completion<R>) -> Call,
) -> Result<(), RequestError> {
    let request = wire::request(json.root())?;
    let written = wire::Context::of(json.root()).with_units(context.units);
    drop(json);
    context.database.start(call(
        request,
        completion
            .into_completion(move |answer: &R, out: &mut Vec<u8>| answer.write_body(&written, out)),
    ));
    Ok(())
}

/// The time that an operation may take on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationLength {
    /// The time of a few single items.
    Short,
    /// A page of a megabyte is read in a few milliseconds; a filter of 300 operators may take a
    /// hundred times as long.
    LongWithFilter,
    /// Many items, each written to the response when it is read.
    LongByRows,
    Long,
}

/// An operation of the API.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// The API's name.
    pub name: &'static str,
    pub service: ApiService,
    pub kind: OperationKind,
    pub handler: Handler,
    /// The time that it may take on its thread.
    pub length: OperationLength,
    /// The layer that parses its values, which decides the text of some errors.
    pub parser: RequestParser,
}

impl Operation {
    #[must_use]
    pub const fn new(name: &'static str, kind: OperationKind, handler: Handler) -> Self {
        Self {
            name,
            kind,
            service: ApiService::DynamoDb,
            handler,
            length: OperationLength::Short,
            parser: RequestParser::Older,
        }
    }

    /// Returns the operation as one that reads many items.
    #[must_use]
    pub const fn long(self) -> Self {
        Self {
            length: OperationLength::Long,
            ..self
        }
    }

    /// Returns the operation as one that reads many items and writes each when it is read.
    #[must_use]
    pub const fn long_by_rows(self) -> Self {
        Self {
            length: OperationLength::LongByRows,
            ..self
        }
    }

    /// Returns the operation as one that reads a page, which takes long with a costly filter.
    #[must_use]
    pub const fn long_with_filter(self) -> Self {
        Self {
            length: OperationLength::LongWithFilter,
            ..self
        }
    }

    /// Returns the operation as one that `layer` parses.
    #[must_use]
    pub const fn parsed_by(self, parser: RequestParser) -> Self {
        Self { parser, ..self }
    }

    /// Returns the operation as one of DynamoDB Streams.
    #[must_use]
    pub const fn of_streams(self) -> Self {
        Self {
            service: ApiService::Streams,
            ..self
        }
    }

    /// Returns the operation for this database: another service gets it in the caller's own words.
    #[must_use]
    pub fn for_database(&self, database: &dyn Database) -> Self {
        if database.is_remote() {
            Self {
                kind: OperationKind::PassThrough,
                handler: pass,
                ..*self
            }
        } else {
            *self
        }
    }

    /// Runs the operation to its end in the context of its caller.
    ///
    /// # Errors
    /// Fails if the request is malformed, or with the failure of the operation.
    pub fn run(
        &self,
        json: Document,
        context: &RequestContext<'_>,
        call_context: CallContext,
    ) -> Result<Vec<u8>, RequestError> {
        // A buffer of one message: the sender may be the writer thread, which must not wait.
        let (sender, receiver) = sync_channel(1);
        // The receiver waits below, so it still exists.
        (self.handler)(
            json,
            context,
            ResponseCompletion::new(call_context, move |finish: BodyFn| {
                drop(sender.send(finish))
            }),
        )?;
        receiver
            .recv()
            .map_or_else(|_| Err(closed_error()), |finish| finish())
    }
}

fn pass(
    json: Document,
    context: &RequestContext<'_>,
    completion: ResponseCompletion,
) -> Result<(), RequestError> {
    let request = VerbatimRequest {
        operation: context.operation,
        body: json.text().as_bytes().to_vec(),
    };
    let write = |answer: &Vec<u8>, out: &mut Vec<u8>| out.extend_from_slice(answer);
    context
        .database
        .start(Call::Verbatim(request, completion.into_completion(write)));
    Ok(())
}

/// Returns the failure of a started operation that never completed.
#[must_use]
pub fn closed_error() -> RequestError {
    RequestError::Operation(Error::Store(StoreError::Closed))
}

/// Returns a tree as a body.
#[must_use]
pub fn body(json: &Value) -> Vec<u8> {
    json.to_string().into_bytes()
}

/// The reason for which a request to the API failed.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestError {
    /// No operation has the name.
    UnknownOperation,
    Wire(WireError),
    Operation(Error),
}

impl From<WireError> for RequestError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

impl RequestError {
    /// Returns DynamoDB's exception name.
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match self {
            Self::UnknownOperation => "UnknownOperationException",
            Self::Wire(error) => error.exception(),
            Self::Operation(error) => error.exception(),
        }
    }
}
