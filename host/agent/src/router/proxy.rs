//! Passing one request on: to a ready task, again to another one when the first could not be reached, after a
//! wait when there is none.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body as _, Incoming};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::sync::{Semaphore, watch};

use super::table::{Load, Route, Table};

/// A body on its way through.
pub(super) type Passing = BoxBody<Bytes, hyper::Error>;

/// Bodies up to here are kept until the answer begins, so that they can be sent to another task.
const KEPT_BODY: u64 = 64 << 10;
/// Tasks that are tried for one request that reached one and got no answer.
const TRIES: usize = 3;
/// Wait for a newer table when no task of the present one could be reached, before all are tried again.
const UNREACHED_PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for a ready task.
const QUEUE_WAIT: Duration = Duration::from_secs(10);
/// Requests that wait for a ready task at the same time.
const QUEUE_PLACES: usize = 1_024;
/// Longest wait for a connection to a task.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an idle connection to a task is kept; less than a task keeps it.
const IDLE: Duration = Duration::from_secs(20);

/// Headers that mean one connection and not the request.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// What the requests of a router share.
#[derive(Debug)]
pub(super) struct Proxy {
    client: Client<HttpConnector, Passing>,
    table: watch::Receiver<Arc<Table>>,
    queue: Semaphore,
}

/// A request whose body can be sent more than once, or cannot.
enum Outgoing {
    Kept(Box<http::request::Parts>, Bytes),
    Once(Box<Request<Incoming>>),
}

impl Proxy {
    pub(super) fn new(table: watch::Receiver<Arc<Table>>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self { client, table, queue: Semaphore::new(QUEUE_PLACES) }
    }

    /// Answers a request, whatever becomes of it.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
    ) -> Response<Passing> {
        let host = host_of(&request).unwrap_or_default();
        let path = request.uri().path().to_owned();
        if self.table.borrow().find(&host, &path).is_none() {
            let words = format!("no job has a route for host {host:?} and path {path:?}");
            return plain(StatusCode::NOT_FOUND, &words);
        }
        match self.pass(request, (&host, &path), from).await {
            Ok(response) => response,
            Err(Failed::NoTask) => {
                let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, "no task is ready");
                let again = HeaderValue::from_static("1");
                response.headers_mut().insert(header::RETRY_AFTER, again);
                response
            }
            Err(Failed::Body(error)) => {
                plain(StatusCode::BAD_REQUEST, &format!("the request's body broke off: {error}"))
            }
            Err(Failed::Task(error)) => {
                plain(StatusCode::BAD_GATEWAY, &format!("the task did not answer: {error}"))
            }
        }
    }

    async fn pass(
        &self,
        request: Request<Incoming>,
        (host, path): (&str, &str),
        from: IpAddr,
    ) -> Result<Response<Passing>, Failed> {
        let mut outgoing = Outgoing::of(request, (host, from)).await?;
        let mut tried = BTreeSet::new();
        let mut unanswered = 0;
        let end = tokio::time::Instant::now() + QUEUE_WAIT;
        loop {
            let load = self.task(host, path, &mut tried).await.ok_or(Failed::NoTask)?;
            let address = load.address();
            let (request, kept) = outgoing.next(address)?;
            let error = match self.client.request(request).await {
                Ok(response) => return Ok(answered(response, load)),
                Err(error) => error,
            };
            // Nothing of the request was carried out, or it may be carried out twice.
            let unreached = error.is_connect() && tokio::time::Instant::now() < end;
            unanswered += usize::from(!error.is_connect());
            let repeats = kept.as_ref().is_some_and(Outgoing::may_repeat) && unanswered < TRIES;
            match kept.filter(|_| unreached || repeats) {
                Some(kept) => outgoing = kept,
                None => return Err(Failed::Task(words(&error))),
            }
            tried.insert(address);
        }
    }

    /// A ready task of the route that was not tried; waits for one while there is none. Tasks that
    /// could not be reached are about to leave the table; if they do not, they are tried again.
    async fn task(&self, host: &str, path: &str, tried: &mut BTreeSet<SocketAddr>) -> Option<Load> {
        let mut table = self.table.clone();
        let pick = |table: &mut watch::Receiver<Arc<Table>>, tried: &BTreeSet<SocketAddr>| {
            let route: Option<Arc<Route>> = table.borrow_and_update().find(host, path);
            route?.pick(tried)
        };
        let found = pick(&mut table, tried);
        if found.is_some() {
            return found;
        }
        let _place = self.queue.try_acquire().ok()?;
        let wait = async {
            loop {
                let pause = if tried.is_empty() { QUEUE_WAIT } else { UNREACHED_PAUSE };
                match tokio::time::timeout(pause, table.changed()).await {
                    Ok(changed) => changed.ok()?,
                    Err(_) => tried.clear(),
                }
                let found = pick(&mut table, tried);
                if found.is_some() {
                    return found;
                }
            }
        };
        tokio::time::timeout(QUEUE_WAIT, wait).await.ok().flatten()
    }
}

