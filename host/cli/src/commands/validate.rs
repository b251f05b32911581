//! `validate`: everything that can be checked without a controller.

use super::run::read;
use crate::fail::Failure;
use pliant_api::problem::Problem;
use pliant_types::{
    codes::{Code, exit_code::DONE},
    validate::ProblemKind,
};
use std::path::PathBuf;

pub(crate) fn validate(files: &[PathBuf]) -> Result<u8, Failure> {
    let mut worst = DONE;
    for file in files {
        let checked = read(std::slice::from_ref(file)).and_then(|jobs| {
            for from in jobs {
                let problems = from.job.problems();
                let name = &from.job.manifest.metadata.name;
                if problems.is_empty() {
                    println!("{}: job {name} is valid", file.display());
                    continue;
                }
                let only_absent = problems.iter().all(|p| p.kind == ProblemKind::NotOffered);
                let code = if only_absent { Code::NotOffered } else { Code::SpecInvalid };
                let problem = Problem::new(code)
                    .with_detail(format!("the spec of {name} is invalid"))
                    .with_errors(problems.into_iter().map(|p| p.error).collect());
                return Err(Failure::in_file(problem, &file.display().to_string()));
            }
            Ok(())
        });
        if let Err(failure) = checked {
            failure.print();
            worst = worst.max(failure.exit());
        }
    }
    if worst == DONE { Ok(DONE) } else { Err(Failure::Said(worst)) }
}
