//! Executions that were fenced off with their host are lost.

use super::Planner;
use crate::fact::FactKind;
use alloc::vec::Vec;

pub(super) fn fenced_executions(planner: &mut Planner) {
    let hosts: Vec<_> = planner.state.index.fenced().collect();
    for host in hosts {
        let Some(fence) = planner.state.hosts.get(&host).map(|h| h.fence) else { continue };
        let stale: Vec<_> =
            planner.state.live_on(host).filter(|e| e.fence != fence).map(|e| e.id).collect();
        for execution in stale {
            if !planner.propose(FactKind::ExecutionLost { execution }) {
                return;
            }
        }
    }
}
