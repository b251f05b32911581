//! What can be asked of the core: one struct per command, one closed enum.
//!
//! Every command that yields facts is journaled with its time, so that the simulator can decide it
//! again. Renewals and unchanged observations are not commands (14-decisions.md, 1).

use alloc::{string::String, sync::Arc, vec::Vec};
use core::fmt;
use minicbor::{Decode, Encode};
use pliant_types::{
    Digest, Epoch, HostId, JobName, JobSpec, JobUid, Millis, Namespace, Revision, RolloutId, Tag,
    Time, Version, VersionRef,
    host::{HostDescription, HostMode, HostStage},
    report::{InventoryItem, Report},
    spec::WrittenMap,
};

/// Who asks: the subject of a token, an agent, or the controller itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct Principal(#[n(0)] pub String);

/// The caller's key of a request that must be answered the same twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct IdempotencyKey(#[n(0)] pub String);

/// A command with who asked and how to recognise it again.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Request {
    /// Who asks.
    #[n(0)]
    pub principal: Principal,
    /// The key and a hash of the body (law 9).
    #[n(1)]
    pub key: Option<(IdempotencyKey, Digest)>,
    /// What is asked.
    #[n(2)]
    pub command: Command,
}

impl Request {
    /// A request of the controller itself.
    #[must_use]
    pub fn internal(command: Command) -> Self {
        Self { principal: Principal("controller".into()), key: None, command }
    }
}

