//! Request bodies: read whole, within limits of size, of time and of all bodies together.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};

use super::in_flight::Share;

/// Largest body (SEMANTICS 1.1).
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Without a byte of the body.
pub const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes that a second of a body's time must bring, after the first [`BODY_IDLE_TIMEOUT`]: who sends a byte now and then
/// would hold a connection for ever.
pub const RATE_MIN: u32 = 16 * 1024;

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("The request body is larger than 16 MiB.")]
    TooLarge,
    #[error("The request body did not come for 10 seconds, or came too slowly.")]
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
    let started = Instant::now();
    loop {
        let deadline = (started + allowed(body.len())).min(Instant::now() + BODY_IDLE_TIMEOUT);
        let frame = match timeout_at(deadline, incoming.frame()).await {
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

/// How long `bytes` of a body or an answer may have taken, and the next one may take.
pub fn allowed(bytes: usize) -> Duration {
    let seconds = bytes / RATE_MIN as usize;
    BODY_IDLE_TIMEOUT + Duration::from_secs(seconds as u64)
}
