//! The command line: every command, flag and default. Says nothing of what they do.

mod job;
mod rollout;

pub(crate) use job::{
    Diff, Job, Plan, Results, Rollback, Scale, ScaleTo, Show, Stop, Tag, Verb, WaitFlags,
};

pub(crate) use rollout::{Rollout, RolloutStatus, RolloutVerb};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use pliant_types::{Digest, Namespace};
use std::{net::SocketAddr, path::PathBuf};

/// Jobs that change while they run.
#[derive(Debug, Parser)]
#[command(name = "pliant", version, about, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done or nothing to do; 1 internal; 2 usage; 3 invalid input; 4 not found;
5 conflict; 6 not allowed; 7 no controller; 8 cannot be placed by the end of the wait;
9 rollout failed, also when it was rolled back; 10 job ended without success;
11 wait timed out, work goes on; 130 interrupted, work goes on.
`plan --detailed-exitcode`: 0 no change, 20 changes, 21 changes that touch running tasks.";

/// Flags of every command.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct Global {
    /// Where the controller is; found in ./.pliant when absent.
    #[arg(long, global = true, env = "PLIANT_ADDR", value_name = "ADDR:PORT")]
    pub(crate) addr: Option<String>,
    /// File with the token; found in ./.pliant when absent.
    #[arg(long, global = true, env = "PLIANT_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Data directory of the cluster on this machine.
    #[arg(
        long,
        global = true,
        env = "PLIANT_DATA_DIR",
        default_value = ".pliant",
        value_name = "DIR"
    )]
    pub(crate) data_dir: PathBuf,
    /// Namespace of jobs.
    #[arg(long, global = true, env = "PLIANT_NAMESPACE", default_value = "default")]
    pub(crate) namespace: Namespace,
    /// Form of the result on stdout.
    #[arg(short, long, global = true, value_enum, default_value = "table")]
    pub(crate) output: Output,
}

/// Forms of a result; JSON is the API's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Table,
    Wide,
    Json,
    Yaml,
    Jsonl,
    Name,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a one-process cluster on this machine; Ctrl-C stops it cleanly.
    Up(Up),
    /// Say what `run` would do to each field and task; changes nothing.
    Plan(Plan),
    /// Create or update jobs from a file and wait for them.
    Run(Run),
    /// Go back to a version that the job had, as a new version.
    Rollback(Rollback),
    /// Rollouts: health-gated moves of a job between versions.
    #[command(subcommand)]
    Rollout(Rollout),
    /// Give a job another number of tasks; makes no version.
    Scale(Scale),
    /// List jobs.
    Ps,
    /// Show a job and its tasks, or the cluster.
    Status { job: Option<String> },
    /// Say why a job or execution waits, restarts or failed.
    Why { subject: String },
    /// Print the logs of a job's tasks, or of one execution.
    Logs(Logs),
    /// Stop a job; its spec stays.
    Stop(Stop),
    /// Start a stopped job.
    Start(Verb),
    /// Stop a job, free its name and forget it.
    Delete(Verb),
    /// More about jobs.
    #[command(subcommand)]
    Job(Job),
    /// Executions: placements of tasks on hosts.
    #[command(subcommand)]
    Execution(Execution),
    /// Hosts.
    #[command(subcommand)]
    Host(Host),
    /// Namespaces: where names of jobs are unique.
    #[command(subcommand)]
    Namespace(NamespaceCommand),
    /// Artifacts: components and results by digest.
    #[command(subcommand)]
    Artifact(Artifact),
    /// Components as files.
    #[command(subcommand)]
    Component(Component),
    /// The journal of a stopped cluster.
    #[command(subcommand)]
    Journal(Journal),
    /// Check job files without sending them.
    Validate { file: Vec<PathBuf> },
    /// Explain a field of a job (`spec.update`) or a code (`no-room`).
    Explain { what: String },
    /// Print a completion script.
    Completion { shell: clap_complete::Shell },
    #[command(name = "compile-worker", hide = true)]
    CompileWorker,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Up {
    /// Job files to run once it is up.
    pub(crate) files: Vec<PathBuf>,
    /// Where to listen; port 0 picks one.
    #[arg(long, default_value = "127.0.0.1:7420")]
    pub(crate) listen: SocketAddr,
    /// Where routes of services are served; port 7480 on the same address when absent, or a free port
    /// when --listen asks for one.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) route_listen: Option<SocketAddr>,
    /// File that gets the address once requests are served.
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
    /// Name of this host.
    #[arg(long, default_value = "local")]
    pub(crate) host_name: pliant_types::HostName,
    /// Label of this host, KEY=VALUE; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) label: Vec<(String, String)>,
    /// Directory of this machine below which jobs may mount; may be repeated. None by default.
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_mount: Vec<PathBuf>,
    /// Private address range that guests may reach if their job is granted it, such as 127.0.0.0/8.
    #[arg(long, value_name = "RANGE")]
    pub(crate) allow_range: Vec<String>,
    /// Registry that is asked without TLS, HOST:PORT; may be repeated.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) plain_registry: Vec<String>,
    /// CPU that tasks may use, such as 4 or 1500m; all cores when absent.
    #[arg(long)]
    pub(crate) cpu: Option<pliant_types::Cpu>,
    /// Memory that tasks may use; most of the machine's when absent.
    #[arg(long)]
    pub(crate) memory: Option<pliant_types::Memory>,
    /// Log lines as text or JSON.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("expected KEY=VALUE, saw {text:?}"))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// Job file (YAML, JSON, TOML); - is stdin.
    #[arg(required_unless_present = "plan")]
    pub(crate) files: Vec<PathBuf>,
    /// A plan that `pliant plan --out` wrote; refused when the job has moved on.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "force", "expect_revision", "message"])]
    pub(crate) plan: Option<PathBuf>,
    /// Return as soon as the submission is durable.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Deploy again although nothing changed.
    #[arg(long)]
    pub(crate) force: bool,
    /// Only say what would be done, like `plan`.
    #[arg(long, conflicts_with = "plan")]
    pub(crate) dry_run: bool,
    /// Only if the job is at this revision; 0 is "must not exist".
    #[arg(long, value_name = "R")]
    pub(crate) expect_revision: Option<u64>,
    /// Why, kept with the version.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    /// What to wait for: every task healthy, or the version proven; of batch and ops jobs, the end.
    #[arg(long = "wait", value_enum, default_value = "healthy")]
    pub(crate) until: Until,
    #[command(flatten)]
    pub(crate) wait: WaitFlags,
}

