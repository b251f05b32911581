//! The suite that every driver passes. A case gets a fresh subject and fails by an assertion.
//!
//! It judges the contract of `Driver` alone: what an engine adds is tested beside the engine.

mod life;
mod ports;
mod preparing;
mod subject;
mod verbs;

use std::sync::Arc;

use futures::future::BoxFuture;

pub(crate) use subject::Bench;
pub use subject::{Behaviour, Subject};

/// One rule of the contract.
pub struct Case {
    /// The rule, as a sentence in snake case.
    pub name: &'static str,
    run: fn(Bench) -> BoxFuture<'static, ()>,
}

impl Case {
    /// Runs the rule against a subject that nothing else uses.
    pub async fn run(&self, subject: Arc<dyn Subject>) {
        (self.run)(Bench::new(subject)).await;
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! cases {
    ($($module:ident::$case:ident),* $(,)?) => {
        vec![$(Case {
            name: stringify!($case),
            run: |bench| Box::pin($module::$case(bench)),
        }),*]
    };
}

/// Every rule, in the order of an execution's life.
#[must_use]
pub fn cases() -> Vec<Case> {
    cases![
        verbs::describes_itself_the_same_each_time,
        verbs::gives_its_events_to_one_receiver,
        preparing::prepares_once_and_then_from_cache,
        preparing::tells_phases_in_order,
        preparing::refuses_what_is_no_artifact_for_good,
        preparing::does_not_start_what_is_not_prepared,
        life::reports_the_exit_code_once,
        life::reports_a_trap_with_its_message,
        life::stops_what_runs_for_ever,
        life::stopping_twice_gives_the_same_report,
        life::does_not_start_a_second_time_while_running,
        life::starts_the_next_attempt_after_an_end,
        life::removes_only_what_has_ended,
        life::keeps_many_apart,
        life::shutdown_ends_everything,
        ports::binds_dynamic_ports_that_differ,
        ports::refuses_a_port_in_use_and_leaves_nothing,
        verbs::unknown_executions_are_named,
        verbs::optional_verbs_work_or_say_that_they_cannot,
        verbs::recover_answers_for_each_that_was_asked,
        verbs::logs_are_readable_after_the_end,
    ]
}
