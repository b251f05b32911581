//! The committed JSON schema of a job is what the code says; UPDATE_EXPECT=1 writes it again.
#![allow(clippy::unwrap_used, reason = "all of it is test code")]

use pliant_api::parse::json_schema;

#[test]
fn the_committed_schema_is_the_generated_one() {
    let text = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    expect_test::expect_file!["../../../docs/api/job.schema.json"].assert_eq(&text);
}

#[test]
fn every_field_has_a_class_and_known_defaults_are_there() {
    let schema = json_schema();
    let update = &schema["properties"]["spec"]["anyOf"];
    let spec = if update.is_array() { &update[0] } else { &schema["properties"]["spec"] };
    let surge = &spec["properties"]["update"]["anyOf"][0]["properties"]["maxSurge"];
    assert_eq!((&surge["default"], &surge["x-class"]), (&1.into(), &"policy".into()));
    for (name, field) in spec["properties"].as_object().unwrap() {
        assert!(field["x-class"].is_string(), "{name}: {field}");
        assert!(field["description"].as_str().is_some_and(|doc| doc.ends_with('.')), "{name}");
    }
}
