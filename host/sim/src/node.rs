//! The controller of the simulated cluster: real engine, real leases, a journal that fails.
//!
//! It does what the controller's writer does, one batch after the other, and can end at any point.

use crate::{book::Coverage, chance::Chance};
use pliant_core::{
    Command, Engine, LeaseRules, Leases, PlanReport, Release, ReplyTag, Request, StartTerm, State,
    check, decode_batch, decode_snapshot, encode_snapshot,
};
use pliant_journal::{Append, BatchId, Class, Draft, Journal, Opener, Sequence};
use pliant_types::{Epoch, Millis, Time};
use std::sync::Arc;

/// Batches between two snapshots.
const SNAPSHOT_EVERY: u64 = 64;

/// A controller that runs.
pub(crate) struct Node {
    journal: Box<dyn Journal>,
    pub(crate) engine: Engine,
    pub(crate) leases: Leases,
    /// The newest durable state: what readers see.
    pub(crate) published: Arc<State>,
    pub(crate) report: PlanReport,
    next: Sequence,
    batches: u64,
}

/// Why a controller is down.
#[derive(Debug)]
pub(crate) struct Down;

impl Node {
    /// Opens the journal, reads the state, begins a term. `None`: it does not come up this time.
    pub(crate) fn start(opener: &dyn Opener, now: Time, coverage: &mut Coverage) -> Option<Self> {
        let opened = opener.open().ok()?;
        let mut journal = opened.journal;
        let (mut state, from) = match journal.latest_snapshot().ok()? {
            Some(snapshot) => {
                coverage.note("snapshot read at a start");
                (decode_snapshot(&snapshot.bytes).ok()?, snapshot.reference.at.next())
            }
            None => (State::default(), Sequence(1)),
        };
        for batch in journal.replay(from..=opened.head) {
            let decoded = decode_batch(&batch.ok()?.payload).ok()?;
            Engine::replay(&mut state, &decoded);
            assert_eq!(state.hash(), decoded.hash, "replay gives the state that was written");
        }
        let epoch = Epoch::new(journal.campaign().ok()?.0);
        let mut leases = Leases::new(LeaseRules::default());
        for (id, host) in state.hosts.iter() {
            leases.watch(*id, &host.description.boot, host.stage, now);
        }
        let mut engine = Engine::new(state.clone());
        let gap = Millis::new(now.millis().saturating_sub(state.counters.now.millis()));
        let start = Command::StartTerm(StartTerm { epoch, gap });
        engine.submit(ReplyTag(0), Request::internal(start));
        Some(Self {
            journal,
            engine,
            leases,
            published: Arc::new(state),
            report: PlanReport::default(),
            next: opened.head.next(),
            batches: 0,
        })
    }

    /// When it has something to do at the latest.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        [self.engine.wake_at(), self.leases.next()].into_iter().flatten().min()
    }

    /// Stages and appends until nothing is left; each durable batch is handed out.
    pub(crate) fn run(
        &mut self,
        now: Time,
        chance: &mut Chance,
        mut release: impl FnMut(Release),
    ) -> Result<(), Down> {
        for command in self.leases.silent(now) {
            self.engine.submit(ReplyTag(0), Request::internal(command));
        }
        // Each batch makes progress; the bound only ends a planner that never rests.
        for _ in 0..100_000 {
            let Some(staged) = self.engine.stage(now) else { return Ok(()) };
            if let Some(payload) = staged.payload() {
                let class = if staged.is_new_work() { Class::NewWork } else { Class::Essential };
                self.append(payload, class, chance)?;
            }
            let done = staged.committed();
            assert_eq!(check(&done.state), [], "the invariants hold after every batch");
            self.published = Arc::clone(&done.state);
            if let Some(report) = &done.report {
                self.report = report.clone();
            }
            release(done);
            self.snapshot();
        }
        panic_free("the planner never comes to rest")
    }

    fn append(&mut self, payload: &[u8], class: Class, chance: &mut Chance) -> Result<(), Down> {
        let id = BatchId(u128::from(chance.draw()).to_be_bytes());
        match self.journal.append(&Draft { id, class, payload }, self.next) {
            Append::Committed(position) => {
                self.next = position.sequence.next();
                self.batches += 1;
                Ok(())
            }
            // Whatever it was: this life of the controller is over, and the next one reads what is
            // durable. Its callers never heard of the batch.
            Append::Refused(_) | Append::Unknown(_) => Err(Down),
        }
    }

    fn snapshot(&mut self) {
        if self.batches < SNAPSHOT_EVERY {
            return;
        }
        self.batches = 0;
        let at = Sequence(self.next.0 - 1);
        let bytes = encode_snapshot(&self.published);
        if self.journal.put_snapshot(at, &bytes).is_ok()
            && let Ok(kept) = self.journal.snapshots().list()
            && let [older, _] = kept.as_slice()
        {
            let older = older.at;
            // A trim that fails is tried again with the next snapshot.
            let _ = self.journal.trim(older);
        }
    }
}

#[allow(clippy::panic, reason = "a broken law ends the run, like a failed assertion")]
fn panic_free(what: &str) -> ! {
    panic!("{what}")
}
