//! The changed fields between two effective specs, each with what it does to tasks.

use crate::answer::Change;
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};
use pliant_types::{ChangeClass, Effective, class::class_of, spec::Engine};
use serde_json::Value;

/// Most changes that an answer lists; the rest is counted in one line.
const MAX_CHANGES: usize = 200;

/// What a version looks like from outside.
pub(crate) struct Face<'a> {
    pub(crate) effective: &'a Effective,
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) annotations: &'a BTreeMap<String, String>,
    pub(crate) digest: String,
}

/// Every field that differs, in the order of the paths.
pub(crate) fn changes(old: &Face<'_>, new: &Face<'_>) -> Vec<Change> {
    let (before, after) = (flat(old), flat(new));
    let container = matches!(new.effective.engine(), Some(Engine::Container(_)));
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut changes: Vec<_> = paths
        .into_iter()
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| Change {
            field: path.clone(),
            old: before.get(path).cloned(),
            new: after.get(path).cloned(),
            class: class_of(path, container),
        })
        .collect();
    if changes.len() > MAX_CHANGES {
        let rest = changes.split_off(MAX_CHANGES);
        let class = rest.iter().map(|c| c.class).max().unwrap_or(ChangeClass::Metadata);
        let field = format!("… and {} more", rest.len());
        changes.push(Change { field, old: None, new: None, class });
    }
    changes
}

fn flat(face: &Face<'_>) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let spec = serde_json::to_value(face.effective.spec())
        .expect("Invariant: a spec has string keys only and always encodes");
    flatten("spec", &spec, &mut fields);
    for (member, map) in [("labels", face.labels), ("annotations", face.annotations)] {
        for (key, value) in map {
            fields.insert(
                format!("metadata.{member}.{key}"),
                Value::from(value.as_str()).to_string(),
            );
        }
    }
    fields.insert("digest".into(), face.digest.clone());
    fields
}

fn flatten(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                flatten(&format!("{path}.{key}"), value, fields);
            }
        }
        Value::Null => {}
        Value::Array(list) if list.is_empty() => {}
        other => {
            fields.insert(path.to_string(), other.to_string());
        }
    }
}
