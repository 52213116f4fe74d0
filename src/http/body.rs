//! Request bodies: read whole, within limits of size, of time and of all bodies together.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::time::{Instant, timeout_at};

use super::in_flight::Share;

/// Largest body (docs/dynamodb.md 1.1).
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Without a byte of the body.
pub const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes that a second of a body's time must bring, after the first [`BODY_IDLE_TIMEOUT`]: who sends a byte now and then
/// would hold a connection for ever.
pub const RATE_MIN: u32 = 16 * 1024;

/// What is read of a body that is refused, so that a client which is still writing it comes to read the answer.
const REFUSED_BYTES_MAX: usize = 40 * 1024 * 1024;

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

/// Reads the body; `share` grows with it. Of one that is too large the rest is read over while the answer is written already, up to
/// `REFUSED_BYTES_MAX`: closed at once, the connection would be reset, and the answer lost. Who `waits` to be told to go on sends none.
///
/// # Errors
/// [`BodyError`]; what was read is dropped.
pub async fn read(mut incoming: Incoming, share: &mut Share, waits: bool) -> Result<Bytes, BodyError> {
    let read = read_whole(&mut incoming, share).await;
    if matches!(read, Err(BodyError::TooLarge)) && !waits {
        tokio::spawn(read_over(incoming));
    }
    read
}

/// Reads what still comes, and keeps nothing.
async fn read_over(mut incoming: Incoming) {
    let (started, mut bytes) = (Instant::now(), 0);
    while bytes < REFUSED_BYTES_MAX {
        let deadline = (started + allowed(bytes)).min(Instant::now() + BODY_IDLE_TIMEOUT);
        match next(&mut incoming, deadline).await {
            Ok(Some(more)) => bytes += more.len(),
            Ok(None) | Err(_) => return,
        }
    }
}

async fn read_whole(incoming: &mut Incoming, share: &mut Share) -> Result<Bytes, BodyError> {
    // What Content-Length says: a body that says itself that it is too large is not read at all.
    let announced = incoming.size_hint().lower();
    if announced > BODY_BYTES_MAX as u64 {
        return Err(BodyError::TooLarge);
    }
    let started = Instant::now();
    let first = match next(incoming, started + BODY_IDLE_TIMEOUT).await? {
        None => return Ok(Bytes::new()),
        Some(first) => first,
    };
    grow(share, 0, first.len())?;
    // Most bodies come in one part, and are taken as they are.
    if incoming.is_end_stream() {
        return Ok(first);
    }
    let mut all = Vec::from(first);
    loop {
        let deadline = (started + allowed(all.len())).min(Instant::now() + BODY_IDLE_TIMEOUT);
        let Some(more) = next(incoming, deadline).await? else { return Ok(all.into()) };
        grow(share, all.len(), more.len())?;
        all.extend_from_slice(&more);
    }
}

/// The next part, if there is one. Trailers say nothing here.
async fn next(incoming: &mut Incoming, deadline: Instant) -> Result<Option<Bytes>, BodyError> {
    loop {
        match timeout_at(deadline, incoming.frame()).await {
            Err(_) => return Err(BodyError::Idle),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(BodyError::Broken),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn grow(share: &mut Share, held: usize, more: usize) -> Result<(), BodyError> {
    if held + more > BODY_BYTES_MAX {
        return Err(BodyError::TooLarge);
    }
    share.grow(more).map_err(|_| BodyError::Busy)
}

/// How long `bytes` of a body or an answer may have taken, and the next one may take.
pub fn allowed(bytes: usize) -> Duration {
    let seconds = bytes / RATE_MIN as usize;
    BODY_IDLE_TIMEOUT + Duration::from_secs(seconds as u64)
}
