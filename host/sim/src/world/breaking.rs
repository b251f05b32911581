//! What breaks in the simulated cluster: controllers, agents, machines, the network, streams.

use super::{Caller, Due, World};
use pliant_agent::logic::{Input, Trouble};
use pliant_types::{JobName, Time, Version};

impl World {
    /// Something breaks, by chance.
    pub fn random_break(&mut self) {
        if !self.chance.permille(self.faults.breaking) {
            return;
        }
        let machine = usize::try_from(self.chance.below(self.machines.len() as u64)).unwrap_or(0);
        match self.chance.below(6) {
            0 => self.kill_controller(),
            1 => self.restart_agent(machine),
            2 => self.reboot(machine),
            3 => {
                let millis = self.chance.between(1_000, 25_000);
                self.cut_off(machine, millis);
            }
            4 => {
                let millis = self.chance.between(46_000, 90_000);
                self.cut_off(machine, millis);
            }
            _ => self.break_stream(machine),
        }
    }

    /// Guests of a version trap soon after each start, on every machine.
    pub fn spoil(&mut self, job: &JobName, version: Version) {
        for machine in &mut self.machines {
            machine.bad.insert((job.clone(), version));
        }
    }

    /// The controller's process ends now and begins again after a while.
    pub fn kill_controller(&mut self) {
        self.node = None;
        self.lose_controller();
        let after = self.chance.between(50, 8_000);
        if self.chance.permille(100) {
            // The clock of the next one is ahead.
            self.now = Time::from_millis(self.now.millis() + 3_600);
            self.coverage.note("clock jump at a start");
        }
        self.push(after, Due::ControllerUp);
    }

    /// Connections break: whoever waits for an answer learns that none comes.
    pub(super) fn lose_controller(&mut self) {
        for caller in std::mem::take(&mut self.callers).into_values() {
            let (machine, life, input) = match caller {
                Caller::User { .. } => continue,
                Caller::Register { machine, life } => {
                    (machine, life, Input::RegisterFailed(Trouble::NoAnswer))
                }
                Caller::Report { machine, life, .. } => {
                    (machine, life, Input::ReportFailed(Trouble::NoAnswer))
                }
                Caller::Renew { machine, life, .. } => {
                    (machine, life, Input::RenewFailed(Trouble::NoAnswer))
                }
            };
            self.push(50, Due::Input { machine, life, input });
        }
        self.streams.clear();
    }

    /// An agent's process is killed and begins again.
    pub fn restart_agent(&mut self, machine: usize) {
        if self.machines[machine].logic.is_none() {
            return;
        }
        if self.machines[machine].has_guests() {
            self.coverage.note("agent restarted with running tasks");
        }
        self.machines[machine].kill(&mut self.chance, &mut self.oracle);
        self.streams.remove(&machine);
        let after = self.chance.between(10, 5_000);
        self.push(after, Due::AgentUp { machine });
    }

    /// A machine is reset.
    pub fn reboot(&mut self, machine: usize) {
        if self.machines[machine].logic.is_none() {
            return;
        }
        self.coverage.note("host rebooted");
        self.machines[machine].kill(&mut self.chance, &mut self.oracle);
        self.machines[machine].boots += 1;
        self.streams.remove(&machine);
        let after = self.chance.between(1_000, 60_000);
        self.push(after, Due::AgentUp { machine });
    }

    /// Nothing gets to or from a machine for a while.
    pub fn cut_off(&mut self, machine: usize, millis: u64) {
        let until = Time::from_millis(self.now.millis() + millis);
        self.machines[machine].cut_off_until = until;
        if millis < 30_000 {
            self.coverage.note("host cut off and back in time");
        }
        self.break_stream(machine);
    }

    pub(super) fn break_stream(&mut self, machine: usize) {
        if self.streams.remove(&machine).is_none() {
            return;
        }
        self.coverage.note("assignment stream broken");
        let life = self.machines[machine].life;
        let after = self.chance.between(10, 2_000);
        self.push(after, Due::Follow { machine, life });
    }
}
