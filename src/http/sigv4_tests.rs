//! Tests of `sigv4`: the published test suite of Signature Version 4, and requests of our own that
//! botocore signed.

#![allow(clippy::unwrap_used)]

use data_encoding::HEXLOWER;
use hyper::header::{HeaderName, HeaderValue};

use super::*;
use crate::model::clock::ManualClock;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
/// 2015-08-30 12:36:00.
const SUITE_SECONDS: u64 = 1_440_938_160;
const BODY: &[u8] = br#"{"TableName":"Pets","Key":{"a":{"S":"b"}}}"#;

fn header_map(headers: &[(&str, &str)]) -> HeaderMap {
    let pairs = headers.iter().map(|(name, value)| {
        (
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        )
    });
    pairs.collect()
}

/// Checks a case of the suite; its requests are for a service named "service".
#[track_caller]
fn check_suite(method: &str, query: &str, headers: &[(&str, &str)], body: &[u8], expected: &str) {
    let mut all = header_map(headers);
    all.append("host", HeaderValue::from_static("example.amazonaws.com"));
    all.append("x-amz-date", HeaderValue::from_static("20150830T123600Z"));
    let mut names: Vec<&str> = all.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    let request = SignedRequest {
        method,
        path: "/",
        query,
        headers: &all,
        body,
    };
    let time = SignTime::at(SUITE_SECONDS);
    let scope =
        CredentialScope::parse("AKIDEXAMPLE/20150830/us-east-1/service/aws4_request").unwrap();
    let signature = signature_of(
        &canonical_request(&request, &names.join(";")),
        SECRET,
        &scope,
        time,
    )
    .unwrap();
    assert_eq!(
        HEXLOWER.encode(&signature.finalize().into_bytes()),
        expected,
        "{method} {query} {headers:?}"
    );
}

