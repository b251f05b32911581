//! Runs of jobs as questions to the state: which are active, what they run, where the job stands.
//!
//! A service or daemon has one run for life. A batch or ops job has one after the other, or several
//! beside each other with `onResubmit: parallel` (14-decisions.md, 8).

use super::{
    Execution, Incarnation, IncarnationKey, Job, Marks, Rollout, RolloutKey, RunState, State,
    StopCause, Task, TaskKey, Version, VersionKey, Wanted,
};
use pliant_types::{
    Incarnation as IncarnationNumber, JobUid, RolloutId, Version as VersionNumber,
    spec::RolloutStrategy,
};

impl State {
    /// The runs of a job that are kept, oldest first.
    pub fn runs_of(
        &self,
        job: JobUid,
    ) -> impl DoubleEndedIterator<Item = (IncarnationNumber, &Incarnation)> {
        let key = |number| IncarnationKey { job, incarnation: IncarnationNumber::new(number) };
        self.incarnations.range(key(0)..=key(u32::MAX)).map(|(key, run)| (key.incarnation, run))
    }

    /// The runs of a job that are neither over nor ended by somebody, oldest first.
    pub fn active_runs(
        &self,
        job: JobUid,
    ) -> impl DoubleEndedIterator<Item = (IncarnationNumber, &Incarnation)> {
        self.runs_of(job).filter(|(_, run)| run.is_active())
    }

    /// One run of a job.
    #[must_use]
    pub fn run(&self, job: JobUid, incarnation: IncarnationNumber) -> Option<&Incarnation> {
        self.incarnations.get(&IncarnationKey { job, incarnation })
    }

    /// Whether a run shall go on: its job is wanted and the run is active.
    #[must_use]
    pub fn run_wanted(&self, job: &Job, incarnation: IncarnationNumber) -> bool {
        job.wanted == Wanted::Running
            && self.run(job.uid, incarnation).is_some_and(Incarnation::is_active)
    }

    /// The version that tasks of a run are at or move to: the run's own for jobs that end, the
    /// current one for the others.
    #[must_use]
    pub fn target_number(&self, job: &Job, incarnation: IncarnationNumber) -> VersionNumber {
        let own = self.run(job.uid, incarnation).map(|run| run.version);
        own.filter(|_| job.kind.ends()).unwrap_or(job.current)
    }

    /// The version of [`State::target_number`].
    #[must_use]
    pub fn target_version(&self, job: &Job, incarnation: IncarnationNumber) -> Option<&Version> {
        let version = self.target_number(job, incarnation);
        self.versions.get(&VersionKey { job: job.uid, version })
    }

    /// What became of a version.
    #[must_use]
    pub fn marks(&self, job: JobUid, version: VersionNumber) -> Marks {
        self.marks.get(&VersionKey { job, version }).cloned().unwrap_or_default()
    }

    /// The rollouts of a job that are kept, oldest first.
    pub fn rollouts_of(&self, job: JobUid) -> impl DoubleEndedIterator<Item = &Rollout> {
        let key = |number| RolloutKey { job, rollout: RolloutId::new(number) };
        self.rollouts.range(key(0)..=key(u64::MAX)).map(|(_, rollout)| rollout)
    }

    /// The rollout that moves a run now.
    #[must_use]
    pub fn active_rollout(&self, job: JobUid, incarnation: IncarnationNumber) -> Option<&Rollout> {
        let rollout = self.run(job, incarnation)?.rollout?;
        self.rollouts.get(&RolloutKey { job, rollout }).filter(|rollout| rollout.is_active())
    }

    /// A version by its number.
    #[must_use]
    pub fn version(&self, job: JobUid, version: VersionNumber) -> Option<&Version> {
        self.versions.get(&VersionKey { job, version })
    }

    /// Whether a version, or a kept one of equal template, is proven: versions are counted by their
    /// template (14-decisions.md, 18).
    #[must_use]
    pub fn is_proven(&self, job: JobUid, version: VersionNumber) -> bool {
        let proven = |number| self.marks(job, number).proven_at.is_some();
        let Some(own) = self.version(job, version) else { return false };
        proven(version)
            || self.versions_of(job).any(|other| {
                other.record.template_hash == own.record.template_hash
                    && proven(other.record.number)
            })
    }

    /// Whether two versions of a job have equal templates.
    #[must_use]
    pub fn equal_templates(&self, job: JobUid, a: VersionNumber, b: VersionNumber) -> bool {
        let hash = |number| self.version(job, number).map(|version| version.record.template_hash);
        a == b || hash(a).is_some_and(|hash_a| Some(hash_a) == hash(b))
    }

