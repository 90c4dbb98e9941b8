//! The checked-in description of the HTTP door is what the types say. `UPDATE_DOCS=1` writes it anew.
#![allow(clippy::unwrap_used)] // tests may, and helpers of tests are not seen as such

use std::fs;
use std::path::Path;

use serde_json::Value;
use trl_proto::Method;

#[test]
fn the_description_is_up_to_date() {
    let generated = serde_json::to_string_pretty(&trl_proto::openapi::document()).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "docs/openapi.json is out of date: run this test with UPDATE_DOCS=1");
}

#[test]
fn every_method_and_every_reference_is_there() {
    let document = trl_proto::openapi::document();
    for method in Method::ALL {
        assert!(document["x-trl-methods"].get(method.name()).is_some(), "{}", method.name());
    }
    assert_no_dangling(&document, &document);
}

fn assert_no_dangling(document: &Value, part: &Value) {
    match part {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                let found = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
                assert!(found.is_some(), "{reference} leads nowhere");
            }
            members.values().for_each(|value| assert_no_dangling(document, value));
        }
        Value::Array(items) => items.iter().for_each(|item| assert_no_dangling(document, item)),
        _ => {}
    }
}
