//! What is done with each daemon, until it is gone.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trl_testkit::{Client, Daemon, RpcError, comes_true, merged, process};

use super::book::{Answer, Book, How};

/// When the daemon is to be killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kill {
    /// So long after this call was sent, and whatever follows from that.
    Moment { call: usize, late_us: u64 },
    /// By itself, if it comes to the place it was told.
    Itself,
}

pub(crate) struct Script<'a> {
    pid: i32,
    book: &'a mut Book,
    kill: Kill,
    calls: usize,
    agent: Client,
    operator: Client,
}

/// None: the daemon is gone.
type Told<T> = Option<T>;

impl<'a> Script<'a> {
    /// Ends with the daemon dead; returns how many calls that took.
    pub(crate) fn run(daemon: &mut Daemon, book: &'a mut Book, kill: Kill) -> usize {
        let calls = Self::with(daemon, book, kill).map_or(0, |(calls, _)| calls);
        daemon.kill9();
        calls
    }

    /// The same for one that kills itself; false when it did not.
    pub(crate) fn run_to_its_end(daemon: &mut Daemon, book: &'a mut Book) -> bool {
        let over = Self::with(daemon, book, Kill::Itself).is_some_and(|(_, over)| over);
        if over {
            daemon.kill9();
        } else {
            daemon.reap();
        }
        !over
    }

    /// How many calls were made, and whether there are no more to make.
    fn with(daemon: &Daemon, book: &'a mut Book, kill: Kill) -> Option<(usize, bool)> {
        let agent = Client::try_connect(&daemon.socket()).ok()?;
        let operator = Client::try_connect(&daemon.socket()).ok()?;
        let mut script = Self { pid: daemon.pid(), book, kill, calls: 0, agent, operator };
        let token = daemon.operator_token();
        let over = script.all(&token).is_some();
        Some((script.calls, over))
    }

    fn all(&mut self, token: &str) -> Told<()> {
        self.operator_call("system.auth", json!({"token": token}))?.unwrap();
        self.operator_call("events.subscribe", json!({"kinds": ["hitl.requested"]}))?.unwrap();
        self.take_up()?;
        let session = self.session()?;
        self.plain(&session, "run")?;
        self.direct()?;
        self.forbidden(&session)?;
        self.returned(&session, "ask", json!({"decision": "approve"}))?;
        self.returned(&session, "ask", json!({"decision": "reject", "reason": "not now"}))?;
        self.waited(&session)?;
        self.edited(&session)?;
        for scope in ["session", "always"] {
            let program = self.book.new_program(scope);
            self.returned(&session, &program, json!({"decision": "approve", "scope": scope}))?;
            self.plain(&session, &program)?;
        }
        self.agent_call("session.history", json!({"session_id": session}))?.unwrap();
        self.closed()?;
        self.deleted()?;
        self.left_open()?;
        self.slow(&session)
    }

    // ---- what is done

    /// Requests that nobody has answered yet, whichever daemon was asked.
    fn take_up(&mut self) -> Told<()> {
        for how in [How::Return, How::Wait] {
            let open = self.book.deeds.iter().position(|deed| deed.how == how && deed.is_open());
            let Some(n) = open else { continue };
            self.book.deeds[n].granted = how == How::Wait;
            self.answer(n, json!({"decision": "approve"}))?;
            match how {
                How::Wait => self.run_granted(n)?,
                _ => self.wait_for_end(n)?,
            }
        }
        Some(())
    }

    /// Whoever waited is gone; the yes lets the same command through once.
    fn run_granted(&mut self, n: usize) -> Told<()> {
        let session = self.book.deeds[n].session.clone();
        self.agent_call("session.get", json!({"session_id": session}))?.unwrap();
        self.run_plainly(n)
    }

    fn session(&mut self) -> Told<String> {
        let params = json!({"shell": "/bin/sh", "working_dir": "/"});
        let made = self.agent_call("session.create", params)?.unwrap();
        Some(made["session_id"].as_str().unwrap().to_string())
    }

    fn plain(&mut self, session: &str, program: &str) -> Told<()> {
        let n = self.book.add(How::Plain, session, program);
        self.run_plainly(n)
    }

    fn run_plainly(&mut self, n: usize) -> Told<()> {
        let result = self.agent_call("exec.run", self.command(n))?.unwrap();
        assert_eq!(result["exit_code"], 0, "{result}");
        self.note_done(n, &result);
        Some(())
    }

    /// A process of its own.
    fn direct(&mut self) -> Told<()> {
        let n = self.book.add(How::Plain, "", "run");
        let argv: Vec<String> = self.book.deeds[n].command.split(' ').map(String::from).collect();
        let result = self.agent_call("exec.start", json!({"argv": argv, "stdin": "null"}))?.unwrap();
        self.note_done(n, &result);
        Some(())
    }

    fn forbidden(&mut self, session: &str) -> Told<()> {
        let n = self.book.add(How::Never, session, "never");
        let refused = self.agent_call("exec.run", self.command(n))?.unwrap_err();
        assert_eq!(refused.code, "APPROVAL_DENIED");
        Some(())
    }

    /// Asked for, answered, and waited for.
    fn returned(&mut self, session: &str, program: &str, answer: Value) -> Told<()> {
        let n = self.book.add(How::Return, session, program);
        self.ask(n)?;
        let yes = answer["decision"] == "approve";
        self.answer(n, answer)?;
        if yes { self.wait_for_end(n) } else { Some(()) }
    }

    fn ask(&mut self, n: usize) -> Told<()> {
        let asked = self.agent_call("exec.run", merged(self.command(n), json!({"approval": "return"})))?;
        let request = asked.unwrap()["request_id"].clone();
        let request = self.operator_call("hitl.get", json!({"request_id": request}))?.unwrap();
        self.book.note_request(n, &request);
        Some(())
    }

