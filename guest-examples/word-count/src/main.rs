//! Counts the words of a text and writes a table.
//!
//! Arguments: the text, and where the table goes (`/output/words.txt` if not given).

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;

const DEFAULT_TABLE: &str = "/output/words.txt";
/// Rows of the table that are shown on stdout as well.
const SHOWN: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let text_path = args.next().ok_or("usage: word-count TEXT [TABLE]")?;
    let table_path = args.next().unwrap_or_else(|| DEFAULT_TABLE.to_owned());

    let text = fs::read_to_string(&text_path)?;
    let words = count(&text);
    let table: Vec<String> =
        words.iter().map(|(word, times)| format!("{times:>7}  {word}")).collect();
    fs::write(&table_path, table.join("\n") + "\n")?;

    let total: u64 = words.iter().map(|(_, times)| times).sum();
    println!("{total} words, {} different, in {text_path}", words.len());
    for row in table.iter().take(SHOWN) {
        println!("{row}");
    }
    Ok(())
}

/// Most frequent first, then by the alphabet.
fn count(text: &str) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_by(|(a, a_times), (b, b_times)| b_times.cmp(a_times).then_with(|| a.cmp(b)));
    words
}
