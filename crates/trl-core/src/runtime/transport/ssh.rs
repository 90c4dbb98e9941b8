//! A machine behind the system's `ssh`: its config, agents, jump hosts and known hosts are the user's.
//!
//! 1. One command asks which system and architecture it is, and which program is there.
//! 2. If ours is not, it is sent through another, and takes its place by itself ([`crate::runtime::arrival`]).
//! 3. A third is the stream. While this daemon lives, the first two are not repeated, unless a connection fails.
//!
//! Whatever shell the user has there reads `sh -c '...'`, and `sh` the rest: so there is no single quote, no backslash and
//! no end of line in it. What the user's own files print before it is passed over.
//!
//! The program lies in `~/.cache/trl/bin/<sha256>/trl`. Whoever can change that can change the user's shell as well.

use std::convert::Infallible;
use std::fs::File;
use std::io::Seek;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trl_link::Key;
use trl_proto::Error;
use trl_proto::runtime::{self, RuntimeSpec};

use super::binary::Binary;
use super::program::{self, Said};
use super::{Connection, wrong};
use crate::runtime::arrival;
use crate::runtime::far::{Steps, unavailable};

/// Before what the user says, so that it cannot be said otherwise.
const OPTIONS: [&str; 12] = [
    "ssh",
    "-T",
    // Nobody is there to be asked for a password.
    "-oBatchMode=yes",
    // Sooner than whoever waits gives up, so that they hear the reason.
    "-oConnectTimeout=8",
    // A dead machine is noticed.
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3",
    "-oClearAllForwardings=yes",
    "-oEscapeChar=none",
    "-oRemoteCommand=none",
    // One that is there is used. Ours would take others down with it, as it ends with the daemon.
    "-oControlMaster=no",
    // Reasons, and no banner.
    "-oLogLevel=ERROR",
    "-oPermitLocalCommand=no",
];

/// Where our programs are, from the user's home.
const SHELF: &str = ".cache/trl/bin";
/// Begins the line that is an answer, among what else is printed.
const MARK: &str = "trl-finds";
/// How often it is looked how far a copy has come.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Ssh {
    /// The user's options, and where to.
    words: Vec<String>,
    binary: runtime::Binary,
    /// How to start the program there, once it was found. Taken by the next connection: if that fails, it is looked for
    /// again.
    known: Mutex<Option<String>>,
}

/// What is at the other end.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    arch: String,
    /// What was asked for beside that.
    rest: String,
}

impl Ssh {
    pub(super) fn of(spec: &RuntimeSpec) -> Result<Self, Error> {
        let target = spec.target.as_ref().filter(|target| !target.is_empty() && !target.starts_with('-'));
        let target = target.ok_or_else(|| wrong("needs a `target`, as ssh takes it"))?;
        let words = spec.options.iter().chain([target]).cloned().collect();
        Ok(Self { words, binary: spec.binary, known: Mutex::default() })
    }

    pub(super) async fn connect(&self, key: Key, steps: &Steps) -> Result<Connection, Error> {
        let known = self.known().take();
        let start = match known {
            Some(start) => start,
            None => {
                let start = match self.binary {
                    runtime::Binary::Copy => self.copied(steps).await?,
                    runtime::Binary::Installed => self.installed().await?,
                };
                self.known().insert(start).clone()
            }
        };
        program::connect(&self.command(&format!("{start} stdio --resume {key}"))).await
    }

    fn known(&self) -> MutexGuard<'_, Option<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The words that run this there.
    fn command(&self, script: &str) -> Vec<String> {
        let options = OPTIONS.iter().map(ToString::to_string);
        options.chain(self.words.iter().cloned()).chain(["--".into(), format!("sh -c '{script}'")]).collect()
    }

    /// Asks the machine what it is, and for what `more` prints.
    async fn ask(&self, more: &str) -> Result<Found, Error> {
        // A line of its own, whatever was printed before it.
        let script = format!("echo; echo {MARK} $(uname -sm) $({more})");
        let said = program::run(&self.command(&script), None).await;
        understood(&said.map_err(|why| unavailable("connect", &why))?)
    }

    /// There is one of the same version on the `PATH`.
    async fn installed(&self) -> Result<String, Error> {
        let Found { rest, .. } = self.ask("trl --version 2>&1").await?;
        let ours = concat!("trl ", env!("CARGO_PKG_VERSION"));
        if rest != ours {
            return Err(unavailable("version", &format!("it has {rest:?}, this is {ours:?}"))
                .hint("install the same version there, or leave out binary = \"installed\""));
        }
        Ok("exec trl".into())
    }

