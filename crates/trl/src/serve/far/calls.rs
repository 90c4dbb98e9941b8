//! What only a gateway asks for, on its links.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trl_core::execution::{Early, Execution};
use trl_core::session::handle::Session;
use trl_core::session::messages::{Ending, Manner};
use trl_core::terminal::Terminal;
use trl_proto::envelope::Request;
use trl_proto::exec::StreamStarted;
use trl_proto::far::{
    AtRest, FarChange, FarChanged, FarCreate, FarCreated, FarMethod, FarRestore, FarRestored, FarState,
    FarStopped, OfSession, Probed, Resolved,
};
use trl_proto::fs::FilePath;
use trl_proto::{Dialect, Error, Method, StreamId};

use super::super::connection::Client;
use super::super::elsewhere::place;
use super::super::files::Doing;
use super::super::files::calls::shown;
use super::super::files::held::{Barrier, Stop};
use super::super::follow::{Follow, Output, Pushes};
use super::super::rpc::{Answer, Call};
use super::showing::Showing;

/// How long the news that a command has begun may wait for company; whoever cancels it waits as long.
const TOGETHER: Duration = Duration::from_millis(2);

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
            FarMethod::Change => self.far_change().await,
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
                let follow = follow(Arc::clone(&execution));
                something_to_tell(&execution).await;
                Answer { line: self.line(Ok(started)), follow: Some(follow) }
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

    /// By the same functions as for everybody; what stopped it is no error here.
    async fn far_change(&self) -> Answer {
        let read = || {
            let FarChange { method, params, approved } = self.request.params()?;
            let places = approved.into_iter().map(place).collect::<Result<HashSet<PathBuf>, Error>>()?;
            let request = Request { dialect: Dialect::JsonRpc, id: None, method, params: Some(params) };
            Ok((request, Arc::new(Barrier::of_gateway(places))))
        };
        let (request, barrier) = match read() {
            Ok(read) => read,
            Err(error) => return self.done::<()>(Err(error)),
        };
        let (client, principal) = (self.client, self.principal.clone());
        let call = Call { client, request: &request, principal, barrier: Some(Arc::clone(&barrier)) };
        match Method::parse(&request.method) {
            Some(Method::FsWrite) => self.done(changed(call.fs_write().await, &barrier)),
            Some(Method::FsMkdir) => self.done(changed(call.fs_mkdir().await, &barrier)),
            Some(Method::FsMove) => self.done(changed(call.fs_move().await, &barrier)),
            Some(Method::FsRemove) => self.done(changed(call.fs_remove().await, &barrier)),
            _ => self.done::<()>(Err(Error::invalid("this changes no files"))),
        }
    }

    async fn far_at_rest(&self) -> Result<AtRest, Error> {
        let OfSession { session_id } = self.request.params()?;
        Ok(AtRest { at_rest: self.manager().find(&session_id)?.is_at_rest().await })
    }
}

fn changed<T>(outcome: Result<T, Error>, barrier: &Barrier) -> Result<FarChanged<T>, Error> {
    outcome.map(FarChanged::Done).or_else(|error| {
        let Stop { root, places } = barrier.take_met().ok_or(error)?;
        let places = places.iter().map(|place| path_of(place)).collect();
        Ok(FarChanged::Stopped(FarStopped { root: path_of(&root), places }))
    })
}

/// A place as the wire has it.
fn path_of(place: &Path) -> FilePath {
    let (path, path_encoding) = shown(place);
    FilePath { path, path_encoding }
}

/// All of its output, to the last byte, on the strand it was asked for.
fn follow(execution: Arc<Execution>) -> Follow {
    let form = Pushes { id: StreamId::random(), dialect: Dialect::JsonRpc };
    Follow::Output(Output::everything(form, execution))
}

/// That a command has begun goes with the first that is heard of it. Alone it would wake everybody between here and the
/// gateway a second time, just when the command wants the processor.
async fn something_to_tell(execution: &Execution) {
    tokio::select! {
        _ = execution.wait() => {}
        () = execution.stdout.wait_beyond(0) => {}
        () = execution.stderr.wait_beyond(0) => {}
        () = tokio::time::sleep(TOGETHER) => {}
    }
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
