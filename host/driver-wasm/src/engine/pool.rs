//! How large the pool of instances is. Source of every figure: 05-runtime.md section 2.

use wasmtime::{Enabled, PoolingAllocationConfig};

use super::config::MEMORY_RESERVATION_BYTES;
use crate::limits;

/// Mappings that the rest of the process needs.
const OTHER_MAPPINGS: u64 = 5_000;
/// Mappings of one instance at most.
const MAPPINGS_PER_INSTANCE: u64 = 6;
/// Linux' default, for systems that do not say.
const DEFAULT_MAPPINGS: u64 = 65_530;
const LEAST: u32 = 16;
const MOST: u32 = 100_000;

/// Instances for which this host has mappings.
pub(super) fn size() -> u32 {
    let mappings = std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(DEFAULT_MAPPINGS);
    size_for(mappings)
}

fn size_for(mappings: u64) -> u32 {
    let instances = mappings.saturating_sub(OTHER_MAPPINGS) / MAPPINGS_PER_INSTANCE;
    u32::try_from(instances).unwrap_or(MOST).clamp(LEAST, MOST)
}

pub(super) fn config(size: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(size)
        .total_memories(size)
        .total_stacks(size)
        .total_tables(size.saturating_mul(3))
        .total_core_instances(size.saturating_mul(8))
        .max_core_instances_per_component(u32::try_from(limits::STORE_INSTANCES).unwrap_or(256))
        .max_memories_per_component(u32::try_from(limits::STORE_MEMORIES).unwrap_or(64))
        .max_tables_per_component(u32::try_from(limits::STORE_TABLES).unwrap_or(256))
        .max_memories_per_module(16)
        .max_tables_per_module(64)
        .table_elements(limits::HANDLES)
        .max_memory_size(usize::try_from(MEMORY_RESERVATION_BYTES).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(1 << 20)
        .pagemap_scan(Enabled::Auto);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_ten_thousand_at_the_linux_default() {
        assert_eq!(size_for(DEFAULT_MAPPINGS), 10_088);
        assert_eq!(size_for(0), LEAST);
        assert_eq!(size_for(u64::MAX), MOST);
    }
}
