//! The engine's clock: a thread that advances the epoch, so that computing guests give way.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

use wasmtime::Engine;

use crate::limits::EPOCH_TICK;

/// Runs until dropped, which joins its thread.
#[derive(Debug)]
pub(crate) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let engine = engine.weak();
        let thread = std::thread::Builder::new().name("wasm-epoch".into()).spawn(move || {
            while stopped.recv_timeout(EPOCH_TICK) == Err(RecvTimeoutError::Timeout) {
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => return,
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let joined = thread.join();
            debug_assert!(joined.is_ok(), "the ticker does not panic");
        }
    }
}
