//! A blocking HTTP client over kept connections, and a server of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A kept connection.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn open(addr: &str) -> Fallible<Self> {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![0; 256 * 1024],
        })
    }

    /// Sends a request and takes its answer: the status.
    pub fn call(&mut self, operation: &str, body: &str) -> Fallible<u16> {
        let request = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
             X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\nUser-Agent: bench\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
             Signature=0000000000000000000000000000000000000000000000000000000000000000\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes())?;
        let mut filled = 0;
        loop {
            filled += self.read(filled)?;
            let read = self.buffer.get(..filled).unwrap_or_default();
            let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let head = std::str::from_utf8(read.get(..end).unwrap_or_default())?;
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length.map_or("0", |(_, value)| value.trim()).parse()?;
            let status = head.split(' ').nth(1).unwrap_or_default().parse()?;
            let mut rest = (end + 4 + length).saturating_sub(filled);
            while rest > 0 {
                rest = rest.saturating_sub(self.read(0)?);
            }
            return Ok(status);
        }
    }

    fn read(&mut self, from: usize) -> Fallible<usize> {
        match self
            .stream
            .read(self.buffer.get_mut(from..).unwrap_or_default())?
        {
            0 => Err("the server closed the connection".into()),
            read => Ok(read),
        }
    }
}

pub fn expect(status: u16) -> Fallible<()> {
    if status == 200 {
        Ok(())
    } else {
        Err(format!("the server answered {status}").into())
    }
}

/// Runs `work` on so many threads.
pub fn each(threads: usize, work: &(dyn Fn() -> Fallible<()> + Sync)) -> Fallible<()> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a client thread panicked")?)
    })
}

/// A data directory on the disk of the build, not in a memory file system.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Fallible<Self> {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
        std::fs::create_dir_all(&scratch)?;
        Ok(Self(tempfile::tempdir_in(scratch)?))
    }

    pub fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }
}

pub struct Served {
    child: Child,
    pub addr: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Already ended by `end`, or nothing worth an orderly one.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// A server, and how long it took until its first answer.
    pub fn start(
        program: &OsStr,
        data: PathBuf,
        durability: Option<&str>,
    ) -> Fallible<(Self, Duration)> {
        let begun = Instant::now();
        let mut command = Command::new(program);
        command
            .args(["serve", "--http", "127.0.0.1:0", "--data"])
            .arg(data);
        command.args(durability.map(|how| format!("--durability={how}")));
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("no standard output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let addr = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split([',', '\n']).next());
        let addr = addr
            .ok_or_else(|| format!("the server said {line:?}"))?
            .to_owned();
        expect(Connection::open(&addr)?.call("ListTables", "{}")?)?;
        Ok((Self { child, addr }, begun.elapsed()))
    }

    /// Ends the server in order.
    pub fn end(mut self) -> Fallible<()> {
        Command::new("kill")
            .arg(self.child.id().to_string())
            .status()?;
        self.child.wait()?;
        Ok(())
    }
}
