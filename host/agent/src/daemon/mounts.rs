//! Which directories of the host jobs may mount: only what lies below the operator's roots, judged
//! by real paths, so that no link leads out of them.

use std::path::PathBuf;

use pliant_types::{ExitReason, ExitStatus};

use super::AgentError;

/// Real paths below which mounts are granted.
#[derive(Clone, Debug)]
pub(super) struct MountRoots(Vec<PathBuf>);

impl MountRoots {
    /// The operator's roots; each must be a directory.
    pub(super) fn new(roots: &[PathBuf]) -> Result<Self, AgentError> {
        let mut real = Vec::new();
        for root in roots {
            let refuse = |why: String| AgentError::Setting { setting: "mount_roots", why };
            let path = root
                .canonicalize()
                .map_err(|error| refuse(format!("{}: {error}", root.display())))?;
            if !path.is_dir() {
                return Err(refuse(format!("{} is no directory", root.display())));
            }
            real.push(path);
        }
        Ok(Self(real))
    }

    /// The real path of a mount's source, or the exit of what asked for it.
    pub(super) fn grant(&self, source: &str) -> Result<PathBuf, ExitStatus> {
        let refuse = |why: &str| {
            let words = format!("the mount of {source} is not granted on this host: {why}");
            ExitStatus::with_detail(ExitReason::NotGranted, &words)
        };
        if self.0.is_empty() {
            return Err(refuse("its operator allows no mounts"));
        }
        // Whether the path exists is told only to those who may mount it.
        let real = PathBuf::from(source).canonicalize().ok();
        let granted = real.filter(|real| self.0.iter().any(|root| real.starts_with(root)));
        granted.ok_or_else(|| refuse("it does not lie below a directory that the operator allows"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn only_what_really_lies_below_a_root_is_granted() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("in-not"));
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        symlink(&outside, inside.join("out")).unwrap();
        let roots = MountRoots::new(std::slice::from_ref(&inside)).unwrap();
        let grant = |path: &PathBuf| roots.grant(path.to_str().unwrap());
        assert!(grant(&inside).is_ok());
        assert_eq!(grant(&inside.join("deep")), Ok(inside.join("deep").canonicalize().unwrap()));
        for bad in
            [&outside, &inside.join("out"), &inside.join("../in-not"), &inside.join("absent")]
        {
            let refused = grant(bad).unwrap_err();
            assert_eq!(refused.reason, ExitReason::NotGranted, "{}", bad.display());
            assert!(refused.detail.unwrap().contains("operator"));
        }
        assert!(MountRoots::new(&[]).unwrap().grant("/").is_err());
        assert!(MountRoots::new(&[dir.path().join("absent")]).is_err());
    }
}
