//! `up`: controller and agent in one process, on loopback, until it is told to stop.

use crate::{
    args::{Global, LogFormat, Up},
    connect::{address_file, routes_file, token_file},
    fail::{Failure, chain},
};
use pliant_agent::{Router, RouterConfig};
use pliant_controller::{Config, Controller, FetchRules, StartError, writer::ReadError};
use pliant_journal::OpenError;
use pliant_types::codes::{Code, exit_code::DONE};
use std::{
    fs::{OpenOptions, Permissions},
    io::{self, Write},
    net::SocketAddr,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{EnvFilter, fmt::format::FmtSpan};

mod agent;

pub(crate) use agent::compile_worker;

/// Environment variable with the log filter; `info` when absent.
const LOG_VARIABLE: &str = "PLIANT_LOG";

pub(crate) fn up(global: &Global, asked: Up) -> Result<u8, Failure> {
    start_logs(asked.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(global, asked))
}

fn start_logs(format: LogFormat) {
    let filter =
        EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new("info,sled=warn"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::NONE)
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .with_target(false);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}

async fn serve(global: &Global, asked: Up) -> Result<u8, Failure> {
    let data_dir = &global.data_dir;
    check_before(&asked)?;
    make_data_dir(data_dir)?;
    let token = token(data_dir)?;
    let mut config = Config::new(data_dir.clone(), asked.listen, token.clone());
    config.fetch = FetchRules { plain_registries: asked.plain_registry.clone() };
    let controller = Controller::start(config).await.map_err(start_failure)?;
    let address = controller.address();
    let running = match agent::start(global, &asked, (address, &token)).await {
        Ok(running) => running,
        Err(failure) => {
            stop_controller(controller).await;
            return Err(failure);
        }
    };
    let router = match start_router(&asked, (address, &token)).await {
        Ok(router) => router,
        Err(failure) => {
            agent::stop(running).await;
            stop_controller(controller).await;
            return Err(failure);
        }
    };
    let outcome = live(global, &asked, (address, router.address())).await;
    eprintln!("stopping …");
    // The address goes first, so that no client is led to a process that is leaving.
    let _ = std::fs::remove_file(address_file(data_dir));
    let _ = std::fs::remove_file(routes_file(data_dir));
    router.stop().await;
    agent::stop(running).await;
    stop_controller(controller).await;
    outcome.map(|()| DONE)
}

/// From the moment that everything serves until it is told to stop.
async fn live(
    global: &Global,
    asked: &Up,
    (address, routes): (SocketAddr, SocketAddr),
) -> Result<(), Failure> {
    let data_dir = &global.data_dir;
    // A closed terminal is a reason to stop in order as well; listened for before anybody is told.
    let told = told_to_stop()?;
    write_file(&routes_file(data_dir), &routes.to_string(), 0o644)?;
    write_file(&address_file(data_dir), &address.to_string(), 0o644)?;
    if let Some(ready) = &asked.ready_file {
        write_file(ready, &address.to_string(), 0o644)?;
    }
    eprintln!("pliant is up at http://{address}, data in {}", data_dir.display());
    eprintln!("routes are served at http://{routes}");
    eprintln!("try: pliant run FILE · pliant ps · pliant status (Ctrl-C stops it cleanly)");
    run_files(global, asked, address).await?;
    told.await;
    Ok(())
}

/// What can be refused before anything is made: a mistake in a flag leaves no directory behind.
fn check_before(asked: &Up) -> Result<(), Failure> {
    let parent = |file: &Path| file.parent().map(Path::to_owned).unwrap_or_default();
    if let Some(dir) = asked.ready_file.as_deref().map(parent)
        && !dir.as_os_str().is_empty()
        && !dir.is_dir()
    {
        let words = format!("the directory {} of --ready-file does not exist", dir.display());
        return Err(Failure::new(Code::FileUnusable, words));
    }
    for (address, flag) in [(asked.listen, "--listen"), (route_address(asked), "--route-listen")] {
        if address.ip().is_loopback() {
            std::net::TcpListener::bind(address)
                .map_err(|error| not_listening((address, flag), &error))?;
        }
    }
    Ok(())
}

fn not_listening((address, flag): (SocketAddr, &str), error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::AddrInUse => Code::PortInUse,
        _ => Code::BodyInvalid,
    };
    Failure::new(code, format!("{address} cannot be listened on: {error}"))
        .hint(format!("choose another address with {flag}; port 0 lets the system choose"))
}

/// Port of routes when nobody names one.
const ROUTE_PORT: u16 = 7480;

