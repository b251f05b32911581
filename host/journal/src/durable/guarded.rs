//! Calls into the storage engine that may panic or hang: both become errors with words.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{RecvTimeoutError, sync_channel},
    thread,
    time::Duration,
};

use crate::{EngineError, durable::io::doing};

/// Runs a call here; a panic becomes an error.
pub(crate) fn catching<T>(what: &'static str, call: impl FnOnce() -> T) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|payload| EngineError::Panicked { what, message: words(&*payload) })
}

/// Runs a call in its own thread; a panic, or no end within `limit`, becomes an error.
///
/// A call that hangs keeps its thread and what it captured (the lock file, so that nobody else
/// opens the same directory beside it) until the process ends.
pub(crate) fn with_limit<T: Send + 'static>(
    what: &'static str,
    limit: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    let (sender, receiver) = sync_channel(1);
    let run = move || {
        let outcome = catching(what, call);
        // Nobody listens any more once the limit is over.
        let _ = sender.send(outcome);
    };
    let thread = thread::Builder::new()
        .name("journal-engine".into())
        .spawn(run)
        .map_err(doing("starting a thread for the storage engine"))?;
    match receiver.recv_timeout(limit) {
        Ok(outcome) => {
            // The thread has nothing left to do, and its panics are caught inside.
            let _ = thread.join();
            outcome
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            Err(EngineError::TimedOut { what, limit_ms })
        }
    }
}

fn words(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    payload.downcast_ref::<String>().cloned().unwrap_or_else(|| "without words".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const AMPLE: Duration = Duration::from_secs(60);

    #[test]
    fn a_panic_is_an_error_with_its_words() {
        let error = with_limit("trying", AMPLE, || panic!("number {}", 7)).map(|()| 0).unwrap_err();
        assert_eq!(error.to_string(), "trying: panic: number 7");
    }

    #[test]
    fn a_hang_is_an_error() {
        let (let_go, held) = channel::<()>();
        let error =
            with_limit("trying", Duration::from_millis(1), move || held.recv()).unwrap_err();
        assert_eq!(error.to_string(), "trying: no end after 1 ms");
        drop(let_go);
    }

    #[test]
    fn a_result_comes_through() {
        assert_eq!(with_limit("trying", AMPLE, || 5).unwrap(), 5);
    }
}
