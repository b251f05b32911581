//! Why a guest ended, from what the engine says.

use pliant_driver::ExitCause;
use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::guest::GuestState;
use crate::limits;

/// Judges the error of a call into a guest.
pub(crate) fn cause_of(error: &wasmtime::Error, state: &GuestState) -> ExitCause {
    if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        return ExitCause::Code(code.cast_unsigned());
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return ExitCause::Failed { message: format!("no free place in the pool: {error:#}") };
    }
    let backtrace = backtrace(error);
    if let Some(asked_bytes) = state.limiter.refused() {
        let limit_bytes = state.limiter.limit();
        return ExitCause::OutOfMemory { limit_bytes, asked_bytes, backtrace };
    }
    let message = if let Some(trap) = error.downcast_ref::<Trap>() {
        trap.to_string()
    } else if is_out_of_handles(error) {
        "the guest holds as many handles as it may (handles)".to_owned()
    } else {
        error.root_cause().to_string()
    };
    ExitCause::Trap { message, backtrace }
}

/// Of the two tables that hold a guest's handles one has an error type; the other has a text.
fn is_out_of_handles(error: &wasmtime::Error) -> bool {
    matches!(error.downcast_ref(), Some(ResourceTableError::Full))
        || error.root_cause().to_string().contains("store handle limit exceeded")
}

/// The guest's frames, innermost first, without the headings of the engine's own text.
fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let text = backtrace.to_string();
    let frames = text.lines().map(str::trim).filter(|line| {
        line.split_once(':').is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    });
    frames.take(limits::BACKTRACE_FRAMES).map(str::to_owned).collect()
}
