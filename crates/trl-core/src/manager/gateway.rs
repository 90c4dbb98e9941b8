//! What a gateway asks of the engine behind its link: sessions and commands under ids of the gateway's, judged by nobody here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use trl_proto::far::{
    FarCreate, FarDirect, FarRestored, FarRun, FarTerminal, ProbeParams, Probed, ResolveParams, Resolved,
};
use trl_proto::text::decode;
use trl_proto::{Error, SessionId};

use super::executions::checked_output_bytes;
use super::{Caller, Manager};
use crate::approval::probe::Found;
use crate::checkpoint::{Captured, Checkpoint, Manifest};
use crate::execution::Execution;
use crate::runtime::session::{from_text, text_of};
use crate::session::handle::{Keeping, Session};
use crate::session::messages::{Clearance, Lookup, Message, Order, Stdin};
use crate::session::spec::{Program, Reads, Spec, checked_env, seconds};
use crate::session::state::WhenBusy;
use crate::shell::wrap::Surroundings;
use crate::terminal::Terminal;

impl Manager {
    /// What a session would be here; nothing is started.
    pub fn resolve_for_gateway(&self, params: ResolveParams, caller: &Caller) -> Result<Resolved, Error> {
        let spec = self.resolve_here(params.session_id, None, params.create, caller)?;
        let (kind, argv) = match &spec.program {
            Program::Shell { kind, path } => {
                (Some(kind.name().to_string()), vec![path.display().to_string()])
            }
            Program::Direct { argv, .. } => (None, argv.clone()),
        };
        Ok(Resolved {
            kind,
            argv,
            sandbox: spec.sandbox.report(),
            working_dir: spec.working_dir,
            env: spec.env,
        })
    }

    /// Its execution, too, if it is a direct command.
    pub async fn create_for_gateway(
        &self,
        params: FarCreate,
        caller: &Caller,
    ) -> Result<(Arc<Session>, Option<Arc<Execution>>), Error> {
        let FarCreate { session_id, mut create, direct, root } = params;
        let last = root.is_some().then(|| create.working_dir.take()).flatten();
        create.working_dir = root.or(create.working_dir);
        let mut spec = self.resolve_here(session_id, None, create, caller)?;
        if let Some(dir) = last {
            // Gone, or not to be entered any more: that is no reason to lose the session.
            spec.working_dir = if Path::new(&dir).is_dir() { dir } else { "/".into() };
        }
        let order = direct.map(|direct| self.direct_order(&mut spec, direct)).transpose()?;
        let execution = order.as_ref().map(|order| Arc::clone(&order.execution));
        let session = self.bring_up(spec, order, caller, Keeping::Passing).await?;
        Ok((session, execution))
    }

    fn direct_order(&self, spec: &mut Spec, direct: FarDirect) -> Result<Order, Error> {
        let given =
            direct.stdin.map(|text| decode(text, direct.stdin_encoding.unwrap_or_default())).transpose()?;
        let stdin = match (given, direct.open_stdin) {
            (bytes, true) => Stdin::Open(bytes.unwrap_or_default()),
            (Some(bytes), false) => Stdin::Bytes(bytes),
            (None, false) => Stdin::Null,
        };
        if let (Program::Direct { reads, .. }, Stdin::Null) = (&mut spec.program, &stdin) {
            *reads = Reads::Nothing;
        }
        let logs = (self.engine.log(None), self.engine.log(None));
        let execution = spec.execution_again(Some(direct.execution_id), &direct.command, logs);
        let timeout = seconds(Some(direct.timeout_s), "timeout_s")?.unwrap_or_default();
        Ok(Order::direct(execution, stdin, timeout))
    }

    pub fn resolve_terminal_for_gateway(
        &self,
        params: FarTerminal,
        caller: &Caller,
    ) -> Result<Resolved, Error> {
        let spec = self.resolve_terminal_here(params.terminal_id, None, params.create, caller)?;
        let sandbox = spec.sandbox.report();
        Ok(Resolved { kind: None, argv: spec.argv, env: spec.env, working_dir: spec.working_dir, sandbox })
    }

    /// Its program waits for whoever follows it from the first byte on.
    pub async fn create_terminal_for_gateway(
        &self,
        params: FarTerminal,
        caller: &Caller,
    ) -> Result<Arc<Terminal>, Error> {
        let spec = self.resolve_terminal_here(params.terminal_id, None, params.create, caller)?;
        self.bring_up_terminal(spec, None, caller).await
    }

    /// Resolves when it has begun.
    pub async fn run_for_gateway(&self, params: FarRun, caller: &Caller) -> Result<Arc<Execution>, Error> {
        let FarRun { execution_id, run } = params;
        let id = run.session_id.clone().ok_or_else(|| Error::invalid("`session_id` is needed"))?;
        let session = self.find(&id)?;
        let bytes = checked_output_bytes(run.max_output_bytes)?;
        let logs = (self.engine.log(bytes), self.engine.log(bytes));
        let execution = session.spec.execution_again(Some(execution_id), &run.command, logs);
        let execution = self.order_as((&session, execution), &run, caller, |_| {}).await?;
        execution.wait_started().await?;
        Ok(execution)
    }

    /// What names stand for in a session's shell, where a command is to run.
    pub async fn look_up_for_gateway(&self, params: ProbeParams, caller: &Caller) -> Result<Probed, Error> {
        let session = self.find(&params.session_id)?;
        let (reply, answer) = oneshot::channel();
        let logs = (self.engine.log(None), self.engine.log(None));
        let order = Order {
            around: Surroundings { env: checked_env(params.env)?, working_dir: params.working_dir },
            busy: WhenBusy::Queue,
            clearance: Clearance {
                origin: Arc::clone(&caller.name),
                lookup: Some(Lookup { names: params.names, reply }),
                ..Clearance::default()
            },
            ..Order::direct(session.spec.execution("", logs), Stdin::Null, Duration::ZERO)
        };
        session.send(Message::Run(Box::new(order))).await?;
        let Found { intercepted, executables } = answer.await.unwrap_or_else(|_| Err(session.gone()))?;
        Ok(Probed { intercepted, executables })
    }

    /// The state of a session's shell, secrets and all, as it travels.
    pub async fn state_for_gateway(&self, id: &SessionId) -> Result<String, Error> {
        let session = self.find(id)?;
        let (reply, answer) = oneshot::channel();
        session.send(Message::Capture { reply }).await?;
        let Captured { state, around, stand, .. } = answer.await.unwrap_or_else(|_| Err(session.gone()))?;
        text_of(&Checkpoint { manifest: Manifest::passing(stand, around, &state), state })
    }

    pub async fn restore_for_gateway(&self, id: &SessionId, state: String) -> Result<FarRestored, Error> {
        let session = self.find(id)?;
        let checkpoint = Box::new(from_text(state)?);
        let (reply, answer) = oneshot::channel();
        session.send(Message::Restore { checkpoint, reply }).await?;
        let restored = answer.await.unwrap_or_else(|_| Err(session.gone()))?;
        let working_dir = session.public().working_dir.clone();
        Ok(FarRestored { working_dir, restored: restored.restored, not_restored: restored.not_restored })
    }
}
