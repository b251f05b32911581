//! Hosts, and the cluster in a few lines.

use super::{Context, job::all_pages};
use crate::{fail::Failure, output};
use pliant_api::body::{HostView, PageQuery};
use pliant_types::{
    codes::{Code, exit_code::DONE},
    host::HostMode,
};

pub(crate) const PAUSED: HostMode = HostMode::Paused;
pub(crate) const ACTIVE: HostMode = HostMode::Active;

pub(crate) async fn list(context: &Context<'_>) -> Result<u8, Failure> {
    let hosts = all_pages!(query => context.client.hosts(&query));
    output::list(context.global.output, &hosts)?;
    Ok(DONE)
}

async fn find(context: &Context<'_>, text: &str) -> Result<HostView, Failure> {
    let hosts = all_pages!(query => context.client.hosts(&query));
    hosts
        .into_iter()
        .find(|host| host.id.to_string() == text || &*host.name == text)
        .ok_or_else(|| Failure::new(Code::HostNotFound, format!("there is no host {text:?}")))
}

pub(crate) async fn show(context: &Context<'_>, host: &str) -> Result<u8, Failure> {
    let view = find(context, host).await?;
    output::one(context.global.output, &view, &view.id.to_string(), || {
        let mut text = format!(
            "{} {} {} {}\nagent: {}\n",
            view.id,
            view.name,
            output::state(view.stage.as_str()),
            view.mode,
            view.address
        );
        text += &format!("CPU: {}m held of {}m\n", view.held.cpu_millis, view.capacity.cpu_millis);
        text += &format!(
            "memory: {} held of {}\nexecutions: {} of {}\n",
            output::bytes(view.held.memory_bytes),
            output::bytes(view.capacity.memory_bytes),
            view.held.executions,
            view.capacity.executions
        );
        for (key, value) in &view.attributes {
            text += &format!("{key} = {value}\n");
        }
        for (key, value) in &view.labels {
            text += &format!("label.{key} = {value}\n");
        }
        text
    })?;
    Ok(DONE)
}

pub(crate) async fn set_mode(
    context: &Context<'_>,
    host: &str,
    mode: HostMode,
) -> Result<u8, Failure> {
    let id = find(context, host).await?.id;
    let view = context.client.set_host_mode(id, mode).await?;
    output::one(context.global.output, &view, &id.to_string(), || format!("host {id} is {mode}"))?;
    Ok(DONE)
}

/// `status` without a job.
pub(crate) async fn cluster(context: &Context<'_>) -> Result<u8, Failure> {
    let journal = context.client.journal().await?;
    let version = context.client.server_version().await?;
    let hosts = all_pages!(query => context.client.hosts(&query));
    let jobs = all_pages!(query => context.client.jobs(None, &query));
    output::one(context.global.output, &journal, "cluster", || {
        let up = hosts.iter().filter(|h| h.stage.as_str() == "up").count();
        let running = jobs.iter().filter(|j| j.run_state == "running").count();
        let waiting = jobs.iter().filter(|j| j.run_state == "pending").count();
        let writes = match &journal.trouble {
            None => "takes writes".to_owned(),
            Some(why) => format!("takes no writes: {why}"),
        };
        format!(
            "pliant {} at revision {}, epoch {}, journal of {} {writes}\n\
             hosts: {up} up of {}\njobs: {running} running, {waiting} pending of {}\n",
            version.version,
            journal.revision,
            journal.epoch,
            output::bytes(journal.size_bytes),
            hosts.len(),
            jobs.len()
        )
    })?;
    Ok(DONE)
}
