//! What the machine is: read once at the start, sent with the registration.

use std::{collections::BTreeMap, fs, io};

use pliant_types::{Cpu, Memory, host::HostDescription};

use super::{AgentError, Config, drivers::Drivers};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const KERNEL: &str = "/proc/sys/kernel/osrelease";
const MEMORY: &str = "/proc/meminfo";

/// The boot of this machine.
pub(super) fn boot(config: &Config) -> Result<String, AgentError> {
    if let Some(boot) = &config.boot {
        return Ok(boot.clone());
    }
    let text = fs::read_to_string(BOOT_ID);
    text.map(|text| text.trim().to_owned())
        .map_err(|source| AgentError::Machine { what: "boot", source })
}

/// What the host says of itself; `address`: where its agent serves logs.
pub(super) fn describe(
    config: &Config,
    boot: String,
    address: String,
    drivers: &Drivers,
) -> Result<HostDescription, AgentError> {
    let cores = std::thread::available_parallelism()
        .map_err(|source| AgentError::Machine { what: "cores", source })?
        .get();
    let total = memory_bytes().map_err(|source| AgentError::Machine { what: "memory", source })?;
    let offered = total / 100 * u64::from(100 - config.reserved_memory_percent);
    let mut attributes = BTreeMap::from([
        ("arch".to_owned(), std::env::consts::ARCH.to_owned()),
        ("os".to_owned(), std::env::consts::OS.to_owned()),
        ("cores".to_owned(), cores.to_string()),
    ]);
    let kernel = fs::read_to_string(KERNEL)
        .map_err(|source| AgentError::Machine { what: "kernel", source })?;
    attributes.insert("kernel".to_owned(), kernel.trim().to_owned());
    attributes.extend(drivers.attributes());
    let cores = u32::try_from(cores).unwrap_or(u32::MAX);
    Ok(HostDescription {
        name: config.name.clone(),
        boot,
        address,
        cpu: config.cpu.unwrap_or(Cpu::from_millis(cores.saturating_mul(1_000))),
        memory: config.memory.unwrap_or(Memory::from_bytes(offered)),
        max_executions: drivers.bounded(config.max_executions),
        attributes,
        labels: config.labels.clone(),
    })
}

/// All memory of the machine, bytes.
fn memory_bytes() -> io::Result<u64> {
    let text = fs::read_to_string(MEMORY)?;
    total_of(&text).ok_or_else(|| io::Error::other("/proc/meminfo has no MemTotal"))
}

fn total_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_total_and_nothing_else() {
        let text = "MemTotal:       24689796 kB\nMemFree: 1 kB\n";
        assert_eq!(total_of(text), Some(24_689_796 * 1_024));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        assert_eq!(total_of("MemTotal: many kB\n"), None);
    }
}
