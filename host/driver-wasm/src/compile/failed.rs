//! Artifacts that cannot run, remembered so that nobody pays for finding out twice.

use std::collections::{HashMap, VecDeque};

use pliant_driver::DriverError;
use pliant_types::Digest;

use crate::limits;

/// A failure that repeats on every try.
#[derive(Clone, Debug)]
pub(super) enum Lasting {
    Invalid(Vec<String>),
    DoesNotCompile(String),
}

impl Lasting {
    pub(super) fn error(self, digest: Digest) -> DriverError {
        match self {
            Self::Invalid(problems) => DriverError::ArtifactInvalid { digest, problems },
            Self::DoesNotCompile(reason) => DriverError::CompileFailed { digest, reason },
        }
    }
}

/// The newest failures; the oldest is forgotten first.
#[derive(Debug, Default)]
pub(super) struct Failed {
    by_digest: HashMap<Digest, Lasting>,
    order: VecDeque<Digest>,
}

impl Failed {
    pub(super) fn get(&self, digest: Digest) -> Option<Lasting> {
        self.by_digest.get(&digest).cloned()
    }

    pub(super) fn remember(&mut self, digest: Digest, why: Lasting) {
        if self.by_digest.insert(digest, why).is_none() {
            self.order.push_back(digest);
        }
        while self.order.len() > limits::FAILED_ARTIFACTS {
            if let Some(oldest) = self.order.pop_front() {
                self.by_digest.remove(&oldest);
            }
        }
    }
}
