//! `.ddb/api/<Operation>` and `.ddb/transact`: a request of the API is written, and its response
//! read on the same handle.
//!
//! | difficulty | solved by |
//! |---|---|
//! | no call says that a request is whole | [`BracketScanner`] finds the bracket that ends it; the write that has it runs the request, and fails with its errno |
//! | reader and writer share one file offset (`exec 3<>F; echo … >&3; cat <&3`) | the response begins where the request ended; a reader that seeks to offset 0 finds it there |
//! | a shell that has only `>` | `.ddb/last/response.json` has the response too, also that of a failed request |
//! | a request takes long, or much memory | it runs on a thread for such work, which waits for memory first |

use crate::codec::{
    json::{
        document::{Document, Json},
        grammar::BracketScanner,
    },
    wire::WireError,
};
use crate::fs::{
    open::{
        prelude::*,
        sub_range,
        text::{FileCall, SpecialHandle},
    },
    process::same_process,
};
use crate::protocol::{
    self, Operation, RequestError,
    memory::{READ_FACTOR, may_contain, parsed_bytes, request_bytes},
};
use crate::store::budget::MEMORY_WAIT;

/// The longest request, bytes: the same as over HTTP.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The host of DescribeEndpoints: the mount has no address.
const HOST: &str = "localhost";

/// `.ddb/api/`
pub struct ApiDir;

/// A file that takes requests.
#[derive(Debug, Clone, Copy)]
pub enum RequestFile {
    Operation(&'static str),
    /// TransactGetItems if its first action is a Get, else TransactWriteItems.
    Transact,
}

fn operation_node(node: &Special, name: &'static str) -> Node {
    node.child(name, RequestFile::Operation(name))
        .writable()
        .into()
}

impl NodeOps for ApiDir {
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        protocol::find(name)
            .map(|operation| operation_node(at.node, operation.name))
            .ok_or(FsError::NotFound)
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        let mut names: Vec<&'static str> = protocol::operations()
            .map(|operation| operation.name)
            .collect();
        names.sort_unstable();
        Ok(names
            .into_iter()
            .map(|name| to_dirent(&operation_node(at.node, name), name))
            .collect())
    }
}

impl NodeOps for RequestFile {
    fn text(&self, _at: At<'_>) -> Result<Vec<u8>> {
        let name = match self {
            Self::Operation(name) => name,
            Self::Transact => "TransactWriteItems or TransactGetItems",
        };
        let usage = format!(
            "write a request of {name} as JSON; the answer is then read here on the same descriptor, and in .ddb/last/response.json\n"
        );
        Ok(usage.into_bytes())
    }

    fn open_writer(&self, at: HostAt<'_>, _flags: OpenFlags) -> Result<Handle> {
        let open = OpenRequestFile {
            file: *self,
            opener: at.mount.caller.pid,
            state: Mutex::default(),
        };
        Ok(Handle::Special(Arc::new(open)))
    }
}

/// Returns the operation with the largest memory need among those that this text may request.
fn largest_operation(file: RequestFile, text: &[u8]) -> &'static str {
    match file {
        RequestFile::Operation(name) => name,
        _ if may_contain(text, b"Get") => "TransactGetItems",
        _ => "TransactWriteItems",
    }
}

