//! `trl sh`, and this program called as `sh`, `bash`, `dash` or `zsh`: a shell for programs that start one, whose commands
//! run in the daemon's hands.
//!
//! ```text
//!  -c TEXT, FILE, stdin ─▶ exec.start (a fresh process) ─▶ pushes ─▶ our stdout and stderr ─▶ its end is ours
//!            └ TRL_SH_SESSION ─▶ that session's shell; busy: a fresh process beside it
//!  a person, --version, inside a session ─▶ the real shell, in our place
//! ```
//!
//! 1. [`words`] says what the shell would do with its words, [`real`] which shell that is.
//! 2. What needs no daemon, or is in the hands of one already, becomes the real shell.
//! 3. [`streams`] looks at our stdin, stdout and stderr, [`variables`] at our environment: [`Caller`].
//! 4. [`links`] says which daemon is meant, [`talk`] starts it there, carries bytes and signals, and waits; [`session`] finds the session that was asked for.
//! 5. We end as it ended: the same code, or the same signal.
//!
//! The words go to the real shell as they came: nothing is parsed here that the shell does not parse again.

mod links;
mod real;
mod session;
mod streams;
mod talk;
mod variables;
mod words;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use trl_proto::by_name;
use trl_proto::sandbox::{Mode, Net, SandboxParams};
use trl_proto::start::Umask;

use self::real::Shell;
use self::streams::Seat;
use self::variables::Variables;
use self::words::{Dialect, Task, Words};
use super::failure::Failure;
use super::print;
use crate::client::{self, ClientError, ReachError};
use crate::config::{Config, Flags};

/// What this program may be called as.
const NAMES: [&str; 4] = ["sh", "bash", "dash", "zsh"];
/// Found, and cannot be run: what shells say of a command they may not start.
const NOT_RUN: u8 = 126;
/// Not found.
const NO_SHELL: u8 = 127;

/// Says to go on without the daemon.
const FALLBACK: &str = "TRL_SH_FALLBACK";
const CASE: &str = "TRL_SH_CASE";
const SANDBOX: &str = "TRL_SH_SANDBOX";
const NET: &str = "TRL_SH_NET";
const NO_LOGIN: &str = "TRL_SH_NO_LOGIN";
const QUIET: &str = "TRL_SH_QUIET";

/// For the long help.
pub(super) const ABOUT: &str = "\
Behaves like the shell: `-c COMMAND [NAME [ARGUMENT...]]`, a FILE, or a script on stdin, with that shell's own options. \
The command runs in the daemon's hands, in a throw-away session with this directory and these variables, under its sandbox, \
rules and history; its output, exit code and signals are as the shell's own. With a link to this program called `bash`, \
`sh`, `dash` or `zsh` it does so under that name. `trl sh --install DIR` makes such links, which reach the daemon they were \
made for with any environment.

TRL_SH_SHELL        the shell it stands in for, by name or path [default: what it is called as]
TRL_SH_SESSION      run in the session of this name, made if there is none; beside it while it is busy
TRL_SH_SANDBOX      off, read-only or workspace-write; TRL_SH_NET: none, loopback or all
TRL_SH_CASE         the case of the throw-away session
TRL_SH_ENV          variables that go with it: all, none, NAME, PREFIX*, -NAME [default: all]
TRL_SH_NO_LOGIN     set: leave out -l, -i and --login
TRL_SH_FALLBACK     set: run the real shell when no daemon can be reached
TRL_SH_QUIET        set: no notes of ours on stderr

Exits with 126 when it was not run: the daemon cannot be reached, or a rule or a person refused it. See docs/shim.md.";

#[derive(Debug, clap::Args)]
pub(super) struct ShArgs {
    /// Run the real shell when no daemon can be reached
    #[arg(long)]
    fallback: bool,
    /// Make links called sh, bash, dash and zsh in DIR, which run their commands in this daemon
    #[arg(long, value_name = "DIR", conflicts_with_all = ["fallback", "words"])]
    install: Option<PathBuf>,
    /// As the shell takes them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

/// What is done without a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    Fail,
    RealShell,
}

/// Everything a command gets from us.
struct Caller {
    shell: Shell,
    words: Vec<OsString>,
    read: Words,
    seat: Seat,
    working_dir: String,
    umask: Umask,
    variables: Variables,
    sandbox: Option<SandboxParams>,
    case: Option<String>,
}

/// How it ended, and so how we do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exited(u8),
    Died(i32),
}

/// Why it did not run, or nobody knows how it ended.
enum Trouble {
    /// Nothing was started, as far as can be known.
    NoDaemon(ReachError),
    Failed(Failure),
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.into())
    }
}

/// Takes over when this program is called as a shell, or as `trl sh` with nothing before that.
pub(crate) fn entry() -> Option<ExitCode> {
    let mut given = std::env::args_os();
    let called = given.next()?;
    let mut words: Vec<OsString> = given.collect();
    if NAMES.iter().any(|name| real::base(&called) == OsStr::new(name)) {
        return Some(stand_in(&called, words, &Flags::default(), without()).into());
    }
    match words.first().zip(words.get(1)) {
        Some((first, second)) if first == "sh" && second != "--help" && second != "--install" => {
            words.remove(0);
            let fallback = words.first().is_some_and(|word| word == "--fallback");
            if fallback {
                words.remove(0);
            }
            let without = if fallback { Without::RealShell } else { without() };
            Some(stand_in(OsStr::new("sh"), words, &Flags::default(), without).into())
        }
        _ => None,
    }
}

