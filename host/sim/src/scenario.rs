//! Transcripts: lines that begin with `>` are input, the rest is what the cluster says.
//!
//! The same simulated cluster as in fault runs, without chance: a story that a user can read, and
//! that fails when the cluster tells another one.

use crate::{
    chance::Chance,
    users::{rollout_verb, submit},
    world::{Faults, World},
};
use pliant_core::{
    Command, DeleteJob, Expect, JobRef, RerunJob, Rollback, RolloutVerb, ScaleJob, ScaleTo,
    StartJob, StopJob, TagVersion, decide, forecast, state::RolloutState,
};
use pliant_types::{Millis, Namespace};
use std::fmt::Write;

/// Runs a transcript and gives it back as the cluster tells it: input lines as they are, each
/// followed by what it says now.
#[must_use]
pub fn run(transcript: &str) -> String {
    let mut teller = Teller { world: World::new(1, 0, Faults::NONE) };
    let mut told = String::new();
    for line in transcript.lines() {
        if let Some(input) = line.strip_prefix('>') {
            let _ = writeln!(told, "{line}");
            told.push_str(&teller.input(input.trim()));
        } else if line.starts_with('#') || line.is_empty() {
            let _ = writeln!(told, "{line}");
        }
    }
    told
}

struct Teller {
    world: World,
}

