//! What a fake artifact does, as data.

/// The life of one artifact on the fake driver. Times are milliseconds of fake time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeScript {
    pub prepare_ms: u64,
    pub prepare: FakePrepare,
    pub start_ms: u64,
    pub start: FakeStart,
    pub run: FakeRun,
    /// How long a stop takes; the grace of the stop bounds it.
    pub stop_ms: u64,
    /// Lines that are written to stdout at the start, if `LogSettings::dir` can be written.
    pub prints: Vec<String>,
}

impl Default for FakeScript {
    /// Ready at once, runs for ever, stops at once.
    fn default() -> Self {
        Self {
            prepare_ms: 0,
            prepare: FakePrepare::Succeeds,
            start_ms: 0,
            start: FakeStart::Succeeds,
            run: FakeRun::Forever,
            stop_ms: 0,
            prints: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FakePrepare {
    Succeeds,
    /// Permanent: `artifact-invalid` with this problem.
    Invalid(String),
    /// May succeed another time: `engine`.
    Fails(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FakeStart {
    Succeeds,
    Fails(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FakeRun {
    Forever,
    ExitAfter { run_ms: u64, code: u32 },
    TrapAfter { run_ms: u64, message: String },
}

/// Whether executions outlive the process that started them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// As on an engine inside the agent's process.
    EndsWithProcess,
    /// As with containers.
    Outlives,
}
