//! Carries out what must be asked of the controller: one task for each call, the answer comes back
//! as an input. Decides nothing.

use std::{future::Future, time::Duration};

use pliant_client::{Client, ClientError};
use pliant_types::{
    HostId,
    codes::Code,
    host::HostDescription,
    report::{Registration, Report},
};
use tokio::sync::{mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{clock, drivers::chain, follow};
use crate::logic::{Call, Input, Ticket, Trouble};

/// How long a renewal may take; the next one would be due.
const RENEWAL_LIMIT: Duration = Duration::from_secs(3);

/// What the tasks share.
#[derive(Debug)]
pub(super) struct Caller {
    client: Client,
    description: HostDescription,
    inputs: mpsc::Sender<Input>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// Why the controller does not take this host, from the newest registration.
    refused: watch::Sender<Option<String>>,
    /// Ends the present reading of the assignment stream.
    following: CancellationToken,
}

impl Caller {
    pub(super) fn new(
        client: Client,
        description: HostDescription,
        inputs: mpsc::Sender<Input>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let following = stop.child_token();
        let refused = watch::Sender::new(None);
        Self { client, description, inputs, tasks, stop, refused, following }
    }

    /// Tells when a registration is refused for good.
    pub(super) fn refusals(&self) -> watch::Receiver<Option<String>> {
        self.refused.subscribe()
    }

    pub(super) fn call(&mut self, call: Call) {
        match call {
            Call::Register { host, obeyed, inventory } => {
                let description = self.description.clone();
                let registration = Registration { description, host, obeyed, inventory };
                let (client, refused) = (self.client.clone(), self.refused.clone());
                self.spawn(async move { register(&client, &registration, &refused).await });
            }
            Call::Renew(host) => {
                let (client, boot) = (self.client.clone(), self.description.boot.clone());
                self.spawn(async move { renew(&client, host, &boot).await });
            }
            Call::Report { host, report, ticket } => {
                let client = self.client.clone();
                self.spawn(async move { send_report(&client, host, &report, ticket).await });
            }
            Call::Follow(host) => {
                self.following.cancel();
                self.following = self.stop.child_token();
                let stream = self.client.assignment(host, None);
                let (inputs, end) = (self.inputs.clone(), self.following.clone());
                self.tasks.spawn(follow::follow(stream, inputs, end));
            }
            Call::Unfollow => self.following.cancel(),
        }
    }

    /// Runs a call; its answer is an input, unless the agent stops first.
    fn spawn(&self, call: impl Future<Output = Input> + Send + 'static) {
        let (inputs, stop) = (self.inputs.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            let input = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                input = call => input,
            };
            // The receiver is gone only when the agent stops.
            let _ = inputs.send(input).await;
        });
    }
}

async fn register(
    client: &Client,
    registration: &Registration,
    refused: &watch::Sender<Option<String>>,
) -> Input {
    match client.register(registration).await {
        Ok(registered) => {
            let (host, fence) = (registered.host, registered.fence);
            tracing::info!(%host, %fence, kill = registered.kill.len(), "registered");
            Input::Registered(registered)
        }
        Err(error) => {
            let trouble = trouble("register", &error);
            refused.send_replace((trouble == Trouble::Fenced).then(|| chain(&error)));
            Input::RegisterFailed(trouble)
        }
    }
}

async fn renew(client: &Client, host: HostId, boot: &str) -> Input {
    let sent = clock::now();
    match tokio::time::timeout(RENEWAL_LIMIT, client.renew(host, boot)).await {
        Ok(Ok(renewed)) => Input::Renewed { sent, renewed },
        Ok(Err(error)) => Input::RenewFailed(trouble("renew the lease", &error)),
        Err(_) => {
            tracing::warn!(limit_ms = 3_000, "the controller does not answer a renewal");
            Input::RenewFailed(Trouble::NoAnswer)
        }
    }
}

async fn send_report(client: &Client, host: HostId, report: &Report, ticket: Ticket) -> Input {
    match client.report(host, report).await {
        Ok(answer) => Input::Reported { ticket, fence: answer.fence },
        Err(error) => Input::ReportFailed(trouble("report", &error)),
    }
}

/// What a failed call means for the link.
pub(super) fn trouble(what: &'static str, error: &ClientError) -> Trouble {
    let code = error.code();
    tracing::warn!(%code, error = chain(error), "cannot {what}");
    match code {
        Code::Fenced | Code::HostNotFound => Trouble::Fenced,
        _ => Trouble::NoAnswer,
    }
}
