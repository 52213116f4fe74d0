//! Request bodies: read whole, within limits of size, of time and of all bodies together.

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use super::in_flight::Share;

/// Largest body (SEMANTICS 1.1).
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Without a byte of the body.
pub const BODY_IDLE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("The request body is larger than 16 MiB.")]
    TooLarge,
    #[error("The request body did not come within 10 seconds.")]
    Idle,
    #[error("Too many large requests at once; send this one again later.")]
    Busy,
    #[error("The request body ended early or was malformed.")]
    Broken,
}

/// Reads the body; `share` grows with it.
///
/// # Errors
/// [`BodyError`]; what was read is dropped.
pub async fn read(mut incoming: Incoming, share: &mut Share) -> Result<Vec<u8>, BodyError> {
    let announced = incoming.size_hint().lower();
    if announced > BODY_BYTES_MAX as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::new();
    loop {
        let frame = match timeout(BODY_IDLE_TIMEOUT, incoming.frame()).await {
            Err(_) => return Err(BodyError::Idle),
            Ok(None) => return Ok(body),
            Ok(Some(Err(_))) => return Err(BodyError::Broken),
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers say nothing here.
        let Ok(data) = frame.into_data() else { continue };
        if body.len() + data.len() > BODY_BYTES_MAX {
            return Err(BodyError::TooLarge);
        }
        share.grow(data.len()).map_err(|_| BodyError::Busy)?;
        body.extend_from_slice(&data);
    }
}
