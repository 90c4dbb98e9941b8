//! Our own program at the other end: found there by its digest, or written there, once.
//!
//! 1. One command asks for the system, the architecture, and whether a program of this digest is there.
//! 2. If not, the program is sent through another, which writes it aside, looks at its digest, and renames it.
//!
//! It lies in `~/.cache/trl/bin/<sha256>/trl`. Whoever can change that can change the user's shell as well.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use trl_proto::Error;
use trl_sys::helper::Helper;

use super::ssh;
use crate::runtime::far::unavailable;

/// Where it is, from the home of the user there.
fn place(digest: &str) -> String {
    format!(".cache/trl/bin/{digest}/trl")
}

/// Our program and its digest.
fn own() -> Result<&'static (PathBuf, String), Error> {
    static OWN: OnceLock<Result<(PathBuf, String), String>> = OnceLock::new();
    let found = OWN.get_or_init(|| {
        // The one that runs, also when its file was replaced since.
        let program = std::fs::read("/proc/self/exe").map_err(|e| e.to_string())?;
        let digest = Sha256::digest(&program).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((PathBuf::from("/proc/self/exe"), digest))
    });
    found.as_ref().map_err(|why| unavailable("copy", why))
}

/// Sees to it that the program is there; its path, as a shell there understands it.
pub(super) async fn over_ssh(words: &[String]) -> Result<String, Error> {
    let words = words.to_vec();
    let copied = tokio::task::spawn_blocking(move || {
        let (program, digest) = own()?;
        let place = place(digest);
        let ask = format!("uname -sm; test -x {place} && echo there");
        let said = run(&ssh(&words, &ask), None)?;
        check_machine(&said)?;
        if !said.lines().any(|line| line == "there") {
            send(&words, program, digest, &place)?;
        }
        Ok(format!("\"$HOME\"/{place}"))
    });
    copied.await.unwrap_or_else(|e| Err(Error::internal(e.to_string())))
}

fn check_machine(said: &str) -> Result<(), Error> {
    let ours = std::env::consts::ARCH;
    let theirs = said.lines().find_map(|line| line.strip_prefix("Linux "));
    match theirs {
        Some(arch) if arch == ours => Ok(()),
        Some(arch) => {
            Err(unavailable("copy", &format!("it is an {arch} machine, and this program is for {ours}"))
                .hint("install trl there, and say binary = \"installed\""))
        }
        None => Err(unavailable("copy", &format!("it is no Linux machine: {}", said.trim()))
            .hint("install trl there, and say binary = \"installed\"")),
    }
}

/// Whole or not at all, and only if it is what it should be.
fn send(words: &[String], program: &Path, digest: &str, place: &str) -> Result<(), Error> {
    let dir = place.trim_end_matches("/trl");
    let take = format!(
        "umask 077; mkdir -p {dir} && cat > {dir}/new.$$ && chmod 700 {dir}/new.$$ && \
         got=$(sha256sum < {dir}/new.$$ | cut -c1-64) && \
         if [ \"$got\" = {digest} ]; then mv {dir}/new.$$ {place} && echo taken; else rm -f {dir}/new.$$; echo \"other: $got\"; fi"
    );
    let said = run(&ssh(words, &take), Some(program))?;
    match said.lines().any(|line| line == "taken") {
        true => Ok(()),
        false => Err(unavailable("copy", &format!("the program did not arrive as it is: {}", said.trim()))),
    }
}

/// What a command there says; its stdin is a file, or nothing.
fn run(words: &[String], stdin: Option<&Path>) -> Result<String, Error> {
    let failed = |e: std::io::Error| unavailable("copy", &format!("{}: {e}", words[0]));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir("/").stdout(Stdio::piped()).stderr(Stdio::piped());
    match stdin {
        Some(path) => command.stdin(std::fs::File::open(path).map_err(failed)?),
        None => command.stdin(Stdio::null()),
    };
    let mut helper = Helper::spawn(&mut command).map_err(failed)?;
    let (stdout, stderr) = (helper.take_stdout(), helper.take_stderr());
    let (mut said, mut complained) = (String::new(), String::new());
    if let Some(mut stdout) = stdout {
        std::io::Read::read_to_string(&mut stdout, &mut said).map_err(failed)?;
    }
    if let Some(mut stderr) = stderr {
        let _ = std::io::Read::read_to_string(&mut stderr, &mut complained);
    }
    match said.is_empty() {
        true => Err(unavailable("copy", complained.trim())),
        false => Ok(said),
    }
}
