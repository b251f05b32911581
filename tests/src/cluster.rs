//! A one-process cluster in a directory of its own, on a port of its own.

use crate::{binary, eventually};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// A running (or stopped) `pliant up`.
#[derive(Debug)]
pub struct Cluster {
    dir: tempfile::TempDir,
    data: PathBuf,
    flags: Vec<String>,
    process: Option<Child>,
}

/// What a command printed and returned.
#[derive(Clone, Debug)]
pub struct Said {
    /// The exit code.
    pub code: i32,
    /// The result.
    pub stdout: String,
    /// Progress, hints, errors.
    pub stderr: String,
}

impl Cluster {
    /// Starts one with flags of `up`.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn up(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        Self::up_in(dir, data, flags)
    }

    /// Starts one whose data lie in a directory that exists already.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn up_in(dir: tempfile::TempDir, data: PathBuf, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let mut cluster = Self { dir, data, flags, process: None };
        cluster.start();
        cluster
    }

    /// Starts it again where it was.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn start(&mut self) {
        let ready = self.dir.path().join("ready");
        let _ = fs::remove_file(&ready);
        let log = fs::File::options().create(true).append(true).open(self.log_path()).unwrap();
        let child = Command::new(binary())
            .args(["up", "--listen", "127.0.0.1:0", "--ready-file"])
            .arg(&ready)
            .arg("--data-dir")
            .arg(&self.data)
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(child);
        eventually("the cluster is up", || {
            if let Some(Some(status)) = self.process.as_mut().map(|p| p.try_wait().unwrap()) {
                panic!("`pliant up` ended with {status}:\n{}", self.log());
            }
            fs::read_to_string(&ready).ok().filter(|text| !text.is_empty())
        });
    }

    /// Where its files are.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// A directory for the test's own files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// `127.0.0.1:PORT`.
    ///
    /// # Panics
    /// When it is not up.
    #[must_use]
    pub fn address(&self) -> String {
        fs::read_to_string(self.data.join("address")).unwrap()
    }

    /// The admin token.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn token(&self) -> String {
        fs::read_to_string(self.data.join("admin.token")).unwrap()
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("up.log")
    }

    /// What `up` has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Runs the CLI against it.
    ///
    /// # Panics
    /// When the binary cannot be started.
    pub fn pliant(&self, args: &[&str]) -> Said {
        said(
            Command::new(binary())
                .args(args)
                .arg("--data-dir")
                .arg(&self.data)
                .current_dir(self.dir.path())
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        )
    }

    /// Runs the CLI and expects exit code 0; the result is its stdout.
    ///
    /// # Panics
    /// When it returns anything else.
    pub fn ok(&self, args: &[&str]) -> String {
        let said = self.pliant(args);
        assert_eq!(said.code, 0, "pliant {args:?}: {said:#?}\n{}", self.log());
        said.stdout
    }

    /// The JSON of a command.
    ///
    /// # Panics
    /// When it fails or prints no JSON.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let text = self.ok(&[args, &["-o", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?} printed {text:?}: {e}"))
    }

    /// Writes a job file into the test's directory.
    ///
    /// # Panics
    /// When the disk fails.
    #[must_use]
    pub fn job(&self, name: &str, guest: &str, spec: &str) -> String {
        let component = crate::guest(guest);
        let text = format!(
            "apiVersion: pliant.dev/v1\nmetadata: {{name: {name}}}\nspec:\n  engine: {{wasm: {{component: \"file://{}\"{}}}}}\n{}",
            component.display(),
            args_of(spec),
            spec.lines()
                .filter(|l| !l.starts_with("args:"))
                .map(|l| format!("  {l}\n"))
                .collect::<String>()
        );
        let path = self.dir.path().join(format!("{name}.yaml"));
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// `kill -9`.
    ///
    /// # Panics
    /// When it is not running.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("it runs");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Ctrl-C, and waits for the end; the exit code.
    ///
    /// # Panics
    /// When it is not running.
    pub fn interrupt(&mut self) -> i32 {
        self.signal("-INT")
    }

    /// Sends a signal, as `kill` names it, and waits for the end; the exit code.
    ///
    /// # Panics
    /// When it is not running.
    pub fn signal(&mut self, name: &str) -> i32 {
        let mut process = self.process.take().expect("it runs");
        let id = process.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
        let status = eventually("the cluster has stopped", || process.try_wait().unwrap());
        status.code().unwrap_or(-1)
    }
}

/// `args: [a, b]` on a line of its own goes into the engine.
fn args_of(spec: &str) -> String {
    let line = spec.lines().find_map(|line| line.strip_prefix("args:"));
    line.map(|list| format!(", args:{list}")).unwrap_or_default()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Runs the CLI without a cluster.
///
/// # Panics
/// When the binary cannot be started.
pub fn alone(args: &[&str]) -> Said {
    said(Command::new(binary()).args(args).stdin(Stdio::null()).output().unwrap())
}

fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
