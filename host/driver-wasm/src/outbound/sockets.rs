//! The check of every socket address that a guest uses, in the form that wasmtime-wasi asks for.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use wasmtime_wasi::sockets::SocketAddrUse;

use super::rules::{OutboundRules, Transport};

type Verdict = Pin<Box<dyn Future<Output = bool> + Send + Sync>>;

pub(crate) fn socket_check(
    rules: Arc<OutboundRules>,
) -> impl Fn(SocketAddr, SocketAddrUse) -> Verdict + Send + Sync + 'static {
    move |address, purpose| {
        let rules = rules.clone();
        Box::pin(async move { judge(&rules, address, purpose).await })
    }
}

async fn judge(rules: &OutboundRules, address: SocketAddr, purpose: SocketAddrUse) -> bool {
    match purpose {
        SocketAddrUse::TcpBind => {
            let implicit = address.port() == 0 && rules.has_out(Transport::Tcp);
            implicit || may_listen(rules, address)
        }
        SocketAddrUse::TcpListen => may_listen(rules, address),
        // Whoever reaches a granted listening port may be accepted.
        SocketAddrUse::TcpAccept => true,
        SocketAddrUse::TcpConnect => rules.covers_socket(Transport::Tcp, address).await,
        SocketAddrUse::UdpBind => address.port() == 0 && rules.has_out(Transport::Udp),
        SocketAddrUse::UdpSend | SocketAddrUse::UdpReceive => {
            rules.covers_socket(Transport::Udp, address).await
        }
    }
}

fn may_listen(rules: &OutboundRules, on: SocketAddr) -> bool {
    let granted = rules.may_listen(on);
    if !granted {
        rules.refusals.not_granted(&format!("listening on {on}"), "tcp-listen");
    }
    granted
}
