//! TLS of outbound requests: rustls with the Mozilla roots, nothing else.

use std::sync::{Arc, LazyLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::Error;

static CONFIG: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of every default version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
});

/// `host`: as in the URL, brackets of an IPv6 address removed.
pub(super) async fn wrap(host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, Error> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| Error::HttpRequestUriInvalid)?;
    TlsConnector::from(CONFIG.clone()).connect(name, stream).await.map_err(Error::Tls)
}
