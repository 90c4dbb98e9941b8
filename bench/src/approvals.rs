//! What a question to a person costs beside the person: a command that is asked about and answered at once, and the same
//! command on a daemon without rules.
//!
//! 1. The agent sends `exec.run`; the daemon records the request on the disk and tells the operator.
//! 2. The operator looks at it (`hitl.get`) and approves it (`hitl.respond`), which is recorded, too.
//! 3. The command runs and the agent has its result. One round trip is the operator's own; the rest is the daemon's.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use trl_proto::event::{Happening, Kind, SubscribeParams};
use trl_proto::exec::{Approval, RunParams, RunResult};
use trl_proto::hitl::{ApprovalRequest, Decision, RequestParams, RespondParams};
use trl_proto::session::Renewal;
use trl_proto::system::{NoParams, Ping};
use trl_proto::{Method, RequestId, SessionId};

use crate::Plan;
use crate::client::{Client, run_params};
use crate::daemon::{Daemon, Home};
use crate::race::{Race, Results, thoughtful, timed};
use crate::report::{Bar, Report};

const RULES: &str = "default: allow\nrules:\n- ask: ['true asked']\n";
const PLAIN: &str = "true";
const ASKED: &str = "true asked";
const SHELL: &str = "bash";
/// Milliseconds.
const MOST: f64 = 1.0;
/// Until the next command, where an agent thinks about the last one: by then its state is on the disk, whatever the disk does.
const REST: Duration = Duration::from_millis(20);

pub(crate) fn run(plan: &Plan, report: &mut Report) -> Result<()> {
    let free = Daemon::start(&plan.trl)?;
    let home = Home::new()?.with_rules(RULES)?;
    let ruled = Daemon::start_at(&plan.trl, &home)?;
    let calls = plan.pick(20, 5);
    let mut race = Race::default();
    let mut client = ruled.client()?;
    race.add("ping", move || {
        thoughtful(calls, || timed(|| client.call::<Ping>(Method::SystemPing, &NoParams {}).map(drop)))
    });
    for (name, daemon) in [("plain", &free), ("allowed", &ruled)] {
        let mut agent = Agent::of(daemon)?;
        race.add(name, move || {
            thoughtful(calls, || timed(|| agent.client.run(&agent.session, PLAIN).map(drop)))
        });
    }
    let (mut agent, mut operator) = (Agent::of(&ruled)?, Operator::of(&ruled)?);
    race.add("asked", move || thoughtful(calls, || asked(&mut agent, &mut operator)));
    let (mut calm, mut patient) = (Agent::of(&ruled)?, Operator::of(&ruled)?);
    race.add("rested", move || {
        thoughtful(calls, || {
            thread::sleep(REST);
            asked(&mut calm, &mut patient)
        })
    });
    let (mut other, mut judge) = (Agent::of(&ruled)?, Operator::of(&ruled)?);
    race.add("request", move || thoughtful(calls, || requested(&mut other, &mut judge)));
    let mut file = File::create(home.path().join("data/synced"))?;
    race.add("fsync", move || thoughtful(calls, || timed(|| synced(&mut file))));
    show(&race.run(plan.pick(40, 4))?, report)
}

fn show(results: &Results, report: &mut Report) -> Result<()> {
    let (ping, plain, asked) = (results.p50("ping")?, results.p50("plain")?, results.p50("asked")?);
    let beyond = |name: &str, q: fn(&Results, &str) -> Result<f64>| -> Result<f64> {
        Ok((q(results, name)? - q(results, "plain")? - q(results, "ping")?) / 1000.0)
    };
    report.value(
        "exec.run that is asked about and approved at once: beyond one that is not, and a ping",
        format!(
            "{asked:.0} us (p99 {:.0}), plain {plain:.0}, ping {ping:.0}; p99 of each beyond: {:.2} ms; p05: {:.2} ms",
            results.p99("asked")?,
            beyond("asked", Results::p99)?,
            beyond("asked", Results::p05)?,
        ),
        (beyond("asked", Results::p50)?, " ms"),
        Bar::AtMost(MOST),
    );
    report.value(
        "the same of an agent that thinks for 20 ms, not 2, between commands",
        format!(
            "p99 of each beyond: {:.2} ms; p05: {:.2} ms",
            beyond("rested", Results::p99)?,
            beyond("rested", Results::p05)?
        ),
        (beyond("rested", Results::p50)?, " ms"),
        Bar::Shown,
    );
    report.value(
        "a file appended to and synced, for comparison: it happens twice in the above",
        format!("p50 {:.0} us, p05 {:.0}", results.p50("fsync")?, results.p05("fsync")?),
        (results.mean("fsync")? / 1000.0, " ms"),
        Bar::Shown,
    );
    report.value(
        "exec.run with `approval: return`: the request is on the disk, mean",
        format!("p50 {:.0} us, p99 {:.0}", results.p50("request")?, results.p99("request")?),
        (results.mean("request")? / 1000.0, " ms"),
        Bar::Shown,
    );
    let allowed = results.p50("allowed")?;
    report.value(
        "exec.run that rules allow: beyond one without rules",
        format!("{allowed:.0} us, plain {plain:.0}"),
        ((allowed - plain) / 1000.0, " ms"),
        Bar::Shown,
    );
    Ok(())
}

