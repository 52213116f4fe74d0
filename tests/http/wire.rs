//! The wire: compressed bodies, signatures that are checked, HTTP/1.0, and peers that are slow, silent, endless, many or strangers.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::support::http::{
    Answer, SIGNATURE, SOON, api, call, engine, exchange, ok, options, python, raw, read_answer,
    script, start, start_with,
};
use crate::support::wait::{PATIENCE, until_ok_with};
use ddbfs::engine::clock::ManualClock;
use ddbfs::http::compression::{self, Coding};
use ddbfs::http::{HttpOptions, Server};
use ddbfs::store::budget::{MemoryBudget, MemoryBudgets};
use flate2::read::{GzDecoder, ZlibDecoder};
use serde_json::json;

const TYPE: (&str, &str) = ("Content-Type", "application/x-amz-json-1.0");
const LIST: (&str, &str) = ("X-Amz-Target", "DynamoDB_20120810.ListTables");
const SIGNED: (&str, &str) = ("Authorization", SIGNATURE);
const DATED: (&str, &str) = ("X-Amz-Date", "20260101T000000Z");

fn head(headers: &[(&str, &str)]) -> Vec<u8> {
    let headers = [&[TYPE, SIGNED, DATED], headers].concat();
    raw("POST /", &headers, "")
}

/// A request whose body is these bytes.
fn with_bytes(headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    [
        head(&[headers, &[("Content-Length", length.as_str())]].concat()),
        body.to_vec(),
    ]
    .concat()
}

// ---- compression --------------------------------------------------------------------------------------------------------------

