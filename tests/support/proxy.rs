//! A proxy of HTTP/1.1 before a server, which injects failures of networks and services.

use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A failure injected into a request.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// The response comes this much later.
    Late(Duration),
    /// The connection ends before the server sees the request.
    CutBefore,
    /// The server executes the request; the connection ends before the response.
    CutAfter,
    /// The connection ends in the middle of the response.
    CutInside,
    /// The server executes the request; this is the response instead.
    Instead(u16, &'static str),
    /// The server does not see the request; this is the response.
    Answer(u16, &'static str),
    /// The same, by a service with this time on its clock.
    AnswerAt(&'static str, u16, &'static str),
    /// No further byte is ever sent.
    Silence,
    /// Ten bytes of a response with this declared length; then no further byte is sent.
    Stall(u64),
    /// One byte of the response is changed.
    Garbled,
}

#[derive(Default)]
struct State {
    /// Failures of the next requests.
    next: VecDeque<Option<Trouble>>,
    /// The failure of all others.
    always: Option<Trouble>,
    /// Failures of one operation, before any of the above: once, or of every request.
    of_operation: Vec<(String, Trouble, bool)>,
    operations: Vec<String>,
    /// Capacity units in the responses.
    units: f64,
    /// Number of requests for a further page.
    continued: u64,
    /// True if counters of tables are replaced by 0, as in a table younger than some hours.
    counts_nothing: bool,
    connections: Vec<TcpStream>,
}

impl State {
    fn take_of(&mut self, operation: &str) -> Option<Trouble> {
        let at = self
            .of_operation
            .iter()
            .position(|(of, ..)| of == operation)?;
        let (_, trouble, is_once) = self.of_operation[at].clone();
        if is_once {
            self.of_operation.remove(at);
        }
        Some(trouble)
    }
}

/// A running proxy; ends when it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    state: Mutex<State>,
    is_gone: AtomicBool,
    is_ended: AtomicBool,
    /// The connections that have not ended.
    served: AtomicUsize,
}

impl Proxy {
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            state: Mutex::default(),
            is_gone: false.into(),
            is_ended: false.into(),
            served: AtomicUsize::new(0),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the failures of the next requests, one after the other; the proxy behaves from then on.
    pub fn next(&self, troubles: &[Trouble]) {
        self.shared
            .state
            .lock()
            .unwrap()
            .next
            .extend(troubles.iter().cloned().map(Some));
    }

    /// Lets requests pass before the next failures.
    pub fn pass(&self, count: usize) {
        self.shared
            .state
            .lock()
            .unwrap()
            .next
            .extend(std::iter::repeat_n(None, count));
    }

    /// Drops the failures of the next requests.
    pub fn forget_next(&self) {
        self.shared.state.lock().unwrap().next.clear();
    }

    /// Sets the failure of every request without another one.
    pub fn always(&self, trouble: Option<Trouble>) {
        self.shared.state.lock().unwrap().always = trouble;
    }

    /// Sets the failure of one further request of an operation.
    pub fn next_of(&self, operation: &str, trouble: Trouble) {
        let mut state = self.shared.state.lock().unwrap();
        state
            .of_operation
            .push((operation.to_owned(), trouble, true));
    }

    /// Sets the failure of every request of an operation.
    pub fn always_of(&self, operation: &str, trouble: Option<Trouble>) {
        let mut state = self.shared.state.lock().unwrap();
        state.of_operation.retain(|(of, ..)| of != operation);
        let always = trouble.map(|trouble| (operation.to_owned(), trouble, false));
        state.of_operation.extend(always);
    }

