//! Results on stdout: tables for people, the API's own JSON for programs.

use crate::args::Output;
use crate::fail::Failure;
use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use pliant_api::body::Timestamp;
use pliant_types::codes::exit_code;
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// Prints a part of a result. Where stdout cannot be written the command has no more to do: a reader
/// that has seen enough (`pliant ps | head`) ends it quietly, anything else with one line.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        unwritable(&error);
    }
}

/// A result that is bytes; the same rule.
pub(crate) fn copy(from: &mut impl std::io::Read) -> std::io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    let mut stdout = std::io::stdout().lock();
    loop {
        let count = from.read(&mut piece)?;
        let written = match piece.get(..count) {
            Some([]) | None => return Ok(()),
            Some(bytes) => stdout.write_all(bytes).and_then(|()| stdout.flush()),
        };
        written.unwrap_or_else(|error| unwritable(&error));
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "what cannot print its result cannot do anything else, however deep it is"
)]
fn unwritable(error: &std::io::Error) -> ! {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        std::process::exit(i32::from(exit_code::DONE));
    }
    tell(&format!("error[internal]: the result cannot be written to stdout: {error}"));
    std::process::exit(i32::from(exit_code::INTERNAL));
}

/// Prints a line for people; that nobody can read it is no failure of the command.
pub(crate) fn tell(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Something that a command prints.
pub(crate) trait Show: Serialize {
    /// The header of its table.
    fn header(wide: bool) -> Vec<&'static str>;
    /// Its row.
    fn row(&self, wide: bool) -> Vec<String>;
    /// What `-o name` prints.
    fn name(&self) -> String;
}

/// Prints a list.
pub(crate) fn list<T: Show>(output: Output, items: &[T]) -> Result<(), Failure> {
    match output {
        Output::Table | Output::Wide => {
            let wide = output == Output::Wide;
            let mut table = table();
            table.set_header(T::header(wide));
            items.iter().for_each(|item| {
                table.add_row(item.row(wide).iter().map(|cell| visible(cell)));
            });
            println!("{}", trimmed(&table));
        }
        Output::Name => items.iter().for_each(|item| println!("{}", item.name())),
        Output::Jsonl => {
            for item in items {
                println!("{}", serde_json::to_string(item).map_err(anyhow::Error::from)?);
            }
        }
        Output::Json | Output::Yaml => document(output, &items)?,
    }
    Ok(())
}

/// Prints one thing: `table` for people, the whole for programs.
pub(crate) fn one<T: Serialize>(
    output: Output,
    item: &T,
    name: &str,
    table: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match output {
        Output::Table | Output::Wide => println!("{}", table().trim_end()),
        Output::Name => println!("{name}"),
        Output::Jsonl => println!("{}", serde_json::to_string(item).map_err(anyhow::Error::from)?),
        Output::Json | Output::Yaml => document(output, item)?,
    }
    Ok(())
}

fn document<T: Serialize>(output: Output, item: &T) -> Result<(), Failure> {
    if output == Output::Yaml {
        let text = serde_saphyr::to_string(item).map_err(anyhow::Error::from)?;
        println!("{}", text.trim_end());
    } else {
        println!("{}", serde_json::to_string_pretty(item).map_err(anyhow::Error::from)?);
    }
    Ok(())
}

/// A table without lines; as wide as the terminal, never cut in a pipe.
pub(crate) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    if std::io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table
}

/// A table's text without blanks at the ends of its lines.
pub(crate) fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// How long ago a time was, for tables.
pub(crate) fn ago(at: Timestamp) -> String {
    let now = jiff::Timestamp::now().as_millisecond();
    let then = i64::try_from(at.0.millis()).unwrap_or(0);
    let secs = (now - then).max(0) / 1000;
    match secs {
        0..60 => format!("{secs}s"),
        60..3_600 => format!("{}m", secs / 60),
        3_600..86_400 => format!("{}h", secs / 3_600),
        _ => format!("{}d", secs / 86_400),
    }
}

/// A state as a glyph and a word, never by colour alone.
pub(crate) fn state(word: &str) -> String {
    let glyph = match word {
        "running" | "up" | "completed" | "successful" => "✓",
        "failed" | "lost" => "✗",
        "pending" | "placed" | "preparing" | "progressing" | "verifying" => "…",
        "awaiting-promotion" | "suspect" | "unreachable" | "rejoining" => "…",
        "stopping" => "↓",
        _ => "·",
    };
    format!("{glyph} {word}")
}

/// Bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{} KiB", count / 1_024),
        1_048_576..1_073_741_824 => format!("{} MiB", count / 1_048_576),
        _ => format!("{} GiB", count / 1_073_741_824),
    }
}

/// A guest's line with its control characters made visible.
pub(crate) fn visible(line: &str) -> String {
    line.chars()
        .map(|c| {
            if c.is_control() && c != '\t' { c.escape_default().to_string() } else { c.to_string() }
        })
        .collect()
}
