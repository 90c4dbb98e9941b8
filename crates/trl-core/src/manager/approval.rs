//! Fresh processes and terminals: judged before they start, and started when a person has said yes.

use std::sync::Arc;

use tokio::sync::oneshot;
use trl_proto::exec::Approval;
use trl_proto::hitl::{ApprovalBoundary, Verdict};
use trl_proto::{Error, ExecutionId, RequestId, SessionId, TerminalId};

use super::{Caller, Manager};
use crate::approval::rules::At;
use crate::approval::{Answer, Asked, Asking, Judgement, Question, Rules, denied, required};
use crate::env::Env;
use crate::shell::Kind;

/// What is to be started.
pub(super) struct Fresh<'a> {
    pub(super) session: Option<&'a SessionId>,
    pub(super) terminal: Option<&'a TerminalId>,
    pub(super) execution: Option<&'a ExecutionId>,
    pub(super) name: Option<&'a String>,
    /// As it is shown.
    pub(super) command: &'a str,
    pub(super) program: Judged<'a>,
    /// Variables of its own.
    pub(super) env: &'a Env,
    pub(super) working_dir: &'a str,
    pub(super) boundary: ApprovalBoundary,
    pub(super) mode: Approval,
}

/// How it is judged.
pub(super) enum Judged<'a> {
    /// As text, for this shell.
    Text(Kind),
    Argv(&'a [String]),
    /// On a terminal.
    Typed(&'a [String]),
}

/// May it start?
pub(super) enum Gate {
    Open,
    /// When a person has answered.
    Later {
        request: RequestId,
        answer: oneshot::Receiver<Answer>,
    },
}

impl Manager {
    /// Asks the rules, and people if the rules say so. Resolves when they have been told.
    pub(super) async fn gate(&self, fresh: Fresh<'_>, caller: &Caller) -> Result<Gate, Error> {
        let Some(rules) = Rules::of(&self.engine.book, None, None) else { return Ok(Gate::Open) };
        let judgement = match &fresh.program {
            Judged::Text(shell) => {
                let dir = fresh.working_dir;
                rules.judge(At { shell: *shell, cwd: dir, root: dir, env: fresh.env }, fresh.command)
            }
            Judged::Argv(argv) => rules.judge_argv(argv, fresh.env),
            Judged::Typed(argv) => rules.judge_terminal(argv, fresh.env),
        };
        match judgement.verdict {
            Verdict::Allow => Ok(Gate::Open),
            Verdict::Deny => {
                self.engine.desk.note_denial(fresh.session, fresh.command, &judgement);
                Err(denied(&judgement))
            }
            Verdict::Ask if fresh.mode == Approval::Fail => Err(required(&judgement)),
            Verdict::Ask => {
                let asked = self.engine.desk.ask(asking(&fresh, judgement, rules, caller)).await?;
                Ok(match asked {
                    Asked::Granted => Gate::Open,
                    Asked::Recorded { request, answer } => Gate::Later { request, answer },
                })
            }
        }
    }
}

fn asking(fresh: &Fresh<'_>, judgement: Judgement, rules: Arc<Rules>, caller: &Caller) -> Asking {
    Asking {
        session: fresh.session.cloned(),
        terminal: fresh.terminal.cloned(),
        execution: fresh.execution.cloned(),
        session_name: fresh.name.cloned(),
        owner: Arc::clone(&caller.name),
        origin: Arc::clone(&caller.name),
        command: fresh.command.into(),
        working_dir: fresh.working_dir.into(),
        root: fresh.working_dir.into(),
        boundary: fresh.boundary,
        question: Question { judgement, executables: Vec::new() },
        rules,
        shell: match fresh.program {
            Judged::Text(kind) => Some(kind),
            Judged::Argv(_) | Judged::Typed(_) => None,
        },
        mode: fresh.mode,
    }
}
