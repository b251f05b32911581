//! What an agent says to its controller: registration, renewals, reports; and what the answers do.

use pliant_types::{
    HostId,
    report::{InventoryItem, MAX_OBSERVATIONS, Registered, Renewed, Report},
};

use super::{AgentLogic, Call, Edit, Input, Moment, Output, Ticket, Trouble, link::Standing};

impl AgentLogic {
    pub(super) fn controller(&mut self, input: Input, now: Moment, out: &mut Output) {
        match input {
            Input::Registered(registered) => self.registered(&registered, now, out),
            Input::RegisterFailed(_) => self.link.part(now),
            Input::Renewed { sent, renewed } => self.renewed(sent, renewed, now, out),
            Input::RenewFailed(trouble) => {
                self.link.renew_failed(now);
                self.fenced(trouble, now, out);
            }
            Input::Reported { ticket, fence } => {
                self.link.reported(now);
                self.acknowledged(ticket);
                if self.host.fence != Some(fence) {
                    self.fenced(Trouble::Fenced, now, out);
                }
            }
            Input::ReportFailed(trouble) => {
                self.link.report_failed(now);
                self.fenced(trouble, now, out);
            }
            // A stream connects again by itself; one that gave up needs more than that.
            Input::StreamLost(_) => self.fenced(Trouble::Fenced, now, out),
            Input::Execution(..) | Input::Progress { .. } | Input::Offered(_) | Input::Tick => {}
        }
    }

    fn registered(&mut self, registered: &Registered, now: Moment, out: &mut Output) {
        self.host.host = Some(registered.host);
        self.host.fence = Some(registered.fence);
        out.must(Edit::Host(self.host.clone()));
        let known = registered.kill.iter().filter(|id| self.executions.contains_key(id));
        let kill: std::collections::BTreeSet<_> = known.copied().collect();
        self.link.registered(kill.clone(), now);
        for id in kill {
            self.forget(id, now, out);
        }
        if self.link.standing == Standing::Joined {
            // Whatever was told to an earlier life of the host is told again.
            self.untold.extend(self.executions.keys().map(|id| (*id, now)));
            self.executions.values_mut().for_each(|known| known.told = None);
            out.calls.push(Call::Follow(registered.host));
        }
    }

    fn renewed(&mut self, sent: Moment, renewed: Renewed, now: Moment, out: &mut Output) {
        self.link.renewed(sent);
        self.lease.renewed(sent, renewed.lease);
        if self.exclusive_ones().next().is_some() {
            self.host.lease_end = self.lease.end();
            out.may(Edit::Host(self.host.clone()));
        }
        if self.host.fence != Some(renewed.fence) {
            self.fenced(Trouble::Fenced, now, out);
        }
    }

    /// Registers again when the controller does not take this host for what it says it is.
    pub(super) fn fenced(&mut self, trouble: Trouble, now: Moment, out: &mut Output) {
        if trouble == Trouble::Fenced && self.link.is_registered() {
            self.link.part(now);
            out.calls.push(Call::Unfollow);
        }
    }

    fn acknowledged(&mut self, ticket: Ticket) {
        for told in ticket.0 {
            let id = told.execution;
            let Some(known) = self.executions.get_mut(&id) else { continue };
            if known.observation().as_ref() == Some(&told) {
                self.untold.remove(&id);
            }
            known.told = Some(told);
        }
    }

    /// The calls that are due now.
    pub(super) fn calls(&mut self, now: Moment, out: &mut Output) {
        if let Standing::Apart { retry_at } = self.link.standing
            && now >= retry_at
        {
            self.link.standing = Standing::Registering;
            out.calls.push(self.register());
        }
        let Some(host) = self.host.host.filter(|_| self.link.is_registered()) else { return };
        if self.link.renewal.is_due(now) {
            self.link.renewal.under_way = true;
            out.calls.push(Call::Renew(host));
        }
        if self.link.standing == Standing::Joined
            && self.link.report.is_due(now)
            && self.news_due().is_some_and(|due| now >= due)
        {
            out.calls.extend(self.report(host));
        }
    }

    pub(super) fn call_due(&self) -> Option<Moment> {
        self.link.due(self.news_due())
    }

    /// When something must be told at the latest.
    fn news_due(&self) -> Option<Moment> {
        self.untold.values().min().copied()
    }

    fn register(&self) -> Call {
        let item =
            |one: &super::Execution| InventoryItem { execution: one.id(), fence: one.record.fence };
        Call::Register {
            host: self.host.host,
            obeyed: self.host.obeyed,
            inventory: self.executions.values().map(item).collect(),
        }
    }

    /// The next report: what may not be known, as it is now.
    fn report(&mut self, host: HostId) -> Option<Call> {
        let mut observations = Vec::new();
        let mut known_already = Vec::new();
        for id in self.untold.keys() {
            let execution = self.executions.get(id);
            let present = execution.and_then(super::Execution::observation);
            match present {
                Some(present) if execution.is_some_and(|e| e.told.as_ref() != Some(&present)) => {
                    observations.push(present);
                }
                _ => known_already.push(*id),
            }
            if observations.len() == MAX_OBSERVATIONS {
                break;
            }
        }
        for id in known_already {
            self.untold.remove(&id);
        }
        if observations.is_empty() {
            return None;
        }
        let obeyed = self.host.obeyed;
        self.link.report.under_way = true;
        let report = Report {
            boot: self.host.boot.clone(),
            fence: self.host.fence.unwrap_or(pliant_types::Fence::FIRST),
            epoch: obeyed.map_or(pliant_types::Epoch::FIRST, |obeyed| obeyed.epoch),
            generation: obeyed.map_or(pliant_types::Generation::FIRST, |obeyed| obeyed.generation),
            observations: observations.clone(),
        };
        Some(Call::Report { host, report: Box::new(report), ticket: Ticket(observations) })
    }
}
