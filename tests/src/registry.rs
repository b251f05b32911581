//! A real OCI registry on a loopback port, and as much of its protocol as pushing a component takes.

use crate::eventually;
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A registry that ends with its value.
#[derive(Debug)]
pub struct Registry {
    process: Child,
    address: String,
}

impl Registry {
    /// Starts `docker-registry` with its data below a directory.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn up(dir: &Path) -> Self {
        let config = dir.join("registry.yaml");
        let (data, log) = (dir.join("registry"), dir.join("registry.log"));
        let text = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"127.0.0.1:0\"}}\n",
            data.display()
        );
        fs::write(&config, text).unwrap();
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .expect("docker-registry is installed by tests/setup.sh");
        // The system chooses the port, so that nobody else can have it; the registry tells which.
        let told = || {
            let text = fs::read_to_string(&log).ok()?;
            let (_, rest) = text.split_once("listening on ")?;
            let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':'))?;
            Some(rest[..end].to_owned())
        };
        let mut registry = Self { process, address: String::new() };
        registry.address = eventually("the registry tells its port", told);
        eventually("the registry answers", || TcpStream::connect(&registry.address).ok());
        registry
    }

    /// Where it listens, `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Pushes a component as the artifact `REPOSITORY:TAG`.
    ///
    /// # Panics
    /// When the registry refuses a step.
    pub fn push(&self, repository: &str, tag: &str, component: &[u8]) {
        let config = b"{}".as_slice();
        let (layer, empty) = (self.blob(repository, component), self.blob(repository, config));
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.wasm.config.v0+json","digest":"{empty}","size":2}},"layers":[{{"mediaType":"application/wasm","digest":"{layer}","size":{}}}]}}"#,
            component.len()
        );
        let path = format!("/v2/{repository}/manifests/{tag}");
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let (status, head) = self.send("PUT", &path, kind, manifest.as_bytes());
        assert_eq!(status, 201, "{head}");
    }

    fn blob(&self, repository: &str, bytes: &[u8]) -> String {
        let digest = format!("sha256:{}", hex(&Sha256::digest(bytes)));
        let path = format!("/v2/{repository}/blobs/uploads/");
        let (status, head) = self.send("POST", &path, "application/octet-stream", b"");
        assert_eq!(status, 202, "{head}");
        let location = head
            .lines()
            .find_map(|line| line.strip_prefix("Location: "))
            .expect("an upload has a location")
            .trim()
            .replace(&format!("http://{}", self.address), "");
        let path = format!("{location}&digest={digest}");
        let (status, head) = self.send("PUT", &path, "application/octet-stream", bytes);
        assert_eq!(status, 201, "{head}");
        digest
    }

    /// The status and the head of an answer.
    fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        (status, answer.split("\r\n\r\n").next().unwrap_or_default().to_owned())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
