//! Namespaces: list, create, delete when empty.

use super::Context;
use crate::{args::NamespaceCommand, fail::Failure, output};
use pliant_types::codes::exit_code::DONE;

pub(crate) async fn namespace(
    context: &Context<'_>,
    command: NamespaceCommand,
) -> Result<u8, Failure> {
    match command {
        NamespaceCommand::List => {
            let found = context.client.namespaces().await?.items;
            output::list(context.global.output, &found)?;
        }
        NamespaceCommand::Create { name } => {
            let view = context.client.create_namespace(&name).await?;
            output::one(context.global.output, &view, &name, || {
                format!("namespace {name} exists")
            })?;
        }
        NamespaceCommand::Delete { name } => {
            let view = context.client.delete_namespace(&name).await?;
            output::one(context.global.output, &view, &name, || {
                format!("namespace {name} is deleted")
            })?;
        }
    }
    Ok(DONE)
}