    /// Whether an execution takes traffic: it is ready and, with blue/green, its set is the one whose
    /// turn it is. A set whose other has nothing ready serves whatever its turn is.
    #[must_use]
    pub fn serves(&self, execution: &Execution) -> bool {
        let job = execution.task.job;
        let rollout = self.active_rollout(job, execution.task.incarnation);
        let sets = rollout.filter(|rollout| !rollout.cause.is_rollback()).filter(|rollout| {
            self.version(job, rollout.progress.version).is_some_and(|version| {
                version.effective.rollout_strategy() == RolloutStrategy::BlueGreen
            })
        });
        if !execution.is_ready() {
            return false;
        }
        let Some(rollout) = sets else { return true };
        let green = |e: &Execution| self.equal_templates(job, e.version, rollout.progress.version);
        let own = green(execution);
        own == rollout.progress.promoted
            || !self
                .tasks_of(job, execution.task.incarnation)
                .flat_map(|task| self.executions_of(task))
                .any(|other| other.is_ready() && green(other) != own)
    }

    /// The version that a task without an execution is placed at (14-decisions.md, 6; docs/decisions
    /// 0007).
    #[must_use]
    pub fn placing_version(&self, job: &Job, task: &Task) -> VersionNumber {
        let target = self.target_number(job, task.key.incarnation);
        let wanted = if job.kind.ends() { target } else { self.next_version(job, task, target) };
        if self.equal_templates(job.uid, wanted, target) { target } else { wanted }
    }

    fn next_version(&self, job: &Job, task: &Task, target: VersionNumber) -> VersionNumber {
        let uid = job.uid;
        let active = self.active_rollout(uid, task.key.incarnation).map(|r| r.progress.version);
        let newest_proven = self.newest_proven(uid).map(|version| version.record.number);
        let Some(last) = self.executions_of(task).next_back() else {
            return newest_proven.unwrap_or(target);
        };
        let told_to = matches!(
            last.stop,
            Some(StopCause::Update | StopCause::JobStopped | StopCause::HealthyDeadline)
        );
        if let Some(active) =
            active.filter(|active| told_to || self.equal_templates(uid, *active, last.version))
        {
            return active;
        }
        if self.is_proven(uid, last.version) {
            return last.version;
        }
        active.or(newest_proven).unwrap_or(last.version)
    }

    /// The kept versions of a job, oldest first.
    pub fn versions_of(&self, job: JobUid) -> impl DoubleEndedIterator<Item = &Version> {
        let key = |number| VersionKey { job, version: VersionNumber::new(number) };
        self.versions.range(key(0)..=key(u32::MAX)).map(|(_, version)| version)
    }

    /// The newest proven version of a job.
    #[must_use]
    pub fn newest_proven(&self, job: JobUid) -> Option<&Version> {
        self.versions_of(job)
            .rev()
            .find(|version| self.marks(job, version.record.number).proven_at.is_some())
    }

    /// Why a task's execution should not run, if it should not.
    #[must_use]
    pub fn stop_cause(&self, job: &Job, task: TaskKey) -> StopCause {
        let run = self.run(job.uid, task.incarnation);
        match job.wanted {
            Wanted::Deleted => StopCause::JobDeleted,
            Wanted::Stopped => StopCause::JobStopped,
            Wanted::Running => match run {
                Some(run) if run.ended.is_some() => StopCause::JobEnded,
                Some(run) => run.halted.unwrap_or(StopCause::Shrink),
                None => StopCause::Superseded,
            },
        }
    }

    /// Where a job stands, in one word.
    #[must_use]
    pub fn run_state(&self, job: &Job) -> RunState {
        let live = self.index.job_live(job.uid);
        match job.wanted {
            Wanted::Deleted => RunState::Stopping,
            Wanted::Stopped if live > 0 => RunState::Stopping,
            Wanted::Stopped => RunState::Stopped,
            Wanted::Running => self.wanted_state(job, live),
        }
    }

    fn wanted_state(&self, job: &Job, live: u32) -> RunState {
        let mut active = false;
        for (incarnation, _) in self.active_runs(job.uid) {
            active = true;
            let tally = self.index.tally(job.uid, incarnation);
            if tally.up > 0 || tally.completed > 0 {
                return RunState::Running;
            }
        }
        match self.run(job.uid, job.incarnation) {
            _ if active => RunState::Pending,
            _ if live > 0 => RunState::Stopping,
            _ if job.queued.is_some() => RunState::Pending,
            Some(run) => match &run.ended {
                Some(end) if end.success => RunState::Completed,
                Some(_) => RunState::Failed,
                None => RunState::Stopped,
            },
            None => RunState::Pending,
        }
    }
}
