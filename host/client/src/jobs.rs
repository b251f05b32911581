//! Calls about jobs and executions.

use pliant_api::body::{
    DiffQuery, DiffView, EndpointsView, EventView, ExecutionView, JobSummary, JobView, LogLine,
    LogQuery, NamespaceView, Page, PageQuery, ResultsView, RollbackBody, RolloutView, RunQuery,
    ScaleBody, StopQuery, SubmitAnswer, SubmitQuery, TagBody, VerbAnswer, VersionView, WatchEvent,
    WatchQuery, WhyView,
};
use pliant_api::headers;
use pliant_api::parse::Format;
use pliant_api::routes::{self, JobRef};
use pliant_types::{ExecutionId, Namespace, Revision, RolloutId, Tag, Version, VersionRef};
use reqwest::Method;

use crate::call::{Call, Repeat};
use crate::{Client, ClientError, End, EventStream, IdempotencyKey};

/// A job to submit.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Where.
    pub namespace: Namespace,
    /// Under which name; the same as in the text.
    pub name: pliant_types::JobName,
    /// The job's own part of the file.
    pub text: String,
    /// Its language.
    pub format: Format,
    /// Force, dry run, message.
    pub query: SubmitQuery,
    /// Only if the job's spec revision is this; 0: only if it does not exist.
    pub expect: Option<Revision>,
    /// Made once for each submission and kept when it is repeated.
    pub key: IdempotencyKey,
}

/// What to do with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Stop every task; the spec stays.
    Stop,
    /// Stop the runs of one version; batch and ops.
    StopVersion(Version),
    /// Run again what was stopped or has failed.
    Start,
    /// Stop and forget.
    Delete,
    /// Another number of tasks.
    Scale(ScaleBody),
    /// Run a batch or ops job again.
    Rerun,
}

/// How a rollout is named in a path.
fn rollout_text(rollout: Option<RolloutId>) -> String {
    rollout.map_or_else(|| "newest".to_owned(), |id| id.to_string())
}

