//! Connections that a guest opens: what was granted, what an operator allows, and the connecting.
//!
//! Nothing is granted by default. A name is resolved here and the address that was checked is the
//! one that is connected to. Redirects are the guest's own requests, so each is checked.

mod grant;
mod http;
mod range;
mod refusal;
mod rules;
mod sockets;
mod tls;

pub use range::{AddressRange, OutboundPolicy};

pub(crate) use http::OutboundHttp;
pub(crate) use rules::OutboundRules;
pub(crate) use sockets::socket_check;
