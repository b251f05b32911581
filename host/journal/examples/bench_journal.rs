//! Figure P5: durable commits per second of the journal with all guards on, against a plain file
//! with append and fdatasync in the same run. One JSON line per batch size. Not a test.
//!
//! Usage: `bench_journal [DIR [SECONDS]]`; DIR should be on the disk that matters.

use std::{
    error::Error,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use pliant_journal::{
    Append, BatchId, Class, Draft, Opener,
    durable::{DurableOptions, DurableStore},
};

const FACT_BYTES: usize = 200;
const BATCHES: [usize; 2] = [1, 256];
/// Journal and file take turns this often, so that a busy moment of the machine hits both.
const TURNS: u32 = 8;

/// What was measured of one side.
#[derive(Default)]
struct Side {
    seconds: f64,
    micros: Vec<u64>,
}

impl Side {
    fn run(
        &mut self,
        turn: Duration,
        mut commit: impl FnMut() -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let begin = Instant::now();
        while begin.elapsed() < turn {
            let start = Instant::now();
            commit()?;
            self.micros.push(u64::try_from(start.elapsed().as_micros())?);
        }
        self.seconds += begin.elapsed().as_secs_f64();
        Ok(())
    }

    fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.seconds
    }

    /// Microseconds that this share of the commits stays below.
    fn quantile(&mut self, permille: usize) -> u64 {
        self.micros.sort_unstable();
        let at = self.micros.len().saturating_sub(1) * permille / 1_000;
        self.micros.get(at).copied().unwrap_or_default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    let seconds: u64 = arguments.next().map_or(Ok(8), |text| text.parse())?;
    for facts in BATCHES {
        let place = tempfile::tempdir_in(&dir)?;
        let line = measure(place.path(), facts, Duration::from_secs(seconds))?;
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}

fn measure(dir: &Path, facts: usize, time: Duration) -> Result<String, Box<dyn Error>> {
    let payload: Vec<u8> = (0..facts * FACT_BYTES).map(|at| (at * 31 % 251) as u8).collect();
    let mut opened = DurableStore::new(DurableOptions::new(dir.join("journal"))).open()?;
    opened.journal.campaign()?;
    let mut plain = OpenOptions::new().create_new(true).append(true).open(dir.join("plain"))?;
    File::open(dir)?.sync_all()?;
    let (mut journal, mut file) = (Side::default(), Side::default());
    let mut next = opened.head.next();
    for _ in 0..TURNS {
        journal.run(time / (2 * TURNS), || {
            let id = BatchId::from_number(next.0.into());
            let draft = Draft { id, class: Class::NewWork, payload: &payload };
            match opened.journal.append(&draft, next) {
                Append::Committed(_) => next = next.next(),
                other => return Err(format!("batch {next}: {other:?}").into()),
            }
            Ok(())
        })?;
        file.run(time / (2 * TURNS), || {
            plain.write_all(&payload)?;
            Ok(plain.sync_data()?)
        })?;
    }
    opened.journal.close()?;
    let begin = Instant::now();
    let again = DurableStore::new(DurableOptions::new(dir.join("journal"))).open()?;
    let open_ms = begin.elapsed().as_millis();
    Ok(format!(
        concat!(
            r#"{{"figure":"P5","facts_per_batch":{},"fact_bytes":{},"commits_per_s":{:.0},"#,
            r#""facts_per_s":{:.0},"p50_us":{},"p99_us":{},"file_commits_per_s":{:.0},"#,
            r#""file_p50_us":{},"file_p99_us":{},"ratio":{:.3},"reopened_facts":{},"reopen_ms":{}}}"#
        ),
        facts,
        FACT_BYTES,
        journal.rate(),
        journal.rate() * facts as f64,
        journal.quantile(500),
        journal.quantile(990),
        file.rate(),
        file.quantile(500),
        file.quantile(990),
        journal.rate() / file.rate(),
        again.head.0 * facts as u64,
        open_ms,
    ))
}