/// Why a request got no answer of a task.
enum Failed {
    NoTask,
    Body(String),
    Task(String),
}

fn words(error: &dyn std::error::Error) -> String {
    crate::daemon::chain(error)
}

impl Outgoing {
    async fn of(request: Request<Incoming>, (host, from): (&str, IpAddr)) -> Result<Self, Failed> {
        let (mut parts, body) = request.into_parts();
        forward(&mut parts.headers, host, from);
        parts.version = http::Version::HTTP_11;
        parts.extensions = http::Extensions::new();
        match body.size_hint().exact() {
            Some(bytes) if bytes <= KEPT_BODY => {
                let kept = body.collect().await.map_err(|error| Failed::Body(words(&error)))?;
                Ok(Self::Kept(Box::new(parts), kept.to_bytes()))
            }
            _ => Ok(Self::Once(Box::new(Request::from_parts(parts, body)))),
        }
    }

    /// The request for a task, and what is left to try another one with.
    fn next(self, to: SocketAddr) -> Result<(Request<Passing>, Option<Self>), Failed> {
        let aim = |uri: &Uri| {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            format!("http://{to}{path}").parse::<Uri>().map_err(|e| Failed::Task(e.to_string()))
        };
        match self {
            Self::Kept(parts, body) => {
                let again = Self::Kept(parts.clone(), body.clone());
                let mut request = Request::from_parts(
                    *parts,
                    Full::new(body).map_err(|never| match never {}).boxed(),
                );
                *request.uri_mut() = aim(request.uri())?;
                Ok((request, Some(again)))
            }
            Self::Once(request) => {
                let mut request = request.map(BodyExt::boxed);
                *request.uri_mut() = aim(request.uri())?;
                Ok((request, None))
            }
        }
    }

    /// Whether it may be carried out twice: its method promises that (RFC 9110, section 9.2.2).
    fn may_repeat(&self) -> bool {
        let Self::Kept(parts, _) = self else { return false };
        let method = &parts.method;
        let put = [Method::PUT, Method::DELETE].contains(method);
        put || [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE].contains(method)
    }
}

/// The host name that a request is for.
fn host_of(request: &Request<Incoming>) -> Option<String> {
    let header = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    header.or_else(|| request.uri().authority().map(|a| a.as_str())).map(str::to_owned)
}

/// Takes away what meant the client's connection, says who it was.
fn forward(headers: &mut HeaderMap, host: &str, from: IpAddr) {
    strip(headers);
    let mut set = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("x-forwarded-for", from.to_string());
    set("x-forwarded-host", host.to_owned());
    set("x-forwarded-proto", "http".to_owned());
    if let Ok(host) = HeaderValue::from_str(host) {
        headers.insert(header::HOST, host);
    }
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

/// The answer of a task; its load lasts until the body has been passed on.
fn answered(response: Response<Incoming>, load: Load) -> Response<Passing> {
    let mut response = response.map(|body| {
        body.map_frame(move |frame| {
            let _under_way = &load;
            frame
        })
        .boxed()
    });
    strip(response.headers_mut());
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Passing> {
    let body = Full::new(Bytes::from(format!("{text}\n")));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
