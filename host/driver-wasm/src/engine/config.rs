//! How the engine is set up. Whatever changes compiled code is in one function, which the driver
//! and the compile worker share.

use std::num::NonZeroUsize;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Strategy, WasmBacktraceDetails};

use super::pool;
use crate::limits;
use crate::settings::PoolMode;

/// Address space of one memory; smaller reservations cost 18 % (05-runtime.md section 2).
pub(super) const MEMORY_RESERVATION_BYTES: u64 = 4 << 30;

/// An engine and how it came to be.
pub(crate) struct EngineSet {
    pub(crate) engine: Engine,
    /// Instances that fit in the pool; `None` without one.
    pub(crate) pool_size: Option<u32>,
    /// What an operator should know.
    pub(crate) notes: Vec<String>,
}

impl EngineSet {
    pub(crate) fn new(mode: PoolMode) -> Result<Self, wasmtime::Error> {
        let mut notes = raise_open_files();
        if mode == PoolMode::WhenPossible {
            let size = pool::size();
            let mut config = code_config();
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool::config(size)));
            match Engine::new(&config) {
                Ok(engine) => {
                    notes.push(format!(
                        "pool of {size} instances (bounded by vm.max_map_count of this host)"
                    ));
                    return Ok(Self { engine, pool_size: Some(size), notes });
                }
                Err(error) => notes.push(format!(
                    "no instance pool, memory is reserved on demand (slower): {error}"
                )),
            }
        } else {
            notes.push("memory is reserved on demand, as set".to_owned());
        }
        let engine = Engine::new(&code_config())?;
        Ok(Self { engine, pool_size: None, notes })
    }
}

/// The engine of the compile worker: the same code, nothing reserved.
pub(crate) fn compile_engine() -> Result<Engine, wasmtime::Error> {
    Engine::new(&code_config())
}

/// Everything that has a say in compiled code.
fn code_config() -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .epoch_interruption(true)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(limits::BACKTRACE_FRAMES))
        .wasm_component_model_async(true)
        .memory_reservation(MEMORY_RESERVATION_BYTES)
        .memory_may_move(false)
        .memory_init_cow(true);
    config
}

/// Files that this process may have open.
pub(crate) fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The soft limit is for programs of the 1980s: take what the system allows.
fn raise_open_files() -> Vec<String> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return Vec::new();
    }
    match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        Ok(()) => Vec::new(),
        Err(error) => vec![format!("the limit on open files could not be raised: {error}")],
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash, Hasher};

    use super::*;

    fn hash(engine: &Engine) -> u64 {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn worker_and_driver_make_the_same_code() {
        let worker = hash(&compile_engine().unwrap());
        let pooled = EngineSet::new(PoolMode::WhenPossible).unwrap();
        assert!(pooled.pool_size.is_some(), "{:?}", pooled.notes);
        assert_eq!(hash(&pooled.engine), worker);
        let on_demand = EngineSet::new(PoolMode::OnDemand).unwrap();
        assert_eq!(hash(&on_demand.engine), worker);
    }
}
