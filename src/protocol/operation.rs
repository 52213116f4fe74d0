//! What an operation is, and how one is run.
//!
//! A handler translates, starts the call, and has the answer written. A body's tree, many times the size of its text, does not live as
//! long as a commit takes.

use std::sync::mpsc::sync_channel;

use serde_json::Value;

use crate::codec::json::document::Document;
use crate::codec::wire::{self, Declared, WireError};
use crate::database::{Database, Done};
use crate::model::Error;
use crate::model::api::operation::Way;
use crate::model::api::{Call, CallContext, VerbatimRequest};
use crate::model::error::{Layer, StoreError};

/// Which of the two services of the API an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    DynamoDb,
    Streams,
}

impl Service {
    /// What stands before the point in `X-Amz-Target`.
    #[must_use]
    pub fn target(self) -> &'static str {
        match self {
            Self::DynamoDb => "DynamoDB_20120810",
            Self::Streams => "DynamoDBStreams_20120810",
        }
    }
}

/// What a handler works with beside the body.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The operation's name.
    pub operation: &'static str,
    pub database: &'a dyn Database,
    /// What the client calls this server: host and port.
    pub host: &'a str,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("operation", &self.operation)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// Makes the answer's body of an outcome. Not run by the writer, which has better things to do, but by whoever waits for it.
pub type Finish = Box<dyn FnOnce() -> Result<Vec<u8>, Failure> + Send>;

/// Hears of the outcome of a started operation, once, on whatever thread finished it.
pub struct Answered {
    context: CallContext,
    hear: Box<dyn FnOnce(Finish) + Send>,
}

impl std::fmt::Debug for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answered")
    }
}

impl Answered {
    /// `hear` must not block.
    #[must_use]
    pub fn new(context: CallContext, hear: impl FnOnce(Finish) + Send + 'static) -> Self {
        Self {
            context,
            hear: Box::new(hear),
        }
    }

    /// What to give to the database; `write` appends the body of a response.
    #[must_use]
    pub fn with<T: Send + 'static>(
        self,
        write: impl FnOnce(&T, &mut Vec<u8>) + Send + 'static,
    ) -> Done<T> {
        let body = move |outcome: Result<T, Error>| {
            let mut out = Vec::new();
            write(&outcome?, &mut out);
            Ok(out)
        };
        Done::new(self.context, move |outcome| {
            (self.hear)(Box::new(move || body(outcome)))
        })
    }

    /// Tells of an answer that is there.
    pub fn body(self, body: Vec<u8>) {
        (self.hear)(Box::new(move || Ok(body)));
    }
}

/// Starts an operation with a body's tree. Where it fails itself, nothing was started and nobody is told.
pub type Handler = fn(Document, &Context<'_>, Answered) -> Result<(), Failure>;

/// Starts the call of a body's request, and has its answer written.
pub(super) fn begin<Q: Declared, R: wire::Body + Send + 'static>(
    json: Document,
    context: &Context<'_>,
    answered: Answered,
    call: fn(Q, Done<R>) -> Call,
) -> Result<(), Failure> {
    let request = wire::request(json.root())?;
    let written = wire::Context::of(json.root());
    drop(json);
    context.database.start(call(
        request,
        answered.with(move |answer: &R, out: &mut Vec<u8>| answer.write_body(&written, out)),
    ));
    Ok(())
}

/// How long an operation may take on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// As long as some single items.
    Short,
    /// A page of a megabyte is read in a few milliseconds; a filter of 300 operators may take a hundred times that.
    LongWithFilter,
    /// Many items, each written to the answer as it is read.
    LongByRows,
    Long,
}

/// An operation of the API.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// The API's name.
    pub name: &'static str,
    pub service: Service,
    pub way: Way,
    pub handler: Handler,
    /// How much it may read on a thread that others wait for.
    pub length: Length,
    /// Who reads its values, and so words some of its errors.
    pub layer: Layer,
}

impl Operation {
    #[must_use]
    pub const fn new(name: &'static str, way: Way, handler: Handler) -> Self {
        Self {
            name,
            way,
            service: Service::DynamoDb,
            handler,
            length: Length::Short,
            layer: Layer::Older,
        }
    }

    /// The same as one that reads many items.
    #[must_use]
    pub const fn long(self) -> Self {
        Self {
            length: Length::Long,
            ..self
        }
    }

    /// The same as one that reads many items and writes each as it is read.
    #[must_use]
    pub const fn long_by_rows(self) -> Self {
        Self {
            length: Length::LongByRows,
            ..self
        }
    }

    /// The same as one that reads a page, which takes long when much is asked of each item.
    #[must_use]
    pub const fn long_with_filter(self) -> Self {
        Self {
            length: Length::LongWithFilter,
            ..self
        }
    }

    /// The same, read by that layer.
    #[must_use]
    pub const fn read_by(self, layer: Layer) -> Self {
        Self { layer, ..self }
    }

    /// The same as one of DynamoDB Streams.
    #[must_use]
    pub const fn of_streams(self) -> Self {
        Self {
            service: Service::Streams,
            ..self
        }
    }

    /// The operation as that database is asked for it: another service in its caller's own words.
    #[must_use]
    pub fn on(&self, database: &dyn Database) -> Self {
        if database.is_elsewhere() {
            Self {
                way: Way::Passes,
                handler: pass,
                ..*self
            }
        } else {
            *self
        }
    }

    /// Runs it to its end, for whom `by` says.
    ///
    /// # Errors
    /// What the request or the operation failed with.
    pub fn run(
        &self,
        json: Document,
        context: &Context<'_>,
        by: CallContext,
    ) -> Result<Vec<u8>, Failure> {
        // Room for the one message: who sends it may be the writer, which must not wait.
        let (sender, receiver) = sync_channel(1);
        // The receiver waits below; it cannot be gone.
        (self.handler)(
            json,
            context,
            Answered::new(by, move |finish: Finish| drop(sender.send(finish))),
        )?;
        receiver
            .recv()
            .map_or_else(|_| Err(closed()), |finish| finish())
    }
}

fn pass(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = VerbatimRequest {
        operation: context.operation,
        body: json.text().as_bytes().to_vec(),
    };
    let write = |answer: &Vec<u8>, out: &mut Vec<u8>| out.extend_from_slice(answer);
    context
        .database
        .start(Call::Verbatim(request, answered.with(write)));
    Ok(())
}

/// A started operation of which nothing was heard.
#[must_use]
pub fn closed() -> Failure {
    Failure::Operation(Error::Store(StoreError::Closed))
}

/// A tree as a body.
#[must_use]
pub fn body(json: &Value) -> Vec<u8> {
    json.to_string().into_bytes()
}

/// Why a request to the API failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The name is no operation's.
    UnknownOperation,
    Wire(WireError),
    Operation(Error),
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

impl Failure {
    /// DynamoDB's name for it.
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match self {
            Self::UnknownOperation => "UnknownOperationException",
            Self::Wire(error) => error.exception(),
            Self::Operation(error) => error.exception(),
        }
    }
}
