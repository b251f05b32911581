//! Which hosts are silent: newest renewals, outside the state, turned into commands.
//!
//! Pure like the rest of the core, and run by the simulator too; the controller feeds it monotonic
//! time. A renewal is never a fact, only the stage that its absence reaches (14-decisions.md, 1).

use crate::command::{Command, HostSeen, HostSilent};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use pliant_types::{HostId, Millis, Time, host::HostStage};

/// Spans of silence (14-decisions.md, 14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRules {
    /// How often an agent renews.
    pub renew: Millis,
    /// How long a renewal is good for.
    pub lease: Millis,
    /// Silence until suspect.
    pub suspect: Millis,
    /// Silence until unreachable.
    pub unreachable: Millis,
    /// Silence until lost.
    pub lost: Millis,
}

impl Default for LeaseRules {
    fn default() -> Self {
        Self {
            renew: Millis::from_secs(3),
            lease: Millis::from_secs(15),
            suspect: Millis::from_secs(7),
            unreachable: Millis::from_secs(30),
            lost: Millis::from_secs(45),
        }
    }
}

/// The newest renewal of each host.
#[derive(Clone, Debug)]
pub struct Leases {
    rules: LeaseRules,
    hosts: BTreeMap<HostId, Lease>,
}

#[derive(Clone, Debug)]
struct Lease {
    renewed_at: Time,
    boot: String,
    told: HostStage,
}

impl Leases {
    /// No host yet.
    #[must_use]
    pub const fn new(rules: LeaseRules) -> Self {
        Self { rules, hosts: BTreeMap::new() }
    }

    /// The rules in force.
    #[must_use]
    pub const fn rules(&self) -> LeaseRules {
        self.rules
    }

    /// Notes a renewal or a registration. Of several only the newest counts. A host that was told
    /// silent is seen again.
    pub fn renew(&mut self, host: HostId, boot: &str, now: Time) -> Option<Command> {
        let lease = self.hosts.entry(host).or_insert_with(|| Lease {
            renewed_at: now,
            boot: boot.into(),
            told: HostStage::Up,
        });
        lease.renewed_at = lease.renewed_at.max(now);
        lease.boot = boot.into();
        let silent = core::mem::replace(&mut lease.told, HostStage::Up) != HostStage::Up;
        silent.then(|| Command::HostSeen(HostSeen { host, boot: boot.into() }))
    }

    /// Begins to watch a host that the state knows: it gets one full fresh lease, whatever its
    /// stage (06-cluster.md, section 1).
    pub fn watch(&mut self, host: HostId, boot: &str, stage: HostStage, now: Time) {
        let told = if stage == HostStage::Rejoining { HostStage::Up } else { stage };
        let lease = Lease { renewed_at: now, boot: boot.into(), told };
        self.hosts.entry(host).or_insert(lease);
    }

    /// Stops watching a host.
    pub fn forget(&mut self, host: HostId) {
        self.hosts.remove(&host);
    }

    /// The stages that silence has reached since the last call, as commands.
    pub fn silent(&mut self, now: Time) -> Vec<Command> {
        let rules = self.rules;
        let mut commands = Vec::new();
        for (host, lease) in &mut self.hosts {
            let stage = rules.stage(now.since(lease.renewed_at));
            if stage > lease.told && lease.told < HostStage::Lost {
                lease.told = stage;
                let lease_end = lease.renewed_at.after(rules.lease);
                commands.push(Command::HostSilent(HostSilent { host: *host, stage, lease_end }));
            }
        }
        commands
    }

    /// When `silent` has something to say at the earliest.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.hosts
            .values()
            .filter_map(|lease| {
                self.rules.next_stage(lease.told).map(|s| lease.renewed_at.after(s))
            })
            .min()
    }
}

impl LeaseRules {
    fn stage(&self, silence: Millis) -> HostStage {
        if silence >= self.lost {
            HostStage::Lost
        } else if silence >= self.unreachable {
            HostStage::Unreachable
        } else if silence >= self.suspect {
            HostStage::Suspect
        } else {
            HostStage::Up
        }
    }

    const fn next_stage(&self, told: HostStage) -> Option<Millis> {
        match told {
            HostStage::Up => Some(self.suspect),
            HostStage::Suspect => Some(self.unreachable),
            HostStage::Unreachable => Some(self.lost),
            HostStage::Lost | HostStage::Rejoining => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostId = HostId::new(1);

    fn at(secs: u64) -> Time {
        Time::from_millis(secs * 1000)
    }

    fn stages(leases: &mut Leases, secs: u64) -> Vec<HostStage> {
        let silent = leases.silent(at(secs)).into_iter();
        silent
            .filter_map(|c| if let Command::HostSilent(s) = c { Some(s.stage) } else { None })
            .collect()
    }

    #[test]
    fn silence_passes_through_every_stage_once() {
        let mut leases = Leases::new(LeaseRules::default());
        assert_eq!(leases.renew(HOST, "a", at(0)), None);
        assert_eq!(stages(&mut leases, 6), []);
        assert_eq!(leases.next(), Some(at(7)));
        assert_eq!(stages(&mut leases, 7), [HostStage::Suspect]);
        assert_eq!(stages(&mut leases, 29), []);
        assert_eq!(stages(&mut leases, 30), [HostStage::Unreachable]);
        assert_eq!(stages(&mut leases, 60), [HostStage::Lost]);
        assert_eq!(leases.next(), None);
    }

    #[test]
    fn case_e62_a_renewal_ends_the_silence_and_an_older_one_changes_nothing() {
        let mut leases = Leases::new(LeaseRules::default());
        leases.renew(HOST, "a", at(0));
        assert_eq!(stages(&mut leases, 10), [HostStage::Suspect]);
        assert!(leases.renew(HOST, "a", at(12)).is_some(), "a silent host is seen again");
        assert!(leases.renew(HOST, "a", at(11)).is_none());
        assert_eq!(leases.next(), Some(at(19)));
    }

    #[test]
    fn a_new_controller_gives_a_full_fresh_lease() {
        let mut leases = Leases::new(LeaseRules::default());
        leases.watch(HOST, "a", HostStage::Suspect, at(100));
        assert_eq!(stages(&mut leases, 110), []);
        assert_eq!(stages(&mut leases, 130), [HostStage::Unreachable]);
    }
}
