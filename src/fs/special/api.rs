//! `.ddb/api/<Operation>` and `.ddb/transact`: a request of the API is written, and its response
//! read on the same handle.
//!
//! | difficulty | solved by |
//! |---|---|
//! | no call says that a request is whole | [`Brackets`] finds the bracket that ends it; the write that has it runs the request, and fails with its errno |
//! | reader and writer share one file offset (`exec 3<>F; echo … >&3; cat <&3`) | the response begins where the request ended; a reader that seeks to offset 0 finds it there |
//! | a shell that has only `>` | `.ddb/last/response.json` has the response too, also that of a failed request |
//! | a request takes long, or much memory | it runs on a thread for such work, which waits for memory first |

use crate::codec::{
    json::{
        document::{Document, Json},
        grammar::Brackets,
    },
    wire::WireError,
};
use crate::fs::{
    open::{
        host::noted,
        part,
        prelude::*,
        text::{Call, OpenSpecial},
    },
    process::same_process,
};
use crate::protocol::{
    self, Failure, Operation,
    memory::{READ_FACTOR, bytes_needed, bytes_of, may_have},
};
use crate::store::budget::PATIENCE;

/// The longest request, bytes: the same as over HTTP.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The host of DescribeEndpoints: the mount has no address.
const HOST: &str = "localhost";

/// `.ddb/api/`
pub struct Directory;

/// A file that takes requests.
#[derive(Debug, Clone, Copy)]
pub enum RequestFile {
    Operation(&'static str),
    /// TransactGetItems if its first action is a Get, else TransactWriteItems.
    Transact,
}

fn operation_node(at: &Special, name: &'static str) -> Node {
    at.child(name, RequestFile::Operation(name))
        .writable()
        .into()
}

impl NodeOps for Directory {
    fn resolve(&self, at: &SpecialNode, _mount: &Mount, name: &str) -> Result<Node> {
        protocol::find(name)
            .map(|operation| operation_node(at, operation.name))
            .ok_or(FsError::NotFound)
    }

    fn list(&self, at: &SpecialNode, _mount: &Mount) -> Result<Vec<Listed>> {
        let mut names: Vec<&'static str> = protocol::operations()
            .map(|operation| operation.name)
            .collect();
        names.sort_unstable();
        Ok(names
            .into_iter()
            .map(|name| listed(&operation_node(at, name), name))
            .collect())
    }

    fn is_judged_by_request(&self, _at: &SpecialNode) -> bool {
        true
    }
}

impl NodeOps for RequestFile {
    fn text(&self, _at: &SpecialNode, _mount: &Mount) -> Result<Vec<u8>> {
        let name = match self {
            Self::Operation(name) => name,
            Self::Transact => "TransactWriteItems or TransactGetItems",
        };
        let usage = format!(
            "write a request of {name} as JSON; the answer is then read here on the same descriptor, and in .ddb/last/response.json\n"
        );
        Ok(usage.into_bytes())
    }

    fn open_writer(&self, at: &SpecialNode, host: &Host, _flags: OpenFlags) -> Result<Handle> {
        let open = OpenApi {
            file: *self,
            path: at.path.clone(),
            opener: host.mount.caller.pid,
            state: Mutex::default(),
        };
        Ok(Handle::Special(Arc::new(open)))
    }

    fn is_judged_by_request(&self, _at: &SpecialNode) -> bool {
        true
    }
}

/// Returns the operation with the largest memory need among those that this text may request.
fn largest(file: RequestFile, text: &[u8]) -> &'static str {
    match file {
        RequestFile::Operation(name) => name,
        _ if may_have(text, b"Get") => "TransactGetItems",
        _ => "TransactWriteItems",
    }
}

