//! What agents come by: the tools of `trl mcp`, and the shell that is this program.
//!
//! - `socket`: the call of the daemon that a tool makes, made without it.
//! - `sh`: the shell that `trl sh` stands for, started as an agent starts it.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use trl_proto::Method;
use trl_proto::session::Renewal;
use trl_proto::start::StartParams;

use crate::Plan;
use crate::client::Lines;
use crate::daemon::Daemon;
use crate::race::{Race, Results, thoughtful, timed};
use crate::raw::spawn;
use crate::report::{Bar, Report};

/// Microseconds a tool may take beyond the call it makes.
const MOST: f64 = 1000.0;
/// Times the shell itself.
const MOST_TIMES: f64 = 3.0;
const SHELL: &str = "/bin/sh";

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let daemon = Daemon::start(&plan.trl)?;
    let calls = plan.pick(20, 10);
    let mut race = Race::default();
    tool_variants(&mut race, calls, plan, &daemon)?;
    race.add("sh", move || thoughtful(calls, || timed(|| spawn(SHELL, "true"))));
    race.add("trl sh", || thoughtful(calls, || timed(|| shim(plan, &daemon))));
    show(&race.run(plan.pick(40, 6))?, report)
}

/// A fresh process, and a command of a session; each by the tool and by the call behind it.
fn tool_variants(race: &mut Race<'_>, calls: usize, plan: &Plan, daemon: &Daemon) -> Result<()> {
    let session = daemon.client()?.create(SHELL, Renewal::Exact)?;
    for (name, session) in [("fresh", None), ("session", Some(session))] {
        let fresh = session.is_none();
        let start = StartParams {
            command: Some("true".into()),
            shell: fresh.then(|| SHELL.into()),
            session_id: session.clone(),
            ..StartParams::default()
        };
        let mut client = daemon.client()?;
        race.add(format!("socket {name}"), move || {
            thoughtful(calls, || timed(|| client.call::<Value>(Method::ExecStart, &start).map(drop)))
        });
        let mut arguments = json!({"cmd": "true"});
        if let Some(session) = session {
            arguments["session"] = json!(session);
        }
        let mut tools = Tools::start(&plan.trl, daemon)?;
        race.add(format!("tool {name}"), move || {
            thoughtful(calls, || timed(|| tools.call("exec_command", &arguments)))
        });
    }
    Ok(())
}

fn show(results: &Results, report: &mut Report) -> Result<()> {
    for (name, what) in [("fresh", "a process of its own"), ("session", "in a session")] {
        let (tool, socket) = (results.p50(&format!("tool {name}"))?, results.p50(&format!("socket {name}"))?);
        report.value(
            format!("MCP `exec_command true`, {what}: beyond the call it makes"),
            format!("{tool:.0} us, exec.start {socket:.0}"),
            (tool - socket, " us"),
            Bar::AtMost(MOST),
        );
    }
    let (shim, shell) = (results.p50("trl sh")?, results.p50("sh")?);
    report.ratio(
        "`trl sh -c true` / `sh -c true`",
        format!("{shim:.0} us, sh {shell:.0}"),
        shim / shell,
        Bar::AtMost(MOST_TIMES),
    );
    Ok(())
}

fn shim(plan: &Plan, daemon: &Daemon) -> Result<()> {
    let mut command = Command::new(&plan.trl);
    command.args(["sh", "-c", "true"]).env("TRL_SOCKET_PATH", daemon.socket()).stdin(Stdio::null());
    let done = command.output()?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// `trl mcp` as a client starts it.
struct Tools {
    child: Child,
    to: ChildStdin,
    from: Lines<ChildStdout>,
    asked: u64,
}

impl Tools {
    fn start(trl: &Path, daemon: &Daemon) -> Result<Self> {
        let mut command = Command::new(trl);
        command.arg("mcp").env("TRL_SOCKET_PATH", daemon.socket()).env("SHELL", SHELL).current_dir("/");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().context("piped")?;
        let from = Lines::new(child.stdout.take().context("piped")?);
        let mut tools = Self { child, to, from, asked: 0 };
        let client = json!({"name": "bench", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        tools.ask("initialize", &hello)?;
        tools.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(tools)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let code = &answer["result"]["structuredContent"]["exit_code"];
        ensure!(*code == json!(0), "{answer}");
        Ok(())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}))?;
        Ok(serde_json::from_slice(self.from.next()?)?)
    }

    fn say(&mut self, message: &Value) -> Result<()> {
        Ok(self.to.write_all(format!("{message}\n").as_bytes())?)
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
