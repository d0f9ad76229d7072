//! From messages to the flusher: decoded on several processors, handed on in the order in which they were
//! read, their dead letters kept before.
//!
//! Memory is bounded by what the reader may have under way and by how little fits between here and the
//! flusher. Invariant: nothing is handed on before the dead letters of all that came up to it are durable.

use std::sync::Arc;
use std::time::Duration;

use futures::future::Either;
use futures::stream::{self, StreamExt};
use tokio::sync::{mpsc, oneshot};

use super::decode::Opener;
use super::lane::Arrival;
use super::message::Message;
use super::status::Status;
use crate::budget::Reservation;
use crate::dead_letter::{DeadLetters, Letter};

/// What the reader hands on, in order.
pub(super) enum Parcel {
    /// Messages, and the memory that they take until the flusher has them.
    Messages { epoch: u64, messages: Vec<Message>, held: Reservation },
    /// Something for the flusher, behind what came before.
    Pass(Arrival),
}

/// What a parcel gave.
struct Unpacked {
    arrivals: Vec<Arrival>,
    letters: Vec<Letter>,
    _held: Option<Reservation>,
}

/// Shortest and longest wait before dead letters are tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// Works until nothing more is read, or the flusher is gone.
pub(super) async fn run(
    parcels: mpsc::UnboundedReceiver<Parcel>,
    opener: Arc<Opener>,
    dead_letters: DeadLetters,
    status: Arc<Status>,
    arrivals: mpsc::Sender<Arrival>,
) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let parcels = stream::unfold(parcels, async |mut parcels| Some((parcels.recv().await?, parcels)));
    let unpacked = parcels.map(|parcel| match parcel {
        Parcel::Pass(arrival) => Either::Left(std::future::ready(Ok(Unpacked {
            arrivals: vec![arrival],
            letters: Vec::new(),
            _held: None,
        }))),
        Parcel::Messages { epoch, messages, held } => {
            let opener = Arc::clone(&opener);
            Either::Right(tokio::task::spawn_blocking(move || {
                let (portions, letters) = opener.open(epoch, &messages);
                let arrivals = portions.into_iter().map(|portion| Arrival::Portion(Box::new(portion)));
                Unpacked { arrivals: arrivals.collect(), letters, _held: Some(held) }
            }))
        }
    });
    let mut unpacked = std::pin::pin!(unpacked.buffered(processors));
    while let Some(Ok(parcel)) = unpacked.next().await {
        keep(&dead_letters, &parcel.letters, &status).await;
        for arrival in parcel.arrivals {
            if arrivals.send(arrival).await.is_err() {
                return;
            }
        }
    }
}

/// Keeps dead letters, however long that takes: without them nothing may be taken.
async fn keep(dead_letters: &DeadLetters, letters: &[Letter], status: &Status) {
    let Some(first) = letters.first() else { return };
    // A topic of nothing else must not fill the log as well.
    tracing::warn!(letters = letters.len(), first = ?first.from, reason = first.reason, "messages are dead letters");
    let mut wait = RETRY.0;
    while let Err(error) = dead_letters.keep(letters).await {
        tracing::warn!(%error, wait_ms = wait.as_millis(), "dead letters will be tried again");
        status.blocked(Some(error.to_string()));
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY.1);
    }
    status.blocked(None);
}

/// A barrier: the answer comes once all that was read before is in the lake, or cannot be now.
pub(super) fn barrier() -> (Parcel, oneshot::Receiver<()>) {
    let (reached, answer) = oneshot::channel();
    (Parcel::Pass(Arrival::Barrier(reached)), answer)
}
