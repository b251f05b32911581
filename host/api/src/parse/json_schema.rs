//! The JSON schema of a job document, made from the same table of fields that the parser reads, with
//! each field's default and class of change. Committed as docs/api/job.schema.json.
//!
//! Not the judge of a document: rules over more than one field are in `pliant_types::validate`.

use super::{
    schema::DOCUMENT,
    shape::{Field, Need, Shape},
};
use pliant_types::{
    Effective, JobSpec, Kind,
    class::class_of,
    effective::DefaultsTable,
    spec::{Elastic, Engine, Wasm},
};
use serde_json::{Map, Value, json};

/// The schema, as of JSON Schema 2020-12. `x-class` is what a change of the field does to a Wasm task,
/// `x-class-container` to a container where that differs.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = of_shape(DOCUMENT, "", &defaults());
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Pliant job");
    schema["$comment"] = json!(format!("defaults of table {}", DefaultsTable::NEWEST.get()));
    schema
}

/// The default of a field of the newest table, such as `spec.update.maxSurge`; none where absent
/// means something of its own.
#[must_use]
pub fn default_of(path: &str) -> Option<Value> {
    let defaults = defaults();
    lookup(&defaults, path).filter(|value| !value.is_object()).cloned()
}

/// A filled spec in which every member that has defaults is present.
fn defaults() -> Value {
    let written = JobSpec {
        kind: Some(Kind::Service),
        engine: Some(Engine::Wasm(Wasm::default())),
        elastic: Some(Elastic::default()),
        ..JobSpec::default()
    };
    let effective = Effective::new(&written, DefaultsTable::NEWEST);
    let mut spec = serde_json::to_value(effective.spec()).unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        // The kind must be written; the filled one stands for no default.
        spec.remove("kind");
    }
    json!({ "spec": spec })
}

fn lookup<'a>(defaults: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .filter(|step| !step.is_empty())
        .try_fold(defaults, |value, step| value.get(step))
}

fn of_shape(shape: Shape, path: &str, defaults: &Value) -> Value {
    match shape {
        Shape::Object(fields) => object(fields, path, defaults),
        Shape::Map { .. } => {
            json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}})
        }
        Shape::List(item) => {
            json!({"type": "array", "items": of_shape(*item, &format!("{path}[]"), defaults)})
        }
        Shape::Text(_) => json!({"type": "string"}),
        Shape::Scalar(_) => json!({"type": ["string", "number"]}),
        Shape::Words(words) => json!({"enum": words}),
        Shape::Integer { min, max } => {
            let bound = |value: i128| i64::try_from(value).unwrap_or(i64::MAX);
            json!({"type": "integer", "minimum": bound(min), "maximum": bound(max)})
        }
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Choice { words, fields } => {
            let mut one = object(fields, path, defaults);
            one["minProperties"] = json!(1);
            one["maxProperties"] = json!(1);
            if words.is_empty() { one } else { json!({"oneOf": [{"enum": words}, one]}) }
        }
        Shape::Ignored => json!(true),
    }
}

fn object(fields: &[Field], path: &str, defaults: &Value) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let below =
            if path.is_empty() { field.name.into() } else { format!("{path}.{}", field.name) };
        properties.insert(field.name.to_owned(), of_field(field, &below, defaults));
    }
    let required: Vec<_> =
        fields.iter().filter(|field| field.need == Need::Must).map(|field| field.name).collect();
    let mut object =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn of_field(field: &Field, path: &str, defaults: &Value) -> Value {
    if matches!(field.shape, Shape::Ignored) {
        return json!({"description": "The server's; ignored on input."});
    }
    let mut schema = of_shape(field.shape, path, defaults);
    // Null is the same as absent.
    if field.need == Need::May {
        schema = json!({"anyOf": [schema, {"type": "null"}]});
    }
    schema["description"] = json!(field.doc);
    if let Some(default) = lookup(defaults, path).filter(|value| !value.is_object()) {
        schema["default"] = default.clone();
    }
    if path.starts_with("spec.") || path.starts_with("metadata.") {
        let plain = path.replace("[]", "");
        let (wasm, container) = (class_of(&plain, false), class_of(&plain, true));
        schema["x-class"] = json!(wasm);
        if wasm != container {
            schema["x-class-container"] = json!(container);
        }
    }
    schema
}
