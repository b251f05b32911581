//! The gate of one pull: a proxy on loopback that connects only to addresses that it has checked.
//!
//! The registry client resolves names by itself and follows redirects and token services wherever
//! they lead; through the gate each of its connections goes to the very address that was checked.
//! It leads nowhere where any process of this machine could not go by itself, so it asks no token.

use super::fetch::{CONNECT_LIMIT, FetchError, OCI_WAY, resolve};
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

/// Longest head of a request to the gate.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// An open gate; dropping it ends its connections.
#[derive(Debug)]
pub(super) struct Gate {
    address: SocketAddr,
    refused: Arc<Mutex<Option<FetchError>>>,
    _guard: JoinSet<()>,
}

impl Gate {
    pub(super) async fn open() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let refused = Arc::default();
        let mut guard = JoinSet::new();
        guard.spawn(accept_all(listener, Arc::clone(&refused)));
        Ok(Self { address, refused, _guard: guard })
    }

    /// As a proxy is named.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Why a connection was refused, if one was: the client has only seen that it was.
    pub(super) fn refusal(&self) -> Option<FetchError> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

async fn accept_all(listener: TcpListener, refused: Arc<Mutex<Option<FetchError>>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(pass(stream, Arc::clone(&refused)));
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(mut client: TcpStream, refused: Arc<Mutex<Option<FetchError>>>) {
    let Ok(Ok(head)) = timeout(CONNECT_LIMIT, head(&mut client)).await else { return };
    // A failed answer ends the connection like a given one.
    let _outcome = match target(&head) {
        None => client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n").await,
        Some((host, port)) => match connected(&host, port).await {
            Ok(mut server) => tunnel(&mut client, &mut server).await,
            Err(error) => {
                *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await
            }
        },
    };
}

/// Reads up to the empty line; nothing follows it before the answer.
async fn head(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD_BYTES {
            return Err(io::Error::other("the head is too long"));
        }
        head.push(client.read_u8().await?);
    }
    Ok(head)
}

/// Where a CONNECT leads; anything else would be asked without TLS.
fn target(head: &[u8]) -> Option<(String, u16)> {
    let text = std::str::from_utf8(head).ok()?;
    let authority = text.strip_prefix("CONNECT ")?.split(' ').next()?;
    let (host, port) = authority.rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}

async fn connected(host: &str, port: u16) -> Result<TcpStream, FetchError> {
    let unreachable = |why: String| FetchError::Unreachable { url: format!("{host}:{port}"), why };
    let address = resolve(host, port, OCI_WAY).await?;
    match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
        Ok(connected) => connected.map_err(|error| unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!("no connection within {} s", CONNECT_LIMIT.as_secs()))),
    }
}

async fn tunnel(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<()> {
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    copy_bidirectional(client, server).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn asked(gate: &Gate, head: &str) -> String {
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_gate_leads_to_no_private_address_and_nowhere_without_tls() {
        let private = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = private.local_addr().unwrap().port();
        let gate = Gate::open().await.unwrap();
        for host in ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"] {
            let answer = asked(&gate, &format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
            let refusal = gate.refusal();
            assert!(matches!(refusal, Some(FetchError::Refused { .. })), "{host}: {refusal:?}");
        }
        let answer = asked(&gate, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
        let met = timeout(std::time::Duration::from_millis(50), private.accept()).await;
        assert!(met.is_err(), "nobody was connected to");
    }

    #[test]
    fn only_a_connect_leads_anywhere() {
        let lead = |head: &str| target(head.as_bytes());
        assert_eq!(lead("CONNECT a.example:443 HTTP/1.1\r\n"), Some(("a.example".into(), 443)));
        assert_eq!(lead("CONNECT [::1]:443 HTTP/1.1\r\n"), Some(("::1".into(), 443)));
        for bad in ["GET / HTTP/1.1", "CONNECT a.example HTTP/1.1", "CONNECT a:b HTTP/1.1", ""] {
            assert_eq!(lead(bad), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn the_registry_client_goes_through_the_gate() {
        // The process has one; a test of its own has none yet.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let private = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let registry = private.local_addr().unwrap();
        let gate = Gate::open().await.unwrap();
        let client = super::super::fetch::registry_client(&[], Some(&gate)).unwrap();
        let image = format!("{registry}/guests/web:1").parse().unwrap();
        let auth = oci_client::secrets::RegistryAuth::Anonymous;
        let pulled = client.pull_manifest(&image, &auth).await;
        assert!(pulled.is_err());
        assert!(matches!(gate.refusal(), Some(FetchError::Refused { .. })), "it was asked");
    }
}
