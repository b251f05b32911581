//! How the ledger's entries look: JSON, a template once for all executions of a version.
//!
//! Keys: `host`, `execution/e_412`, `template/j_17/3/0` (the piece of a template; a value is
//! bounded, a template is not).

use std::collections::BTreeMap;

use pliant_journal::store::DurableMap;
use pliant_types::{JobUid, Version, assignment::TaskTemplate};
use serde_json::Value;

use super::AgentError;
use crate::logic::{Edit, HostRecord, Image, Record};

const HOST: &str = "host";
const EXECUTION: &str = "execution/";
const TEMPLATE: &str = "template/";

/// Bytes of a piece of a template: some of them fit one commit.
const PIECE_BYTES: usize = 16 * 1_024;

/// Which template.
type TemplateKey = (JobUid, Version);

/// New values by key; `None` is gone.
pub(super) type Changes = BTreeMap<String, Option<Vec<u8>>>;

/// Which templates are stored, and who uses them.
#[derive(Debug, Default)]
pub(super) struct Codec {
    /// Pieces and users of each template.
    templates: BTreeMap<TemplateKey, (usize, usize)>,
    users: BTreeMap<pliant_types::ExecutionId, TemplateKey>,
}

fn template_key((job, version): TemplateKey, piece: usize) -> String {
    format!("{TEMPLATE}{job}/{version}/{piece}")
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("records have only string keys")
}

/// In which order entries are written when they do not fit one commit: a template before who uses
/// it, its removal after, and what was obeyed last.
pub(super) fn order(key: &str, value: Option<&Vec<u8>>) -> u8 {
    match (key.starts_with(TEMPLATE), value) {
        (true, Some(_)) => 0,
        (false, _) if key != HOST => 1,
        (true, None) => 2,
        (false, _) => 3,
    }
}

