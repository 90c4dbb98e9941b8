//! The checked-in schema of a case is what the type says. `UPDATE_DOCS=1` writes it anew.
#![allow(clippy::unwrap_used)] // tests may, and helpers of tests are not seen as such

use std::fs;
use std::path::Path;

use trl_proto::case::CaseSpec;

#[test]
fn the_schema_is_up_to_date() {
    let generated = serde_json::to_string_pretty(&CaseSpec::schema()).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/case.schema.json");
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "docs/case.schema.json is out of date: run this test with UPDATE_DOCS=1");
}

#[test]
fn the_schema_knows_every_field_and_no_other() {
    let schema = CaseSpec::schema();
    assert_eq!(schema["additionalProperties"], false);
    for field in ["id", "shell", "argv", "env", "secret_env", "sandbox", "limits", "approval", "agent"] {
        assert!(schema["properties"].get(field).is_some(), "{field}");
    }
}
