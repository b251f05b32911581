//! Config -> running controller: opens everything, serves until it is stopped, closes in order.

use crate::{
    artifacts::{ArtifactStore, Fetcher},
    config::{Config, ConfigError},
    hosts::HostBook,
    http::{Api, ApiSettings, router},
    published::Board,
    space::SpaceGauge,
    writer::{ReadError, Writer, WriterSettings},
};
use axum::serve::ListenerExt;
use pliant_journal::{
    Opener,
    durable::{DurableOptions, DurableStore},
};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long open requests may take after the stop.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

/// Why a controller does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting is refused.
    #[error("the settings are refused")]
    Config(#[from] ConfigError),
    /// The journal does not give a state.
    #[error("the journal does not give a state")]
    Journal(#[from] ReadError),
    /// The artifact store cannot be opened.
    #[error("the artifact store in {path} cannot be opened")]
    Artifacts {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("{address} cannot be listened on")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// A running controller.
#[derive(Debug)]
pub struct Controller {
    address: SocketAddr,
    stop: CancellationToken,
    writer: Writer,
    server: JoinHandle<io::Result<()>>,
}

impl Controller {
    /// Opens everything and begins to serve.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let dir = config.data_dir.join("controller");
        let mut options = DurableOptions::new(dir.join("journal"));
        options.snapshots = dir.join("snapshots");
        Self::start_on(config, Arc::new(DurableStore::new(options))).await
    }

    /// Begins to serve over any journal; tests bring one in memory that fails on command.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start_on(config: Config, opener: Arc<dyn Opener>) -> Result<Self, StartError> {
        config.check()?;
        let dir = config.data_dir.join("controller");
        let artifacts_dir = dir.join("artifacts");
        let artifacts = ArtifactStore::open(&artifacts_dir).map_err(|source| {
            StartError::Artifacts { path: artifacts_dir.display().to_string(), source }
        })?;
        let board = Board::default();
        let hosts = HostBook::new(config.leases);
        let settings = WriterSettings {
            opener,
            snapshot_facts: config.snapshot_facts,
            board: board.clone(),
            hosts: hosts.clone(),
        };
        let writer = tokio::task::spawn_blocking(move || Writer::start(settings))
            .await
            .map_err(|error| listen_failed(config.listen, io::Error::other(error)))??;
        let listener = TcpListener::bind(config.listen).await;
        let listener = match listener {
            Ok(listener) => listener,
            Err(source) => {
                if let Err(error) = stop_writer(writer).await {
                    warn!(%error, "the writer had failed");
                }
                return Err(listen_failed(config.listen, source));
            }
        };
        let address = listener.local_addr().unwrap_or(config.listen);
        let stop = CancellationToken::new();
        let api = Api::new(ApiSettings {
            inbox: writer.inbox(),
            board,
            journal: writer.journal(),
            hosts,
            artifacts: artifacts.clone(),
            fetcher: Fetcher::new(artifacts, config.fetch.clone()),
            space: SpaceGauge::new(&dir),
            token: config.token.clone().into(),
            cluster: config.data_dir.display().to_string(),
            stop: stop.clone(),
        });
        let ending = stop.clone();
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                warn!(%error, "a connection keeps small packets back");
            }
        });
        let serve = axum::serve(listener, router(api))
            .with_graceful_shutdown(async move { ending.cancelled().await });
        let server = tokio::spawn(async move { serve.await });
        info!(%address, "controller serves");
        Ok(Self { address, stop, writer, server })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends streams and requests, then the writer; the journal is closed in order.
    ///
    /// # Errors
    /// What had ended the writer before.
    pub async fn stop(self) -> Result<(), ReadError> {
        self.stop.cancel();
        let mut server = self.server;
        if tokio::time::timeout(SHUTDOWN_LIMIT, &mut server).await.is_err() {
            warn!("requests did not end in time and are cut off");
            server.abort();
        }
        stop_writer(self.writer).await
    }
}

fn listen_failed(address: SocketAddr, source: io::Error) -> StartError {
    StartError::Listen { address, source }
}

async fn stop_writer(writer: Writer) -> Result<(), ReadError> {
    tokio::task::spawn_blocking(move || writer.stop()).await.unwrap_or(Ok(()))
}
