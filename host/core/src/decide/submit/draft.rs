//! A version to be: what a submission or a rollback wants, before it has a number and a hash.

use crate::{
    Force, Principal,
    command::Submit,
    diff::Face,
    state::{Version, VersionRecord, template_hash},
};
use alloc::{
    boxed::Box,
    collections::BTreeMap,
    string::{String, ToString},
};
use pliant_types::{
    Effective, Time, Version as VersionNumber,
    effective::DefaultsTable,
    spec::{RESERVED_PREFIX, WrittenMap},
};

/// A version to be.
pub(super) struct Draft {
    pub(super) record: VersionRecord,
    /// A copy keeps the hash that the original was given (03-jobs.md, section 2).
    hash: Option<u64>,
}

impl Draft {
    pub(super) fn new(submit: &Submit, author: &Principal, now: Time) -> Self {
        let record = VersionRecord {
            number: VersionNumber::new(0),
            spec: submit.spec.clone(),
            text: submit.text.clone(),
            labels: written(&submit.labels),
            annotations: written(&submit.annotations),
            defaults: DefaultsTable::NEWEST,
            digest: submit.digest,
            source: submit.source.clone(),
            template_hash: 0,
            author: author.0.clone(),
            message: submit.message.clone(),
            at: now,
            from: None,
        };
        Self { record, hash: None }
    }

    /// A copy of a version that the job had, whole: labels, annotations, spec, digest and the table
    /// of its defaults (14-decisions.md, 3 and 4).
    pub(super) fn copy(
        old: &Version,
        author: &Principal,
        message: Option<String>,
        now: Time,
    ) -> Self {
        let record = VersionRecord {
            author: author.0.clone(),
            message,
            at: now,
            from: Some(old.record.number),
            ..old.record.as_ref().clone()
        };
        Self { record, hash: Some(old.record.template_hash) }
    }

    pub(super) fn effective(&self) -> Effective {
        Effective::new(&self.record.spec, self.record.defaults)
    }

    /// Whether it says what a version says, under that version's table of defaults.
    pub(super) fn equals(&self, other: &Version) -> bool {
        self.record.labels == other.record.labels
            && self.record.annotations == other.record.annotations
            && self.record.digest == other.record.digest
            && Effective::new(&self.record.spec, other.record.defaults) == *other.effective
    }

    /// Numbers and hashes the version; `force` makes its tasks change although nothing did.
    pub(super) fn finish(mut self, number: VersionNumber, force: Force) -> Box<VersionRecord> {
        self.record.number = number;
        let salt = (force == Force::Yes).then_some(number);
        self.record.template_hash = match self.hash {
            Some(hash) if salt.is_none() => hash,
            _ => template_hash(&self.effective(), self.record.digest, salt),
        };
        Box::new(self.record)
    }
}

fn written(map: &WrittenMap) -> BTreeMap<String, String> {
    let mut plain = pliant_types::spec::without_nulls(map);
    plain.retain(|key, _| !key.starts_with(RESERVED_PREFIX));
    plain
}

/// What a version looks like to a comparison of fields.
pub(super) fn face<'a>(record: &'a VersionRecord, effective: &'a Effective) -> Face<'a> {
    Face {
        effective,
        labels: &record.labels,
        annotations: &record.annotations,
        digest: record.digest.to_string(),
    }
}
