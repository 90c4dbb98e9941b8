//! What the client and the operator know: each command, and what they were told of it.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;
use trl_testkit::Daemon;

/// Programs that run at once, or never; a person is asked about all others.
const RULES: &str = "default: ask\nrules:\n- allow: [BIN/run, BIN/slow]\n- deny: [BIN/never]\n";
const PROGRAM: &str = "#!/bin/sh\nprintf . >> \"$1\"\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// No rule asks about it.
    Plain,
    /// `approval: "return"`.
    Return,
    /// Somebody waits for the answer, as long as the daemon lives.
    Wait,
    /// A rule forbids it.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Approve,
    Reject,
    /// The session was closed.
    Cancel,
}

impl Answer {
    pub(crate) fn state(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Reject => "rejected",
            Self::Cancel => "cancelled",
        }
    }
}

/// One command.
#[derive(Debug)]
pub(crate) struct Deed {
    pub(crate) command: String,
    /// What it leaves.
    pub(crate) evidence: PathBuf,
    /// Empty: it has none.
    pub(crate) session: String,
    pub(crate) how: How,
    pub(crate) execution: Option<String>,
    /// Id and digest, once somebody was told of it.
    pub(crate) request: Option<(String, String)>,
    /// What was answered, and whether the daemon said that it heard.
    pub(crate) answer: Option<(Answer, bool)>,
    /// The answer came when nobody waited for it any more: it lets the same command through, as another execution.
    pub(crate) granted: bool,
    /// Its result was told.
    pub(crate) done: bool,
    /// Daemons that died since it was asked for.
    pub(crate) age: u32,
    /// Nothing more comes of it.
    pub(crate) settled: bool,
}

impl Deed {
    /// Whether a command of the history is this one, or what a person made of it.
    pub(crate) fn is(&self, command: &Value) -> bool {
        let last = command.as_str().and_then(|command| command.split(' ').next_back());
        last == self.evidence.to_str()
    }

    /// How often it ran.
    pub(crate) fn ran(&self) -> u64 {
        std::fs::metadata(&self.evidence).map_or(0, |meta| meta.len())
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.settled && self.answer.is_none() && self.request.is_some()
    }
}

#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) deeds: Vec<Deed>,
    pub(crate) bin: String,
    marks: String,
    /// Requests that were seen to be answered.
    pub(crate) answered: u64,
    pub(crate) unknown: u64,
}

impl Book {
    /// With the programs that commands are made of, and rules for them.
    pub(crate) fn begin(daemon: &Daemon) -> Self {
        let (bin, marks) = (daemon.dir().text("bin"), daemon.dir().text("marks"));
        daemon.dir().dir("marks");
        for name in ["run", "ask", "never"] {
            daemon.dir().program(&format!("bin/{name}"), PROGRAM);
        }
        daemon.dir().program("bin/slow", &format!("{PROGRAM}exec sleep 600\n"));
        daemon.dir().file("config/trl/approvals.yaml", RULES.replace("BIN", &bin));
        Self { deeds: Vec::new(), bin, marks, answered: 0, unknown: 0 }
    }

    /// Another command; returns its place.
    pub(crate) fn add(&mut self, how: How, session: &str, program: &str) -> usize {
        let n = self.deeds.len();
        let evidence = format!("{}/{n}", self.marks);
        self.deeds.push(Deed {
            command: format!("{}/{program} {evidence}", self.bin),
            evidence: evidence.into(),
            session: session.into(),
            how,
            execution: None,
            request: None,
            answer: None,
            granted: false,
            done: false,
            age: 0,
            settled: false,
        });
        n
    }

    /// All that anybody was told of.
    pub(crate) fn requests(&self) -> HashSet<String> {
        self.deeds.iter().filter_map(|deed| deed.request.as_ref()).map(|(id, _)| id.clone()).collect()
    }

    /// A program that nobody has been asked about.
    pub(crate) fn new_program(&mut self, kind: &str) -> String {
        let name = format!("{kind}-{}", self.deeds.len());
        std::os::unix::fs::symlink(format!("{}/ask", self.bin), format!("{}/{name}", self.bin)).unwrap();
        name
    }

    pub(crate) fn note_request(&mut self, n: usize, request: &Value) {
        let text = |key: &str| request[key].as_str().unwrap_or_default().to_string();
        self.deeds[n].request = Some((text("request_id"), text("digest")));
        self.deeds[n].execution.get_or_insert_with(|| text("execution_id"));
    }
}

impl fmt::Display for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ran: u64 = self.deeds.iter().map(Deed::ran).sum();
        let (all, answered, unknown) = (self.deeds.len(), self.answered, self.unknown);
        write!(f, "{all} commands, {ran} ran, {answered} answers, {unknown} ends unknown")
    }
}
