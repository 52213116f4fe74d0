//! Compressed bodies in both directions (docs/dynamodb.md 1.1): gzip and deflate, which is zlib's
//! format.

use std::io::Read;

use flate2::Compression;
use flate2::read::{DeflateDecoder, GzEncoder, MultiGzDecoder, ZlibDecoder, ZlibEncoder};
use hyper::header::HeaderValue;

use super::body::BODY_BYTES_MAX;

/// The length above which an answer is compressed, if the client accepts it.
pub const COMPRESSED_ABOVE_BYTES: usize = 4 * 1024;
/// The compression level: fast, because the client waits.
const LEVEL: Compression = Compression::fast();
/// The number of bytes inflated at a time.
const CHUNK_BYTES: usize = 16 * 1024;

/// A supported content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Gzip,
    Deflate,
}

/// The reason why a compressed body cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InflateError {
    Broken,
    /// The inflated body exceeds [`BODY_BYTES_MAX`].
    TooLarge,
}

/// A parsed `Content-Encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentEncoding {
    Identity,
    Coded(Coding),
    /// An unsupported coding, or several.
    Unknown,
}

impl Coding {
    fn of(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            _ => None,
        }
    }

    /// Returns the value of `Content-Encoding`.
    #[must_use]
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
        })
    }
}

/// Reads `Content-Encoding`; an absent header is identity.
#[must_use]
pub fn content_encoding(header: Option<&str>) -> ContentEncoding {
    match header.map(str::trim) {
        None | Some("") => ContentEncoding::Identity,
        Some(name) if name.eq_ignore_ascii_case("identity") => ContentEncoding::Identity,
        Some(name) => Coding::of(name).map_or(ContentEncoding::Unknown, ContentEncoding::Coded),
    }
}

/// Returns the coding of `Accept-Encoding` that the answer may have: the first supported one with a
/// weight above zero.
#[must_use]
pub fn accepted_coding(header: Option<&str>) -> Option<Coding> {
    let codings = header?.split(',').filter_map(|part| {
        let (name, weight) = part.split_once(';').unwrap_or((part, ""));
        let weight = weight
            .trim()
            .strip_prefix("q=")
            .map_or(Some(1.0), |text| text.trim().parse::<f32>().ok());
        Coding::of(name.trim()).filter(|_| weight.is_some_and(|weight| weight > 0.0))
    });
    codings.into_iter().next()
}

/// Inflates a body. Its memory was reserved with that of the parsed request.
///
/// # Errors
/// [`InflateError`]; at most [`BODY_BYTES_MAX`] and one part are held.
pub fn decompress(coding: Coding, body: &[u8]) -> Result<Vec<u8>, InflateError> {
    match coding {
        // Several concatenated members are one body (RFC 1952).
        Coding::Gzip => read_all(MultiGzDecoder::new(body)),
        // Some clients omit zlib's header and checksum.
        Coding::Deflate if has_zlib_header(body) => read_all(ZlibDecoder::new(body)),
        Coding::Deflate => read_all(DeflateDecoder::new(body)),
    }
}

/// True if the body begins with a zlib header: the method is 8, and the first two bytes are a
/// multiple of 31 (RFC 1950).
fn has_zlib_header(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..] if method & 15 == 8 && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31))
}

fn read_all(mut decoder: impl Read) -> Result<Vec<u8>, InflateError> {
    let mut out = Vec::new();
    let mut part = [0; CHUNK_BYTES];
    loop {
        let read = decoder.read(&mut part).map_err(|_| InflateError::Broken)?;
        let Some(part) = part.get(..read).filter(|part| !part.is_empty()) else {
            return Ok(out);
        };
        if out.len() + read > BODY_BYTES_MAX {
            return Err(InflateError::TooLarge);
        }
        out.extend_from_slice(part);
    }
}

/// Compresses an answer; `None` if that does not make it smaller.
#[must_use]
pub fn compress(coding: Coding, body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len() / 4);
    match coding {
        Coding::Gzip => GzEncoder::new(body, LEVEL).read_to_end(&mut out),
        Coding::Deflate => ZlibEncoder::new(body, LEVEL).read_to_end(&mut out),
    }
    .ok()?;
    (out.len() < body.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn bodies_come_back() {
        let text = b"{\"TableName\":\"Pets\"}".repeat(1000);
        for coding in [Coding::Gzip, Coding::Deflate] {
            let small = compress(coding, &text).unwrap();
            assert!(small.len() < text.len() / 10);
            assert_eq!(decompress(coding, &small), Ok(text.clone()));
        }
        let zlib = compress(Coding::Deflate, &text).unwrap();
        assert_eq!(
            decompress(Coding::Deflate, &zlib[2..zlib.len() - 4]),
            Ok(text.clone())
        );
        let gzip = compress(Coding::Gzip, &text).unwrap();
        assert_eq!(
            decompress(Coding::Gzip, &[gzip.clone(), gzip].concat()),
            Ok(text.repeat(2))
        );
        assert_eq!(compress(Coding::Gzip, b"{}"), None);
    }

    #[test]
    fn broken_and_huge_bodies_are_told() {
        let gzip = compress(Coding::Gzip, &b"abc".repeat(100)).unwrap();
        assert_eq!(
            decompress(Coding::Gzip, &gzip[..gzip.len() - 1]),
            Err(InflateError::Broken)
        );
        assert_eq!(decompress(Coding::Gzip, b"{}"), Err(InflateError::Broken));
        assert_eq!(
            decompress(Coding::Deflate, b"\xff\xff"),
            Err(InflateError::Broken)
        );
        let bomb = compress(Coding::Gzip, &vec![0; BODY_BYTES_MAX + 1]).unwrap();
        assert!(bomb.len() < 200_000);
        assert_eq!(decompress(Coding::Gzip, &bomb), Err(InflateError::TooLarge));
        let full = compress(Coding::Gzip, &vec![0; BODY_BYTES_MAX]).unwrap();
        assert_eq!(
            decompress(Coding::Gzip, &full).map(|body| body.len()),
            Ok(BODY_BYTES_MAX)
        );
    }

    #[test]
    fn headers_name_codings() {
        let check = |header: Option<&str>, expected: Option<Coding>| {
            assert_eq!(accepted_coding(header), expected, "{header:?}")
        };
        check(None, None);
        check(Some("identity"), None);
        check(Some("gzip, deflate, br"), Some(Coding::Gzip));
        check(Some("br;q=1.0, Deflate;q=0.5"), Some(Coding::Deflate));
        check(Some("gzip;q=0, deflate; q=0.0"), None);
        check(Some("gzip;q=x"), None);
        let check = |header: Option<&str>, expected| {
            assert_eq!(content_encoding(header), expected, "{header:?}")
        };
        check(None, ContentEncoding::Identity);
        check(Some("Identity"), ContentEncoding::Identity);
        check(Some(" GZIP "), ContentEncoding::Coded(Coding::Gzip));
        check(Some("deflate"), ContentEncoding::Coded(Coding::Deflate));
        check(Some("gzip, gzip"), ContentEncoding::Unknown);
        check(Some("br"), ContentEncoding::Unknown);
    }
}