/// Returns the operation of a request.
fn operation_of(file: RequestFile, request: Json<'_>) -> &'static str {
    let first = || request.get("TransactItems")?.as_list()?.next()?.as_object();
    match file {
        RequestFile::Operation(name) => name,
        _ if first().is_some_and(|action| action.get("Get").is_some()) => "TransactGetItems",
        _ => "TransactWriteItems",
    }
}

#[derive(Debug)]
struct OpenRequestFile {
    file: RequestFile,
    opener: u32,
    state: Mutex<RequestExchange>,
}

/// The unfinished request of one descriptor, and the response to the one before.
#[derive(Debug, Default)]
struct RequestExchange {
    /// The beginning of a request.
    request: Vec<u8>,
    brackets: BracketScanner,
    is_running: bool,
    /// True if the request was too long. Further text is its rest, not a new request.
    is_too_long: bool,
    response: Arc<Vec<u8>>,
    /// File offset behind the last byte written.
    written: u64,
    /// File offset of the response's first byte, known from the first read.
    response_start: Option<u64>,
}

impl RequestExchange {
    /// Takes the next bytes; returns the request if they complete it.
    fn feed(&mut self, offset: u64, data: &[u8]) -> Result<Option<Vec<u8>>, FsError> {
        if self.is_running {
            return Err(FsError::Busy("a request of this descriptor is running"));
        }
        self.written = offset + data.len() as u64;
        if self.request.is_empty() && data.trim_ascii().is_empty() {
            return Ok(None);
        }
        let taken = self.feed_text(data);
        if !matches!(taken, Ok(None)) {
            self.brackets = BracketScanner::default();
        }
        if taken.is_err() {
            self.request.clear();
        }
        taken
    }

    fn feed_text(&mut self, data: &[u8]) -> Result<Option<Vec<u8>>> {
        let first = if self.request.is_empty() {
            data.trim_ascii_start().first()
        } else {
            None
        };
        if first.is_some_and(|&byte| byte != b'{') {
            return Err(FsError::Body(
                "a request is a JSON object: it begins with {".to_owned(),
            ));
        }
        if self.request.len() + data.len() > REQUEST_BYTES_MAX {
            self.is_too_long = true;
            return Err(FsError::Body(
                "a request is at most 16 MiB; close the file and write a smaller one".to_owned(),
            ));
        }
        let end = self.brackets.end(data);
        self.request.extend_from_slice(data);
        match end {
            None => Ok(None),
            Some(end)
                if data
                    .get(end..)
                    .is_some_and(|rest| rest.trim_ascii().is_empty()) =>
            {
                Ok(Some(std::mem::take(&mut self.request)))
            }
            Some(_) => Err(FsError::Body(
                "one request at a time: there is more text behind the object; nothing was done"
                    .to_owned(),
            )),
        }
    }

    fn read(&mut self, offset: u64, size: usize) -> Vec<u8> {
        let start = *self
            .response_start
            .get_or_insert(if offset >= self.written {
                self.written
            } else {
                0
            });
        self.response[sub_range(self.response.len(), offset.saturating_sub(start), size)].to_vec()
    }
}

impl OpenRequestFile {
    /// Runs a whole request and keeps its response; fails as the request does.
    fn run(&self, host: &Host, text: &[u8]) -> Result<(), FsError> {
        let needed = request_bytes(
            protocol::find(largest_operation(self.file, text)),
            text,
            false,
        );
        let Ok(mut memory) = host
            .mount
            .memory
            .requests
            .wait_blocking(needed, MEMORY_WAIT)
        else {
            let (answer, ended) =
                failure_response(RequestError::Operation(Error::TooManyValues), None);
            self.respond(host, answer);
            return ended;
        };
        let (answer, ended) = match Document::parse(text.to_vec()) {
            Ok(request) => call(host, operation_of(self.file, request.root()), request),
            Err(error) => (
                failure_response(RequestError::Wire(WireError::NotAnObject), None).0,
                Err(FsError::Json(error)),
            ),
        };
        // The request read about as much as it returns: a large permit is given back when the heap
        // is trimmed.
        memory.shrink(parsed_bytes(text.len(), false) + READ_FACTOR * answer.capacity());
        self.respond(host, answer);
        ended
    }

    /// Keeps the response to the running request, and ends it.
    fn respond(&self, host: &Host, mut answer: Vec<u8>) {
        answer.push(b'\n');
        answer.shrink_to_fit();
        let answer = Arc::new(answer);
        let last = &host.mount.last_responses;
        last.record(last.session(host.mount.caller.pid), Arc::clone(&answer));
        let mut state = self.state.lock();
        state.response = answer;
        state.response_start = None;
        state.is_running = false;
    }

    /// Takes the next bytes of a request, and runs it when it is whole.
    fn write(self: Arc<Self>, host: &Host, offset: u64, data: &[u8], reply: Reply<()>) {
        let taken = {
            let mut state = self.state.lock();
            if state.is_too_long {
                drop(state);
                // The failure was reported already.
                return reply(Err(FsError::Invalid("a request is at most 16 MiB")));
            }
            let taken = state.feed(offset, data);
            // Set under the lock that the request was taken with: a second write must not begin
            // another.
            state.is_running |= matches!(taken, Ok(Some(_)));
            taken
        };
        match taken {
            Ok(None) => reply(Ok(())),
            Err(error) => reply(Err(error)),
            Ok(Some(request)) => {
                let host_clone = host.clone();
                host.run_long(move || reply(self.run(&host_clone, &request)));
            }
        }
    }
}

fn call(host: &Host, operation: &str, request: Document) -> (Vec<u8>, Result<(), FsError>) {
    let by = host.context();
    match protocol::call_with(by, operation, request, &*host.mount.db, HOST) {
        Ok(answer) => (answer, Ok(())),
        Err(failure) => failure_response(failure, protocol::find(operation)),
    }
}

/// Returns the response to a failed request, and its errno.
fn failure_response(
    failure: RequestError,
    operation: Option<&Operation>,
) -> (Vec<u8>, Result<(), FsError>) {
    let error_body = failure.error_body(operation);
    let body = error_body.json();
    let (exception, text) = (error_body.exception, error_body.text.unwrap_or_default());
    let cause = match failure {
        RequestError::Operation(error) | RequestError::Wire(WireError::Request(error)) => {
            FsError::Database(error)
        }
        RequestError::UnknownOperation | RequestError::Wire(_) => FsError::Body(text.clone()),
    };
    (
        body,
        Err(FsError::Api {
            failure: Box::new(cause),
            exception,
            text,
        }),
    )
}

impl SpecialHandle for OpenRequestFile {
    fn read(self: Arc<Self>, _host: &Host, offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let read = self.state.lock().read(offset, size);
        reply(Ok(ReadBytes::owned(read)));
    }

    fn call(self: Arc<Self>, host: &Host, call: FileCall, reply: Reply<()>) {
        match call {
            FileCall::Write { offset, data } => self.write(host, offset, &data, reply),
            // A child that inherited the descriptor closes its copy before the request is whole.
            FileCall::Flush
                if !self.state.lock().request.is_empty()
                    && same_process(self.opener, host.mount.caller.pid) =>
            {
                reply(Err(FsError::Body(
                    "the request is incomplete: its last bracket is missing; nothing was done"
                        .to_owned(),
                )));
            }
            _ => reply(Ok(())),
        }
    }

    fn size(&self) -> Option<u64> {
        let state = self.state.lock();
        Some(state.written + state.response.len() as u64)
    }

    fn held_bytes(&self) -> Option<usize> {
        let state = self.state.try_lock()?;
        Some(state.request.capacity() + state.response.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_taken_one_by_one() {
        let mut state = RequestExchange::default();
        let mut check = |data: &str, expected: Result<Option<&str>, ()>| {
            let offset = state.written;
            let taken = state.feed(offset, data.as_bytes());
            let taken = taken
                .map(|request| request.map(|text| String::from_utf8(text).unwrap()))
                .map_err(|_| ());
            assert_eq!(
                taken,
                expected.map(|request| request.map(str::to_owned)),
                "{data}"
            );
        };
        check("", Ok(None));
        check("\n", Ok(None));
        check("{\"a\":", Ok(None));
        check("1}\n", Ok(Some("{\"a\":1}\n")));
        check(" \n", Ok(None));
        check("[]", Err(()));
        check("{} {}", Err(()));
        check("{}", Ok(Some("{}")));
    }

    #[test]
    fn the_answer_is_read_where_the_request_ended_or_from_the_beginning() {
        let mut state = RequestExchange {
            response: Arc::new(b"answer".to_vec()),
            written: 10,
            ..RequestExchange::default()
        };
        assert_eq!(
            (state.read(10, 3), state.read(13, 9), state.read(16, 9)),
            (b"ans".to_vec(), b"wer".to_vec(), Vec::new())
        );
        state.response_start = None;
        assert_eq!(
            (state.read(0, 3), state.read(3, 9), state.read(6, 9)),
            (b"ans".to_vec(), b"wer".to_vec(), Vec::new())
        );
    }
}