    fn waited(&mut self, session: &str) -> Told<()> {
        let n = self.book.add(How::Wait, session, "ask");
        let call = self.ask_and_wait(n)?;
        self.answer(n, json!({"decision": "approve"}))?;
        let result = self.agent.reply_or_gone(call)?.unwrap();
        self.note_done(n, &result);
        Some(())
    }

    /// The id of the call that waits.
    fn ask_and_wait(&mut self, n: usize) -> Told<u64> {
        let call = self.agent.send_or_gone("exec.run", self.command(n))?;
        self.passed();
        let (session, known) = (self.book.deeds[n].session.clone(), self.book.requests());
        let wanted = |event: &Value| {
            let new = event["request_id"].as_str().is_some_and(|id| !known.contains(id));
            event["session_id"] == *session && new
        };
        let asked = self.operator.recv_or_gone(|m| m["method"] == "event" && wanted(&m["params"]))?;
        let id = asked["params"]["request_id"].clone();
        let request = self.operator_call("hitl.get", json!({"request_id": id}))?.unwrap();
        self.book.note_request(n, &request);
        Some(call)
    }

    /// Another command than the one that was asked for.
    fn edited(&mut self, session: &str) -> Told<()> {
        let n = self.book.add(How::Return, session, "ask");
        self.ask(n)?;
        let other = self.book.deeds[n].command.replacen("/ask ", "/run ", 1);
        self.answer(n, json!({"decision": "approve", "command": other}))?;
        self.wait_for_end(n)
    }

    /// A session that closes answers what it waits for.
    fn closed(&mut self) -> Told<()> {
        let session = self.session()?;
        let n = self.book.add(How::Return, &session, "ask");
        self.ask(n)?;
        self.book.deeds[n].answer = Some((Answer::Cancel, false));
        self.agent_call("session.close", json!({"session_id": session}))?.unwrap();
        Some(())
    }

    /// Nothing is left of a session that is over and done with.
    fn deleted(&mut self) -> Told<()> {
        let session = self.session()?;
        let n = self.book.add(How::Plain, &session, "run");
        self.run_plainly(n)?;
        self.book.deeds[n].settled = true;
        self.agent_call("session.delete", json!({"session_id": session}))?.unwrap();
        Some(())
    }

    /// For the next daemon, or the one after that.
    fn left_open(&mut self) -> Told<()> {
        let session = self.session()?;
        let n = self.book.add(How::Return, &session, "ask");
        self.ask(n)?;
        let session = self.session()?;
        let n = self.book.add(How::Wait, &session, "ask");
        self.ask_and_wait(n).map(drop)
    }

    /// One that is in the middle of it when the daemon goes.
    fn slow(&mut self, session: &str) -> Told<()> {
        let n = self.book.add(How::Plain, session, "slow");
        self.agent.send_or_gone("exec.run", self.command(n))?;
        self.passed();
        let deed = &self.book.deeds[n];
        assert!(comes_true(trl_testkit::PATIENCE, &mut || deed.ran() > 0 || process::is_gone(self.pid)));
        (!process::is_gone(self.pid)).then_some(())
    }

    // ---- how it is done

    fn command(&self, n: usize) -> Value {
        let deed = &self.book.deeds[n];
        json!({"session_id": deed.session, "command": deed.command})
    }

    fn answer(&mut self, n: usize, mut params: Value) -> Told<()> {
        let (id, digest) = self.book.deeds[n].request.clone().unwrap();
        let said = if params["decision"] == "approve" { Answer::Approve } else { Answer::Reject };
        params["request_id"] = json!(id);
        params["digest"] = json!(digest);
        self.book.deeds[n].answer = Some((said, false));
        self.operator_call("hitl.respond", params.clone())?.unwrap();
        self.book.deeds[n].answer = Some((said, true));
        self.book.answered += 1;
        // Whoever comes second is told so.
        let second = self.operator_call("hitl.respond", params)?.unwrap_err();
        assert_eq!(second.code, "ALREADY_RESOLVED");
        Some(())
    }

    fn wait_for_end(&mut self, n: usize) -> Told<()> {
        let execution = self.book.deeds[n].execution.clone();
        let start = Instant::now();
        loop {
            // One of an earlier daemon is known once its session is open again.
            match self.agent_call("exec.result", json!({"execution_id": execution}))? {
                Ok(result) if result["status"] == "done" => {
                    self.book.deeds[n].done = true;
                    return Some(());
                }
                _ => assert!(start.elapsed() < trl_testkit::PATIENCE, "{execution:?} never ended"),
            }
            let _ = self.agent_call("exec.wait", json!({"execution_id": execution, "timeout_s": 5}))?;
        }
    }

    fn note_done(&mut self, n: usize, result: &Value) {
        let deed = &mut self.book.deeds[n];
        deed.execution = result["execution_id"].as_str().map(String::from);
        deed.done = true;
    }

    fn agent_call(&mut self, method: &str, params: Value) -> Told<Result<Value, RpcError>> {
        let call = self.agent.send_or_gone(method, params)?;
        self.passed();
        self.agent.reply_or_gone(call)
    }

    fn operator_call(&mut self, method: &str, params: Value) -> Told<Result<Value, RpcError>> {
        let call = self.operator.send_or_gone(method, params)?;
        self.passed();
        self.operator.reply_or_gone(call)
    }

    /// Another call is on its way.
    fn passed(&mut self) {
        self.calls += 1;
        if let Kill::Moment { call, late_us } = self.kill
            && call == self.calls
        {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(late_us) {
                std::hint::spin_loop();
            }
            process::signal(self.pid, rustix::process::Signal::KILL);
        }
    }
}
