//! Authentication, its first step: presence of a signature (docs/dynamodb.md 1.6, 27). A signature
//! and its parts are checked for presence as the service does, so that a client that forgot to sign
//! learns it here and not in production; [`super::sigv4`] verifies it, where a key is configured.

use super::sigv4::SignatureError;
use super::sigv4::parameters;

/// An incomplete or wrong signature; `Display` is the service's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// MissingAuthenticationTokenException.
    #[error("Request is missing Authentication Token")]
    Missing,
    /// InvalidSignatureException.
    #[error(
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
    )]
    Both,
    /// IncompleteSignatureException, with its sentences.
    #[error("{0}")]
    Incomplete(String),
    /// UnrecognizedClientException or InvalidSignatureException.
    #[error(transparent)]
    Wrong(#[from] SignatureError),
}

/// The parts of a request that concern its signature.
#[derive(Debug, Clone, Copy)]
pub struct SignatureParts<'a> {
    /// The `Authorization` header.
    pub header: Option<&'a str>,
    pub query: &'a str,
    /// True if the request has `X-Amz-Date` or `Date`.
    pub has_date: bool,
}

/// Checks that a signature is present and has its parts.
///
/// # Errors
/// [`AuthError`]: the first in the service's order of checks.
pub fn check(signature: &SignatureParts<'_>) -> Result<(), AuthError> {
    // An empty value is no signature in the query: then a header counts.
    let in_query = signature.query.split('&').any(|part| {
        part.strip_prefix("X-Amz-Algorithm=")
            .is_some_and(|value| !value.is_empty())
    });
    match signature.header {
        Some(_) if in_query => Err(AuthError::Both),
        // The service takes another scheme (Basic, Bearer) as no signature at all, not as a wrong
        // one.
        Some(header) if header.starts_with("AWS4-") => check_header(header, signature.has_date),
        Some(_) => Err(AuthError::Missing),
        None if in_query => check_query(signature.query),
        None => Err(AuthError::Missing),
    }
}

fn check_header(header: &str, dated: bool) -> Result<(), AuthError> {
    let has = |name| parameters(header).any(|(key, value)| key == name && !value.is_empty());
    let names = ["Credential", "Signature", "SignedHeaders"];
    let mut sentences: String = names
        .into_iter()
        .filter(|name| !has(*name))
        .map(|name| format!("Authorization header requires '{name}' parameter. "))
        .collect();
    if !dated {
        sentences.push_str(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ",
        );
    }
    complete(sentences, &format!("Authorization={header}"))
}

fn check_query(query: &str) -> Result<(), AuthError> {
    let has = |name| {
        let mut parts = query.split('&');
        parts.any(|part| part.split('=').next() == Some(name))
    };
    let names = [
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Signature",
        "X-Amz-SignedHeaders",
        "X-Amz-Date",
    ];
    let sentences = names
        .into_iter()
        .filter(|name| !has(*name))
        .map(|name| format!("AWS query-string parameters must include '{name}'. "))
        .collect();
    complete(sentences, "Re-examine the query-string parameters.")
}

/// Returns the error of sentences about what is missing, if there are any.
fn complete(mut sentences: String, end: &str) -> Result<(), AuthError> {
    if sentences.is_empty() {
        return Ok(());
    }
    sentences.push_str(end);
    Err(AuthError::Incomplete(sentences))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(header: Option<&str>, query: &str, has_date: bool, expected: &str) {
        let found = check(&SignatureParts {
            header,
            query,
            has_date,
        });
        assert_eq!(
            found.map_or_else(|error| error.to_string(), |()| String::new()),
            expected
        );
    }

    #[test]
    fn signatures_must_be_whole_but_may_be_any() {
        let whole = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00";
        check_text(Some(whole), "", true, "");
        check_text(None, "", true, "Request is missing Authentication Token");
        check_text(
            Some("Bearer x"),
            "",
            true,
            "Request is missing Authentication Token",
        );
        check_text(
            Some(whole),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            true,
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        );
        check_text(
            Some("AWS4-HMAC-SHA256 Signature=a"),
            "",
            false,
            "Authorization header requires 'Credential' parameter. Authorization header requires 'SignedHeaders' parameter. \
             Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. \
             Authorization=AWS4-HMAC-SHA256 Signature=a",
        );
        check_text(Some(&whole.replace(", ", " ")), "", true, "");
        check_text(
            Some(&whole.replace(", ", ",")),
            "X-Amz-Algorithm=",
            true,
            "",
        );
        check_text(
            None,
            "X-Amz-Algorithm=&X-Amz-Credential=b",
            true,
            "Request is missing Authentication Token",
        );
        check_text(
            Some("AWS4- Signature=b Credential=a"),
            "",
            true,
            "Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4- Signature=b Credential=a",
        );
        check_text(
            None,
            "X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-SignedHeaders=d",
            false,
            "AWS query-string parameters must include 'X-Amz-Date'. Re-examine the query-string parameters.",
        );
    }
}
