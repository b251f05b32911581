//! Runs of jobs as questions to the state: which are active, what they run, where the job stands.
//!
//! A service or daemon has one run for life. A batch or ops job has one after the other, or several
//! beside each other with `onResubmit: parallel` (14-decisions.md, 8).

use super::{
    Incarnation, IncarnationKey, Job, Marks, RunState, State, StopCause, TaskKey, Version,
    VersionKey, Wanted,
};
use pliant_types::{Incarnation as IncarnationNumber, JobUid, Version as VersionNumber};

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