    /// Ours is in its place, or is put there.
    async fn copied(&self, steps: &Steps) -> Result<String, Error> {
        let name = arrival::NAME;
        let Found { arch, rest } =
            self.ask(&format!("cd \"$HOME/{SHELF}\" 2>/dev/null && echo */{name}")).await?;
        let binary = Binary::of(&arch).await?;
        let place = format!("{}/{name}", binary.digest);
        if !rest.split(' ').any(|there| there == place) {
            self.send(&binary, steps).await?;
        }
        // Which of them are the newest is told by their directories.
        let dir = format!("$HOME/{SHELF}/{}", binary.digest);
        Ok(format!("touch \"{dir}\"; exec \"{dir}/{name}\""))
    }

    async fn send(&self, binary: &Binary, steps: &Steps) -> Result<(), Error> {
        let digest = &binary.digest;
        let script = format!(
            "umask 077; d=\"$HOME/{SHELF}\"; n=\"$d/new.$$\"; mkdir -p \"$d\" && cat >\"$n\" && chmod 700 \"$n\" && \
             \"$n\" digest --settle {digest} || rm -f \"$n\""
        );
        let (file, length) = binary.open()?;
        // The position in a file is shared with whoever reads it.
        let ours = file.try_clone().map_err(|e| unavailable("copy", &e.to_string()))?;
        steps.now("copy", "the program is being copied there");
        let words = self.command(&script);
        let said = tokio::select! {
            said = program::run(&words, Some(file)) => said.map_err(|why| unavailable("copy", &why))?,
            never = tell(ours, length, steps) => match never {},
        };
        match said.stdout.lines().any(|line| line == digest) {
            true => Ok(()),
            false => Err(unavailable("copy", &reason(&said, "the program did not take its place there"))),
        }
    }
}

/// Says how far a copy has come, whenever it has come further.
async fn tell(mut file: File, length: u64, steps: &Steps) -> Infallible {
    let mut before = 0;
    loop {
        tokio::time::sleep(LOOK).await;
        let now = file.stream_position().unwrap_or(before);
        if now != before {
            before = now;
            let (done, all) = (now as f64 / 1e6, length as f64 / 1e6);
            steps.now("copy", &format!("the program is being copied there: {done:.1} of {all:.1} MB"));
        }
    }
}

/// The answer among what was printed.
fn understood(said: &Said) -> Result<Found, Error> {
    let answer = said.stdout.lines().find_map(|line| line.strip_prefix(MARK)?.strip_prefix(' '));
    let answer = answer.ok_or_else(|| unavailable("connect", &reason(said, "it says nothing")))?;
    let mut words = answer.splitn(3, ' ');
    match (words.next(), words.next()) {
        (Some("Linux"), Some(arch)) => {
            Ok(Found { arch: arch.into(), rest: words.next().unwrap_or_default().trim().into() })
        }
        _ => Err(unavailable("copy", &format!("it is no Linux machine: {answer}"))),
    }
}

/// What was said on stderr, or else at all.
fn reason(said: &Said, otherwise: &str) -> String {
    let words = [said.stderr.trim(), said.stdout.trim(), otherwise];
    words.into_iter().find(|words| !words.is_empty()).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stdout: &str, stderr: &str) -> Said {
        Said { stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn an_answer_is_found_among_noise() {
        let found = |arch: &str, rest: &str| Found { arch: arch.into(), rest: rest.into() };
        let heard = |stdout: &str| understood(&said(stdout, ""));
        assert_eq!(heard("\ntrl-finds Linux x86_64\n"), Ok(found("x86_64", "")));
        assert_eq!(
            heard("Welcome!\nfortune \ntrl-finds Linux aarch64 aa/trl bb/trl\n"),
            Ok(found("aarch64", "aa/trl bb/trl"))
        );
        let other = heard("\ntrl-finds FreeBSD amd64\n").unwrap_err();
        assert!(other.message.contains("FreeBSD amd64"), "{other}");
    }

    #[test]
    fn the_reason_is_that_of_ssh() {
        let refused = understood(&said("", "me@there: Permission denied (publickey).")).unwrap_err();
        assert_eq!(refused.message, "me@there: Permission denied (publickey).");
        assert_eq!(
            understood(&said("This account is closed.\n", "")).unwrap_err().message,
            "This account is closed."
        );
    }

    #[test]
    fn every_shell_reads_a_command_alike() {
        let spec =
            RuntimeSpec { target: Some("there".into()), ..RuntimeSpec::new(runtime::RuntimeKind::Ssh) };
        let ssh = Ssh::of(&spec).unwrap();
        let words = ssh.command("echo \"$HOME\"");
        assert_eq!(words[words.len() - 3..], ["there", "--", "sh -c 'echo \"$HOME\"'"]);
    }
}
