//! What a field means: the schema, read by people (`pliant explain FIELD.PATH`).

use super::hint;
use super::json_schema::default_of;
use super::schema::DOCUMENT;
use super::shape::{Need, Shape};
use pliant_types::{ChangeClass, class::class_of};

/// A field and what is directly below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// One sentence.
    pub doc: &'static str,
    /// What may be written there.
    pub form: String,
    /// Whether it must be written.
    pub required: bool,
    /// Its default, as JSON.
    pub default: Option<String>,
    /// What a change of it does to a Wasm task; nothing for what is no field of its own.
    pub class: Option<ChangeClass>,
    /// Name and sentence of each field below.
    pub fields: Vec<(&'static str, &'static str)>,
}

/// Explains a dotted path such as `spec.update.maxSurge`; indexes are not written (`spec.ports.name`).
///
/// # Errors
/// One sentence that names the step that does not exist and the nearest that does.
pub fn explain(path: &str) -> Result<Explained, String> {
    let whole = Explained {
        doc: "A job document.",
        form: DOCUMENT.words_for(),
        required: true,
        default: None,
        class: None,
        fields: names(DOCUMENT),
    };
    let mut found = whole;
    let mut shape = DOCUMENT;
    let mut before = String::new();
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let Some(field) = shape.fields().iter().find(|field| field.name == step) else {
            let place = if before.is_empty() { "a job document".to_owned() } else { before };
            let nearest = hint::nearest(step, shape.fields().iter().map(|field| field.name));
            let hint =
                nearest.map_or(String::new(), |word| format!("; {}", hint::did_you_mean(word)));
            return Err(format!("there is no field `{step}` in {place}{hint}"));
        };
        shape = field.shape;
        before = if before.is_empty() { step.to_owned() } else { format!("{before}.{step}") };
        found = Explained {
            doc: field.doc,
            form: field.shape.words_for(),
            required: field.need == Need::Must,
            default: default_of(&before).map(|value| value.to_string()),
            class: (before.contains('.')).then(|| class_of(&before, false)),
            fields: names(field.shape),
        };
    }
    Ok(found)
}

fn names(shape: Shape) -> Vec<(&'static str, &'static str)> {
    shape.fields().iter().map(|field| (field.name, field.doc)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_fields_at_every_depth() {
        let found = explain("spec.ports.static").unwrap();
        assert_eq!(found.form, "a whole number from 1 to 65535");
        assert!(!found.required);
        assert_eq!(explain("spec.ports").unwrap().fields.len(), 3);
        let surge = explain("spec.update.maxSurge").unwrap();
        assert_eq!((surge.default.as_deref(), surge.class), (Some("1"), Some(ChangeClass::Policy)));
        assert_eq!(explain("spec.env").unwrap().class, Some(ChangeClass::Restart));
        assert_eq!(explain("").unwrap().fields[0].0, "apiVersion");
        assert_eq!(
            explain("spec.update.maxSurg").unwrap_err(),
            "there is no field `maxSurg` in spec.update; did you mean `maxSurge`?"
        );
    }
}
