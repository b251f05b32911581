//! `explain`: a field of a job, or a code, which may stand for a refusal, a wait and an end at once.

use crate::{args::Output, fail::Failure, output};
use pliant_types::{
    ExitReason,
    codes::{Code, WaitCode, exit_code::DONE},
};
use serde_json::{Value, json};

pub(crate) fn explain(form: Output, what: &str) -> Result<u8, Failure> {
    let (text, whole) = match of_code(what) {
        Some(found) => found,
        None => of_field(what)?,
    };
    output::one(form, &whole, what, || text)?;
    Ok(DONE)
}

/// Everything that a word stands for.
fn of_code(what: &str) -> Option<(String, Value)> {
    let (mut text, mut whole) = (String::new(), json!({"code": what}));
    if let Ok(code) = what.parse::<Code>() {
        let row = code.row();
        text += &format!("{code}: {}\n  do: {}\n", row.meaning, row.action);
        text += &format!("  HTTP status {}, exit code {}\n", row.http_status, row.exit);
        whole["error"] = json!({
            "meaning": row.meaning, "action": row.action, "httpStatus": row.http_status,
            "exitCode": row.exit, "retryable": row.retryable,
        });
    }
    if let Ok(code) = what.parse::<WaitCode>() {
        text += &format!("{code} (a reason for waiting): {}\n", code.meaning());
        whole["wait"] = json!({"meaning": code.meaning()});
    }
    if let Some(reason) = ExitReason::ALL.iter().find(|reason| reason.as_str() == what) {
        text += &format!("{reason} (an end of an execution): {}\n", reason.meaning());
        whole["end"] = json!({"meaning": reason.meaning()});
    }
    (!text.is_empty()).then_some((text, whole))
}

fn of_field(what: &str) -> Result<(String, Value), Failure> {
    let explained =
        pliant_api::parse::explain(what).map_err(|words| Failure::new(Code::BodyInvalid, words))?;
    let mut text = format!("{what}: {}\n  {}\n", explained.doc, explained.form);
    if let Some(default) = &explained.default {
        text += &format!("  default: {default}\n");
    }
    if let Some(class) = explained.class {
        text += &format!("  a change is of class: {class}\n");
    }
    let mut fields = serde_json::Map::new();
    for (field, doc) in &explained.fields {
        text += &format!("  {field}: {doc}\n");
        fields.insert((*field).to_string(), json!(doc));
    }
    let whole = json!({
        "field": what, "doc": explained.doc, "form": explained.form.to_string(),
        "default": explained.default.as_ref().map(ToString::to_string),
        "class": explained.class.map(|class| class.to_string()), "fields": fields,
    });
    Ok((text, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_that_a_refusal_a_wait_or_an_end_has_is_explained() {
        let words = Code::ALL.iter().map(|code| code.as_str());
        let words = words.chain(WaitCode::ALL.iter().map(|code| code.as_str()));
        for word in words.chain(ExitReason::ALL.iter().map(|reason| reason.as_str())) {
            let (text, whole) = of_code(word).unwrap_or_else(|| panic!("{word} is not explained"));
            assert!(text.starts_with(word), "{text}");
            assert!(whole.as_object().unwrap().len() > 1, "{whole}");
        }
        let (both, _) = of_code("port-in-use").unwrap();
        assert!(both.contains("--listen") && both.contains("an end"), "{both}");
    }
}
