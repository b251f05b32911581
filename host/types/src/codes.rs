//! The one table of error codes: word, HTTP status, exit code, meaning, what to do.
//!
//! docs/reference/errors.md is compared with it by a test. Reasons for waiting are not errors: they
//! are in [`WaitCode`].

/// Process exit codes of the CLI (03-jobs.md, section 7).
pub mod exit_code {
    /// Done as asked, or nothing to do.
    pub const DONE: u8 = 0;
    /// A fault of Pliant itself or of the machine.
    pub const INTERNAL: u8 = 1;
    /// The command line is wrong.
    pub const USAGE: u8 = 2;
    /// The spec or another input is invalid.
    pub const INVALID: u8 = 3;
    /// What was named does not exist.
    pub const NOT_FOUND: u8 = 4;
    /// A conflict or a failed precondition.
    pub const CONFLICT: u8 = 5;
    /// Not allowed.
    pub const FORBIDDEN: u8 = 6;
    /// No controller can be reached, or it cannot write now.
    pub const UNREACHABLE: u8 = 7;
    /// Could not be placed by the end of the wait.
    pub const NOT_PLACED: u8 = 8;
    /// The rollout failed, also when it was rolled back.
    pub const ROLLOUT_FAILED: u8 = 9;
    /// The job ended without success.
    pub const JOB_FAILED: u8 = 10;
    /// The wait timed out; the work goes on.
    pub const TIMED_OUT: u8 = 11;
    /// Interrupted; the work goes on.
    pub const INTERRUPTED: u8 = 130;
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRow {
    /// The stable word.
    pub word: &'static str,
    /// HTTP status of the answer.
    pub http_status: u16,
    /// Exit code of the CLI.
    pub exit: u8,
    /// What it means, one sentence.
    pub meaning: &'static str,
    /// What to do, one sentence.
    pub action: &'static str,
    /// Whether the same request may succeed later without a change.
    pub retryable: bool,
}

macro_rules! codes {
    ($($variant:ident = $word:literal, $status:literal, $exit:ident, $retry:literal, $meaning:literal, $action:literal;)*) => {
        /// A refusal's stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $meaning] $variant,)* }

        impl Code {
            /// Every code, in the table's order.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];
            /// The code's row.
            #[must_use]
            pub const fn row(self) -> CodeRow {
                match self {
                    $(Code::$variant => CodeRow {
                        word: $word, http_status: $status, exit: exit_code::$exit, meaning: $meaning,
                        action: $action, retryable: $retry,
                    },)*
                }
            }
        }
        impl core::str::FromStr for Code {
            type Err = crate::text::InvalidText;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Code::$variant),)*
                    _ => Err(crate::text::InvalidText::new(format_args!("unknown code {text:?}"))),
                }
            }
        }
    };
}

