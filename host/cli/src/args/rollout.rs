//! The command line of rollouts. Says nothing of what the commands do.

use super::WaitFlags;
use clap::{Args as ClapArgs, Subcommand};
use pliant_types::RolloutId;

#[derive(Debug, Subcommand)]
pub(crate) enum Rollout {
    /// List the rollouts of a job, newest first.
    List { job: String },
    /// Show where a rollout is; with -f, until it has ended.
    Status(RolloutStatus),
    /// Say that the canaries, or the green set, are good.
    Promote(RolloutVerb),
    /// Move nothing more; the clock stands.
    Pause(RolloutVerb),
    /// Go on from where it was paused.
    Resume(RolloutVerb),
    /// Say that it has failed; it goes back where the job wants that.
    Abort(RolloutVerb),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RolloutStatus {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// The rollout; the newest when absent.
    #[arg(long, value_name = "ID")]
    pub(crate) rollout: Option<RolloutId>,
    /// Go on until it has ended; the exit code says how.
    #[arg(short, long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) wait: WaitFlags,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RolloutVerb {
    /// The job's exact name or id.
    pub(crate) job: String,
    /// The rollout; the one under way when absent.
    #[arg(long, value_name = "ID")]
    pub(crate) rollout: Option<RolloutId>,
    /// Only if the job is at this revision.
    #[arg(long, value_name = "R")]
    pub(crate) expect_revision: Option<u64>,
}