/// A few records' worth.
fn synced(file: &mut File) -> Result<()> {
    file.write_all(&[7; 4096])?;
    Ok(file.sync_data()?)
}

struct Agent {
    client: Client,
    session: SessionId,
}

impl Agent {
    fn of(daemon: &Daemon) -> Result<Self> {
        let mut client = daemon.client()?;
        let session = client.create(SHELL, Renewal::default())?;
        client.run(&session, PLAIN)?;
        Ok(Self { client, session })
    }
}

/// Hears of requests on one connection, and answers on another.
struct Operator {
    ears: Client,
    hands: Client,
}

/// A push, as far as it matters here.
#[derive(Deserialize)]
struct Push {
    params: Option<Happening>,
}

impl Operator {
    fn of(daemon: &Daemon) -> Result<Self> {
        let mut ears = daemon.operator()?;
        let params = SubscribeParams { kinds: Some(vec![Kind::HitlRequested]), ..SubscribeParams::default() };
        ears.call::<serde_json::Value>(Method::EventsSubscribe, &params)?;
        Ok(Self { ears, hands: daemon.operator()? })
    }

    /// The next request of this session.
    fn next(&mut self, session: &SessionId) -> Result<RequestId> {
        loop {
            let push: Push = serde_json::from_slice(self.ears.next_line()?)?;
            match push.params {
                Some(Happening::HitlRequested { session_id, request_id, .. })
                    if session_id.as_ref() == Some(session) =>
                {
                    return Ok(request_id);
                }
                _ => {}
            }
        }
    }

    /// Looks at the request and sends the answer, whose receipt is read later.
    fn answer(&mut self, request_id: RequestId, decision: Decision) -> Result<()> {
        let params = RequestParams { request_id };
        let request: ApprovalRequest = self.hands.call(Method::HitlGet, &params)?;
        let (request_id, digest) = (request.request_id, request.digest);
        let params = RespondParams { request_id, decision, digest, scope: None, command: None, reason: None };
        self.hands.send(Method::HitlRespond, &params)
    }

    fn receipt(&mut self) -> Result<()> {
        self.hands.answer::<serde_json::Value>().map(drop)
    }
}

fn asked(agent: &mut Agent, operator: &mut Operator) -> Result<f64> {
    let took = timed(|| {
        agent.client.send(Method::ExecRun, &run_params(&agent.session, ASKED))?;
        let request = operator.next(&agent.session)?;
        operator.answer(request, Decision::Approve)?;
        let done: RunResult = agent.client.answer()?;
        match done.outcome.exit_code {
            0 => Ok(()),
            code => bail!("exit code {code}"),
        }
    })?;
    operator.receipt()?;
    Ok(took)
}

/// Until the agent knows that a person will be asked; the rest is not counted.
fn requested(agent: &mut Agent, operator: &mut Operator) -> Result<f64> {
    let params = RunParams { approval: Some(Approval::Return), ..run_params(&agent.session, ASKED) };
    let took = timed(|| {
        let reply: serde_json::Value = agent.client.call(Method::ExecRun, &params)?;
        reply.get("request_id").map(drop).with_context(|| format!("nobody is asked: {reply}"))
    })?;
    let request = operator.next(&agent.session)?;
    operator.answer(request, Decision::Reject)?;
    operator.receipt()?;
    Ok(took)
}