codes! {
    BodyInvalid = "body-invalid", 400, INVALID, false, "The request's body or parameters cannot be read.", "Correct the place that the error names.";
    SpecInvalid = "spec-invalid", 422, INVALID, false, "The job's spec breaks one or more rules.", "Correct every place that the errors name; `pliant validate FILE` checks without sending.";
    NotOffered = "not-offered", 422, INVALID, false, "The spec asks for something that this release does not carry out.", "Leave the named field out, or use a release that has it.";
    ArtifactInvalid = "artifact-invalid", 422, INVALID, false, "The artifact is not a component or module that can run.", "Look at it with `pliant component inspect FILE`.";
    ImportNotOffered = "import-not-offered", 422, INVALID, false, "The component imports an interface that no host offers.", "Build it against the offered version that the error names.";
    MediaUnsupported = "media-unsupported", 415, INVALID, false, "The body has a type, character set or encoding that is not taken.", "Send the bytes as they are, with a type that the error names.";
    FileUnusable = "file-unusable", 400, INVALID, false, "A file or directory of this machine cannot be used.", "Correct the path that the error names, or its permissions.";
    DigestMismatch = "digest-mismatch", 422, INVALID, false, "The bytes do not have the digest that was named.", "Send the bytes again; if it stays, the source is damaged.";
    ArtifactUnreachable = "artifact-unreachable", 502, INVALID, true, "The artifact's source could not be read.", "Check the address and that the controller can reach it.";
    TooLarge = "too-large", 413, INVALID, false, "Something is larger than its named limit.", "Make it smaller; the error names the limit.";
    JobNotFound = "job-not-found", 404, NOT_FOUND, false, "No job has this name or id in the namespace.", "List the names with `pliant ps`.";
    NamespaceNotFound = "namespace-not-found", 404, NOT_FOUND, false, "There is no such namespace.", "Create it with `pliant namespace create NAMESPACE`, or list what there is with `pliant namespace list`.";
    RouteTaken = "route-taken", 409, CONFLICT, false, "Another job has this host name and path.", "Use another path or host name, or delete the other job.";
    RolloutNotFound = "rollout-not-found", 404, NOT_FOUND, false, "The job has no such rollout, or none under way.", "List them with `pliant rollout list JOB`.";
    VersionNotFound = "version-not-found", 404, NOT_FOUND, false, "The job has no such version or tag.", "List what there is with `pliant job versions JOB`.";
    ExecutionNotFound = "execution-not-found", 404, NOT_FOUND, false, "There is no such execution, or it was forgotten.", "List them with `pliant execution list`.";
    HostNotFound = "host-not-found", 404, NOT_FOUND, false, "There is no such host.", "List them with `pliant host list`.";
    ArtifactNotFound = "artifact-not-found", 404, NOT_FOUND, false, "The store has no artifact of this digest.", "Push it with `pliant artifact push FILE`.";
    ResultsNotFound = "results-not-found", 404, NOT_FOUND, false, "The job has kept no results.", "Results are what a batch task wrote to /output before it completed.";
    RouteNotFound = "route-not-found", 404, NOT_FOUND, false, "The API has no such path.", "The API is described at /v1/openapi.json.";
    MethodNotAllowed = "method-not-allowed", 405, NOT_FOUND, false, "The path exists, but does not take this method.", "The header Allow names the methods; the API is described at /v1/openapi.json.";
    HistoryGone = "history-gone", 410, NOT_FOUND, false, "That part of the history was trimmed.", "Start from the present state.";
    NamespaceNotEmpty = "namespace-not-empty", 409, CONFLICT, false, "The namespace still has jobs.", "Delete its jobs first; the error says how many there are.";
    NameTaken = "name-taken", 409, CONFLICT, false, "The name is already used.", "Choose another name.";
    PortInUse = "port-in-use", 409, CONFLICT, false, "The address is used by another program.", "Stop that program, or choose another port; `pliant up --listen 127.0.0.1:0` lets the system choose.";
    KindImmutable = "kind-immutable", 409, CONFLICT, false, "A job's kind never changes.", "Delete the job first, or use another name.";
    RevisionMismatch = "revision-mismatch", 412, CONFLICT, false, "The job was changed since the revision that you named.", "Look at the job again and repeat the change.";
    KeyReused = "key-reused", 422, CONFLICT, false, "The Idempotency-Key was used with another request.", "Use a new key for a new request.";
    ResubmitRejected = "resubmit-rejected", 409, CONFLICT, false, "The job runs and its onResubmit says reject.", "Wait for its end, stop it, or change onResubmit.";
    WrongState = "wrong-state", 409, CONFLICT, false, "The job is in a state in which this cannot be done.", "The error says which state and what can be done.";
    HostBusy = "host-busy", 409, CONFLICT, true, "The host still holds executions.", "Drain it first, or say --confirm-dead when the machine is really gone.";
    Fenced = "fenced", 409, CONFLICT, false, "The sender belongs to an older term or an older life of the host.", "The agent registers again by itself.";
    Unauthorized = "unauthorized", 401, FORBIDDEN, false, "The request has no valid token.", "Name the token's file with PLIANT_TOKEN_FILE.";
    Forbidden = "forbidden", 403, FORBIDDEN, false, "The token does not allow this.", "Use a token with the right role.";
    QueueFull = "queue-full", 503, UNREACHABLE, true, "The controller's inbox is full.", "Repeat a little later.";
    JournalUnavailable = "journal-unavailable", 503, UNREACHABLE, true, "The journal cannot take writes now; reads are served.", "Look at the controller's log; it opens the journal again by itself.";
    NoSpace = "no-space", 507, UNREACHABLE, true, "The disk of the journal is nearly full; stops and reports still work.", "Free space; new submissions are taken again above 5 % free.";
    ShuttingDown = "shutting-down", 503, UNREACHABLE, true, "The controller is stopping.", "Repeat when it is up again.";
    Unreachable = "unreachable", 503, UNREACHABLE, true, "No controller answers at the address.", "Start one with `pliant up`, or name it with --addr.";
    AgentUnreachable = "agent-unreachable", 502, UNREACHABLE, true, "The host of the execution does not answer.", "Look at `pliant host list`.";
    Internal = "internal", 500, INTERNAL, false, "A fault inside Pliant.", "Report it with the controller's log.";
}

