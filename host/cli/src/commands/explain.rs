//! `explain`: a field of a job, or a code.

use crate::fail::Failure;
use pliant_types::codes::{Code, WaitCode, exit_code::DONE};

pub(crate) fn explain(what: &str) -> Result<u8, Failure> {
    if let Ok(code) = what.parse::<Code>() {
        let row = code.row();
        println!("{code}: {}\n  do: {}", row.meaning, row.action);
        println!("  HTTP status {}, exit code {}", row.http_status, row.exit);
        return Ok(DONE);
    }
    if let Ok(code) = what.parse::<WaitCode>() {
        println!("{code} (a reason for waiting): {}", code.meaning());
        return Ok(DONE);
    }
    match pliant_api::parse::explain(what) {
        Ok(explained) => {
            println!("{what}: {}\n  {}", explained.doc, explained.form);
            if let Some(default) = &explained.default {
                println!("  default: {default}");
            }
            if let Some(class) = explained.class {
                println!("  a change is of class: {class}");
            }
            if !explained.fields.is_empty() {
                for (field, doc) in &explained.fields {
                    println!("  {field}: {doc}");
                }
            }
            Ok(DONE)
        }
        Err(words) => Err(Failure::new(Code::BodyInvalid, words)),
    }
}
