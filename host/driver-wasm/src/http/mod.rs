//! Ports with protocol http: the driver accepts, the guest answers, an instance for each request
//! or one for several.

mod answer;
mod body;
mod counters;
mod instance;
mod server;
mod workers;

pub(crate) use counters::HttpCounters;
pub(crate) use server::HttpServer;
