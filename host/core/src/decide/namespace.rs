//! Namespaces: made, and deleted when no job is left in them.

use super::Decided;
use crate::{Rejection, State, command::NamespaceCommand, fact::FactKind, limits, state::Wanted};
use alloc::{format, vec, vec::Vec};
use pliant_types::{Namespace, codes::Code};

/// Refuses a namespace that does not exist; `default` always does.
///
/// # Errors
/// `namespace-not-found`.
pub fn must_exist(state: &State, namespace: &Namespace) -> Result<(), Rejection> {
    if exists(state, namespace) {
        return Ok(());
    }
    let message = format!("there is no namespace {namespace}");
    Err(Rejection::new(Code::NamespaceNotFound, message)
        .hint(format!("create it with `pliant namespace create {namespace}`")))
}

fn exists(state: &State, namespace: &Namespace) -> bool {
    *namespace == Namespace::default_namespace() || state.namespaces.contains(namespace)
}

pub(super) fn create(state: &State, asked: &NamespaceCommand) -> Result<Decided, Rejection> {
    if exists(state, &asked.namespace) {
        return Ok(Decided::done(Vec::new()));
    }
    if state.namespaces.len() >= limits::NAMESPACES {
        let message = format!("a cluster has at most {} namespaces", limits::NAMESPACES);
        return Err(Rejection::new(Code::TooLarge, message));
    }
    Ok(Decided::done(vec![FactKind::NamespaceCreated { namespace: asked.namespace.clone() }]))
}

/// A namespace goes when nothing is in it: jobs that are still being deleted count, since their
/// executions carry its name.
pub(super) fn delete(state: &State, asked: &NamespaceCommand) -> Result<Decided, Rejection> {
    must_exist(state, &asked.namespace)?;
    if asked.namespace == Namespace::default_namespace() {
        let message = "the namespace default always exists";
        return Err(Rejection::new(Code::WrongState, message).hint("delete its jobs instead"));
    }
    let jobs = || state.jobs.iter().filter(|(_, job)| job.namespace == asked.namespace);
    let dying = jobs().filter(|(_, job)| job.wanted == Wanted::Deleted).count();
    let living = jobs().count() - dying;
    if living + dying > 0 {
        let message = format!(
            "namespace {} has {living} jobs and {dying} that are being deleted",
            asked.namespace
        );
        let list = format!("pliant job list --namespace {}", asked.namespace);
        let hint = if living > 0 {
            format!("list them with `{list}` and delete them first")
        } else {
            "repeat when their hosts have confirmed the end".into()
        };
        return Err(Rejection::new(Code::NamespaceNotEmpty, message).hint(hint));
    }
    Ok(Decided::done(vec![FactKind::NamespaceDeleted { namespace: asked.namespace.clone() }]))
}
