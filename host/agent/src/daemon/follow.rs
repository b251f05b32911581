//! Reads the assignment stream and hands on what comes. It connects again by itself; what it
//! cannot get over it tells.

use pliant_api::body::AssignmentEvent;
use pliant_client::{EventStream, Received};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{caller::trouble, drivers::chain};
use crate::logic::{Input, Offer, Trouble};

/// Reads until `end`, or until the stream cannot be read on.
pub(super) async fn follow(
    mut stream: EventStream<AssignmentEvent>,
    inputs: mpsc::Sender<Input>,
    end: CancellationToken,
) {
    loop {
        let received = tokio::select! {
            biased;
            () = end.cancelled() => return,
            received = stream.next() => received,
        };
        let input = match received {
            Ok(Some(Received::Body(AssignmentEvent::Whole { assignment }))) => {
                Input::Offered(Offer::Whole(assignment))
            }
            Ok(Some(Received::Body(AssignmentEvent::Delta { delta }))) => {
                Input::Offered(Offer::Delta(delta))
            }
            Ok(Some(Received::Body(AssignmentEvent::Shutdown))) => continue,
            Ok(Some(Received::Lost(error))) => {
                tracing::debug!(error = chain(&error), "the assignment stream was lost");
                continue;
            }
            Ok(None) => Input::StreamLost(Trouble::NoAnswer),
            Err(error) => Input::StreamLost(trouble("follow the assignment", &error)),
        };
        let is_over = matches!(input, Input::StreamLost(_));
        let sent = tokio::select! {
            biased;
            () = end.cancelled() => return,
            sent = inputs.send(input) => sent,
        };
        if is_over || sent.is_err() {
            return;
        }
    }
}
