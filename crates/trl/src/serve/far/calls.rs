//! What only a gateway asks for, on its links.

use std::sync::Arc;

use trl_core::execution::{Early, Execution};
use trl_core::session::handle::Session;
use trl_core::session::messages::{Ending, Manner};
use trl_core::terminal::Terminal;
use trl_proto::exec::StreamStarted;
use trl_proto::far::{
    AtRest, FarCreate, FarCreated, FarMethod, FarRestore, FarRestored, FarState, OfSession, Probed, Resolved,
};
use trl_proto::{Dialect, Error, StreamId};

use super::super::connection::Client;
use super::super::files::Doing;
use super::super::follow::{Follow, Output, Pushes};
use super::super::rpc::{Answer, Call};
use super::showing::Showing;

impl Call<'_> {
    /// What an engine behind a link does for its gateway beside what it does for everybody.
    pub(in crate::serve) async fn for_gateway(&self, method: FarMethod) -> Answer {
        match method {
            FarMethod::Resolve => self.done(self.far_resolve().await),
            FarMethod::Create => self.far_create().await,
            FarMethod::Run => self.far_run().await,
            FarMethod::Capture => self.done(self.far_capture().await),
            FarMethod::Restore => self.done(self.far_restore().await),
            FarMethod::AtRest => self.done(self.far_at_rest().await),
            FarMethod::Probe => self.done(self.far_probe().await),
            FarMethod::ResolveTerminal => self.done(self.far_resolve_terminal()),
            FarMethod::Terminal => self.far_terminal().await,
        }
    }

    async fn far_resolve(&self) -> Result<Resolved, Error> {
        let params: trl_proto::far::ResolveParams = self.request.params()?;
        if let Some(id) = &params.create.workspace_id {
            self.dir_in_workspace(id, Doing::Writing).await?;
        }
        self.manager().resolve_for_gateway(params, &self.caller())
    }

    /// The session lives as long as the strand it was made on.
    async fn far_create(&self) -> Answer {
        let made = async {
            let params: FarCreate = self.request.params()?;
            self.manager().create_for_gateway(params, &self.caller()).await
        };
        match made.await {
            Err(error) => self.done::<()>(Err(error)),
            Ok((session, execution)) => {
                let public = session.public();
                let made = FarCreated {
                    pid: public.pid,
                    working_dir: public.working_dir.clone(),
                    sandbox: session.spec.sandbox.report(),
                    limits: public.limits.clone(),
                };
                drop(public);
                tokio::spawn(end_when_gone(Arc::clone(self.client), session));
                Answer { line: self.line(Ok(made)), follow: execution.map(follow) }
            }
        }
    }

    async fn far_run(&self) -> Answer {
        let begun = async {
            let params: trl_proto::far::FarRun = self.request.params()?;
            self.manager().run_for_gateway(params, &self.caller()).await
        };
        match begun.await {
            Err(error) => self.done::<()>(Err(error)),
            Ok(execution) => {
                let started = StreamStarted {
                    stream_id: StreamId::random(),
                    execution_id: execution.id.clone(),
                    request_id: None,
                    events: None,
                };
                Answer { line: self.line(Ok(started)), follow: Some(follow(execution)) }
            }
        }
    }

    fn far_resolve_terminal(&self) -> Result<Resolved, Error> {
        self.manager().resolve_terminal_for_gateway(self.request.params()?, &self.caller())
    }

    /// Like a session, it lives as long as its strand.
    async fn far_terminal(&self) -> Answer {
        let made = async {
            self.manager().create_terminal_for_gateway(self.request.params()?, &self.caller()).await
        };
        match made.await {
            Err(error) => self.done::<()>(Err(error)),
            Ok(terminal) => {
                let public = terminal.public();
                let made = FarCreated {
                    pid: public.pid,
                    working_dir: public.cwd.clone(),
                    sandbox: terminal.spec.sandbox.report(),
                    limits: public.limits.clone(),
                };
                drop(public);
                let client = Arc::clone(self.client);
                tokio::spawn(end_terminal_when_gone(client, Arc::clone(&terminal)));
                Answer { line: self.line(Ok(made)), follow: Some(Follow::Tape(Showing::new(terminal))) }
            }
        }
    }

    async fn far_probe(&self) -> Result<Probed, Error> {
        self.manager().look_up_for_gateway(self.request.params()?, &self.caller()).await
    }

    async fn far_capture(&self) -> Result<FarState, Error> {
        let OfSession { session_id } = self.request.params()?;
        Ok(FarState { state: self.manager().state_for_gateway(&session_id).await? })
    }

    async fn far_restore(&self) -> Result<FarRestored, Error> {
        let FarRestore { session_id, state } = self.request.params()?;
        self.manager().restore_for_gateway(&session_id, state).await
    }

    async fn far_at_rest(&self) -> Result<AtRest, Error> {
        let OfSession { session_id } = self.request.params()?;
        Ok(AtRest { at_rest: self.manager().find(&session_id)?.is_at_rest().await })
    }
}

/// All of its output, to the last byte, on the strand it was asked for.
fn follow(execution: Arc<Execution>) -> Follow {
    let form = Pushes { id: StreamId::random(), dialect: Dialect::JsonRpc };
    Follow::Output(Output::everything(form, execution))
}

async fn end_terminal_when_gone(client: Arc<Client>, terminal: Arc<Terminal>) {
    let mut gone = client.gone.subscribe();
    let _ = gone.wait_for(|gone| *gone).await;
    let manager = &client.server.manager;
    let grace = manager.engine.settings.terminal_grace;
    terminal.end("its gateway let go of it", Early::Cancelled, grace).await;
    let _ = manager.destroy_terminal(&terminal, None).await;
}

async fn end_when_gone(client: Arc<Client>, session: Arc<Session>) {
    let mut gone = client.gone.subscribe();
    let _ = gone.wait_for(|gone| *gone).await;
    let manager = &client.server.manager;
    let _ = manager.end(&session, Ending::Terminated, Manner::Graceful, "its gateway let go of it").await;
}
