//! What another template means for an attempt that runs by one (03-jobs.md, section 4). Compares
//! values; changes nothing.

use pliant_types::{Memory, assignment::TaskTemplate};

/// What the host must do to bring a running attempt to another template, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing: both say the same.
    None,
    /// The agent obeys other rules from now on; the guest notices nothing.
    Rules,
    /// The limits of the running guest change.
    Resize,
    /// The attempt ends and the next one begins by the other template.
    Restart,
    /// Nothing in place does it.
    Replace,
}

/// A difference in kind, and the words for what differs that strongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) change: Change,
    pub(super) fields: Vec<&'static str>,
}

/// How `to` differs from `from`; the strongest class wins.
pub(super) fn compare(from: &TaskTemplate, to: &TaskTemplate) -> Difference {
    // Named one by one: a new field must be put into a class here.
    let TaskTemplate {
        kind,
        engine,
        digest,
        args,
        env,
        config,
        cpu,
        memory,
        ports,
        mounts,
        capabilities,
        reuse,
        restart,
        execution_timeout,
        kill_timeout,
        exclusive,
        probes,
        drain,
    } = to;
    let differences = [
        (Change::Replace, "kind", from.kind != *kind),
        (Change::Replace, "engine", from.engine != *engine),
        (Change::Restart, "artifact", from.digest != *digest),
        (Change::Restart, "args", from.args != *args),
        (Change::Restart, "env", from.env != *env),
        (Change::Restart, "config", from.config != *config),
        (Change::Restart, "ports", from.ports != *ports),
        (Change::Restart, "mounts", from.mounts != *mounts),
        (Change::Restart, "capabilities", from.capabilities != *capabilities),
        (Change::Restart, "reuse", from.reuse != *reuse),
        (Change::Restart, "exclusive", from.exclusive != *exclusive),
        (Change::Resize, "cpu", from.cpu != *cpu),
        (Change::Resize, "memory", from.memory != *memory),
        (Change::Rules, "restart policy", from.restart != *restart),
        (Change::Rules, "timeouts", from.execution_timeout != *execution_timeout),
        (Change::Rules, "timeouts", from.kill_timeout != *kill_timeout),
        (Change::Rules, "probes", from.probes != *probes),
        (Change::Rules, "drain", from.drain != *drain),
    ];
    let found = || differences.iter().filter(|(_, _, differs)| *differs);
    let change = found().map(|(class, _, _)| *class).max().unwrap_or(Change::None);
    let fields = found().filter(|(class, _, _)| *class == change).map(|(_, field, _)| *field);
    Difference { change, fields: fields.collect() }
}

/// Less memory is taken from a running guest only if it uses less than this, bytes. More of it is
/// always given.
pub(super) fn most_in_use(from: Memory, to: Memory) -> Option<u64> {
    (to < from).then(|| to.bytes() / 10 * 9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::tests::rig::template;
    use pliant_types::{Cpu, Digest, Kind, Millis};

    fn changed(edit: impl FnOnce(&mut TaskTemplate)) -> Difference {
        let from = template(Kind::Service);
        let mut to = from.clone();
        edit(&mut to);
        compare(&from, &to)
    }

    #[test]
    fn the_strongest_class_wins_and_is_named() {
        let check = |difference: Difference, change, fields: &[&'static str]| {
            assert_eq!(difference, Difference { change, fields: fields.to_vec() });
        };
        check(changed(|_| {}), Change::None, &[]);
        check(changed(|to| to.drain = Millis::from_secs(1)), Change::Rules, &["drain"]);
        check(
            changed(|to| {
                to.kill_timeout = Millis::from_secs(1);
                to.cpu = Cpu::from_millis(7);
                to.memory = Memory::from_mib(1);
            }),
            Change::Resize,
            &["cpu", "memory"],
        );
        check(
            changed(|to| {
                to.cpu = Cpu::from_millis(7);
                to.digest = Digest::new([8; 32]);
                to.exclusive = true;
            }),
            Change::Restart,
            &["artifact", "exclusive"],
        );
        check(
            changed(|to| {
                to.engine = "container".to_owned();
                to.args.push("x".to_owned());
            }),
            Change::Replace,
            &["engine"],
        );
    }

    #[test]
    fn less_memory_needs_a_tenth_to_spare() {
        let mib = Memory::from_mib;
        assert_eq!(most_in_use(mib(64), mib(64)), None);
        assert_eq!(most_in_use(mib(64), mib(65)), None);
        assert_eq!(most_in_use(mib(64), Memory::from_bytes(1_000)), Some(900));
    }
}
