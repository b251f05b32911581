//! Starts the compile worker and keeps it within its wall time.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::limits;

/// The command whose process runs [`super::compile_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilerCommand {
    pub program: PathBuf,
    pub args: Vec<String>,
}

/// Why there is no code.
#[derive(Debug)]
pub(super) enum CompileFailure {
    /// The component's doing: it fails everywhere.
    Refused(String),
    /// The host's doing.
    Host(String),
}

/// Compiles a component in a process of its own. Dropping the future ends the process.
pub(super) async fn compile(
    command: &CompilerCommand,
    component: &[u8],
) -> Result<Vec<u8>, CompileFailure> {
    let mut child = Command::new(&command.program)
        .args(&command.args)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| {
            host(format!("start the compile worker {}: {error}", command.program.display()))
        })?;
    let wall = limits::COMPILE_WALL;
    match tokio::time::timeout(wall, converse(&mut child, component)).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(CompileFailure::Refused(format!(
            "not done after {} s (compile-wall)",
            wall.as_secs()
        ))),
    }
}

async fn converse(child: &mut Child, component: &[u8]) -> Result<Vec<u8>, CompileFailure> {
    let mut stdin = child.stdin.take().ok_or_else(|| host("reach its stdin".into()))?;
    let stdout = child.stdout.take().ok_or_else(|| host("reach its stdout".into()))?;
    let stderr = child.stderr.take().ok_or_else(|| host("reach its stderr".into()))?;
    let (mut code, mut reason) = (Vec::new(), Vec::new());
    let feed = async move {
        // A worker that died early says why on stderr; that its stdin broke is no news.
        let _fed = stdin.write_all(component).await;
    };
    let mut code_in = stdout.take(limits::COMPILED_BYTES + 1);
    let mut reason_in = stderr.take(limits::COMPILE_ERROR_BYTES as u64);
    let (_fed, code_read, reason_read) =
        tokio::join!(feed, code_in.read_to_end(&mut code), reason_in.read_to_end(&mut reason));
    code_read.and(reason_read).map_err(|error| host(format!("read its answer: {error}")))?;
    if code.len() as u64 > limits::COMPILED_BYTES {
        let limit = limits::COMPILED_BYTES;
        return Err(CompileFailure::Refused(format!("more than {limit} bytes of code")));
    }
    let status = child.wait().await.map_err(|error| host(format!("wait for it: {error}")))?;
    if status.success() {
        return Ok(code);
    }
    let reason = String::from_utf8_lossy(&reason);
    Err(CompileFailure::Refused(match (status.code(), reason.trim()) {
        (None, "") => format!("the compile worker was ended ({status}): it hit its limits"),
        (None, reason) => format!("the compile worker was ended ({status}): {reason}"),
        (Some(_), reason) => reason.to_owned(),
    }))
}

fn host(message: String) -> CompileFailure {
    CompileFailure::Host(message)
}