impl Code {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().word
    }
}

impl core::fmt::Display for Code {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

crate::text::serde_as_text!(Code);
crate::text::cbor_as_text!(Code);

macro_rules! waits {
    ($($variant:ident = $word:literal, $meaning:literal;)*) => {
        /// Why something waits (law 7); documented beside the error codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum WaitCode { $(#[doc = $meaning] $variant,)* }
        impl WaitCode {
            /// Every code.
            pub const ALL: &'static [WaitCode] = &[$(WaitCode::$variant),*];
            /// The stable word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(WaitCode::$variant => $word,)* }
            }
            /// What it means, one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(WaitCode::$variant => $meaning,)* }
            }
        }
        impl core::str::FromStr for WaitCode {
            type Err = crate::text::InvalidText;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(WaitCode::$variant),)*
                    _ => Err(crate::text::InvalidText::new(format_args!("unknown code {text:?}"))),
                }
            }
        }
    };
}

waits! {
    NoHost = "no-host", "No host is registered.";
    NoEligibleHost = "no-eligible-host", "No host satisfies the engine, the constraints and the span.";
    NoRoom = "no-room", "Hosts are eligible, but none has the CPU, memory or port free.";
    BackOff = "back-off", "The task failed and waits before its next placement.";
    HostSilent = "host-silent", "The task's host is silent and not yet declared lost.";
    AgentWorking = "agent-working", "The agent has the execution and has not reported it running.";
    RestartWait = "restart-wait", "The attempt ended and the agent waits before the next.";
    StopUnconfirmed = "stop-unconfirmed", "The execution was asked to stop and its agent has not confirmed it.";
    ExclusiveLease = "exclusive-lease", "An exclusive task waits until its lost host must have stopped it.";
    PlanLimit = "plan-limit", "The planner's limit for one run is used up; it goes on at once.";
    RunQueued = "run-queued", "A version waits for the end of the job's present run (onResubmit: finish-first).";
    ReplaceTurn = "replace-turn", "The task waits for its turn to move to the rollout's version.";
    RolloutUnhealthy = "rollout-unhealthy", "A task at the rollout's version is not healthy, so no other task moves.";
    RolloutPaused = "rollout-paused", "The rollout is paused; nothing moves until it is resumed.";
    AwaitingPromotion = "awaiting-promotion", "The canaries, or the whole green set, are healthy and wait for a word.";
    Retiring = "retiring", "The old set is kept for a while as an instant way back.";
    OldNotEnded = "old-not-ended", "With strategy recreate, the new version starts when the old one has ended everywhere.";
    ResizeDeferred = "resize-deferred", "The task's host has no room for its new size yet.";
}

impl core::fmt::Display for WaitCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

crate::text::serde_as_text!(WaitCode);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_and_says_what_to_do() {
        for code in Code::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
            assert!(
                code.row().meaning.ends_with('.') && code.row().action.ends_with('.'),
                "{code}"
            );
        }
        for code in WaitCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
    }
}