impl Client {
    /// Submits a job. Sent again under the same key, it is carried out once.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn submit(&self, submission: &Submission) -> Result<SubmitAnswer, ClientError> {
        let job = JobRef::Name(submission.name.clone());
        let path = routes::job(&submission.namespace, &job);
        let body = submission.text.clone().into_bytes();
        let mut call = Call::new(Method::PUT, path, Repeat::Never)
            .query(&submission.query)
            .keyed(&submission.key)
            .body(submission.format.content_type(), body);
        if let Some(revision) = submission.expect {
            call = call.header("if-match", &headers::etag(revision));
        }
        self.answer(&call).await
    }

    /// Does something with a job.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn act(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        verb: Verb,
        expect: Option<Revision>,
    ) -> Result<VerbAnswer, ClientError> {
        let (method, path) = match verb {
            Verb::Stop | Verb::StopVersion(_) => (Method::POST, routes::job_stop(namespace, job)),
            Verb::Rerun => (Method::POST, routes::job_rerun(namespace, job)),
            Verb::Start => (Method::POST, routes::job_start(namespace, job)),
            Verb::Delete => (Method::DELETE, routes::job(namespace, job)),
            Verb::Scale(_) => (Method::POST, routes::job_scale(namespace, job)),
        };
        let mut call = Call::new(method, path, Repeat::Never).keyed(&IdempotencyKey::random());
        if let Verb::Scale(body) = verb {
            call = call.json(&body);
        }
        if let Verb::StopVersion(version) = verb {
            call = call.query(&StopQuery { version: Some(version) });
        }
        if let Some(revision) = expect {
            call = call.header("if-match", &headers::etag(revision));
        }
        self.answer(&call).await
    }

    /// Goes back to a version that the job had.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn rollback(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        body: &RollbackBody,
        (expect, dry_run): (Option<Revision>, bool),
    ) -> Result<SubmitAnswer, ClientError> {
        let query = SubmitQuery { dry_run, ..SubmitQuery::default() };
        let path = routes::job_rollback(namespace, job);
        let mut call = Call::new(Method::POST, path, Repeat::Never)
            .query(&query)
            .keyed(&IdempotencyKey::random())
            .json(body);
        if let Some(revision) = expect {
            call = call.header("if-match", &headers::etag(revision));
        }
        self.answer(&call).await
    }

    /// Rollouts of a job, newest first.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn rollouts(
        &self,
        namespace: &Namespace,
        job: &JobRef,
    ) -> Result<Page<RolloutView>, ClientError> {
        self.answer(&Call::get(routes::job_rollouts(namespace, job))).await
    }

    /// One rollout of a job, or the newest.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn rollout(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        rollout: Option<RolloutId>,
    ) -> Result<RolloutView, ClientError> {
        let id = rollout_text(rollout);
        self.answer(&Call::get(routes::job_rollout(namespace, job, &id))).await
    }

    /// Pauses, resumes, promotes or aborts a rollout, or the one under way.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn act_on_rollout(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        (rollout, verb): (Option<RolloutId>, &str),
        expect: Option<Revision>,
    ) -> Result<VerbAnswer, ClientError> {
        let path = routes::job_rollout_verb(namespace, job, &rollout_text(rollout), verb);
        let mut call =
            Call::new(Method::POST, path, Repeat::Never).keyed(&IdempotencyKey::random());
        if let Some(revision) = expect {
            call = call.header("if-match", &headers::etag(revision));
        }
        self.answer(&call).await
    }

    /// The ready tasks of a job.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn endpoints(
        &self,
        namespace: &Namespace,
        job: &JobRef,
    ) -> Result<EndpointsView, ClientError> {
        self.answer(&Call::get(routes::job_endpoints(namespace, job))).await
    }

    /// Gives a version a tag (`Some`), or takes the tag away.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn tag(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        tag: &Tag,
        to: Option<&TagBody>,
    ) -> Result<VerbAnswer, ClientError> {
        let path = routes::job_tag(namespace, job, tag);
        let method = if to.is_some() { Method::PUT } else { Method::DELETE };
        let mut call = Call::new(method, path, Repeat::Never).keyed(&IdempotencyKey::random());
        if let Some(body) = to {
            call = call.json(body);
        }
        self.answer(&call).await
    }

    /// What differs between two versions.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn diff(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        query: &DiffQuery,
    ) -> Result<DiffView, ClientError> {
        self.answer(&Call::get(routes::job_diff(namespace, job)).query(query)).await
    }

    /// All namespaces.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn namespaces(&self) -> Result<Page<NamespaceView>, ClientError> {
        self.answer(&Call::get(routes::NAMESPACES.to_owned())).await
    }

    /// Makes a namespace.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn create_namespace(&self, name: &Namespace) -> Result<NamespaceView, ClientError> {
        self.answer(&Call::new(Method::PUT, routes::namespace(name), Repeat::Never)).await
    }

    /// Deletes an empty namespace.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn delete_namespace(&self, name: &Namespace) -> Result<NamespaceView, ClientError> {
        self.answer(&Call::new(Method::DELETE, routes::namespace(name), Repeat::Never)).await
    }

    /// A job as it is.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn job(&self, namespace: &Namespace, job: &JobRef) -> Result<JobView, ClientError> {
        self.answer(&Call::get(routes::job(namespace, job))).await
    }

    /// Jobs of a namespace, or of all.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn jobs(
        &self,
        namespace: Option<&Namespace>,
        page: &PageQuery,
    ) -> Result<Page<JobSummary>, ClientError> {
        let path = namespace.map_or(routes::ALL_JOBS.to_owned(), routes::jobs);
        self.answer(&Call::get(path).query(page)).await
    }

    /// Versions of a job, newest first.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn versions(
        &self,
        namespace: &Namespace,
        job: &JobRef,
    ) -> Result<Page<VersionView>, ClientError> {
        self.answer(&Call::get(routes::job_versions(namespace, job))).await
    }

    /// One version of a job.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn version(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        version: &VersionRef,
    ) -> Result<VersionView, ClientError> {
        self.answer(&Call::get(routes::job_version(namespace, job, version))).await
    }

    /// Why a job waits or fails.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn why(&self, namespace: &Namespace, job: &JobRef) -> Result<WhyView, ClientError> {
        self.answer(&Call::get(routes::job_why(namespace, job))).await
    }

    /// What a job's batch tasks left.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn results(
        &self,
        namespace: &Namespace,
        job: &JobRef,
        query: &RunQuery,
    ) -> Result<Page<ResultsView>, ClientError> {
        self.answer(&Call::get(routes::job_results(namespace, job)).query(query)).await
    }

    /// A job as it is, and each change of it, until it is gone.
    #[must_use]
    pub fn watch(&self, namespace: &Namespace, job: &JobRef) -> EventStream<WatchEvent> {
        let query = WatchQuery { since: None, follow: true };
        let call = Call::get(routes::job_events(namespace, job)).query(&query);
        EventStream::new(self, call, End::Lost)
    }

    /// Past events, of one job or of all, as a page.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn events(
        &self,
        job: Option<(&Namespace, &JobRef)>,
        page: &PageQuery,
    ) -> Result<Page<EventView>, ClientError> {
        let path = job.map_or(routes::EVENTS.to_owned(), |(namespace, job)| {
            routes::job_events(namespace, job)
        });
        self.answer(&Call::get(path).query(page)).await
    }

    /// Events of the whole cluster as they come.
    #[must_use]
    pub fn watch_all(&self, since: Option<u64>) -> EventStream<WatchEvent> {
        let call = Call::get(routes::EVENTS).query(&WatchQuery { since, follow: true });
        EventStream::new(self, call, End::Lost)
    }

    /// Executions of a job, or all, newest first.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn executions(
        &self,
        job: Option<(&Namespace, &JobRef)>,
        page: &PageQuery,
    ) -> Result<Page<ExecutionView>, ClientError> {
        let path = job.map_or(routes::EXECUTIONS.to_owned(), |(namespace, job)| {
            routes::job_executions(namespace, job)
        });
        self.answer(&Call::get(path).query(page)).await
    }

    /// One execution.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn execution(&self, execution: ExecutionId) -> Result<ExecutionView, ClientError> {
        self.answer(&Call::get(routes::execution(execution))).await
    }

    /// Why an execution waits or failed.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn execution_why(&self, execution: ExecutionId) -> Result<WhyView, ClientError> {
        self.answer(&Call::get(routes::execution_why(execution))).await
    }

    /// Lines of an execution's log; ends with the execution, or with the present when it is not followed.
    #[must_use]
    pub fn logs(&self, execution: ExecutionId, query: &LogQuery) -> EventStream<LogLine> {
        let call = Call::get(routes::execution_logs(execution)).query(query);
        EventStream::new(self, call, End::Final)
    }
}
