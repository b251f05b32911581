//! The host's own key, by which it knows its own compiled code again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const KEY_FILE: &str = "key";
pub(super) const TAG_BYTES: usize = 32;

/// A 256-bit key in a file of mode 0600 beside the code.
pub(super) struct Key([u8; 32]);

impl Key {
    /// Reads the key of `dir`, or makes both. The directory is set to mode 0700.
    pub(super) fn open(dir: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let failed = |error| (dir.to_owned(), error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        let path = dir.join(KEY_FILE);
        match fs::read(&path) {
            Ok(bytes) => bytes.try_into().map(Self).map_err(|_bytes| {
                (path, io::Error::new(io::ErrorKind::InvalidData, "the key is not 32 bytes long"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::create(&path).map_err(|error| (path, error))
            }
            Err(error) => Err((path, error)),
        }
    }

    fn create(path: &Path) -> io::Result<Self> {
        let key: [u8; 32] = rand::random();
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&key)?;
        file.sync_all()?;
        Ok(Self(key))
    }

    /// The tag of `code` under `label`, which names engine, settings and artifact.
    pub(super) fn tag(&self, label: &str, code: &[u8]) -> [u8; TAG_BYTES] {
        self.mac(label, code).finalize().into_bytes().into()
    }

    /// Compares in constant time.
    pub(super) fn verify(&self, label: &str, code: &[u8], tag: &[u8]) -> bool {
        self.mac(label, code).verify_slice(tag).is_ok()
    }

    fn mac(&self, label: &str, code: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        // The length keeps label and code apart.
        mac.update(&(label.len() as u64).to_le_bytes());
        mac.update(label.as_bytes());
        mac.update(code);
        mac
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}
