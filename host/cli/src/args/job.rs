//! The command line of jobs: versions, runs, sizes. Says nothing of what the commands do.

use clap::{Args as ClapArgs, Subcommand};
use pliant_types::{Version, VersionRef};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List jobs.
    List,
    /// Show a job, or one version of it; `-o yaml` can be given to `run` again.
    Show(Show),
    /// Versions of a job.
    Versions { job: String },
    /// What differs between two versions: fields with their class, or the texts.
    Diff(Diff),
    /// Give a version a tag, or take one away; starts and stops nothing.
    Tag(Tag),
    /// Go back to a version that the job had, as a new version.
    Rollback(Rollback),
    /// Give a job another number of tasks; makes no version.
    Scale(Scale),
    /// Run a batch or ops job again, at its current version.
    Rerun(Verb),
    /// Stop a job; its spec stays.
    Stop(Stop),
    /// Start a stopped job.
    Start(Verb),
    /// Stop a job, free its name and forget it.
    Delete(Verb),
    /// Print the logs of a job's tasks.
    Logs(super::Logs),
    /// What completed tasks left in /output.
    Results(Results),
    /// Events of a job.
    Events {
        job: String,
        /// Go on as they happen.
        #[arg(short, long)]
        follow: bool,
    },
    /// Wait until a job runs, or has ended.
    Wait {
        job: String,
        #[command(flatten)]
        wait: WaitFlags,
    },
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct WaitFlags {
    /// How long to wait; the work goes on afterwards.
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<pliant_types::Millis>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Verb {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// Only if the job is at this revision.
    #[arg(long, value_name = "R")]
    pub(crate) expect_revision: Option<u64>,
    /// Return at once instead of waiting until every host has confirmed.
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) wait: WaitFlags,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stop {
    #[command(flatten)]
    pub(crate) verb: Verb,
    /// Only the runs of this version; batch and ops.
    #[arg(long, value_name = "N", value_parser = version)]
    pub(crate) version: Option<Version>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Show {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// This version instead: N, a tag, proven, current or previous.
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<VersionRef>,
    /// Only the text as it was submitted, with its comments.
    #[arg(long)]
    pub(crate) text: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Diff {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// N, a tag, proven, current or previous.
    #[arg(default_value = "previous")]
    pub(crate) from: VersionRef,
    /// The same.
    #[arg(default_value = "current")]
    pub(crate) to: VersionRef,
    /// Compare the texts as they were submitted instead of the fields.
    #[arg(long)]
    pub(crate) text: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Tag {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// The tag.
    pub(crate) tag: pliant_types::Tag,
    /// The version that gets it: N, a tag, proven, current or previous.
    #[arg(long, default_value = "current", value_name = "VERSION")]
    pub(crate) version: VersionRef,
    /// Take the tag away.
    #[arg(long, conflicts_with = "version")]
    pub(crate) remove: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Rollback {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// N, a tag, proven or previous; the newest proven one that differs, else the one before, when absent.
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<VersionRef>,
    /// Why, kept with the version.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    /// Only if the job is at this revision.
    #[arg(long, value_name = "R")]
    pub(crate) expect_revision: Option<u64>,
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Return as soon as it is durable.
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) wait: WaitFlags,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Scale {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// N tasks, +N more or -N fewer.
    #[arg(allow_hyphen_values = true, value_name = "N|+N|-N")]
    pub(crate) to: ScaleTo,
    /// Only if the job is at this revision.
    #[arg(long, value_name = "R")]
    pub(crate) expect_revision: Option<u64>,
}

/// A size, by itself or from the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaleTo {
    Exactly(u32),
    By(i32),
}

impl std::str::FromStr for ScaleTo {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected N, +N or -N, saw {text:?}");
        if text.starts_with(['+', '-']) {
            return text.parse().map(Self::By).map_err(|_| wrong());
        }
        text.parse().map(Self::Exactly).map_err(|_| wrong())
    }
}

/// A version's number.
pub(super) fn version(text: &str) -> Result<Version, String> {
    match text.parse() {
        Ok(VersionRef::Number(number)) => Ok(number),
        _ => Err(format!("expected a version's number, saw {text:?}")),
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Plan {
    /// Job file (YAML, JSON, TOML); - is stdin.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Keep the plan in a file for `pliant run --plan`; one job only.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with 20 when something changes, 21 when running tasks are touched.
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// As if deployed again although nothing changed.
    #[arg(long)]
    pub(crate) force: bool,
    /// Only if the job is at this revision; 0 is "must not exist".
    #[arg(long, value_name = "R")]
    pub(crate) expect_revision: Option<u64>,
    /// Why, kept with the version.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Results {
    pub(crate) job: String,
    /// Only this task.
    #[arg(long)]
    pub(crate) task: Option<u32>,
    /// Only runs of this version.
    #[arg(long, value_name = "N", value_parser = version)]
    pub(crate) version: Option<Version>,
    /// Only this run.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<u32>,
    /// Print a file of the newest result.
    #[arg(long, value_name = "PATH", conflicts_with = "extract")]
    pub(crate) cat: Option<String>,
    /// Unpack into this directory, which must not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) extract: Option<PathBuf>,
}
