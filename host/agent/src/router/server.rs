//! Listening for requests, following the routing table, ending in order.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use pliant_api::body::RouteTable;
use pliant_client::{Client, ClientError, EventStream, Reach, Received, Token};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{proxy::Proxy, table::Table};

/// Connections at the same time; more wait to be accepted.
const CONNECTIONS: usize = 4_096;
/// A client must send its request head within this time.
const HEAD: Duration = Duration::from_secs(30);
/// What is under way at the end has this long.
const DRAIN: Duration = Duration::from_secs(5);
/// Wait after a failed accept, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Wait before the table is asked for again after a refusal.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Settings of a router.
#[derive(Clone, Debug)]
pub struct RouterConfig {
    /// Where it listens; port 0 is a free one.
    pub listen: SocketAddr,
    /// `http://ADDRESS:PORT` of the controller.
    pub controller: String,
    /// The controller's token.
    pub token: String,
}

/// Why a router does not start.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    /// Its address cannot be had.
    #[error("{address} cannot be listened on")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The controller's address or token is wrong.
    #[error("the controller cannot be asked")]
    Client(#[source] ClientError),
}

/// A running router.
#[derive(Debug)]
pub struct Router {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Router {
    /// Listens and follows the table.
    ///
    /// # Errors
    /// [`RouterError`]; nothing listens then.
    pub async fn start(config: RouterConfig) -> Result<Self, RouterError> {
        let RouterConfig { listen, controller, token } = config;
        let settings = pliant_client::Config {
            reach: Reach::Loopback,
            ..pliant_client::Config::new(&controller).with_token(Some(Token::new(&token)))
        };
        let client = Client::new(settings).map_err(RouterError::Client)?;
        let refused = |source| RouterError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (sender, table) = watch::channel(Arc::new(Table::default()));
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(follow(client, sender, stop.clone()));
        let proxy = Arc::new(Proxy::new(table));
        tasks.spawn(accept(listener, proxy, (tasks.clone(), stop.clone())));
        tracing::info!(%address, "router runs");
        Ok(Self { address, stop, tasks })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes nothing new, lets what is under way end, joins every task.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Follows the table; the last one stays in force while the controller is away.
async fn follow(client: Client, table: watch::Sender<Arc<Table>>, stop: CancellationToken) {
    let reading = async {
        loop {
            let mut stream = client.routes();
            read(&mut stream, &table).await;
            tokio::time::sleep(ASK_AGAIN).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = reading => {}
    }
}

async fn read(stream: &mut EventStream<RouteTable>, table: &watch::Sender<Arc<Table>>) {
    loop {
        match stream.next().await {
            Ok(Some(Received::Body(newer))) => {
                table.send_modify(|present| *present = Arc::new(present.newer(&newer)));
            }
            Ok(Some(Received::Lost(error))) => {
                tracing::debug!(%error, "the routing table is not followed now");
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the routing table cannot be had");
                return;
            }
        }
    }
}

async fn accept(
    listener: TcpListener,
    proxy: Arc<Proxy>,
    (tasks, stop): (TaskTracker, CancellationToken),
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            place = Arc::clone(&places).acquire_owned() => {
                // The semaphore is never closed.
                let Ok(place) = place else { return };
                tokio::select! {
                    () = stop.cancelled() => return,
                    accepted = listener.accept() => accepted.map(|accepted| (accepted, place)),
                }
            }
        };
        match accepted {
            Ok(((socket, from), place)) => {
                let (proxy, stop) = (Arc::clone(&proxy), stop.clone());
                tasks.spawn(async move {
                    serve(socket, from, (proxy, stop)).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the router cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(
    socket: TcpStream,
    from: SocketAddr,
    (proxy, stop): (Arc<Proxy>, CancellationToken),
) {
    let _best_effort = socket.set_nodelay(true);
    let answer = service_fn(move |request: http::Request<Incoming>| {
        let proxy = Arc::clone(&proxy);
        async move { Ok::<_, Infallible>(proxy.answer(request, from.ip()).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    builder.http2().timer(TokioTimer::new());
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(socket), answer));
    tokio::select! {
        _ended = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    // A client that does not take its answer in time is cut off.
    let _ = tokio::time::timeout(DRAIN, connection).await;
}