impl Codec {
    /// The entries that some edits change, in any number.
    pub(super) fn changes<'a>(&mut self, edits: impl IntoIterator<Item = &'a Edit>) -> Changes {
        let mut changes = Changes::new();
        for edit in edits {
            match edit {
                Edit::Host(host) => {
                    changes.insert(HOST.to_owned(), Some(json(host)));
                }
                Edit::Put(record) => self.put(record, &mut changes),
                Edit::Remove(id) => {
                    changes.insert(format!("{EXECUTION}{id}"), None);
                    self.release(*id, &mut changes);
                }
            }
        }
        changes
    }

    fn put(&mut self, record: &Record, changes: &mut Changes) {
        let id = record.id();
        let key = (record.assigned.job, record.assigned.version);
        if self.users.get(&id) != Some(&key) {
            self.hold(key, &record.assigned.template, changes);
            self.release(id, changes);
            self.users.insert(id, key);
        }
        let mut value = serde_json::to_value(record).expect("records have only string keys");
        if let Some(assigned) = value.get_mut("assigned").and_then(Value::as_object_mut) {
            assigned.remove("template");
        }
        changes.insert(format!("{EXECUTION}{id}"), Some(json(&value)));
    }

    fn hold(&mut self, key: TemplateKey, template: &TaskTemplate, changes: &mut Changes) {
        if let Some((_, users)) = self.templates.get_mut(&key) {
            *users += 1;
            return;
        }
        let bytes = json(template);
        let mut pieces = 0;
        for piece in bytes.chunks(PIECE_BYTES) {
            changes.insert(template_key(key, pieces), Some(piece.to_vec()));
            pieces += 1;
        }
        self.templates.insert(key, (pieces, 1));
    }

    fn release(&mut self, id: pliant_types::ExecutionId, changes: &mut Changes) {
        let Some(key) = self.users.remove(&id) else { return };
        let Some((pieces, users)) = self.templates.get_mut(&key) else { return };
        *users -= 1;
        if *users == 0 {
            for piece in 0..*pieces {
                changes.insert(template_key(key, piece), None);
            }
            self.templates.remove(&key);
        }
    }

    /// Reads all that a ledger holds.
    pub(super) fn read(map: &DurableMap) -> Result<(Self, Image), AgentError> {
        let mut codec = Self::default();
        let mut image = Image::default();
        let templates = codec.read_templates(map)?;
        for (key, value) in map.iter() {
            let key = String::from_utf8_lossy(key);
            if key == HOST {
                image.host = parse::<HostRecord>(&key, value)?;
            } else if key.starts_with(EXECUTION) {
                let record = codec.read_execution(&key, value, &templates)?;
                image.executions.insert(record.id(), record);
            } else if !key.starts_with(TEMPLATE) {
                let why = "its key is none of this release".to_owned();
                return Err(AgentError::Entry { key: key.into_owned(), why });
            }
        }
        Ok((codec, image))
    }

    fn read_templates(
        &mut self,
        map: &DurableMap,
    ) -> Result<BTreeMap<TemplateKey, Value>, AgentError> {
        let mut pieces: BTreeMap<TemplateKey, BTreeMap<usize, &[u8]>> = BTreeMap::new();
        for (key, value) in map.iter() {
            let key = String::from_utf8_lossy(key);
            let Some(rest) = key.strip_prefix(TEMPLATE) else { continue };
            let (template, piece) = parse_template_key(rest).ok_or_else(|| {
                let why = "its key names no template".to_owned();
                AgentError::Entry { key: key.to_string(), why }
            })?;
            pieces.entry(template).or_default().insert(piece, value);
        }
        let mut templates = BTreeMap::new();
        for (key, pieces) in pieces {
            let bytes: Vec<u8> = pieces.values().flat_map(|piece| piece.iter().copied()).collect();
            templates.insert(key, parse(&template_key(key, 0), &bytes)?);
            self.templates.insert(key, (pieces.len(), 0));
        }
        Ok(templates)
    }

    fn read_execution(
        &mut self,
        key: &str,
        value: &[u8],
        templates: &BTreeMap<TemplateKey, Value>,
    ) -> Result<Record, AgentError> {
        let wrong = |why: String| AgentError::Entry { key: key.to_owned(), why };
        let mut value: Value = parse(key, value)?;
        let assigned = value
            .get_mut("assigned")
            .and_then(Value::as_object_mut)
            .ok_or_else(|| wrong("it has no assignment".to_owned()))?;
        let uid = assigned.get("job").cloned().unwrap_or_default();
        let version = assigned.get("version").cloned().unwrap_or_default();
        let template: TemplateKey = serde_json::from_value(Value::Array(vec![uid, version]))
            .map_err(|error| wrong(error.to_string()))?;
        let body = templates.get(&template);
        let body = body.ok_or_else(|| wrong("its template is missing".to_owned()))?;
        assigned.insert("template".to_owned(), body.clone());
        let record: Record =
            serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        if let Some((_, users)) = self.templates.get_mut(&template) {
            *users += 1;
        }
        self.users.insert(record.id(), template);
        Ok(record)
    }
}

fn parse<T: serde::de::DeserializeOwned>(key: &str, value: &[u8]) -> Result<T, AgentError> {
    serde_json::from_slice(value)
        .map_err(|error| AgentError::Entry { key: key.to_owned(), why: error.to_string() })
}

