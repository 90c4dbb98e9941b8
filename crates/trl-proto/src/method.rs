//! The one table of methods: what each is called and who may call it. Every transport asks here.

use serde::{Deserialize, Serialize};

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Watches.
    Viewer,
    /// Runs things, within its ceilings.
    Agent,
    /// Everything.
    Operator,
}

/// The least role a method asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Watch,
    Run,
    Operate,
}

/// Whether a process that itself belongs to a session may call a method (about its own session only).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromInside {
    Allowed,
    /// It would reach beyond the session: a new session escapes the timeout and the kill of the one it is in, and a file
    /// that the daemon reads or writes is out of its sandbox's sight.
    Refused,
}

macro_rules! methods {
    ($($variant:ident $name:literal $access:ident $inside:ident $about:literal;)*) => {
        /// A method of the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method { $($variant),* }

        impl Method {
            pub const ALL: &'static [Method] = &[$(Method::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// One line for people.
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),* }
            }

            pub fn access(self) -> Access {
                match self { $(Self::$variant => Access::$access),* }
            }

            pub fn from_inside(self) -> FromInside {
                match self { $(Self::$variant => FromInside::$inside),* }
            }
        }
    };
}

methods! {
    SystemPing      "system.ping"      Watch   Allowed "is the daemon alive, and which version";
    SystemInfo      "system.info"      Watch   Allowed "limits, paths and capabilities of the daemon";
    SystemStats     "system.stats"     Watch   Allowed "counters and sizes";
    SystemDoctor    "system.doctor"    Watch   Refused "what this machine can do, and what could be better";
    SystemLog       "system.log"       Operate Refused "the last lines of the daemon's log";
    SystemAuth      "system.auth"      Watch   Allowed "present a token; only as the first request of a connection";
    SystemShutdown  "system.shutdown"  Operate Refused "end the daemon and all its sessions";
    SessionCreate   "session.create"   Run     Refused "start a session";
    SessionList     "session.list"     Watch   Allowed "the sessions this connection may see";
    SessionInfo     "session.info"     Watch   Allowed "one session, ended ones too for a while";
    SessionGet      "session.get"      Run     Refused "open a closed session again";
    SessionClose    "session.close"    Run     Refused "end its processes, keep its record";
    SessionDestroy  "session.destroy"  Run     Refused "end a session for good";
    SessionDelete   "session.delete"   Run     Refused "end a session, and remove its records and files";
    SessionHistory  "session.history"  Watch   Allowed "what was run, newest first, with search";
    SessionEvents   "session.events"   Watch   Allowed "events.subscribe, for one session";
    SessionReset    "session.reset"    Run     Refused "a fresh shell under the same id";
    CheckpointCreate "checkpoint.create" Run   Refused "keep the state of a session's shell";
    CheckpointList  "checkpoint.list"  Watch   Allowed "the kept states of a session";
    CheckpointRestore "checkpoint.restore" Run Refused "a fresh shell with a state that was kept";
    CheckpointDelete "checkpoint.delete" Run   Refused "forget a kept state";
    ExecRun         "exec.run"         Run     Allowed "run a command and wait for its result";
    ExecStream      "exec.stream"      Run     Allowed "run a command and push its output as it comes";
    ExecStart       "exec.start"       Run     Allowed "start a process, and wait for it for so long at most";
    ExecWait        "exec.wait"        Run     Allowed "wait for an end, a pattern, silence or some bytes";
    ExecResize      "exec.resize"      Run     Allowed "give the terminal of an execution another size";
    ExecCancel      "exec.cancel"      Run     Allowed "end a running or queued command";
    ExecInput       "exec.input"       Run     Allowed "write to, or close, the stdin of a command";
    ExecSignal      "exec.signal"      Run     Allowed "send a signal to everything a command started";
    ExecOutput      "exec.output"      Watch   Allowed "read output by byte offset";
    ExecResult      "exec.result"      Watch   Allowed "the result of an execution, as long as it is retained";
    ExecList        "exec.list"        Watch   Allowed "live and retained executions";
    TokenCreate     "token.create"     Operate Refused "make a token with a role; the reply alone holds it";
    TokenList       "token.list"       Operate Refused "the tokens there are, without their secrets";
    TokenRevoke     "token.revoke"     Operate Refused "end a token, and the connections that use it";
    CaseList        "case.list"        Watch   Refused "the cases sessions can be created from, and broken ones";
    CaseGet         "case.get"         Watch   Refused "one case, as it takes effect";
    CaseValidate    "case.validate"    Watch   Refused "is this text a case, and what is wrong with it";
    CaseTrust       "case.trust"       Operate Refused "let all of a workspace's case take effect";
    RuntimeList     "runtime.list"     Watch   Refused "the places where sessions can live, and how it stands with them";
    RuntimeGet      "runtime.get"      Watch   Refused "one of them";
    RuntimeHealth   "runtime.health"   Watch   Refused "ask its engine, which is started there if need be";
    RuntimeAdd      "runtime.add"      Operate Refused "one more, also for the next daemon";
    RuntimeRemove   "runtime.remove"   Operate Refused "one less: at once, or when its last session has ended";
    EventsSubscribe "events.subscribe" Watch   Allowed "push what happens to sessions and executions";
    HitlList        "hitl.list"        Watch   Refused "commands that wait for a person, or did";
    HitlGet         "hitl.get"         Watch   Refused "one of them";
    HitlRespond     "hitl.respond"     Operate Refused "say yes or no to one of them";
    HitlWait        "hitl.wait"        Watch   Refused "wait for the answer to one of them";
    HitlAudit       "hitl.audit"       Operate Refused "who decided what, and when";
    AgentSendMessage "agent.send_message" Run  Refused "give the session's agent something to do, and push what it does";
    AgentStop       "agent.stop"       Run     Refused "end what the agent does";
    AgentHistory    "agent.history"    Watch   Refused "messages to the agent and what came of them";
    AgentFollow     "agent.follow"     Watch   Refused "push what the agent does about a message, from any point on";
    TerminalCreate  "terminal.create"  Run     Refused "start a program on a terminal";
    TerminalList    "terminal.list"    Watch   Refused "the terminals this connection may see";
    TerminalGet     "terminal.get"     Watch   Refused "one terminal, ended ones too for a while";
    TerminalInput   "terminal.input"   Run     Refused "type into a terminal";
    TerminalResize  "terminal.resize"  Run     Refused "give a terminal another size";
    TerminalSnapshot "terminal.snapshot" Watch Refused "bytes that bring a fresh terminal to the same state";
    TerminalScreen  "terminal.screen"  Watch   Refused "what a person would see";
    TerminalSignal  "terminal.signal"  Run     Refused "send a signal to whoever has the keyboard";
    TerminalDestroy "terminal.destroy" Run     Refused "end everything a terminal started, at once or after a grace";
    TerminalKeep    "terminal.keep"    Run     Refused "take a destroy back while it is still to come";
    WorkspaceCreate "workspace.create" Run     Refused "give a workspace a directory: a fresh one, or for the operator any";
    WorkspaceList   "workspace.list"   Watch   Refused "the workspaces this connection may use";
    WorkspaceGet    "workspace.get"    Watch   Refused "one workspace";
    FsList          "fs.list"          Watch   Refused "what is in a directory";
    FsStat          "fs.stat"          Watch   Refused "what is known of a file";
    FsRead          "fs.read"          Watch   Refused "some bytes of a file";
    FsWrite         "fs.write"         Run     Refused "write a file, all of it or nothing";
    FsMkdir         "fs.mkdir"         Run     Refused "make a directory";
    FsMove          "fs.move"          Run     Refused "give a file or directory another name";
    FsRemove        "fs.remove"        Run     Refused "remove a file, or a directory with all that is in it";
    FsGlob          "fs.glob"          Watch   Refused "files by a pattern of their path";
    FsGrep          "fs.grep"          Watch   Refused "lines by a regular expression";
    FsWatch         "fs.watch"         Watch   Refused "push what changes below a directory";
}

