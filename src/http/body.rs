//! Request bodies, read whole within limits of size, of time and of all bodies together. `route`
//! calls it, `compression` inflates the result.

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::time::{Instant, timeout_at};

use super::connections::Timeouts;
use crate::store::budget::{MEMORY_WAIT, MemoryBudget, Permit};

/// The size limit of a body, in bytes (docs/dynamodb.md 1.1).
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The length up to which a body is within the read-ahead of its connection.
const SMALL_BODY_BYTES: usize = 8 * 1024;

/// The length that is drained of a refused body, so that a client that still writes it comes to
/// read the answer.
const DRAINED_BYTES_MAX: usize = 40 * 1024 * 1024;

/// The reason why a body was not read.
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

/// Reads the body into memory that was reserved for all of it. The rest of a body that is too large
/// is drained while the answer is written, up to `DRAINED_BYTES_MAX`: an immediate close would
/// reset the connection and lose the answer. A client that `waits` for `100 Continue` sends no body
/// then.
///
/// # Errors
/// [`BodyError`]; the bytes read so far are dropped.
pub async fn read(
    mut incoming: Incoming,
    timeouts: Timeouts,
    bodies: &MemoryBudget,
    waits: bool,
) -> Result<(Bytes, Permit), BodyError> {
    let read = read_whole(&mut incoming, timeouts, bodies).await;
    if matches!(read, Err(BodyError::TooLarge)) && !waits {
        tokio::spawn(drain(incoming, timeouts));
    }
    read
}

/// Reads and discards the rest of a body.
async fn drain(mut incoming: Incoming, timeouts: Timeouts) {
    let (started, mut bytes) = (Instant::now(), 0);
    while bytes < DRAINED_BYTES_MAX {
        let deadline =
            (started + timeouts.allowed(bytes, false)).min(Instant::now() + timeouts.silence);
        match next_frame(&mut incoming, deadline).await {
            Ok(Some(more)) => bytes += more.len(),
            Ok(None) | Err(_) => return,
        }
    }
}

async fn read_whole(
    incoming: &mut Incoming,
    timeouts: Timeouts,
    bodies: &MemoryBudget,
) -> Result<(Bytes, Permit), BodyError> {
    // The hint is Content-Length: a body that is announced as too large is not read at all.
    let hint = incoming.size_hint();
    if hint.lower() > BODY_BYTES_MAX as u64 {
        return Err(BodyError::TooLarge);
    }
    let announced = hint.exact().and_then(|bytes| usize::try_from(bytes).ok());
    let mut permit = Permit::default();
    // Reserved before anything is read: a body that waits for memory holds none.
    if let Some(length) = announced.filter(|length| *length > SMALL_BODY_BYTES) {
        permit = reserve(bodies, length).await?;
    }
    let mut all = Vec::new();
    let mut started = Instant::now();
    loop {
        let deadline = (started + timeouts.allowed(all.len(), bodies.is_contended()))
            .min(Instant::now() + timeouts.silence);
        let Some(more) = next_frame(incoming, deadline).await? else {
            return Ok((all.into(), permit));
        };
        let held = all.len() + more.len();
        if held > BODY_BYTES_MAX {
            return Err(BodyError::TooLarge);
        }
        // Most bodies come in one part, and are used without a copy.
        if all.is_empty() && incoming.is_end_stream() {
            return Ok((more, permit));
        }
        if permit.bytes() < held && held > SMALL_BODY_BYTES {
            // A chunked body may become as long as any.
            permit = reserve(bodies, BODY_BYTES_MAX).await?;
            // The wait for memory does not count against the client.
            started = Instant::now();
        }
        all.reserve_exact(permit.bytes().max(held) - all.len());
        all.extend_from_slice(&more);
    }
}

async fn reserve(bodies: &MemoryBudget, length: usize) -> Result<Permit, BodyError> {
    bodies
        .wait(length, MEMORY_WAIT)
        .await
        .map_err(|_| BodyError::Busy)
}

/// Returns the next data frame, if there is one; skips trailers.
async fn next_frame(
    incoming: &mut Incoming,
    deadline: Instant,
) -> Result<Option<Bytes>, BodyError> {
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
