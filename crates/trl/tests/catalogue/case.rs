//! One row in one shell: its daemon, its session, and the verbs the rows are written in.
//!
//! Rows answer with an [`Outcome`] instead of panicking, so that a known failure can be told by its message.

use std::time::Duration;

use trl_testkit::{Builder, Daemon, Run, Scratch, Session, Shell, Value, comes_true, json, procs_matching};

/// Ok, or what went wrong.
pub(crate) type Outcome = Result<(), String>;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_trl");

/// Between TERM and KILL in these tests: long enough for a handler to run, short enough to wait for.
const GRACE_S: f64 = 0.6;

/// How long a row that is known to hang may do so.
const KNOWN_HANG_S: f64 = 4.0;

/// One behaviour of a session.
pub(crate) struct Row {
    /// Never reused or changed: documents refer to it.
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) shells: Shells,
    /// Why the row does not hold when sessions live in a container. None: it does.
    pub(crate) not_in_containers: Option<&'static str>,
    pub(crate) run: fn(&mut Case) -> Outcome,
}

impl Row {
    pub(crate) const fn not_in_containers(mut self, why: &'static str) -> Self {
        self.not_in_containers = Some(why);
        self
    }
}

/// Which shells a row makes sense in.
pub(crate) enum Shells {
    All,
    /// Those with the syntax of sh.
    Posix,
    Only(&'static [Shell]),
    PosixBut(&'static [Shell]),
}

impl Shells {
    pub(crate) fn include(&self, shell: Shell) -> bool {
        match self {
            Self::All => true,
            Self::Posix => !shell.is_fish(),
            Self::Only(these) => these.contains(&shell),
            Self::PosixBut(others) => !shell.is_fish() && !others.contains(&shell),
        }
    }
}

pub(crate) const fn row(
    number: u32,
    name: &'static str,
    shells: Shells,
    run: fn(&mut Case) -> Outcome,
) -> Row {
    Row { number, name, shells, not_in_containers: None, run }
}

pub(crate) struct Case {
    pub(crate) shell: Shell,
    pub(crate) s: Session,
    pub(crate) daemon: Daemon,
}

impl Case {
    pub(crate) fn start(shell: Shell, known: bool) -> Self {
        let daemon = Builder::new(BINARY).set("exec", "grace_s", GRACE_S).start();
        let mut s = daemon.session(shell);
        if known {
            s.hangs_after_s = KNOWN_HANG_S;
        }
        Self { shell, s, daemon }
    }

    /// This row's text in the syntax of its shell.
    pub(crate) fn pick<'a>(&self, posix: &'a str, fish: &'a str) -> &'a str {
        if self.shell.is_fish() { fish } else { posix }
    }

    pub(crate) fn dir(&self) -> &Scratch {
        self.daemon.dir()
    }

    pub(crate) fn x(&mut self, command: &str) -> Run {
        self.s.run(command)
    }

    pub(crate) fn x_with(&mut self, command: &str, extra: Value) -> Run {
        self.s.run_with(command, extra)
    }

    /// Runs it and wants exactly this stdout and code.
    pub(crate) fn want(&mut self, command: &str, out: &str, code: i64) -> Outcome {
        self.want_with(command, json!({}), out, code)
    }

    pub(crate) fn want_with(&mut self, command: &str, extra: Value, out: &str, code: i64) -> Outcome {
        let run = self.x_with(command, extra);
        is(&run, out, code).map_err(|why| format!("{command:.60}: {why}"))
    }

    /// Runs it; only a hang is wrong.
    pub(crate) fn ends(&mut self, command: &str) -> Result<Run, String> {
        let run = self.x(command);
        if run.timed_out { Err(format!("{command:.60}: timed out")) } else { Ok(run) }
    }

    pub(crate) fn alive(&mut self) -> Outcome {
        self.want("echo alive", "alive\n", 0)
    }

    /// Puts something into the shell that a rollback must keep.
    pub(crate) fn keep(&mut self) -> Outcome {
        self.want(self.pick("keep=kept", "set -g keep kept"), "", 0)
    }

    pub(crate) fn kept(&mut self) -> Outcome {
        self.want("echo $keep", "kept\n", 0)
    }

    /// It must end by itself with any code but 0, and earlier state must survive it.
    pub(crate) fn bad(&mut self, command: &str) -> Outcome {
        self.keep()?;
        let run = self.ends(command)?;
        req(run.code != 0, || format!("{command:.50}: code 0"))?;
        self.kept().map_err(|why| format!("after {command:.50}: {why}"))
    }

    /// Runs into its timeout. The timeout grows until the command got as far as printing `reached`, so that a slow
    /// machine makes the test slower and not wrong.
    pub(crate) fn times_out(&mut self, command: &str, reached: &str) -> Result<Run, String> {
        for timeout_s in [0.3, 1.5, 6.0, 20.0] {
            let run = self.x_with(command, json!({"timeout_s": timeout_s}));
            req(run.timed_out, || format!("{command:.60}: ended before its timeout, code {}", run.code))?;
            if run.out().contains(reached) {
                return Ok(run);
            }
        }
        Err(format!("{command:.60}: never printed {reached:?}"))
    }

    /// This many live processes of `pattern`, soon.
    pub(crate) fn count(&self, pattern: &str, wanted: usize, or: &str) -> Outcome {
        let within = Duration::from_secs(if wanted == 0 { 20 } else { 5 });
        req(comes_true(within, &mut || procs_matching(pattern).len() == wanted), || {
            format!("{or}: {} of {pattern:?}, not {wanted}", procs_matching(pattern).len())
        })
    }

    /// None is left, now: a result is only sent when its command's processes are gone.
    pub(crate) fn none_left(&self, pattern: &str) -> Outcome {
        let left = procs_matching(pattern).len();
        req(left == 0, || format!("{left} of {pattern:?} still there"))
    }

    /// What every row must leave: an idle session that runs commands.
    pub(crate) fn still_usable(&mut self) -> Outcome {
        let state = self.s.state();
        req(matches!(state.as_str(), "idle" | "ready"), || format!("afterwards the session is {state}"))?;
        // A row may have left any function or alias behind; `\` and a builtin are what most survive.
        let run = self.x_with("echo usable", json!({"timeout_s": 10}));
        req(!run.timed_out, || "afterwards the session hangs".into())?;
        let state = self.s.state();
        req(state == "idle", || format!("at the end the session is {state}"))
    }
}

pub(crate) fn is(run: &Run, out: &str, code: i64) -> Outcome {
    req(!run.timed_out, || "timed out".into())?;
    let told = || format!("(stderr {:.120?}, code {})", run.err(), run.code);
    req(run.stdout == out.as_bytes(), || format!("stdout {:.120?} want {out:.60?} {}", run.out(), told()))?;
    req(run.code == code, || format!("code {} want {code} {}", run.code, told()))
}

pub(crate) fn req(fact: bool, why: impl FnOnce() -> String) -> Outcome {
    if fact { Ok(()) } else { Err(why()) }
}