#[test]
fn compressed_requests_are_inflated() {
    let server = start();
    let addr = server.local_addr();
    let send = |encoding: &str, body: &[u8]| {
        let answer = exchange(
            addr,
            &with_bytes(&[LIST, ("Content-Encoding", encoding)], body),
        );
        (answer.status, answer.text())
    };
    let text = format!("{}{}", r#"{"Limit":1}"#, " ".repeat(1000)).into_bytes();
    let gzip = compression::compress(Coding::Gzip, &text).unwrap();
    let zlib = compression::compress(Coding::Deflate, &text).unwrap();
    let listed = (200, r#"{"TableNames":[]}"#.to_owned());
    assert_eq!(send("gzip", &gzip), listed);
    assert_eq!(send("GZIP", &gzip), listed);
    assert_eq!(send("deflate", &zlib), listed);
    assert_eq!(send("identity", &text), listed);
    let broken = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"The compressed request body is broken"}"#;
    assert_eq!(send("gzip", b"{}"), (500, broken.to_owned()));
    assert_eq!(
        send("gzip", &gzip[..gzip.len() / 2]),
        (500, broken.to_owned())
    );
    assert_eq!(send("deflate", b"{}"), (500, broken.to_owned()));
    let unknown = r#"{"__type":"com.amazon.coral.service#SerializationException","Message":"Content-Encoding must be gzip, deflate or identity"}"#;
    assert_eq!(send("br", &text), (400, unknown.to_owned()));
    let bomb = compression::compress(Coding::Gzip, &vec![b' '; 16 * 1024 * 1024 + 1]).unwrap();
    assert_eq!(send("gzip", &bomb).0, 413);
}

#[test]
fn long_answers_are_compressed_for_who_accepts_it() {
    let server = start();
    let addr = server.local_addr();
    let table = json!({
        "TableName": "Long", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    ok(addr, "CreateTable", &table);
    ok(
        addr,
        "PutItem",
        &json!({"TableName": "Long", "Item": {"pk": {"S": "a"}, "text": {"S": "snow ".repeat(2000)}}}),
    );
    let get = |accepted: &str| {
        let target = ("X-Amz-Target", "DynamoDB_20120810.GetItem");
        let body = br#"{"TableName":"Long","Key":{"pk":{"S":"a"}}}"#;
        exchange(
            addr,
            &with_bytes(&[target, ("Accept-Encoding", accepted)], body),
        )
    };
    let plain = get("identity");
    assert_eq!((plain.status, plain.body.len() > 10_000), (200, true));
    let check = |accepted: &str, encoding: Option<&str>, inflated: fn(&[u8]) -> Vec<u8>| {
        let answer = get(accepted);
        assert_eq!(
            answer.headers.get("content-encoding").map(String::as_str),
            encoding,
            "{accepted}"
        );
        assert_eq!(inflated(&answer.body), plain.body, "{accepted}");
        // The checksum is that of the body before it was compressed.
        assert_eq!(
            answer.headers["x-amz-crc32"], plain.headers["x-amz-crc32"],
            "{accepted}"
        );
    };
    check("gzip, deflate", Some("gzip"), |body| {
        read_all(GzDecoder::new(body))
    });
    check("deflate", Some("deflate"), |body| {
        read_all(ZlibDecoder::new(body))
    });
    check("gzip;q=0", None, <[u8]>::to_vec);
    check("br", None, <[u8]>::to_vec);
    let short = exchange(
        addr,
        &with_bytes(&[LIST, ("Accept-Encoding", "gzip")], b"{}"),
    );
    assert_eq!(short.headers.get("content-encoding"), None);
}

fn read_all(mut from: impl Read) -> Vec<u8> {
    let mut out = Vec::new();
    from.read_to_end(&mut out).unwrap();
    out
}

// ---- signatures ---------------------------------------------------------------------------------------------------------------

#[test]
fn with_a_key_configured_only_its_signatures_are_taken() {
    let credentials = Some(
        "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
            .parse()
            .unwrap(),
    );
    // 2015-08-30 12:36:00.
    let clock = Arc::new(ManualClock::at(1_440_938_160_000));
    let server = Server::start(
        HttpOptions {
            credentials,
            clock: clock.clone(),
            ..options()
        },
        engine(),
    )
    .unwrap();
    let addr = server.local_addr();
    // Signed by botocore.
    let signature = "Credential=AKIDEXAMPLE/20150830/us-east-1/dynamodb/aws4_request, \
                     SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
                     Signature=d2994f2167a92e7d6f4c1fdf05e59bd65f96df283717e158d2829432836228fe";
    let send = |signature: &str, body: &str| {
        let headers = [
            TYPE,
            ("Host", "localhost:8000"),
            ("X-Amz-Target", "DynamoDB_20120810.GetItem"),
            ("Authorization", &format!("AWS4-HMAC-SHA256 {signature}")),
            ("X-Amz-Date", "20150830T123600Z"),
        ];
        exchange(addr, &raw("POST /", &headers, body))
    };
    let body = r#"{"TableName":"Pets","Key":{"a":{"S":"b"}}}"#;
    let failed = |answer: Answer| {
        (
            answer.status,
            answer.json()["__type"].as_str().unwrap().to_owned(),
        )
    };
    let service = |name: &str| (400, format!("com.amazon.coral.service#{name}"));
    let passed = (
        400,
        "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException".to_owned(),
    );
    assert_eq!(failed(send(signature, body)), passed);
    assert_eq!(
        failed(send(signature, &body.replace("\"b\"", "\"c\""))),
        service("InvalidSignatureException")
    );
    assert_eq!(
        failed(send(&signature.replace("AKID", "SOME"), body)),
        service("UnrecognizedClientException")
    );
    assert_eq!(
        failed(send("Credential=a", body)),
        service("IncompleteSignatureException")
    );
    assert_eq!(
        failed(call(addr, "ListTables", &json!({}))),
        service("InvalidSignatureException")
    );
    let unsigned = exchange(addr, &raw("POST /", &[TYPE, LIST], "{}"));
    assert_eq!(
        failed(unsigned),
        service("MissingAuthenticationTokenException")
    );
    // The service says whether it lives to everybody, and finds bad JSON and targets before bad signatures.
    assert_eq!(exchange(addr, &raw("GET /", &[], "")).status, 200);
    assert_eq!(
        failed(exchange(addr, &raw("POST /", &[TYPE, LIST], "{"))),
        service("SerializationException")
    );
    clock.advance_ms(16 * 60 * 1000);
    assert_eq!(
        failed(send(signature, body)),
        service("InvalidSignatureException")
    );
}

#[test]
fn boto3_signs_with_the_right_key_and_with_wrong_ones() {
    let credentials = Some("right-key:right/secret+=".parse().unwrap());
    let server = Server::start(
        HttpOptions {
            credentials,
            ..options()
        },
        engine(),
    )
    .unwrap();
    let done = Command::new(python())
        .arg(script("boto3_signatures.py"))
        .arg(format!("http://{}", server.local_addr()))
        .output()
        .unwrap();
    server.shutdown();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        done.status.success(),
        "{}\n{}",
        text(&done.stdout),
        text(&done.stderr)
    );
}

// ---- connections --------------------------------------------------------------------------------------------------------------

#[test]
fn http_1_0_is_answered_and_closed_unless_kept() {
    let server = start();
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream
        .write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.starts_with("HTTP/1.0 200 OK\r\n"), "{all}");
    assert!(
        all.ends_with("healthy: dynamodb.us-east-1.amazonaws.com "),
        "{all}"
    );
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    for _ in 0..2 {
        stream
            .write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
            .unwrap();
        assert_eq!(read_answer(&mut stream).status, 200);
    }
}

#[test]
fn chunks_of_one_byte_make_a_body() {
    let server = start();
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    let headers = [TYPE, LIST, SIGNED, DATED];
    let lines: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head =
        format!("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n{lines}\r\n");
    let chunks: String =
        br#"{"Limit": 3}"#.iter().map(|byte| format!("1\r\n{}\r\n", char::from(*byte))).collect();
    stream
        .write_all(format!("{head}{chunks}0\r\nX-Trailer: a\r\n\r\n").as_bytes())
        .unwrap();
    assert_eq!(read_answer(&mut stream).text(), r#"{"TableNames":[]}"#);
    // The connection goes on after it.
    stream.write_all(&api("ListTables", "{}")).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
}

#[test]
fn a_hundred_pipelined_requests_are_answered_in_order() {
    let server = start();
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    let requests: Vec<u8> = (0..100)
        .flat_map(|n| api("DescribeTable", &format!(r#"{{"TableName":"table-{n}"}}"#)))
        .collect();
    stream.write_all(&requests).unwrap();
    for n in 0..100 {
        let text = read_answer(&mut stream).text();
        assert!(
            text.contains(&format!("table-{n} not found")),
            "{n}: {text}"
        );
    }
}

#[test]
fn who_expects_to_go_on_may_be_refused_before_sending() {
    let server = start();
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream
        .write_all(&head(&[
            LIST,
            ("Expect", "100-continue"),
            ("Content-Length", "99999999"),
        ]))
        .unwrap();
    assert_eq!(read_answer(&mut stream).status, 413);
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream
        .write_all(&raw(
            "POST /",
            &[
                TYPE,
                LIST,
                ("Host", "evil.example"),
                ("Expect", "100-continue"),
                ("Content-Length", "2"),
            ],
            "",
        ))
        .unwrap();
    assert_eq!(read_answer(&mut stream).status, 403);
}

#[test]
fn two_lengths_or_a_length_and_chunks_are_no_way_past_the_server() {
    let server = start();
    let check = |headers: &[(&str, &str)]| {
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        let text: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let smuggled = String::from_utf8(api("ListTables", "{}")).unwrap();
        stream
            .write_all(
                format!("POST / HTTP/1.1\r\nHost: localhost\r\n{text}\r\n0\r\n\r\n{smuggled}")
                    .as_bytes(),
            )
            .unwrap();
        let mut all = String::new();
        // The server may break off while we still write.
        let _ = stream
            .shutdown(Shutdown::Write)
            .and_then(|()| stream.read_to_string(&mut all));
        assert!(!all.contains("TableNames"), "{headers:?}: {all}");
    };
    check(&[("Content-Length", "2"), ("Content-Length", "200")]);
    check(&[("Content-Length", "-1")]);
    check(&[("Content-Length", "+2")]);
    check(&[("Transfer-Encoding", "gzip")]);
}

/// Writes until the server has had enough; the bytes it took.
fn pour(stream: &mut TcpStream, part: &[u8], bytes_max: usize) -> usize {
    let mut written = 0;
    while written < bytes_max {
        match stream.write(part) {
            Ok(0) | Err(_) => return written,
            Ok(more) => written += more,
        }
    }
    written
}

#[test]
fn endless_heads_and_bodies_are_cut_off() {
    const MORE_THAN_ALL: usize = 1 << 30;
    let server = start();
    let addr = server.local_addr();
    let endless = |start: &[u8], part: &[u8]| {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(start).unwrap();
        let taken = pour(&mut stream, part, MORE_THAN_ALL);
        assert!(taken < 64 * 1024 * 1024, "{taken} bytes were taken");
    };
    endless(b"GET /", &[b'a'; 4096]);
    endless(
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ",
        &[b'a'; 4096],
    );
    endless(
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        &b"X-A: b\r\n".repeat(512),
    );
    let chunked = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    endless(
        chunked,
        &[b"1000\r\n".as_slice(), &[b'a'; 4096], b"\r\n"].concat(),
    );
    // Chunk extensions and trailers without end.
    endless(&[chunked.as_slice(), b"1;"].concat(), &[b'a'; 4096]);
    endless(
        &[chunked.as_slice(), b"0\r\n"].concat(),
        &b"X-A: b\r\n".repeat(512),
    );
    assert_eq!(exchange(addr, &api("ListTables", "{}")).status, 200);
}

/// Whether the server closes the connection within the time that it gives anybody.
#[track_caller]
fn is_left(stream: &mut TcpStream) {
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
}

/// Sends a byte now and then until the server has closed the connection.
fn drip_until_closed(mut send: impl FnMut() -> std::io::Result<()>) {
    until_ok_with(
        "the server closes",
        PATIENCE,
        Duration::from_millis(20),
        || send().map_or(Ok(()), |()| Err("it took a byte".to_owned())),
    );
}

#[test]
fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let server = start_with(|timeouts| timeouts.head = SOON);
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    let mut slow = stream.try_clone().unwrap();
    let drip = std::thread::spawn(move || {
        let mut head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
            .iter()
            .chain(std::iter::repeat(&b'a'));
        drip_until_closed(|| slow.write_all(&[*head.next().unwrap()]));
    });
    is_left(&mut stream);
    // The next bytes meet a closed connection.
    drip.join().unwrap();
}

#[test]
fn a_body_that_comes_byte_by_byte_is_not_waited_for() {
    let server = start_with(|timeouts| timeouts.silence = SOON);
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream
        .write_all(&head(&[LIST, ("Content-Length", "10000")]))
        .unwrap();
    let mut slow = stream.try_clone().unwrap();
    let drip = std::thread::spawn(move || drip_until_closed(|| slow.write_all(b" ")));
    assert_eq!(read_answer(&mut stream).status, 408);
    is_left(&mut stream);
    drip.join().unwrap();
}

#[test]
fn a_connection_that_says_nothing_and_one_that_is_half_closed_are_left() {
    let server = start_with(|timeouts| timeouts.head = SOON);
    let mut silent = TcpStream::connect(server.local_addr()).unwrap();
    let mut half = TcpStream::connect(server.local_addr()).unwrap();
    half.write_all(&head(&[LIST, ("Content-Length", "100")]))
        .unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    is_left(&mut half);
    is_left(&mut silent);
}

#[test]
fn a_request_of_a_client_that_will_send_no_more_is_answered() {
    let server = start();
    // Often: the server may see the end of the client's side before, while or after it handles the request.
    for _ in 0..300 {
        let mut last = TcpStream::connect(server.local_addr()).unwrap();
        last.write_all(&api("ListTables", "{}")).unwrap();
        last.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_answer(&mut last).status, 200);
        let mut rest = Vec::new();
        assert_eq!(last.read_to_end(&mut rest).unwrap(), 0);
    }
}

#[test]
fn idle_connections_without_number_do_not_shut_others_out() {
    let server = start();
    let addr: SocketAddr = server.local_addr();
    // More than the server takes at a time; those above wait until others are left.
    let idle: Vec<TcpStream> = (0..1500)
        .map_while(|_| TcpStream::connect(addr).ok())
        .collect();
    assert!(
        idle.len() > 1024,
        "only {} connections could be opened; is the limit of open files low?",
        idle.len()
    );
    let mut stream = TcpStream::connect(addr).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    stream.write_all(&api("ListTables", "{}")).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
    drop(idle);
    assert_eq!(exchange(addr, &api("ListTables", "{}")).status, 200);
}

/// What there is room for is one body: the other waits for it, and is refused nothing.
#[test]
fn large_bodies_at_once_are_bounded_together() {
    const BOUND: usize = 1 << 20;
    let memory = MemoryBudgets {
        bodies: MemoryBudget::new(BOUND),
        ..MemoryBudgets::new(0)
    };
    let bodies = memory.bodies.clone();
    let server = Server::start(
        HttpOptions {
            memory,
            ..options()
        },
        engine(),
    )
    .unwrap();
    let addr = server.local_addr();
    let length = BOUND.to_string();
    let mut streams = [(); 2].map(|()| {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream
            .write_all(&head(&[LIST, ("Content-Length", &length)]))
            .unwrap();
        stream.write_all(&[b' '; 64 * 1024]).unwrap();
        stream
    });
    while bodies.held() == 0 {
        std::thread::yield_now();
    }
    // Reserved whole, though a part of it came; and small requests go on.
    assert_eq!(bodies.held(), BOUND);
    assert_eq!(exchange(addr, &api("ListTables", "{}")).status, 200);
    let rest = [&[b' '; BOUND - 64 * 1024 - 2][..], b"{}"].concat();
    std::thread::scope(|scope| {
        for stream in &mut streams {
            scope.spawn(|| {
                stream.write_all(&rest).unwrap();
                assert_eq!(read_answer(stream).status, 200);
            });
        }
    });
    assert_eq!(exchange(addr, &api("ListTables", "{}")).status, 200);
}

/// What a client of this user is answered when it speaks to the server.
fn as_user(uid: &str, addr: SocketAddr, python: &str) -> String {
    let script = format!(
        "import encodings.idna, os, socket\nos.setgroups([]); os.setuid({uid})\ns = socket.create_connection(('{}', {}), 30)\ns.settimeout(30)\n{python}",
        addr.ip(),
        addr.port()
    );
    let output = Command::new("python3")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const NOBODY: &str = "65534";
/// Asks whether the server is well, and prints the whole answer.
const ASK: &str = "s.sendall(b'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n')\nprint(s.makefile().read())";

#[test]
fn only_processes_of_the_servers_user_and_root_are_served() {
    let server = start();
    let refused = as_user(NOBODY, server.local_addr(), ASK);
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    for part in ["uid 65534", "--auth", "--http-allow-users"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    // Root is served as is the server's own user, which this is.
    assert!(as_user("0", server.local_addr(), ASK).contains("healthy"));
    // A stranger that sends a write and is gone at once has written nothing.
    let body = r#"{"TableName":"Tab","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}"#;
    let request = String::from_utf8(api("CreateTable", body)).unwrap();
    for _ in 0..20 {
        as_user(
            NOBODY,
            server.local_addr(),
            &format!("s.sendall({request:?}.encode())\ns.close()"),
        );
    }
    assert_eq!(
        ok(server.local_addr(), "ListTables", &json!({}))["TableNames"],
        json!([])
    );
    server.shutdown();
}

#[test]
fn other_users_are_served_where_that_is_asked_for_or_requests_are_signed() {
    let open = Server::start(
        HttpOptions {
            allow_users: true,
            ..options()
        },
        engine(),
    )
    .unwrap();
    assert!(as_user(NOBODY, open.local_addr(), ASK).contains("healthy"));
    let key = Some("key:secret".parse().unwrap());
    let signed = Server::start(
        HttpOptions {
            credentials: key,
            ..options()
        },
        engine(),
    )
    .unwrap();
    assert!(as_user(NOBODY, signed.local_addr(), ASK).contains("healthy"));
}

#[test]
fn a_host_or_origin_named_twice_and_a_foreign_one_in_the_request_line_are_refused() {
    let server = start();
    let addr = server.local_addr();
    let get = |target: &str, headers: &str| {
        exchange(
            addr,
            format!("GET {target} HTTP/1.1\r\n{headers}\r\n").as_bytes(),
        )
    };
    assert_eq!(get("/", "Host: localhost\r\n").status, 200);
    assert_eq!(
        get("http://localhost:8000/", "Host: localhost\r\n").status,
        200
    );
    assert_eq!(
        get("/", "Host: localhost\r\nHost: evil.example\r\n").status,
        400
    );
    assert_eq!(
        get(
            "/",
            "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n"
        )
        .status,
        400
    );
    for target in ["http://evil.example/", "http://localhost@evil.example/"] {
        let refused = get(target, "Host: localhost\r\n");
        assert_eq!(refused.status, 403, "{target}");
        assert!(
            refused.text().contains("--http-allow-host"),
            "{}",
            refused.text()
        );
    }
    let refused = get("/", "Host: localhost\r\nOrigin: ftp://localhost\r\n");
    assert_eq!(refused.status, 403);
    assert!(
        refused.text().contains("--http-allow-origin"),
        "{}",
        refused.text()
    );
}

#[test]
fn idle_connections_give_way_to_new_ones() {
    let server = start();
    let addr = server.local_addr();
    // Half of them have asked something and are kept alive, the others say nothing.
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..512 {
        let mut kept = TcpStream::connect(addr).unwrap();
        kept.write_all(&raw("GET /", &[], "")).unwrap();
        assert_eq!(read_answer(&mut kept).status, 200);
        idle.push(kept);
    }
    idle.extend((0..600).map(|_| TcpStream::connect(addr).unwrap()));
    // Shorter than what idle connections are given.
    let mut next = TcpStream::connect(addr).unwrap();
    next.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    next.write_all(&raw("GET /", &[], "")).unwrap();
    assert_eq!(read_answer(&mut next).status, 200);
    // The first, idle for longest, is closed; the one just answered goes on.
    is_left(&mut idle[0]);
    next.write_all(&raw("GET /", &[], "")).unwrap();
    assert_eq!(read_answer(&mut next).status, 200);
}