impl Teller {
    fn input(&mut self, input: &str) -> String {
        let (word, rest) = input.split_once(' ').unwrap_or((input, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "hosts" => {
                let count = first.parse().unwrap_or(1);
                self.world = World::new(1, count, Faults::NONE);
                self.world.pass(1_000);
                self.hosts()
            }
            "submit" => {
                self.command(first, |job| Command::Submit(submit(job, second, &mut Chance::new(0))))
            }
            "stop" => self.verb(first, |job| {
                Command::Stop(StopJob { job, expect: Expect::Anything, version: None })
            }),
            "force" => self.command(first, |job| {
                let mut submit = submit(job, second, &mut Chance::new(0));
                submit.force = pliant_core::Force::Yes;
                Command::Submit(submit)
            }),
            "plan" => self.plan(first, second),
            "rollback" => self.verb(first, |job| {
                let to = (!second.is_empty()).then(|| second.parse().ok()).flatten();
                Command::Rollback(Rollback { job, expect: Expect::Anything, to, message: None })
            }),
            "tag" => {
                let (tag, version) = second.split_once(' ').unwrap_or((second, "current"));
                let (Ok(tag), Ok(version)) = (tag.parse(), version.parse()) else {
                    return format!("{second:?} is no tag and version\n");
                };
                self.verb(first, |job| {
                    let expect = Expect::Anything;
                    Command::Tag(TagVersion { job, expect, tag, version: Some(version) })
                })
            }
            "rerun" => {
                self.verb(first, |job| Command::Rerun(RerunJob { job, expect: Expect::Anything }))
            }
            "scale" => self.verb(first, |job| {
                let to = ScaleTo::Exactly(second.parse().unwrap_or(1));
                Command::Scale(ScaleJob { job, expect: Expect::Anything, to })
            }),
            "stop-version" => self.verb(first, |job| {
                let version = second.parse().ok().map(pliant_types::Version::new);
                Command::Stop(StopJob { job, expect: Expect::Anything, version })
            }),
            "promote" => self.steer(first, RolloutVerb::Promote),
            "pause" => self.steer(first, RolloutVerb::Pause),
            "resume" => self.steer(first, RolloutVerb::Resume),
            "abort" => self.steer(first, RolloutVerb::Abort),
            "rollouts" => self.rollouts(first),
            "spoil" => {
                if let (Ok(job), Ok(version)) = (first.parse(), second.parse()) {
                    self.world.spoil(&job, pliant_types::Version::new(version));
                }
                String::new()
            }
            "versions" => self.versions(first),
            "runs" => self.runs(first),
            "start" => {
                self.verb(first, |job| Command::Start(StartJob { job, expect: Expect::Anything }))
            }
            "delete" => {
                self.verb(first, |job| Command::Delete(DeleteJob { job, expect: Expect::Anything }))
            }
            "pass" => {
                let span: Result<Millis, _> = first.parse();
                self.world.pass(span.map_or(0, Millis::get));
                String::new()
            }
            "cut-off" => self.machine(first, |world, machine| {
                let span: Result<Millis, _> = second.parse();
                world.cut_off(machine, span.map_or(0, Millis::get));
            }),
            "reboot" => self.machine(first, World::reboot),
            "restart-agent" => self.machine(first, World::restart_agent),
            "kill-controller" => {
                self.world.kill_controller();
                String::new()
            }
            "host-list" => self.hosts(),
            "ps" => self.jobs(),
            "tasks" => self.tasks(first),
            "why" => self.why(first),
            other => format!("unknown input {other:?}\n"),
        }
    }

    fn machine(&mut self, number: &str, act: impl FnOnce(&mut World, usize)) -> String {
        let number: usize = number.parse().unwrap_or(1);
        act(&mut self.world, number.saturating_sub(1));
        String::new()
    }

    fn verb(&mut self, name: &str, command: impl FnOnce(JobRef) -> Command) -> String {
        let Ok(parsed) = name.parse() else { return format!("{name:?} is not a name\n") };
        let job = JobRef::Name(Namespace::default_namespace(), parsed);
        self.command(name, |_| command(job))
    }

    /// Says what the core would answer, then asks it.
    fn command(&mut self, name: &str, command: impl FnOnce(&str) -> Command) -> String {
        let command = command(name);
        let request = pliant_core::Request::internal(command.clone());
        let answer = match decide(&self.world.state(), &request, self.world.now) {
            Err(refusal) => return format!("{refusal}\n"),
            Ok(decided) => match decided.answer {
                pliant_core::Answer::Submitted(answer) => answered(answer),
                _ => String::new(),
            },
        };
        self.world.ask(Some(name.to_owned()), command);
        answer
    }

    /// What a submission would do to each task.
    fn plan(&self, name: &str, spec: &str) -> String {
        let submit = submit(name, spec, &mut Chance::new(0));
        let request = pliant_core::Request::internal(Command::Submit(submit));
        let foretold = match forecast(&self.world.state(), &request, self.world.now) {
            Err(refusal) => return format!("{refusal}\n"),
            Ok(foretold) => foretold,
        };
        let mut text = answered(foretold.answer);
        for step in foretold.steps {
            let place = |host: Option<pliant_types::HostId>| {
                host.map_or_else(|| "nowhere".to_owned(), |host| host.to_string())
            };
            let _ = writeln!(
                text,
                "  task {}: {} {} -> {}{}",
                step.task,
                step.step.as_str(),
                place(step.from),
                place(step.to),
                step.wait.map(|wait| format!(", waits: {wait}")).unwrap_or_default()
            );
        }
        text
    }

    fn versions(&self, name: &str) -> String {
        let state = self.world.state();
        let Some(job) = self.job(name) else { return format!("no job {name}\n") };
        let mut text = String::new();
        for version in state.versions_of(job.uid) {
            let record = &version.record;
            let marks = state.marks(job.uid, record.number);
            let tags: Vec<_> = marks.tags.iter().map(|tag| tag.as_str()).collect();
            let _ = writeln!(
                text,
                "v{}{}{}{}{}",
                record.number,
                record.from.map(|from| format!(", copy of v{from}")).unwrap_or_default(),
                if marks.proven_at.is_some() { ", proven" } else { "" },
                marks.failed.map(|why| format!(", failed: {why}")).unwrap_or_default(),
                if tags.is_empty() {
                    String::new()
                } else {
                    format!(", tagged {}", tags.join(" "))
                },
            );
        }
        text
    }

    fn runs(&self, name: &str) -> String {
        let state = self.world.state();
        let Some(job) = self.job(name) else { return format!("no job {name}\n") };
        let mut text = String::new();
        for (number, run) in state.runs_of(job.uid) {
            let word = match (&run.ended, run.halted) {
                (Some(end), _) => end.reason.clone(),
                (None, Some(cause)) => format!("ended by hand ({cause:?})"),
                (None, None) => "active".to_owned(),
            };
            let _ = writeln!(text, "run {number} of v{}: {word}", run.version);
        }
        text
    }

    fn hosts(&self) -> String {
        let state = self.world.state();
        let mut text = String::new();
        for (id, host) in state.hosts.iter() {
            let _ = writeln!(
                text,
                "{id} {} {} fence {}",
                host.description.name, host.stage, host.fence
            );
        }
        text
    }

    fn jobs(&self) -> String {
        let state = self.world.state();
        let mut text = String::new();
        for (uid, job) in state.jobs.iter() {
            let tally = state.index.tally(*uid, job.incarnation);
            let _ = writeln!(
                text,
                "{} {} {} v{} run {}: {} up, {} completed of {}",
                job.name,
                job.kind,
                state.run_state(job).as_str(),
                job.current,
                job.incarnation,
                tally.up,
                tally.completed,
                tally.wanted
            );
        }
        text
    }

    fn tasks(&self, name: &str) -> String {
        let state = self.world.state();
        let Some(job) = self.job(name) else { return format!("no job {name}\n") };
        let mut text = String::new();
        for task in state.tasks_of(job.uid, job.incarnation) {
            let mut shown: Vec<_> = state.executions_of(task).filter(|e| e.is_live()).collect();
            if shown.is_empty() {
                shown.extend(state.executions_of(task).next_back());
            }
            if shown.is_empty() {
                let _ = writeln!(text, "task {}: nowhere", task.key.number);
            }
            for found in shown {
                let _ = writeln!(
                    text,
                    "task {}: {} on {} at v{}, {}, attempt {}{}",
                    task.key.number,
                    found.id,
                    found.host,
                    found.version,
                    found.phase,
                    found.attempt,
                    if state.serves(found) { ", serves" } else { "" }
                );
            }
        }
        text
    }

    /// What people do to the rollout under way.
    fn steer(&mut self, name: &str, verb: RolloutVerb) -> String {
        self.verb(name, |job| rollout_verb(job, verb))
    }

    fn rollouts(&self, name: &str) -> String {
        let state = self.world.state();
        let Some(job) = self.job(name) else { return format!("no job {name}\n") };
        let mut text = String::new();
        for rollout in state.rollouts_of(job.uid) {
            let progress = &rollout.progress;
            let left = |at: Option<pliant_types::Time>, words: &str| {
                let span = at.map(|at| at.since(self.world.now));
                span.map(|span| format!(", {words} in {span}")).unwrap_or_default()
            };
            let _ = writeln!(
                text,
                "{} to v{} ({}): {}{}{}{}",
                rollout.id,
                progress.version,
                rollout.cause.as_str(),
                progress.state,
                left(progress.until, "goes on"),
                left(
                    progress.deadline.filter(|_| progress.state != RolloutState::Verifying),
                    "fails"
                ),
                progress.message.as_ref().map(|why| format!(", {why}")).unwrap_or_default()
            );
        }
        text
    }

    fn why(&self, name: &str) -> String {
        let Some(job) = self.job(name) else { return format!("no job {name}\n") };
        let report = self.world.report();
        let mut text = String::new();
        for wait in report.waits.get(&job.uid).into_iter().flatten() {
            let until = wait.until.map(|until| {
                let span = until.since(self.world.now);
                format!(", {span} from now")
            });
            let _ = writeln!(
                text,
                "{} [{}]: {}{}",
                match wait.tasks.len() {
                    0 => "the job".to_owned(),
                    tasks => format!("{tasks} tasks"),
                },
                wait.code,
                wait.sentence,
                until.unwrap_or_default()
            );
        }
        if text.is_empty() {
            text.push_str("nothing waits\n");
        }
        text
    }

    fn job(&self, name: &str) -> Option<pliant_core::state::Job> {
        let state = self.world.state();
        let uid = state.index.job(&Namespace::default_namespace(), &name.parse().ok()?)?;
        state.jobs.get(&uid).cloned()
    }
}

fn answered(answer: pliant_core::SubmitAnswer) -> String {
    let mut text = format!("{:?}: version {}\n", answer.outcome, answer.version);
    for change in answer.changes {
        let none = || "(none)".to_owned();
        let _ = writeln!(
            text,
            "  {} {} -> {} [{}]",
            change.field,
            change.old.unwrap_or_else(none),
            change.new.unwrap_or_else(none),
            change.class
        );
    }
    for warning in answer.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    text
}
