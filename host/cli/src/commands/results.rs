//! Results: what completed tasks left in /output, as a list, a file, or a directory.

use super::Context;
use crate::{args::Results, fail::Failure, output};
use cap_std::{ambient_authority, fs::Dir};
use pliant_api::body::{ResultsView, RunQuery};
use pliant_types::{
    Incarnation,
    codes::{Code, exit_code::DONE},
};
use std::{
    io::{Read, Write},
    path::{Component, Path},
};

/// Entries of an archive that are unpacked at most.
const MAX_ENTRIES: usize = 100_000;
/// Bytes that are unpacked at most.
const MAX_BYTES: u64 = 1 << 30;

pub(crate) async fn results(context: &Context<'_>, asked: Results) -> Result<u8, Failure> {
    let job = context.job(&asked.job)?;
    let query = RunQuery { version: asked.version, run: asked.run.map(Incarnation::new) };
    let mut all = context.client.results(&context.global.namespace, &job, &query).await?.items;
    if let Some(task) = asked.task {
        all.retain(|result| result.task.get() == task);
    }
    if asked.cat.is_none() && asked.extract.is_none() {
        output::list(context.global.output, &all)?;
        return Ok(DONE);
    }
    let newest = all.iter().map(|r| r.incarnation).max();
    let chosen: Vec<_> = all.into_iter().filter(|r| Some(r.incarnation) == newest).collect();
    if chosen.is_empty() {
        let words = format!("job {} has kept no results", asked.job);
        return Err(Failure::new(Code::ResultsNotFound, words));
    }
    for result in &chosen {
        let archive = fetch(context, result).await?;
        if let Some(path) = &asked.cat {
            cat(&archive, path, result)?;
        } else if let Some(dir) = &asked.extract {
            let target =
                if chosen.len() == 1 { dir.clone() } else { dir.join(result.task.to_string()) };
            let files = unpack(&archive, &target)?;
            eprintln!("task {}: {files} files in {}", result.task, target.display());
        }
    }
    Ok(DONE)
}

async fn fetch(context: &Context<'_>, result: &ResultsView) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    context.client.download(&result.result.digest, &mut bytes).await?;
    Ok(bytes)
}

fn damaged(error: impl std::fmt::Display) -> Failure {
    Failure::new(Code::ArtifactInvalid, format!("the archive cannot be read: {error}"))
}

fn cat(archive: &[u8], path: &str, result: &ResultsView) -> Result<(), Failure> {
    let wanted = path.trim_start_matches('/').trim_start_matches("output/");
    for entry in tar::Archive::new(archive).entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let is_it = entry.path().is_ok_and(|p| p == Path::new(wanted));
        if is_it && entry.header().entry_type().is_file() {
            return crate::output::copy(&mut entry).map_err(damaged);
        }
    }
    let words = format!("the result of task {} has no file {wanted:?}", result.task);
    Err(Failure::new(Code::ResultsNotFound, words))
}

/// Unpacks files and directories only, by an own walk (06-cluster.md, section 4): no links, no
/// devices, no absolute or parent paths, bounded in number and size.
fn unpack(archive: &[u8], target: &Path) -> Result<usize, Failure> {
    let failed = |error: std::io::Error| {
        let code = match error.kind() {
            std::io::ErrorKind::AlreadyExists => Code::NameTaken,
            _ => Code::FileUnusable,
        };
        Failure::new(code, format!("{} cannot be made: {error}", target.display()))
    };
    std::fs::create_dir_all(target.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    std::fs::create_dir(target).map_err(failed)?;
    let dir = Dir::open_ambient_dir(target, ambient_authority()).map_err(failed)?;
    let (mut files, mut bytes) = (0, 0);
    for (index, entry) in tar::Archive::new(archive).entries().map_err(damaged)?.enumerate() {
        let mut entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || index >= MAX_ENTRIES {
            return Err(damaged(format!("entry {index} ({}) is not taken", path.display())));
        }
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            dir.create_dir_all(&path)?;
        } else if kind.is_file() {
            if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
                dir.create_dir_all(parent)?;
            }
            bytes += entry.size();
            if bytes > MAX_BYTES {
                return Err(damaged(format!("more than {MAX_BYTES} bytes")));
            }
            let mut content = Vec::new();
            entry.read_to_end(&mut content).map_err(damaged)?;
            dir.create(&path)?.write_all(&content)?;
            files += 1;
        } else {
            return Err(damaged(format!("{} is neither a file nor a directory", path.display())));
        }
    }
    Ok(files)
}
