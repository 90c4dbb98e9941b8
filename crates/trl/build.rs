//! The web UI is compiled in when it has been built (`cargo xtask ui`). An empty directory stands for one that has not, so
//! that cargo has something to watch: a path that is not there would have it build this crate every time.

fn main() {
    let built = "../../web/dist";
    let _ = std::fs::create_dir_all(built);
    println!("cargo:rerun-if-changed={built}");
}
