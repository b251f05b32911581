//! Calls about hosts, the journal and the controller itself.

use pliant_api::body::{HostModeBody, HostView, JournalStats, Page, PageQuery, ServerVersion};
use pliant_api::routes;
use pliant_types::HostId;
use pliant_types::host::HostMode;
use reqwest::Method;

use crate::call::{Call, Repeat};
use crate::{Client, ClientError, IdempotencyKey};

impl Client {
    /// Whether the controller serves.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn ready(&self) -> Result<(), ClientError> {
        self.bytes(&Call::get(routes::READY)).await.map(|_| ())
    }

    /// Which program answers.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn server_version(&self) -> Result<ServerVersion, ClientError> {
        self.answer(&Call::get(routes::SERVER_VERSION)).await
    }

    /// The state of the journal.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn journal(&self) -> Result<JournalStats, ClientError> {
        self.answer(&Call::get(routes::JOURNAL)).await
    }

    /// All hosts.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn hosts(&self, page: &PageQuery) -> Result<Page<HostView>, ClientError> {
        self.answer(&Call::get(routes::HOSTS).query(page)).await
    }

    /// One host.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn host(&self, host: HostId) -> Result<HostView, ClientError> {
        self.answer(&Call::get(routes::host(host))).await
    }

    /// Says what is wanted of a host.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn set_host_mode(
        &self,
        host: HostId,
        mode: HostMode,
    ) -> Result<HostView, ClientError> {
        let call = Call::new(Method::PUT, routes::host_mode(host), Repeat::Never)
            .keyed(&IdempotencyKey::random())
            .json(&HostModeBody { mode });
        self.answer(&call).await
    }

    /// The answer of any route as it comes: for `pliant api`.
    ///
    /// # Errors
    /// Any [`ClientError`]; `Address` when the method is none.
    pub async fn raw(
        &self,
        method: &str,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, ClientError> {
        let wrong = |reason: &str| ClientError::Address {
            address: format!("{method} {path}"),
            reason: reason.to_owned(),
        };
        let method: Method =
            method.to_uppercase().parse().map_err(|_| wrong("expected an HTTP method"))?;
        if !path.starts_with('/') {
            return Err(wrong("expected a path that starts with /"));
        }
        let repeat = if method == Method::GET { Repeat::Safe } else { Repeat::Never };
        let call = Call::new(method, path, repeat);
        let call = match body {
            Some(body) => call.body("application/json", body),
            None => call,
        };
        self.bytes(&call).await
    }
}
