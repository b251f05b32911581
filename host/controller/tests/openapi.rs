//! The committed description of the API is what the code serves; UPDATE_EXPECT=1 writes it again.
#![allow(clippy::unwrap_used, reason = "all of it is test code")]

use pliant_controller::openapi_document;
use std::collections::BTreeSet;

#[test]
fn the_committed_description_is_the_served_one() {
    let text = serde_json::to_string_pretty(&openapi_document()).unwrap() + "\n";
    expect_test::expect_file!["../../../docs/api/openapi.json"].assert_eq(&text);
}

#[test]
fn operations_have_names_of_their_own_and_every_reference_is_defined() {
    let document = openapi_document();
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(ids.insert(id.clone()), "{id} is there twice");
            let named = operation["parameters"].as_array().unwrap();
            let named = named.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(path.matches('{').count(), named, "{path}");
        }
    }
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name} is not defined");
    }
}