    /// Returns the operations requested since the last call, each as often as it was.
    pub fn take_operations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state.lock().unwrap().operations)
    }

    /// Returns the capacity units in the responses so far.
    pub fn units(&self) -> f64 {
        self.shared.state.lock().unwrap().units
    }

    /// Returns the number of requests so far that continued a listing or scan.
    pub fn continued(&self) -> u64 {
        self.shared.state.lock().unwrap().continued
    }

    /// True if no connection is open.
    pub fn is_idle(&self) -> bool {
        self.shared.served.load(Ordering::SeqCst) == 0
    }

    /// Makes the service report every table as empty from now on.
    pub fn count_nothing(&self) {
        self.shared.state.lock().unwrap().counts_nothing = true;
    }

    /// Makes every connection end, and new ones at once; or no more.
    pub fn be_gone(&self, is_gone: bool) {
        self.shared.is_gone.store(is_gone, Ordering::SeqCst);
        for stream in self.shared.state.lock().unwrap().connections.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_ended.store(true, Ordering::SeqCst);
        self.be_gone(true);
        // Wakes the thread, which then checks for the end.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming().map_while(Result::ok) {
        if shared.is_ended.load(Ordering::SeqCst) {
            return;
        }
        if shared.is_gone.load(Ordering::SeqCst) {
            continue;
        }
        shared
            .state
            .lock()
            .unwrap()
            .connections
            .push(client.try_clone().unwrap());
        let shared = Arc::clone(shared);
        // Ends when either side does.
        shared.served.fetch_add(1, Ordering::SeqCst);
        thread::spawn(move || {
            drop(serve(client, &shared));
            shared.served.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

/// Reads head and body of the next message; returns `None` at the end of the connection.
fn read_message(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Vec<u8>>> {
    let (mut message, mut byte) = (Vec::new(), [0]);
    while !message.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        message.push(byte[0]);
    }
    let length = field(&message, "content-length").map_or(0, |length| length.parse().unwrap());
    let head = message.len();
    message.resize(head + length, 0);
    stream.read_exact(&mut message[head..])?;
    Ok(Some(message))
}

fn field(message: &[u8], name: &str) -> Option<String> {
    let head = String::from_utf8_lossy(message);
    let mut fields = head
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'));
    fields
        .find(|(it, _)| it.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
}

fn serve(mut client: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut server = TcpStream::connect(shared.server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut asked, mut answers) = (
        BufReader::new(client.try_clone()?),
        BufReader::new(server.try_clone()?),
    );
    while let Some(request) = read_message(&mut asked)? {
        let trouble = {
            let mut state = shared.state.lock().unwrap();
            let target = field(&request, "x-amz-target").unwrap_or_default();
            let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
            let of_operation = state.take_of(&operation);
            state.operations.push(operation);
            state.continued += u64::from(
                request
                    .windows(18)
                    .any(|part| part == b"\"ExclusiveStartKey"),
            );
            match of_operation {
                Some(trouble) => Some(trouble),
                None => state
                    .next
                    .pop_front()
                    .unwrap_or_else(|| state.always.clone()),
            }
        };
        match &trouble {
            Some(Trouble::CutBefore) => return client.shutdown(Shutdown::Both),
            Some(Trouble::Answer(status, body)) => {
                client.write_all(&answer("", *status, body))?;
                continue;
            }
            Some(Trouble::AnswerAt(date, status, body)) => {
                client.write_all(&answer(&format!("Date: {date}\r\n"), *status, body))?;
                continue;
            }
            Some(Trouble::Silence | Trouble::Stall(_)) => {
                if let Some(Trouble::Stall(bytes)) = &trouble {
                    client.write_all(
                        format!("HTTP/1.1 200 x\r\nContent-Length: {bytes}\r\n\r\n{{\"Item\":{{ ")
                            .as_bytes(),
                    )?;
                }
                // Until the client closes the connection.
                while client.read(&mut [0; 64])? > 0 {}
                return Ok(());
            }
            Some(Trouble::Late(while_)) => thread::sleep(*while_),
            _ => {}
        }
        server.write_all(&request)?;
        let Some(mut answered) = read_message(&mut answers)? else {
            return Ok(());
        };
        {
            let mut state = shared.state.lock().unwrap();
            state.units += consumed(&answered);
            if state.counts_nothing {
                answered = uncounted(&answered);
            }
        }
        match trouble {
            Some(Trouble::CutAfter) => return client.shutdown(Shutdown::Both),
            Some(Trouble::CutInside) => {
                client.write_all(&answered[..answered.len() - 1])?;
                return client.shutdown(Shutdown::Both);
            }
            Some(Trouble::Garbled) => *answered.last_mut().unwrap() = b' ',
            Some(Trouble::Instead(status, body)) => answered = answer("", status, body),
            _ => {}
        }
        client.write_all(&answered)?;
    }
    Ok(())
}

/// Returns `CapacityUnits` of a response, of one table or several.
fn consumed(answer: &[u8]) -> f64 {
    let body = answer
        .windows(4)
        .position(|end| end == b"\r\n\r\n")
        .map_or(&[][..], |at| &answer[at + 4..]);
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let of = |told: &serde_json::Value| told["CapacityUnits"].as_f64().unwrap_or(0.0);
    let told = &json["ConsumedCapacity"];
    told.as_array()
        .map_or_else(|| of(told), |tables| tables.iter().map(of).sum())
}

/// Returns the response with its counters 0 and as long as before, and no checksum.
fn uncounted(answer: &[u8]) -> Vec<u8> {
    let mut text = answer.to_vec();
    for name in [
        "\"TableSizeBytes\":",
        "\"ItemCount\":",
        "\"IndexSizeBytes\":",
    ] {
        let places: Vec<usize> = text
            .windows(name.len())
            .enumerate()
            .filter(|(_, at)| *at == name.as_bytes())
            .map(|(at, _)| at + name.len())
            .collect();
        for at in places {
            let digits = text[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            text[at..at + digits].fill(b' ');
            text[at] = b'0';
        }
    }
    let checksum = text
        .windows(11)
        .position(|at| at.eq_ignore_ascii_case(b"x-amz-crc32"));
    checksum.into_iter().for_each(|at| text[at] = b'y');
    text
}

fn answer(fields: &str, status: u16, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} x\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
