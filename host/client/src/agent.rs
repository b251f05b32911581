//! Calls that only agents make. None is repeated here: the agent's own loop decides when to try again, and
//! sends what is true then.

use pliant_api::body::{AssignmentEvent, ReportAnswer, RouteTable, WatchQuery};
use pliant_api::routes;
use pliant_types::HostId;
use pliant_types::report::{Obeyed, Registered, Registration, Renewed, Report};
use reqwest::Method;

use crate::call::{Call, Repeat};
use crate::{Client, ClientError, End, EventStream};

impl Client {
    /// Becomes a host, or stays one.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn register(&self, registration: &Registration) -> Result<Registered, ClientError> {
        let call = Call::new(Method::POST, routes::HOSTS, Repeat::Never).json(registration);
        self.answer(&call).await
    }

    /// Says that the host lives, in this boot of its machine.
    ///
    /// # Errors
    /// Any [`ClientError`]; `fenced` means: register again.
    pub async fn renew(&self, host: HostId, boot: &str) -> Result<Renewed, ClientError> {
        let call = Call::new(Method::POST, routes::host_renewals(host), Repeat::Never).json(&boot);
        self.answer(&call).await
    }

    /// Says what was observed. A good answer means that it is durable.
    ///
    /// # Errors
    /// Any [`ClientError`]; `fenced` means: register again.
    pub async fn report(&self, host: HostId, report: &Report) -> Result<ReportAnswer, ClientError> {
        let call = Call::new(Method::POST, routes::host_reports(host), Repeat::Never).json(report);
        self.answer(&call).await
    }

    /// The routing table, whole each time it changes.
    #[must_use]
    pub fn routes(&self) -> EventStream<RouteTable> {
        let query = WatchQuery { since: None, follow: true };
        EventStream::new(self, Call::get(routes::ROUTES).query(&query), End::Lost)
    }

    /// What the host must run, whole or as changes after what it obeyed.
    #[must_use]
    pub fn assignment(&self, host: HostId, obeyed: Option<Obeyed>) -> EventStream<AssignmentEvent> {
        let call = Call::get(routes::host_assignment(host));
        let last = obeyed.map(|obeyed| format!("{}-{}", obeyed.epoch, obeyed.generation));
        EventStream::new(self, call, End::Lost).after(last)
    }
}