#[test]
fn the_published_suite_is_signed_as_published() {
    check_suite(
        "GET",
        "",
        &[],
        b"",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    );
    check_suite(
        "POST",
        "",
        &[],
        b"",
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    );
    check_suite(
        "GET",
        "Param1=value1",
        &[],
        b"",
        "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    );
    check_suite(
        "GET",
        "Param2=value2&Param1=value1",
        &[],
        b"",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    );
    check_suite(
        "GET",
        "Param1=value2&Param1=Value1",
        &[],
        b"",
        "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1",
    );
    check_suite(
        "GET",
        "-._~0123456789=-._~x",
        &[],
        b"",
        "347d72a79c7b469b4fe023e67096d15f81272f73c4bdde924eba57d91309e3f8",
    );
    check_suite(
        "GET",
        "%E1%88%B4=bar",
        &[],
        b"",
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
    );
    let twice = [
        ("My-Header1", "value2"),
        ("My-Header1", "value2"),
        ("My-Header1", "value1"),
    ];
    check_suite(
        "GET",
        "",
        &twice,
        b"",
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    );
    let blanks = [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")];
    check_suite(
        "GET",
        "",
        &blanks,
        b"",
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    );
    check_suite(
        "POST",
        "",
        &[("My-Header1", "value1")],
        b"",
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    );
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    check_suite(
        "POST",
        "",
        &form,
        b"Param1=value1",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    );
}

/// A valid request, to be made invalid.
#[derive(Clone)]
struct Case {
    query: String,
    authorization: Option<String>,
    date: (&'static str, &'static str),
    target: &'static str,
    body: &'static [u8],
    now: u64,
}

fn signed(signed_headers: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/dynamodb/aws4_request, SignedHeaders={signed_headers}, \
         Signature={signature}"
    )
}

fn case() -> Case {
    let signature = "d2994f2167a92e7d6f4c1fdf05e59bd65f96df283717e158d2829432836228fe";
    Case {
        query: String::new(),
        authorization: Some(signed(
            "content-type;host;x-amz-date;x-amz-target",
            signature,
        )),
        date: ("x-amz-date", "20150830T123600Z"),
        target: "DynamoDB_20120810.GetItem",
        body: BODY,
        now: SUITE_SECONDS,
    }
}

fn presigned() -> Case {
    let query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fdynamodb%2Faws4_request\
                 &X-Amz-Date=20150830T123600Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host%3Bx-amz-target\
                 &X-Amz-Signature=5a4575b9d7b621b7b68919a80f661f08966f2c698963ec9744f3ff0b519eb7f4";
    Case {
        query: query.to_owned(),
        authorization: None,
        date: ("x-ignored", "x"),
        body: b"",
        ..case()
    }
}

#[track_caller]
fn check(case: &Case, expected: Result<(), &str>) {
    let mut headers = header_map(&[
        ("host", "localhost:8000"),
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-target", case.target),
        case.date,
    ]);
    if let Some(authorization) = &case.authorization {
        headers.append(
            "authorization",
            HeaderValue::from_str(authorization).unwrap(),
        );
    }
    let credentials = format!("AKIDEXAMPLE:{SECRET}").parse().unwrap();
    let verifier = Verifier::new(credentials, Arc::new(ManualClock::at(case.now * 1000)));
    let request = SignedRequest {
        method: "POST",
        path: "/",
        query: &case.query,
        headers: &headers,
        body: case.body,
    };
    let found = verifier.check(&request).map_err(|error| error.to_string());
    assert_eq!(found, expected.map_err(str::to_owned));
}

const MISMATCH: &str = "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
                        Key and signing method. Consult the service documentation for details.";

#[test]
fn requests_that_botocore_signed_hold() {
    check(&case(), Ok(()));
    let dated = "a00663159df3d055fdfb734252e57a05b854a44ebd4346401fa376bc43db156a";
    let date = ("date", "Sun, 30 Aug 2015 12:36:00 -0000");
    check(
        &Case {
            authorization: Some(signed("content-type;date;host;x-amz-target", dated)),
            date,
            ..case()
        },
        Ok(()),
    );
    let queried = "8ea799aaeff4f4360bc20bd5a47fd933fa007f83e100ff191b770c5032182b30";
    let authorization = Some(signed("content-type;host;x-amz-date;x-amz-target", queried));
    check(
        &Case {
            authorization,
            query: "b=%2Fx&a=1".to_owned(),
            ..case()
        },
        Ok(()),
    );
    check(&presigned(), Ok(()));
}

#[test]
fn a_change_after_signing_is_refused() {
    check(
        &Case {
            body: b"{}",
            ..case()
        },
        Err(MISMATCH),
    );
    check(
        &Case {
            target: "DynamoDB_20120810.DeleteItem",
            ..case()
        },
        Err(MISMATCH),
    );
    check(
        &Case {
            query: "a=b".to_owned(),
            ..case()
        },
        Err(MISMATCH),
    );
    check(
        &Case {
            query: presigned().query.replace("Expires=3600", "Expires=3601"),
            ..presigned()
        },
        Err(MISMATCH),
    );
    for signature in ["", "00", "zz", &"0".repeat(64), "é"] {
        let authorization = signed("content-type;host;x-amz-date;x-amz-target", "x")
            .replace("Signature=x", &format!("Signature={signature}"));
        if HeaderValue::from_str(&authorization).is_ok_and(|value| value.to_str().is_ok()) {
            check(
                &Case {
                    authorization: Some(authorization),
                    ..case()
                },
                Err(MISMATCH),
            );
        }
    }
}

#[test]
fn dates_count_for_fifteen_minutes_each_way() {
    check(
        &Case {
            now: SUITE_SECONDS + SKEW_SECONDS_MAX,
            ..case()
        },
        Ok(()),
    );
    check(
        &Case {
            now: SUITE_SECONDS - SKEW_SECONDS_MAX,
            ..case()
        },
        Ok(()),
    );
    check(
        &Case {
            now: SUITE_SECONDS + SKEW_SECONDS_MAX + 1,
            ..case()
        },
        Err(
            "Signature expired: 20150830T123600Z is now earlier than 20150830T123601Z (20150830T125101Z - 15 min.)",
        ),
    );
    check(
        &Case {
            now: SUITE_SECONDS - SKEW_SECONDS_MAX - 1,
            ..case()
        },
        Err(
            "Signature not yet current: 20150830T123600Z is still later than 20150830T123559Z (20150830T122059Z + 15 min.)",
        ),
    );
    check(
        &Case {
            date: ("x-amz-date", "yesterday"),
            ..case()
        },
        Err("Date must be in ISO-8601 'basic format'. Got 'yesterday'."),
    );
    check(
        &Case {
            now: SUITE_SECONDS + 3600,
            ..presigned()
        },
        Ok(()),
    );
    check(
        &Case {
            now: SUITE_SECONDS + 3601,
            ..presigned()
        },
        Err(
            "Signature expired: the request of 20150830T123600Z was to be sent within 3600 seconds.",
        ),
    );
    let endless = presigned().query.replace("Expires=3600", "Expires=604801");
    check(
        &Case {
            query: endless,
            ..presigned()
        },
        Err("X-Amz-Expires must be a number of seconds, at most 604800."),
    );
}

#[test]
fn scopes_keys_and_signed_headers_must_be_right() {
    let with = |from: &str, to: &str| Case {
        authorization: case().authorization.map(|text| text.replace(from, to)),
        ..case()
    };
    check(
        &with("AKIDEXAMPLE", "AKIDOTHER"),
        Err("The security token included in the request is invalid."),
    );
    check(
        &with("/dynamodb/", "/s3/"),
        Err("Credential should be scoped to correct service: 'dynamodb'."),
    );
    check(
        &with("aws4_request", "aws5_request"),
        Err("Credential should be scoped with a valid terminator: 'aws4_request'."),
    );
    check(
        &with("20150830", "20150829"),
        Err(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20150829' != '20150830', \
             from '20150830T123600Z'.",
        ),
    );
    check(
        &with("/us-east-1/", "/"),
        Err(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, \
             got 'AKIDEXAMPLE/20150830/dynamodb/aws4_request'",
        ),
    );
    check(&with(", ", " "), Ok(()));
    check(&with("us-east-1", "eu-west-1"), Err(MISMATCH));
    // An expired date comes before the scope's date, and both come before an unsigned header.
    let mut late = with("20150830", "20150829");
    late.authorization = late.authorization.map(|text| text.replace("host;", ""));
    late.now += 3600;
    check(
        &late,
        Err(
            "Signature expired: 20150830T123600Z is now earlier than 20150830T132100Z (20150830T133600Z - 15 min.)",
        ),
    );
    late.now = SUITE_SECONDS;
    check(
        &late,
        Err(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20150829' != '20150830', \
             from '20150830T123600Z'.",
        ),
    );
    check(
        &with("HMAC-SHA256", "ECDSA-P256-SHA256"),
        Err("The algorithm of the signature must be AWS4-HMAC-SHA256."),
    );
    check(
        &with("host;", ""),
        Err("'host' must be a 'SignedHeader' in the AWS Authorization."),
    );
    check(
        &with(";x-amz-target", ""),
        Err("'x-amz-target' must be a 'SignedHeader' in the AWS Authorization."),
    );
    check(
        &with("x-amz-date;", ""),
        Err("'x-amz-date' must be a 'SignedHeader' in the AWS Authorization."),
    );
}

#[test]
fn credentials_are_a_key_and_a_secret() {
    let legal = |text: &str| text.parse::<Credentials>().is_ok();
    assert!(legal("key:secret") && legal("key:se:cr/et+="));
    assert!(
        !legal("")
            && !legal("key")
            && !legal("key:")
            && !legal(":secret")
            && !legal("a/b:c")
            && !legal("a b:c")
    );
    let credentials: Credentials = "key:secret".parse().unwrap();
    assert_eq!(format!("{credentials:?}"), "Credentials");
}
