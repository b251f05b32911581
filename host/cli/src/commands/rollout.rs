//! Rollouts: list, show, follow, and what people do to them.

use super::{
    Context,
    follow::{self, Goal},
};
use crate::{
    args::{Rollout, RolloutStatus, RolloutVerb},
    fail::Failure,
    output,
};
use pliant_api::body::RolloutView;
use pliant_types::{Millis, Revision, codes::exit_code::DONE};

pub(crate) async fn rollout(context: &Context<'_>, command: Rollout) -> Result<u8, Failure> {
    match command {
        Rollout::List { job } => list(context, &job).await,
        Rollout::Status(asked) => status(context, asked).await,
        Rollout::Promote(asked) => act(context, asked, ("promote", "is promoted")).await,
        Rollout::Pause(asked) => act(context, asked, ("pause", "is paused")).await,
        Rollout::Resume(asked) => act(context, asked, ("resume", "goes on")).await,
        Rollout::Abort(asked) => act(context, asked, ("abort", "is aborted")).await,
    }
}

async fn list(context: &Context<'_>, job: &str) -> Result<u8, Failure> {
    let job = context.job(job)?;
    let found = context.client.rollouts(&context.global.namespace, &job).await?.items;
    output::list(context.global.output, &found)?;
    Ok(DONE)
}

async fn status(context: &Context<'_>, asked: RolloutStatus) -> Result<u8, Failure> {
    let job = context.job(&asked.job)?;
    if asked.follow {
        let goal = Goal { rollout: asked.rollout, until_done: true };
        return follow::follow(context, &job, (&asked.wait, goal)).await;
    }
    let namespace = &context.global.namespace;
    let view = context.client.rollout(namespace, &job, asked.rollout).await?;
    output::one(context.global.output, &view, &view.id.to_string(), || describe(&view))?;
    Ok(DONE)
}

async fn act(
    context: &Context<'_>,
    asked: RolloutVerb,
    (verb, words): (&str, &str),
) -> Result<u8, Failure> {
    let job = context.job(&asked.job)?;
    let namespace = &context.global.namespace;
    let expect = asked.expect_revision.map(Revision::new);
    let answer =
        context.client.act_on_rollout(namespace, &job, (asked.rollout, verb), expect).await?;
    output::one(context.global.output, &answer, &asked.job, || {
        if answer.changed {
            format!("the rollout of job {} {words}", asked.job)
        } else {
            format!("nothing to do: the rollout of job {} {words} already", asked.job)
        }
    })?;
    Ok(DONE)
}

/// A rollout in lines for people.
fn describe(view: &RolloutView) -> String {
    let mut text = format!("rollout {}: {}\n", view.id, line(view));
    let from = view.from.map(|from| format!(" from version {from}")).unwrap_or_default();
    text += &format!("  {} ({}){from}\n", view.strategy, view.cause);
    if let Some(undone) = view.undoes {
        text += &format!("  goes back from rollout {undone}\n");
    }
    if !view.canaries.is_empty() {
        let tasks: Vec<_> = view.canaries.iter().map(ToString::to_string).collect();
        let word = if view.promoted { "promoted" } else { "not promoted" };
        text += &format!("  canaries: task {} ({word})\n", tasks.join(", "));
    }
    if view.stop_first_forced {
        text += "  a task had to be stopped before its successor could start\n";
    }
    if let Some(left) = view.deadline_left_ms.filter(|_| view.active) {
        text += &format!("  fails in {} unless something gets better\n", span(left));
    }
    if let Some(message) = &view.message {
        text += &format!("  {}\n", output::visible(message));
    }
    for wait in &view.waits {
        let tasks: Vec<_> = wait.tasks.iter().map(ToString::to_string).collect();
        text += &format!("  task {} waits: {}\n", tasks.join(", "), wait.message);
    }
    text
}

/// Where a rollout is, in one line without countdowns.
pub(crate) fn line(view: &RolloutView) -> String {
    let tasks = &view.tasks;
    let mut text = format!(
        "{} to version {}: {} of {} healthy, {} moving, {} old",
        view.state, view.version, tasks.healthy, tasks.wanted, tasks.moving, tasks.old
    );
    if tasks.draining > 0 {
        text += &format!(", {} draining", tasks.draining);
    }
    if view.failures > 0 {
        text += &format!(", {} failed ({} may)", view.failures, view.max_failures);
    }
    text
}

/// A time that is left, in whole seconds.
pub(crate) fn span(millis: u64) -> String {
    Millis::from_secs(millis.div_ceil(1_000)).to_string()
}
