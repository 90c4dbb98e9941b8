//! The web UI is compiled in when it has been built (`cargo xtask ui`). An empty directory stands for one that has not, so
//! that cargo has something to watch: a path that is not there would have it build this crate every time.
//!
//! The description of the HTTP door is large, mostly white space, and seldom asked for: it is compiled in packed.

use std::path::Path;
use std::{env, fs, io};

const UI: &str = "../../web/dist";
const OPENAPI: &str = "../../docs/openapi.json";

fn main() -> io::Result<()> {
    fs::create_dir_all(UI)?;
    println!("cargo:rerun-if-changed={UI}");
    println!("cargo:rerun-if-changed={OPENAPI}");
    let packed = miniz_oxide::deflate::compress_to_vec(&fs::read(OPENAPI)?, 9);
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&out).join("openapi.json.deflated"), packed)
}
