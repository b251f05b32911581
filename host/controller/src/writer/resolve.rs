//! What became of a batch whose append ended without an answer (14-decisions.md, 23).

use super::waiting::{Job, Reason, release, turn_away};
use crate::published::Board;
use pliant_core::State;
use pliant_journal::{Append, BatchId, Class, Draft, Journal, Resolution, Sequence};
use tracing::info;

/// A batch whose fate is not known, with the journal still to be opened again.
#[derive(Debug)]
pub(super) struct Unresolved {
    pub(super) job: Box<Job>,
    pub(super) sequence: Sequence,
    pub(super) id: BatchId,
    pub(super) tries: Tries,
    pub(super) reason: Reason,
}

/// How often the batch was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tries {
    First,
    /// It was absent and was appended once more; a third time is never tried.
    Second,
}

/// How a batch was resolved.
#[derive(Debug)]
pub(super) enum Resolved {
    /// It is there, as the journal that was opened says.
    Present(Box<State>),
    /// It is not there, and its requests were answered so.
    Absent,
    /// It was appended now.
    Appended(Box<State>),
    /// The second append ended without an answer too: open again.
    Unknown(Unresolved),
    /// Another writer has taken over: step down.
    Overtaken,
}

/// Asks the re-opened journal. Present goes on; Absent appends the same batch once.
pub(super) fn resolve(
    journal: &mut dyn Journal,
    unresolved: Unresolved,
    board: &Board,
) -> Resolved {
    let resolution = journal.resolve(unresolved.sequence, unresolved.id);
    info!(?resolution, sequence = unresolved.sequence.0, "resolved a batch of unknown outcome");
    match resolution {
        Ok(Resolution::Present) => Resolved::Present(Box::new(release(board, *unresolved.job))),
        Ok(Resolution::Absent) => match unresolved.tries {
            Tries::First => append_again(journal, unresolved, board),
            Tries::Second => {
                let Unresolved { job, reason, .. } = unresolved;
                absent(*job, &reason)
            }
        },
        Ok(Resolution::Other) => {
            let words = "another controller leads now; nothing was changed".to_owned();
            turn_away(unresolved.job.answers, &unavailable(words));
            Resolved::Overtaken
        }
        Err(error) => {
            let words = format!("whether the change was made is not known: {error}");
            absent(*unresolved.job, &unavailable(words))
        }
    }
}

fn append_again(journal: &mut dyn Journal, unresolved: Unresolved, board: &Board) -> Resolved {
    if let Err(error) = journal.campaign() {
        return absent(*unresolved.job, &unavailable(error.to_string()));
    }
    let Unresolved { job, sequence, id, .. } = unresolved;
    let payload = job.staged.payload().unwrap_or_default();
    // It was taken before, whatever it brings.
    let appended = journal.append(&Draft { id, class: Class::Essential, payload }, sequence);
    match appended {
        Append::Committed(_) => Resolved::Appended(Box::new(release(board, *job))),
        Append::Refused(refusal) => absent(*job, &unavailable(refusal.to_string())),
        Append::Unknown(poison) => {
            let reason = Reason::poisoned(&poison);
            Resolved::Unknown(Unresolved { job, sequence, id, tries: Tries::Second, reason })
        }
    }
}

fn absent(job: Job, reason: &Reason) -> Resolved {
    turn_away(job.answers, reason);
    Resolved::Absent
}

fn unavailable(words: String) -> Reason {
    Reason::Nothing(pliant_types::codes::Code::JournalUnavailable, words)
}
