//! The data of one store.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_config::{WasiConfig, WasiConfigVariables};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::limiter::StoreLimiter;
use crate::outbound::OutboundHttp;

pub(crate) struct GuestState {
    pub(super) wasi: WasiCtx,
    pub(super) table: ResourceTable,
    pub(super) http: WasiHttpCtx,
    pub(super) outbound: OutboundHttp,
    pub(super) config: Arc<WasiConfigVariables>,
    pub(crate) limiter: StoreLimiter,
}

impl GuestState {
    pub(super) fn config(&mut self) -> WasiConfig<'_> {
        WasiConfig::new(&self.config)
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for GuestState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.outbound }
    }
}
