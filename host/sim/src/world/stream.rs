//! Assignment streams of the simulated cluster, and where every live execution stands.

use super::{Due, World};
use pliant_agent::logic::{Input, Offer};
use pliant_core::assignment;
use std::sync::Arc;

impl World {
    /// Streams that a controller's end has broken connect again.
    pub(super) fn reconnect(&mut self) {
        for machine in 0..self.machines.len() {
            if self.machines[machine].follows {
                let life = self.machines[machine].life;
                let after = self.chance.between(5, 500);
                self.push(after, Due::Follow { machine, life });
            }
        }
    }

    pub(super) fn follow_again(&mut self, machine: usize) {
        let host = self.machines[machine].logic.as_ref().and_then(|logic| logic.host().host);
        let Some(host) = host.filter(|_| self.machines[machine].follows) else { return };
        if self.node.is_none() || self.machines[machine].cut_off_until > self.now {
            let life = self.machines[machine].life;
            return self.push(1_000, Due::Follow { machine, life });
        }
        self.streams.insert(machine, (host, None));
        self.feed();
    }

    /// Sends what changed down every stream, in order and without loss while it stands.
    pub(super) fn feed(&mut self) {
        let Some(node) = &self.node else { return };
        let state = Arc::clone(&node.published);
        let mut offers = Vec::new();
        for (machine, (host, sent)) in &mut self.streams {
            let Some(known) = state.hosts.get(host) else { continue };
            if *sent == Some(known.generation) {
                continue;
            }
            *sent = Some(known.generation);
            offers.extend(assignment(&state, *host).map(|whole| (*machine, whole)));
        }
        for (machine, whole) in offers {
            let life = self.machines[machine].life;
            if self.machines[machine].cut_off_until > self.now {
                self.streams.remove(&machine);
                self.push(1_000, Due::Follow { machine, life });
                continue;
            }
            let input = Input::Offered(Offer::Whole(whole));
            self.push(3, Due::Input { machine, life, input });
        }
    }
}

impl World {
    /// Where every live execution stands, on both sides; for the report of a failing run.
    #[must_use]
    pub fn describe_live(&self) -> String {
        let state = self.state();
        let mut text = String::new();
        for (id, found) in state.executions.iter().filter(|(_, e)| e.is_live()) {
            let here = self.machines.iter().find_map(|machine| {
                let known = machine.logic.as_ref()?.execution(*id)?;
                Some(format!(
                    "{} {:?} attempt {} fence {} told {:?}",
                    machine.name,
                    known.record.stage,
                    known.record.attempt,
                    known.record.fence,
                    known.told
                ))
            });
            text += &format!(
                "{id} {} {:?} on {} fence {} run {}: {here:?}\n",
                found.phase, found.desired, found.host, found.fence, found.task.incarnation
            );
        }
        for machine in &self.machines {
            let host = machine.logic.as_ref().map(|logic| logic.host().clone());
            text += &format!("{} follows {} {host:?}\n", machine.name, machine.follows);
        }
        text
    }
}
