//! One file per family of commands; this one only dispatches.

mod artifact;
mod explain;
mod follow;
mod host;
mod job;
mod journal;
mod logs;
mod namespace;
mod plan;
mod results;
mod rollout;
mod rows;
mod run;
mod up;
mod validate;
mod verb;
mod versions;

use crate::{
    args::{Args, Artifact, Command, Component, Execution, Host, Job, Show},
    fail::Failure,
};
use clap::CommandFactory;
use pliant_types::codes::exit_code::DONE;

/// Carries out a command; the answer is the exit code.
pub(crate) fn dispatch(args: Args) -> Result<u8, Failure> {
    match args.command {
        Command::CompileWorker => Ok(up::compile_worker()),
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "pliant", &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            Ok(DONE)
        }
        Command::Explain { what } => explain::explain(args.global.output, &what),
        Command::Validate { file } => validate::validate(args.global.output, &file),
        Command::Component(Component::Inspect { file }) => {
            artifact::inspect(args.global.output, &file)
        }
        Command::Journal(command) => journal::journal(&args.global, &command),
        Command::Up(command) => up::up(&args.global, command),
        command => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(online(&args.global, command))
        }
    }
}

/// Commands that ask a controller.
async fn online(global: &crate::args::Global, command: Command) -> Result<u8, Failure> {
    let client = crate::connect::client(global)?;
    let context = Context { client, global };
    match command {
        Command::Run(run) => run::run(&context, run).await,
        Command::Plan(plan) => plan::plan(&context, plan).await,
        Command::Rollback(asked) | Command::Job(Job::Rollback(asked)) => {
            versions::rollback(&context, asked).await
        }
        Command::Scale(asked) | Command::Job(Job::Scale(asked)) => {
            verb::scale(&context, asked).await
        }
        Command::Rollout(command) => rollout::rollout(&context, command).await,
        Command::Namespace(command) => namespace::namespace(&context, command).await,
        Command::Ps | Command::Job(Job::List) => job::list(&context).await,
        Command::Status { job: Some(job) } => job::status(&context, &job).await,
        Command::Status { job: None } => host::cluster(&context).await,
        Command::Why { subject } => job::why(&context, &subject).await,
        Command::Logs(logs) | Command::Job(Job::Logs(logs)) => logs::logs(&context, logs).await,
        Command::Stop(stop) | Command::Job(Job::Stop(stop)) => verb::stop(&context, stop).await,
        Command::Start(verb) | Command::Job(Job::Start(verb)) => verb::start(&context, verb).await,
        Command::Delete(verb) | Command::Job(Job::Delete(verb)) => {
            verb::delete(&context, verb).await
        }
        Command::Job(command) => of_job(&context, command).await,
        Command::Execution(Execution::List { job }) => job::executions(&context, job).await,
        Command::Execution(Execution::Show { execution }) => {
            job::execution(&context, execution).await
        }
        Command::Host(Host::List) => host::list(&context).await,
        Command::Host(Host::Show { host }) => host::show(&context, &host).await,
        Command::Host(Host::Pause { host }) => host::set_mode(&context, &host, host::PAUSED).await,
        Command::Host(Host::Activate { host }) => {
            host::set_mode(&context, &host, host::ACTIVE).await
        }
        Command::Artifact(Artifact::Push { file }) => artifact::push(&context, &file).await,
        Command::Artifact(Artifact::Pull { digest, file }) => {
            artifact::pull(&context, digest, &file).await
        }
        Command::Artifact(Artifact::List) => artifact::list(&context).await,
        Command::Up(_)
        | Command::Component(_)
        | Command::Journal(_)
        | Command::Validate { .. }
        | Command::Explain { .. }
        | Command::Completion { .. }
        | Command::CompileWorker => Ok(DONE),
    }
}

/// Commands of `pliant job` that are not also commands by themselves.
async fn of_job(context: &Context<'_>, command: Job) -> Result<u8, Failure> {
    match command {
        Job::Show(Show { job, version: None, text: false }) => job::show(context, &job).await,
        Job::Show(Show { job, version, text }) => {
            let version = version.unwrap_or(pliant_types::VersionRef::Current);
            versions::show(context, &job, (&version, text)).await
        }
        Job::Versions { job } => versions::list(context, &job).await,
        Job::Diff(asked) => versions::diff(context, asked).await,
        Job::Tag(asked) => versions::tag(context, asked).await,
        Job::Rerun(verb) => verb::rerun(context, verb).await,
        Job::Results(asked) => results::results(context, asked).await,
        Job::Events { job, follow } => job::events(context, &job, follow).await,
        Job::Wait { job, wait } => verb::wait(context, &job, &wait).await,
        Job::List
        | Job::Logs(_)
        | Job::Stop(_)
        | Job::Start(_)
        | Job::Delete(_)
        | Job::Rollback(_)
        | Job::Scale(_) => Ok(DONE),
    }
}

/// What online commands share.
pub(crate) struct Context<'a> {
    pub(crate) client: pliant_client::Client,
    pub(crate) global: &'a crate::args::Global,
}

impl Context<'_> {
    /// A job by its exact name or id.
    pub(crate) fn job(&self, text: &str) -> Result<pliant_api::routes::JobRef, Failure> {
        text.parse().map_err(|error: pliant_types::text::InvalidText| {
            Failure::new(pliant_types::codes::Code::BodyInvalid, error.message)
        })
    }
}
