//! The web UI's table of characters that are not seen is the one of `trl_proto::untrusted`. `UPDATE_DOCS=1` writes it anew.
#![allow(clippy::unwrap_used)] // tests may, and helpers of tests are not seen as such

use std::fmt::Write;
use std::fs;
use std::path::Path;

use trl_proto::untrusted::{INVISIBLE, SYMBOLS, UNICODE};

fn table(name: &str, about: &str, ranges: &[(u32, u32)]) -> String {
    let mut text =
        format!("\n/** {about} */\nexport const {name}: readonly (readonly [number, number])[] = [\n");
    for (first, last) in ranges {
        writeln!(text, "  [{first:#x}, {last:#x}],").unwrap();
    }
    text + "];\n"
}

#[test]
fn the_generated_table_of_the_web_ui_is_the_same() {
    let generated = format!(
        "/** Generated from crates/trl-proto/src/untrusted.rs by its test `invisible_table`: UPDATE_DOCS=1 writes it. */\n\
         export const UNICODE = \"{UNICODE}\";\n{}{}",
        table("INVISIBLE", "Ranges of characters that are not seen, or not as what they are.", &INVISIBLE),
        table("SYMBOLS", "Blocks of symbols that have emoji among them.", &SYMBOLS),
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/ui/invisible.ts");
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "web/src/ui/invisible.ts is out of date: run this test with UPDATE_DOCS=1");
}