/// Everything that can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Command {
    /// Create or update a job by its name.
    #[n(0)]
    Submit(#[n(0)] Submit),
    /// Stop a job; its spec stays.
    #[n(1)]
    Stop(#[n(0)] StopJob),
    /// Start a stopped job.
    #[n(2)]
    Start(#[n(0)] StartJob),
    /// Stop a job, free its name and forget it.
    #[n(3)]
    Delete(#[n(0)] DeleteJob),
    /// An agent begins or resumes.
    #[n(4)]
    RegisterHost(#[n(0)] RegisterHost),
    /// A host's renewals stopped long enough for the next stage.
    #[n(5)]
    HostSilent(#[n(0)] HostSilent),
    /// A suspect or unreachable host renews again.
    #[n(6)]
    HostSeen(#[n(0)] HostSeen),
    /// People want something else of a host.
    #[n(7)]
    SetHostMode(#[n(0)] SetHostMode),
    /// What a host observes.
    #[n(8)]
    Report(#[n(0)] ReportHost),
    /// A controller begins its term.
    #[n(9)]
    StartTerm(#[n(0)] StartTerm),
    /// Run the planner.
    #[n(10)]
    Tick,
    /// Go back to a version that the job had.
    #[n(11)]
    Rollback(#[n(0)] Rollback),
    /// Give a version a tag, or take one away.
    #[n(12)]
    Tag(#[n(0)] TagVersion),
    /// Run a batch or ops job again.
    #[n(13)]
    Rerun(#[n(0)] RerunJob),
    /// Another number of tasks.
    #[n(14)]
    Scale(#[n(0)] ScaleJob),
    /// Make a namespace.
    #[n(15)]
    CreateNamespace(#[n(0)] NamespaceCommand),
    /// Delete an empty namespace.
    #[n(16)]
    DeleteNamespace(#[n(0)] NamespaceCommand),
    /// Pause, resume, promote or abort a rollout.
    #[n(17)]
    Rollout(#[n(0)] RolloutCommand),
}

impl Command {
    /// The command's word, for logs and dumps.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Submit(_) => "submit",
            Self::Stop(_) => "stop",
            Self::Start(_) => "start",
            Self::Delete(_) => "delete",
            Self::RegisterHost(_) => "register-host",
            Self::HostSilent(_) => "host-silent",
            Self::HostSeen(_) => "host-seen",
            Self::SetHostMode(_) => "set-host-mode",
            Self::Report(_) => "report",
            Self::StartTerm(_) => "start-term",
            Self::Tick => "tick",
            Self::Rollback(_) => "rollback",
            Self::Tag(_) => "tag",
            Self::Rerun(_) => "rerun",
            Self::Scale(_) => "scale",
            Self::CreateNamespace(_) => "create-namespace",
            Self::DeleteNamespace(_) => "delete-namespace",
            Self::Rollout(_) => "rollout",
        }
    }
}

/// A job by its name in a namespace, or by its uid; never by a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum JobRef {
    /// The exact name.
    #[n(0)]
    Name(#[n(0)] Namespace, #[n(1)] JobName),
    /// The uid; the namespace must be the job's own.
    #[n(1)]
    Uid(#[n(0)] Namespace, #[n(1)] JobUid),
}

impl JobRef {
    /// The namespace that the caller named.
    #[must_use]
    pub const fn namespace(&self) -> &Namespace {
        match self {
            Self::Name(namespace, _) | Self::Uid(namespace, _) => namespace,
        }
    }
}

impl fmt::Display for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(_, name) => name.fmt(f),
            Self::Uid(_, uid) => uid.fmt(f),
        }
    }
}

/// A precondition on a job's spec revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Expect {
    /// Whatever it is.
    #[n(0)]
    Anything,
    /// No job of this name may exist.
    #[n(1)]
    Absent,
    /// Exactly this spec revision.
    #[n(2)]
    Revision(#[n(0)] Revision),
}

/// Whether an unchanged spec is deployed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Force {
    /// Unchanged means nothing to do.
    #[n(0)]
    No,
    /// A new version even when nothing changed.
    #[n(1)]
    Yes,
}

/// A size, by itself or from the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ScaleTo {
    /// Exactly so many tasks.
    #[n(0)]
    Exactly(#[n(0)] u32),
    /// So many more, or fewer when negative.
    #[n(1)]
    By(#[n(0)] i32),
}

/// Create or update a job.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Submit {
    /// Where.
    #[n(0)]
    pub namespace: Namespace,
    /// Which name.
    #[n(1)]
    pub name: JobName,
    /// Labels as written, without reserved ones.
    #[n(2)]
    pub labels: WrittenMap,
    /// Annotations as written, without reserved ones.
    #[n(3)]
    pub annotations: WrittenMap,
    /// The spec as written; journaled by digest only, since the fact holds it.
    #[cbor(n(4), with = "crate::codec::spec_json")]
    pub spec: Arc<JobSpec>,
    /// The user's text with its comments.
    #[n(5)]
    pub text: Option<String>,
    /// Where the artifact came from in the user's words (a path, a tag).
    #[n(6)]
    pub source: Option<String>,
    /// What the component's source was resolved to.
    #[n(7)]
    pub digest: Digest,
    /// Deploy again although nothing changed.
    #[n(8)]
    pub force: Force,
    /// Precondition.
    #[n(9)]
    pub expect: Expect,
    /// Why, in the user's words.
    #[n(10)]
    pub message: Option<String>,
}

/// What people do to a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum RolloutVerb {
    /// Nothing moves and the clock stands.
    #[n(0)]
    Pause,
    /// Go on from where it was paused.
    #[n(1)]
    Resume,
    /// The canaries, or the green set, are good.
    #[n(2)]
    Promote,
    /// It has failed.
    #[n(3)]
    Abort,
}

macro_rules! command {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $index:literal $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
        #[cbor(map)]
        pub struct $name { $($(#[$fdoc])* #[n($index)] pub $field: $type,)* }
    };
}

command! {
    /// Stop a job.
    StopJob {
        /// Which.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
        /// Only the runs of this version; batch and ops.
        2 version: Option<Version>,
    }
}
command! {
    /// Go back to a version that the job had.
    Rollback {
        /// Which job.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
        /// To which version; without it, the newest proven one that differs, else the one before.
        2 to: Option<VersionRef>,
        /// Why, in the user's words.
        3 message: Option<String>,
    }
}
command! {
    /// Pause, resume, promote or abort a rollout.
    RolloutCommand {
        /// Which job.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
        /// Which rollout; without it, the active one of the newest run.
        2 rollout: Option<RolloutId>,
        /// What.
        3 verb: RolloutVerb,
    }
}
command! {
    /// Give a version a tag, or take one away.
    TagVersion {
        /// Which job.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
        /// The tag.
        2 tag: Tag,
        /// The version that gets it; nothing takes the tag away.
        3 version: Option<VersionRef>,
    }
}
command! {
    /// Run a batch or ops job again, at its current version.
    RerunJob {
        /// Which.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
    }
}
command! {
    /// Another number of tasks; makes no version.
    ScaleJob {
        /// Which.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
        /// How many.
        2 to: ScaleTo,
    }
}
command! {
    /// A namespace that is made or deleted.
    NamespaceCommand {
        /// Which.
        0 namespace: Namespace,
    }
}
command! {
    /// Start a stopped job.
    StartJob {
        /// Which.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
    }
}
command! {
    /// Delete a job.
    DeleteJob {
        /// Which.
        0 job: JobRef,
        /// Precondition.
        1 expect: Expect,
    }
}
command! {
    /// An agent begins or resumes.
    RegisterHost {
        /// What the host is.
        0 description: HostDescription,
        /// The id that it was given before.
        1 host: Option<HostId>,
        /// Every execution that it still has.
        2 inventory: Vec<InventoryItem>,
    }
}
command! {
    /// A host has been silent.
    HostSilent {
        /// Which.
        0 host: HostId,
        /// The stage that its silence has reached: suspect, unreachable or lost.
        1 stage: HostStage,
        /// When its lease ended or ends.
        2 lease_end: Time,
    }
}
command! {
    /// A silent host renews again.
    HostSeen {
        /// Which.
        0 host: HostId,
        /// The boot that it names.
        1 boot: String,
    }
}
command! {
    /// People want something else of a host.
    SetHostMode {
        /// Which.
        0 host: HostId,
        /// What they want.
        1 mode: HostMode,
    }
}
command! {
    /// What a host observes.
    ReportHost {
        /// Which.
        0 host: HostId,
        /// The observations.
        1 report: Report,
    }
}
command! {
    /// A controller begins its term.
    StartTerm {
        /// The journal's epoch.
        0 epoch: Epoch,
        /// How long there was no writer.
        1 gap: Millis,
    }
}
