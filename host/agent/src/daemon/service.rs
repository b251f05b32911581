//! Config -> running agent -> its end in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use pliant_client::{Client, Token};
use pliant_driver::{Driver, DriverEvent, EventReceiver};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    AgentError, AgentStatus, Config,
    cache::Cache,
    caller::Caller,
    clock,
    drivers::Drivers,
    ledger::Ledger,
    listener::{self, LogService},
    logs::LogIndex,
    machine,
    mounts::MountRoots,
    places::Places,
    reactor::{INPUT_QUEUE_LIMIT, Reactor},
    spec::port_numbers,
    worker::Worker,
};
use crate::logic::{AgentLogic, Event, Image, Input};

/// How long a call to the controller may take that is no stream and no artifact.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// A running agent.
#[derive(Debug)]
pub struct Agent {
    address: SocketAddr,
    status: watch::Receiver<AgentStatus>,
    refusals: watch::Receiver<Option<String>>,
    ledger: PathBuf,
    stop: CancellationToken,
    main: JoinHandle<Result<(), AgentError>>,
}

impl Agent {
    /// Opens the ledger, takes up what it remembers, and begins to ask its controller. The
    /// controller need not answer yet. `drivers`: by the engine's word, such as `wasm`; the
    /// agent shuts them down when it stops.
    ///
    /// # Errors
    /// [`AgentError`]; nothing runs then.
    pub async fn start(
        config: Config,
        drivers: BTreeMap<String, Arc<dyn Driver>>,
    ) -> Result<Self, AgentError> {
        config.check()?;
        let drivers = Drivers::new(drivers)?;
        let mounts = MountRoots::new(&config.mount_roots)?;
        let client = client(&config)?;
        let boot = machine::boot(&config)?;
        let opened = open(config.clone()).await?;
        let (listener, address) = match listener::bind(&config).await {
            Ok(bound) => bound,
            Err(error) => return Err(opened.closed_after(error).await),
        };
        let described =
            machine::describe(&config, boot.clone(), format!("http://{address}"), &drivers);
        let description = match described {
            Ok(description) => description,
            Err(error) => return Err(opened.closed_after(error).await),
        };
        let Opened { ledger, image, cache, places } = opened;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let (sender, inputs) = mpsc::channel(INPUT_QUEUE_LIMIT);
        let known: Vec<_> = image
            .executions
            .values()
            .map(|one| {
                let obeys = one.obeys.as_ref().map(|obeys| &obeys.template);
                (one.id(), obeys.unwrap_or(&one.assigned.template).engine.clone())
            })
            .collect();
        let recovered = drivers.recover(&known).await;
        let (logic, first) = AgentLogic::recover(image, &boot, &recovered, clock::now());
        let events = Events::forward(&drivers, &sender);
        let index = LogIndex::default();
        let ending = stop.child_token();
        let worker = Arc::new(Worker {
            drivers: drivers.clone(),
            cache: Arc::new(cache),
            places: Arc::clone(&places),
            mounts,
            limits: config.limits.clone(),
            client: client.clone(),
            inputs: sender.clone(),
            tasks: tasks.clone(),
            stop: ending.clone(),
            index: index.clone(),
            live: std::sync::Mutex::default(),
        });
        let logs =
            LogService::new(&config.token, drivers.clone(), places, index.clone(), ending.clone());
        let server = listener::serve(listener, logs);
        let caller = Caller::new(client, description, sender, tasks.clone(), ending.clone());
        let refusals = caller.refusals();
        let (status_sender, status) = watch::channel(AgentStatus::default());
        let reactor = Reactor {
            logic,
            ledger,
            worker,
            caller,
            inputs,
            index,
            status: status_sender,
            stop: stop.clone(),
            outage: None,
        };
        let parts = Parts { drivers, events, tasks, ending, server };
        let main = tokio::spawn(async move {
            let (reactor, outcome) = reactor.run(first).await;
            let ended = parts.end(reactor).await;
            outcome.and(ended)
        });
        tracing::info!(%address, "agent runs");
        Ok(Self { address, status, refusals, ledger: config.data_dir.join("ledger"), stop, main })
    }

    /// Where logs are served.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it stands; changes are seen by the receiver.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<AgentStatus> {
        self.status.clone()
    }

    /// Waits until it takes work: registered, and a whole assignment was obeyed.
    ///
    /// # Errors
    /// `NotTaken` when the controller refuses the host, which no waiting changes; `Bug` when it
    /// ended before: [`Agent::stop`] says why.
    pub async fn ready(&self) -> Result<(), AgentError> {
        let (mut status, mut refusals) = (self.status.clone(), self.refusals.clone());
        tokio::select! {
            biased;
            ready = status.wait_for(|status| status.ready) => {
                ready.map(|_| ()).map_err(|_| AgentError::Bug)
            }
            Some(why) = refused(&mut refusals) => {
                Err(AgentError::NotTaken { ledger: self.ledger.clone(), why })
            }
        }
    }

    /// Waits until it has ended by itself, which only a failure brings about.
    pub async fn ended(&self) {
        let mut status = self.status.clone();
        while status.changed().await.is_ok() {}
    }

    /// Stops it in order: no new work, drivers shut down, the ledger closed, every task joined.
    /// Executions that end with the process are not reported as stopped: the next start brings
    /// them back as a new attempt.
    ///
    /// # Errors
    /// What ended it, if it had ended by itself; or what failed at the end.
    pub async fn stop(self) -> Result<(), AgentError> {
        self.stop.cancel();
        self.main.await.map_err(|_| AgentError::Bug)?
    }
}

