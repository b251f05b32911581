//! Requests that a guest sends by `wasi:http`: checked, resolved, connected, in this order.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, timeout};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::rules::OutboundRules;
use super::tls;
use crate::limits;

type Connection = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Sent = Result<(Response<WasiBody>, Connection), Error>;

/// The hooks of one store.
#[derive(Debug)]
pub(crate) struct OutboundHttp {
    rules: Arc<OutboundRules>,
}

impl OutboundHttp {
    pub(crate) fn new(rules: Arc<OutboundRules>) -> Self {
        Self { rules }
    }
}

impl WasiHttpHooks for OutboundHttp {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let rules = self.rules.clone();
        Box::new(async move { send(&rules, request, Waits::from(options)).await })
    }
}

/// How long each part may take.
#[derive(Clone, Copy)]
struct Waits {
    connect: Duration,
    first_byte: Duration,
    between_bytes: Duration,
}

impl From<Option<RequestOptions>> for Waits {
    fn from(options: Option<RequestOptions>) -> Self {
        let asked = |part: fn(&RequestOptions) -> Option<Duration>, most: Duration| {
            options.as_ref().and_then(part).map_or(most, |asked| asked.min(most))
        };
        Self {
            connect: asked(|o| o.connect_timeout, limits::OUTBOUND_CONNECT),
            first_byte: asked(|o| o.first_byte_timeout, limits::OUTBOUND_FIRST_BYTE),
            between_bytes: asked(|o| o.between_bytes_timeout, limits::OUTBOUND_FIRST_BYTE),
        }
    }
}

struct Target {
    tls: bool,
    host: String,
    port: u16,
}

async fn send(rules: &OutboundRules, request: Request<WasiBody>, waits: Waits) -> Sent {
    let target = target(request.uri())?;
    let connected = timeout(waits.connect, async {
        let address = choose(rules, &target).await?;
        let stream = TcpStream::connect(address).await.map_err(Error::Connect)?;
        // Small requests should not wait for an acknowledgement; without it they only wait longer.
        let _slower = stream.set_nodelay(true);
        Ok::<_, Error>(stream)
    });
    let stream = connected.await.map_err(|_elapsed| Error::ConnectionTimeout)??;
    if target.tls {
        let stream = timeout(waits.connect, tls::wrap(&target.host, stream));
        let stream = stream.await.map_err(|_elapsed| Error::ConnectionTimeout)??;
        exchange(stream, request, waits).await
    } else {
        exchange(stream, request, waits).await
    }
}

fn target(uri: &Uri) -> Result<Target, Error> {
    let authority = uri.authority().ok_or(Error::HttpRequestUriInvalid)?;
    let tls = uri.scheme() == Some(&Scheme::HTTPS);
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = match authority.port_u16() {
        Some(port) => port,
        // `example.com:` and `example.com:99999` are not `example.com`.
        None if authority.port().is_some() => return Err(Error::HttpRequestUriInvalid),
        None if tls => 443,
        None => 80,
    };
    Ok(Target { tls, host, port })
}

/// The address to connect to: granted by name, allowed by range.
async fn choose(rules: &OutboundRules, target: &Target) -> Result<SocketAddr, Error> {
    let Target { tls, host, port } = target;
    let scheme = if *tls { "https" } else { "http" };
    let what = format!("{scheme} to {host}:{port}");
    if !rules.covers_http(scheme, host, *port) {
        rules.refusals.not_granted(&what, "http-out");
        return Err(Error::HttpRequestDenied);
    }
    let found = tokio::net::lookup_host((host.as_str(), *port)).await;
    let found = found.map_err(|_error| Error::DnsError { rcode: None, info_code: None })?;
    let mut refused = None;
    for address in found.take(limits::OUTBOUND_ADDRESSES) {
        match rules.policy.refuse(address) {
            None => return Ok(address),
            Some(why) => refused = Some(why),
        }
    }
    let Some(why) = refused else { return Err(Error::DestinationNotFound) };
    rules.refusals.not_allowed(&what, why);
    Err(Error::DestinationIpProhibited)
}

async fn exchange<S>(stream: S, mut request: Request<WasiBody>, waits: Waits) -> Sent
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // A server gets the path alone; the authority went into the host header.
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().map_err(|_| Error::HttpRequestUriInvalid)?;
    let mut connection = Box::pin(connection);
    let mut open = true;
    let answered = async {
        let mut answer = Box::pin(sender.send_request(request));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                ended = &mut connection, if open => {
                    open = false;
                    ended?;
                }
            }
        }
    };
    let answer = timeout(waits.first_byte, answered).await;
    let answer = answer.map_err(|_elapsed| Error::ConnectionReadTimeout)??;
    let rest: Connection = Box::new(async move {
        let _kept_until_the_body_is_read = sender;
        if open { connection.await.map_err(Error::from) } else { Ok(()) }
    });
    let body = |incoming| TimedBody::new(incoming, waits.between_bytes).boxed_unsync();
    Ok((answer.map(body), rest))
}

/// A body that must not be silent for longer than its limit.
struct TimedBody {
    incoming: Incoming,
    limit: Duration,
    silence: Pin<Box<Sleep>>,
}

impl TimedBody {
    fn new(incoming: Incoming, limit: Duration) -> Self {
        Self { incoming, limit, silence: Box::pin(sleep(limit)) }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            let next = Instant::now() + self.limit;
            self.silence.as_mut().reset(next);
            return Poll::Ready(frame.map(|frame| frame.map_err(Error::from)));
        }
        ready!(self.silence.as_mut().poll(cx));
        Poll::Ready(Some(Err(Error::ConnectionReadTimeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
