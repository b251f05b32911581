//! What one execution may reach: its grants within the operator's policy.

use std::net::SocketAddr;

use pliant_driver::{DriverError, Grants};

use super::grant::{Grant, Host};
use super::range::OutboundPolicy;
use super::refusal::Refusals;
use crate::guest::GuestLog;
use crate::limits;

#[derive(Debug)]
pub(crate) struct OutboundRules {
    pub(super) policy: OutboundPolicy,
    pub(super) refusals: Refusals,
    http: Vec<Grant>,
    tcp: Vec<Grant>,
    udp: Vec<Grant>,
    /// Addresses that the guest itself may listen on.
    listen: Vec<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

impl OutboundRules {
    pub(crate) fn new(
        grants: &Grants,
        policy: OutboundPolicy,
        listen: Vec<SocketAddr>,
        log: GuestLog,
    ) -> Result<Self, DriverError> {
        let all = |lines: &[String], read: fn(&str) -> Result<Grant, DriverError>| {
            lines.iter().map(|line| read(line)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            policy,
            refusals: Refusals::new(log),
            http: all(&grants.http_out, Grant::http)?,
            tcp: all(&grants.tcp_out, Grant::socket)?,
            udp: all(&grants.udp_out, Grant::socket)?,
            listen,
        })
    }

    /// Whether a guest has any use for TCP sockets.
    pub(crate) fn tcp(&self) -> bool {
        !self.tcp.is_empty() || !self.listen.is_empty()
    }

    pub(crate) fn udp(&self) -> bool {
        !self.udp.is_empty()
    }

    /// Whether a guest may look up names for sockets of its own.
    pub(crate) fn sockets_out(&self) -> bool {
        !self.tcp.is_empty() || !self.udp.is_empty()
    }

    pub(super) fn may_listen(&self, on: SocketAddr) -> bool {
        self.listen.contains(&on)
    }

    pub(super) fn has_out(&self, transport: Transport) -> bool {
        !self.grants(transport).is_empty()
    }

    pub(super) fn covers_http(&self, scheme: &str, host: &str, port: u16) -> bool {
        self.http.iter().any(|grant| grant.covers_http(scheme, host, port))
    }

    /// Whether a socket may talk to this address. Names in grants are looked up now, so that what
    /// counts is where they point at this moment.
    pub(super) async fn covers_socket(&self, transport: Transport, to: SocketAddr) -> bool {
        let name = match transport {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        };
        if !self.is_granted(transport, to).await {
            self.refusals.not_granted(&format!("{name} to {to}"), &format!("{name}-out"));
            return false;
        }
        if let Some(why) = self.policy.refuse(to) {
            self.refusals.not_allowed(&format!("{name} to {to}"), why);
            return false;
        }
        true
    }

    async fn is_granted(&self, transport: Transport, to: SocketAddr) -> bool {
        let ip = to.ip().to_canonical();
        let fitting =
            || self.grants(transport).iter().filter(|g| g.port.is_none_or(|p| p == to.port()));
        let by_address = fitting().any(|grant| match &grant.host {
            Host::Any => true,
            Host::Address(granted) => *granted == ip,
            Host::Name(_) | Host::Suffix(_) => false,
        });
        if by_address {
            return true;
        }
        for grant in fitting().take(limits::OUTBOUND_GRANT_NAMES) {
            let Host::Name(name) = &grant.host else { continue };
            // A name that cannot be looked up grants nothing.
            let Ok(found) = tokio::net::lookup_host((name.as_str(), to.port())).await else {
                continue;
            };
            let mut found = found.take(limits::OUTBOUND_ADDRESSES);
            if found.any(|address| address.ip().to_canonical() == ip) {
                return true;
            }
        }
        false
    }

    fn grants(&self, transport: Transport) -> &[Grant] {
        match transport {
            Transport::Tcp => &self.tcp,
            Transport::Udp => &self.udp,
        }
    }
}
