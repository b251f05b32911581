//! Runs a command component from its start to its end.

use pliant_driver::ExitCause;
use wasmtime::Store;
use wasmtime_wasi::{p2, p3};

use super::exit::cause_of;
use crate::compile::Program;
use crate::guest::GuestState;

type Ran = Result<Result<(), ()>, wasmtime::Error>;

/// Instantiates and calls `run`. Dropping the future ends the guest at its next yield.
pub(super) async fn run(program: &Program, mut store: Store<GuestState>) -> ExitCause {
    let ran = match program {
        Program::Command2(pre) => run2(pre, &mut store).await,
        Program::Command3(pre) => run3(pre, &mut store).await,
        Program::Http(_) => Err(wasmtime::format_err!("an HTTP handler is not a command")),
    };
    match ran {
        Ok(Ok(())) => ExitCause::Code(0),
        Ok(Err(())) => ExitCause::Code(1),
        Err(error) => cause_of(&error, store.data()),
    }
}

async fn run2(pre: &p2::bindings::CommandPre<GuestState>, store: &mut Store<GuestState>) -> Ran {
    let command = pre.instantiate_async(&mut *store).await?;
    command.wasi_cli_run().call_run(store).await
}

async fn run3(pre: &p3::bindings::CommandPre<GuestState>, store: &mut Store<GuestState>) -> Ran {
    let command = pre.instantiate_async(&mut *store).await?;
    store.run_concurrent(async |accessor| command.wasi_cli_run().call_run(accessor).await).await?
}
