//! How the ledger's entries look: JSON, a template once for all executions of a version.
//!
//! Keys: `host`, `execution/e_412`, `template/j_17/3/0` (the piece of a template; a value is
//! bounded, a template is not).

use std::collections::{BTreeMap, BTreeSet};

use pliant_journal::store::DurableMap;
use pliant_types::{JobUid, Version, assignment::TaskTemplate};
use serde_json::Value;

use super::AgentError;
use crate::logic::{Edit, HostRecord, Image, Record};

const HOST: &str = "host";
const EXECUTION: &str = "execution/";
const TEMPLATE: &str = "template/";

/// Members of a record that hold a version and its template.
const HOLDERS: [&str; 2] = ["assigned", "obeys"];

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
    /// What is assigned, and what an attempt obeys if that is another one.
    users: BTreeMap<pliant_types::ExecutionId, BTreeSet<TemplateKey>>,
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
                    for key in self.users.remove(id).unwrap_or_default() {
                        self.release(key, &mut changes);
                    }
                }
            }
        }
        changes
    }

    fn put(&mut self, record: &Record, changes: &mut Changes) {
        let id = record.id();
        let used = templates_of(record);
        let before = self.users.get(&id).cloned().unwrap_or_default();
        for (key, template) in &used {
            if !before.contains(key) {
                self.hold(*key, template, changes);
            }
        }
        let now: BTreeSet<TemplateKey> = used.into_keys().collect();
        for key in before.difference(&now) {
            self.release(*key, changes);
        }
        self.users.insert(id, now);
        let mut value = serde_json::to_value(record).expect("records have only string keys");
        for holder in HOLDERS {
            if let Some(holder) = value.get_mut(holder).and_then(Value::as_object_mut) {
                holder.remove("template");
            }
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

    fn release(&mut self, key: TemplateKey, changes: &mut Changes) {
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
        let wrong = |why: &str| AgentError::Entry { key: key.to_owned(), why: why.to_owned() };
        let mut value: Value = parse(key, value)?;
        let job = value.pointer("/assigned/job").cloned();
        let job = job.ok_or_else(|| wrong("it has no assignment"))?;
        let mut used = BTreeSet::new();
        for holder in HOLDERS {
            let Some(holder) = value.get_mut(holder).and_then(Value::as_object_mut) else {
                continue;
            };
            let version = holder.get("version").cloned().unwrap_or_default();
            let template: TemplateKey =
                serde_json::from_value(Value::Array(vec![job.clone(), version]))
                    .map_err(|error| wrong(&error.to_string()))?;
            let body = templates.get(&template).ok_or_else(|| wrong("its template is missing"))?;
            holder.insert("template".to_owned(), body.clone());
            used.insert(template);
        }
        let record: Record =
            serde_json::from_value(value).map_err(|error| wrong(&error.to_string()))?;
        for template in &used {
            if let Some((_, users)) = self.templates.get_mut(template) {
                *users += 1;
            }
        }
        self.users.insert(record.id(), used);
        Ok(record)
    }
}

/// The templates that a record names, by the key under which they are stored.
fn templates_of(record: &Record) -> BTreeMap<TemplateKey, &TaskTemplate> {
    let assigned = &record.assigned;
    let mut templates =
        BTreeMap::from([((assigned.job, assigned.version), assigned.template.as_ref())]);
    if let Some(obeys) = &record.obeys {
        templates.entry((assigned.job, obeys.version)).or_insert(&obeys.template);
    }
    templates
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
    use crate::logic::{Execution, Moment, Obeys, Refused, Stage};
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
    fn a_record_between_two_versions_holds_both_templates() {
        let disk = MemoryMap::default();
        let mut map = disk.open().unwrap().map;
        let mut codec = Codec::default();
        let old = assigned(1, 1, "old");
        let mut between = record(1, 2, "new");
        between.obeys = Some(Obeys { version: old.version, template: old.template });
        between.refused = Some(Refused { version: Version::new(2), why: "no room".to_owned() });
        let mut image = Image::default();
        let put = |record: &Record| [Edit::Put(Box::new(record.clone()))];
        put(&between).iter().for_each(|edit| image.apply(edit));
        commit(&mut map, &mut codec, &put(&between));
        assert_eq!(map.len(), 2 + 1);
        let (mut codec, read) = Codec::read(&map).unwrap();
        assert_eq!(read, image);
        between.obeys = Some(Obeys {
            version: between.assigned.version,
            template: Arc::clone(&between.assigned.template),
        });
        commit(&mut map, &mut codec, &put(&between));
        assert_eq!(map.len(), 1 + 1, "nobody needs the older template");
    }

    #[test]
    fn a_record_of_an_older_release_is_read() {
        let disk = MemoryMap::default();
        let mut map = disk.open().unwrap().map;
        commit(&mut map, &mut Codec::default(), &[Edit::Put(Box::new(record(1, 1, "a")))]);
        let mut older: Value = serde_json::from_slice(map.get(b"execution/e_1").unwrap()).unwrap();
        for field in ["obeys", "refused"] {
            older.as_object_mut().unwrap().remove(field).unwrap();
        }
        let older = json(&older);
        map.commit(&[MapEdit::Put { key: b"execution/e_1", value: &older }]).unwrap();
        let read = Codec::read(&map).unwrap().1;
        assert_eq!(read.executions[&ExecutionId::new(1)], record(1, 1, "a"));
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
