//! Verbs on a job: stop, start, delete, wait.

use super::{
    Context,
    follow::{self, Goal},
};
use crate::{
    args::{Output, Scale, ScaleTo, Stop, Verb, WaitFlags},
    fail::Failure,
    output,
};
use pliant_api::{
    body::{ScaleBody, VerbAnswer, WatchEvent},
    routes::JobRef,
};
use pliant_client::{Received, Verb as Act};
use pliant_types::{
    Revision,
    codes::exit_code::{self, DONE},
};
use std::time::Duration;

pub(crate) async fn stop(context: &Context<'_>, stop: Stop) -> Result<u8, Failure> {
    let Stop { verb, version } = stop;
    let asked = version.map_or(Act::Stop, Act::StopVersion);
    let (job, answer) = act(context, &verb, asked).await?;
    let words = match version {
        Some(version) => format!("is asked to stop its runs of version {version}"),
        None => "is asked to stop".to_owned(),
    };
    print(context, &verb.job, &answer, &words)?;
    // Other runs may go on, so only the end of the whole job is waited for.
    if verb.detach || version.is_some() {
        return Ok(DONE);
    }
    until_over(context, &job, &verb.wait).await
}

pub(crate) async fn rerun(context: &Context<'_>, verb: Verb) -> Result<u8, Failure> {
    let (job, answer) = act(context, &verb, Act::Rerun).await?;
    print(context, &verb.job, &answer, "runs again")?;
    if verb.detach {
        Ok(DONE)
    } else {
        follow::follow(context, &job, (&verb.wait, Goal::default())).await
    }
}

pub(crate) async fn scale(context: &Context<'_>, scale: Scale) -> Result<u8, Failure> {
    let body = match scale.to {
        ScaleTo::Exactly(count) => ScaleBody { count: Some(count), by: None },
        ScaleTo::By(by) => ScaleBody { count: None, by: Some(by) },
    };
    let job = context.job(&scale.job)?;
    let expect = scale.expect_revision.map(Revision::new);
    let namespace = &context.global.namespace;
    let answer = context.client.act(namespace, &job, Act::Scale(body), expect).await?;
    print(context, &scale.job, &answer, "has another size")?;
    Ok(DONE)
}

pub(crate) async fn start(context: &Context<'_>, verb: Verb) -> Result<u8, Failure> {
    let (job, answer) = act(context, &verb, Act::Start).await?;
    print(context, &verb.job, &answer, "is started")?;
    if verb.detach {
        Ok(DONE)
    } else {
        follow::follow(context, &job, (&verb.wait, Goal::default())).await
    }
}

pub(crate) async fn delete(context: &Context<'_>, verb: Verb) -> Result<u8, Failure> {
    let (_, answer) = act(context, &verb, Act::Delete).await?;
    print(context, &verb.job, &answer, "is deleted; its name is free")?;
    // The name is free already; what is left of the job is found by its id.
    let job = JobRef::Uid(answer.uid);
    if verb.detach { Ok(DONE) } else { until_over(context, &job, &verb.wait).await }
}

pub(crate) async fn wait(
    context: &Context<'_>,
    job: &str,
    wait: &WaitFlags,
) -> Result<u8, Failure> {
    let reference = context.job(job)?;
    let code = follow::follow(context, &reference, (wait, Goal::default())).await?;
    // People have read how it went; a program gets what it is now.
    if !matches!(context.global.output, Output::Table | Output::Wide) {
        let view = context.client.job(&context.global.namespace, &reference).await?;
        output::one(context.global.output, &view, job, String::new)?;
    }
    Ok(code)
}

async fn act(
    context: &Context<'_>,
    verb: &Verb,
    act: Act,
) -> Result<(JobRef, VerbAnswer), Failure> {
    let job = context.job(&verb.job)?;
    let expect = verb.expect_revision.map(Revision::new);
    let answer = context.client.act(&context.global.namespace, &job, act, expect).await?;
    Ok((job, answer))
}

fn print(
    context: &Context<'_>,
    job: &str,
    answer: &VerbAnswer,
    words: &str,
) -> Result<(), Failure> {
    output::one(context.global.output, answer, job, || {
        if answer.changed {
            format!("job {job} {words}")
        } else {
            format!("job {job}: nothing to do")
        }
    })
}

/// Waits until every execution has confirmed its end (N12).
async fn until_over(context: &Context<'_>, job: &JobRef, wait: &WaitFlags) -> Result<u8, Failure> {
    let limit = wait.timeout.map_or(Duration::from_secs(300), |t| Duration::from_millis(t.get()));
    match tokio::time::timeout(limit, over(context, job)).await {
        Ok(result) => result,
        Err(_) => {
            eprintln!("not every host has confirmed the end; the stop goes on");
            Ok(exit_code::TIMED_OUT)
        }
    }
}

async fn over(context: &Context<'_>, job: &JobRef) -> Result<u8, Failure> {
    let namespace = &context.global.namespace;
    let mut events = context.client.watch(namespace, job);
    loop {
        match context.client.job(namespace, job).await {
            Ok(view) => {
                let word = view.status.map(|s| s.run_state).unwrap_or_default();
                if word != "stopping" && word != "running" && word != "pending" {
                    return Ok(DONE);
                }
            }
            Err(error) if error.exit() == exit_code::NOT_FOUND => return Ok(DONE),
            Err(error) => return Err(error.into()),
        }
        match events.next().await {
            Ok(Some(Received::Body(WatchEvent::Gone)) | None) => return Ok(DONE),
            Ok(Some(_)) => {}
            Err(error) if error.exit() == exit_code::NOT_FOUND => return Ok(DONE),
            Err(error) => return Err(error.into()),
        }
    }
}