/// `trl sh`, read by the command line.
pub(super) fn run(args: ShArgs, flags: &Flags) -> u8 {
    if let Some(dir) = &args.install {
        let config = Config::load(flags).map_err(Failure::from);
        return match config.and_then(|config| links::install(dir, &config)) {
            Ok(()) => 0,
            Err(why) => fail(&why, NOT_RUN),
        };
    }
    let without = if args.fallback { Without::RealShell } else { without() };
    stand_in(OsStr::new("sh"), args.words, flags, without)
}

fn without() -> Without {
    if is_set(FALLBACK) { Without::RealShell } else { Without::Fail }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

fn stand_in(called: &OsStr, words: Vec<OsString>, flags: &Flags, without: Without) -> u8 {
    let shell = match Shell::find(called) {
        Ok(shell) => shell,
        Err(why) => return fail(&Failure::Usage(why), NO_SHELL),
    };
    let read = words::read(&words, Dialect::of(shell.path.as_os_str()));
    if is_for_the_real_one(&read) || client::in_session() {
        return fail(&shell.become_it(&words).into(), NOT_RUN);
    }
    let (again, given) = (shell.clone(), words.clone());
    match Caller::new(shell, words, read).map_err(Trouble::Failed).and_then(|caller| go(caller, flags)) {
        Ok(End::Exited(code)) => code,
        Ok(End::Died(number)) => {
            trl_sys::signal::die_of(number);
            u8::try_from(128 + number).unwrap_or(NOT_RUN)
        }
        Err(Trouble::NoDaemon(why)) if without == Without::RealShell && !is_a_no(&why) => {
            say(&format!("{why}; going on with {} alone", again.path.display()));
            fail(&again.become_it(&given).into(), NOT_RUN)
        }
        Err(Trouble::NoDaemon(why)) => fail(&why.into(), NOT_RUN),
        Err(Trouble::Failed(why)) => fail(&why, NOT_RUN),
    }
}

/// A daemon is there, and will not: no reason to go on without it.
fn is_a_no(why: &ReachError) -> bool {
    matches!(
        why,
        ReachError::Client(ClientError::Refused(_) | ClientError::Token(_) | ClientError::Denied { .. })
    )
}

/// A person at a prompt, and questions about the shell itself.
fn is_for_the_real_one(read: &Words) -> bool {
    match read.task {
        Task::About | Task::Mistake => true,
        Task::Stdin => io::stdin().is_terminal(),
        Task::Command { .. } | Task::Script => false,
    }
}

fn go(caller: Caller, flags: &Flags) -> Result<End, Trouble> {
    let mut config = Config::load(flags).map_err(|e| Trouble::Failed(e.into()))?;
    let known = links::choose(&mut config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Trouble::Failed(e.into()))?;
    let end = runtime.block_on(talk::talk(&config, known, &caller));
    // A blocked read of our stdin must not keep a finished command alive.
    runtime.shutdown_background();
    end
}

impl Caller {
    fn new(shell: Shell, words: Vec<OsString>, read: Words) -> Result<Self, Failure> {
        let words = if is_set(NO_LOGIN) { words::unwelcoming(&words, &read) } else { words };
        let read = words::read(&words, Dialect::of(shell.path.as_os_str()));
        Ok(Self {
            variables: variables::ours(&shell.path),
            seat: Seat::find(),
            working_dir: working_dir()?,
            umask: umask(),
            sandbox: sandbox()?,
            case: std::env::var(CASE).ok().filter(|case| !case.is_empty()),
            shell,
            words,
            read,
        })
    }
}

/// What the caller calls this directory, if that is what it is: a link may lead to it.
fn working_dir() -> Result<String, Failure> {
    let here = std::env::current_dir()
        .map_err(|e| Failure::Usage(format!("the directory this was started in cannot be used: {e}")))?;
    let place = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let called = std::env::var_os("PWD").map(PathBuf::from);
    let called = called.filter(|dir| dir.is_absolute() && place(dir) == place(&here));
    let dir = called.unwrap_or(here).into_os_string();
    dir.into_string()
        .map_err(|dir| Failure::Usage(format!("{dir:?} is not valid UTF-8, which the wire needs")))
}

/// It can only be looked at by changing it.
fn umask() -> Umask {
    let ours = rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    rustix::process::umask(ours);
    Umask::of(ours.as_raw_mode())
}

fn sandbox() -> Result<Option<SandboxParams>, Failure> {
    fn named<T>(variable: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Failure> {
        let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
        let wrong = |why| Failure::Usage(format!("{variable}: {why}"));
        value.map(|value| read(&value).map_err(wrong)).transpose()
    }
    let mode = named(SANDBOX, by_name::<Mode>)?;
    let net = named(NET, by_name::<Net>)?;
    match (mode, net) {
        (None, Some(_)) => Err(Failure::Usage(format!("{NET} is for {SANDBOX}"))),
        (None, None) => Ok(None),
        (Some(mode), net) => Ok(Some(SandboxParams { net, ..mode.into() })),
    }
}

/// A failure that must be told, on one line of stderr.
fn fail(failure: &Failure, code: u8) -> u8 {
    failure.report(code);
    code
}

/// A word of ours between the command's.
fn say(note: &str) {
    if !is_set(QUIET) {
        print::note(&format!("trl: {note}"));
    }
}