/// Waits for a registration that is refused for good; nothing when the agent ends.
async fn refused(refusals: &mut watch::Receiver<Option<String>>) -> Option<String> {
    refusals.wait_for(Option::is_some).await.ok()?.clone()
}

fn client(config: &Config) -> Result<Client, AgentError> {
    let settings = pliant_client::Config {
        reach: config.reach,
        call_timeout: CALL_LIMIT,
        ..pliant_client::Config::new(&config.controller).with_token(Some(Token::new(&config.token)))
    };
    Client::new(settings).map_err(AgentError::Client)
}

struct Opened {
    ledger: Ledger,
    image: Image,
    cache: Cache,
    places: Arc<Places>,
}

impl Opened {
    /// Closes the ledger again and gives back why.
    async fn closed_after(self, why: AgentError) -> AgentError {
        if let Err(error) = self.ledger.close().await {
            tracing::warn!(%error, "the ledger was not closed in order");
        }
        why
    }
}

/// Opens what is on the disk; the ledger's lock comes first.
async fn open(config: Config) -> Result<Opened, AgentError> {
    let opened = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&config.data_dir)
            .map_err(|source| AgentError::Directory { path: config.data_dir.clone(), source })?;
        let (ledger, image) = Ledger::open(&config)?;
        let live: BTreeSet<_> = image.executions.keys().copied().collect();
        let rest =
            Cache::open(&config).and_then(|cache| Ok((cache, Places::open(&config, &live)?)));
        Ok::<_, AgentError>((ledger, image, rest))
    });
    let (ledger, image, rest) = opened.await.map_err(|_| AgentError::Bug)??;
    match rest {
        Ok((cache, places)) => Ok(Opened { ledger, image, cache, places: Arc::new(places) }),
        Err(error) => {
            if let Err(error) = ledger.close().await {
                tracing::warn!(%error, "the ledger was not closed in order");
            }
            Err(error)
        }
    }
}

/// The tasks that make inputs of the drivers' events, in their order.
struct Events {
    tasks: TaskTracker,
    drain: CancellationToken,
}

impl Events {
    fn forward(drivers: &Drivers, inputs: &mpsc::Sender<Input>) -> Self {
        let (tasks, drain) = (TaskTracker::new(), CancellationToken::new());
        for driver in drivers.all() {
            let Some(events) = driver.take_events() else { continue };
            tasks.spawn(forward(events, inputs.clone(), drain.clone()));
        }
        tasks.close();
        Self { tasks, drain }
    }

    /// Hands on what is there and ends.
    async fn end(self) {
        self.drain.cancel();
        self.tasks.wait().await;
    }
}

async fn forward(mut events: EventReceiver, inputs: mpsc::Sender<Input>, drain: CancellationToken) {
    loop {
        let event = tokio::select! {
            biased;
            event = events.recv() => event,
            () = drain.cancelled() => return,
        };
        let Some(event) = event else { return };
        if inputs.send(input_of(event)).await.is_err() {
            return;
        }
    }
}

fn input_of(event: DriverEvent) -> Input {
    match event {
        DriverEvent::Started { execution, attempt, ports } => {
            let ports = port_numbers(&ports);
            Input::Execution(execution, Event::Started { attempt, ports })
        }
        DriverEvent::Ended { execution, attempt, report } => {
            Input::ended(execution, attempt, report.cause.status())
        }
    }
}

/// What must be ended beside the loop.
struct Parts {
    drivers: Drivers,
    events: Events,
    tasks: TaskTracker,
    ending: CancellationToken,
    server: JoinHandle<io::Result<()>>,
}

impl Parts {
    async fn end(self, mut reactor: Reactor) -> Result<(), AgentError> {
        let settled = reactor.settle().await;
        self.ending.cancel();
        let (drivers, events) = (self.drivers, self.events);
        let shutdown = async move {
            for driver in drivers.all() {
                driver.shutdown().await;
            }
            events.end().await;
        };
        let settled = settled.and(reactor.settle_ends(shutdown).await);
        let Reactor { ledger, inputs, worker, caller, .. } = reactor;
        // Without a receiver whoever still sends comes to an end.
        drop((inputs, worker, caller));
        let served = self.server.await;
        self.tasks.close();
        self.tasks.wait().await;
        let closed = ledger.close().await;
        match served {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the listener ended with a failure"),
            Err(_) => return Err(AgentError::Bug),
        }
        settled.and(closed)
    }
}