fn parse_template_key(rest: &str) -> Option<(TemplateKey, usize)> {
    let mut parts = rest.split('/');
    let job = parts.next()?.parse().ok()?;
    let version = Version::new(parts.next()?.parse().ok()?);
    let piece = parts.next()?.parse().ok()?;
    Some(((job, version), piece))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::ledger::write;
    use crate::logic::{Execution, Moment, Stage};
    use pliant_journal::store::{Edit as MapEdit, MemoryMap};
    use pliant_types::{ExecutionId, Fence, HostId, assignment::AssignedExecution};
    use std::sync::Arc;

    fn assigned(number: u64, version: u32, argument: &str) -> AssignedExecution {
        let template = serde_json::json!({
            "kind": "batch", "engine": "wasm", "digest": format!("sha256:{}", "07".repeat(32)),
            "args": [argument], "env": {}, "config": {}, "cpu": "100m", "memory": "64Mi",
            "ports": [], "mounts": [], "capabilities": {},
            "restart": {"policy": "on-failure", "backoff": "1s..60s", "attempts": 3, "within": "10m"},
            "executionTimeout": "0s", "killTimeout": "10s", "exclusive": false
        });
        AssignedExecution {
            execution: ExecutionId::new(number),
            job: JobUid::new(1),
            namespace: "default".parse().unwrap(),
            name: "job".parse().unwrap(),
            incarnation: pliant_types::Incarnation::FIRST,
            task: pliant_types::TaskNumber::FIRST,
            version: Version::new(version),
            desired: pliant_types::assignment::Desired::Run,
            in_place: pliant_types::assignment::InPlace::Live,
            template: Arc::new(serde_json::from_value(template).unwrap()),
        }
    }

    fn record(number: u64, version: u32, argument: &str) -> Record {
        Execution::new(assigned(number, version, argument), Fence::FIRST).record
    }

    fn commit(map: &mut DurableMap, codec: &mut Codec, edits: &[Edit]) {
        write(map, codec.changes(edits)).unwrap();
    }

    #[test]
    fn what_is_written_is_read_and_a_template_is_stored_once() {
        let disk = MemoryMap::default();
        let mut map = disk.open().unwrap().map;
        let mut codec = Codec::default();
        let long = "x".repeat(3 * PIECE_BYTES);
        let host = HostRecord { host: Some(HostId::new(3)), ..HostRecord::default() };
        let mut waiting = record(2, 1, &long);
        waiting.stage = Stage::Waiting { until: Moment::new(9) };
        let edits = [
            Edit::Host(host),
            Edit::Put(Box::new(record(1, 1, &long))),
            Edit::Put(Box::new(waiting)),
            Edit::Put(Box::new(record(3, 2, "b"))),
        ];
        let mut image = Image::default();
        edits.iter().for_each(|edit| image.apply(edit));
        commit(&mut map, &mut codec, &edits);
        assert_eq!(map.len(), 1 + 3 + 4 + 1);
        let (mut codec, read) = Codec::read(&map).unwrap();
        assert_eq!(read, image);

        // Moved to another version: the last user of a template takes it away.
        let edits = [
            Edit::Put(Box::new(record(1, 2, "b"))),
            Edit::Remove(ExecutionId::new(2)),
            Edit::Remove(ExecutionId::new(3)),
        ];
        edits.iter().for_each(|edit| image.apply(edit));
        commit(&mut map, &mut codec, &edits);
        assert_eq!(map.len(), 1 + 1 + 1);
        assert_eq!(Codec::read(&map).unwrap().1, image);
    }

    #[test]
    fn more_than_a_commit_holds_is_written_in_several() {
        let disk = MemoryMap::default();
        let mut map = disk.open().unwrap().map;
        let mut codec = Codec::default();
        let long = "x".repeat(9 * PIECE_BYTES);
        let edits: Vec<Edit> =
            (1..=1_500).map(|number| Edit::Put(Box::new(record(number, 1, &long)))).collect();
        let mut image = Image::default();
        edits.iter().for_each(|edit| image.apply(edit));
        commit(&mut map, &mut codec, &edits);
        let (mut codec, read) = Codec::read(&map).unwrap();
        assert_eq!(read.executions.len(), 1_500);
        assert_eq!(read, image);
        let ended: Vec<Edit> =
            (1..=1_500).map(|number| Edit::Remove(ExecutionId::new(number))).collect();
        commit(&mut map, &mut codec, &ended);
        assert!(map.is_empty());
    }

    #[test]
    fn what_this_release_cannot_read_is_named() {
        let disk = MemoryMap::default();
        let mut map = disk.open().unwrap().map;
        map.commit(&[MapEdit::Put { key: b"execution/e_1", value: b"{}" }]).unwrap();
        let error = Codec::read(&map).unwrap_err();
        assert!(error.to_string().contains("execution/e_1"), "{error}");
    }
}
