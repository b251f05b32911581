//! Calls of agents and answers to them, over a network that loses, delays and doubles.

use super::{Caller, Due, World};
use pliant_agent::logic::{Call, Input, Trouble};
use pliant_core::{Command, RegisterHost, ReplyTag, ReportHost, Request};
use pliant_types::{
    Cpu, HostId, Memory, Time,
    host::{HostDescription, HostStage},
    report::Renewed,
};
use std::collections::BTreeMap;

impl World {
    /// A call on its way to the controller. A lost one is answered by its time-out.
    pub(super) fn send(&mut self, machine: usize, call: Call) {
        let life = self.machines[machine].life;
        if self.chance.permille(self.faults.lost) {
            self.coverage.note("message lost");
            let timeout = self.chance.between(1_000, 3_000);
            return self.answer_trouble(machine, call, timeout);
        }
        let delay = self.chance.between(1, self.faults.delay_millis);
        if self.chance.permille(self.faults.doubled) {
            self.coverage.note("message doubled");
            let again = self.chance.between(1, self.faults.delay_millis * 2);
            self.push(again, Due::Call { machine, life, call: call.clone() });
        }
        self.push(delay, Due::Call { machine, life, call });
    }

    pub(super) fn answer_trouble(&mut self, machine: usize, call: Call, after_millis: u64) {
        let life = self.machines[machine].life;
        let input = match call {
            Call::Register { .. } => Input::RegisterFailed(Trouble::NoAnswer),
            Call::Renew(_) => Input::RenewFailed(Trouble::NoAnswer),
            Call::Report { .. } => Input::ReportFailed(Trouble::NoAnswer),
            // A stream connects again by itself.
            Call::Follow(_) => return self.push(after_millis, Due::Follow { machine, life }),
            Call::Unfollow => return,
        };
        self.push(after_millis, Due::Input { machine, life, input });
    }

    pub(super) fn call(&mut self, machine: usize, call: Call) {
        if self.node.is_none() || self.machines[machine].cut_off_until > self.now {
            return self.answer_trouble(machine, call, 1_000);
        }
        let life = self.machines[machine].life;
        match call {
            Call::Register { host, inventory, .. } => {
                let description = self.describe(machine);
                let command = Command::RegisterHost(RegisterHost { description, host, inventory });
                self.submit(Caller::Register { machine, life }, command);
            }
            Call::Renew(host) => self.renew(machine, host),
            Call::Report { host, report, ticket } => {
                let command = Command::Report(ReportHost { host, report: *report });
                self.submit(Caller::Report { machine, life, ticket }, command);
            }
            Call::Follow(host) => {
                self.streams.insert(machine, (host, None));
                self.feed();
            }
            Call::Unfollow => {}
        }
    }

    pub(super) fn describe(&self, machine: usize) -> HostDescription {
        let machine = &self.machines[machine];
        HostDescription {
            name: machine.name.parse().expect("Invariant: machines are named by DNS labels"),
            boot: machine.boot(),
            address: "http://127.0.0.1:1".into(),
            cpu: Cpu::from_millis(2_000),
            memory: Memory::from_mib(1_024),
            max_executions: 64,
            attributes: BTreeMap::from([("engine.wasm".to_owned(), "simulated".to_owned())]),
            labels: BTreeMap::new(),
        }
    }

    pub(super) fn submit(&mut self, caller: Caller, command: Command) {
        let Some(node) = &mut self.node else { return };
        self.next_tag += 1;
        let tag = ReplyTag(self.next_tag);
        self.callers.insert(tag, caller);
        node.engine.submit(tag, Request::internal(command));
        self.run_node();
    }

    pub(super) fn renew(&mut self, machine: usize, host: HostId) {
        let (life, boot) = (self.machines[machine].life, self.machines[machine].boot());
        let Some(node) = &mut self.node else { return };
        let known = node.published.hosts.get(&host);
        if known.is_none_or(|known| known.description.boot != boot) {
            let input = Input::RenewFailed(Trouble::Fenced);
            return self.push(1, Due::Input { machine, life, input });
        }
        let rejoining = known.is_some_and(|known| known.stage == HostStage::Rejoining);
        match node.leases.renew(host, &boot, self.now) {
            Some(command) => {
                self.submit(Caller::Renew { machine, life, host, sent: self.now }, command);
            }
            // As the controller does: whoever renews while rejoining registers again.
            None if rejoining => {
                let input = Input::RenewFailed(Trouble::Fenced);
                self.push(1, Due::Input { machine, life, input });
            }
            None => self.renewed(machine, (life, host, self.now)),
        }
    }

    pub(super) fn renewed(&mut self, machine: usize, (life, host, sent): (u64, HostId, Time)) {
        let Some(node) = &self.node else { return };
        let Some(known) = node.published.hosts.get(&host) else { return };
        let renewed = Renewed {
            epoch: node.published.epoch(),
            fence: known.fence,
            lease: node.leases.rules().lease,
        };
        let input = Input::Renewed { sent: crate::host::moment(sent), renewed };
        self.answer(machine, life, input);
    }

    /// An answer on its way to an agent; a lost one shows as a time-out.
    pub(super) fn answer(&mut self, machine: usize, life: u64, input: Input) {
        let cut_off = self.machines[machine].cut_off_until > self.now;
        if cut_off || self.chance.permille(self.faults.lost) {
            let lost = match input {
                Input::Registered(_) => Input::RegisterFailed(Trouble::NoAnswer),
                Input::Renewed { .. } => Input::RenewFailed(Trouble::NoAnswer),
                _ => Input::ReportFailed(Trouble::NoAnswer),
            };
            return self.push(1_500, Due::Input { machine, life, input: lost });
        }
        let delay = self.chance.between(1, self.faults.delay_millis);
        self.push(delay, Due::Input { machine, life, input });
    }
}
