//! What handlers share: the inbox, the published state, hosts, artifacts, figures.

use super::metrics::Figures;
use crate::{
    artifacts::{ArtifactStore, Fetcher},
    hosts::HostBook,
    published::{Board, Published},
    space::SpaceGauge,
    writer::{Inbox, JournalState},
};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// What a router is made from.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// The way to the writer.
    pub inbox: Inbox,
    /// The published state.
    pub board: Board,
    /// How the journal stands.
    pub journal: Arc<Mutex<JournalState>>,
    /// Renewals and words of agents.
    pub hosts: HostBook,
    /// The artifact store.
    pub artifacts: ArtifactStore,
    /// Downloads into it.
    pub fetcher: Fetcher,
    /// Free space of the journal's disk.
    pub space: SpaceGauge,
    /// The token of every request.
    pub token: Arc<str>,
    /// Whose cluster it is.
    pub cluster: String,
    /// Ends every stream.
    pub stop: CancellationToken,
}

/// The shared context of all handlers.
#[derive(Clone, Debug)]
pub struct Api {
    settings: Arc<ApiSettings>,
    figures: Arc<Figures>,
    agents: reqwest::Client,
}

impl Api {
    /// A context for one router.
    #[must_use]
    pub fn new(settings: ApiSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            figures: Arc::new(Figures::new()),
            agents: reqwest::Client::new(),
        }
    }
    /// Calls to agents, for logs.
    #[must_use]
    pub const fn agents(&self) -> &reqwest::Client {
        &self.agents
    }
    /// Figures of the process.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.figures
    }
    /// The newest durable state.
    #[must_use]
    pub fn newest(&self) -> Published {
        self.settings.board.newest()
    }
}

impl std::ops::Deref for Api {
    type Target = ApiSettings;
    fn deref(&self) -> &ApiSettings {
        &self.settings
    }
}
