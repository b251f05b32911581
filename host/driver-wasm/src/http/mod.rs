//! Ports with protocol http: the driver accepts, the guest answers, an instance for each request
//! or one for several.

mod answer;
mod counters;
mod instance;
mod instances;
mod server;
mod work;

pub(crate) use counters::HttpCounters;
pub(crate) use server::HttpServer;
