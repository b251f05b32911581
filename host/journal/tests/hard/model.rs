//! What is left after a power cut, computed from the recorder's log: strictly what was synced, or
//! that plus a random part of what was not.
//!
//! Rules. Bytes of a file are durable after a sync of that file. A name is durable after a sync of
//! its directory, whatever happened to the file. Strict: nothing else survives. Random: of each
//! file's unsynced writes any blocks of 512 or 4,096 bytes survive, in any combination; of each
//! directory's unsynced changes a prefix does.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use crate::rig::Random;

/// One line of the recorder's log.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Open { fd: i32, path: PathBuf, truncates: bool },
    Close { fd: i32 },
    Write { fd: i32, offset: u64, bytes: Vec<u8> },
    Truncate { fd: i32, len: u64 },
    Rename { from: PathBuf, to: PathBuf },
    Unlink { path: PathBuf },
    MakeDir { path: PathBuf },
    Sync { fd: i32 },
    Opaque,
}

/// Reads a log; a last record that was cut off is dropped.
pub(crate) fn parse(mut log: &[u8]) -> Vec<Op> {
    let mut ops = Vec::new();
    while let Some((head, rest)) = log.split_first_chunk::<24>() {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let offset = u64::from_le_bytes(head[8..16].try_into().unwrap());
        let (a_len, b_len) = (word(16) as usize, word(20) as usize);
        if rest.len() < a_len + b_len {
            break;
        }
        let (a, b) = (&rest[..a_len], &rest[a_len..a_len + b_len]);
        log = &rest[a_len + b_len..];
        let path = |bytes: &[u8]| PathBuf::from(std::str::from_utf8(bytes).unwrap());
        let fd = i32::from_le_bytes(head[4..8].try_into().unwrap());
        ops.push(match word(0) {
            1 => Op::Open { fd, path: path(a), truncates: offset == 1 },
            2 => Op::Close { fd },
            3 => Op::Write { fd, offset, bytes: b.to_vec() },
            4 => Op::Truncate { fd, len: offset },
            5 => Op::Rename { from: path(a), to: path(b) },
            6 => Op::Unlink { path: path(a) },
            7 => Op::MakeDir { path: path(a) },
            8 => Op::Sync { fd },
            9 => Op::Opaque,
            other => panic!("record of type {other}"),
        });
    }
    ops
}

#[derive(Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Truncate { len: u64 },
}

#[derive(Clone, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes } => {
            let start = usize::try_from(*offset).unwrap();
            let end = start + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[start..end].copy_from_slice(bytes);
        }
        Change::Truncate { len } => content.resize(usize::try_from(*len).unwrap(), 0),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    File(usize),
    Directory,
}

/// Changes of names in one directory that become durable together.
type NameChange = Vec<(PathBuf, Option<Node>)>;

/// A disk under test.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    names: BTreeMap<PathBuf, Node>,
    durable_names: BTreeMap<PathBuf, Node>,
    pending_names: BTreeMap<PathBuf, Vec<NameChange>>,
    open: HashMap<i32, PathBuf>,
    open_files: HashMap<i32, usize>,
}

/// What the power cut leaves of what was not synced.
pub(crate) enum Cut<'a> {
    Strict,
    Partial(&'a mut Random),
}

impl Disk {
    /// A disk on which this directory tree is durable.
    pub(crate) fn holding(root: &Path) -> Self {
        let mut disk = Self::default();
        disk.hold(root);
        disk.durable_names = disk.names.clone();
        disk
    }

    fn hold(&mut self, path: &Path) {
        if path.is_dir() {
            self.names.insert(path.to_owned(), Node::Directory);
            for entry in std::fs::read_dir(path).unwrap() {
                self.hold(&entry.unwrap().path());
            }
        } else {
            let durable = std::fs::read(path).unwrap();
            self.names.insert(path.to_owned(), Node::File(self.files.len()));
            self.files.push(File { durable, pending: vec![] });
        }
    }

    /// Does what the log says.
    pub(crate) fn run(&mut self, op: &Op) {
        match op {
            Op::Open { fd, path, truncates } => self.open(*fd, path, *truncates),
            Op::Close { fd } => {
                self.open.remove(fd);
                self.open_files.remove(fd);
            }
            Op::Write { fd, offset, bytes } => {
                self.change(*fd, Change::Write { offset: *offset, bytes: bytes.clone() });
            }
            Op::Truncate { fd, len } => self.change(*fd, Change::Truncate { len: *len }),
            Op::Rename { from, to } => self.rename(from, to),
            Op::Unlink { path } => {
                self.names.remove(path);
                self.name_changed(path, vec![(path.clone(), None)]);
            }
            Op::MakeDir { path } => {
                self.names.insert(path.clone(), Node::Directory);
                self.name_changed(path, vec![(path.clone(), Some(Node::Directory))]);
            }
            Op::Sync { fd } => self.sync(*fd),
            Op::Opaque => {}
        }
    }

    fn open(&mut self, fd: i32, path: &Path, truncates: bool) {
        self.open.insert(fd, path.to_owned());
        let node = self.names.get(path).copied().unwrap_or_else(|| {
            let node = Node::File(self.files.len());
            self.files.push(File::default());
            self.names.insert(path.to_owned(), node);
            self.name_changed(path, vec![(path.to_owned(), Some(node))]);
            node
        });
        if let Node::File(file) = node {
            self.open_files.insert(fd, file);
            if truncates {
                self.change(fd, Change::Truncate { len: 0 });
            }
        }
    }

