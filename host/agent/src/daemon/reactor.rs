//! The agent's loop: inputs in, the logic decides, the ledger remembers, then steps and calls go
//! out. The only owner of the logic; nothing here waits but for the ledger, and not while that fails.

use std::{sync::Arc, time::Duration};

use pliant_types::{ExitReason, HostId};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    AgentError,
    caller::Caller,
    clock,
    ledger::Ledger,
    logs::LogIndex,
    outage::{Outage, may_pass},
    worker::Worker,
};
use crate::logic::{AgentLogic, Event, Input, Output};

/// Inputs that may wait.
pub(super) const INPUT_QUEUE_LIMIT: usize = 4_096;
/// Inputs that share one commit of the ledger.
const BATCH_LIMIT: usize = 256;
/// How long the loop sleeps when nothing is due.
const IDLE: Duration = Duration::from_secs(3_600);

/// Where the agent stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentStatus {
    /// The host's id, once the controller gave one.
    pub host: Option<HostId>,
    /// Whether it has obeyed an assignment since it was started: it takes work.
    pub ready: bool,
    /// Whether what happens can be remembered. While it cannot, nothing begins.
    pub remembers: bool,
    /// Executions that it knows, ended ones included.
    pub executions: usize,
}

/// The loop and what it owns.
pub(super) struct Reactor {
    pub(super) logic: AgentLogic,
    pub(super) ledger: Ledger,
    pub(super) worker: Arc<Worker>,
    pub(super) caller: Caller,
    pub(super) inputs: mpsc::Receiver<Input>,
    pub(super) index: LogIndex,
    pub(super) status: watch::Sender<AgentStatus>,
    pub(super) stop: CancellationToken,
    pub(super) outage: Option<Outage>,
}

impl Reactor {
    /// Runs until the stop, or until the ledger fails for good. Returns itself for the orderly end.
    pub(super) async fn run(mut self, first: Output) -> (Self, Result<(), AgentError>) {
        let outcome = self.go_on(first).await;
        (self, outcome)
    }

    async fn go_on(&mut self, first: Output) -> Result<(), AgentError> {
        self.emit(first).await?;
        self.handle(Input::Tick).await?;
        loop {
            let pause = self.pause();
            let input = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                remembered = retry(&mut self.outage, &self.ledger) => {
                    self.go_on_with(remembered?).await?;
                    continue;
                }
                input = self.inputs.recv() => input,
                () = tokio::time::sleep(pause) => Some(Input::Tick),
            };
            // The reactor's own worker holds a sender: the queue never closes.
            let Some(input) = input else { return Ok(()) };
            self.handle(input).await?;
        }
    }

    fn pause(&self) -> Duration {
        let due = self.logic.next_due();
        due.map_or(IDLE, |due| Duration::from_millis(due.since(clock::now()).get()).min(IDLE))
    }

    /// Handles an input and whatever waits behind it, with one commit for all.
    async fn handle(&mut self, first: Input) -> Result<(), AgentError> {
        let mut all = self.logic.handle(first, clock::now());
        for _ in 1..BATCH_LIMIT {
            let Ok(next) = self.inputs.try_recv() else { break };
            all.append(self.logic.handle(next, clock::now()));
        }
        self.emit(all).await
    }

    async fn emit(&mut self, output: Output) -> Result<(), AgentError> {
        self.index.remembered(&output.edits);
        let Output { edits, later, steps, calls } = output;
        let edits = Arc::new(edits);
        let outcome = match &self.outage {
            None => self.ledger.commit(&edits).await,
            Some(_) => Ok(()),
        };
        let failed = match outcome {
            Err(error) if !may_pass(&error) => return Err(error),
            outcome => outcome.is_err(),
        };
        let output = Output { edits: Arc::unwrap_or_clone(edits), later, steps, calls };
        if failed || self.outage.is_some() {
            let free = self.outage.get_or_insert_with(Outage::new).hold(output);
            self.carry_out(free);
        } else {
            self.go_on_with(output).await?;
        }
        Ok(())
    }

    /// What an output asks for, after its edits are durable.
    async fn go_on_with(&mut self, mut output: Output) -> Result<(), AgentError> {
        self.outage.take_if(|outage| outage.is_over());
        self.ledger.later(std::mem::take(&mut output.later)).await?;
        self.carry_out(output);
        Ok(())
    }

    fn carry_out(&mut self, output: Output) {
        for step in output.steps {
            self.worker.carry_out(step);
        }
        for call in output.calls {
            self.caller.call(call);
        }
        self.show();
    }

    /// At the end nothing is begun any more; what happened is remembered.
    async fn remember(&mut self, output: Output) -> Result<(), AgentError> {
        self.index.remembered(&output.edits);
        self.ledger.commit(&Arc::new(output.edits)).await?;
        self.ledger.later(output.later).await?;
        self.show();
        Ok(())
    }

    fn show(&self) {
        let present = self.present();
        self.status.send_if_modified(|status| {
            let is_new = *status != present;
            *status = present;
            is_new
        });
    }

    fn present(&self) -> AgentStatus {
        AgentStatus {
            host: self.logic.host().host,
            ready: self.logic.has_obeyed(),
            remembers: self.outage.is_none(),
            executions: self.logic.executions().count(),
        }
    }

    /// What waits in the queue at the end is remembered, but nothing is begun any more.
    pub(super) async fn settle(&mut self) -> Result<(), AgentError> {
        if let Some(outage) = self.outage.take() {
            self.remember(outage.into_held()).await?;
        }
        while let Ok(input) = self.inputs.try_recv() {
            let output = self.logic.handle(input, clock::now());
            self.remember(output).await?;
        }
        Ok(())
    }

    /// While the drivers are shut down, what they say is heard: an end that a guest came to by
    /// itself counts; that it was stopped with the agent is no end of the execution.
    pub(super) async fn settle_ends(
        &mut self,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), AgentError> {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut outcome = Ok(());
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                Some(input) = self.inputs.recv() => {
                    outcome = outcome.and(self.settle_end(input).await);
                }
            }
        }
        while let Ok(input) = self.inputs.try_recv() {
            outcome = outcome.and(self.settle_end(input).await);
        }
        outcome
    }

    async fn settle_end(&mut self, input: Input) -> Result<(), AgentError> {
        let own_end = matches!(
            &input,
            Input::Execution(_, Event::Ended { exit, .. }) if exit.reason == ExitReason::Exited
        );
        if !own_end {
            return Ok(());
        }
        let output = self.logic.handle(input, clock::now());
        self.remember(output).await
    }
}

/// Never, while there is no outage.
async fn retry(outage: &mut Option<Outage>, ledger: &Ledger) -> Result<Output, AgentError> {
    match outage {
        Some(outage) => outage.retry(ledger).await,
        None => std::future::pending().await,
    }
}