impl Method {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|m| m.name() == name)
    }

    /// Is the reply owed at once, or may it wait for processes?
    pub fn answers_at_once(self) -> bool {
        use Method::*;
        !matches!(
            self,
            SystemDoctor
                | SessionCreate
                | SessionClose
                | SessionDestroy
                | SessionDelete
                | SessionHistory
                | SessionReset
                | CheckpointCreate
                | CheckpointList
                | CheckpointRestore
                | CheckpointDelete
                | ExecRun
                | ExecStream
                | ExecStart
                | ExecWait
                | ExecCancel
                | ExecInput
                | RuntimeHealth
                | RuntimeRemove
                | HitlRespond
                | HitlWait
                | HitlAudit
                | AgentSendMessage
                | AgentStop
                | AgentHistory
                | AgentFollow
                | TerminalCreate
                | TerminalInput
                | TerminalDestroy
                | FsList
                | FsRead
                | FsWrite
                | FsMove
                | FsRemove
                | FsGlob
                | FsGrep
                | FsWatch
        )
    }

    /// May `role` call this at all?
    pub fn allows(self, role: Role) -> bool {
        match self.access() {
            Access::Watch => true,
            Access::Run => matches!(role, Role::Agent | Role::Operator),
            Access::Operate => role == Role::Operator,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parse_back() {
        for method in Method::ALL {
            assert_eq!(Method::parse(method.name()), Some(*method));
        }
        assert_eq!(Method::parse("exec.nope"), None);
    }

    #[test]
    fn each_role_may_do_exactly_its_part() {
        for method in Method::ALL {
            let allowed = [Role::Viewer, Role::Agent, Role::Operator].map(|role| method.allows(role));
            let expected = match method.access() {
                Access::Watch => [true, true, true],
                Access::Run => [false, true, true],
                Access::Operate => [false, false, true],
            };
            assert_eq!(allowed, expected, "{}", method.name());
        }
    }
}
