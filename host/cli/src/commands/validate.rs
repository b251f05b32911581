//! `validate`: everything that can be checked without a controller.

use super::run::read;
use crate::{
    args::Output,
    fail::Failure,
    output::{self, Show},
};
use pliant_api::problem::Problem;
use pliant_types::{
    codes::{Code, exit_code::DONE},
    validate::ProblemKind,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A job of a file, and what was found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    file: String,
    /// Absent where the file could not be read as jobs.
    job: Option<String>,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

impl Show for Checked {
    fn header(_wide: bool) -> Vec<&'static str> {
        vec!["FILE", "JOB", "VALID"]
    }
    fn row(&self, _wide: bool) -> Vec<String> {
        vec![self.file.clone(), self.job.clone().unwrap_or_default(), self.valid.to_string()]
    }
    fn name(&self) -> String {
        self.job.clone().unwrap_or_else(|| self.file.clone())
    }
}

pub(crate) fn validate(form: Output, files: &[PathBuf]) -> Result<u8, Failure> {
    let mut worst = DONE;
    let mut checked = Vec::new();
    for file in files {
        let failures = check(file, &mut checked);
        for failure in failures {
            worst = worst.max(failure.exit());
            failure.print();
        }
    }
    if matches!(form, Output::Table | Output::Wide) {
        for one in checked.iter().filter(|one| one.valid) {
            println!("{}: job {} is valid", one.file, one.name());
        }
    } else {
        output::list(form, &checked)?;
    }
    if worst == DONE { Ok(DONE) } else { Err(Failure::Said(worst)) }
}

/// Checks every job of a file.
fn check(file: &Path, checked: &mut Vec<Checked>) -> Vec<Failure> {
    let shown = file.display().to_string();
    let result = |job, problem: Option<Problem>| Checked {
        file: shown.clone(),
        job,
        valid: problem.is_none(),
        problem,
    };
    let jobs = match read(&[file.to_path_buf()]) {
        Ok(jobs) => jobs,
        Err(failure) => {
            let problem = match &failure {
                Failure::Problem { problem, .. } => (**problem).clone(),
                _ => Problem::new(Code::BodyInvalid),
            };
            checked.push(result(None, Some(problem)));
            return vec![failure];
        }
    };
    let mut failures = Vec::new();
    for from in jobs {
        let name = from.job.manifest.metadata.name.to_string();
        let problems = from.job.problems();
        if problems.is_empty() {
            checked.push(result(Some(name), None));
            continue;
        }
        let only_absent = problems.iter().all(|p| p.kind == ProblemKind::NotOffered);
        let code = if only_absent { Code::NotOffered } else { Code::SpecInvalid };
        let problem = Problem::new(code)
            .with_detail(format!("the spec of {name} is invalid"))
            .with_errors(problems.into_iter().map(|p| p.error).collect());
        failures.push(Failure::in_file(problem.clone(), &shown));
        checked.push(result(Some(name), Some(problem)));
    }
    failures
}
