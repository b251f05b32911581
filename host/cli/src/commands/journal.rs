//! The journal of a cluster that is not running: check, dump, trim, salvage.

use crate::{
    args::{Global, Journal},
    fail::{Failure, chain},
    output,
};
use anyhow::Context as _;
use pliant_controller::{
    codec::{Decision, decode_batch, encode_snapshot},
    writer::open_state,
};
use pliant_journal::{
    OpenError, Sequence,
    durable::{DurableOptions, DurableStore, SalvageError, SoundBatches, dump, inspect, salvage},
};
use pliant_types::codes::{
    Code,
    exit_code::{DONE, INTERNAL},
};
use std::path::Path;

/// Where a cluster's journal is.
pub(crate) fn options(data_dir: &Path) -> DurableOptions {
    let dir = data_dir.join("controller");
    let mut options = DurableOptions::new(dir.join("journal"));
    options.snapshots = dir.join("snapshots");
    options
}

pub(crate) fn journal(global: &Global, command: &Journal) -> Result<u8, Failure> {
    let options = options(&global.data_dir);
    if !options.dir.is_dir() {
        let words = format!("there is no journal in {}", options.dir.display());
        return Err(Failure::new(Code::JournalUnavailable, words)
            .hint("name the cluster's directory with --data-dir"));
    }
    match command {
        Journal::Check => check(global, &options),
        Journal::Dump { from } => dump_from(global, &options, Sequence(*from)),
        Journal::Trim => trim(&options),
        Journal::Salvage { to, give_up_sound } => {
            let sound = if *give_up_sound { SoundBatches::GiveUp } else { SoundBatches::Keep };
            let done = salvage(&options, Sequence(*to), sound).map_err(not_salvaged)?;
            println!("the journal ends at batch {} now", done.head);
            if let Some(old) = done.moved_to {
                println!("the old store is in {}", old.display());
            }
            for lost in done.abandoned {
                println!("the snapshot at {lost} was given up and renamed");
            }
            Ok(DONE)
        }
    }
}

fn not_salvaged(error: SalvageError) -> Failure {
    let words = format!("nothing was salvaged: {}", chain(&error));
    match error {
        SalvageError::Open(error) => failed(error),
        SalvageError::Sound { reachable, .. } => Failure::new(Code::WrongState, words).hint(format!(
            "`--to {reachable}` keeps all that is sound; --give-up-sound says that the rest may go"
        )),
        SalvageError::Unreachable { .. } | SalvageError::NoSnapshot { .. } => {
            Failure::new(Code::BodyInvalid, words)
                .hint("`pliant journal check` says how far it is sound")
        }
        SalvageError::Stopped(_) => Failure::new(Code::JournalUnavailable, words)
            .hint("check the data directory's permissions and free space"),
    }
}

fn failed(error: OpenError) -> Failure {
    let code = match &error {
        OpenError::Locked { .. } => Code::WrongState,
        _ => Code::JournalUnavailable,
    };
    let hint = match &error {
        OpenError::Locked { .. } => "stop the cluster first",
        _ => "see docs/reference/journal.md for each error and its way out",
    };
    Failure::new(code, chain(&error)).hint(hint)
}

/// Verifies the store, then reads the whole state from it and compares its hash after every batch.
fn check(global: &Global, options: &DurableOptions) -> Result<u8, Failure> {
    let found = inspect(options).map_err(failed)?;
    let damages: Vec<String> = found.damages.iter().map(ToString::to_string).collect();
    let mut facts = 0_u64;
    let mut unreadable = Vec::new();
    let mut hash = 0;
    if found.is_sound() {
        dump(options, found.floor.next()..=found.head, |batch| {
            match decode_batch(&batch.payload) {
                Ok(read) => {
                    facts += read.decisions.iter().map(|d| d.facts.len() as u64).sum::<u64>();
                    hash = read.hash;
                }
                Err(error) => unreadable.push(format!("batch {}: {error}", batch.sequence)),
            }
        })
        .map_err(failed)?;
    }
    let problems: Vec<String> = damages.into_iter().chain(unreadable).collect();
    let document = serde_json::json!({
        "cluster": found.cluster.to_string(), "epoch": found.epoch.0, "floor": found.floor.0,
        "head": found.head.0, "batches": found.batches, "facts": facts,
        "payloadBytes": found.payload_bytes, "snapshots": found.snapshots.len(),
        "stateHash": format!("{hash:032x}"), "problems": problems,
    });
    output::one(global.output, &document, "journal", || {
        let mut text = format!(
            "batches {} to {}: {} verified, {facts} facts, {}\nepoch {}, {} snapshots, state {hash:032x}\n",
            found.floor.next(),
            found.head,
            found.batches,
            output::bytes(found.payload_bytes),
            found.epoch,
            found.snapshots.len()
        );
        problems.iter().for_each(|problem| text += &format!("✗ {problem}\n"));
        if problems.is_empty() {
            text += "✓ sound\n";
        }
        text
    })?;
    Ok(if problems.is_empty() { DONE } else { INTERNAL })
}

fn dump_from(global: &Global, options: &DurableOptions, from: Sequence) -> Result<u8, Failure> {
    let found = inspect(options).map_err(failed)?;
    let mut problem = None;
    dump(options, from.max(found.floor.next())..=found.head, |batch| {
        match decode_batch(&batch.payload) {
            Err(error) => problem = Some(format!("batch {}: {error}", batch.sequence)),
            Ok(read) => {
                for decision in read.decisions {
                    print_decision(global, batch.sequence, &decision);
                }
            }
        }
    })
    .map_err(failed)?;
    match problem {
        Some(words) => Err(Failure::new(Code::JournalUnavailable, words)),
        None => Ok(DONE),
    }
}

fn print_decision(global: &Global, at: Sequence, decision: &Decision) {
    let time = pliant_api::body::Timestamp(decision.now);
    let command = decision.request.command.word();
    let by = &decision.request.principal.0;
    if global.output == crate::args::Output::Jsonl {
        let facts: Vec<String> = decision.facts.iter().map(|fact| format!("{fact:?}")).collect();
        let line = serde_json::json!({
            "batch": at.0, "at": time.to_string(), "command": command, "by": by, "facts": facts,
        });
        println!("{line}");
        return;
    }
    println!("batch {at} {time} {command} by {by}");
    for fact in &decision.facts {
        println!("  {fact:?}");
    }
}

/// Snapshots the state and forgets what the older of two snapshots covers.
fn trim(options: &DurableOptions) -> Result<u8, Failure> {
    let store = DurableStore::new(options.clone());
    let opened = open_state(&store).map_err(|error| match error {
        pliant_controller::writer::ReadError::Open(error) => failed(error),
        other => Failure::new(Code::JournalUnavailable, chain(&other)),
    })?;
    let mut journal = opened.opened.journal;
    let head = opened.opened.head;
    let newest = opened.opened.snapshot.map(|s| s.at);
    if head > Sequence::ZERO && newest != Some(head) {
        journal
            .put_snapshot(head, &encode_snapshot(&opened.state))
            .context("no snapshot was written")?;
    }
    let kept = journal.snapshots().list().context("the snapshots cannot be listed")?;
    if let [older, newer] = kept.as_slice() {
        let trimmed = journal.trim(older.at).context("the journal was not trimmed")?;
        println!(
            "snapshots at batches {} and {}; {} batches forgotten",
            older.at, newer.at, trimmed.removed
        );
    } else {
        println!("{} snapshot is kept; a trim needs two", kept.len());
    }
    journal.close().context("the journal was not closed in order")?;
    Ok(DONE)
}