    fn change(&mut self, fd: i32, change: Change) {
        let file = self.open_files[&fd];
        self.files[file].pending.push(change);
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        let below = |path: &Path| path.starts_with(from);
        let moved: Vec<_> = self.names.keys().filter(|path| below(path)).cloned().collect();
        let (mut gone, mut came) = (NameChange::new(), NameChange::new());
        for path in moved {
            let node = self.names.remove(&path).unwrap();
            let rest = path.strip_prefix(from).unwrap();
            let new = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            self.names.insert(new.clone(), node);
            came.push((new, Some(node)));
            gone.push((path, None));
        }
        if from.parent() == to.parent() {
            gone.append(&mut came);
            return self.name_changed(from, gone);
        }
        self.name_changed(from, gone);
        self.name_changed(to, came);
    }

    fn name_changed(&mut self, path: &Path, change: NameChange) {
        let dir = path.parent().unwrap().to_owned();
        self.pending_names.entry(dir).or_default().push(change);
    }

    fn sync(&mut self, fd: i32) {
        if let Some(file) = self.open_files.get(&fd) {
            let file = &mut self.files[*file];
            let pending = std::mem::take(&mut file.pending);
            pending.iter().for_each(|change| apply(&mut file.durable, change));
            return;
        }
        let changes = self.pending_names.remove(&self.open[&fd]).unwrap_or_default();
        changes.iter().for_each(|change| rename_durably(&mut self.durable_names, change));
    }

    /// Writes what a power cut now would leave of `root` to the directory `to`.
    pub(crate) fn cut(&self, mut how: Cut<'_>, root: &Path, to: &Path) {
        let mut names = self.durable_names.clone();
        if let Cut::Partial(random) = &mut how {
            for changes in self.pending_names.values() {
                let kept = random.index(changes.len() + 1);
                changes[..kept].iter().for_each(|change| rename_durably(&mut names, change));
            }
        }
        std::fs::create_dir_all(to).unwrap();
        for (path, node) in &names {
            let mut above = path.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
            if !above.all(|dir| names.get(dir) == Some(&Node::Directory)) {
                continue;
            }
            let target = to.join(path.strip_prefix(root).unwrap());
            match node {
                Node::Directory => std::fs::create_dir_all(target).unwrap(),
                Node::File(file) => {
                    std::fs::write(target, self.files[*file].after(&mut how)).unwrap();
                }
            }
        }
    }
}

fn rename_durably(names: &mut BTreeMap<PathBuf, Node>, change: &NameChange) {
    for (path, node) in change {
        match node {
            Some(node) => names.insert(path.clone(), *node),
            None => names.remove(path),
        };
    }
}

impl File {
    fn after(&self, how: &mut Cut<'_>) -> Vec<u8> {
        let mut content = self.durable.clone();
        let Cut::Partial(random) = how else { return content };
        let block = if random.below(2) == 0 { 512 } else { 4_096 };
        let percent = random.below(101);
        for change in &self.pending {
            match change {
                Change::Truncate { .. } if random.below(100) < percent => {
                    apply(&mut content, change);
                }
                Change::Truncate { .. } => {}
                Change::Write { offset, bytes } => {
                    for (offset, bytes) in blocks(*offset, bytes, block) {
                        if random.below(100) < percent {
                            let part = Change::Write { offset, bytes: bytes.to_vec() };
                            apply(&mut content, &part);
                        }
                    }
                }
            }
        }
        content
    }
}

/// The parts of a write that lie in one block each.
fn blocks(offset: u64, bytes: &[u8], block: u64) -> Vec<(u64, &[u8])> {
    let (mut parts, mut at, mut rest) = (Vec::new(), offset, bytes);
    while !rest.is_empty() {
        let room = usize::try_from(block - at % block).unwrap();
        let (part, after) = rest.split_at(room.min(rest.len()));
        parts.push((at, part));
        at += part.len() as u64;
        rest = after;
    }
    parts
}

#[test]
fn strict_cuts_keep_only_what_was_synced() {
    let dir = tempfile::tempdir().unwrap();
    let (root, to) = (dir.path().join("root"), dir.path().join("to"));
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("old"), b"old").unwrap();
    let mut disk = Disk::holding(&root);
    let open = |fd, name: &str| Op::Open { fd, path: root.join(name), truncates: false };
    let write = |fd, bytes: &[u8]| Op::Write { fd, offset: 0, bytes: bytes.to_vec() };
    let root_fd = Op::Open { fd: 9, path: root.clone(), truncates: false };
    for op in [
        open(3, "synced, unnamed"),
        write(3, b"x"),
        Op::Sync { fd: 3 },
        open(4, "old"),
        write(4, b"new"),
        root_fd,
        open(5, "named, unsynced"),
        write(5, b"y"),
        Op::Rename { from: root.join("named, unsynced"), to: root.join("renamed") },
    ] {
        disk.run(&op);
    }
    let names = || -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        crate::rig::files_below(&to).iter().map(name).collect()
    };
    disk.cut(Cut::Strict, &root, &to);
    assert_eq!(names(), ["old"]);
    assert_eq!(std::fs::read(to.join("old")).unwrap(), b"old");
    for op in [Op::Sync { fd: 9 }, Op::Sync { fd: 4 }] {
        disk.run(&op);
    }
    std::fs::remove_dir_all(&to).unwrap();
    disk.cut(Cut::Strict, &root, &to);
    assert_eq!(names(), ["old", "renamed", "synced, unnamed"]);
    let read = |name: &str| std::fs::read(to.join(name)).unwrap();
    assert_eq!((read("old"), read("renamed")), (b"new".to_vec(), vec![]));
    assert_eq!(read("synced, unnamed"), b"x");
}
