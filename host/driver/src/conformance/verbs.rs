//! Rules of the verbs that are not about life and death.

use std::time::Duration;

use pliant_types::{Attempt, Cpu, ExecutionId, Memory};

use super::{Behaviour, Bench};
use crate::logs::Stream;
use crate::{DriverError, LogRequest, Recovered, Resources, Signal};

pub(super) async fn describes_itself_the_same_each_time(bench: Bench) {
    let description = bench.driver.describe();
    assert!(!description.name.is_empty() && !description.engine_version.is_empty());
    assert_eq!(description, bench.driver.describe());
}

pub(super) async fn gives_its_events_to_one_receiver(bench: Bench) {
    assert!(bench.driver.take_events().is_none(), "the bench has them already");
}

fn is_unknown<T>(answer: &Result<T, DriverError>, id: ExecutionId) -> bool {
    matches!(answer, Err(DriverError::UnknownExecution(named)) if *named == id)
}

pub(super) async fn unknown_executions_are_named(bench: Bench) {
    let id = ExecutionId::new(404);
    let to = Resources { memory: Memory::from_mib(1), cpu: Cpu::from_millis(100) };
    let driver = &bench.driver;
    assert_eq!(driver.probe(id).await, None);
    assert!(is_unknown(&driver.stop(id, Duration::ZERO).await, id));
    assert!(is_unknown(&driver.remove(id).await, id));
    assert!(is_unknown(&driver.usage(id).await, id));
    assert!(is_unknown(&driver.signal(id, Signal::Terminate).await, id));
    assert!(is_unknown(&driver.resize(id, to).await, id));
    let spec = bench.subject.spec(Behaviour::RunsForever, id);
    assert!(is_unknown(&driver.swap(spec).await, id));
}

pub(super) async fn optional_verbs_work_or_say_that_they_cannot(mut bench: Bench) {
    let id = bench.start(Behaviour::RunsForever, 1).await;
    bench.started(id, Attempt::FIRST).await;
    let to = Resources { memory: Memory::from_mib(256), cpu: Cpu::from_millis(500) };
    let spec = bench.subject.spec(Behaviour::RunsForever, id);
    let answers = [
        bench.driver.signal(id, Signal::Hangup).await,
        bench.driver.resize(id, to).await,
        bench.driver.swap(spec).await,
    ];
    for answer in answers {
        assert!(matches!(answer, Ok(()) | Err(DriverError::Unsupported { .. })), "{answer:?}");
    }
    bench.driver.shutdown().await;
}

pub(super) async fn recover_answers_for_each_that_was_asked(bench: Bench) {
    let running = bench.start(Behaviour::RunsForever, 1).await;
    let unknown = ExecutionId::new(9);
    let answers = bench.driver.recover(&[unknown, running]).await;
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0], Recovered::Gone { execution: unknown });
    assert!(
        matches!(&answers[1], Recovered::Running { execution, attempt: Attempt::FIRST, .. }
            if *execution == running),
        "{answers:?}"
    );
    bench.driver.shutdown().await;
}

pub(super) async fn logs_are_readable_after_the_end(mut bench: Bench) {
    let id = bench.start(Behaviour::Exits(0), 1).await;
    bench.started_and_ended(id, Attempt::FIRST).await;
    let dir = bench.subject.spec(Behaviour::Exits(0), id).logs.dir;
    let request = LogRequest { execution: id, dir, from: 0 };
    let mut reader = bench.driver.logs(request).await.expect("the log is there");
    let mut lines = Vec::new();
    while let Some(records) = reader.next().await.expect("the log can be read") {
        lines.extend(records);
    }
    let found = lines.iter().any(|record| {
        record.stream == Stream::Stdout && record.text == b"conformance" && record.ends_line
    });
    assert!(found, "{lines:?}");
}
