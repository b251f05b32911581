//! Manifests back to text, in all three languages: what `-o yaml` prints can be submitted again.

use pliant_types::spec::Manifest;

use super::Format;

/// Writes a manifest; parsing the text gives the manifest again.
///
/// # Panics
/// Never: a manifest holds texts, numbers, lists and maps only, which every language can write.
#[must_use]
pub fn render(manifest: &Manifest, format: Format) -> String {
    const WRITABLE: &str = "texts, numbers, lists and maps can be written";
    match format {
        Format::Yaml => serde_saphyr::to_string(manifest).expect(WRITABLE),
        Format::Json => serde_json::to_string_pretty(manifest).expect(WRITABLE) + "\n",
        // Null entries of maps mean the same as absent ones, and TOML has no null.
        Format::Toml => toml::to_string(&without_nulls(manifest)).expect(WRITABLE),
    }
}

fn without_nulls(manifest: &Manifest) -> serde_json::Value {
    let mut json = serde_json::to_value(manifest).expect("a manifest is JSON");
    remove_nulls(&mut json);
    json
}

fn remove_nulls(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(remove_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
