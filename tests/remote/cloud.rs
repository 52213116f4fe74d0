//! AWS's services for credentials, in one program: STS, SSO and its login (OIDC), sign-in, a container's agent, a machine's metadata, and
//! a DynamoDB that answers with what a request is signed for. An access key says where it comes from.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// Seconds until what is given here ends.
const LIFE: i64 = 3_600;

/// The services at one address; they end with the process.
pub struct Cloud {
    address: SocketAddr,
}

/// A request.
struct Asked {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Asked {
    fn read(stream: &mut impl Read) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut asked = Self {
            method,
            path,
            headers,
            body: String::new(),
        };
        let mut body = vec![0; asked.header("content-length").parse().unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        asked.body = String::from_utf8_lossy(&body).into_owned();
        Some(asked)
    }

    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value)
    }

    /// A parameter of the path or of a form.
    fn parameter(&self, name: &str) -> String {
        let text = self
            .path
            .split_once('?')
            .map_or(self.body.as_str(), |(_, query)| query);
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        let found = pairs
            .filter(|(own, _)| *own == name)
            .map(|(_, value)| value)
            .next();
        percent_encoding::percent_decode_str(found.unwrap_or_default())
            .decode_utf8_lossy()
            .into_owned()
    }

    /// The access key and the region of the signature.
    fn signer(&self) -> Option<(&str, &str)> {
        let (_, scope) = self.header("authorization").split_once("Credential=")?;
        let mut parts = scope.split('/');
        let key = parts.next()?;
        Some((key, parts.nth(1)?))
    }
}

fn end() -> String {
    let end = jiff::Timestamp::now().as_second() + LIFE;
    jiff::Timestamp::from_second(end).unwrap().to_string()
}

fn keys(id: &str) -> Value {
    json!({ "AccessKeyId": id, "SecretAccessKey": "secret", "Token": "token", "Expiration": end() })
}

pub const CERTIFICATE: &str = include_str!("tls/certificate.pem");

impl Cloud {
    pub fn start() -> Self {
        Self::listen(|listener| {
            for stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || serve(stream));
            }
        })
    }

    /// The same over TLS, with a certificate of this folder that no machine trusts.
    pub fn start_encrypted() -> Self {
        let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/key.pem")).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
        Self::listen(move |listener| {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                thread::spawn(move || serve(StreamOwned::new(connection, stream)));
            }
        })
    }

    fn listen(run: impl FnOnce(TcpListener) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || run(listener));
        Self { address }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(mut stream: impl Read + Write) {
    // A client that does not trust the certificate sends nothing.
    let Some(asked) = Asked::read(&mut stream) else {
        return;
    };
    let (status, body) = answer(&asked);
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
        body.len(),
        headers(&asked, status)
    );
    // A client that is gone gets no answer.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()));
}

/// Headers that clients look for.
fn headers(asked: &Asked, status: u16) -> &'static str {
    match (asked.path.as_str(), status) {
        ("/latest/api/token", 200) => "x-aws-ec2-metadata-token-ttl-seconds: 21600\r\n",
        ("/v1/token", 403) => "x-amzn-errortype: AccessDeniedException\r\n",
        _ => "",
    }
}

fn answer(asked: &Asked) -> (u16, String) {
    let path = asked.path.split('?').next().unwrap_or_default();
    match (asked.method.as_str(), path) {
        ("POST", "/") if !asked.header("x-amz-target").is_empty() => {
            let Some((key, region)) = asked.signer() else {
                return (400, String::new());
            };
            (200, json!({ "TableNames": [key, region] }).to_string())
        }
        ("POST", "/") => sts(asked),
        ("GET", "/federation/credentials") => {
            let token = asked.header("x-amz-sso_bearer_token");
            if !token.starts_with("good") {
                return (401, json!({ "message": "no session" }).to_string());
            }
            let end = (jiff::Timestamp::now().as_second() + LIFE) * 1_000;
            let id = format!(
                "sso.{}.{}.{token}",
                asked.parameter("account_id"),
                asked.parameter("role_name")
            );
            (200, json!({ "roleCredentials": { "accessKeyId": id, "secretAccessKey": "s", "sessionToken": "t", "expiration": end } }).to_string())
        }
        ("POST", "/token") => {
            let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
            if body["refreshToken"] != "refresh" || body["clientSecret"] != "x" {
                return (
                    400,
                    json!({ "error": "invalid_grant", "error_description": "expired" }).to_string(),
                );
            }
            (200, json!({ "accessToken": "goodagain", "expiresIn": 28_800, "refreshToken": "next", "tokenType": "Bearer" }).to_string())
        }
        ("POST", "/v1/token") => {
            let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
            let proof = asked.header("dpop");
            if body["refreshToken"] != "refresh" || proof.split('.').count() != 3 {
                return (
                    403,
                    json!({ "error": "TOKEN_EXPIRED", "message": "log in" }).to_string(),
                );
            }
            let keys =
                json!({ "accessKeyId": "LOGINAGAIN", "secretAccessKey": "s", "sessionToken": "t" });
            (200, json!({ "accessToken": keys, "tokenType": "urn:aws:params:oauth:token-type:access_token_sigv4", "expiresIn": 900, "refreshToken": "next" }).to_string())
        }
        ("GET", "/container") => {
            let token = asked.header("authorization");
            (200, keys(&format!("container{token}")).to_string())
        }
        ("PUT", "/latest/api/token") => (200, "imds".to_owned()),
        (_, path)
            if path.starts_with("/latest/")
                && asked.header("x-aws-ec2-metadata-token") != "imds" =>
        {
            (401, String::new())
        }
        ("GET", "/latest/meta-data/iam/security-credentials/") => (200, "machine".to_owned()),
        ("GET", "/latest/meta-data/iam/security-credentials/machine") => {
            let mut keys = keys("machine");
            keys["Code"] = "Success".into();
            keys["LastUpdated"] = "2026-01-01T00:00:00Z".into();
            keys["Type"] = "AWS-HMAC".into();
            (200, keys.to_string())
        }
        ("GET", "/latest/meta-data/placement/region") => (200, "ap-south-1".to_owned()),
        _ => (404, format!("no such path: {}", asked.path)),
    }
}

/// The access key that a role gives: the role, its conditions, and behind a dot the key of its caller.
fn sts(asked: &Asked) -> (u16, String) {
    let action = asked.parameter("Action");
    let of = |name: &str, mark: &str| match asked.parameter(name).as_str() {
        "" => String::new(),
        value => format!("-{mark}{value}"),
    };
    let arn = asked.parameter("RoleArn");
    let role = arn.rsplit('/').next().unwrap_or_default();
    let caller = match asked.signer() {
        Some((key, _)) => key.to_owned(),
        None if asked.parameter("WebIdentityToken") == "webtoken" => "web".to_owned(),
        None => return (400, "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>not the token</Message></Error></ErrorResponse>".to_owned()),
    };
    let conditions = of("ExternalId", "x") + &of("DurationSeconds", "d") + &of("TokenCode", "m");
    let keys = format!(
        "<Credentials><AccessKeyId>{role}{conditions}.{caller}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
         <Expiration>{}</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/{role}/s</Arn>\
         <AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>",
        end()
    );
    (
        200,
        format!(
            "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result>{keys}</{action}Result></{action}Response>"
        ),
    )
}
