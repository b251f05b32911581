//! The process that is killed: it appends, acknowledges each batch in a file and on its error
//! output, and goes on until it is stopped from outside.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
};

use pliant_journal::{
    Sequence,
    store::{self, Edit, MapOptions},
};

use crate::rig;

/// What the child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Appends to a journal, with snapshots and trims now and then.
    Journal,
    /// Commits to a durable map.
    Map,
    /// Inserts into plain sled with `flush()` alone: the shape that loses.
    PlainSled,
}

const DIR: &str = "JOURNAL_CHILD_DIR";
const ROLE: &str = "JOURNAL_CHILD_ROLE";
const SNAPSHOT_EVERY: u64 = 20;
/// Ends a child that nobody kills, so that a broken test leaves no process behind.
const MOST_BATCHES: u64 = 100_000;

/// Where the child acknowledges, inside its directory so that the power-loss log has it in order.
pub(crate) const ACKS: &str = "acks";

/// A running child.
pub(crate) struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
}

/// Starts this test binary again as a child on `dir`; with a preloaded recorder if there is one.
pub(crate) fn start(role: Role, dir: &Path, recorder: Option<(&Path, &Path)>) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::acts_when_told_so", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .env(ROLE, format!("{role:?}"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some((library, log)) = recorder {
        command.env("LD_PRELOAD", library).env("POWERLOSS_DIR", dir).env("POWERLOSS_LOG", log);
    }
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    Running { child, lines }
}

impl Running {
    /// The next acknowledged number; `None` when the child is gone.
    pub(crate) fn next_ack(&mut self) -> Option<u64> {
        for line in self.lines.by_ref().map_while(Result::ok) {
            match line.strip_prefix("ack ") {
                Some(number) => return Some(number.parse().unwrap()),
                None => assert!(line == "open" || line.is_empty(), "the child says: {line}"),
            }
        }
        None
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the child is about to open.
    pub(crate) fn wait_until_opening(&mut self) {
        assert_eq!(self.lines.next().unwrap().unwrap(), "open");
    }

    /// Kills it with SIGKILL; gives the last number that it acknowledged before it died.
    pub(crate) fn kill(mut self) -> Option<u64> {
        self.child.kill().unwrap();
        let mut last = None;
        while let Some(number) = self.next_ack() {
            last = Some(number);
        }
        let status = self.child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
        last
    }
}

/// The child's entry. In the parent's run it has nothing to do and proves only that it is there.
#[test]
fn acts_when_told_so() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    say("open");
    let acks = OpenOptions::new().create(true).append(true).open(dir.join(ACKS)).unwrap();
    match std::env::var(ROLE).unwrap().as_str() {
        "Journal" => append_for_ever(&dir.join("journal"), acks),
        "Map" => commit_for_ever(&dir.join("map"), acks),
        "PlainSled" => insert_for_ever(&dir.join("plain"), acks),
        other => panic!("{other} is no role"),
    }
}

fn say(words: &str) {
    std::io::stderr().write_all(format!("{words}\n").as_bytes()).unwrap();
}

fn acknowledge(acks: &mut File, number: u64) {
    acks.write_all(format!("{number}\n").as_bytes()).unwrap();
    say(&format!("ack {number}"));
}

fn append_for_ever(dir: &Path, mut acks: File) {
    let opened = rig::open(dir).unwrap();
    let mut journal = opened.journal;
    journal.campaign().unwrap();
    let first = opened.head.0 + 1;
    // What survived the last death counts as acknowledged from here on.
    acknowledge(&mut acks, opened.head.0);
    for number in first..first + MOST_BATCHES {
        rig::append(&mut *journal, number);
        acknowledge(&mut acks, number);
        if number.is_multiple_of(SNAPSHOT_EVERY) {
            journal.put_snapshot(Sequence(number), &rig::state(number)).unwrap();
            let kept = journal.snapshots().list().unwrap();
            if let [older, _] = kept[..] {
                journal.trim(older.at).unwrap();
            }
        }
    }
}

/// The key that commit `number` sets besides the counter.
pub(crate) fn key(number: u64) -> Vec<u8> {
    format!("execution-{}", number % 40).into_bytes()
}

/// The counter's key: it holds the number of the last commit.
pub(crate) const COUNTER: &[u8] = b"counter";

fn commit_for_ever(dir: &Path, mut acks: File) {
    let mut map = store::open(&MapOptions::new(dir)).unwrap().map;
    let counter = |map: &store::DurableMap| {
        map.get(COUNTER).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
    };
    let first = counter(&map) + 1;
    acknowledge(&mut acks, first - 1);
    for number in first..first + MOST_BATCHES {
        let (key, mut value, count) = (key(number), rig::payload(number), number.to_le_bytes());
        value.truncate(30_000);
        let gone = self::key(number + 20);
        map.commit(&[
            Edit::Put { key: &key, value: &value },
            Edit::Remove { key: &gone },
            Edit::Put { key: COUNTER, value: &count },
        ])
        .unwrap();
        acknowledge(&mut acks, number);
    }
}

/// Plain sled as its documentation has it, on a directory that is already durable.
fn insert_for_ever(dir: &Path, mut acks: File) {
    let db = sled::Config::new().path(dir).flush_every_ms(None).open().unwrap();
    for path in [dir.join("conf"), dir.join("db"), dir.join("blobs"), dir.to_owned()] {
        File::open(path).unwrap().sync_all().unwrap();
    }
    File::open(dir.parent().unwrap()).unwrap().sync_all().unwrap();
    let first = db.len() as u64 + 1;
    for number in first..first + MOST_BATCHES {
        db.insert(number.to_be_bytes(), rig::payload(number)).unwrap();
        db.flush().unwrap();
        acknowledge(&mut acks, number);
    }
}