/// What `run` waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Until {
    Healthy,
    Done,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Logs {
    /// A job's name or id, or an execution's id.
    pub(crate) subject: String,
    /// Go on as lines come.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only this task.
    #[arg(long)]
    pub(crate) task: Option<u32>,
    /// Only what ran this version.
    #[arg(long, value_name = "N", value_parser = job::version)]
    pub(crate) version: Option<pliant_types::Version>,
    /// The execution before the newest.
    #[arg(long)]
    pub(crate) previous: bool,
    /// Only the last lines.
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<u32>,
    /// Terminal control characters as they are.
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Execution {
    /// List executions.
    List { job: Option<String> },
    /// Show an execution.
    Show { execution: pliant_types::ExecutionId },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Host {
    /// List hosts.
    List,
    /// Show a host by its id or name.
    Show { host: String },
    /// Place nothing new on a host.
    Pause { host: String },
    /// Place work on a paused host again.
    Activate { host: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum NamespaceCommand {
    /// List namespaces.
    List,
    /// Make a namespace; one that exists is left as it is.
    Create { name: Namespace },
    /// Delete an empty namespace.
    Delete { name: Namespace },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    /// Upload a file; prints its digest.
    Push { file: PathBuf },
    /// Download an artifact into a file.
    Pull { digest: Digest, file: PathBuf },
    /// List artifacts.
    List,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Component {
    /// Say what a file is, what it imports and exports, and whether a host can run it.
    Inspect { file: PathBuf },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Journal {
    /// Verify everything that is stored.
    Check,
    /// Print every decision and fact.
    Dump {
        /// First batch.
        #[arg(long, default_value_t = 1)]
        from: u64,
    },
    /// Write a snapshot and forget what lies below the older of the two that are kept.
    Trim,
    /// Give up everything after a batch, after a copy was made.
    Salvage {
        /// The last batch to keep.
        #[arg(long)]
        to: u64,
        /// Also give up sound batches behind it: whatever they acknowledged is lost.
        #[arg(long)]
        give_up_sound: bool,
    },
}
