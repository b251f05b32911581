//! From the spec of an execution to a fresh store, as often as one is needed.

use std::sync::Arc;

use pliant_driver::logs::Stream;
use pliant_driver::{Access, DriverError, ExecutionSpec};
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};
use wasmtime_wasi_config::WasiConfigVariables;
use wasmtime_wasi_http::WasiHttpCtx;

use super::limiter::StoreLimiter;
use super::output::{GuestLog, GuestOutput};
use super::state::GuestState;
use crate::accounts::{CpuAccount, MemoryAccount};
use crate::limits;
use crate::outbound::{OutboundHttp, OutboundRules, socket_check};

/// Name of the program as the guest sees it in its first argument.
const PROGRAM_NAME: &str = "guest";
/// Where `ExecutionSpec::output_dir` is seen.
const OUTPUT_PATH: &str = "/output";

/// What all instances of one attempt have in common.
pub(crate) struct GuestSetup {
    pub(crate) engine: Engine,
    pub(crate) spec: ExecutionSpec,
    pub(crate) rules: Arc<OutboundRules>,
    pub(crate) log: GuestLog,
    pub(crate) memory: Arc<MemoryAccount>,
    pub(crate) cpu: Arc<CpuAccount>,
    config: Arc<WasiConfigVariables>,
    args: Vec<String>,
    env: Vec<(String, String)>,
    handles: usize,
}

impl GuestSetup {
    /// `ports`: name and number of each port, for the environment.
    pub(crate) fn new(
        engine: Engine,
        spec: ExecutionSpec,
        rules: Arc<OutboundRules>,
        log: GuestLog,
        ports: &[(String, u16)],
    ) -> Self {
        let now = std::time::Instant::now();
        let args = std::iter::once(PROGRAM_NAME.to_owned()).chain(spec.args.clone()).collect();
        let port_env = ports.iter().map(|(name, number)| (port_variable(name), number.to_string()));
        let env = spec.env.clone().into_iter().chain(port_env).collect();
        let config = spec.config.clone().into_iter().collect::<WasiConfigVariables>();
        Self {
            memory: Arc::new(MemoryAccount::new(spec.memory.bytes())),
            cpu: Arc::new(CpuAccount::new(spec.cpu.millis(), now)),
            config: Arc::new(config),
            args,
            env,
            handles: limits::handles(crate::engine::open_files()),
            engine,
            spec,
            rules,
            log,
        }
    }

    /// A store with every limit in place. Fails when a mount cannot be opened.
    pub(crate) fn store(&self) -> Result<Store<GuestState>, DriverError> {
        let mut table = ResourceTable::new();
        table.set_max_capacity(self.handles);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(limits::HTTP_FIELD_BYTES);
        let state = GuestState {
            wasi: self.wasi()?,
            table,
            http,
            outbound: OutboundHttp::new(self.rules.clone()),
            config: self.config.clone(),
            limiter: StoreLimiter::new(self.memory.clone()),
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(limits::HOST_CALL_BYTES);
        store.set_max_component_handles(self.handles);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        Ok(store)
    }

    fn wasi(&self) -> Result<WasiCtx, DriverError> {
        let mut wasi = WasiCtxBuilder::new();
        wasi.args(&self.args)
            .envs(&self.env)
            .stdout(GuestOutput::new(self.log.clone(), Stream::Stdout))
            .stderr(GuestOutput::new(self.log.clone(), Stream::Stderr))
            .max_random_size(limits::RANDOM_BYTES)
            .allow_ip_name_lookup(self.rules.sockets_out())
            .allow_tcp(self.rules.tcp())
            .allow_udp(self.rules.udp());
        if self.rules.tcp() || self.rules.udp() {
            wasi.socket_addr_check(socket_check(self.rules.clone()));
        }
        for mount in &self.spec.mounts {
            let access = match mount.access {
                Access::ReadOnly => FsPerms::ReadOnly,
                Access::ReadWrite => FsPerms::ReadWrite,
            };
            open(&mut wasi, &mount.host_path, &mount.guest_path, access)?;
        }
        if let Some(dir) = &self.spec.output_dir {
            open(&mut wasi, dir, OUTPUT_PATH, FsPerms::ReadWrite)?;
        }
        Ok(wasi.build())
    }
}

fn open(
    wasi: &mut WasiCtxBuilder,
    host_path: &std::path::Path,
    guest_path: &str,
    access: FsPerms,
) -> Result<(), DriverError> {
    wasi.preopened_dir(host_path, guest_path, access).map(|_wasi| ()).map_err(|error| {
        let source = error
            .downcast::<std::io::Error>()
            .unwrap_or_else(|error| std::io::Error::other(format!("{error:#}")));
        DriverError::MountUnavailable {
            guest_path: guest_path.to_owned(),
            host_path: host_path.to_owned(),
            source,
        }
    })
}

/// `PLIANT_PORT_<NAME>`: upper case, everything but letters and digits as an underscore.
fn port_variable(name: &str) -> String {
    let name = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    format!("PLIANT_PORT_{}", name.collect::<String>().to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_found_by_their_name() {
        assert_eq!(port_variable("http"), "PLIANT_PORT_HTTP");
        assert_eq!(port_variable("admin-api"), "PLIANT_PORT_ADMIN_API");
    }
}
