//! Reads a request's body within its limits of size, memory and time.

use std::time::Duration;

use axum::body::{Body as Incoming, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use crate::accept::{Core, Refusal};
use crate::budget::Reservation;

/// Reads all of a body of at most `limit` bytes; each is reserved as it arrives.
///
/// # Errors
/// It is larger, breaks off, takes too long, or the memory is not to be had.
pub(crate) async fn read(core: &Core, body: Incoming, limit: usize) -> Result<(Bytes, Reservation), Refusal> {
    match tokio::time::timeout(core.limits.body_timeout, collect(core, body, limit)).await {
        Ok(read) => read,
        Err(_) => Err(too_slow(core.limits.body_timeout)),
    }
}

async fn collect(core: &Core, mut body: Incoming, limit: usize) -> Result<(Bytes, Reservation), Refusal> {
    let mut held = core.in_flight.take(0);
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut length = 0;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(limit);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::Invalid(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > limit {
            return Err(too_large(limit));
        }
        held.grow(data.len())?;
        // A body of one frame is used where it lies.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                // An announcement is no reason to take memory that is not reserved.
                rest.reserve(announced.min(1 << 20));
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok((if rest.is_empty() { first } else { rest.freeze() }, held))
}

/// The refusal of a body over the limit.
pub(crate) fn too_large(limit: usize) -> Refusal {
    Refusal::TooLarge(format!("the request is larger than {limit} bytes: send it in smaller batches"))
}

fn too_slow(limit: Duration) -> Refusal {
    Refusal::Unavailable(format!("the body did not arrive within {} s", limit.as_secs()))
}
