//! Artifacts of the store, and components as files.

use super::{Context, job::all_pages};
use crate::{args::Output, fail::Failure, output};
use pliant_api::body::PageQuery;
use pliant_types::{
    Digest,
    codes::{
        Code,
        exit_code::{DONE, INVALID},
    },
};
use std::path::Path;

pub(crate) async fn push(context: &Context<'_>, file: &Path) -> Result<u8, Failure> {
    let view = context.client.upload(file).await?;
    let digest = view.digest.to_string();
    output::one(context.global.output, &view, &digest, || digest.clone())?;
    Ok(DONE)
}

pub(crate) async fn pull(
    context: &Context<'_>,
    digest: Digest,
    file: &Path,
) -> Result<u8, Failure> {
    if std::fs::symlink_metadata(file).is_ok() {
        let words = format!("{} exists and is left as it is", file.display());
        return Err(Failure::new(Code::NameTaken, words).hint("name a file that does not exist"));
    }
    let bytes = context.client.fetch(&digest, file).await?;
    eprintln!("{bytes} bytes in {}", file.display());
    Ok(DONE)
}

pub(crate) async fn list(context: &Context<'_>) -> Result<u8, Failure> {
    let found = all_pages!(query => context.client.artifacts(&query));
    output::list(context.global.output, &found)?;
    Ok(DONE)
}

pub(crate) fn inspect(output: Output, file: &Path) -> Result<u8, Failure> {
    let shown = file.display();
    let limit = pliant_inspect::limits::ARTIFACT_BYTES;
    let failed = |e: std::io::Error| Failure::new(Code::FileUnusable, format!("{shown}: {e}"));
    let metadata = std::fs::metadata(file).map_err(failed)?;
    if !metadata.is_file() {
        return Err(Failure::new(Code::FileUnusable, format!("{shown} is no regular file")));
    }
    let size = metadata.len();
    if size > limit {
        let words = format!("{shown} has {size} bytes, a component has at most {limit}");
        return Err(Failure::new(Code::TooLarge, words));
    }
    let bytes = std::fs::read(file).map_err(failed)?;
    let found = pliant_inspect::inspect(&bytes)
        .map_err(|e| Failure::new(Code::ArtifactInvalid, format!("{shown}: {e}")))?;
    let kind =
        found.kind.map_or_else(|| "nothing that can be started".to_owned(), |k| k.to_string());
    let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    let document = serde_json::json!({
        "kind": kind, "imports": found.imports, "exports": found.exports, "problems": problems,
    });
    output::one(output, &document, &kind, || {
        let mut text = format!("{kind}, {}\n", output::bytes(size));
        found.imports.iter().for_each(|i| text += &format!("imports {i}\n"));
        found.exports.iter().for_each(|e| text += &format!("exports {e}\n"));
        problems.iter().for_each(|p| text += &format!("problem: {p}\n"));
        text
    })?;
    Ok(if problems.is_empty() { DONE } else { INVALID })
}
