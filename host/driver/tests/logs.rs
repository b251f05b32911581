//! Logs over their whole life: bounds, rotation, offsets, following. Real files, given times.
#![allow(clippy::unwrap_used)] // a test helper outside a #[test] function is a test too

use pliant_driver::LogSettings;
use pliant_driver::logs::{LogReader, LogWriter, Stream};

fn settings(dir: &tempfile::TempDir) -> LogSettings {
    LogSettings {
        segment_bytes: 200,
        segments: 3,
        line_bytes: 20,
        bytes_per_second: 1_000,
        ..LogSettings::in_dir(dir.path().to_owned())
    }
}

fn read_all(dir: &tempfile::TempDir) -> Vec<(Stream, bool, String)> {
    let mut reader = LogReader::finished(dir.path().to_owned(), 0);
    let mut lines = Vec::new();
    loop {
        let records = reader.read().unwrap();
        if records.is_empty() {
            return lines;
        }
        for record in records {
            let text = String::from_utf8(record.text).unwrap();
            lines.push((record.stream, record.ends_line, text));
        }
    }
}

#[test]
fn joins_what_was_written_in_pieces_and_cuts_what_is_too_long() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::open(settings(&dir), 0).unwrap();
    writer.write(Stream::Stdout, b"one ", 1);
    writer.write(Stream::Stderr, b"oops\n", 1);
    writer.write(Stream::Stdout, b"line\n\n01234567890123456789abc\nlast", 2);
    writer.close(3);
    let expected = [
        (Stream::Stderr, true, "oops"),
        (Stream::Stdout, true, "one line"),
        (Stream::Stdout, true, ""),
        (Stream::Stdout, false, "01234567890123456789"),
        (Stream::Stdout, true, "abc"),
        (Stream::Stdout, true, "last"),
    ];
    let got = read_all(&dir);
    let got: Vec<_> =
        got.iter().map(|(stream, end, text)| (*stream, *end, text.as_str())).collect();
    assert_eq!(got, expected);
}

#[test]
fn keeps_the_newest_segments_and_says_what_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::open(settings(&dir), 0).unwrap();
    for number in 0..100 {
        writer.write(Stream::Stdout, format!("line {number}\n").as_bytes(), number * 1_000);
    }
    writer.close(100_000);
    let on_disk: u64 =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    assert!(on_disk <= 4 * 200, "{on_disk} bytes are kept");
    let lines = read_all(&dir);
    assert_eq!(lines[0].0, Stream::Pliant);
    assert!(lines[0].2.contains("bytes of older output are no longer kept"), "{}", lines[0].2);
    assert_eq!(lines.last().unwrap().2, "line 99");
}

#[test]
fn counts_what_is_over_the_rate_in_one_marker() {
    let dir = tempfile::tempdir().unwrap();
    let mut long = settings(&dir);
    long.segment_bytes = 1 << 20;
    let mut writer = LogWriter::open(long, 0).unwrap();
    for _ in 0..1_000 {
        writer.write(Stream::Stdout, b"flood\n", 0);
    }
    writer.write(Stream::Stdout, b"after\n", 2_000);
    writer.close(2_000);
    let lines = read_all(&dir);
    let kept = lines.iter().filter(|line| line.2 == "flood").count();
    let markers: Vec<_> = lines.iter().filter(|line| line.0 == Stream::Pliant).collect();
    assert_eq!(markers.len(), 1);
    assert!(markers[0].2.contains(&format!("dropped {} lines", 1_000 - kept)), "{}", markers[0].2);
    assert_eq!(lines.last().unwrap().2, "after");
}

#[test]
fn goes_on_after_the_segments_of_an_earlier_attempt() {
    let dir = tempfile::tempdir().unwrap();
    for attempt in ["first\n", "second\n"] {
        let mut writer = LogWriter::open(settings(&dir), 0).unwrap();
        writer.write(Stream::Stdout, attempt.as_bytes(), 1);
        writer.close(1);
    }
    let texts: Vec<_> = read_all(&dir).into_iter().map(|line| line.2).collect();
    assert_eq!(texts, ["first", "second"]);
}

#[test]
fn tail_starts_at_the_last_lines() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::open(settings(&dir), 0).unwrap();
    for number in 0..9 {
        writer.write(Stream::Stdout, format!("{number}\n").as_bytes(), 0);
    }
    writer.close(0);
    let mut reader = LogReader::finished(dir.path().to_owned(), 0);
    reader.seek_tail(2).unwrap();
    let texts: Vec<_> = reader.read().unwrap().into_iter().map(|r| r.text).collect();
    assert_eq!(texts, [b"7", b"8"]);
    reader.seek_tail(0).unwrap();
    assert_eq!(reader.read().unwrap(), []);
}

#[tokio::test]
async fn a_follower_sees_each_line_and_then_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::open(settings(&dir), 0).unwrap();
    let mut reader = LogReader::following(dir.path().to_owned(), 0, writer.watch());
    let follow = tokio::spawn(async move {
        let mut texts = Vec::new();
        while let Some(records) = reader.next().await.unwrap() {
            texts.extend(records.into_iter().map(|record| String::from_utf8(record.text).unwrap()));
        }
        texts
    });
    for number in 0..3 {
        writer.write(Stream::Stdout, format!("{number}\n").as_bytes(), number);
        tokio::task::yield_now().await;
    }
    writer.close(3);
    assert_eq!(follow.await.unwrap(), ["0", "1", "2"]);
}
