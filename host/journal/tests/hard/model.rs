//! What is left after a power cut, computed from the recorder's log: strictly what was synced, or
//! that plus a random part of what was not.
//!
//! Rules. Bytes of a file are durable after a sync of that file. A name is durable after a sync of
//! its directory, whatever happened to the file. Strict: nothing else survives. Random: of each
//! file's unsynced writes any blocks of 512 or 4,096 bytes survive, in any combination; of each
//! directory's unsynced changes a prefix does.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
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

/// What a name stands for. A directory that is made anew under an old name is another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    File(usize),
    Directory(usize),
}

/// Changes of names in one directory that become durable together.
type NameChange = Vec<(OsString, Option<Node>)>;

type Names = BTreeMap<OsString, Node>;

#[derive(Clone, Default)]
struct Directory {
    now: Names,
    durable: Names,
    pending: Vec<NameChange>,
}

fn rename(names: &mut Names, change: &NameChange) {
    for (name, node) in change {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}

/// A disk under test: what is below one root directory, which is directory 0.
#[derive(Clone)]
pub(crate) struct Disk {
    root: PathBuf,
    files: Vec<File>,
    directories: Vec<Directory>,
    open: HashMap<i32, Node>,
}

/// What the power cut leaves of what was not synced.
pub(crate) enum Cut<'a> {
    Strict,
    Partial(&'a mut Random),
}

impl Disk {
    /// A disk on which this directory tree is durable.
    pub(crate) fn holding(root: &Path) -> Self {
        let (files, directories, open) = (vec![], vec![], HashMap::new());
        let mut disk = Self { root: root.to_owned(), files, directories, open };
        disk.hold(root);
        disk
    }

    fn hold(&mut self, path: &Path) -> Node {
        if !path.is_dir() {
            let durable = std::fs::read(path).unwrap();
            self.files.push(File { durable, pending: vec![] });
            return Node::File(self.files.len() - 1);
        }
        let number = self.directories.len();
        self.directories.push(Directory::default());
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let node = self.hold(&entry.path());
            self.directories[number].now.insert(entry.file_name(), node);
        }
        self.directories[number].durable = self.directories[number].now.clone();
        Node::Directory(number)
    }

    /// Does what the log says.
    pub(crate) fn run(&mut self, op: &Op) {
        match op {
            Op::Open { fd, path, truncates } => self.open(*fd, path, *truncates),
            Op::Close { fd } => drop(self.open.remove(fd)),
            Op::Write { fd, offset, bytes } => {
                self.change(*fd, Change::Write { offset: *offset, bytes: bytes.clone() });
            }
            Op::Truncate { fd, len } => self.change(*fd, Change::Truncate { len: *len }),
            Op::Rename { from, to } => self.rename(from, to),
            Op::Unlink { path } => self.name(path, None),
            Op::MakeDir { path } => {
                self.directories.push(Directory::default());
                self.name(path, Some(Node::Directory(self.directories.len() - 1)));
            }
            Op::Sync { fd } => self.sync(*fd),
        }
    }

    fn find(&self, path: &Path) -> Option<Node> {
        let below = path.strip_prefix(&self.root).unwrap();
        below.iter().try_fold(Node::Directory(0), |node, name| match node {
            Node::Directory(number) => self.directories[number].now.get(name).copied(),
            Node::File(_) => None,
        })
    }

    /// The directory that holds a path, and the name in it.
    fn place(&self, path: &Path) -> (usize, OsString) {
        let Some(Node::Directory(number)) = self.find(path.parent().unwrap()) else {
            panic!("{} is in no directory", path.display());
        };
        (number, path.file_name().unwrap().to_owned())
    }

    fn name(&mut self, path: &Path, node: Option<Node>) {
        let (number, name) = self.place(path);
        self.change_names(number, vec![(name, node)]);
    }

    fn change_names(&mut self, number: usize, change: NameChange) {
        rename(&mut self.directories[number].now, &change);
        self.directories[number].pending.push(change);
    }

    fn open(&mut self, fd: i32, path: &Path, truncates: bool) {
        let node = self.find(path).unwrap_or_else(|| {
            self.files.push(File::default());
            let node = Node::File(self.files.len() - 1);
            self.name(path, Some(node));
            node
        });
        self.open.insert(fd, node);
        if truncates {
            self.change(fd, Change::Truncate { len: 0 });
        }
    }

    fn change(&mut self, fd: i32, change: Change) {
        match self.open[&fd] {
            Node::File(number) => self.files[number].pending.push(change),
            Node::Directory(_) => panic!("a write to a directory"),
        }
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        let node = self.find(from).unwrap();
        let ((from_dir, old), (to_dir, new)) = (self.place(from), self.place(to));
        if from_dir == to_dir {
            return self.change_names(from_dir, vec![(old, None), (new, Some(node))]);
        }
        self.change_names(from_dir, vec![(old, None)]);
        self.change_names(to_dir, vec![(new, Some(node))]);
    }

    fn sync(&mut self, fd: i32) {
        match self.open[&fd] {
            Node::File(number) => {
                let file = &mut self.files[number];
                let pending = std::mem::take(&mut file.pending);
                pending.iter().for_each(|change| apply(&mut file.durable, change));
            }
            Node::Directory(number) => {
                let directory = &mut self.directories[number];
                let pending = std::mem::take(&mut directory.pending);
                pending.iter().for_each(|change| rename(&mut directory.durable, change));
            }
        }
    }

    /// Writes what a power cut now would leave of the root to the directory `to`.
    pub(crate) fn cut(&self, mut how: Cut<'_>, to: &Path) {
        self.leave(0, &mut how, to);
    }

    fn leave(&self, number: usize, how: &mut Cut<'_>, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        let directory = &self.directories[number];
        let mut names = directory.durable.clone();
        if let Cut::Partial(random) = how {
            let kept = random.index(directory.pending.len() + 1);
            directory.pending[..kept].iter().for_each(|change| rename(&mut names, change));
        }
        for (name, node) in names {
            match node {
                Node::Directory(number) => self.leave(number, how, &to.join(name)),
                Node::File(number) => {
                    std::fs::write(to.join(name), self.files[number].after(how)).unwrap();
                }
            }
        }
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
    disk.cut(Cut::Strict, &to);
    assert_eq!(names(), ["old"]);
    assert_eq!(std::fs::read(to.join("old")).unwrap(), b"old");
    for op in [Op::Sync { fd: 9 }, Op::Sync { fd: 4 }] {
        disk.run(&op);
    }
    std::fs::remove_dir_all(&to).unwrap();
    disk.cut(Cut::Strict, &to);
    assert_eq!(names(), ["old", "renamed", "synced, unnamed"]);
    let read = |name: &str| std::fs::read(to.join(name)).unwrap();
    assert_eq!((read("old"), read("renamed")), (b"new".to_vec(), vec![]));
    assert_eq!(read("synced, unnamed"), b"x");
}

#[test]
fn a_directory_under_an_old_name_is_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let (root, to) = (dir.path().join("root"), dir.path().join("to"));
    std::fs::create_dir_all(root.join("store")).unwrap();
    std::fs::write(root.join("store/old"), b"old").unwrap();
    let mut disk = Disk::holding(&root);
    let open = |fd, name: &str| Op::Open { fd, path: root.join(name), truncates: false };
    for op in [
        Op::Unlink { path: root.join("store/old") },
        Op::Unlink { path: root.join("store") },
        Op::MakeDir { path: root.join("store") },
        open(3, "store/new"),
        open(4, "store"),
        Op::Sync { fd: 4 },
    ] {
        disk.run(&op);
    }
    disk.cut(Cut::Strict, &to);
    assert!(to.join("store/old").exists() && !to.join("store/new").exists());
    disk.run(&open(5, ""));
    disk.run(&Op::Sync { fd: 5 });
    std::fs::remove_dir_all(&to).unwrap();
    disk.cut(Cut::Strict, &to);
    assert!(!to.join("store/old").exists() && to.join("store/new").exists());
}