/// Returns the operation of a request.
fn operation(file: RequestFile, request: Json<'_>) -> &'static str {
    let first = || request.get("TransactItems")?.as_list()?.next()?.as_object();
    match file {
        RequestFile::Operation(name) => name,
        _ if first().is_some_and(|action| action.get("Get").is_some()) => "TransactGetItems",
        _ => "TransactWriteItems",
    }
}

#[derive(Debug)]
struct OpenApi {
    file: RequestFile,
    path: String,
    opener: u32,
    state: Mutex<Exchange>,
}

/// The unfinished request of one descriptor, and the response to the one before.
#[derive(Debug, Default)]
struct Exchange {
    /// The beginning of a request.
    request: Vec<u8>,
    brackets: Brackets,
    is_running: bool,
    /// True if the request was too long. Further text is its rest, not a new request.
    is_refused: bool,
    answer: Arc<Vec<u8>>,
    /// File offset behind the last byte written.
    written: u64,
    /// File offset of the response's first byte, known from the first read.
    answer_start: Option<u64>,
}

impl Exchange {
    /// Takes the next bytes; returns the request if they complete it.
    fn take(&mut self, offset: u64, data: &[u8]) -> Result<Option<Vec<u8>>, FsError> {
        if self.is_running {
            return Err(FsError::Busy("a request of this descriptor is running"));
        }
        self.written = offset + data.len() as u64;
        if self.request.is_empty() && data.trim_ascii().is_empty() {
            return Ok(None);
        }
        let taken = self.take_text(data);
        if !matches!(taken, Ok(None)) {
            self.brackets = Brackets::default();
        }
        if taken.is_err() {
            self.request.clear();
        }
        taken
    }

    fn take_text(&mut self, data: &[u8]) -> Result<Option<Vec<u8>>> {
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
            self.is_refused = true;
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
        let start = *self.answer_start.get_or_insert(if offset >= self.written {
            self.written
        } else {
            0
        });
        self.answer[part(self.answer.len(), offset.saturating_sub(start), size)].to_vec()
    }
}

impl OpenApi {
    /// Runs a whole request and keeps its response; fails as the request does.
    fn run(&self, host: &Host, text: &[u8]) -> Result<(), FsError> {
        let needed = bytes_needed(protocol::find(largest(self.file, text)), text, false);
        let Ok(mut memory) = host.mount.requests.wait_blocking(needed, PATIENCE) else {
            let (answer, ended) = failed(Failure::Operation(Error::TooManyValues), None);
            self.answer(host, answer);
            return ended;
        };
        let (answer, ended) = match Document::parse(text.to_vec()) {
            Ok(request) => call(host, operation(self.file, request.root()), request),
            Err(error) => (
                failed(Failure::Wire(WireError::NotAnObject), None).0,
                Err(FsError::Json(error)),
            ),
        };
        // The request read about as much as it returns: a large permit is given back when the heap
        // is trimmed.
        memory.shrink(bytes_of(text.len(), false) + READ_FACTOR * answer.capacity());
        self.answer(host, answer);
        ended
    }

    /// Keeps the response to the running request, and ends it.
    fn answer(&self, host: &Host, mut answer: Vec<u8>) {
        answer.push(b'\n');
        answer.shrink_to_fit();
        let answer = Arc::new(answer);
        let last = &host.mount.last;
        last.keep(last.session(host.mount.caller.pid), Arc::clone(&answer));
        let mut state = self.state.lock();
        state.answer = answer;
        state.answer_start = None;
        state.is_running = false;
    }

    /// Takes the next bytes of a request, and runs it when it is whole.
    fn write(self: Arc<Self>, host: &Host, offset: u64, data: &[u8], reply: Reply<()>) {
        let taken = {
            let mut state = self.state.lock();
            if state.is_refused {
                drop(state);
                // The failure was reported already.
                return reply(Err(FsError::Invalid("a request is at most 16 MiB")));
            }
            let taken = state.take(offset, data);
            // Set under the lock that the request was taken with: a second write must not begin
            // another.
            state.is_running |= matches!(taken, Ok(Some(_)));
            taken
        };
        match taken {
            Ok(None) => reply(Ok(())),
            Err(error) => reply(noted(host, "write", || self.path.clone(), Err(error))),
            Ok(Some(request)) => {
                let again = host.clone();
                host.run_long(Box::new(move || {
                    let ended = self.run(&again, &request);
                    reply(noted(&again, "write", || self.path.clone(), ended));
                }));
            }
        }
    }
}

fn call(host: &Host, operation: &str, request: Document) -> (Vec<u8>, Result<(), FsError>) {
    let by = host.context();
    match protocol::call_by(by, operation, request, &*host.mount.db, HOST) {
        Ok(answer) => (answer, Ok(())),
        Err(failure) => failed(failure, protocol::find(operation)),
    }
}

/// Returns the response to a failed request, and its errno.
fn failed(failure: Failure, operation: Option<&Operation>) -> (Vec<u8>, Result<(), FsError>) {
    let told = failure.error_body(operation);
    let body = told.json();
    let (exception, text) = (told.exception, told.text.unwrap_or_default());
    let cause = match failure {
        Failure::Operation(error) | Failure::Wire(WireError::Request(error)) => {
            FsError::Database(error)
        }
        Failure::UnknownOperation | Failure::Wire(_) => FsError::Body(text.clone()),
    };
    (
        body,
        Err(FsError::Answered {
            failure: Box::new(cause),
            exception,
            text,
        }),
    )
}

impl OpenSpecial for OpenApi {
    fn read(self: Arc<Self>, _host: &Host, offset: u64, size: usize, reply: Reply<Bytes>) {
        let read = self.state.lock().read(offset, size);
        reply(Ok(Bytes::own(read)));
    }

    fn call(self: Arc<Self>, host: &Host, call: Call, reply: Reply<()>) {
        match call {
            Call::Write { offset, data } => self.write(host, offset, &data, reply),
            // A child that inherited the descriptor closes its copy before the request is whole.
            Call::Flush
                if !self.state.lock().request.is_empty()
                    && same_process(self.opener, host.mount.caller.pid) =>
            {
                let cut = FsError::Body(
                    "the request is incomplete: its last bracket is missing; nothing was done"
                        .to_owned(),
                );
                reply(noted(host, "close", || self.path.clone(), Err(cut)));
            }
            _ => reply(Ok(())),
        }
    }

    fn size(&self) -> Option<u64> {
        let state = self.state.lock();
        Some(state.written + state.answer.len() as u64)
    }

    fn held_bytes(&self) -> Option<usize> {
        let state = self.state.try_lock()?;
        Some(state.request.capacity() + state.answer.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_taken_one_by_one() {
        let mut state = Exchange::default();
        let mut check = |data: &str, expected: Result<Option<&str>, ()>| {
            let offset = state.written;
            let taken = state.take(offset, data.as_bytes());
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
        let mut state = Exchange {
            answer: Arc::new(b"answer".to_vec()),
            written: 10,
            ..Exchange::default()
        };
        assert_eq!(
            (state.read(10, 3), state.read(13, 9), state.read(16, 9)),
            (b"ans".to_vec(), b"wer".to_vec(), Vec::new())
        );
        state.answer_start = None;
        assert_eq!(
            (state.read(0, 3), state.read(3, 9), state.read(6, 9)),
            (b"ans".to_vec(), b"wer".to_vec(), Vec::new())
        );
    }
}