async fn start_router(
    asked: &Up,
    (controller, token): (SocketAddr, &str),
) -> Result<Router, Failure> {
    let listen = route_address(asked);
    if !listen.ip().is_loopback() {
        let words =
            format!("{listen} is not a loopback address; routes are served on loopback only");
        return Err(Failure::new(Code::BodyInvalid, words));
    }
    let controller = format!("http://{controller}");
    let config = RouterConfig { listen, controller, token: token.to_owned() };
    Router::start(config).await.map_err(|error| {
        Failure::new(Code::PortInUse, chain(&error))
            .hint("name another address with --route-listen")
    })
}

fn route_address(asked: &Up) -> SocketAddr {
    let port = if asked.listen.port() == 0 { 0 } else { ROUTE_PORT };
    asked.route_listen.unwrap_or(SocketAddr::new(asked.listen.ip(), port))
}

async fn run_files(
    global: &Global,
    asked: &Up,
    address: std::net::SocketAddr,
) -> Result<(), Failure> {
    if asked.files.is_empty() {
        return Ok(());
    }
    let mut global = global.clone();
    global.addr = Some(address.to_string());
    let client = crate::connect::client(&global)?;
    let context = super::Context { client, global: &global };
    let run = crate::args::Run {
        plan: None,
        files: asked.files.clone(),
        detach: true,
        force: false,
        dry_run: false,
        expect_revision: None,
        message: None,
        until: crate::args::Until::Healthy,
        wait: crate::args::WaitFlags { timeout: None },
    };
    super::run::run(&context, run).await.map(|_| ())
}

async fn stop_controller(controller: Controller) {
    if let Err(error) = controller.stop().await {
        tracing::error!(error = chain(&error), "the controller had failed");
    }
}

/// Ctrl-C, what a service manager sends, or the end of the terminal; they are heard from the call on.
fn told_to_stop() -> Result<impl Future<Output = ()>, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

fn make_data_dir(dir: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        let words = format!("the data directory {} cannot be used: {error}", dir.display());
        Failure::new(Code::JournalUnavailable, words)
            .hint("name a directory that you may write to with --data-dir")
    };
    if !dir.is_dir() {
        std::fs::create_dir_all(dir).map_err(failed)?;
        // A directory that was there already keeps the mode that its owner gave it.
        std::fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    let probe = dir.join(".write-probe");
    std::fs::write(&probe, b"x").and_then(|()| std::fs::remove_file(&probe)).map_err(failed)
}

/// The admin token: made at the first start, in a file of mode 0600 (06-cluster.md, section 4).
fn token(dir: &Path) -> Result<String, Failure> {
    let path = token_file(dir);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let random: [u8; 32] = rand::random();
            let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            let token = format!("pliant_admin_{hex}");
            first_token(&path, &token)
        }
        Err(error) => {
            let words = format!("the token file {} cannot be read: {error}", path.display());
            Err(Failure::new(Code::Unauthorized, words))
        }
    }
}

/// Makes the token's file, whole and once: of several processes that start at the same time each gets
/// the token of the first.
fn first_token(path: &Path, token: &str) -> Result<String, Failure> {
    let beside = path.with_extension(format!("first-{}", std::process::id()));
    write_file(&beside, token, 0o600)?;
    let linked = std::fs::hard_link(&beside, path);
    let _ = std::fs::remove_file(&beside);
    let read = match linked {
        Ok(()) => return Ok(token.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => std::fs::read_to_string(path),
        Err(error) => Err(error),
    };
    read.map(|text| text.trim().to_owned()).map_err(|error| {
        let words = format!("the token file {} cannot be made: {error}", path.display());
        Failure::new(Code::JournalUnavailable, words)
    })
}

/// Writes a file whole or not at all.
fn write_file(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    write().map_err(|error| {
        let words = format!("{} cannot be written: {error}", path.display());
        Failure::new(Code::FileUnusable, words)
    })
}

fn start_failure(error: StartError) -> Failure {
    let words = chain(&error);
    match &error {
        StartError::Config(_) => Failure::new(Code::BodyInvalid, words),
        StartError::Listen { address, source } => not_listening((*address, "--listen"), source),
        StartError::Journal(ReadError::Open(OpenError::Locked { .. })) => {
            Failure::new(Code::WrongState, words).hint(
                "another pliant uses this data directory; stop it, or name another with --data-dir",
            )
        }
        StartError::Journal(_) => Failure::new(Code::JournalUnavailable, words)
            .hint("look with `pliant journal check`; docs/reference/journal.md has each way out"),
        StartError::Artifacts { .. } => Failure::new(Code::JournalUnavailable, words)
            .hint("check the data directory's permissions and free space"),
    }
}
